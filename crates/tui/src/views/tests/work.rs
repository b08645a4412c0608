//! The view of the work.

use posse_engine::{ChangePreview, ChangeRequest, UndoExtent, UndoRequest};
use posse_protocol::{EventKind, Sender};

use super::sample::{fleet, id, session, written};
use super::*;
use crate::effect::{ChatEffect, ChatFound, ChatQuery, SteerCommand};
use crate::views::WorkView;

fn opened() -> FullScreen {
    FullScreen::Work(WorkView::new(session()))
}

fn asked(query: ChatQuery) -> ViewStep {
    ViewStep::Do(vec![ChatEffect::Query(query)])
}

fn steered(command: SteerCommand) -> ViewStep {
    ViewStep::Do(vec![ChatEffect::Steer(command)])
}

fn preview(what: &str) -> Box<ChangePreview> {
    Box::new(ChangePreview {
        what: what.to_owned(),
        changes: Vec::new(),
        diff: "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-new\n+old\n".to_owned(),
        conflicts: Vec::new(),
        not_certain: vec!["notes.txt".to_owned()],
        not_covered: Vec::new(),
    })
}

#[test]
fn it_shows_the_list_the_tree_and_the_details() {
    let (mut view, of) = (opened(), written().view());
    insta::assert_snapshot!("main", screens(&view, Some(&of)));
    press(&mut view, Some(&of), "<down>");
    insta::assert_snapshot!("done", screens(&view, Some(&of)));
    press(&mut view, Some(&of), "<down>");
    insta::assert_snapshot!("at_work", screens(&view, Some(&of)));
    press(&mut view, Some(&of), "<tab>");
    insta::assert_snapshot!("details", screen(&view, Some(&of), (40, 16)));
    press(&mut view, Some(&of), "?");
    insta::assert_snapshot!("help", screens(&view, Some(&of)));
}

#[test]
fn it_shows_on_which_machine_an_agent_runs() {
    let mut written = written();
    written.admit(9, 1, "coder-9", "train it");
    written.add(
        9,
        EventKind::AgentPlaced { worker: "gpu-1".to_owned(), epoch: 1, run: String::new(), lease_ms: 0 },
    );
    let (mut view, of) = (opened(), written.view());
    press(&mut view, Some(&of), "<end>");
    let shown = screens(&view, Some(&of));
    assert!(shown.contains("no model yet · on gpu-1") && shown.contains("runs on gpu-1"), "{shown}");
}

#[test]
fn an_agent_is_written_to_and_stopped() {
    let (mut view, of) = (opened(), written().view());
    press(&mut view, Some(&of), "<down><down>mlook in src, too");
    assert!(screen(&view, Some(&of), (80, 24)).contains("to explore-1: look in src, too"));
    let text = "look in src, too".to_owned();
    let agent = Some("explore-1".to_owned());
    assert_eq!(press(&mut view, Some(&of), "<enter>"), steered(SteerCommand::Tell { agent, text }));
    assert_eq!(press(&mut view, Some(&of), "mno<esc>"), ViewStep::Stay, "nothing is sent");
    assert_eq!(press(&mut view, Some(&of), "m  <enter>"), ViewStep::Stay, "nothing is sent");
    assert_eq!(press(&mut view, Some(&of), "x"), ViewStep::Stay);
    assert!(screen(&view, Some(&of), (80, 24)).contains("x again stops explore-1 and all below it"));
    assert_eq!(press(&mut view, Some(&of), "jkx"), ViewStep::Stay, "another key lies between");
    assert_eq!(press(&mut view, Some(&of), "x"), steered(SteerCommand::StopAgent("explore-1".to_owned())));
    assert_eq!(press(&mut view, Some(&of), "<up>xx"), ViewStep::Stay, "it has ended");
    assert_eq!(press(&mut view, Some(&of), "m"), ViewStep::Stay, "it has ended");
    let main = SteerCommand::Tell { agent: None, text: "hi".to_owned() };
    assert_eq!(press(&mut view, Some(&of), "<home>mhi<enter>"), steered(main));
    assert_eq!(press(&mut view, Some(&of), "xx"), steered(SteerCommand::StopTurn));
    assert_eq!(press(&mut view, Some(&of), "<esc>"), ViewStep::Close);
}

