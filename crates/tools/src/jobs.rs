//! Commands that run beside the agents. They belong to the session, whoever started them: they outlive their agent, and
//! end with the session at the latest.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use posse_protocol::AgentId;
use posse_sandbox::{
    CapturedOutput, Command, CommandExit, CommandHandle, CommandOutcome, Level, OutputLimits, SandboxProfile,
    Touched,
};
use tokio::sync::watch;

use crate::{failure::ToolFailure, limits, tests_run::Understood};

/// One command that was started.
#[derive(Clone, Debug)]
pub struct Job {
    /// Its name: `cmd-1`, `cmd-2`, …
    pub name: String,
    /// The command text.
    pub command: String,
    /// Who started it.
    pub owner: AgentId,
    /// Whether anything in the workspace can be different for it.
    pub can_change: bool,
    /// Whether a person let it out of the sandbox.
    pub leaves: bool,
    /// What it does, as it was understood when it was started.
    pub(crate) understood: Arc<Understood>,
    running: CommandHandle,
    ended: Option<CommandExit>,
    /// Who waits for its end or brings it about.
    watchers: Vec<AgentId>,
}

impl Job {
    /// What it has written so far.
    pub fn output(&self) -> CapturedOutput {
        self.running.output()
    }

    /// What it named in order to change it; known once it has ended.
    pub fn touched(&self) -> Touched {
        self.running.finished().map(|finished| finished.touched).unwrap_or_default()
    }

    /// How it ended; none while it runs.
    pub fn ended(&self) -> Option<CommandExit> {
        self.ended
    }
}

/// What a job is made of, besides the command that runs.
pub(crate) struct NewJob<'a> {
    pub(crate) command: &'a str,
    pub(crate) understood: Arc<Understood>,
    pub(crate) owner: AgentId,
    pub(crate) can_change: bool,
    pub(crate) leaves: bool,
}

/// Whether anything in the workspace can be different for a command that is confined like this.
pub(crate) fn can_change(profile: Option<&SandboxProfile>) -> bool {
    profile.is_none_or(|profile| profile.level == Level::Full)
}

/// Why a command did not become a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoveError {
    /// No command runs in the foreground for this call.
    #[error("no command of this call runs in the foreground")]
    NotRunning,
    /// It has ended, and its result is on its way.
    #[error("the command has just ended")]
    JustEnded,
    /// As many commands run in the background as may.
    #[error("{0} commands run in the background, and no more may; stop one first")]
    TooMany(usize),
}

/// What happens to such commands.
#[derive(Clone, Debug)]
pub enum JobNews {
    /// One was started.
    Started(Job),
    /// One has ended.
    Ended {
        /// Which.
        job: Job,
        /// Whether whoever started it waited for the end or brought it about, and so knows of it.
        known: bool,
    },
}

/// Is told what happens.
type OnNews = Box<dyn Fn(JobNews) + Send + Sync>;

/// All such commands of one session. Clones are the same; with the last of them every command is stopped.
#[derive(Clone, Default)]
pub struct Jobs(Arc<Inner>);

#[derive(Default)]
struct Inner {
    jobs: Mutex<BTreeMap<u32, Job>>,
    on_news: OnceLock<OnNews>,
    ends: watch::Sender<()>,
}

impl std::fmt::Debug for Jobs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jobs").finish_non_exhaustive()
    }
}

impl Jobs {
    /// Has somebody told what happens; the first to ask is the one.
    pub fn tell(&self, on_news: impl Fn(JobNews) + Send + Sync + 'static) {
        let _ = self.0.on_news.set(Box::new(on_news));
    }

    /// Starts a command, and gives back its name.
    pub(crate) async fn start(
        &self,
        command: Command,
        text: &str,
        understood: Understood,
        owner: AgentId,
        leaves: bool,
    ) -> Result<Job, ToolFailure> {
        let can_change = can_change(command.confinement.as_ref());
        if let Some(running_now) = self.full() {
            return Err(ToolFailure(format!(
                "{running_now} commands run in the background, and no more may; stop one with jobs first"
            )));
        }
        let running = posse_sandbox::start(command).await?;
        let understood = Arc::new(understood);
        Ok(self.begin(running, NewJob { command: text, understood, owner, can_change, leaves }))
    }

    /// Takes over a command that runs already. From now on it has the time and the room of a job.
    pub(crate) fn adopt(&self, running: CommandHandle, new: NewJob<'_>) -> Result<Job, MoveError> {
        if let Some(running_now) = self.full() {
            return Err(MoveError::TooMany(running_now));
        }
        let side = limits::JOB_OUTPUT_SIDE_BYTES;
        let output = OutputLimits { head_bytes: side, tail_bytes: side };
        running.extend(Duration::from_millis(limits::JOB_TIME_MS_MAX), output);
        Ok(self.begin(running, new))
    }

