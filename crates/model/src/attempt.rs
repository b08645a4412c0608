//! One attempt at one call: send the request, read the stream, until a reply or a fault. No retries here.

use std::borrow::Cow;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use posse_protocol::{ModelErrorKind, Reply};
use reqwest::Response;
use reqwest::header::LOCATION;
use tokio::time::{Instant, timeout_at};

use crate::fault::Fault;
use crate::live::LiveModel;
use crate::sse::{self, Frame, SseDecoder};
use crate::text_gate::TextGate;
use crate::trouble::{ProviderError, Trouble};
use crate::wire::{Decode, Delta};
use crate::words::ErrorWords;
use crate::{ModelConfig, Signal, Transcript, http, limits, page, retry, surrogates};

/// The bytes of a byte-order mark.
const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

/// An attempt that did not lead to a reply.
pub(crate) struct FailedAttempt {
    pub(crate) fault: Fault,
    /// Text that had arrived.
    pub(crate) partial: String,
    /// Whether any output had arrived: then the request is sent again once at most.
    pub(crate) output: bool,
}

impl From<Fault> for FailedAttempt {
    fn from(fault: Fault) -> Self {
        Self { fault, partial: String::new(), output: false }
    }
}

type On<'a> = &'a mut (dyn FnMut(Signal) + Send);

pub(crate) async fn attempt(
    live: &LiveModel,
    config: &ModelConfig,
    transcript: &Transcript,
    on: On<'_>,
) -> Result<Reply, FailedAttempt> {
    let first_byte = Instant::now() + Duration::from_millis(config.timeouts.first_byte_ms);
    let response = send(live, transcript, first_byte, config).await?;
    let mut reader = Reader {
        live,
        config,
        decoder: live.wire.decoder(),
        gate: TextGate::new(live.reads(config.tool_calls, transcript), !transcript.offered().is_empty()),
        shown: Shown { on, held: None },
        output: false,
        frames: 0,
        told: Instant::now(),
    };
    match reader.answer(response, first_byte).await {
        Ok(()) => Ok(reader.reply(transcript)),
        Err(fault) => Err(reader.failed(fault)),
    }
}

async fn send(
    live: &LiveModel,
    transcript: &Transcript,
    first_byte: Instant,
    config: &ModelConfig,
) -> Result<Response, Fault> {
    let words = live.words(config);
    let request = live
        .client()?
        .post(live.url.clone())
        .headers(live.headers.clone())
        .body(reqwest::Body::wrap(transcript.body()));
    let response = match timeout_at(first_byte, request.send()).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => return Err(words.unsent(error)),
        Err(_) => return Err(words.silent(config.timeouts.first_byte_ms, "any answer")),
    };
    live.answered();
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    if status.is_redirection() {
        let to = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
        return Err(words.redirected(status.as_u16(), to.unwrap_or("an unnamed place")));
    }
    let retry_after_ms = retry::retry_after_ms(response.headers(), SystemTime::now());
    let body = error_body(response).await;
    let fault = ProviderError::from_body(status.as_u16(), &body).fault(&words);
    Err(Fault { retry_after_ms, ..fault })
}

/// As much of an error's body as is worth reading; what is missing is no reason to lose the status.
async fn error_body(mut response: Response) -> Vec<u8> {
    let deadline = Instant::now() + Duration::from_millis(limits::ERROR_BODY_MS);
    let mut body = Vec::new();
    while let Ok(Ok(Some(part))) = timeout_at(deadline, response.chunk()).await {
        body.extend_from_slice(&part);
        if body.len() > limits::ERROR_BODY_BYTES_MAX {
            body.truncate(limits::ERROR_BODY_BYTES_MAX);
            break;
        }
    }
    body
}

/// What is shown of an answer. Pieces of text that have come together are shown together.
struct Shown<'a> {
    on: On<'a>,
    held: Option<Signal>,
}

impl Shown<'_> {
    fn add(&mut self, signal: Signal) {
        match (&mut self.held, signal) {
            (Some(Signal::Text(text)), Signal::Text(more))
            | (Some(Signal::Reasoning(text)), Signal::Reasoning(more)) => text.push_str(&more),
            (_, signal) => {
                self.send();
                self.held = Some(signal);
            }
        }
    }

    fn send(&mut self) {
        if let Some(signal) = self.held.take() {
            (self.on)(signal);
        }
    }
}

/// Reads one answer.
struct Reader<'a> {
    live: &'a LiveModel,
    config: &'a ModelConfig,
    decoder: Box<dyn Decode>,
    gate: TextGate,
    shown: Shown<'a>,
    output: bool,
    frames: usize,
    /// When whoever waits was last told that something has come.
    told: Instant,
}