#[test]
fn a_transcript_opens_and_closes_again() {
    let (mut view, mut to) = (opened(), written());
    let of = to.view();
    let query = ChatQuery::Events { session: session(), agent: Some(id(3)) };
    assert_eq!(press(&mut view, Some(&of), "<down><down><enter>"), asked(query));
    let mine = |to: &super::sample::WrittenSession, n| {
        to.events.iter().filter(|event| event.agent == id(n)).cloned().collect::<Vec<_>>()
    };
    assert!(view.found(ChatFound::Events(session(), Some(id(2)), mine(&to, 2))).is_empty());
    assert!(screen(&view, Some(&of), (80, 24)).contains("To do"), "that was not asked for");
    view.found(ChatFound::Events(session(), Some(id(3)), mine(&to, 3)));
    insta::assert_snapshot!("transcript", screens(&view, Some(&of)));
    // What happens meanwhile is seen at once.
    to.end_call(3, 1, "shell", "src/a.rs\nsrc/b.rs", Vec::new());
    to.add(2, EventKind::told(Sender::Parent, "somebody else"));
    to.add(3, EventKind::told(Sender::Parent, "that is enough"));
    to.events.iter().for_each(|event| view.happened(event));
    press(&mut view, Some(&of), "/enough<enter>");
    to.add(3, EventKind::told(Sender::Parent, "enough of it"));
    to.events.iter().for_each(|event| view.happened(event));
    assert!(screen(&view, Some(&of), (80, 24)).contains("1 of 2"), "what comes is searched, too");
    press(&mut view, Some(&of), "<esc>");
    let shown = screen(&view, Some(&of), (80, 24));
    assert!(shown.contains("that is enough") && !shown.contains("somebody else"), "{shown}");
    assert_eq!(shown.matches("Task").count(), 1, "nothing is taken in twice: {shown}");
    assert_eq!(press(&mut view, Some(&of), "<esc>"), ViewStep::Stay, "back to the list");
    assert!(screen(&view, Some(&of), (80, 24)).contains("To do"));
    assert_eq!(press(&mut view, Some(&of), "q"), ViewStep::Close);
}

#[test]
fn work_is_undone_and_merged_after_a_look_at_it() {
    let (mut view, of) = (opened(), written().view());
    let extent = UndoExtent::Agent("coder-1".to_owned());
    let undo = ChangeRequest::Undo(UndoRequest { extent, paths: Vec::new(), hunks: Vec::new() });
    let merge = ChangeRequest::Merge { agent: "coder-1".to_owned() };
    press(&mut view, Some(&of), "<down>");
    for (key, request) in [("u", undo), ("g", merge)] {
        assert_eq!(press(&mut view, Some(&of), key), asked(ChatQuery::Preview(request.clone())));
        assert_eq!(press(&mut view, Some(&of), "y"), ViewStep::Stay, "nobody has seen it yet");
        view.found(ChatFound::Preview(ChangeRequest::Redo, preview("another")));
        assert_eq!(press(&mut view, Some(&of), "y"), ViewStep::Stay, "that is another change");
        view.found(ChatFound::Preview(request.clone(), preview("the work of coder-1")));
        if key == "u" {
            insta::assert_snapshot!("undo", screens(&view, Some(&of)));
        }
        let mut other = opened();
        std::mem::swap(&mut other, &mut view);
        assert_eq!(press(&mut other, Some(&of), "y"), ViewStep::Do(vec![ChatEffect::Change(request)]));
        view = other;
    }
    assert_eq!(press(&mut view, Some(&of), "u<esc>y"), ViewStep::Stay, "Escape leaves everything as it is");
    assert_eq!(press(&mut view, Some(&of), "<down>g"), ViewStep::Stay, "there is no branch");
    assert!(screen(&view, Some(&of), (80, 24)).contains("explore-1 has no branch to merge"));
}

#[test]
fn a_diff_is_read_in_a_pager() {
    let (mut view, of) = (opened(), written().view());
    assert_eq!(press(&mut view, Some(&of), "d"), asked(ChatQuery::Diff(None)), "the main agent: everything");
    let name = Some("coder-1".to_owned());
    assert_eq!(press(&mut view, Some(&of), "<down>d"), asked(ChatQuery::Diff(name.clone())));
    view.found(ChatFound::Diff(None, "late".to_owned()));
    view.found(ChatFound::Diff(name, "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n".to_owned()));
    assert!(screen(&view, Some(&of), (80, 24)).starts_with(" Changes of coder-1"));
    assert_eq!(press(&mut view, Some(&of), "q"), ViewStep::Stay);
    assert_eq!(press(&mut view, Some(&of), "q"), ViewStep::Close);
}

#[test]
fn what_could_not_be_done_is_said_here() {
    let (mut view, of) = (opened(), written().view());
    let shown = |view: &FullScreen| screen(view, Some(&of), (80, 24));
    press(&mut view, Some(&of), "d");
    view.failed("nothing was changed");
    assert!(shown(&view).contains("nothing was changed"));
    press(&mut view, Some(&of), "u");
    view.failed("nothing can be undone");
    assert!(shown(&view).contains("✗ nothing can be undone"));
    assert_eq!(press(&mut view, Some(&of), "y"), ViewStep::Stay, "there is nothing to do");
    press(&mut view, Some(&of), "<esc>");
    assert!(shown(&view).contains("To do"));
}

#[test]
fn a_fleet_scrolls() {
    let (mut view, of) = (opened(), fleet(500).view());
    assert_eq!(of.agents.len(), 504);
    for size in [(40, 16), (80, 24), (200, 40)] {
        for (key, name) in [("<end>", "coder-504"), ("<up>", "coder-503"), ("<home>", "main")] {
            press_in(&mut view, Some(&of), key, size);
            let rows = checked_rows(&view, Some(&of), size);
            let reversed = rows[1..].iter().filter(|row| row.spans().iter().any(|span| span.look.reverse));
            let text = reversed.map(TextLine::text).collect::<String>();
            assert!(text.contains(name), "{size:?} {key}: {text}");
        }
    }
}
