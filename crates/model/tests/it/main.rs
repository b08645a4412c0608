//! The model crate, driven from outside over real sockets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod attachments;
mod cassette;
mod errors;
mod export;
mod governor;
mod list;
mod odd_servers;
mod prefix;
mod replies;
mod retry;
mod secrets;
mod settings;
mod sse;
mod text_calls;
mod tool_json;
mod wire_back;

use posse_model::{Governors, Model, ModelConfig, Protocol, Retry, Signal, Transcript};
use posse_protocol::{CallId, Message, ModelError, Needs, Reply, ToolCall, ToolResult, ToolSpec, Usage};
use posse_testkit::{FakeModel, MODEL_ID, Turn};
use serde_json::{Value, json};

const PROTOCOLS: [Protocol; 3] = [Protocol::Chat, Protocol::Responses, Protocol::Anthropic];

/// A model at the fake server, with retries that take no time.
fn config(protocol: Protocol, server: &FakeModel) -> ModelConfig {
    ModelConfig {
        max_concurrent: 8,
        retry: Retry { attempts_max: 4, base_ms: 1, cap_ms: 4 },
        ..ModelConfig::new("test", MODEL_ID, protocol, server.base_url())
    }
}

fn model(config: ModelConfig) -> Model {
    Model::new(config, &Governors::new()).unwrap()
}

fn tool(name: &str) -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    ToolSpec {
        name: name.into(),
        description: format!("Does {name}."),
        schema: schema.into(),
        needs: Needs::default(),
    }
}

fn tools() -> Vec<ToolSpec> {
    vec![tool("read_file"), tool("grep")]
}

/// A conversation of one question.
fn question(model: &Model) -> Transcript {
    let mut transcript = model.transcript("You are a test.", &tools());
    transcript.push(&Message::user("Go on."));
    transcript
}

async fn ask(model: &Model, transcript: &Transcript) -> (Result<Reply, ModelError>, Vec<Signal>) {
    let mut signals = Vec::new();
    let reply = model.call(transcript, &mut |signal| signals.push(signal)).await;
    (reply, signals)
}

/// One question to a server that answers with these turns.
async fn one(
    protocol: Protocol,
    turns: impl IntoIterator<Item = Turn>,
) -> (Result<Reply, ModelError>, Vec<Signal>) {
    let server = FakeModel::with(turns).await;
    let model = model(config(protocol, &server));
    ask(&model, &question(&model)).await
}

fn shown_text(signals: &[Signal]) -> String {
    signals
        .iter()
        .filter_map(|s| if let Signal::Text(text) = s { Some(text.as_str()) } else { None })
        .collect()
}

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: CallId(id.into()), name: name.into(), arguments: arguments.into() }
}

fn result(id: &str, ok: bool, text: &str) -> ToolResult {
    ToolResult { id: CallId(id.into()), ok, text: text.into(), attachments: Vec::new() }
}

/// A reply as the message it becomes.
fn said(reply: &Reply) -> Message {
    Message::Assistant {
        text: reply.text.clone(),
        reasoning: reply.reasoning.clone(),
        calls: reply.calls.clone(),
    }
}

fn usage(input: u64, cached: u64, output: u64) -> Usage {
    Usage {
        input_tokens: Some(input),
        cached_tokens: Some(cached),
        output_tokens: Some(output),
        ..Usage::default()
    }
}

/// The list of messages in a request, whatever the protocol calls it.
fn messages(request: &Value) -> &Vec<Value> {
    request["messages"].as_array().or_else(|| request["input"].as_array()).unwrap()
}
