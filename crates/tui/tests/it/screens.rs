//! Screens at 40, 80 and 200 columns, as a person sees them: what was printed, and the live region below it.

use std::num::NonZeroU16;

use posse_protocol::{
    Approval, CallId, CallKind, Ending, EventKind, FileChange, FreeQuestion, QueueReason, Report,
};
use posse_terminal::{PathIndex, Screen, Theme};
use posse_tui::{ChatFacts, ChatFound, ChatInput, ChatOutcome, region};

use super::support::*;

const COLUMNS: [u16; 3] = [40, 80, 200];
const ROWS: u16 = 24;

/// The rows of a terminal after a chat was drawn in it, and what must hold of each region.
fn screen(stage: &mut ChatStage, columns: u16) -> String {
    let size = |size: u16| NonZeroU16::new(size).unwrap();
    let mut terminal = vt100::Parser::new(size(ROWS), size(columns), 1_000);
    let mut screen = Screen::new(columns, ROWS, Theme::Dark);
    stage.input(ChatInput::Tick);
    let printed = stage.chat.take_printed();
    let region = region(&stage.chat);
    assert!(region.lines.len() <= usize::from(ROWS / 3), "{} rows", region.lines.len());
    assert!(region.lines.iter().all(|line| line.columns() < usize::from(columns)));
    terminal.process(&screen.frame(&printed, &region));
    let rows = terminal.screen().rows(0, columns).map(|row| row.trim_end().to_owned()).collect::<Vec<_>>();
    let rows = rows.join("\n");
    format!("{}\n{}", "─".repeat(columns.into()), rows.trim_end())
}

/// The same story on screens of all widths.
fn snapshot(name: &str, tell: impl Fn(&mut ChatStage)) {
    let shown: Vec<_> = COLUMNS
        .iter()
        .map(|columns| {
            let mut stage = ChatStage::sized(*columns, ROWS).begun();
            stage.printed();
            tell(&mut stage);
            screen(&mut stage, *columns)
        })
        .collect();
    insta::assert_snapshot!(name, shown.join("\n"));
}

#[test]
fn an_empty_chat_without_a_model() {
    let shown: Vec<_> = COLUMNS
        .iter()
        .map(|columns| {
            let mut stage = ChatStage::sized(*columns, ROWS);
            let notes = vec![
                "No model yet: /model lists what there is, /doctor says what is missing, /demo needs none."
                    .to_owned(),
            ];
            let facts = ChatFacts {
                notes,
                approval: Approval::Auto,
                branch: Some("main".to_owned()),
                ..ChatFacts::default()
            };
            stage.input(ChatInput::Facts(Box::new(facts)));
            screen(&mut stage, *columns)
        })
        .collect();
    insta::assert_snapshot!("empty", shown.join("\n"));
}

#[test]
fn markdown_while_it_streams() {
    snapshot("streaming", |stage| {
        stage.streams(
            "I looked at the **parser** and found two places that are wrong; both are in `src/parse.rs`.\n\n\
             | place | what is wrong |\n|---|---|\n| `line 12` | an off-by-one in the loop |\n| `line 80` | no end |\n\n\
             ```rust\nfn end(&self) -> usize {\n    self.at + 1\n}\n```\n\nNow I am going to change the first one, since the second \
             depends on it and",
        );
        stage.now_ms += 12_000;
    });
}

#[test]
fn five_agents() {
    snapshot("agents", |stage| {
        let names = [
            ("finder-1", "find the call sites of the old parser in the whole repository"),
            ("finder-2", "find the tests"),
            ("coder-1", "change the parser"),
            ("coder-2", "change the printer"),
            ("tester-1", "run the tests"),
        ];
        for (n, (name, title)) in (2..).zip(names) {
            stage.admit(n, 1, name, title);
        }
        for n in [2, 4, 5, 6] {
            stage.event(n, started(1));
            stage.event(n, turn(3));
            stage.event(n, replied("", 48_000));
        }
        stage.event(2, tool_started("c1", "grep parse_line in src", CallKind::Search));
        stage.event(3, EventKind::AgentQueued { reason: QueueReason::RunningCap, at: None });
        stage.event(4, asks(question("c2", "cargo test --workspace")));
        stage.event(5, settled(Ending::OutOfTurns, "I could not finish."));
        stage.event(6, settled(Ending::Completed, "All 48 tests pass.\n\nNothing else was done."));
        stage.now_ms += 65_000;
    });
}

#[test]
fn agents_on_other_machines() {
    snapshot("placed", |stage| {
        for (n, name) in [(2, "coder-1"), (3, "coder-2")] {
            stage.admit(n, 1, name, "train it");
            stage.event(
                n,
                EventKind::AgentPlaced {
                    worker: "gpu-1".to_owned(),
                    epoch: 1,
                    run: String::new(),
                    lease_ms: 0,
                },
            );
            stage.event(n, started(1));
            stage.event(n, turn(3));
        }
        stage.event(
            2,
            EventKind::AgentPlaced { worker: "gpu-2".to_owned(), epoch: 2, run: String::new(), lease_ms: 0 },
        );
        stage.now_ms += 1_000;
    });
}

