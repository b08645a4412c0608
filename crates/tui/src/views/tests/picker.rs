//! Lists to choose from.

use posse_engine::record::SessionRow;
use posse_engine::{ChangePreview, ChangeRequest};
use posse_protocol::{AgentState, EventKind, Sender, Seq, SessionId, Usage};
use posse_setup::ModelSummary;

use super::sample::{WrittenSession, session, written};
use super::*;
use crate::effect::{ChatEffect, ChatFound, ChatQuery};
use crate::views::{Picker, ViewChoice};

fn session_id(n: u32) -> SessionId {
    format!("00000000-0000-7000-8000-{n:012}").parse().unwrap()
}

fn row(n: u32, title: &str, status: AgentState) -> SessionRow {
    SessionRow {
        id: session_id(n),
        started_at_ms: 0,
        last_at_ms: SEEN_AT.saturating_sub(u64::from(n) * 90_000),
        last_seq: Seq(1),
        workspace: "/work/shop".to_owned(),
        project: "/work/shop".to_owned(),
        surface: String::new(),
        title: Some(title.to_owned()),
        status,
        turns: u64::from(n),
        usage: Usage { input_tokens: Some(1000), ..Usage::default() },
        cost_usd: Some(0.5),
        cost_unknown: false,
        model: Some("large".to_owned()),
    }
}

fn listed() -> FullScreen {
    let mut view = FullScreen::Picker(Picker::sessions(""));
    let rows = vec![
        row(1, "keep the basket", AgentState::Completed),
        row(2, "a session at work", AgentState::Running),
        row(3, "an old one", AgentState::Interrupted),
    ];
    let wanted = view.found(ChatFound::Sessions(rows));
    assert_eq!(wanted, [events_of(1)], "what was said in the first one");
    view
}

fn events_of(n: u32) -> ChatEffect {
    ChatEffect::Query(ChatQuery::Events { session: session_id(n), agent: None })
}

fn sessions(text: &str, all: bool) -> ChatEffect {
    ChatEffect::Query(ChatQuery::Sessions { text: text.to_owned(), all })
}

#[test]
fn sessions_are_opened_renamed_and_deleted() {
    let mut view = listed();
    insta::assert_snapshot!("sessions_reading", screen(&view, None, (120, 12)));
    let wanted = view.found(ChatFound::Events(session_id(1), None, written().events));
    assert_eq!(wanted, [], "the preview is there");
    insta::assert_snapshot!("sessions", screens(&view, None));
    assert_eq!(press(&mut view, None, "<down>"), ViewStep::Do(vec![events_of(2)]));
    assert_eq!(press(&mut view, None, "<down>"), ViewStep::Stay, "one is read at a time");
    assert_eq!(view.found(ChatFound::Events(session_id(2), None, Vec::new())), [events_of(3)]);
    view.found(ChatFound::Events(session_id(3), None, Vec::new()));
    let renamed = ChatEffect::Rename(session_id(3), "an old one indeed".to_owned());
    assert_eq!(press(&mut view, None, "<^r> indeed<enter>"), ViewStep::Do(vec![renamed]));
    assert!(screen(&view, None, (80, 24)).contains("an old one indeed"));
    assert_eq!(press(&mut view, None, "<^r>x<esc>"), ViewStep::Stay, "the title stays");
    assert_eq!(press(&mut view, None, "<^d>"), ViewStep::Stay);
    assert!(screen(&view, None, (80, 24)).contains("Ctrl+D again deletes it"));
    assert_eq!(press(&mut view, None, "<up><down><^d>"), ViewStep::Stay, "another key lies between");
    assert_eq!(press(&mut view, None, "<^d>"), ViewStep::Do(vec![ChatEffect::Delete(session_id(3))]));
    assert!(!screen(&view, None, (80, 24)).contains("an old one"));
    assert_eq!(press(&mut view, None, "<^d><^d>"), ViewStep::Stay, "it is at work");
    assert_eq!(press(&mut view, None, "<enter>"), ViewStep::Choose(ViewChoice::Session(session_id(2))));
}

