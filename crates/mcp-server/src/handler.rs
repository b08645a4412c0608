//! What the server answers: tools, and tasks where the client has the extension. Clients of both eras come here.

use std::sync::Arc;
use std::time::Duration;

use posse_api::{CallError, CallErrorKind};
use posse_protocol::SessionId;
use posse_view::SessionView;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock,
    CustomRequest, CustomResult, ErrorCode, ErrorData, GetTaskParams, GetTaskResult, Implementation,
    InputRequiredResult, InputResponses, JsonObject, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, SubscriptionFilter, Tool, UpdateTaskParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData as McpError, RoleServer};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::arguments::{AnswerTask, MessageTask, NamedTask, RunTask};
use crate::described::described;
use crate::extension::{created, detailed};
use crate::limits;
use crate::listening::{carried_tasks, told as told_of};
use crate::look::look;
use crate::offered::{ANSWER, CANCEL, MESSAGE, REPORT, RUN_TASK, STATUS, tools};
use crate::phase::{TaskPhase, phase};
use crate::questions::{filled_in, requests, understood};
use crate::report::{ReportSize, as_json, as_text};
use crate::runner::{TaskRunner, question};
use crate::waiting::{TaskWait, has_forms, has_tasks, stands_alone};

/// What the model of a client reads first.
const INSTRUCTIONS: &str = include_str!("../prompts/instructions.md").trim_ascii_end();

/// The methods that are served with parameters.
const SERVED: [&str; 6] =
    ["initialize", "tools/call", "tasks/get", "tasks/update", "tasks/cancel", "subscriptions/listen"];

/// The server, for any number of connections. Clones share everything.
#[derive(Clone)]
pub struct TaskServer {
    runner: Arc<TaskRunner>,
    version: Arc<str>,
    /// Cancelled when the server ends: nobody waits then. Tasks go on.
    closing: CancellationToken,
    /// Places for calls.
    calls: Arc<Semaphore>,
}

impl TaskServer {
    /// A server of this version of the program.
    pub fn new(runner: TaskRunner, version: &str, closing: CancellationToken) -> Self {
        let calls = Arc::new(Semaphore::new(limits::CALLS_MAX));
        Self { runner: Arc::new(runner), version: version.into(), closing, calls }
    }

    async fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, CallError> {
        let CallToolRequestParams { name, arguments, input_responses, request_state, .. } = request;
        let arguments = arguments.unwrap_or_default();
        match name.as_ref() {
            RUN_TASK => self.run_task(arguments, input_responses, request_state, context).await,
            STATUS => {
                let (session, view) = self.named(arguments).await?;
                self.result(session, &view, ReportSize::Short, Vec::new()).await.map(Into::into)
            }
            REPORT => {
                let (session, view) = self.named(arguments).await?;
                self.result(session, &view, ReportSize::Whole, Vec::new()).await.map(Into::into)
            }
            MESSAGE => {
                let MessageTask { task, text, agent } = read(arguments)?;
                let (session, view) = self.runner.view(&task).await?;
                self.runner.tell((session, &view), agent, text).await?;
                self.afterwards(&task).await
            }
            ANSWER => {
                let AnswerTask { task, question: wanted, answer } = read(arguments)?;
                let (session, view) = self.runner.view(&task).await?;
                let open = question(&view, &wanted)?;
                let answer = understood(&open.question, &answer)?;
                self.runner.answer((session, &view), open, answer).await?;
                self.afterwards(&task).await
            }
            CANCEL => {
                let (session, view) = self.named(arguments).await?;
                self.runner.cancel(session, &view).await?;
                self.afterwards(&session.to_string()).await
            }
            other => Err(bad(format!("There is no tool {other:?}."))),
        }
    }

