//! Replies out of Responses streams.

use posse_protocol::{CallId, Reasoning, ReasoningOrigin, Reply, StopReason, ToolCall, Usage};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Decode, Delta, usage};
use crate::limits;
use crate::sse::Frame;
use crate::trouble::{ProviderError, Trouble};

#[derive(Default)]
pub(super) struct ResponsesDecoder {
    text: String,
    reasoning: Vec<Reasoning>,
    /// Calls by their place in the output.
    calls: Vec<(u64, ToolCall)>,
    /// The place in the output whose text has come in pieces.
    streamed: Option<u64>,
    items: usize,
    /// Whether the last thing that came was a whole item of output.
    done: bool,
    refused: bool,
    stop: Option<StopReason>,
    usage: Usage,
    model: String,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: Option<String>,
    delta: Option<String>,
    arguments: Option<String>,
    output_index: Option<u64>,
    #[serde(borrow)]
    item: Option<&'a RawValue>,
    #[serde(borrow)]
    response: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(rename = "type")]
    kind: Option<String>,
    call_id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    summary: Option<Vec<Part>>,
    content: Option<Vec<Part>>,
}

#[derive(Deserialize)]
struct Part {
    text: Option<String>,
    refusal: Option<String>,
}

#[derive(Deserialize)]
struct Response<'a> {
    model: Option<String>,
    status: Option<String>,
    usage: Option<Value>,
    incomplete_details: Option<Value>,
    #[serde(borrow)]
    output: Option<Vec<&'a RawValue>>,
}

