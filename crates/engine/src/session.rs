//! One session: what it needs to start, and the handle that follows and steers it.

pub(crate) mod closing;
pub(crate) mod fork;
mod hook_trial;
mod hosted;
mod main_agent;
mod opening;
pub(crate) mod process_parts;
mod replay;
mod request;
pub(crate) mod resume;
pub(crate) mod running;
mod starter;
mod typed_command;
mod watcher;

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use posse_protocol::{AgentId, Answer, CallId, EventKind, Report, Sender, Seq, SessionId, Update};
use posse_store::{Store, StoreError};
use posse_tools::MoveError;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::agents::start::AgentStart;
use crate::crew::Crew;
use crate::driver::Driver;
use crate::error::EngineError;
use crate::limits::{AHEAD_AFTER_MS, LET_GO_MS_MAX};
use crate::record::bus::Updates;
use crate::record::new_agent_id;
use crate::record::reading::read_events;
use crate::rights::approvals::AnswerOutcome;
use crate::session::main_agent::main_agent;
use crate::session::opening::Opening;
use crate::session::process_parts::ProcessParts;

pub use hook_trial::{HookTrial, MadeUpMoment, TriedHook};
pub(crate) use hosted::host;
pub use hosted::{HostRequest, HostedAgent, HostedUpdate};
pub use request::{KnowledgeSettings, SessionRequest};
pub use typed_command::{TypedCommand, TypedOutcome, run_typed};
pub use watcher::SessionWatcher;

/// A running session. Dropping it does not stop it; `cancel` does.
pub struct Session {
    /// Its id on record.
    pub id: SessionId,
    /// Its main agent.
    pub agent: AgentId,
    updates: Updates,
    /// Its agents, as long as one of them runs: their channel closes with them.
    crew: Weak<Crew>,
    /// Cancelled when somebody else can go on with it.
    free: CancellationToken,
    report: oneshot::Receiver<Report>,
}

impl Session {
    pub(crate) fn start(
        process: &ProcessParts,
        id: SessionId,
        request: SessionRequest,
    ) -> Result<Self, EngineError> {
        let agent = new_agent_id();
        let opening = Opening { id, agent, after: Seq(0), began_within: request.traceparent, home: None };
        let (grant, budget, prompt) = (request.grant.clone(), request.budget, request.words());
        let (crew, updates) = opening.open(process, request, &grant, Opening::lock(process, id)?)?;
        let launch = main_agent(&crew, grant, budget, prompt);
        Ok(Self::drive(process, crew, launch, updates))
    }

