//! A server with the tools, prompts and resources that the conformance suite asks for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rmcp::handler::server::ServerHandler;
use rmcp::model::*;
use rmcp::service::{RequestContext, SubscriptionContext, SubscriptionSink};
use rmcp::task_manager::TaskManager;
use rmcp::{ErrorData as McpError, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{fixture_tasks, fixture_tools};

/// A red pixel.
pub(crate) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// No sound at all.
pub(crate) const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA==";

/// The server. Clones share everything.
#[derive(Clone, Default)]
pub(crate) struct SuiteServer {
    pub(crate) tasks: TaskManager,
    listeners: Arc<Mutex<Vec<SubscriptionSink>>>,
}

/// A value of the protocol from JSON.
pub(crate) fn from<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value.clone()).unwrap_or_else(|error| panic!("{error}: {value}"))
}

impl SuiteServer {
    /// Tells all who listen that a list has changed.
    pub(crate) async fn changed(&self, tools: bool) {
        let listeners = self.listeners.lock().unwrap().clone();
        for listener in listeners {
            let _ = if tools {
                listener.notify_tool_list_changed().await
            } else {
                listener.notify_prompt_list_changed().await
            };
        }
    }
}

fn not_found(uri: &str) -> McpError {
    McpError::resource_not_found("Resource not found", Some(json!({ "uri": uri })))
}

#[allow(deprecated)]
impl ServerHandler for SuiteServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = json!({
            "tools": { "listChanged": true }, "prompts": { "listChanged": true }, "completions": {}, "logging": {},
            "resources": { "subscribe": true }, "extensions": { "io.modelcontextprotocol/tasks": {} },
        });
        ServerConfig::new(from(capabilities)).with_server_info(Implementation::new("suite", "1"))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), McpError> {
        self.listeners.lock().unwrap().push(context.sink().clone());
        context.cancelled().await;
        Ok(())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, McpError> {
        Ok(ListToolsResult::with_all_items(fixture_tools::tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        fixture_tools::tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, McpError> {
        if let Some(answer) = fixture_tasks::call(self, &request, &context) {
            return answer;
        }
        fixture_tools::call(self, request, &context).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, McpError> {
        self.tasks.get_task(&request.task_id).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), McpError> {
        self.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), McpError> {
        self.tasks.cancel_task(&request.task_id)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, McpError> {
        Ok(from(json!({ "resultType": "complete", "resources": [
            { "uri": "test://static-text", "name": "text", "description": "A text", "mimeType": "text/plain" },
            { "uri": "test://static-binary", "name": "binary", "description": "A picture", "mimeType": "image/png" },
            { "uri": "test://watched-resource", "name": "watched", "description": "Watched", "mimeType": "text/plain" },
        ] })))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, McpError> {
        Ok(from(json!({ "resultType": "complete", "resourceTemplates": [
            { "uriTemplate": "test://template/{id}/data", "name": "template", "description": "A template",
              "mimeType": "application/json" },
        ] })))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, McpError> {
        let uri = request.uri.as_str();
        let templated = uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data"));
        let content = match (uri, templated) {
            ("test://static-text", _) => {
                json!({ "mimeType": "text/plain", "text": "This is the content of the static text resource." })
            }
            ("test://watched-resource", _) => json!({ "mimeType": "text/plain", "text": "Watched." }),
            ("test://static-binary", _) => json!({ "mimeType": "image/png", "blob": PNG }),
            (_, Some(id)) => {
                let text = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
                json!({ "mimeType": "application/json", "text": text.to_string() })
            }
            _ => return Err(not_found(uri)),
        };
        let mut content = content;
        content["uri"] = uri.into();
        Ok(ReadResourceResponse::Complete(from(json!({ "resultType": "complete", "contents": [content] }))))
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), McpError> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), McpError> {
        Ok(())
    }

    async fn set_level(
        &self,
        _: SetLevelRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), McpError> {
        Ok(())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, McpError> {
        Ok(from(
            json!({ "resultType": "complete", "completion": { "values": ["paris", "park", "party"], "total": 3, "hasMore": false } }),
        ))
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, McpError> {
        let argument = |name: &str| json!({ "name": name, "description": name, "required": true });
        let prompt = |name: &str, arguments: &[&str]| {
            let arguments = arguments.iter().map(|name| argument(name)).collect::<Vec<_>>();
            json!({ "name": name, "description": name, "arguments": arguments })
        };
        Ok(from(json!({ "resultType": "complete", "prompts": [
            prompt("test_simple_prompt", &[]),
            prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
            prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
            prompt("test_prompt_with_image", &[]),
            prompt("test_input_required_result_prompt", &[]),
        ] })))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, McpError> {
        let arguments: BTreeMap<String, Value> = request.arguments.unwrap_or_default().into_iter().collect();
        let argument =
            |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let text = |text: String| json!({ "type": "text", "text": text });
        let contents = match request.name.as_str() {
            "test_simple_prompt" => vec![text("This is a simple prompt for testing.".to_owned())],
            "test_prompt_with_arguments" => vec![text(format!(
                "Prompt with arguments: arg1='{}', arg2='{}'",
                argument("arg1"),
                argument("arg2")
            ))],
            "test_prompt_with_embedded_resource" => vec![
                json!({ "type": "resource", "resource": { "uri": argument("resourceUri"), "mimeType": "text/plain",
                        "text": "Embedded resource content for testing." } }),
                text("Please process the embedded resource above.".to_owned()),
            ],
            "test_prompt_with_image" => vec![
                json!({ "type": "image", "data": PNG, "mimeType": "image/png" }),
                text("Please analyze the image above.".to_owned()),
            ],
            "test_input_required_result_prompt" => {
                let filled = request.input_responses.as_ref().and_then(|all| all.get("user_context"));
                let Some(filled) = filled else {
                    let wanted =
                        fixture_tools::form("What context should the prompt use?", "context", "string");
                    let wanted = from(json!({ "user_context": wanted }));
                    return Ok(InputRequiredResult::from_input_requests(wanted).into());
                };
                vec![text(format!("Context: {}", filled["content"]["context"]))]
            }
            name => return Err(McpError::invalid_params(format!("There is no prompt {name}"), None)),
        };
        let messages = contents.into_iter().map(|content| json!({ "role": "user", "content": content }));
        Ok(GetPromptResponse::Complete(from(
            json!({ "resultType": "complete", "messages": messages.collect::<Vec<_>>() }),
        )))
    }
}
