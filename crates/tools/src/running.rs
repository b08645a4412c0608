//! A command under way. Whoever holds it learns what the command named in order to change it, even if nobody waits for
//! its end any more, sees what it has written so far, and can move it to the background.
//!
//! ```text
//! run ──► movable ──► the call takes its end     (ended)
//!             └─────► to_background ─► moved: the call is answered, and the command is one of the session's jobs
//! ```

use std::sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError};

use posse_protocol::AgentId;
use posse_sandbox::{Command, CommandHandle, CommandOutcome, Touched};
use tokio::sync::{Mutex, oneshot, watch};

use crate::failure::{ToolFailure, crashed};
use crate::jobs::{Job, Jobs, MoveError, NewJob};
use crate::output_text::part_of;
use crate::tests_run::Understood;

/// The command of one call; there is none until it is started. Clones are the same; with the last of them it is ended.
#[derive(Clone, Debug, Default)]
pub struct RunningCommand(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    handle: Arc<Mutex<Option<CommandHandle>>>,
    place: SyncMutex<CommandPlace>,
    moved: watch::Sender<bool>,
}

/// Where a command runs.
#[derive(Debug, Default)]
enum CommandPlace {
    /// It does not run, or its end was taken.
    #[default]
    Nowhere,
    /// In the foreground, and it could be moved.
    Movable(Box<MoveTerms>),
    /// In the background, as this job.
    Moved(Box<Job>),
}

/// What became of a command that was run in the foreground.
pub(crate) enum CommandCourse {
    /// It has ended.
    Ended(Box<CommandOutcome>),
    /// A person moved it to the background.
    Moved(Box<Job>),
}

/// What a command becomes a job with.
#[derive(Debug)]
pub(crate) struct MoveTerms {
    pub(crate) jobs: Jobs,
    pub(crate) command: String,
    pub(crate) understood: Arc<Understood>,
    pub(crate) owner: AgentId,
    pub(crate) can_change: bool,
    pub(crate) leaves: bool,
}

impl RunningCommand {
    /// Runs it to its end, or until somebody moves it to the background on these terms: then the job is what it comes to. If
    /// the call is dropped meanwhile, the command may have begun: [`RunningCommand::ended`] finds it all the same.
    pub(crate) async fn run(&self, command: Command, terms: MoveTerms) -> Result<CommandCourse, ToolFailure> {
        let mut slot = Arc::clone(&self.0.handle).lock_owned().await;
        // Before it is started: whoever sees that it runs may move it at once.
        *self.place() = CommandPlace::Movable(Box::new(terms));
        let (tell, told) = oneshot::channel();
        tokio::spawn(async move {
            let started = posse_sandbox::start(command).await;
            *slot = started.as_ref().ok().cloned();
            drop(slot);
            // Nobody listens where the call was dropped.
            let _ = tell.send(started);
        });
        let handle = told.await.map_err(|_| crashed())??;
        let mut moved = self.0.moved.subscribe();
        tokio::select! {
            _ = moved.wait_for(|moved| *moved) => {}
            _ = handle.wait() => {}
        }
        Ok(match self.leave() {
            Some(job) => CommandCourse::Moved(job),
            None => CommandCourse::Ended(Box::new(handle.wait().await)),
        })
    }

    /// The job that it has become, if it has. If not, it cannot be moved any more.
    fn leave(&self) -> Option<Box<Job>> {
        let mut place = self.place();
        if let CommandPlace::Moved(job) = &*place {
            return Some(job.clone());
        }
        *place = CommandPlace::Nowhere;
        None
    }

    /// Moves it to the background. Its call is answered at once. Waits for one that is being started. Gives back the name of
    /// the job.
    pub async fn to_background(&self) -> Result<String, MoveError> {
        let handle = self.0.handle.lock().await.clone().ok_or(MoveError::NotRunning)?;
        let mut place = self.place();
        let CommandPlace::Movable(terms) = &*place else { return Err(MoveError::NotRunning) };
        if handle.finished().is_some() {
            return Err(MoveError::JustEnded);
        }
        let MoveTerms { jobs, command, understood, owner, can_change, leaves } = &**terms;
        let understood = Arc::clone(understood);
        let (owner, can_change, leaves) = (*owner, *can_change, *leaves);
        let job = jobs.adopt(handle, NewJob { command, understood, owner, can_change, leaves })?;
        let name = job.name.clone();
        *place = CommandPlace::Moved(Box::new(job));
        self.0.moved.send_replace(true);
        Ok(name)
    }

    /// Ends it if it has not ended, and says what it touched; none if it was moved to the background and goes on there.
    /// Waits for one that is being started.
    pub async fn ended(&self) -> Option<Touched> {
        let handle = self.0.handle.lock().await.take();
        if matches!(*self.place(), CommandPlace::Moved(_)) {
            return None;
        }
        let Some(handle) = handle else { return Some(Touched::default()) };
        handle.stop();
        Some(handle.wait().await.touched)
    }

    fn place(&self) -> MutexGuard<'_, CommandPlace> {
        self.0.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a command writes while it runs, part by part.
#[derive(Debug)]
pub struct LiveOutput {
    command: RunningCommand,
    /// How many bytes of it were seen, or passed over.
    seen: u64,
}

impl LiveOutput {
    /// From the beginning.
    pub fn of(command: RunningCommand) -> Self {
        Self { command, seen: 0 }
    }

    /// What is new since, as text: its end if it is more than so many bytes. None if there is nothing new.
    pub fn next(&mut self, bytes_max: usize) -> Option<String> {
        let handle = self.command.0.handle.try_lock().ok()?.clone()?;
        let part = handle.newest(self.seen, bytes_max)?;
        let (text, taken) = part_of(&part.bytes);
        self.seen = part.from.saturating_add(taken as u64);
        (!text.is_empty()).then_some(text)
    }
}
