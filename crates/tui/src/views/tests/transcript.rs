//! Transcripts of agents.

use posse_protocol::{Answer, CallId, EventKind, Sender};

use super::sample::{id, session, written};
use super::*;
use crate::effect::ChatFound;

/// The transcript of an agent of the sample.
fn of_agent(n: u32) -> FullScreen {
    let events = written().events.into_iter().filter(|event| event.agent == id(n)).collect();
    FullScreen::of_found(&ChatFound::Events(session(), Some(id(n)), events)).unwrap()
}

#[test]
fn everything_that_an_agent_did_is_there() {
    insta::assert_snapshot!("main", screens(&of_agent(1), None));
    insta::assert_snapshot!("sub_agent", screens(&of_agent(2), None));
    insta::assert_snapshot!("asking", screen(&of_agent(4), None, (80, 24)));
}

#[test]
fn entries_open_and_close() {
    let mut view = of_agent(2);
    let opened = "changed 12 lines";
    assert!(!screen(&view, None, (80, 24)).contains(opened));
    press(&mut view, None, "<up><enter>");
    insta::assert_snapshot!("call", screen(&view, None, (80, 24)));
    press(&mut view, None, "<enter>");
    assert!(!screen(&view, None, (80, 24)).contains(opened));
    press(&mut view, None, "G<enter>");
    insta::assert_snapshot!("report", screen(&view, None, (80, 24)));
}

#[test]
fn reasoning_is_one_line_until_it_is_wanted() {
    let mut view = of_agent(1);
    assert!(screen(&view, None, (80, 24)).contains("┊ First I look. (+1 line, r)"));
    press(&mut view, None, "r");
    let shown = screen(&view, None, (80, 24));
    assert!(shown.contains("┊ First I look.\n") && shown.contains("┊ Then I plan."), "{shown}");
    press(&mut view, None, "r");
    assert!(!screen(&view, None, (80, 24)).contains("Then I plan."));
}

#[test]
fn a_search_opens_what_it_finds() {
    let mut view = of_agent(2);
    press(&mut view, None, "/of one file<enter>");
    let shown = screen(&view, None, (80, 24));
    assert!(shown.contains("of one file\n") && shown.contains("1 of 1"), "{shown}");
    assert_eq!(press(&mut view, None, "<esc>"), ViewStep::Stay);
    assert_eq!(press(&mut view, None, "<esc>"), ViewStep::Close);
}

#[test]
fn questions_have_their_answers() {
    let mut to = written();
    let call = CallId("4-1-shell".to_owned());
    to.add(4, EventKind::PersonAnswered { call, answer: Answer::No { reason: "not now".to_owned() } });
    to.add(4, EventKind::told(Sender::Person, "Read them instead."));
    let view = FullScreen::of_found(&ChatFound::Events(session(), None, to.events)).unwrap();
    let shown = screen(&view, None, (80, 40));
    assert!(shown.contains("review-1  ? asks whether it may"), "{shown}");
    assert!(shown.contains("review-1  ✗ cargo test: no, not now"), "{shown}");
    assert!(shown.contains("review-1  › Read them instead."), "{shown}");
}

#[test]
fn a_long_entry_is_scrolled_through() {
    let mut to = written();
    let text = (1..=60).map(|n| format!("{n}. item\n")).collect::<String>();
    to.reply(1, 2, "", &text, &[]);
    to.add(1, EventKind::told(Sender::Person, "Thanks."));
    let mut view = FullScreen::of_found(&ChatFound::Events(session(), Some(id(1)), to.events)).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..100 {
        let shown = screen(&view, None, (40, 12));
        seen.extend((1..=60).filter(|n| shown.contains(&format!("{n}. item"))));
        press_in(&mut view, None, "<up>", (40, 12));
    }
    assert_eq!(seen.len(), 60, "{seen:?}");
    assert!(screen(&view, None, (40, 12)).contains("works on large"), "at the beginning");
}

#[test]
fn a_task_is_told_once() {
    let mut to = written();
    let told = "Please read the tests.\nSay what you found.";
    to.add(4, EventKind::told(Sender::Parent, told));
    to.add(4, EventKind::told(Sender::Parent, told));
    let events = to.events.into_iter().filter(|event| event.agent == id(4)).collect();
    let view = FullScreen::of_found(&ChatFound::Events(session(), Some(id(4)), events)).unwrap();
    let shown = screen(&view, None, (80, 40));
    assert_eq!(
        shown.matches("Please read the tests.").count(),
        2,
        "the task, and what was said later: {shown}"
    );
}