    /// Begins a task, or goes on waiting for one whose questions were answered.
    async fn run_task(
        &self,
        arguments: JsonObject,
        answers: Option<InputResponses>,
        state: Option<String>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, CallError> {
        let (session, notes) = match state {
            // The state is the task's id, which is checked like any id that a client names.
            Some(task) => {
                let (session, view) = self.runner.view(&task).await?;
                self.fill_in(session, &view, answers.unwrap_or_default()).await?;
                (session, Vec::new())
            }
            None => {
                let wanted: RunTask = read(arguments)?;
                let begun = self.runner.begin(&wanted, context.meta.get_traceparent()).await?;
                (begun.session, begun.notes)
            }
        };
        // Of the older era some clients name the extension and do not understand a task in the place of a result.
        if stands_alone(context) && has_tasks(context) {
            let (session, view) = self.runner.view(&session.to_string()).await?;
            return Ok(created(session, &view).into());
        }
        let waiting = TaskWait { runner: &self.runner, context, closing: &self.closing };
        let view = waiting.wait(session).await?;
        if phase(&view) == TaskPhase::InputRequired && stands_alone(context) && has_forms(context) {
            return Ok(InputRequiredResult::new(Some(requests(&view)), Some(session.to_string())).into());
        }
        self.result(session, &view, ReportSize::Short, notes).await.map(Into::into)
    }

    /// Takes what a client's person filled in. What is not open any more is passed over, as the protocol wants it.
    async fn fill_in(
        &self,
        session: SessionId,
        view: &SessionView,
        answers: InputResponses,
    ) -> Result<(), CallError> {
        for (key, value) in answers {
            let Ok(open) = question(view, &key) else { continue };
            let result = serde_json::from_value(value)
                .map_err(|error| bad(format!("The answer to {key}: {error}.")))?;
            if let Some(answer) = filled_in(&open.question, &result)? {
                self.runner.answer((session, view), open, answer).await?;
            }
        }
        Ok(())
    }

    async fn named(&self, arguments: JsonObject) -> Result<(SessionId, SessionView), CallError> {
        let NamedTask { task } = read(arguments)?;
        self.runner.view(&task).await
    }

    /// How a task does after it was steered.
    async fn afterwards(&self, task: &str) -> Result<CallToolResponse, CallError> {
        let (session, view) = self.runner.view(task).await?;
        self.result(session, &view, ReportSize::Short, Vec::new()).await.map(Into::into)
    }

    /// How a task does, with its report once there is one.
    async fn result(
        &self,
        session: SessionId,
        view: &SessionView,
        size: ReportSize,
        notes: Vec<String>,
    ) -> Result<CallToolResult, CallError> {
        let mut look = look(session, view);
        look.notes = notes;
        let report = match look.state.has_ended() {
            true => self.runner.report(session, view).await?,
            false => None,
        };
        look.report = report.as_ref().and_then(|report| as_json(report, &look.task, size));
        let text = report.map(|report| as_text(&report, &look.task, size));
        let content = vec![ContentBlock::text(described(&look, text.as_deref()))];
        let mut result = CallToolResult::success(content);
        result.is_error = Some(look.state == TaskPhase::Failed);
        result.structured_content = serde_json::to_value(&look).ok();
        Ok(result)
    }

    async fn task(&self, task: &str) -> Result<GetTaskResult, CallError> {
        let (session, view) = self.runner.view(task).await?;
        let result = self.result(session, &view, ReportSize::Short, Vec::new()).await?;
        Ok(GetTaskResult::new(detailed(session, &view, &result)))
    }
}

impl ServerHandler for TaskServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tasks().build();
        let own = Implementation::new("posse", &*self.version).with_title("Posse");
        ServerConfig::new(capabilities).with_server_info(own).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, McpError> {
        let list = ListToolsResult::with_all_items(tools().to_vec());
        Ok(list.with_ttl_ms(limits::TOOLS_TTL_MS).with_cache_scope(CacheScope::Public))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools().iter().find(|tool| tool.name == name).cloned()
    }

    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        // No list of this server changes; tasks are not in the library's filter.
        Some(SubscriptionFilter::new())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), McpError> {
        let Ok(_place) = self.calls.try_acquire() else {
            return Err(McpError::internal_error("Too many calls at once; end one of them.", None));
        };
        let request = context.request_context();
        let mut told = carried_tasks(&request.meta).into_iter().map(|task| (task, None)).collect::<Vec<_>>();
        if !has_tasks(request) {
            told.clear();
        }
        loop {
            for (task, before) in &mut told {
                // One that is not there, or not the client's, is not told of.
                let Ok(found) = self.task(task).await else { continue };
                if before.as_ref() != Some(&found.task) {
                    *before = Some(found.task.clone());
                    let telling =
                        request.peer.send_notification(told_of(found.task, context.sink().id().clone()));
                    telling.await.map_err(|error| McpError::internal_error(error.to_string(), None))?;
                }
            }
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.closing.cancelled() => return Ok(()),
                () = tokio::time::sleep(Duration::from_millis(limits::LISTEN_MS)) => {}
            }
        }
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, McpError> {
        if self.get_tool(&request.name).is_none() {
            return Err(McpError::invalid_params(format!("There is no tool {:?}.", request.name), None));
        }
        let Ok(_place) = self.calls.try_acquire() else {
            return Ok(failed("Too many calls at once; wait for one of them.").into());
        };
        // What goes wrong is told to the model, which can do something about it.
        Ok(self.call(request, &context).await.unwrap_or_else(|error| failed(&error.message).into()))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, McpError> {
        // A method that is served comes here where its parameters are not what they should be.
        let CustomRequest { method, .. } = request;
        if SERVED.contains(&method.as_str()) {
            return Err(McpError::invalid_params(
                format!("The parameters of {method} are not understood."),
                None,
            ));
        }
        Err(McpError::new(ErrorCode::METHOD_NOT_FOUND, format!("There is no method {method:?}."), None))
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, McpError> {
        self.task(&request.task_id).await.map_err(protocol_error)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), McpError> {
        let (session, view) = self.runner.view(&request.task_id).await.map_err(protocol_error)?;
        self.fill_in(session, &view, request.input_responses).await.map_err(protocol_error)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), McpError> {
        let (session, view) = self.runner.view(&request.task_id).await.map_err(protocol_error)?;
        if phase(&view).has_ended() {
            return Ok(());
        }
        self.runner.cancel(session, &view).await.map_err(protocol_error)
    }
}

fn failed(message: &str) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}

fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, CallError> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| bad(format!("The arguments: {error}.")))
}

fn bad(message: String) -> CallError {
    CallError::new(CallErrorKind::BadRequest, message)
}

fn protocol_error(error: CallError) -> ErrorData {
    match error.kind {
        CallErrorKind::Internal | CallErrorKind::Unreachable | CallErrorKind::TooSlow => {
            McpError::internal_error(error.message, None)
        }
        _ => McpError::invalid_params(error.message, None),
    }
}