/// What came out of waiting for more bytes.
enum More {
    Bytes(Bytes),
    End,
    Silence(u64),
    Broken(String),
}

impl Reader<'_> {
    /// Reads what was sent for what it is. That shows at its first byte; servers and proxies often label it wrongly.
    async fn answer(&mut self, mut response: Response, first_byte: Instant) -> Result<(), Fault> {
        let mut blank = 0usize;
        loop {
            let part = match self.more(&mut response, first_byte).await {
                More::Bytes(part) => part,
                More::End => return Err(self.cut("")),
                More::Silence(limit_ms) => return Err(self.words().silent(limit_ms, "the reply began")),
                More::Broken(cause) => return Err(self.cut(&cause)),
            };
            // Some servers send blanks to keep the connection open; others begin with a byte-order mark.
            let Some(begin) = part.iter().position(|b| !b.is_ascii_whitespace() && !BOM.contains(b)) else {
                blank = blank.saturating_add(part.len());
                if blank > limits::STREAM_BYTES_MAX {
                    return Err(self.malformed("the reply is longer than is accepted"));
                }
                continue;
            };
            return match part[begin] {
                b'{' | b'[' => self.document(part.slice(begin..), response, first_byte).await,
                b'<' => Err(self.page(&part, response).await),
                _ => self.stream(part.slice(begin..), response, first_byte).await,
            };
        }
    }

    async fn stream(
        &mut self,
        begun: Bytes,
        mut response: Response,
        first_byte: Instant,
    ) -> Result<(), Fault> {
        let mut sse = SseDecoder::default();
        let mut frames = Vec::new();
        let mut bytes = 0usize;
        let mut begun = Some(begun);
        loop {
            let more = match begun.take() {
                Some(part) => More::Bytes(part),
                None => self.more(&mut response, first_byte).await,
            };
            match more {
                More::Bytes(part) => {
                    bytes = bytes.saturating_add(part.len());
                    if bytes > limits::STREAM_BYTES_MAX {
                        return Err(self.malformed("the reply is longer than is accepted"));
                    }
                    let pushed = sse.push(&part, &mut frames);
                    self.frames(&mut frames)?;
                    pushed.map_err(|error| self.malformed(&error.to_string()))?;
                }
                More::End => {
                    // The last blank line may be missing; half a frame is no frame.
                    if let Some(frame) = sse.finish() {
                        self.frame(&frame).or_else(|fault| match fault.kind {
                            ModelErrorKind::BadReply => Ok(()),
                            _ => Err(fault),
                        })?;
                    }
                    return if self.decoder.is_complete() { Ok(()) } else { Err(self.cut("")) };
                }
                More::Silence(_) | More::Broken(_) if self.decoder.is_complete() => return Ok(()),
                More::Silence(limit_ms) => {
                    return Err(self.words().silent(limit_ms, "the reply was complete"));
                }
                More::Broken(cause) => return Err(self.cut(&cause)),
            }
            if self.decoder.is_over() {
                drain(response).await;
                return Ok(());
            }
        }
    }

    async fn more(&mut self, response: &mut Response, first_byte: Instant) -> More {
        let timeouts = &self.config.timeouts;
        let (deadline, limit_ms) = if self.frames == 0 {
            (first_byte, timeouts.first_byte_ms)
        } else {
            let idle_ms = if self.decoder.is_complete() {
                limits::AFTER_FINISH_MS.min(timeouts.idle_ms)
            } else {
                timeouts.idle_ms
            };
            (Instant::now() + Duration::from_millis(idle_ms), idle_ms)
        };
        match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(bytes))) => More::Bytes(bytes),
            Ok(Ok(None)) => More::End,
            Ok(Err(error)) => More::Broken(http::describe(&error.without_url())),
            Err(_) => More::Silence(limit_ms),
        }
    }

    /// One JSON document where a stream was asked for.
    async fn document(
        &mut self,
        begun: Bytes,
        mut response: Response,
        deadline: Instant,
    ) -> Result<(), Fault> {
        let mut body = begun.to_vec();
        loop {
            match timeout_at(deadline, response.chunk()).await {
                Ok(Ok(Some(part))) if body.len() + part.len() <= limits::FRAME_BYTES_MAX => {
                    body.extend_from_slice(&part);
                }
                Ok(Ok(Some(_))) => return Err(self.malformed("the answer is longer than is accepted")),
                Ok(Ok(None)) => break,
                Ok(Err(error)) => {
                    return Err(self.cut(&http::describe(&error.without_url())));
                }
                Err(_) => {
                    return Err(self
                        .words()
                        .silent(self.config.timeouts.first_byte_ms, "the reply was complete"));
                }
            }
        }
        self.frame(&Frame { event: String::new(), data: sse::text(body) })?;
        if self.decoder.is_complete() { Ok(()) } else { Err(self.malformed("the answer holds no reply")) }
    }

    /// A page for people where a reply should be: a portal, or another address than that of the interface.
    async fn page(&mut self, begun: &[u8], response: Response) -> Fault {
        let body = [begun, &error_body(response).await].concat();
        self.malformed(&format!("a web page: {}", page::plain(&String::from_utf8_lossy(&body))))
    }

    fn frames(&mut self, frames: &mut Vec<Frame>) -> Result<(), Fault> {
        let taken = frames.drain(..).try_for_each(|frame| self.frame(&frame));
        self.shown.send();
        taken
    }

    fn frame(&mut self, frame: &Frame) -> Result<(), Fault> {
        self.frames += 1;
        let (gate, shown, output) = (&mut self.gate, &mut self.shown, &mut self.output);
        let told = &mut self.told;
        let mended = match surrogates::mended(&frame.data) {
            Cow::Borrowed(_) => None,
            Cow::Owned(data) => Some(Frame { event: frame.event.clone(), data }),
        };
        let taken = self.decoder.frame(mended.as_ref().unwrap_or(frame), &mut |delta| {
            *output = true;
            let signal = match delta {
                Delta::Text(text) => Some(gate.push(text)).filter(|text| !text.is_empty()).map(Signal::Text),
                Delta::Reasoning("") | Delta::Other => None,
                Delta::Reasoning(text) => Some(Signal::Reasoning(text.to_owned())),
                Delta::Calling(name) => Some(Signal::Calling(name.to_owned())),
            };
            match signal {
                Some(signal) => shown.add(signal),
                None if told.elapsed() >= Duration::from_millis(limits::ARRIVING_EVERY_MS) => {
                    *told = Instant::now();
                    shown.add(Signal::Arriving);
                }
                None => {}
            }
        });
        taken.map_err(|trouble| match trouble {
            Trouble::Provider(error) => error.fault(&self.words()),
            Trouble::Malformed(what) => self.malformed(&what),
        })
    }

    fn words(&self) -> ErrorWords<'_> {
        self.live.words(self.config)
    }

    fn malformed(&self, what: &str) -> Fault {
        self.words().malformed(&format!("{:?}", self.live.wire), what)
    }

    /// The cause is in the words of a library, so it is for the log only.
    fn cut(&self, cause: &str) -> Fault {
        tracing::debug!(host = self.live.host, cause, "a stream ended early");
        self.words().cut()
    }

    fn failed(mut self, fault: Fault) -> FailedAttempt {
        self.shown.send();
        FailedAttempt { fault, partial: self.decoder.text().to_owned(), output: self.output }
    }

    fn reply(mut self, transcript: &Transcript) -> Reply {
        let mut reply = self.decoder.reply();
        if !reply.calls.is_empty() || transcript.has_native_calls() {
            self.live.endpoint.made_a_call();
        }
        if transcript.settle(&mut reply, self.live.reads(self.config.tool_calls, transcript)) {
            reply.calls.iter().for_each(|call| self.shown.add(Signal::Calling(call.name.clone())));
        } else {
            let held = self.gate.release();
            if !held.is_empty() {
                self.shown.add(Signal::Text(held));
            }
        }
        self.shown.send();
        reply
    }
}

/// Reads the little that is left, so that the connection can be used again.
async fn drain(mut response: Response) {
    let deadline = Instant::now() + Duration::from_millis(limits::DRAIN_MS);
    while let Ok(Ok(Some(_))) = timeout_at(deadline, response.chunk()).await {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_that_came_together_are_shown_together_and_in_order() {
        let text = |text: &str| Signal::Text(text.to_owned());
        let thought = |text: &str| Signal::Reasoning(text.to_owned());
        let calling = |name: &str| Signal::Calling(name.to_owned());
        let came = [thought("a"), thought("b"), text("c"), text("d"), calling("e"), calling("f"), text("g")];
        let mut signals = Vec::new();
        let mut on = |signal| signals.push(signal);
        let mut shown = Shown { on: &mut on, held: None };
        came.into_iter().for_each(|signal| shown.add(signal));
        shown.send();
        shown.send();
        assert_eq!(signals, [thought("ab"), text("cd"), calling("e"), calling("f"), text("g")]);
    }
}
