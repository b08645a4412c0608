//! A view does not grow with what is said: a long conversation takes no more room than a short one.

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

#[test]
fn an_empty_view_is_small_and_reads_itself() {
    let text = serde_json::to_string(&SessionView::default()).unwrap();
    assert!(text.len() < 1_000, "{text}");
    assert_eq!(serde_json::from_str::<SessionView>(&text).unwrap(), SessionView::default());
}
