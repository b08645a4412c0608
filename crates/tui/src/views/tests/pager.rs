//! Long texts.

use std::cell::Cell;

use posse_engine::{ContextKind, ContextPart, ContextUse};
use posse_protocol::{CallId, Question};
use posse_terminal::TextLine;

use super::*;
use crate::effect::ChatFound;
use crate::views::Pager;
use crate::views::scroll::{Blocks, Place};

fn numbered(count: usize) -> FullScreen {
    let lines = (1..=count).map(|n| TextLine::plain(&format!("line {n}"))).collect();
    FullScreen::Pager(Pager::new("A text", lines))
}

fn texts(view: &FullScreen, size: (usize, usize)) -> Vec<String> {
    checked_rows(view, None, size).iter().map(|row| row.text().trim_end().to_owned()).collect()
}

#[test]
fn keys_go_through_a_text() {
    let mut view = numbered(20);
    let size = (60, 6);
    // Four rows of text: what is in the first of them.
    let cases = [
        ("", "line 1"),
        ("j", "line 2"),
        ("<down><down>", "line 4"),
        ("k", "line 3"),
        (" ", "line 6"),
        ("<pgdn>", "line 9"),
        ("<pgup>", "line 6"),
        ("G", "line 17"),
        ("j", "line 17"),
        ("g", "line 1"),
        ("<up>", "line 1"),
        ("<end><up>", "line 16"),
        ("<home>", "line 1"),
    ];
    assert_eq!(cases.len(), 13);
    for (text, first) in cases {
        assert_eq!(press_in(&mut view, None, text, size), ViewStep::Stay, "{text}");
        assert_eq!(texts(&view, size)[1], first, "{text}");
    }
    assert_eq!(texts(&view, size)[0], " A text");
    assert!(texts(&view, size)[5].contains("4/20 20%"), "{:?}", texts(&view, size));
    assert_eq!(press(&mut view, None, "q"), ViewStep::Close);
    assert_eq!(press(&mut view, None, "<esc>"), ViewStep::Close);
}

#[test]
fn a_search_finds_while_it_is_typed() {
    let mut view = numbered(100);
    let size = (60, 12);
    press_in(&mut view, None, "/LINE 4", size);
    assert!(texts(&view, size)[11].contains("not found"), "capital letters are meant");
    press_in(&mut view, None, "<esc>/line 4", size);
    assert_eq!(texts(&view, size)[11], "/line 4  1 of 11");
    assert_eq!(texts(&view, size)[1], "line 1", "there is room above it");
    press_in(&mut view, None, "<enter>n", size);
    assert_eq!(texts(&view, size)[11], "/line 4  2 of 11");
    assert!(texts(&view, size)[1..11].contains(&"line 40".to_owned()));
    press_in(&mut view, None, "NN", size);
    assert_eq!(texts(&view, size)[11], "/line 4  11 of 11", "it goes around");
    let marked = checked_rows(&view, None, size);
    let reversed = marked[1..11].iter().flat_map(|row| row.spans()).filter(|span| span.look.reverse);
    assert_eq!(reversed.map(|span| span.text()).collect::<Vec<_>>(), ["line 4"; 4]);
    assert_eq!(press_in(&mut view, None, "<esc>", size), ViewStep::Stay, "Escape ends the search first");
    assert_eq!(press_in(&mut view, None, "<esc>", size), ViewStep::Close);
    press_in(&mut view, None, "g/zzz<esc>", size);
    assert_eq!(texts(&view, size)[1], "line 1", "a search that is left goes back to where it began");
}

