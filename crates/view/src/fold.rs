//! The fold: how each event changes a view.

mod course;
mod work;

use posse_protocol::{AgentId, Event, EventKind, Seq};

use crate::figures::NewlyUsed;
use crate::{AgentView, ForkedFrom, OpenCall, OpenQuestion, SessionView, branches, limits};
use posse_protocol::AgentState;

/// What an event has ended: who shows the event wants to say what that was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Folded {
    /// The call that now has a result.
    pub call: Option<OpenCall>,
    /// The question that is answered.
    pub question: Option<OpenQuestion>,
}

/// Why an event was not folded. The view is as it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// Events are missing before this one.
    #[error("event {} comes where event {} was expected: events are missing between them", found.0, expected.0)]
    Gap {
        /// The sequence number that comes next.
        expected: Seq,
        /// The sequence number of the event.
        found: Seq,
    },
    /// It happened in another session.
    #[error("an event of another session")]
    OtherSession,
}

impl SessionView {
    /// Takes in the next event. One that is in the view already changes nothing.
    pub fn fold(&mut self, event: &Event) -> Result<Folded, FoldError> {
        if self.session.is_some_and(|session| session != event.session) {
            return Err(FoldError::OtherSession);
        }
        if event.seq <= self.seq {
            return Ok(Folded::default());
        }
        let expected = Seq(self.seq.0.saturating_add(1));
        if event.seq != expected {
            return Err(FoldError::Gap { expected, found: event.seq });
        }
        if self.session.is_none() {
            self.session = Some(event.session);
            self.started_at_ms = event.at_ms;
            self.state = AgentState::Running;
        }
        self.seq = event.seq;
        self.last_at_ms = self.last_at_ms.max(event.at_ms);
        Ok(self.take(event))
    }

    /// Passes over events that cannot be read, so that the one with this number comes next. For a damaged record only: what
    /// those events told is missing from the view.
    pub fn pass_over(&mut self, next: Seq) {
        self.seq = self.seq.max(Seq(next.0.saturating_sub(1)));
    }

    fn take(&mut self, event: &Event) -> Folded {
        // What a person does about the session, and what home keeps of its work: the agent does what it did.
        let in_passing = matches!(
            event.kind,
            EventKind::SessionNamed { .. } | EventKind::Reviewed { .. } | EventKind::WorkKept { .. }
        );
        if let Some(agent) = self.agents.get_mut(event.agent).filter(|_| !in_passing) {
            agent.touch(event);
        }
        match &event.kind {
            EventKind::SessionStarted { .. } => self.begin(&event.kind),
            EventKind::SessionInterrupted { agents, detached: _ } => self.interrupt(agents, event.at_ms),
            EventKind::SessionResumed { sandboxed, version: _, traceparent: _ } => {
                self.state = AgentState::Running;
                self.sandboxed = *sandboxed;
            }
            EventKind::SessionNamed { title, by: _ } => self.name(title),
            EventKind::SessionForked { from, turn, messages: _ } => {
                self.forked_from = Some(ForkedFrom { session: *from, turn: *turn });
            }
            EventKind::AgentAdmitted { .. } => self.admit(event),
            EventKind::AgentStarted { .. } => self.start(event),
            EventKind::AgentResumed { .. } => self.resume(event),
            EventKind::Told { mail, from, text, .. } => {
                if let Some(agent) = self.agents.get_mut(event.agent) {
                    agent.mail.retain(|queued| queued.id != *mail);
                }
                self.tell(event, *from, text);
            }
            EventKind::Mailed { .. } | EventKind::MailEdited { .. } | EventKind::MailWithdrawn { .. } => {
                if let Some(agent) = self.agents.get_mut(event.agent) {
                    agent.change_mail(&event.kind);
                }
            }
            EventKind::ReportsDelivered { agents } => {
                for id in agents {
                    if let Some(agent) = self.agents.get_mut(*id) {
                        agent.delivered = true;
                    }
                }
            }
            EventKind::Merged { from, branch, conflicts, changes: _ } => {
                if let Some(agent) = self.agents.get_mut(*from) {
                    branches::merged(agent, branch, conflicts, &mut self.changed_here);
                }
            }
            EventKind::AgentSettled { report } => self.settle(event, report),
            EventKind::AgentRested { report } => self.rest(event, report.as_ref()),
            EventKind::SettingsChanged { .. } => self.change_settings(event),
            EventKind::BudgetRaised { budget } => {
                if let Some(agent) = self.agents.get_mut(event.agent) {
                    agent.budget = *budget;
                }
            }
            EventKind::AgentWoken { elapsed_ms, budget } => self.wake(event, *elapsed_ms, *budget),
            _ => return self.work(event),
        }
        Folded::default()
    }

    /// Adds what an agent has used more to those above it and to the session.
    fn spread(&mut self, id: AgentId, more: NewlyUsed) {
        self.agents.change_above(id, |agent| agent.below.add(&more));
        self.in_all.add(&more);
    }

    /// Adds an agent, and counts it where it belongs.
    fn add_agent(&mut self, agent: AgentView) {
        let (id, parent) = (agent.id, agent.parent);
        self.agents.add(agent);
        self.agents.change_above(id, |above| above.below.agents = above.below.agents.saturating_add(1));
        self.in_all.agents = self.in_all.agents.saturating_add(1);
        self.count_open(parent, 1);
    }

    /// Counts a child of `parent` that is open from now on, or no longer.
    fn count_open(&mut self, parent: Option<AgentId>, change: i32) {
        let Some(parent) = parent else { return };
        self.open_sub_agents = self.open_sub_agents.saturating_add_signed(change);
        if let Some(parent) = self.agents.get_mut(parent) {
            parent.open_children = parent.open_children.saturating_add_signed(change);
        }
    }

    /// Closes all open questions of an agent: it was stopped, or asks again.
    pub(crate) fn withdraw_questions(&mut self, id: AgentId, at_ms: u64) {
        while let Some(seq) = self.agents.get_mut(id).and_then(|agent| agent.asks.pop()) {
            self.close_question(id, seq, at_ms);
        }
    }

    /// Closes one that the agent does not list any more; the clocks that it held go on.
    fn close_question(&mut self, id: AgentId, seq: Seq, at_ms: u64) -> Option<OpenQuestion> {
        if let Some(agent) = self.agents.get_mut(id) {
            agent.clock.answer(at_ms);
        }
        self.agents.change_above(id, |above| above.clock.answer(at_ms));
        self.questions.close(seq)
    }
}

impl AgentView {
    /// Something happened to it.
    fn touch(&mut self, event: &Event) {
        use EventKind::{AgentAdmitted, SessionInterrupted, SessionResumed, SessionStarted};
        self.heard_at_ms = None;
        self.rests = false;
        self.last_seq = event.seq;
        let of_session = matches!(
            event.kind,
            SessionStarted { .. } | SessionInterrupted { .. } | SessionResumed { .. } | AgentAdmitted { .. }
        );
        if !of_session {
            self.last_at_ms = self.last_at_ms.max(event.at_ms);
        }
    }
}

/// A text that is shown in one line.
fn short(text: &str) -> String {
    crate::text::cut(text, limits::TEXT_CHARS_MAX)
}
