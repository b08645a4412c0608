//! Replies out of Chat Completions streams, and out of the whole JSON that some servers send instead.

use posse_protocol::{Reasoning, ReasoningOrigin, Reply, StopReason, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::borrowed::{Content, Few, Text};
use super::chat_calls::{CallDelta, Calls};
use super::chat_encode::REASONING_FIELD;
use super::{Decode, Delta, usage};
use crate::limits;
use crate::sse::Frame;
use crate::trouble::{ProviderError, Trouble};

#[derive(Default)]
pub(super) struct ChatDecoder {
    text: String,
    /// What came as `reasoning_content`.
    reasoning_content: String,
    /// What came as `reasoning`.
    reasoning: String,
    details: Vec<Value>,
    calls: Calls,
    finish: Option<String>,
    refused: bool,
    usage: Usage,
    timings: Usage,
    model: String,
    done: bool,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    model: Option<Text<'a>>,
    choices: Option<Few<Choice<'a>>>,
    usage: Option<Value>,
    timings: Option<Value>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    index: Option<u64>,
    /// A piece, in a stream; the whole, in a plain JSON answer.
    #[serde(alias = "message", borrow)]
    delta: Option<Piece<'a>>,
    finish_reason: Option<Text<'a>>,
    usage: Option<Value>,
}

#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow)]
    content: Option<Content<'a>>,
    reasoning_content: Option<Text<'a>>,
    reasoning: Option<Text<'a>>,
    reasoning_details: Option<Vec<Value>>,
    refusal: Option<Text<'a>>,
    tool_calls: Option<Few<CallDelta<'a>>>,
}

impl Decode for ChatDecoder {
    fn frame(&mut self, frame: &Frame, on: &mut dyn FnMut(Delta<'_>)) -> Result<(), Trouble> {
        let data = frame.data.trim();
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        if data.is_empty() {
            return Ok(());
        }
        if frame.event == "error" {
            return Err(Trouble::Provider(ProviderError::from_json(&value(data)?)));
        }
        let chunk: Chunk<'_> = serde_json::from_str(data)
            .map_err(|error| Trouble::malformed(format!("a chunk of the stream cannot be read: {error}")))?;
        if chunk.error.as_ref().is_some_and(|error| !error.is_null()) {
            return Err(Trouble::Provider(ProviderError::from_json(&value(data)?)));
        }
        if let Some(model) = chunk.model.as_ref().and_then(Text::said).filter(|model| *model != self.model) {
            self.model = model.to_owned();
        }
        if let Some(reported) = chunk.usage {
            usage::update(&mut self.usage, usage::chat(&reported));
        }
        if let Some(timings) = chunk.timings {
            self.timings = usage::timings(&timings);
        }
        for choice in chunk.choices.unwrap_or_default() {
            if choice.index.unwrap_or(0) == 0 {
                self.choice(choice, on)?;
            }
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.done || self.finish.is_some()
    }

    fn is_over(&self) -> bool {
        self.done
    }

    fn text(&self) -> &str {
        &self.text
    }

    fn reply(self: Box<Self>) -> Reply {
        let stop = self.stop();
        let mut usage = self.timings;
        usage::update(&mut usage, self.usage);
        let mut reasoning = Vec::new();
        let plain = |text, opaque| Reasoning { text, origin: ReasoningOrigin::Chat, opaque };
        if !self.reasoning_content.is_empty() {
            reasoning.push(plain(self.reasoning_content, None));
        }
        if !self.details.is_empty() {
            let opaque = Some(Value::Array(self.details).to_string());
            reasoning.push(Reasoning { text: self.reasoning, origin: ReasoningOrigin::ChatDetails, opaque });
        } else if !self.reasoning.is_empty() && reasoning.is_empty() {
            reasoning.push(plain(self.reasoning, Some(REASONING_FIELD.to_owned())));
        }
        Reply { text: self.text, reasoning, calls: self.calls.into_calls(), stop, usage, model: self.model }
    }
}

impl ChatDecoder {
    fn choice(&mut self, choice: Choice<'_>, on: &mut dyn FnMut(Delta<'_>)) -> Result<(), Trouble> {
        if let Some(reported) = choice.usage {
            usage::update(&mut self.usage, usage::chat(&reported));
        }
        if let Some(piece) = choice.delta {
            self.piece(piece, on)?;
        }
        if let Some(finish) = choice.finish_reason.as_ref().and_then(Text::said) {
            self.finish = Some(finish.to_owned());
        }
        Ok(())
    }

    fn piece(&mut self, piece: Piece<'_>, on: &mut dyn FnMut(Delta<'_>)) -> Result<(), Trouble> {
        let by_content = piece.reasoning_content.as_ref().and_then(Text::said);
        if let Some(text) = by_content {
            on(Delta::Reasoning(text));
            self.reasoning_content.push_str(text);
        }
        if let Some(text) = piece.reasoning.as_ref().and_then(Text::said) {
            // Servers in transition send the same words under both names.
            if by_content.is_none() {
                on(Delta::Reasoning(text));
            }
            self.reasoning.push_str(text);
        }
        for detail in piece.reasoning_details.unwrap_or_default() {
            on(Delta::Other);
            self.detail(detail)?;
        }
        let refusal = piece.refusal.as_ref().and_then(Text::said);
        self.refused |= refusal.is_some();
        let content = piece.content.as_ref().map(|content| &*content.0).filter(|text| !text.is_empty());
        for text in [content, refusal].into_iter().flatten() {
            on(Delta::Text(text));
            self.text.push_str(text);
        }
        for call in piece.tool_calls.unwrap_or_default() {
            match self.calls.add(call)? {
                Some(name) => on(Delta::Calling(name)),
                None => on(Delta::Other),
            }
        }
        Ok(())
    }

    /// Pieces of one block of `reasoning_details` come apart and are put together again, nothing else is changed.
    fn detail(&mut self, detail: Value) -> Result<(), Trouble> {
        if let Some(last) = self.details.last_mut()
            && last["type"] == detail["type"]
            && last["index"] == detail["index"]
            && let Some(field) = ["text", "summary"].into_iter().find(|field| detail[*field].is_string())
            && let (Some(before), Some(more)) = (last[field].as_str(), detail[field].as_str())
        {
            last[field] = format!("{before}{more}").into();
            if !detail["signature"].is_null() {
                last["signature"] = detail["signature"].clone();
            }
            return Ok(());
        }
        if self.details.len() >= limits::BLOCKS_MAX {
            return Err(Trouble::malformed("the reply holds too many pieces of reasoning"));
        }
        self.details.push(detail);
        Ok(())
    }

    fn stop(&self) -> StopReason {
        if self.refused {
            return StopReason::Refusal;
        }
        match self.finish.as_deref() {
            Some("length" | "max_tokens") => StopReason::MaxTokens,
            Some("content_filter" | "refusal") => StopReason::Refusal,
            None
            | Some(
                "stop" | "eos" | "eos_token" | "stop_sequence" | "end_turn" | "tool_calls" | "function_call"
                | "tool_use",
            ) => {
                if self.calls.is_empty() {
                    StopReason::EndTurn
                } else {
                    StopReason::ToolCalls
                }
            }
            Some(word) => StopReason::Other(word.to_owned()),
        }
    }
}

fn value(data: &str) -> Result<Value, Trouble> {
    serde_json::from_str(data)
        .map_err(|error| Trouble::malformed(format!("an error that cannot be read: {error}")))
}
