//! Begins tasks, looks at them and steers them. Nothing of a task is kept here: it is on record, and runs in a process of
//! its own.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use posse_api::calls::steering::{AnswerQuestion, CancelSession, TellAgent};
use posse_api::{
    BackgroundProgram, BegunSession, CallError, CallErrorKind, Handle, NewSession, SessionOrigin, Views,
};
use posse_engine::{AnswerOutcome, Delivery, Engine};
use posse_protocol::{AgentState, Answer, Report, Seq, SessionId};
use posse_setup::Paths;
use posse_view::{AgentView, OpenQuestion, SessionView};
use tokio::sync::Semaphore;

use crate::arguments::RunTask;
use crate::frame::{ServerFrame, TaskStart, refused, within};
use crate::limits;
use crate::questions::key;
use crate::report::last_report;

/// What carries tasks out for all clients of a server.
pub struct TaskRunner {
    engine: Engine,
    paths: Arc<Paths>,
    /// Starts this program once more; its session flags come from the frame.
    program: BackgroundProgram,
    pub(crate) frame: ServerFrame,
    views: Views,
    /// Tasks that were begun here and may be at work.
    begun: Mutex<Vec<SessionId>>,
    /// Places for processes that are being started.
    starting: Semaphore,
}

impl TaskRunner {
    /// `program` has the flags that every process of this program gets.
    pub fn new(engine: Engine, paths: Arc<Paths>, program: BackgroundProgram, frame: ServerFrame) -> Self {
        let starting = Semaphore::new(limits::STARTING_MAX);
        Self { engine, paths, program, frame, views: Views::default(), begun: Mutex::default(), starting }
    }

    /// Begins a task within the frame. It is on record, and its process can be reached, when this returns.
    pub(crate) async fn begin(
        &self,
        wanted: &RunTask,
        traceparent: Option<&str>,
    ) -> Result<BegunSession, CallError> {
        let start = self.frame.narrow(&self.paths, wanted, traceparent).await?;
        let _place = self.starting.acquire().await.map_err(|error| refused(error.to_string()))?;
        self.check_room().await?;
        let begun = self.start(start).await?;
        self.counted().push(begun.session);
        Ok(begun)
    }

    async fn start(&self, start: TaskStart) -> Result<BegunSession, CallError> {
        let TaskStart { folder, prompt, flags } = start;
        let program = BackgroundProgram { session_flags: flags, ..self.program.clone() };
        let origin = SessionOrigin::Folder(folder);
        let new = NewSession { origin, prompt, files: Vec::new(), model: None, approval: None };
        program.begin(new).await.map_err(refused)
    }

    /// Refuses one more task than may work at the same time.
    async fn check_room(&self) -> Result<(), CallError> {
        let begun = self.counted().clone();
        let working = self.engine.read(move |engine| {
            let is_open = |session: &SessionId| {
                let row = engine.find_session(&session.to_string());
                row.is_ok_and(|row| row.status == AgentState::Running)
            };
            Ok(begun.into_iter().filter(is_open).collect::<Vec<_>>())
        });
        let working = working.await?;
        let count = working.len();
        *self.counted() = working;
        if count < limits::TASKS_WORKING_MAX {
            return Ok(());
        }
        let message = format!(
            "{count} tasks of this server are at work, as many as may. Wait for one of them, or cancel one."
        );
        Err(CallError::new(CallErrorKind::TooMany, message))
    }

    fn counted(&self) -> std::sync::MutexGuard<'_, Vec<SessionId>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The view of a task by its id, if it works in a folder of this server. The same answer for one that is not there and
    /// for one that is none of the client's business.
    pub(crate) async fn view(&self, task: &str) -> Result<(SessionId, SessionView), CallError> {
        within(limits::NAME_BYTES_MAX, "id of the task", task)?;
        let none = || {
            let message = format!(
                "There is no task {task:?} in the folders of this server; run_task returns the id of one."
            );
            CallError::new(CallErrorKind::NotFound, message)
        };
        let session = task.trim().parse::<SessionId>().map_err(|_| none())?;
        let view = match self.views.show(&self.engine, session).await {
            Err(error) if error.kind == CallErrorKind::NotFound => return Err(none()),
            view => view?,
        };
        if self.frame.folders.hold(Path::new(&view.workspace)) { Ok((session, view)) } else { Err(none()) }
    }

