//! Commands that run beside the agents: on record as the session's, and their end is told to whoever waits for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use posse_protocol::visible::one_line;
use posse_protocol::{AgentId, Approval, CallId, CommandRun, Effect, EventKind, Sender};
use posse_report::quote;
use posse_sandbox::CommandExit;
use posse_tools::{Job, JobNews, MoveError, RunningCommand};
use tokio::sync::watch;

use crate::changes::history::Running;
use crate::changes::site::Site;
use crate::crew::Crew;
use crate::limits::{JOB_SETTLE_MS_MAX, JOB_TAIL_BYTES_MAX, MOVE_ELSEWHERE_MS_MAX};

/// Where each of them runs, until what it changed is on record.
#[derive(Default)]
pub(crate) struct Background {
    places: Mutex<HashMap<String, RunningJob>>,
    gone: watch::Sender<()>,
    /// Commands that run in the foreground and can be moved here, by the calls that run them.
    movable: Mutex<HashMap<(AgentId, CallId), RunningCommand>>,
}

/// A command that can be moved to the background, as long as this is there.
pub(crate) struct Movable<'a> {
    background: &'a Background,
    key: (AgentId, CallId),
}

impl Drop for Movable<'_> {
    fn drop(&mut self) {
        let gone = lock(&self.background.movable).remove(&self.key);
        // Only now: it may end with it.
        drop(gone);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct RunningJob {
    site: Arc<Site>,
    /// Where it can change something that has a history.
    running: Option<Running>,
    /// Its number among what can write files.
    writes: Option<u64>,
}

impl Background {
    fn places(&self) -> MutexGuard<'_, HashMap<String, RunningJob>> {
        lock(&self.places)
    }

    /// Lets a person move the command of a call to the background while it runs.
    pub(crate) fn movable(&self, agent: AgentId, call: &CallId, command: RunningCommand) -> Movable<'_> {
        let key = (agent, call.clone());
        lock(&self.movable).insert(key.clone(), command);
        Movable { background: self, key }
    }

    /// Stops all of them and the servers of tools, and waits until what they changed is on record.
    pub(crate) async fn stop_all(&self, crew: &Crew) {
        let servers = async {
            if let Some(outside) = &crew.outside {
                outside.end().await;
            }
        };
        tokio::join!(crew.jobs.stop_all(), servers);
        self.settled(|_| true).await;
    }

    /// Stops those that run in a folder that goes.
    pub(crate) async fn stop_at(&self, crew: &Crew, site: &Arc<Site>) {
        let here = |place: &RunningJob| Arc::ptr_eq(&place.site, site);
        let names = {
            let places = self.places();
            let names = places.iter().filter(|(_, place)| here(place)).map(|(name, _)| name.clone());
            names.collect::<Vec<_>>()
        };
        crew.jobs.stop_these(&names).await;
        self.settled(here).await;
    }

    async fn settled(&self, which: impl Fn(&RunningJob) -> bool) {
        let mut gone = self.gone.subscribe();
        let all = async {
            while self.places().values().any(&which) {
                let _ = gone.changed().await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_millis(JOB_SETTLE_MS_MAX), all).await;
    }
}

impl Crew {
    /// Moves a command that runs in the foreground to the background, by the agent and the call that run it: the call is
    /// answered at once, and the command goes on as a job of the session. Gives back the name of the job.
    pub(crate) async fn to_background(&self, agent: AgentId, call: &CallId) -> Result<String, MoveError> {
        let command = lock(&self.background.movable).get(&(agent, call.clone())).cloned();
        if let Some(command) = command {
            return command.to_background().await;
        }
        let elsewhere = self.want_moved(agent, call).ok_or(MoveError::NotRunning)?;
        let name = tokio::time::timeout(Duration::from_millis(MOVE_ELSEWHERE_MS_MAX), elsewhere).await;
        name.ok().and_then(Result::ok).ok_or(MoveError::NotRunning)
    }
}

