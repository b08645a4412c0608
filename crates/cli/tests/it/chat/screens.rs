//! What reaches the terminal: every line once whatever its size, nothing that a stranger wrote as a command for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use posse_testkit::{Fixture, Turn};
use serde_json::json;

use crate::pane::{Pane, sessions_of};
use crate::posse::Person;

#[test]
fn every_line_is_there_once_and_in_order_after_resizes_in_the_middle_of_an_answer() {
    let paragraph = |number: usize| format!("word {number:03} {}\n\n", "and so on ".repeat(number % 17));
    let (first, second): (Vec<_>, Vec<_>) =
        (1..=200).map(paragraph).partition(|line| line.as_str() < "word 101");
    let go_on = Arc::new(AtomicBool::new(false));
    let slowly = |text: String| Turn::text(text).split_every(300).slowly(Duration::from_millis(4));
    let person = Person::new([
        slowly(first.concat()).and_call("read_file", json!({"path": "main.py"})),
        slowly(second.concat()).after(&go_on),
    ]);
    let pane = Pane::chat(&person);
    pane.says("count");
    let sizes = [(50, 24), (120, 30), (31, 12), (80, 24), (100, 10), (64, 40), (80, 24)];
    for (number, (columns, rows)) in sizes.into_iter().enumerate() {
        let before = last_word(&pane);
        pane.until("more lines", || last_word(&pane) > before || last_word(&pane) == 100);
        pane.resize(columns, rows);
        go_on.store(true, Ordering::Relaxed);
        // Other things happen, too.
        if number == 1 {
            pane.keys(&["C-t"]);
            pane.until("the work view", || pane.value("alternate_on") == "1");
            pane.resize(70, 20);
            pane.keys(&["q"]);
            pane.until("the chat", || pane.value("alternate_on") == "0");
        }
        if number == 4 {
            pane.keys(&["C-z"]);
            pane.is_at_the_shell();
            pane.says("fg");
            pane.until("the chat", || pane.value("pane_current_command") == "posse");
        }
    }
    pane.shows("✓ 2 turns");
    pane.says("/quit");
    pane.is_at_the_shell();
    let whole = pane.whole();
    let words = whole
        .lines()
        .filter_map(|line| line.strip_prefix("word "))
        .map(|line| line[..3].parse::<usize>().unwrap());
    let words: Vec<_> = words.collect();
    let expected: Vec<_> = (1..=200).collect();
    assert_eq!(words, expected, "{whole}");
    for number in expected {
        let line = paragraph(number);
        assert!(whole.lines().any(|one| one.trim_end() == line.trim_end()), "{line:?} is broken: {whole}");
    }
}

/// The number of the last finished line.
fn last_word(pane: &Pane<'_>) -> usize {
    let whole = pane.whole();
    let numbers = whole.lines().filter_map(|line| line.strip_prefix("word ")?.get(..3)?.parse().ok());
    numbers.max().unwrap_or(0)
}

/// What would change the terminal: titles, the clipboard, colours, the screen, its modes, answers that look typed.
const ATTACKS: [&str; 12] = [
    "\u{1b}]0;EVIL-TITLE\u{7}",
    "\u{1b}]2;EVIL-TITLE\u{1b}\\",
    "\u{1b}]52;c;RVZJTA==\u{7}",
    "\u{1b}[2J\u{1b}[H",
    "\u{1b}[?1049h",
    "\u{1b}[31mEVIL-RED",
    "\u{1b}[6n\u{1b}[c",
    "\u{1b}P$qm\u{1b}\\",
    "\u{1b}c",
    "\u{9b}31m\u{9d}0;EVIL-TITLE\u{9c}",
    "\u{8}\u{8}\u{8}\r EVIL-LINE\u{7f}",
    "\u{1b}_EVIL-APC\u{1b}\\\u{1b}^EVIL-PM\u{1b}\\",
];

#[test]
fn nothing_that_a_stranger_writes_drives_the_terminal() {
    let all = ATTACKS.concat();
    let quoted = all.replace('\u{7}', "\\a").replace('\u{1b}', "\\033").replace('%', "%%");
    let file = "a\u{1b}]0;EVIL-TITLE\u{7}.txt";
    let person = Person::with_project(
        [
            Turn::text(format!("text {all} end-of-text\n\n- item {all}\n\n```sh\ncode {all}\n```\n\n| a |\n|---|\n| cell {all} |\n"))
                .reasoning(format!("thinking {all}"))
                .and_call("shell", json!({"command": format!("printf '{quoted}'; cat '{file}'; exit 3")})),
            Turn::call("read_file", json!({"path": file})),
            Turn::call(format!("no_such_tool{all}"), json!({"path": all})),
            Turn::call("write_file", json!({"path": file, "content": format!("new {all}\n")})),
            Turn::text("All of it done."),
            Turn::status_body(400, json!({"error": {"message": format!("refused {all}")}})),
        ],
        Fixture::new().file(file, format!("content {all}\n")).git(),
    );
    let pane = Pane::chat(&person);
    pane.says("attack");
    pane.shows("All of it done.");
    pane.says("and fail");
    pane.shows("refused ");
    pane.says("!cat a*.txt");
    pane.shows("$ cat a*.txt");
    pane.shows("new ");
    pane.says("/quit");
    pane.is_at_the_shell();
    let raw = pane.raw();
    assert!(raw.contains("end-of-text") && raw.contains("EVIL-RED"), "the text was shown");
    let mut tried = 0;
    for attack in ATTACKS {
        assert!(!raw.contains(attack), "{attack:?} reached the terminal");
        tried += 1;
    }
    assert_eq!(tried, 12);
    let commands =
        raw.match_indices('\u{1b}').filter(|(at, _)| !is_ours(&raw[*at..])).map(|(at, _)| shown(&raw, at));
    assert_eq!(commands.collect::<Vec<_>>(), [""; 0]);
    let controls = raw
        .char_indices()
        .filter(|(_, c)| c.is_control() && !matches!(c, '\u{1b}' | '\r' | '\n' | '\u{7}' | '\u{8}'));
    assert_eq!(controls.map(|(at, _)| shown(&raw, at)).collect::<Vec<_>>(), [""; 0]);
    assert!(!pane.value("pane_title").contains("EVIL"));
    assert_eq!(pane.tmux(&["list-buffers"]), "", "nothing was put on the clipboard");
    assert_eq!(pane.value("alternate_on"), "0");
}