    /// Sets the main agent to work.
    pub(crate) fn drive(process: &ProcessParts, crew: Arc<Crew>, main: AgentStart, updates: Updates) -> Self {
        let (id, agent) = (crew.session, crew.main);
        process.running.add(&crew);
        if main.interrupted.is_some() {
            // It is on record already.
            crew.begun.cancel();
        }
        if crew.home.is_none() {
            let places = [crew.site.workspace.root().to_path_buf(), process.data_dir.clone()];
            // While the model thinks; nobody waits for it.
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(AHEAD_AFTER_MS)).await;
                drop(tokio::task::spawn_blocking(move || clear_leftovers(&places)));
            });
        }
        let driver = Driver::new(Arc::clone(&crew), main);
        let driving = tokio::spawn(driver.run());
        crew.add_driver(driving.abort_handle());
        let (weak, (told, report)) = (Arc::downgrade(&crew), oneshot::channel());
        let free = crew.alive.free();
        let freed = free.clone();
        drop(crew);
        let (open, agents, store) = (process.bus.closing(id), weak.clone(), process.store.clone());
        tokio::spawn(async move {
            match driving.await {
                Ok(report) => {
                    until_free(&freed).await;
                    drop(open);
                    let _ = told.send(report);
                }
                // Let go of; it may have ended right then.
                Err(gone) if gone.is_cancelled() => {
                    if let Ok(Some(report)) =
                        tokio::task::spawn_blocking(move || end_of(&store, id, agent)).await
                    {
                        let _ = told.send(report);
                    }
                }
                // A fault in Posse: nobody below may go on without it.
                Err(_) => {
                    if let Some(crew) = agents.upgrade() {
                        crew.stop_below(agent).await;
                        crew.background.stop_all(&crew).await;
                    }
                }
            }
        });
        Self { id, agent, updates, crew: weak, free, report }
    }

    /// Lets go of the session: what runs is stopped where it is, and can be resumed. Gives back how many agents had not
    /// ended; none if it is over already.
    pub async fn detach(&self) -> Result<usize, EngineError> {
        let Some(crew) = self.crew.upgrade() else { return Ok(0) };
        let agents = crew.stop_drivers().await;
        crew.background.stop_all(&crew).await;
        // Who has ended on record has ended, even if nobody else got to know.
        let (store, id) = (crew.store.clone(), crew.session);
        let open = tokio::task::spawn_blocking(move || still_open(&store, id)).await;
        let agents = open.ok().and_then(Result::ok).unwrap_or(agents);
        if !agents.contains(&crew.main) {
            return Ok(0);
        }
        let open = agents.len();
        let mut journal = crew.main_journal();
        journal.note(EventKind::SessionInterrupted { agents, detached: true });
        journal.durable().await?;
        drop((journal, crew));
        until_free(&self.free).await;
        Ok(open)
    }

    /// The next update; `None` once the session is over and all its events were given out.
    pub async fn next(&mut self) -> Option<Update> {
        self.updates.next().await
    }

    /// Stops the session: what runs is stopped, and the end is recorded as cancelled.
    pub fn cancel(&self) {
        self.canceller()();
    }

    /// Stops the session from elsewhere.
    pub fn canceller(&self) -> impl FnOnce() + Send + use<> {
        let (crew, agent) = (self.crew.clone(), self.agent);
        move || {
            if let Some(crew) = crew.upgrade() {
                crew.cancel(agent);
            }
        }
    }

    /// Stops one agent, by name, with all below it. False if there is none at work.
    pub fn stop(&self, name: &str) -> bool {
        let Some(crew) = self.crew.upgrade() else { return false };
        let found = crew.tree(|tree| tree.find_peer(name));
        found.is_some_and(|id| crew.cancel(id) > 0)
    }

    /// Says something to one agent, by name; at its next turn, or at once. False if there is none at work.
    pub fn tell(&self, name: &str, text: &str, interrupt: bool) -> bool {
        let Some(crew) = self.crew.upgrade() else { return false };
        let found = crew.tree(|tree| tree.find_peer(name));
        found.is_some_and(|id| crew.tell(id, Sender::Person, text.to_string(), interrupt))
    }

    /// Answers a question of an agent.
    pub fn answer(&self, agent: AgentId, call: &CallId, answer: Answer) -> AnswerOutcome {
        self.crew.upgrade().map_or(AnswerOutcome::NotOpen, |crew| crew.approvals.answer(agent, call, answer))
    }

    /// Moves a command that an agent runs in the foreground to the background, by the call that runs it: the call is answered
    /// at once, and the command goes on as a job of the session. Gives back the name of the job.
    pub async fn to_background(&self, agent: AgentId, call: &CallId) -> Result<String, MoveError> {
        self.crew.upgrade().ok_or(MoveError::NotRunning)?.to_background(agent, call).await
    }

    /// Waits for the end. `None` only if the driver itself broke, which is a defect.
    pub async fn report(self) -> Option<Report> {
        self.report.await.ok()
    }
}

/// Whoever resumes it now finds it free.
async fn until_free(free: &CancellationToken) {
    let _ = tokio::time::timeout(Duration::from_millis(LET_GO_MS_MAX), free.cancelled()).await;
}

/// The agents of a session that have not ended, once everything that was written is on record.
fn still_open(store: &Store, session: SessionId) -> Result<Vec<AgentId>, StoreError> {
    store.flush()?;
    let agents = store.agents(session)?.into_iter();
    Ok(agents.filter(|agent| agent.ended_at_ms.is_none()).map(|agent| agent.id).collect())
}

/// What the main agent came to, if that is on record.
fn end_of(store: &Store, session: SessionId, main: AgentId) -> Option<Report> {
    if still_open(store, session).ok()?.contains(&main) {
        return None;
    }
    let events = read_events(store, session).ok()?.into_iter().rev();
    let mut own = events.filter(|event| event.agent == main);
    own.find_map(|event| match event.kind {
        EventKind::AgentSettled { report } => Some(report),
        _ => None,
    })
}

/// Removes what a killed process has left half-written.
fn clear_leftovers(places: &[PathBuf]) {
    let left: usize = places.iter().map(|place| posse_workspace::clear_leftovers(place)).sum();
    if left > 0 {
        tracing::info!(left, "half-written files of a killed process were removed");
    }
}