#[test]
fn a_question_with_a_long_diff() {
    for (name, keys) in [("diff", ""), ("diff_answering", CTRL_Q), ("diff_rule", "\x11r")] {
        snapshot(name, |stage| {
            let mut question = question("c1", "src/parse.rs");
            question.tool = "edit_file".to_owned();
            let lines: String =
                (0..300).map(|n| format!("+    let value_{n} = parse(input, {n})?;\n")).collect();
            question.preview = Some(format!(
                "--- a/src/parse.rs\n+++ b/src/parse.rs\n@@ -1,1 +1,301 @@\n fn all() {{\n{lines}"
            ));
            question.pattern = "edit_file(src/*)".to_owned();
            stage.event(1, asks(question));
            stage.keys(keys);
        });
    }
}

#[test]
fn a_question_that_leaves_the_sandbox() {
    for (name, keys) in [("outside", ""), ("outside_answering", CTRL_Q), ("outside_word", "\x11oout")] {
        snapshot(name, |stage| {
            let mut question = question("c1", "git push origin main");
            (question.leaves, question.written, question.written_more) =
                (true, vec!["build.rs".to_owned(), "src/lib.rs".to_owned()], 3);
            question.why = "the network is off in the sandbox".to_owned();
            stage.event(1, asks(question));
            stage.keys(keys);
        });
    }
}

#[test]
fn a_free_question_and_another_behind_it() {
    snapshot("free", |stage| {
        let mut free = question("c1", "Which of the two parsers is to stay?");
        free.asks = Some(FreeQuestion {
            choices: vec!["the old one".to_owned(), "the new one, with all its tests".to_owned()],
        });
        stage.event(1, asks(free));
        stage.event(1, asks(question("c2", "rm -r old")));
        stage.keys("\x11the new");
    });
}

#[test]
fn queue_to_do_list_and_a_background_command() {
    snapshot("waiting", |stage| {
        stage.event(
            1,
            EventKind::BackgroundStarted { name: "cmd-1".to_owned(), command: "npm run watch".to_owned() },
        );
        stage.event(
            1,
            mailed(1, "also look at the printer, which has the same fault as the parser had", false),
        );
        stage.event(1, mailed(2, "then run the tests", true));
        stage.event(1, tool_started("c1", "cargo build", CallKind::Run));
        let text =
            "   Compiling posse v0.1.0\n   Compiling parser v0.2.0 (a very long path that does not fit)\n"
                .to_owned();
        stage.progress(1, posse_protocol::ProgressKind::Output { call: CallId("c1".to_owned()), text });
        stage.keys("something that I write meanwhile");
    });
}

#[test]
fn lists_of_completions() {
    for (name, keys) in [("commands", "/"), ("arguments", "/mode "), ("files", "see @")] {
        snapshot(name, |stage| {
            let paths: Vec<_> = (0..30).map(|n| format!("crates/parser/src/some/module_{n}.rs")).collect();
            let none: [&String; 0] = [];
            stage.outcome(ChatOutcome::Found(ChatFound::Files(Box::new(PathIndex::new(&paths, none)))));
            stage.keys(keys);
            stage.keys(DOWN);
        });
    }
}

#[test]
fn a_plan_that_waits() {
    for (name, keys) in [("plan", ""), ("plan_answering", CTRL_Q)] {
        snapshot(name, |stage| {
            stage.keys("/mode plan\r");
            stage.now_ms += 10_000;
            stage.input(ChatInput::Tick);
            stage.event(1, replied("1. Change the loop.\n2. Add a test.", 10));
            stage.event(1, EventKind::AgentRested { report: Some(report(Ending::Completed, "plan")) });
            stage.keys(keys);
        });
    }
}

#[test]
fn a_session_that_has_rested() {
    snapshot("rested", |stage| {
        stage.event(1, tool_started("c1", "edit src/parse.rs", CallKind::Edit));
        stage.event(1, tool_finished("c1", "", true));
        stage.event(1, tool_started("c2", "cargo test --workspace --all-features", CallKind::Run));
        stage.event(
            1,
            tool_finished(
                "c2",
                "running 3 tests\ntest a ... ok\ntest b ... FAILED\n\nerror: test failed",
                false,
            ),
        );
        stage.event(1, replied("The loop is right now.", 45_000));
        let mut report: Report = report(Ending::Completed, "The loop is right now.");
        report.receipt.files = vec![FileChange {
            path: "src/parse.rs".to_owned(),
            created: false,
            lines_added: 12,
            lines_removed: 3,
        }];
        report.warnings = vec!["the tests failed in the last run, and the text does not say so".to_owned()];
        stage.event(1, EventKind::AgentRested { report: Some(report) });
    });
}