/// What the chat itself says to the terminal.
fn is_ours(rest: &str) -> bool {
    let csi = rest.strip_prefix("\u{1b}[").and_then(|rest| {
        let end = rest.find(|c: char| c.is_ascii_alphabetic())?;
        Some((&rest[..end], &rest[end..=end]))
    });
    match csi {
        Some((modes, "h" | "l")) => ["?2004", "?1004", "?2026", "?25", "?7"].contains(&modes),
        Some((_, "m" | "A" | "G" | "J" | "K" | "u" | "c")) => true,
        Some(_) => false,
        None => {
            let ours = [
                "\u{1b}]0;posse\u{1b}\\",
                "\u{1b}]0;\u{1b}\\",
                "\u{1b}]11;?\u{1b}\\",
                "\u{1b}\\",
                "\u{1b}]0;● ",
                "\u{1b}]0;attack",
            ];
            ours.iter().any(|ours| rest.starts_with(ours))
        }
    }
}

fn shown(raw: &str, at: usize) -> String {
    raw[at..].chars().take(30).collect::<String>().escape_debug().to_string()
}

#[test]
fn a_window_of_one_cell_loses_nothing() {
    let go_on = Arc::new(AtomicBool::new(false));
    let person =
        Person::new([Turn::text("Begun.\n\nStill here.").after(&go_on), Turn::text("Second answer.")]);
    let pane = Pane::chat(&person);
    pane.types("draft");
    pane.shows("› draft");
    for (columns, rows) in [(1, 1), (2, 1), (1, 24), (80, 1), (3, 3)] {
        pane.resize(columns, rows);
    }
    pane.resize(80, 24);
    pane.until("the composer", || pane.screen().contains("› draft"));
    pane.keys(&["Enter"]);
    crate::posse::eventually("a request", || person.model.requests().len() == 1);
    pane.resize(1, 1);
    go_on.store(true, Ordering::Relaxed);
    crate::posse::eventually("rest", || person.posse(&["sessions", "list"]).stdout.contains("resting"));
    pane.resize(80, 24);
    pane.until("the answer", || pane.whole().lines().any(|line| line == "Still here."));
    pane.says("more");
    pane.shows("Second answer.");
    pane.says("/quit");
    pane.is_at_the_shell();

    // From the beginning.
    pane.resize(1, 1);
    person.model.push(Turn::text("From one cell."));
    pane.starts("");
    pane.until("the chat", || pane.value("pane_current_command") == "posse");
    pane.until("raw keys", || pane.raw().matches("?2004h").count() == 2);
    pane.says("blind");
    crate::posse::eventually("a request", || person.model.calls() == 3);
    pane.resize(80, 24);
    pane.shows("From one cell.");
    assert_eq!(sessions_of(&person).len(), 1);
}

#[test]
fn a_dumb_terminal_gets_lines_and_no_escape_sequences() {
    let person = Person::new([
        Turn::text("It **prints** hi."),
        Turn::call("shell", json!({"command": "echo ran > ran.txt"})),
        Turn::text("It ran."),
    ]);
    let pane = Pane::with(&person, 80, 24, &[("TERM", "dumb")]);
    pane.starts("--approval ask");
    pane.until("the chat", || pane.value("pane_current_command") == "posse");
    pane.says("what does it print?");
    pane.shows("It prints hi.");
    pane.says("run it");
    pane.shows("main wants to run a command");
    pane.shows("answer with: ? y (once)");
    pane.says("? y");
    pane.shows("It ran.");
    assert_eq!(person.file("ran.txt"), "ran\n");
    // The terminal goes away, and the session stays.
    pane.is_closed_and_another_opened();
    assert_eq!(sessions_of(&person).len(), 1);
    let raw = pane.raw();
    assert!(!raw.contains('\u{1b}'), "{raw:?}");
    pane.starts("attach");
    pane.shows("It ran.");
}
