//! A view does not grow with what is said, and no record makes it run without end.

use posse_protocol::{Ending, Receipt, Report, Sender};
use posse_view::SessionView;

use crate::sample::*;

/// The bytes of a view after so many turns with texts of so many bytes.
fn bytes(turns: u32, text_bytes: usize) -> usize {
    let text = "x".repeat(text_bytes);
    let mut script = EventScript::new();
    script.add(1, started(0)).add(1, told(Sender::Person, "go"));
    for n in 1..=turns {
        let call = format!("c{n}");
        script.add(1, turn(n)).add(1, replied(&text, 1, None, true));
        script.add(1, tool_started(&call, "shell make")).add(1, asks(&call)).add(1, allowed(&call));
        script.add(1, tool_finished(&call, &text, Vec::new()));
    }
    let mut report = Report::new(Ending::Completed, text.clone(), Receipt::default());
    report.short = Some(text);
    script.add(1, posse_protocol::EventKind::AgentSettled { report });
    serde_json::to_string(&script.view()).unwrap().len()
}

#[test]
fn a_view_does_not_grow_with_the_conversation() {
    let (short, long) = (bytes(9, 100), bytes(2_000, 100));
    // More digits in the figures.
    assert!(long < short + 100, "{short} bytes after 9 turns, {long} after 2,000");
    let large = bytes(9, 1_000_000);
    assert!(
        large < short + posse_view::limits::SUMMARY_CHARS_MAX + 100,
        "{short} bytes, {large} of large texts"
    );
}

/// No session has them; a damaged record may.
#[test]
fn circles_and_long_chains_of_parents_come_to_an_end() {
    const AGENTS: u32 = 10_000;
    let mut chain = EventScript::new();
    chain.add(1, started(0));
    for n in 2..=AGENTS {
        chain.admit(n, n - 1, "a", n).add(n, turn(1));
    }
    let view = chain.view();
    let all = u64::from(AGENTS);
    assert_eq!((view.in_all.agents, view.in_all.turns), (all, all - 1));
    let last_but_50 = view.agents.get(id(AGENTS - 50)).unwrap();
    assert_eq!((last_but_50.below.agents, last_but_50.below.turns), (50, 50));

    let mut circle = EventScript::new();
    circle.add(1, started(0)).admit(2, 3, "a", 1).admit(3, 2, "b", 1).admit(4, 4, "c", 1);
    for n in 2..=4 {
        circle.add(n, turn(1)).add(n, replied("", 9, Some(0.5), false)).add(n, asks("c"));
        circle.add(n, settled(Ending::Completed, Receipt::default()));
    }
    let view = circle.view();
    assert_eq!((view.in_all.agents, view.in_all.turns, view.in_all.cost_usd), (4, 3, Some(1.5)));
    let own = view.sub_agents().map(|agent| (agent.own.turns, agent.own.cost_usd));
    assert_eq!(own.collect::<Vec<_>>(), [(1, Some(0.5)); 3]);
}

#[test]
fn an_empty_view_is_small_and_reads_itself() {
    let text = serde_json::to_string(&SessionView::default()).unwrap();
    assert!(text.len() < 1_000, "{text}");
    assert_eq!(serde_json::from_str::<SessionView>(&text).unwrap(), SessionView::default());
}
