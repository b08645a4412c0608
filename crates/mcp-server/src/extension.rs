//! Tasks as the extension `io.modelcontextprotocol/tasks` has them: one for each session, made anew from the record
//! whenever it is asked for. Pure.

use jiff::Timestamp;
use posse_protocol::{Ending, SessionId};
use posse_view::SessionView;
use rmcp::model::{CallToolResult, CreateTaskResult, DetailedTask, ErrorCode, Task, TaskPayload, TaskStatus};
use serde_json::{Map, Value, json};

use crate::limits;
use crate::phase::{TaskPhase, phase};
use crate::questions;
use crate::status::status_line;

/// A task that has just begun.
pub(crate) fn created(session: SessionId, view: &SessionView) -> CreateTaskResult {
    CreateTaskResult::new(task(session, view))
}

/// A task with what belongs to its state. `result` is what the call would have answered.
pub(crate) fn detailed(session: SessionId, view: &SessionView, result: &CallToolResult) -> DetailedTask {
    let payload = match phase(view) {
        TaskPhase::Working => TaskPayload::Working,
        TaskPhase::InputRequired => TaskPayload::InputRequired { input_requests: questions::requests(view) },
        // A tool that ran and tells of an error is complete: `failed` is for what broke.
        TaskPhase::Failed if broke(view) => TaskPayload::Failed { error: failure(view, result) },
        TaskPhase::Completed | TaskPhase::Failed => {
            TaskPayload::Completed { result: object(serde_json::to_value(result)) }
        }
        TaskPhase::Cancelled => TaskPayload::Cancelled,
    };
    DetailedTask::new(task(session, view), payload)
}

fn task(session: SessionId, view: &SessionView) -> Task {
    let state = phase(view);
    let status = match state {
        TaskPhase::Working => TaskStatus::Working,
        TaskPhase::InputRequired => TaskStatus::InputRequired,
        TaskPhase::Failed if broke(view) => TaskStatus::Failed,
        TaskPhase::Completed | TaskPhase::Failed => TaskStatus::Completed,
        TaskPhase::Cancelled => TaskStatus::Cancelled,
    };
    // No time to live: it stays on record until the person removes it.
    Task::new(session.to_string(), status, time(view.started_at_ms), time(view.last_at_ms))
        .with_status_message(status_line(state, view))
        .with_poll_interval_ms(limits::POLL_MS)
}

/// Whether a task broke: its process is gone, or its agent could not go on. A budget that is used up is an answer.
fn broke(view: &SessionView) -> bool {
    let ending = view.main().and_then(|main| main.report.as_ref()).map(|report| &report.ending);
    view.interrupted().is_some()
        || matches!(ending, None | Some(Ending::Failed { .. } | Ending::Interrupted { .. }))
}

/// Why a task did not end well, with all there is to read of it.
fn failure(view: &SessionView, result: &CallToolResult) -> Map<String, Value> {
    let data = json!({ "content": result.content, "structuredContent": result.structured_content });
    let message = status_line(TaskPhase::Failed, view);
    object(Ok(json!({ "code": ErrorCode::INTERNAL_ERROR.0, "message": message, "data": data })))
}

fn object(value: serde_json::Result<Value>) -> Map<String, Value> {
    match value {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

fn time(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok());
    at.unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}