#[test]
fn the_record_is_asked_for_sessions_that_fit() {
    let mut view = listed();
    view.found(ChatFound::Events(session_id(1), None, Vec::new()));
    assert_eq!(press(&mut view, None, "b"), ViewStep::Do(vec![sessions("b", false)]));
    assert_eq!(press(&mut view, None, "a"), ViewStep::Do(vec![sessions("ba", false)]));
    assert_eq!(press(&mut view, None, "<tab>"), ViewStep::Do(vec![sessions("ba", true)]));
    assert_eq!(view.paste("s\nket"), [sessions("bas ket", true)]);
    assert_eq!(view.found(ChatFound::Sessions(Vec::new())), []);
    assert!(screen(&view, None, (80, 24)).contains("no session fits"));
    assert_eq!(press(&mut view, None, "<enter>"), ViewStep::Stay);
    assert_eq!(press(&mut view, None, "<esc>"), ViewStep::Do(vec![sessions("", true)]), "the filter first");
    assert_eq!(press(&mut view, None, "<esc>"), ViewStep::Close);
}

#[test]
fn models_are_filtered_and_chosen() {
    let model = |name: &str, id: &str, window, configured| ModelSummary {
        name: name.to_owned(),
        model: Some(id.to_owned()),
        protocol: "chat".to_owned(),
        context_window: window,
        configured,
    };
    let models = [
        model("large", "provider/large-2026", Some(200_000), true),
        model("small", "provider/small-2026", Some(32_000), true),
        model("local", "local-7b", None, false),
    ];
    let mut view = FullScreen::Picker(Picker::models(&models, Some("small")));
    insta::assert_snapshot!("models", screens(&view, None));
    assert_eq!(press(&mut view, None, "<enter>"), ViewStep::Choose(ViewChoice::Model("small".to_owned())));
    assert_eq!(press(&mut view, None, "loc"), ViewStep::Stay);
    assert_eq!(press(&mut view, None, "<enter>"), ViewStep::Choose(ViewChoice::Model("local".to_owned())));
    press(&mut view, None, "<backspace><backspace><backspace>");
    assert!(screen(&view, None, (80, 24)).starts_with(" Models · 3"));
}

#[test]
fn a_turn_is_chosen_and_then_what_is_taken_back() {
    let mut to: WrittenSession = written();
    to.add(1, EventKind::told(Sender::Person, "Now test it,\nplease."));
    to.turn(1, 2);
    let mut view = FullScreen::Picker(Picker::turns(session()));
    view.found(ChatFound::Events(session(), None, to.events));
    insta::assert_snapshot!("turns", screens(&view, None));
    let request = ChangeRequest::Rewind { turn: 1 };
    let asked = ViewStep::Do(vec![ChatEffect::Query(ChatQuery::Preview(request.clone()))]);
    assert_eq!(press(&mut view, None, "<down><enter>"), asked);
    assert_eq!(press(&mut view, None, "f"), ViewStep::Stay, "nobody has seen what that does");
    assert_eq!(press(&mut view, None, "b"), ViewStep::Stay, "nobody has seen what that does");
    let preview = ChangePreview {
        what: "the files as they were before turn 1".to_owned(),
        changes: Vec::new(),
        diff: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-new\n+old\n".to_owned(),
        conflicts: Vec::new(),
        not_certain: Vec::new(),
        not_covered: vec!["target".to_owned()],
    };
    view.found(ChatFound::Preview(request, Box::new(preview)));
    insta::assert_snapshot!("rewind", screens(&view, None));
    let cases = [("c", true, false), ("f", false, true), ("b", true, true)];
    for (key, conversation, files) in cases {
        let prompt = "Make the basket remember what is in it.".to_owned();
        let choice = ViewChoice::Rewind { turn: 1, conversation, files, prompt };
        assert_eq!(press(&mut view, None, key), ViewStep::Choose(choice), "{key}");
    }
    assert_eq!(press(&mut view, None, "<esc>"), ViewStep::Stay, "back to the list");
    assert_eq!(press(&mut view, None, "<esc>"), ViewStep::Close);
}