    /// How many run, if no more may.
    fn full(&self) -> Option<usize> {
        let running_now = self.list().iter().filter(|job| job.ended.is_none()).count();
        (running_now >= limits::JOBS_MAX).then_some(running_now)
    }

    /// Says that a job runs, and looks after it until its end.
    fn begin(&self, running: CommandHandle, new: NewJob<'_>) -> Job {
        let job = self.0.add(new, &running);
        self.0.news(JobNews::Started(job.clone()));
        let (name, inner) = (job.name.clone(), Arc::downgrade(&self.0));
        tokio::spawn(async move {
            let finished = running.wait().await;
            // The last holder must be gone before the session can be.
            drop(running);
            if let Some(inner) = Weak::upgrade(&inner) {
                inner.ended(&name, finished);
            }
        });
        job
    }

    /// All that were started, oldest first.
    pub fn list(&self) -> Vec<Job> {
        self.0.lock().values().cloned().collect()
    }

    /// One by its name.
    pub fn find(&self, name: &str) -> Option<Job> {
        self.0.lock().values().find(|job| job.name == name).cloned()
    }

    /// Waits until it has ended.
    pub(crate) async fn wait(&self, name: &str, by: AgentId) {
        let _watch = self.0.watch(name, by);
        self.over(|job| job.name == name).await;
    }

    /// Stops one, and waits until nothing of it is left.
    pub(crate) async fn stop(&self, job: &Job, by: AgentId) {
        let _watch = self.0.watch(&job.name, by);
        job.running.stop();
        self.over(|other| other.name == job.name).await;
    }

    /// Stops all, and waits until nothing of them is left.
    pub async fn stop_all(&self) {
        self.stop_where(|_| true).await;
    }

    /// Stops these, because the folder they run in goes.
    pub async fn stop_these(&self, names: &[String]) {
        self.stop_where(|job| names.contains(&job.name)).await;
    }

    async fn stop_where(&self, which: impl Fn(&Job) -> bool) {
        self.list().iter().filter(|job| which(job)).for_each(|job| job.running.stop());
        self.over(which).await;
    }

    /// Waits until all of these have ended.
    async fn over(&self, which: impl Fn(&Job) -> bool) {
        let mut ends = self.0.ends.subscribe();
        while self.0.lock().values().any(|job| which(job) && job.ended.is_none()) {
            // The sender is here, so this cannot fail.
            let _ = ends.changed().await;
        }
    }
}

/// Somebody looks at a command, and needs not be told of its end meanwhile.
struct Watch {
    inner: Arc<Inner>,
    name: String,
    by: AgentId,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.inner.watchers(&self.name, |watchers| {
            if let Some(at) = watchers.iter().position(|by| *by == self.by) {
                watchers.swap_remove(at);
            }
        });
    }
}

impl Inner {
    fn news(&self, news: JobNews) {
        if let Some(on_news) = self.on_news.get() {
            on_news(news);
        }
    }

    fn watch(self: &Arc<Self>, name: &str, by: AgentId) -> Watch {
        self.watchers(name, |watchers| watchers.push(by));
        Watch { inner: Arc::clone(self), name: name.to_owned(), by }
    }

    fn watchers(&self, name: &str, change: impl FnOnce(&mut Vec<AgentId>)) {
        if let Some(job) = self.lock().values_mut().find(|job| job.name == name) {
            change(&mut job.watchers);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Job>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, new: NewJob<'_>, running: &CommandHandle) -> Job {
        let NewJob { command, understood, owner, can_change, leaves } = new;
        let mut jobs = self.lock();
        let number = jobs.last_key_value().map_or(1, |(number, _)| number + 1);
        let (name, command) = (format!("cmd-{number}"), command.to_owned());
        let (running, watchers) = (running.clone(), Vec::new());
        let job =
            Job { name, command, owner, can_change, leaves, understood, running, ended: None, watchers };
        // Their output takes memory; the oldest that have ended are forgotten first.
        while jobs.len() >= limits::JOBS_KEPT_MAX {
            let Some(oldest) = jobs.iter().find(|(_, job)| job.ended.is_some()).map(|(number, _)| *number)
            else {
                break;
            };
            jobs.remove(&oldest);
        }
        jobs.insert(number, job.clone());
        job
    }

    fn ended(&self, name: &str, finished: CommandOutcome) {
        let job = {
            let mut jobs = self.lock();
            let Some(job) = jobs.values_mut().find(|job| job.name == name) else { return };
            job.ended = Some(finished.exit);
            job.clone()
        };
        let known = job.watchers.contains(&job.owner);
        self.news(JobNews::Ended { job, known });
        self.ends.send_replace(());
    }
}
