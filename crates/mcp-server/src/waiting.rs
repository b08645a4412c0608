//! Waits for a task on behalf of a call: within a bound, with progress where the client listens to it, and with a form for
//! the client's person where the client of the older era has one.

use std::time::Duration;

use posse_api::CallError;
use posse_protocol::SessionId;
use posse_view::{OpenQuestion, SessionView};
use rmcp::RoleServer;
use rmcp::model::{ElicitRequestParams, ProgressNotificationParam, ProgressToken, ProtocolVersion};
use rmcp::service::RequestContext;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::limits;
use crate::phase::{TaskPhase, phase};
use crate::questions::{filled_in, form};
use crate::runner::TaskRunner;
use crate::status::status_line;

/// Whether requests of this client stand alone: it is answered, and never asked.
pub(crate) fn stands_alone(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Whether the client has the tasks extension.
pub(crate) fn has_tasks(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks())
}

/// Whether the client can show its person a form.
pub(crate) fn has_forms(context: &RequestContext<RoleServer>) -> bool {
    let capabilities = context.client_capabilities();
    let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation);
    // One that names no kind has forms: there were no others at first.
    elicitation.is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none())
}

/// Somebody who waits for a task.
pub(crate) struct TaskWait<'a> {
    pub(crate) runner: &'a TaskRunner,
    pub(crate) context: &'a RequestContext<RoleServer>,
    /// Cancelled when the server ends.
    pub(crate) closing: &'a CancellationToken,
}

impl TaskWait<'_> {
    /// The view of a task once it has ended or asks something that nobody here can be asked; or when the wait is over.
    pub(crate) async fn wait(&self, session: SessionId) -> Result<SessionView, CallError> {
        let task = session.to_string();
        let token = self.context.meta.get_progress_token();
        let frame = &self.runner.frame;
        let wait_ms = if token.is_some() { frame.wait_with_progress_ms } else { frame.wait_ms };
        let until = Instant::now() + Duration::from_millis(wait_ms);
        let mut progress = token.map(ProgressTold::new);
        // Of questions that were put to the client's person, and not decided.
        let mut undecided = Vec::new();
        loop {
            let (_, view) = self.runner.view(&task).await?;
            match phase(&view) {
                TaskPhase::Working => {}
                TaskPhase::InputRequired if has_forms(self.context) && !stands_alone(self.context) => {
                    let open = view.questions.iter().find(|open| !undecided.contains(&open.seq));
                    let Some(open) = open else { return Ok(view) };
                    if !self.ask((session, &view), open).await? {
                        undecided.push(open.seq);
                    }
                    continue;
                }
                _ => return Ok(view),
            }
            if let Some(progress) = &mut progress {
                progress.tell(self.context, &view).await;
            }
            tokio::select! {
                () = self.context.ct.cancelled() => return Ok(view),
                () = self.closing.cancelled() => return Ok(view),
                () = tokio::time::sleep_until(until) => return Ok(view),
                () = tokio::time::sleep(Duration::from_millis(limits::LOOK_MS)) => {}
            }
        }
    }

    /// Puts a question to the client's person. Whether it was decided, by them or by somebody else meanwhile.
    async fn ask(
        &self,
        (session, view): (SessionId, &SessionView),
        open: &OpenQuestion,
    ) -> Result<bool, CallError> {
        let Some(form) = form(view, open) else { return Ok(false) };
        let answer = tokio::select! {
            answer = self.put(form) => answer,
            () = self.answered(session, open) => return Ok(true),
            () = self.context.ct.cancelled() => None,
            () = self.closing.cancelled() => None,
        };
        let Some(answer) = answer.and_then(|result| filled_in(&open.question, &result).ok().flatten()) else {
            return Ok(false);
        };
        Ok(self.runner.answer((session, view), open, answer).await.is_ok())
    }

    async fn put(&self, form: ElicitRequestParams) -> Option<rmcp::model::ElicitResult> {
        let patience = Duration::from_millis(limits::ASKING_MS_MAX);
        self.context.peer.create_elicitation_with_timeout(form, Some(patience)).await.ok()
    }

    /// Returns once a question is not open any more.
    async fn answered(&self, session: SessionId, asked: &OpenQuestion) {
        loop {
            tokio::time::sleep(Duration::from_millis(limits::LOOK_MS)).await;
            let view = self.runner.view(&session.to_string()).await;
            if view.is_ok_and(|(_, view)| view.questions.iter().all(|open| open.seq != asked.seq)) {
                return;
            }
        }
    }
}

/// What a client was told of a task's progress.
struct ProgressTold {
    token: ProgressToken,
    line: String,
    at: Option<Instant>,
    number: f64,
}

impl ProgressTold {
    fn new(token: ProgressToken) -> Self {
        Self { token, line: String::new(), at: None, number: 0.0 }
    }

    /// Tells what is new, not too often; and from time to time that nothing is.
    async fn tell(&mut self, context: &RequestContext<RoleServer>, view: &SessionView) {
        let line = status_line(phase(view), view);
        let since = self.at.map(|at| at.elapsed());
        let least = if line == self.line { limits::PROGRESS_MS_MAX } else { limits::PROGRESS_MS_MIN };
        if since.is_some_and(|since| since < Duration::from_millis(least)) {
            return;
        }
        self.number += 1.0;
        let told = ProgressNotificationParam::new(self.token.clone(), self.number).with_message(line.clone());
        // One that does not read is not waited for.
        let telling = context.peer.notify_progress(told);
        let _ = tokio::time::timeout(Duration::from_millis(limits::TELLING_MS_MAX), telling).await;
        (self.line, self.at) = (line, Some(Instant::now()));
    }
}
