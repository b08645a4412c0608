//! Crashes a session behind every one of its events, and compares what comes of it with what would have come of it
//! anyway (promise D2).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use posse_protocol::{AgentId, CallId, Event, EventKind};

use super::outcome::{Outcome, UNKNOWN};
use super::play::{Asked, Play};
use super::{Crashed, Ran};
use crate::approvals::{answered, yes};

/// What must be the same as without the crash.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Same {
    /// Everything, down to every byte that the model is asked.
    Everything,
    /// All but what depends on who is quicker.
    AtAnyPace,
    /// The same, and but for what Posse tells of the crash itself.
    AtAnyPaceWithNews,
    /// Who there was and what each came to: the steps of sub-agents are not on record.
    Ends,
}

/// A session to be crashed.
pub(super) struct Scenario {
    pub(super) play: Play,
    pub(super) same: Same,
    /// Makes the files as they are when what is on record was done.
    pub(super) files: fn(&Path, &[Event]),
    /// Looks at one crash: the events before it, and all in the end.
    pub(super) also: fn(&Path, &[Event], &[Event]),
}

impl Scenario {
    pub(super) fn new(play: Play, same: Same) -> Self {
        Self { play, same, files: written, also: |_, _, _| {} }
    }

    /// The whole of it, without a crash.
    pub(super) async fn whole(&self) -> Vec<Event> {
        let session = self.play.stage.engine.start(self.play.request("Do both halves")).unwrap();
        let ran: Ran = answered(session, yes).await;
        ran.events().cloned().collect()
    }

    /// Crashes behind every event. Fails if there are fewer than these.
    pub(super) async fn crash_everywhere(&self, least: usize) -> usize {
        let events = self.whole().await;
        let wanted = Outcome::of(&events);
        let asked = self.play.take_asked().into_iter().collect::<BTreeSet<_>>();
        let points = crash_points(&events);
        for at in &points {
            self.crash(&events[..*at], &wanted, &asked).await;
        }
        assert!(points.len() >= least, "only {} crashes, {least} were promised", points.len());
        points.len()
    }

    async fn crash(&self, before: &[Event], wanted: &Outcome, asked: &BTreeSet<Asked>) {
        let place = format!("after a crash behind event {}: {:?}", before.len(), before.last().unwrap().kind);
        let files = self.play.stage.files.path();
        (self.files)(files, before);
        let crashed = Crashed::after(before);
        answered(crashed.resume(&self.play, "").await, yes).await;
        let all = crashed.events();
        assert_eq!(all[..before.len()], *before, "the record stays, {place}");
        nothing_twice(&all, &place);
        all_settled(&crashed, &place);
        (self.also)(files, before, &all);
        let open = in_flight(before);
        let mut outcome = Outcome::of(&all);
        let unknown = outcome.complete_from(wanted);
        assert!(unknown <= open.len(), "{unknown} results are unknown {place}");
        let asked_now = self.play.take_asked();
        if open.iter().any(|tool| steers(tool)) {
            // Whether others were told or stopped is unknown, and so is what came of it.
            return;
        }
        if self.same == Same::Everything && open.is_empty() {
            let other = |one: &&Asked| !one.body.contains(UNKNOWN) && !asked.contains(one);
            if let Some(one) = asked_now.iter().find(other) {
                panic!("{} asks otherwise {place}:\n{}", one.name, difference(one, asked));
            }
        }
        // What a call did that was in flight is unknown to reports, and to those who are told of it later.
        let same = if open.is_empty() { self.same } else { self.same.less() };
        assert_eq!(same.of(outcome), same.of(wanted.clone()), "{place}");
    }
}

impl Same {
    fn of(self, outcome: Outcome) -> Outcome {
        match self {
            Self::Everything => outcome,
            Self::AtAnyPace => outcome.at_any_pace(),
            Self::AtAnyPaceWithNews => outcome.at_any_pace().without_news(),
            Self::Ends => outcome.ends(),
        }
    }

    fn less(self) -> Self {
        if self == Self::Everything { Self::Ends } else { self }
    }
}

/// Where a request parts from the one that is most like it: what it says there, and what it should say.
fn difference(one: &Asked, asked: &BTreeSet<Asked>) -> String {
    let shared =
        |other: &&Asked| one.body.bytes().zip(other.body.bytes()).take_while(|(a, b)| a == b).count();
    let own = asked.iter().filter(|other| other.name == one.name);
    let Some(nearest) = own.max_by_key(shared) else { return format!("nothing was asked by {}", one.name) };
    let begin = shared(&nearest).saturating_sub(100);
    let piece = |text: &str| text.bytes().skip(begin).take(300).map(char::from).collect::<String>();
    format!("{}\n{}", piece(&one.body), piece(&nearest.body))
}