impl Decode for ResponsesDecoder {
    fn frame(&mut self, frame: &Frame, on: &mut dyn FnMut(Delta<'_>)) -> Result<(), Trouble> {
        let data = frame.data.trim();
        if data == "[DONE]" && self.done {
            // Of another protocol; some proxies send it in place of the last event.
            self.stop.get_or_insert(StopReason::EndTurn);
        }
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let event: Event<'_> = read(data)?;
        let kind = event.kind.as_deref().unwrap_or(&frame.event);
        let delta = event.delta.as_deref().unwrap_or_default();
        let place = event.output_index.unwrap_or(0);
        self.done = kind == "response.output_item.done";
        match kind {
            "response.output_text.delta" | "response.refusal.delta" if !delta.is_empty() => {
                self.refused |= kind == "response.refusal.delta";
                self.streamed = Some(place);
                self.add_text(delta, on);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                on(Delta::Reasoning(delta));
            }
            "response.function_call_arguments.delta" => {
                on(Delta::Other);
                self.arguments(place, |arguments| arguments.push_str(delta));
            }
            "response.function_call_arguments.done" => {
                if let Some(whole) = event.arguments {
                    self.arguments(place, |arguments| *arguments = whole);
                }
            }
            "response.output_item.added" => self.item(event.item, place, false, on)?,
            "response.output_item.done" => self.item(event.item, place, true, on)?,
            "response.created" | "response.in_progress" => self.response(event.response, on)?,
            "response.completed" | "response.incomplete" | "response.done" => {
                self.response(event.response, on)?;
                self.stop.get_or_insert(StopReason::EndTurn);
            }
            "response.failed" => return Err(failed(event.response)),
            "error" => return Err(Trouble::Provider(ProviderError::from_json(&read(data)?))),
            // A whole response instead of a stream, or an error where a stream should be.
            "" => return self.whole(data, on),
            _ => {}
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.stop.is_some()
    }

    fn is_over(&self) -> bool {
        self.stop.is_some()
    }

    fn text(&self) -> &str {
        &self.text
    }

    fn reply(self: Box<Self>) -> Reply {
        let calls: Vec<ToolCall> = self.calls.into_iter().map(|(_, call)| call).collect();
        let stop = match self.stop.unwrap_or_default() {
            StopReason::EndTurn if self.refused => StopReason::Refusal,
            StopReason::EndTurn if !calls.is_empty() => StopReason::ToolCalls,
            stop => stop,
        };
        Reply {
            text: self.text,
            reasoning: self.reasoning,
            calls,
            stop,
            usage: self.usage,
            model: self.model,
        }
    }
}

impl ResponsesDecoder {
    fn add_text(&mut self, text: &str, on: &mut dyn FnMut(Delta<'_>)) {
        on(Delta::Text(text));
        self.text.push_str(text);
    }

    fn arguments(&mut self, place: u64, change: impl FnOnce(&mut String)) {
        if let Some((_, call)) = self.calls.iter_mut().rfind(|(at, _)| *at == place) {
            change(&mut call.arguments);
        }
    }

    fn item(
        &mut self,
        raw: Option<&RawValue>,
        place: u64,
        done: bool,
        on: &mut dyn FnMut(Delta<'_>),
    ) -> Result<(), Trouble> {
        let Some(raw) = raw else { return Ok(()) };
        let item: Item = read(raw.get())?;
        self.items += 1;
        if self.items > 2 * limits::BLOCKS_MAX {
            return Err(Trouble::malformed("the reply holds too many items"));
        }
        match item.kind.as_deref() {
            Some("function_call") => self.call(item, place, on)?,
            Some("reasoning") if done => {
                let parts = item.summary.into_iter().chain(item.content).flatten();
                let texts: Vec<String> = parts.filter_map(|part| part.text).collect();
                on(Delta::Other);
                self.reasoning.push(Reasoning {
                    text: texts.join("\n\n"),
                    origin: ReasoningOrigin::Responses,
                    opaque: Some(raw.get().to_owned()),
                });
            }
            Some("message") if done && self.streamed.take() != Some(place) => {
                for part in item.content.unwrap_or_default() {
                    self.refused |= part.refusal.is_some();
                    self.add_text(&part.text.or(part.refusal).unwrap_or_default(), on);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn call(&mut self, item: Item, place: u64, on: &mut dyn FnMut(Delta<'_>)) -> Result<(), Trouble> {
        let name = item.name.unwrap_or_default();
        if let Some((_, call)) = self.calls.iter_mut().rfind(|(at, _)| *at == place) {
            call.name = name;
            call.arguments = item.arguments.unwrap_or_default();
            return Ok(());
        }
        if self.calls.len() >= limits::CALLS_MAX {
            return Err(Trouble::malformed(format!(
                "the reply holds more than {} tool calls",
                limits::CALLS_MAX
            )));
        }
        on(Delta::Calling(&name));
        let id = CallId(item.call_id.unwrap_or_default());
        self.calls.push((place, ToolCall { id, name, arguments: item.arguments.unwrap_or_default() }));
        Ok(())
    }

    /// What an event says about the response as a whole.
    fn response(&mut self, raw: Option<&RawValue>, on: &mut dyn FnMut(Delta<'_>)) -> Result<(), Trouble> {
        let Some(raw) = raw else { return Ok(()) };
        let response: Response<'_> = read(raw.get())?;
        if let Some(model) = response.model {
            self.model = model;
        }
        if let Some(reported) = response.usage {
            usage::update(&mut self.usage, usage::responses(&reported));
        }
        if response.status.as_deref() == Some("incomplete") {
            let details = response.incomplete_details.unwrap_or_default();
            self.stop = Some(match details["reason"].as_str().unwrap_or("incomplete") {
                "max_output_tokens" | "max_tokens" => StopReason::MaxTokens,
                "content_filter" => StopReason::Refusal,
                other => StopReason::Other(other.to_owned()),
            });
        }
        // Servers that send only the end have everything there.
        if self.items == 0 && self.text.is_empty() {
            for (place, item) in response.output.unwrap_or_default().into_iter().enumerate() {
                self.item(Some(item), place as u64, true, on)?;
            }
        }
        Ok(())
    }

    fn whole(&mut self, data: &str, on: &mut dyn FnMut(Delta<'_>)) -> Result<(), Trouble> {
        let value: Value = read(data)?;
        if !value["error"].is_null() || value["status"] == "failed" {
            return Err(Trouble::Provider(ProviderError::from_json(&value)));
        }
        if value["object"] != "response" {
            return Err(Trouble::malformed("an event of the stream has no type"));
        }
        let raw: &RawValue = read(data)?;
        self.response(Some(raw), on)?;
        self.stop.get_or_insert(StopReason::EndTurn);
        Ok(())
    }
}

fn failed(raw: Option<&RawValue>) -> Trouble {
    let response: Value = raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    Trouble::Provider(ProviderError::from_json(&response))
}

fn read<'a, T: Deserialize<'a>>(data: &'a str) -> Result<T, Trouble> {
    serde_json::from_str(data)
        .map_err(|error| Trouble::malformed(format!("an event of the stream cannot be read: {error}")))
}
