//! One scripted answer of the fake model, in no provider's format. Says what to send, not how.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use posse_protocol::{StopReason, Usage};
use serde_json::Value;

/// The model id the fake server lists and answers as.
pub const MODEL_ID: &str = "fake-model";

/// What the fake model does with one request.
#[derive(Clone, Debug)]
pub struct Turn {
    pub(crate) answer: ScriptedAnswer,
    pub(crate) pace: Pace,
    pub(crate) delay: Duration,
    /// Set when the answer may begin.
    pub(crate) after: Option<Arc<AtomicBool>>,
    /// After how many events the rest waits, and for what.
    pub(crate) hold: Option<(usize, Arc<AtomicBool>)>,
}

/// The kinds of answer.
#[derive(Clone, Debug)]
pub(crate) enum ScriptedAnswer {
    Reply(Script),
    Status { code: u16, headers: Vec<(String, String)>, body: String },
    Raw { content_type: String, body: Vec<u8> },
    Reset,
}

/// A well-formed reply before it is rendered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Script {
    pub(crate) reasoning: String,
    pub(crate) text: String,
    pub(crate) calls: Vec<ScriptedCall>,
    pub(crate) stop: Option<StopReason>,
    pub(crate) usage: Option<Usage>,
}

/// One tool call of a scripted reply; `arguments` is sent as it is, JSON or not.
#[derive(Clone, Debug)]
pub(crate) struct ScriptedCall {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// How the bytes of the answer leave.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    pub(crate) split_bytes: Option<usize>,
    /// Between two writes.
    pub(crate) pause: Duration,
    pub(crate) end: StreamEnd,
}

/// Where the stream ends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum StreamEnd {
    #[default]
    Whole,
    /// The connection closes after so many events.
    CutAfter(usize),
    /// Nothing more comes after so many events, and the connection stays open.
    StallAfter(usize),
}

impl Turn {
    fn new(answer: ScriptedAnswer) -> Self {
        Self { answer, pace: Pace::default(), delay: Duration::ZERO, after: None, hold: None }
    }

    fn reply(script: Script) -> Self {
        let usage = Usage {
            input_tokens: Some(100),
            cached_tokens: Some(0),
            output_tokens: Some(10),
            ..Usage::default()
        };
        Self::new(ScriptedAnswer::Reply(Script { usage: Some(usage), ..script }))
    }

    /// A reply that says this.
    pub fn text(text: impl Into<String>) -> Self {
        Self::reply(Script { text: text.into(), ..Script::default() })
    }

    /// A reply that calls one tool. A string is sent as raw argument text, anything else as its JSON.
    pub fn call(name: impl Into<String>, arguments: Value) -> Self {
        Self::reply(Script::default()).and_call(name, arguments)
    }

    /// A whole reply that says nothing at all.
    pub fn empty() -> Self {
        Self::reply(Script::default())
    }

    /// An error status with a small JSON error body.
    pub fn status(code: u16) -> Self {
        Self::status_body(code, serde_json::json!({"error": {"message": format!("scripted status {code}")}}))
    }

    /// An error status with this body.
    pub fn status_body(code: u16, body: Value) -> Self {
        Self::new(ScriptedAnswer::Status { code, headers: Vec::new(), body: body.to_string() })
    }

    /// An error status with this body, which is no JSON.
    pub fn status_text(code: u16, body: &str) -> Self {
        Self::new(ScriptedAnswer::Status { code, headers: Vec::new(), body: body.to_owned() })
    }

    /// A 200 answer whose event stream is exactly these bytes.
    pub fn raw(body: impl Into<Vec<u8>>) -> Self {
        Self::new(ScriptedAnswer::Raw { content_type: "text/event-stream".into(), body: body.into() })
    }

    /// A 200 answer of exactly these bytes under this content type.
    pub fn labelled(content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::new(ScriptedAnswer::Raw { content_type: content_type.into(), body: body.into() })
    }

    /// A 200 answer that is one JSON document instead of a stream.
    pub fn json(body: &Value) -> Self {
        Self::new(ScriptedAnswer::Raw {
            content_type: "application/json".into(),
            body: body.to_string().into_bytes(),
        })
    }