/// The points at which a process can die, and some at which it cannot, because what is written together is on record
/// together. Some of what is must not be torn apart: that a report is told and the words that tell it, that an agent is
/// asked for notes or for its last words and the words that ask, that it begins with a prompt and the prompt, and which calls of a reply are turned down.
pub(super) fn crash_points(events: &[Event]) -> Vec<usize> {
    let turned_down = |event: &Event| matches!(&event.kind, EventKind::ToolFinished { text, .. } if text.starts_with("not run"));
    let torn = |at: &usize| match &events[at - 1].kind {
        EventKind::ReportsDelivered { .. } | EventKind::Closing { .. } | EventKind::AgentWoken { .. } => true,
        EventKind::Told { text, .. } => text.starts_with("The conversation is getting too long"),
        _ => turned_down(&events[at - 1]) && turned_down(&events[*at]),
    };
    let begun = events.iter().position(|e| matches!(e.kind, EventKind::TurnStarted { .. })).unwrap() + 1;
    (begun..events.len()).filter(|at| !torn(at)).collect()
}

/// The files that were written with `write_file`, and no others.
pub(super) fn written(folder: &Path, events: &[Event]) {
    let is_new = |name: &str| name.trim_start_matches('.').starts_with("new-");
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if is_new(&entry.file_name().to_string_lossy()) {
            std::fs::remove_file(entry.path()).unwrap();
        }
    }
    for event in events {
        if let EventKind::ToolFinished { tool, ok: true, text, .. } = &event.kind
            && tool == "write_file"
        {
            let name = text.split(' ').nth(1).unwrap();
            assert!(is_new(name), "{name}");
            std::fs::write(folder.join(name), "written\n").unwrap();
        }
    }
}

/// Calls that had a result on record must not begin again, no call has two results, nothing is begun again that cannot
/// be, every report is told at most once, and nobody ends twice.
pub(super) fn nothing_twice(events: &[Event], place: &str) {
    let mut answered: BTreeSet<(AgentId, CallId)> = BTreeSet::new();
    let mut begun: BTreeSet<(AgentId, CallId)> = BTreeSet::new();
    let mut delivered = BTreeSet::new();
    let mut settled = BTreeSet::new();
    for event in events {
        let key = |call: &CallId| (event.agent, call.clone());
        match &event.kind {
            // Ids may come again with the next reply.
            EventKind::Replied { reply, .. } => reply.calls.iter().for_each(|call| {
                answered.remove(&key(&call.id));
                begun.remove(&key(&call.id));
            }),
            EventKind::ToolStarted { call, tool, title, repeatable, .. } => {
                assert!(!answered.contains(&key(call)), "{call} was answered and begins again {place}");
                let again = !begun.insert(key(call)) && !*repeatable && !starts(tool, title);
                assert!(!again, "{call} begins twice {place}");
            }
            EventKind::ToolFinished { call, .. } => {
                assert!(answered.insert(key(call)), "{call} was answered twice {place}");
            }
            EventKind::ReportsDelivered { agents } => {
                agents.iter().for_each(|id| assert!(delivered.insert(*id), "{id} is told twice {place}"));
            }
            EventKind::AgentSettled { .. } => {
                assert!(settled.insert(event.agent), "{} ends twice {place}", event.agent);
            }
            _ => {}
        }
    }
}

/// Nobody is at work any more, in the record's tables too.
fn all_settled(crashed: &Crashed, place: &str) {
    for agent in crashed.engine.agents(crashed.session).unwrap() {
        assert!(agent.ended_at_ms.is_some(), "{} is {} {place}", agent.name, agent.status);
    }
    assert_eq!(crashed.engine.find_session("last").unwrap().status.word(), "completed", "{place}");
}

/// Whether a call starts an agent, which is found again.
fn starts(tool: &str, title: &str) -> bool {
    let other = ["message ", "cancel ", "close ", "merge ", "wait ", "status "];
    ["agent", "agent_open"].contains(&tool) && !other.iter().any(|word| title.starts_with(word))
}

/// Whether a call tells other agents something, or stops them.
fn steers(tool: &str) -> bool {
    ["agent", "agent_eval", "agent_close", "send_message", "board"].contains(&tool)
}

/// Calls that had begun and must not begin again: the tools of those that have no result.
pub(super) fn in_flight(events: &[Event]) -> Vec<String> {
    let mut open = BTreeMap::new();
    for event in events {
        match &event.kind {
            EventKind::ToolStarted { call, tool, title, repeatable: false, .. } if !starts(tool, title) => {
                open.insert((event.agent, call.clone()), tool.clone());
            }
            EventKind::ToolFinished { call, .. } => drop(open.remove(&(event.agent, call.clone()))),
            _ => {}
        }
    }
    open.into_values().collect()
}