    /// The last report of a task's main agent.
    pub(crate) async fn report(
        &self,
        session: SessionId,
        view: &SessionView,
    ) -> Result<Option<Report>, CallError> {
        let Some(main) = view.main() else { return Ok(None) };
        let events = self.engine.transcript(session, main.id, Seq(u64::MAX), limits::REPORT_EVENTS_MAX);
        Ok(last_report(events.await?))
    }

    /// The handle of a task's process, if the client may steer it.
    async fn steer(&self, session: SessionId, view: &SessionView) -> Result<Handle, CallError> {
        self.frame.may_steer(&self.paths, view).await?;
        Handle::of(&self.engine, session).await.map_err(told)
    }

    /// Says something to an agent of a task.
    pub(crate) async fn tell(
        &self,
        (session, view): (SessionId, &SessionView),
        agent: Option<String>,
        text: String,
    ) -> Result<(), CallError> {
        let handle = self.steer(session, view).await?;
        handle.call(session, TellAgent { agent, text, delivery: Delivery::NextTurn }).await.map_err(told)?;
        Ok(())
    }

    /// Answers a question of a task.
    pub(crate) async fn answer(
        &self,
        (session, view): (SessionId, &SessionView),
        open: &OpenQuestion,
        answer: Answer,
    ) -> Result<(), CallError> {
        let handle = self.steer(session, view).await?;
        let call = AnswerQuestion { agent: open.agent, call: open.question.call.clone(), answer };
        match handle.call(session, call).await.map_err(told)?.outcome {
            AnswerOutcome::Accepted => {
                self.until(session, |view| view.questions.iter().all(|other| other.seq != open.seq)).await;
                Ok(())
            }
            AnswerOutcome::NotOpen => {
                Err(refused("The question is not open any more: somebody else has answered it."))
            }
            AnswerOutcome::WrongKind | AnswerOutcome::BadPattern => {
                Err(refused("The answer does not fit the question."))
            }
            AnswerOutcome::BadText => Err(refused("The answer is empty or too long.")),
        }
    }

    /// Stops a task with all its agents.
    pub(crate) async fn cancel(&self, session: SessionId, view: &SessionView) -> Result<(), CallError> {
        let handle = self.steer(session, view).await?;
        handle.call(session, CancelSession {}).await.map_err(told)?;
        self.until(session, |view| view.main().is_none_or(AgentView::has_ended)).await;
        Ok(())
    }

    /// Waits a short while until the record shows what a command has done, so that the client sees it as well.
    async fn until(&self, session: SessionId, shows: impl Fn(&SessionView) -> bool) {
        let looking = async {
            while let Ok(view) = self.views.show(&self.engine, session).await {
                if shows(&view) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(limits::LOOK_MS / 4)).await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_millis(limits::SHOWN_MS_MAX), looking).await;
    }
}

/// Why a task cannot be steered, in words for a client.
fn told(error: CallError) -> CallError {
    match error.kind {
        CallErrorKind::NotRunning => CallError::new(
            CallErrorKind::NotRunning,
            "The task has ended and its process is gone. Start another with run_task; its report stays readable.",
        ),
        _ => error,
    }
}

/// An open question by its key.
pub(crate) fn question<'a>(view: &'a SessionView, wanted: &str) -> Result<&'a OpenQuestion, CallError> {
    let wanted = wanted.trim();
    view.questions.iter().find(|open| key(open) == wanted).ok_or_else(|| {
        let keys = view.questions.iter().take(limits::QUESTIONS_SHOWN_MAX).map(key).collect::<Vec<_>>();
        let there =
            if keys.is_empty() { "none is".to_owned() } else { format!("open are {}", keys.join(", ")) };
        refused(format!("The task has no open question {wanted:?}; {there}."))
    })
}
