//! The suite's tools that are carried out as tasks, for scenarios that are run for information.

use std::time::Duration;

use rmcp::model::*;
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskExit, TaskOptions};
use rmcp::{ErrorData as McpError, RoleServer};
use serde_json::Value;

use crate::fixture::{SuiteServer, from};
use crate::fixture_tools::form;

/// What a tool of tasks answers; none for any other tool.
pub(crate) fn call(
    server: &SuiteServer,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResponse, McpError>> {
    let name = request.name.to_string();
    let arguments = Value::Object(request.arguments.clone().unwrap_or_default());
    if name == "greet" {
        let who = arguments["name"].as_str().unwrap_or("you");
        return Some(Ok(CallToolResult::success(vec![ContentBlock::text(format!("Hello, {who}!"))]).into()));
    }
    let tasks = [
        "slow_compute",
        "failing_job",
        "protocol_error_job",
        "confirm_delete",
        "multi_input",
        "test_tool_with_task",
    ];
    if !tasks.contains(&name.as_str()) {
        return None;
    }
    let has_tasks = context.client_capabilities().is_some_and(|all| all.supports_tasks());
    let seconds = arguments["seconds"].as_f64().unwrap_or(0.1).min(30.0);
    if !has_tasks {
        let missing = from(serde_json::json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }));
        return Some(match name.as_str() {
            "slow_compute" => Ok(CallToolResult::success(vec![ContentBlock::text("Computed.")]).into()),
            _ => Err(McpError::missing_required_client_capability(missing)),
        });
    }
    let answers = request.input_responses.clone().unwrap_or_default();
    let who = answers.get("user_name").map(|answer| answer["content"]["name"].to_string());
    if name == "test_tool_with_task" && who.is_none() {
        let wanted = from(serde_json::json!({ "user_name": form("What is your name?", "name", "string") }));
        return Some(Ok(InputRequiredResult::from_input_requests(wanted).into()));
    }
    let task = server.tasks.spawn(TaskOptions::default(), move |task| {
        Box::pin(async move {
            let ask = |key: &'static str| task.request_input(key, from(form("Sure?", "confirm", "boolean")));
            match name.as_str() {
                "failing_job" => return Ok(CallToolResult::error(vec![ContentBlock::text("It failed")])),
                "protocol_error_job" => {
                    return Err(TaskExit::Error(McpError::internal_error("It broke", None)));
                }
                "confirm_delete" => drop(ask("confirm").await?),
                "multi_input" => {
                    let (first, second) = tokio::join!(ask("first"), ask("second"));
                    first.and(second)?;
                }
                _ => tokio::select! {
                    () = task.cancelled() => return Err(TaskExit::Cancelled),
                    () = tokio::time::sleep(Duration::from_secs_f64(seconds)) => {}
                },
            }
            Ok(CallToolResult::success(vec![ContentBlock::text(format!(
                "Done. {}",
                who.unwrap_or_default()
            ))]))
        })
    });
    Some(Ok(CreateTaskResult::new(task).into()))
}
