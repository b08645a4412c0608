//! What the calls of one turn share: where they go, what they came to so far, and what is under way. Knows nothing of how they are
//! run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use posse_agent::Done;
use posse_policy::{Undo, destroys};
use posse_protocol::{AgentId, Approval, CallId, CommandRun, Effect, SessionTrace, ToolCall, ToolOutcome};
use posse_tools::{Rewrites, RunningCommand, Toolbox};

use crate::agents::context::Snapshot;
use crate::changes::found::Found;
use crate::changes::history::{Running, Writing};
use crate::changes::site::Site;
use crate::delegation::calls::{DelegationCalls, Work};
use crate::driver::gate::Gate;
use crate::hooks::agent_hooks::AgentHooks;

/// What the model is told of a call that was under way when Posse ended.
pub(crate) const RESULT_UNKNOWN: &str = "Interrupted, result unknown: Posse ended while this ran. It may have done all, some or \
     nothing of what you asked. Look before you do it again.";

/// What the calls of one turn have come to so far. Outlives the future that fills it, so that what was done before
/// a cancel is not forgotten.
#[derive(Default)]
pub(crate) struct TurnProgress {
    pub(crate) done: Vec<Done>,
    pub(crate) effects: Vec<Effect>,
    /// The call whose question waits for a person.
    pub(crate) asking: Option<AskedCall>,
    /// Set if a hook wants everything to stop: its name and its reason.
    pub(crate) stop: Option<(String, String)>,
    /// Commands that were started and have not ended.
    pub(super) running: Vec<(CallId, String)>,
    /// Whether the workspace was looked at before the first command.
    pub(super) looked: bool,
}

/// A call that waits for a person's answer.
pub(crate) struct AskedCall {
    pub(crate) id: CallId,
    /// Whether it is a question in words, rather than one whether it may run.
    pub(super) is_free: bool,
}

impl AskedCall {
    /// What it comes to if nobody answers any more.
    pub(crate) fn withdrawn(self) -> Done {
        let text = if self.is_free {
            "Nobody had answered when it was taken back."
        } else {
            "It was not run: nobody had answered whether it may."
        };
        Done {
            id: self.id,
            ok: false,
            text: text.to_string(),
            attachments: Vec::new(),
            ran: false,
            read_only: true,
        }
    }
}

impl TurnProgress {
    /// With calls that were answered before.
    pub(crate) fn with(done: Vec<Done>) -> Self {
        Self { done, ..Self::default() }
    }

    /// Says that there were calls of which nobody knows what they did.
    pub(crate) fn not_counted(&self) -> Option<String> {
        let unknown = self.done.iter().filter(|done| done.text == RESULT_UNKNOWN).count();
        (unknown > 0).then(|| {
            format!("Posse ended while {unknown} of its calls ran; what they changed is not counted here")
        })
    }

    /// Counts what still ran when everything was stopped: a command that was killed did run.
    pub(crate) fn stopped(&mut self) {
        for (_, command) in std::mem::take(&mut self.running) {
            self.effects.push(Effect::Command(CommandRun { command, ..CommandRun::default() }));
        }
    }
}

/// What the calls of one turn have begun and not accounted for. When they are stopped, whoever stopped them does.
#[derive(Default)]
pub(crate) struct UnfinishedCalls {
    pub(super) commands: Mutex<Vec<(Running, RunningCommand)>>,
    pub(super) writes: Mutex<Vec<(Rewrites, Option<Writing>)>>,
}

impl UnfinishedCalls {
    /// Ends what still runs, and says what was changed and is not on record.
    pub(crate) async fn changes(&self, site: &Site) -> Found {
        let commands = std::mem::take(&mut *lock(&self.commands));
        let writes = std::mem::take(&mut *lock(&self.writes));
        let mut found = Found::default();
        for (rewrites, _writing) in writes {
            let changes = site.history.keep(rewrites.take()).await;
            found.effects.extend(site.history.told_by(&changes).await);
            found.written.add(&changes);
            found.own.extend(changes);
        }
        for (running, command) in commands {
            // One that was moved to the background counts there since before it was.
            let Some(touched) = command.ended().await else { continue };
            found.extend(site.history.end_command(running, &touched).await);
        }
        found
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the calls of an agent go.
pub(crate) struct CallContext<'a> {
    pub(crate) toolbox: &'a Toolbox,
    pub(crate) delegation: Option<&'a DelegationCalls>,
    pub(crate) gate: &'a Gate,
    pub(crate) site: &'a Arc<Site>,
    /// Hooks that look at calls; none where there are none.
    pub(crate) hooks: Option<&'a AgentHooks>,
    /// Set by a hook that wants everything to stop.
    pub(crate) stopped: OnceLock<(String, String)>,
    /// What is under way; outlives the calls.
    pub(crate) unfinished: &'a UnfinishedCalls,
    pub(crate) turn: u32,
    /// The session's trace, if it has one, and who calls.
    pub(crate) trace: Option<(SessionTrace, AgentId)>,
    /// The conversation, where a call may want to hand it on.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
    /// Calls that had begun when the agent was interrupted, and whether they can be run again.
    pub(crate) begun: BTreeMap<CallId, bool>,
}

impl CallContext<'_> {
    /// Whether a call had begun and must not be begun again. An agent that it had started is found again.
    pub(super) fn unknown(&self, call: &CallId, work: &Work) -> bool {
        let again = matches!(work, Work::Delegation(asked) if asked.starts());
        self.begun.get(call) == Some(&false) && !again
    }

    /// Whether what a command would destroy could be brought back. Only in mode auto does that make a difference.
    pub(super) async fn undo_for(&self, work: &Work) -> Undo {
        let Work::Tool { prepared, .. } = work else { return Undo::Holds };
        let command = prepared.command().filter(|_| prepared.can_change());
        match command.filter(|command| self.gate.approval == Approval::Auto && destroys(command).is_some()) {
            Some(command) => self.site.history.undo_for(&command).await,
            None => Undo::Holds,
        }
    }

    pub(super) fn read(&self, call: &ToolCall) -> Result<Work, ToolOutcome> {
        match self.delegation {
            Some(delegation) if delegation.owns(call) => {
                delegation.read(call, self.toolbox, self.snapshot.clone())
            }
            _ => Ok(Work::Tool { prepared: Box::new(self.toolbox.prepare(call)?), routed: None }),
        }
    }
}
