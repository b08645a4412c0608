//! A view can be put away as JSON after any event, and folding goes on from there: a snapshot and the rest of the events
//! make the same view as all events. For made-up sessions and for recorded ones, at every cut.

use posse_protocol::{
    Denial, Effect, Ending, Event, EventKind, Failure, ModelError, ModelErrorKind, ProgressKind, Receipt,
    Sender, Usage,
};
use posse_view::{AgentView, Figures, SessionView};
use proptest::prelude::*;

use crate::sample::*;

/// The most agents of a made-up session.
const AGENTS_MAX: u32 = 12;

fn again(view: &SessionView) -> SessionView {
    serde_json::from_str(&serde_json::to_string(view).unwrap()).unwrap()
}

/// Every cut of the events gives the same view in the end.
fn check_cuts(events: &[Event]) {
    let whole = folded(SessionView::default(), events);
    let mut view = SessionView::default();
    for cut in 0..=events.len() {
        let snapshot = again(&view);
        assert_eq!(snapshot, view, "the snapshot after {cut} events");
        assert_eq!(folded(snapshot, &events[cut..]), whole, "cut after {cut} events");
        if let Some(event) = events.get(cut) {
            view.fold(event).unwrap();
            check_sums(&view);
        }
    }
}

/// What is kept by adding is what adding everything up gives.
fn check_sums(view: &SessionView) {
    let below = |id, agent: &&AgentView| {
        let mut parent = agent.parent;
        while let Some(above) = parent {
            if above == id {
                return true;
            }
            parent = view.agents.get(above).and_then(|above| above.parent);
        }
        false
    };
    let sum = |agents: &mut dyn Iterator<Item = &AgentView>| {
        agents.fold(Figures::default(), |sum, agent| sum.with(agent.own))
    };
    for agent in &view.agents {
        let descendants = || view.agents.iter().filter(|other| below(agent.id, other));
        assert_same(agent.below, sum(&mut descendants()), &agent.name);
        let asked = descendants().chain([agent]).map(|one| one.asks.len()).sum::<usize>();
        assert_eq!(agent.clock.asked as usize, asked, "{}", agent.name);
        let children = view.agents.iter().filter(|other| other.parent == Some(agent.id));
        let open = children.filter(|child| !child.has_ended()).count();
        assert_eq!(agent.open_children as usize, open, "{}", agent.name);
    }
    assert_same(view.in_all, sum(&mut view.agents.iter()), "the session");
    assert_eq!(view.open_sub_agents as usize, view.sub_agents().filter(|one| !one.has_ended()).count());
    let asks = view.agents.iter().map(|agent| agent.asks.len()).sum::<usize>();
    assert_eq!(view.questions.len(), asks, "each question belongs to one agent");
}

/// The same but for the order in which costs were added.
fn assert_same(kept: Figures, summed: Figures, whose: &str) {
    let close = (kept.cost_usd.unwrap_or(0.0) - summed.cost_usd.unwrap_or(0.0)).abs() < 1e-6;
    assert!(close && kept.cost_usd.is_some() == summed.cost_usd.is_some(), "{whose}: {kept:?} {summed:?}");
    assert_eq!(Figures { cost_usd: None, ..kept }, Figures { cost_usd: None, ..summed }, "{whose}");
}

/// A session as it could happen: each step is something that the agent it falls on can do.
fn session(steps: &[(u8, u8, u16)]) -> Vec<Event> {
    let mut script = EventScript::new();
    let (workspace, version) = ("/work/x".to_owned(), "1".to_owned());
    script.add(
        1,
        EventKind::SessionStarted {
            workspace,
            version,
            sandboxed: true,
            project: String::new(),
            surface: "agent".to_owned(),
            coordinator: false,
            team: false,
            traceparent: None,
        },
    );
    script.add(1, started(0)).add(1, told(Sender::Person, "go\non"));
    let mut depths = vec![0];
    for (who, what, more) in steps {
        script.wait(u64::from(*more) % 5_000);
        let n = u32::from(*who) % depths.len() as u32 + 1;
        step(&mut script, &mut depths, n, *what, *more);
    }
    script.events
}

