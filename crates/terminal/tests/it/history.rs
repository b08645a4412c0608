//! What was asked before.

use posse_terminal::{Chip, Editor, HistorySearch, Key, KeyCode, PromptHistory, limits};
use proptest::prelude::*;

fn history(entries: &[&str]) -> PromptHistory {
    let mut history = PromptHistory::new();
    for entry in entries {
        history.push(entry);
    }
    history
}

fn entries(history: &PromptHistory) -> Vec<&str> {
    history.entries().collect()
}

#[test]
fn entries_are_kept_in_order_without_direct_duplicates() {
    let long = "x".repeat(limits::HISTORY_ENTRY_BYTES_MAX + 1);
    let mut history = history(&["one", "two", "two", "one", "", " \n", &long]);
    assert_eq!(entries(&history), ["one", "two", "one"]);
    assert!(!history.push("one"));
    assert!(history.push("three"));
    for number in 0..limits::HISTORY_ENTRIES_MAX {
        assert!(history.push(&number.to_string()));
    }
    assert_eq!(history.len(), limits::HISTORY_ENTRIES_MAX);
    assert_eq!((history.get(0), history.get(999), history.get(1_000)), (Some("0"), Some("999"), None));
}

#[test]
fn walking_keeps_the_draft_and_what_was_changed() {
    let mut history = history(&["one", "two"]);
    let mut editor = Editor::new();
    assert!(!history.newer(&mut editor), "nothing is newer than a draft");
    editor.insert("draft ");
    editor.insert_chip("[chip]", Chip::Text("value".to_owned()));
    assert!(editor.key(&Key::new(KeyCode::Left)));
    let mut seen = Vec::new();
    for step in "oooon".chars() {
        let moved = if step == 'o' { history.older(&mut editor) } else { history.newer(&mut editor) };
        seen.push((moved, editor.text()));
    }
    let want = [(true, "two"), (true, "one"), (false, "one"), (false, "one"), (true, "two")];
    assert_eq!(seen, want.map(|(moved, text)| (moved, text.to_owned())));
    editor.insert(" changed");
    assert!(history.older(&mut editor) && history.newer(&mut editor));
    assert_eq!(editor.text(), "two changed");
    assert!(history.newer(&mut editor));
    assert_eq!((editor.text(), editor.cursor()), ("draft [chip]".to_owned(), "draft ".len()));
    assert!(!history.newer(&mut editor));
    assert_eq!(editor.submit().text, "draft value");
    history.push("draft value");
    assert!(history.older(&mut editor));
    assert_eq!(editor.text(), "draft value");
    assert!(history.older(&mut editor));
    assert_eq!(editor.text(), "two", "entries are as they were");
}

#[test]
fn a_search_goes_on_while_the_query_grows() {
    let history = history(&["fix the parser", "run tests", "Fix the tests", "run tests", "say hello"]);
    let mut search = HistorySearch::new();
    let state = |search: &HistorySearch| {
        let matched = search.matched(&history).map(|range| (range.start, range.end));
        (search.current(&history), matched, search.is_failing())
    };
    assert_eq!(state(&search), (None, None, false));
    search.push(&history, 't');
    assert_eq!(state(&search), (Some("run tests"), Some((7, 8)), false));
    search.push(&history, 'e');
    assert_eq!(state(&search), (Some("run tests"), Some((4, 6)), false));
    search.older(&history);
    assert_eq!(state(&search), (Some("Fix the tests"), Some((8, 10)), false));
    search.older(&history);
    assert_eq!(state(&search), (Some("run tests"), Some((4, 6)), false));
    search.older(&history);
    assert_eq!(state(&search), (Some("run tests"), Some((4, 6)), true));
    search.newer(&history);
    assert_eq!(state(&search), (Some("Fix the tests"), Some((8, 10)), false));
    search.push(&history, 'q');
    assert_eq!(state(&search), (Some("Fix the tests"), None, true));
    search.pop(&history);
    assert_eq!(state(&search), (Some("run tests"), Some((4, 6)), false));
    assert_eq!(search.query(), "te");
    search.pop(&history);
    search.pop(&history);
    assert_eq!(state(&search), (None, None, false));
    "fix".chars().for_each(|c| search.push(&history, c));
    assert_eq!(state(&search), (Some("Fix the tests"), Some((0, 3)), false));
    search.older(&history);
    assert_eq!(state(&search), (Some("fix the parser"), Some((0, 3)), false));
    let mut search = HistorySearch::new();
    "F".chars().for_each(|c| search.push(&history, c));
    assert_eq!(state(&search).0, Some("Fix the tests"));
    search.older(&history);
    assert!(search.is_failing(), "a capital letter finds capital letters only");
}

#[test]
fn a_damaged_file_is_read_as_far_as_it_is_text() {
    let file = b"one\nback\\\\slash\\nand line\n\ntwo\r\n\xff\xfe\nhole\0\0\n\\x odd\\\n\\\nlast without en";
    let history = PromptHistory::decode(file);
    let want = ["one", "back\\slash\nand line", "two", "\\x odd\\", "\\", "last without en"];
    assert_eq!(entries(&history), want);
    assert_eq!(entries(&PromptHistory::decode(history.encode().as_bytes())), want);
    assert_eq!(PromptHistory::line("a\nb").as_deref(), Some("a\\nb\n"));
    assert_eq!(PromptHistory::line(" "), None);
    assert!(PromptHistory::decode(b"").is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read(texts in proptest::collection::vec("[a-z\\\\\n\r日nr]{1,12}", 0..8)) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let written = history(&texts);
        prop_assert_eq!(written.encode().lines().count(), written.len());
        let file = written.encode();
        let read = PromptHistory::decode(file.as_bytes());
        prop_assert_eq!(entries(&read), entries(&written));
    }

    #[test]
    fn any_file_is_read(file in proptest::collection::vec(any::<u8>(), 0..400)) {
        let read = PromptHistory::decode(&file);
        prop_assert!(read.entries().all(|entry| !entry.trim().is_empty()));
        let file = read.encode();
        let again = PromptHistory::decode(file.as_bytes());
        prop_assert_eq!(entries(&again), entries(&read));
    }
}