/// Follows the session's background commands as long as it has agents.
pub(crate) fn follow(crew: &Arc<Crew>) {
    let weak = Arc::downgrade(crew);
    crew.jobs.tell(move |news| {
        let Some(crew) = Weak::upgrade(&weak) else { return };
        match news {
            JobNews::Started(job) => started(&crew, job),
            JobNews::Ended { job, known } => ended(&crew, &job, known),
        }
    });
}

fn started(crew: &Crew, job: Job) {
    let site = crew.site(job.owner);
    // One whose owner is gone is guarded.
    let approval = crew.tree(|tree| tree.node(job.owner).map(|node| node.grant.approval));
    let approval = approval.unwrap_or(Approval::Ask);
    let running = job.can_change.then(|| site.history.add_command(approval));
    let writes = job.can_change.then(|| crew.approvals.begin_write(&one_line(&job.command, 100)));
    crew.background.places().insert(job.name.clone(), RunningJob { site, running, writes });
    let (name, command) = (job.name, job.command);
    note(crew, EventKind::BackgroundStarted { name, command });
}

fn ended(crew: &Arc<Crew>, job: &Job, known: bool) {
    let exit_code = match job.ended() {
        Some(CommandExit::Code(code)) => Some(code),
        _ => None,
    };
    let tail = tail(job);
    note(crew, EventKind::BackgroundEnded { name: job.name.clone(), exit_code, tail: tail.clone() });
    if !known {
        let how = exit_code.map_or("was stopped".to_string(), |code| format!("ended with exit code {code}"));
        let command = one_line(&job.command, 100);
        let text = format!("{} {how}: {command}\n{}", job.name, quote("output", &job.name, &tail));
        crew.tell(crew.nearest(job.owner), Sender::Posse, text, false);
    }
    let (crew, job) = (Arc::clone(crew), job.clone());
    tokio::spawn(async move {
        let running = crew.background.places().get_mut(&job.name).and_then(|place| place.running.take());
        let site = crew.background.places().get(&job.name).map(|place| Arc::clone(&place.site));
        let run = ran(&job, exit_code, site.as_ref()).await;
        let mut effects = Vec::new();
        if let (Some(running), Some(site)) = (running, site) {
            let mut found = site.history.end_command(running, &job.touched()).await;
            effects = std::mem::take(&mut found.effects);
            if effects.iter().any(|effect| matches!(effect, Effect::File(_))) {
                crew.note_edit(job.owner);
            }
            found.written.unseen &= !job.leaves;
            crew.approvals.note_written(&effects, &found.written);
            for refused in &found.refused {
                crew.tell(crew.nearest(job.owner), Sender::Posse, format!("{}: {refused}.", job.name), false);
            }
            let of = |node: &posse_delegate::Node| (node.parent, node.spent.turns);
            let (parent, turn) = crew.tree(|tree| tree.node(job.owner).map(of)).unwrap_or_default();
            let mut journal = crew.journal(job.owner, parent);
            found.into_events(turn).for_each(|kind| journal.note(kind));
            if let Err(error) = journal.durable().await {
                tracing::error!(%error, "what a background command changed could not be recorded");
            }
        }
        crew.add_ended_job(job.owner, run, effects);
        let place = crew.background.places().remove(&job.name);
        place.and_then(|place| place.writes).into_iter().for_each(|number| crew.approvals.end_write(number));
        crew.background.gone.send_replace(());
    });
}

/// What it has done.
async fn ran(job: &Job, exit_code: Option<i32>, site: Option<&Arc<Site>>) -> CommandRun {
    let unknown = CommandRun { command: job.command.clone(), exit_code, ..CommandRun::default() };
    let Some(workspace) = site.map(|site| site.workspace.clone()) else { return unknown };
    let job = job.clone();
    let look = tokio::task::spawn_blocking(move || posse_tools::background_run(&workspace, &job, exit_code));
    look.await.unwrap_or(unknown)
}

/// On record under the main agent: the session is the owner.
fn note(crew: &Crew, kind: EventKind) {
    let mut journal = crew.main_journal();
    journal.note(kind);
    journal.send();
}

/// The end of its output as text.
fn tail(job: &Job) -> String {
    let bytes = job.output().bytes();
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(JOB_TAIL_BYTES_MAX)..]).into_owned();
    text.trim().to_string()
}
