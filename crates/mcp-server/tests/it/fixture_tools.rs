//! The suite's own tools.

use std::time::Duration;

use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::{ErrorData as McpError, RoleServer};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::fixture::{PNG, SuiteServer, WAV, from};

const SECRET: &str = "only this server knows it";

/// Names, and the text that each takes, if any.
const TOOLS: [(&str, Option<&str>); 32] = [
    ("test_simple_text", None),
    ("test_image_content", None),
    ("test_audio_content", None),
    ("test_embedded_resource", None),
    ("test_multiple_content_types", None),
    ("test_tool_with_logging", None),
    ("test_logging_tool", None),
    ("test_error_handling", None),
    ("test_tool_with_progress", None),
    ("test_sampling", Some("prompt")),
    ("test_elicitation", Some("message")),
    ("test_elicitation_sep1034_defaults", None),
    ("test_elicitation_sep1330_enums", None),
    ("test_missing_capability", None),
    ("test_streaming_elicitation", None),
    ("test_trigger_tool_change", None),
    ("test_trigger_prompt_change", None),
    ("test_input_required_result_elicitation", None),
    ("test_input_required_result_sampling", None),
    ("test_input_required_result_list_roots", None),
    ("test_input_required_result_request_state", None),
    ("test_input_required_result_multiple_inputs", None),
    ("test_input_required_result_multi_round", None),
    ("test_input_required_result_tampered_state", None),
    ("test_input_required_result_capabilities", None),
    ("greet", Some("name")),
    ("slow_compute", None),
    ("failing_job", None),
    ("protocol_error_job", None),
    ("test_tool_with_task", None),
    ("confirm_delete", None),
    ("multi_input", None),
];

pub(crate) fn tools() -> Vec<Tool> {
    let tool = |(name, argument): &(&str, Option<&str>)| {
        let properties = argument.map_or_else(|| json!({}), |name| json!({ name: { "type": "string" } }));
        from(json!({ "name": name, "description": format!("The suite's {name}"),
                     "inputSchema": { "type": "object", "properties": properties } }))
    };
    TOOLS.iter().map(tool).collect()
}

fn text(text: impl Into<String>) -> Result<CallToolResponse, McpError> {
    Ok(CallToolResult::success(vec![ContentBlock::text(text.into())]).into())
}

fn content(content: Value) -> Result<CallToolResponse, McpError> {
    Ok(from::<CallToolResult>(json!({ "resultType": "complete", "content": content })).into())
}

/// A form with one field that must be filled in.
pub(crate) fn form(message: &str, field: &str, kind: &str) -> Value {
    json!({ "method": "elicitation/create", "params": { "mode": "form", "message": message, "requestedSchema": {
        "type": "object", "properties": { field: { "type": kind } }, "required": [field] } } })
}

fn sampling(message: &str) -> Value {
    json!({ "method": "sampling/createMessage", "params": { "maxTokens": 100, "messages": [
        { "role": "user", "content": { "type": "text", "text": message } }] } })
}

fn required(requests: Value, state: Option<String>) -> Result<CallToolResponse, McpError> {
    Ok(InputRequiredResult::new(Some(from(requests)), state).into())
}

/// A state that nobody else can make.
fn signed(state: &str) -> String {
    let mark = Sha256::digest(format!("{SECRET}{state}{SECRET}"));
    let mark = mark.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    format!("{state}.{mark}")
}

fn checked(state: Option<&str>, want: &str) -> Result<(), McpError> {
    if state == Some(signed(want).as_str()) {
        return Ok(());
    }
    Err(McpError::invalid_params("The state is not one that was given out", None))
}

