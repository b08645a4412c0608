//! Notices that a main agent has said what it has to say and only waits for sub-agents. Pure; it must not know the clock.

use posse_protocol::{Event, EventKind, Seq};
use posse_view::SessionView;

/// Whether the main agent rests.
#[derive(Debug)]
pub(crate) struct Resting {
    /// What was said by then does not count: it was before this process, and the agent goes on first.
    from: Seq,
    /// What it said last.
    words: String,
    /// The last thing that happened to it.
    last: Seq,
    /// How often it was looked at since.
    looks: u32,
}

impl Resting {
    /// From after an event on.
    pub(crate) fn after(from: Seq) -> Self {
        Self { from, words: String::new(), last: from, looks: 0 }
    }

    /// Keeps what the main agent said last.
    pub(crate) fn event(&mut self, event: &Event) {
        if let (None, EventKind::Replied { reply, .. }) = (event.parent, &event.kind) {
            self.words.clone_from(&reply.text);
        }
    }

    /// Looks whether it rests, and has done so for as many looks. One that only seems to rest loses nothing: it goes on
    /// when it is resumed.
    pub(crate) fn look(&mut self, view: &SessionView, looks: u32) -> bool {
        let last = view.main().map_or(self.from, |main| main.last_seq);
        if std::mem::replace(&mut self.last, last) != last {
            self.looks = 0;
        }
        let rests = last > self.from && view.rests();
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
        let (mut resting, mut events) = (Resting::after(Seq(0)), vec![event(1, 0, started(0, None))]);
        for (number, (event, rests)) in steps.into_iter().enumerate() {
            resting.event(&event);
            events.push(event);
            let rested = resting.look(&view(events.clone()), 1);
            assert_eq!(rested.then(|| resting.words()), rests, "after step {number}");
        }
        let now = view(events.clone());
        assert!(!resting.look(&now, 3), "looked at twice");
        assert!(resting.look(&now, 3));
        events.push(event(1, 0, replied("Again.", 5)));
        assert!(!resting.look(&view(events), 2), "something new begins the count anew");
    }

    #[test]
    fn what_was_said_before_it_was_resumed_does_not_count() {
        let mut events = vec![
            event(1, 0, started(0, None)),
            event(2, 1, admitted("explore-1", 1, "look")),
            event(1, 0, replied("They look.", 5)),
        ];
        let before = view(events.clone());
        let mut resting = Resting::after(before.seq);
        assert!(!resting.look(&before, 1));
        events.push(event(1, 0, replied("They still look.", 5)));
        assert!(resting.look(&view(events), 1), "who is open is known");
    }
}