fn step(script: &mut EventScript, depths: &mut Vec<u32>, n: u32, what: u8, more: u16) {
    let call = format!("c{}", more % 3);
    let path = format!("f{}.rs", more % 5);
    let count = depths.len() as u32;
    match what % 22 {
        0 | 1 if count < AGENTS_MAX => {
            let depth = depths[n as usize - 1] + 1;
            depths.push(depth);
            script.admit(count + 1, n, &format!("coder-{count}"), depth);
        }
        2 => drop(script.add(n, queued())),
        3 | 4 => drop(script.add(n, started(depths[n as usize - 1]))),
        5 => drop(script.add(n, turn(u32::from(more % 9)))),
        6 => drop(script.add(n, replied("words", more.into(), Some(0.25), more.is_multiple_of(2)))),
        7 => drop(script.add(n, replied("words", more.into(), None, more.is_multiple_of(2)))),
        8 | 9 => drop(script.add(n, tool_started(&call, "shell make"))),
        10 => drop(script.add(n, tool_finished(&call, "ok", effects(more)))),
        11 | 12 => drop(script.add(n, asks(&call))),
        13 | 14 => drop(script.add(n, allowed(&call))),
        15 => drop(script.add(n, settled(ending(more), receipt(&path, None)))),
        16 => drop(script.add(n, settled(Ending::Completed, told_more(more, &path)))),
        17 => {
            let agents: Vec<u32> = (1..=count).filter(|n| (more >> n) & 1 == 0).collect();
            script.add(1, interrupted(&agents));
            script.add(
                1,
                EventKind::SessionResumed { version: "1".to_owned(), sandboxed: false, traceparent: None },
            );
        }
        18 => drop(script.add(n, resumed(more.into()))),
        19 => drop(script.add(n, told(Sender::Posse, "go on"))),
        20 => {
            let (branch, conflicts) = (format!("posse/{n}"), Vec::new());
            script.add(n, EventKind::CheckedOut { branch: branch.clone(), base: "a".to_owned() });
            script.add(1, EventKind::Merged { from: id(n), branch, changes: Vec::new(), conflicts });
        }
        _ => {
            let error = ModelError::new(ModelErrorKind::Overloaded, "busy");
            script.add(n, EventKind::ModelFailed { turn: 1, error });
            script.add(1, EventKind::ReportsDelivered { agents: vec![id(n)] });
        }
    }
}

fn effects(more: u16) -> Vec<Effect> {
    let word = |text: &str| text.to_owned();
    let denial = Denial { agent: word("x"), tool: word("shell"), what: word("rm"), reason: word("no") };
    match more % 3 {
        0 => vec![Effect::Todo { text: "[x] one\n[>] two\n[ ] three".to_owned() }],
        1 => vec![Effect::Denied(denial)],
        _ => Vec::new(),
    }
}

fn ending(more: u16) -> Ending {
    match more % 4 {
        0 => Ending::Failed { failure: Failure::EmptyReply },
        1 => Ending::OutOfTurns,
        2 => Ending::Interrupted { reason: "gone".to_owned() },
        _ => Ending::Cancelled,
    }
}

/// A receipt that knows more than the events told.
fn told_more(more: u16, path: &str) -> Receipt {
    let usage = Usage { input_tokens: Some(1 << 20), ..Usage::default() };
    let cost_usd = more.is_multiple_of(2).then_some(1_000.0);
    Receipt { turns: 99, tool_calls: 99, usage, cost_usd, ..receipt(path, Some("posse/x")) }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_snapshot_and_the_rest_make_the_whole(
        steps in prop::collection::vec((any::<u8>(), any::<u8>(), any::<u16>()), 0..70),
    ) {
        check_cuts(&session(&steps));
    }

    #[test]
    fn what_was_folded_changes_nothing(
        steps in prop::collection::vec((any::<u8>(), any::<u8>(), any::<u16>()), 1..40),
        again in any::<prop::sample::Index>(),
    ) {
        let events = session(&steps);
        let mut view = folded(SessionView::default(), &events);
        let before = view.clone();
        view.fold(again.get(&events)).unwrap();
        prop_assert_eq!(view, before);
    }
}

#[test]
fn recorded_sessions_can_be_cut_anywhere() {
    for (_, events) in fixtures() {
        check_cuts(&events);
    }
}

#[test]
fn progress_is_part_of_a_snapshot() {
    let mut script = EventScript::new();
    script.add(1, started(0)).add(1, turn(1));
    let mut view = script.view();
    let progress = posse_protocol::Progress { agent: id(1), kind: ProgressKind::Text("hm".to_owned()) };
    view.note(&progress, START_MS + 7);
    assert_eq!(view.main().unwrap().heard_at_ms, Some(START_MS + 7));
    assert_eq!(again(&view), view);
}