    /// The connection is reset once the request has been read.
    pub fn reset() -> Self {
        Self::new(ScriptedAnswer::Reset)
    }

    /// One more tool call in the same reply.
    #[must_use]
    pub fn and_call(self, name: impl Into<String>, arguments: Value) -> Self {
        let arguments = match arguments {
            Value::String(raw) => raw,
            json => json.to_string(),
        };
        let name = name.into();
        self.with(|s| {
            let id = format!("call_{name}_{}", s.calls.len() + 1);
            s.calls.push(ScriptedCall { id, name, arguments });
        })
    }

    /// Gives the last call this id instead of one of its own.
    #[must_use]
    pub fn id(self, id: impl Into<String>) -> Self {
        self.with(|s| s.calls.last_mut().expect("id() follows a call").id = id.into())
    }

    /// Text before the calls.
    #[must_use]
    pub fn and_text(self, text: impl Into<String>) -> Self {
        self.with(|s| s.text = text.into())
    }

    /// Reasoning before the text; signed, encrypted or plain as the protocol has it.
    #[must_use]
    pub fn reasoning(self, text: impl Into<String>) -> Self {
        self.with(|s| s.reasoning = text.into())
    }

    /// The usage that is reported. Fields that are `None` are left out.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        self.with(|s| s.usage = Some(usage))
    }

    /// No usage is reported.
    #[must_use]
    pub fn no_usage(self) -> Self {
        self.with(|s| s.usage = None)
    }

    /// Why the reply stops; without it, what fits the reply.
    #[must_use]
    pub fn stop(self, stop: StopReason) -> Self {
        self.with(|s| s.stop = Some(stop))
    }

    /// Adds a header to a status answer.
    ///
    /// # Panics
    /// If the turn is not a status answer.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        let ScriptedAnswer::Status { headers, .. } = &mut self.answer else {
            panic!("header() follows status()")
        };
        headers.push((name.into(), value.into()));
        self
    }

    /// Adds a Retry-After header to a status answer.
    #[must_use]
    pub fn retry_after(self, value: &str) -> Self {
        self.header("retry-after", value)
    }

    /// Sends the stream in writes of so many bytes, wherever that cuts.
    #[must_use]
    pub fn split_every(mut self, bytes: usize) -> Self {
        self.pace.split_bytes = Some(bytes.max(1));
        self
    }

    /// Waits so long between the writes of `split_every`.
    #[must_use]
    pub fn slowly(mut self, pause: Duration) -> Self {
        self.pace.pause = pause;
        self
    }

    /// Closes the connection after so many events, in the middle of the stream.
    #[must_use]
    pub fn cut_after(mut self, events: usize) -> Self {
        self.pace.end = StreamEnd::CutAfter(events);
        self
    }

    /// Sends so many events and then nothing more, with the connection open.
    #[must_use]
    pub fn stall_after(mut self, events: usize) -> Self {
        self.pace.end = StreamEnd::StallAfter(events);
        self
    }

    /// Waits before the first byte of the answer.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Waits before the first byte of the answer until this is set.
    #[must_use]
    pub fn after(mut self, set: &Arc<AtomicBool>) -> Self {
        self.after = Some(Arc::clone(set));
        self
    }

    /// Sends so many events, and the rest when this is set.
    #[must_use]
    pub fn hold_after(mut self, events: usize, set: &Arc<AtomicBool>) -> Self {
        self.hold = Some((events, Arc::clone(set)));
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Script)) -> Self {
        let ScriptedAnswer::Reply(script) = &mut self.answer else {
            panic!("only replies have text, calls and usage")
        };
        change(script);
        self
    }
}

impl Script {
    /// The stop reason that is sent.
    pub(crate) fn stop_reason(&self) -> StopReason {
        match &self.stop {
            Some(stop) => stop.clone(),
            None if self.calls.is_empty() => StopReason::EndTurn,
            None => StopReason::ToolCalls,
        }
    }
}
