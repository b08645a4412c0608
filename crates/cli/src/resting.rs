//! Notices, from its events, that a main agent has said what it has to say and only waits for sub-agents. Pure; it must
//! not know the clock.

use std::collections::HashSet;

use posse_protocol::{AgentId, Event, EventKind};

/// Whether the main agent rests.
#[derive(Debug, Default)]
pub(crate) struct Resting {
    /// Sub-agents that have not ended.
    open: HashSet<AgentId>,
    /// Whether the last thing it did was to say something without calling a tool.
    spoke: bool,
    /// What it said last.
    words: String,
    /// How often it was looked at since, without anything new from it.
    looks: u32,
}

impl Resting {
    /// Takes in what happened before this process. What was said then does not count: it goes on first.
    pub(crate) fn recall(&mut self, event: &Event) {
        self.event(event);
        self.spoke = false;
    }

    /// Takes in what happened.
    pub(crate) fn event(&mut self, event: &Event) {
        if event.parent.is_some() {
            match event.kind {
                EventKind::AgentAdmitted { .. } | EventKind::AgentStarted { .. } => {
                    self.open.insert(event.agent)
                }
                EventKind::AgentSettled { .. } => self.open.remove(&event.agent),
                _ => false,
            };
            return;
        }
        self.looks = 0;
        self.spoke = match &event.kind {
            EventKind::Replied { reply, .. } => {
                self.words.clone_from(&reply.text);
                reply.calls.is_empty()
            }
            _ => false,
        };
    }

    /// Looks whether it rests, and has done so for as many looks. One that only seems to rest loses nothing: it goes on
    /// when it is resumed.
    pub(crate) fn look(&mut self, looks: u32) -> bool {
        let rests = self.spoke && !self.open.is_empty();
        self.looks = if rests { self.looks.saturating_add(1) } else { 0 };
        self.looks >= looks
    }

    /// What it said last.
    pub(crate) fn words(&self) -> &str {
        &self.words
    }
}

#[cfg(test)]
mod tests {
    use posse_protocol::{CallId, Ending, Reply, Sender, ToolCall};

    use super::*;
    use crate::display::sample::*;

    fn calls() -> EventKind {
        let call = ToolCall { id: CallId("c".into()), name: "agent".into(), arguments: "{}".into() };
        let reply = Reply { calls: vec![call], ..Reply::default() };
        EventKind::Replied { turn: 1, reply, duration_ms: 5, cost_usd: None }
    }

    #[test]
    fn an_agent_rests_that_has_spoken_and_has_sub_agents() {
        let settled = || EventKind::AgentSettled { report: report(Ending::Completed, "Done.") };
        let steps: [(Event, Option<&str>); 9] = [
            (event(1, 0, replied("Hello.", 5)), None),
            (event(2, 1, admitted("explore-1", 1, "look")), Some("Hello.")),
            (event(1, 0, calls()), None),
            (event(1, 0, replied("They look.", 5)), Some("They look.")),
            (event(2, 1, turn(1)), Some("They look.")),
            (event(1, 0, told(Sender::Reports, "explore-9 is done")), None),
            (event(1, 0, replied("One more.", 5)), Some("One more.")),
            (event(2, 1, settled()), None),
            (event(3, 1, admitted("explore-2", 1, "look")), Some("One more.")),
        ];
        assert_eq!(steps.len(), 9);
        let mut resting = Resting::default();
        for (number, (event, rests)) in steps.into_iter().enumerate() {
            resting.event(&event);
            assert_eq!(resting.look(1).then(|| resting.words()), rests, "after step {number}");
        }
        assert!(!resting.look(3), "looked at twice");
        assert!(resting.look(3));
        resting.event(&event(1, 0, replied("Again.", 5)));
        assert!(!resting.look(2), "something new begins the count anew");
    }

    #[test]
    fn what_was_said_before_it_was_resumed_does_not_count() {
        let mut resting = Resting::default();
        for event in [event(2, 1, admitted("explore-1", 1, "look")), event(1, 0, replied("They look.", 5))] {
            resting.recall(&event);
        }
        assert!(!resting.look(1));
        resting.event(&event(1, 0, replied("They still look.", 5)));
        assert!(resting.look(1), "who is open is known");
    }
}