#[test]
fn long_lines_are_wrapped_and_scrolled_row_by_row() {
    let text = (0..30).map(|n| format!("word{n:02} ")).collect::<String>();
    let mut view = FullScreen::Pager(Pager::new("x", vec![TextLine::plain(&text), TextLine::plain("end")]));
    let size = (14, 5);
    assert_eq!(texts(&view, size)[1..4], ["word00 word01", "word02 word03", "word04 word05"]);
    press_in(&mut view, None, "j", size);
    assert_eq!(texts(&view, size)[1], "word02 word03");
    press_in(&mut view, None, "G", size);
    assert_eq!(texts(&view, size)[1..4], ["word26 word27", "word28 word29", "end"]);
    // On a larger screen all of it fits.
    assert_eq!(texts(&view, (300, 5))[2], "end");
}

/// Lines that count how many of them were wrapped.
struct Counted(Cell<usize>);

impl Blocks for Counted {
    fn count(&self) -> usize {
        100_000
    }

    fn rows(&self, block: usize, columns: usize) -> Vec<TextLine> {
        self.0.set(self.0.get() + 1);
        TextLine::plain(&format!("line {block}")).wrapped(columns, 0)
    }

    fn text(&self, block: usize) -> String {
        format!("line {block}")
    }
}

#[test]
fn of_a_hundred_thousand_lines_only_those_on_the_screen_are_wrapped() {
    let (lines, size) = (Counted(Cell::new(0)), (80, 22));
    let mut place = Place::default();
    for key in keys("G<pgup><up>gjj <end>G") {
        lines.0.set(0);
        place = place.key(&key, &lines, size).unwrap();
        let shown = place.shown(&lines, size);
        assert_eq!(shown.len(), 22);
        assert!(lines.0.get() <= 8 * 22, "{key:?} wraps {} lines", lines.0.get());
    }
    assert_eq!(place, Place { block: 99_978, row: 0 });
    let mut view = numbered(100_000);
    press(&mut view, None, "/line 99999<enter>n");
    assert!(texts(&view, (80, 24)).iter().any(|row| row == "line 99999"));
}

#[test]
fn all_of_a_question_is_shown() {
    let mut question = Question::new(CallId("c".to_owned()), "edit_file", "src/lib.rs");
    question.why = "in mode ask, changing a file asks first".to_owned();
    question.pattern = "edit_file(src/*)".to_owned();
    question.real_path = Some("/elsewhere/lib.rs".to_owned());
    question.preview =
        Some("--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n".to_owned());
    insta::assert_snapshot!(screen(&FullScreen::Pager(Pager::of_question(&question)), None, (80, 14)));
}

#[test]
fn what_fills_a_window_is_a_table_with_bars() {
    let part = |kind, tool: Option<&str>, tokens| ContextPart {
        kind,
        tool: tool.map(str::to_owned),
        texts: 3,
        bytes: tokens * 4,
        tokens,
    };
    let used = ContextUse {
        agent: "00000000-0000-7000-8000-000000000001".parse().unwrap(),
        agent_name: "main".to_owned(),
        model: "large".to_owned(),
        window_tokens: Some(200_000),
        counted_tokens: Some(41_000),
        estimated_tokens: 40_000,
        compactions: 1,
        parts: vec![
            part(ContextKind::ToolResults, Some("read_file"), 30_000),
            part(ContextKind::System, None, 6_000),
            part(ContextKind::Person, None, 4_000),
        ],
    };
    let view = FullScreen::of_found(&ChatFound::Context(Box::new(used))).unwrap();
    insta::assert_snapshot!(screens(&view, None));
}

#[test]
fn a_diff_says_whose_it_is() {
    let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two\n".to_owned();
    let of_agent = FullScreen::of_found(&ChatFound::Diff(Some("coder-1".to_owned()), diff)).unwrap();
    insta::assert_snapshot!(screens(&of_agent, None));
    let none = FullScreen::of_found(&ChatFound::Diff(None, String::new())).unwrap();
    assert_eq!(texts(&none, (60, 5))[..2], [" Changes of the session", "nothing is changed"]);
    assert!(FullScreen::of_found(&ChatFound::Sessions(Vec::new())).is_none());
}