pub(crate) async fn call(
    server: &SuiteServer,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, McpError> {
    let name = request.name.clone();
    if name.starts_with("test_input_required_result") {
        return inputs(&name, request, context);
    }
    match name.as_ref() {
        "test_simple_text" => text("This is a simple text response for testing."),
        "test_image_content" => content(json!([{ "type": "image", "data": PNG, "mimeType": "image/png" }])),
        "test_audio_content" => content(json!([{ "type": "audio", "data": WAV, "mimeType": "audio/wav" }])),
        "test_embedded_resource" => {
            content(json!([{ "type": "resource", "resource": { "uri": "test://embedded-resource",
            "mimeType": "text/plain", "text": "This is an embedded resource content." } }]))
        }
        "test_multiple_content_types" => content(json!([
            { "type": "text", "text": "Multiple content types test:" },
            { "type": "image", "data": PNG, "mimeType": "image/png" },
            { "type": "resource", "resource": { "uri": "test://mixed-content-resource", "mimeType": "application/json",
              "text": "{\"test\":\"data\",\"value\":123}" } },
        ])),
        "test_error_handling" => Ok(CallToolResult::error(vec![ContentBlock::text(
            "This tool intentionally returns an error for testing",
        )])
        .into()),
        "test_tool_with_logging" | "test_logging_tool" => logging(context).await,
        "test_tool_with_progress" => progress(context).await,
        "test_trigger_tool_change" | "test_trigger_prompt_change" => {
            server.changed(name == "test_trigger_tool_change").await;
            text("Changed.")
        }
        "test_missing_capability" => {
            let has = context.client_capabilities().is_some_and(|all| all.sampling.is_some());
            if has {
                text("It is there.")
            } else {
                Err(McpError::missing_required_client_capability(from(json!({ "sampling": {} }))))
            }
        }
        "test_streaming_elicitation" => required(json!({ "name": form("Who?", "name", "string") }), None),
        _ => asked(&name, request, context).await,
    }
}

#[allow(deprecated)]
async fn logging(context: &RequestContext<RoleServer>) -> Result<CallToolResponse, McpError> {
    let stands_alone =
        context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
    let wanted = !stands_alone || context.meta.contains_key("io.modelcontextprotocol/logLevel");
    for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        if wanted {
            let told = from(json!({ "level": "info", "data": line }));
            let _ = context.peer.notify_logging_message(told).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    text("Logged.")
}

async fn progress(context: &RequestContext<RoleServer>) -> Result<CallToolResponse, McpError> {
    for done in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let told = ProgressNotificationParam::new(token, done).with_total(100.0);
            let _ = context.peer.notify_progress(told).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    text("Progressed.")
}

/// Tools that ask the client while they run, as the older revisions do.
#[allow(deprecated)]
async fn asked(
    name: &str,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, McpError> {
    let arguments = Value::Object(request.arguments.unwrap_or_default());
    let told = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
    let failed = |error: rmcp::ServiceError| McpError::internal_error(error.to_string(), None);
    let schema = match name {
        "test_sampling" => {
            let wanted = from(sampling(&told("prompt"))["params"].clone());
            let answer = context.peer.create_message(wanted).await.map_err(failed)?;
            let answer = serde_json::to_value(answer).unwrap();
            return text(format!("LLM response: {}", answer["content"]["text"].as_str().unwrap_or_default()));
        }
        "test_elicitation" => json!({ "type": "object", "required": ["username", "email"], "properties": {
            "username": { "type": "string", "description": "User's response" },
            "email": { "type": "string", "description": "User's email address" } } }),
        "test_elicitation_sep1034_defaults" => json!({ "type": "object", "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true } } }),
        "test_elicitation_sep1330_enums" => enums(),
        _ => return Err(McpError::invalid_params(format!("There is no tool {name}"), None)),
    };
    let wanted = json!({ "mode": "form", "message": told("message"), "requestedSchema": schema });
    let answer = context.peer.create_elicitation(from(wanted)).await.map_err(failed)?;
    let answer = serde_json::to_value(answer).unwrap();
    text(format!(
        "Elicitation completed: action={}, content={}",
        answer["action"].as_str().unwrap(),
        answer["content"]
    ))
}

fn enums() -> Value {
    let titled = |words: [&str; 3]| {
        let one = |(at, title): (usize, &str)| json!({ "const": format!("value{}", at + 1), "title": title });
        words.into_iter().enumerate().map(one).collect::<Vec<_>>()
    };
    json!({ "type": "object", "properties": {
        "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
        "titledSingle": { "type": "string", "oneOf": titled(["First Option", "Second Option", "Third Option"]) },
        "legacyEnum": { "type": "string", "enum": ["opt1", "opt2", "opt3"],
                        "enumNames": ["Option One", "Option Two", "Option Three"] },
        "untitledMulti": { "type": "array", "items": { "type": "string", "enum": ["option1", "option2", "option3"] } },
        "titledMulti": { "type": "array", "items": { "anyOf": titled(["First Choice", "Second Choice", "Third Choice"]) } },
    } })
}

/// Tools that answer with what they need, as the newest revision does.
fn inputs(
    name: &str,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, McpError> {
    let answers = request.input_responses.unwrap_or_default();
    let state = request.request_state.as_deref();
    let filled = |key: &str, field: &str| {
        let value = answers.get(key)?;
        (value["action"] == "accept")
            .then(|| value["content"][field].clone())
            .filter(|value| !value.is_null())
    };
    let who = || json!({ "user_name": form("What is your name?", "name", "string") });
    match name.trim_start_matches("test_input_required_result_") {
        "elicitation" => match filled("user_name", "name").as_ref().and_then(Value::as_str) {
            Some(name) => text(format!("Hello, {name}!")),
            None => required(who(), None),
        },
        "sampling" => match answers.get("capital_question") {
            Some(answer) => text(format!("It says: {}", answer["content"]["text"])),
            None => required(json!({ "capital_question": sampling("What is the capital of France?") }), None),
        },
        "list_roots" => match answers.get("client_roots") {
            Some(answer) => text(format!("Roots: {}", answer["roots"])),
            None => required(json!({ "client_roots": { "method": "roots/list", "params": {} } }), None),
        },
        "request_state" | "tampered_state" if answers.is_empty() && state.is_none() => {
            required(json!({ "confirm": form("Please confirm", "ok", "boolean") }), Some(signed("asked")))
        }
        "request_state" | "tampered_state" => checked(state, "asked").and_then(|()| text("state-ok")),
        "multiple_inputs" if answers.len() < 3 => required(
            json!({ "user_name": form("What is your name?", "name", "string"), "greeting": sampling("Generate a greeting"),
                    "client_roots": { "method": "roots/list", "params": {} } }),
            Some(signed("three")),
        ),
        "multiple_inputs" => checked(state, "three").and_then(|()| text("All three came.")),
        "multi_round" => match state {
            None => required(
                json!({ "step1": form("Step 1: What is your name?", "name", "string") }),
                Some(signed("one")),
            ),
            Some(state) if state == signed("one") => required(
                json!({ "step2": form("Step 2: What is your favorite color?", "color", "string") }),
                Some(signed("two")),
            ),
            state => checked(state, "two").and_then(|()| text("Both steps are done.")),
        },
        "capabilities" => {
            let client = context.client_capabilities().unwrap_or_default();
            let mut wanted = serde_json::Map::new();
            if client.elicitation.is_some() {
                wanted.insert("name".to_owned(), form("Who?", "name", "string"));
            }
            if client.sampling.is_some() {
                wanted.insert("greeting".to_owned(), sampling("Generate a greeting"));
            }
            if answers.is_empty() { required(Value::Object(wanted), None) } else { text("Done.") }
        }
        _ => Err(McpError::invalid_params(format!("There is no tool {name}"), None)),
    }
}
