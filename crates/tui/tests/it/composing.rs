//! What is written: completion, chips, history, and keys of the editor.

use posse_terminal::PathIndex;
use posse_tui::{ChatEffect, ChatFound, ChatOutcome, ChatQuery, OnTerminal, PromptWords, SteerCommand};

use super::prompting::words;
use super::support::*;

fn prompt(words: PromptWords) -> Vec<ChatEffect> {
    vec![ChatEffect::Steer(SteerCommand::Prompt(words))]
}

#[test]
fn commands_are_completed_and_run() {
    let mut stage = ChatStage::at_rest();
    stage.keys("/ex");
    assert!(stage.shows("/export") && stage.shows("this session as Markdown or JSON"), "{:?}", stage.rows());
    stage.keys(TAB);
    assert_eq!(stage.written(), "/export");
    stage.keys("\x15/th");
    assert_eq!(stage.does("\t"), [], "Tab completes and does not queue");
    assert_eq!(stage.written(), "/theme");
    assert!(stage.shows("  auto") && stage.shows("  light"), "its words are offered: {:?}", stage.rows());
    stage.keys("li\r");
    assert_eq!(stage.written(), "/theme light");
    stage.keys(ENTER);
    assert_eq!(stage.chat.theme(), posse_terminal::Theme::Light);
    stage.keys("/theme ");
    stage.keys(DOWN);
    stage.keys(DOWN);
    stage.keys(UP);
    stage.keys(ENTER);
    assert_eq!(stage.written(), "/theme dark", "what was moved to is put in");
    stage.keys("\x15/merge");
    assert_eq!(stage.does(ENTER), [], "it needs an agent");
    assert_eq!(stage.written(), "/merge");
    stage.keys("\x15/model ");
    assert!(stage.shows("  large") && stage.shows("  small"));
    stage.keys(ENTER);
    assert!(stage.view().starts_with("Picker"), "without a word it shows the models");
    let mut stage = ChatStage::at_rest();
    stage.keys("/");
    stage.keys(ESC);
    assert!(!stage.shows("/help"), "Esc closes the list");
    assert_eq!(stage.written(), "/");
}

#[test]
fn a_list_begins_at_its_best_entry_again_when_the_word_changes() {
    let mut stage = ChatStage::new();
    stage.keys("/");
    stage.keys(DOWN);
    stage.keys(DOWN);
    stage.keys("qui");
    stage.keys(TAB);
    assert_eq!(stage.written(), "/quit");
}

#[test]
fn files_are_completed_once_they_are_listed() {
    let mut stage = ChatStage::at_rest();
    assert_eq!(stage.does("look at @"), [ChatEffect::Query(ChatQuery::Files)]);
    let paths = ["src/main.rs", "src/a file.rs", "README.md"];
    let none: [&str; 0] = [];
    stage.outcome(ChatOutcome::Found(ChatFound::Files(Box::new(PathIndex::new(paths, none)))));
    assert_eq!(stage.does("main"), [], "they are listed once");
    assert!(stage.shows("src/main.rs"), "{:?}", stage.rows());
    assert_eq!(stage.does(ENTER), [], "Enter puts in what is chosen");
    assert_eq!(stage.written(), "look at @src/main.rs");
    assert_eq!(stage.does("and @file\t\r"), prompt(words("look at @src/main.rs and @\"src/a file.rs\"")));
}

#[test]
fn what_is_pasted_is_text_or_a_chip() {
    let mut stage = ChatStage::at_rest();
    assert_eq!(stage.paste("one\rtwo\n"), [], "a paste never submits");
    assert_eq!(stage.does(ENTER), prompt(words("one\ntwo")));
    let large = "0123456789abcde\n".repeat(640 * 1024);
    assert_eq!(large.len(), 10 * 1024 * 1024);
    stage.paste(&large);
    let rows = stage.rows();
    assert!(rows.iter().map(String::len).sum::<usize>() < 400, "a chip: {rows:?}");
    assert_eq!(stage.does(ENTER), prompt(words(large.trim_end())));
    for (pasted, path) in [
        ("/tmp/a.PNG", "/tmp/a.PNG"),
        ("'/tmp/my shot.jpg'", "/tmp/my shot.jpg"),
        ("/tmp/my\\ shot.webp ", "/tmp/my shot.webp"),
        ("/tmp/doc.pdf", "/tmp/doc.pdf"),
    ] {
        stage.paste(pasted);
        let effects = stage.does(ENTER);
        let [ChatEffect::Steer(SteerCommand::Prompt(words))] = &effects[..] else { panic!("{effects:?}") };
        assert_eq!(words.files, [path]);
    }
    stage.paste("see http://x/a.png");
    assert_eq!(stage.does(ENTER), prompt(words("see http://x/a.png")));
    stage.outcome(ChatOutcome::Image("/tmp/posse/clip.png".to_owned()));
    assert_eq!(stage.written(), "[clip.png]");
}

#[test]
fn lines_history_and_search() {
    let mut stage = ChatStage::at_rest();
    assert_eq!(stage.does("a\\\rb\nc\r"), prompt(words("a\nb\nc")), "backslash and Ctrl+J begin a line");
    stage.keys("draft");
    stage.keys(UP);
    assert!(stage.rows().iter().any(|row| row == "› a"), "{:?}", stage.rows());
    stage.keys("\x1b[A\x1b[A\x1b[A");
    assert_eq!(stage.written(), "mend the parser");
    stage.keys(UP);
    assert_eq!(stage.written(), "second prompt");
    stage.keys("\x15");
    stage.keys(CTRL_R);
    stage.keys("fir");
    assert!(stage.shows("search: fir  first prompt"), "{:?}", stage.rows());
    assert_eq!(stage.does(ENTER), []);
    assert_eq!(stage.written(), "first prompt");
    assert_eq!(stage.does(ENTER), prompt(words("first prompt")));
    stage.keys("kept");
    stage.keys(CTRL_R);
    stage.keys("zzz");
    assert!(stage.shows("nothing found"));
    stage.keys(ESC);
    assert_eq!(stage.written(), "kept");
}

#[test]
fn an_editor_and_the_clipboard() {
    let mut stage = ChatStage::at_rest();
    assert_eq!(stage.does("half\x07"), [ChatEffect::OnTerminal(OnTerminal::Editor("half".to_owned()))]);
    stage.outcome(ChatOutcome::Edited("whole\n\n".to_owned()));
    assert_eq!(stage.written(), "whole");
    assert_eq!(stage.does("\x16"), [ChatEffect::PasteImage]);
    assert_eq!(stage.does("\x1a"), [ChatEffect::OnTerminal(OnTerminal::Suspend)]);
    assert_eq!(stage.does("\x0c"), [ChatEffect::Redraw]);
}
