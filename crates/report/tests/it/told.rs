//! The report as text, for models and for people.

use posse_protocol::{Below, Ending, Failure, Receipt, Report};
use posse_report::{ToldReport, spawn_text, to_text};

use crate::{changed, said, seen, tokens, told};

fn report() -> Report {
    Report {
        receipt: Receipt {
            turns: 6,
            tool_calls: 8,
            usage: tokens(1_000, 200),
            duration_ms: 34_210,
            below: Below { agents: 2, usage: tokens(300, 0), ..Below::default() },
            files: vec![changed("tests/auth.test.ts", true, 82, 0), changed("b.rs", false, 3, 1)],
            tests: Some(seen("cargo test", 101, Some((5, 4)))),
            ..Receipt::default()
        },
        warnings: vec!["it cites `a.rs:9`, but the file has 3 lines".into()],
        notes: vec!["No checkout of its own.".into()],
        ..said("SUMMARY: Created 5 test cases\nover login.\n\nMore.\n")
    }
}

#[test]
fn the_parent_reads_facts_then_words() {
    let wanted = "explore-1 (explore) \"Find the parser\": completed; 6 turns, 8 tool calls, 1200 tokens (1500 with 2 \
                  sub-agents), 34 s\n\
                  Measured: no commands run; tests failed: `cargo test` (exit code 101, 4 of 5 passed); no commits; 2 \
                  sub-agents; 2 files changed (+85 -1): tests/auth.test.ts (+82 lines, new file), b.rs (+3 -1 lines).\n\
                  warning: it cites `a.rs:9`, but the file has 3 lines\n\
                  note: No checkout of its own.\n\
                  <report from=\"explore-1\">\n\
                  | SUMMARY: Created 5 test cases\n\
                  | over login.\n\
                  | \n\
                  | More.\n\
                  </report>";
    assert_eq!(to_text(&told(&report())), wanted);
}

#[test]
fn what_is_unknown_or_missing_is_said() {
    let failure = Failure::Internal { message: "disk\nfull".into() };
    let report = Report { ending: Ending::Failed { failure }, ..said(" \n") };
    assert_eq!(
        to_text(&told(&report)),
        "explore-1 (explore) \"Find the parser\": failed: disk full; 0 turns, 0 tool calls, tokens not reported, 0.0 s\n\
         Measured: no commands run; no tests run; no commits; no sub-agents; no files changed.\nIt said nothing."
    );
    assert_eq!(
        spawn_text(&told(&report)),
        "[sub-agent explore-1] Failed: \"Find the parser\"\n  Duration: 0.0 s (0 turns, 0 tool calls)\n  Reason: failed: disk full\n  \
         Measured: no commands run; no tests run; no commits; no sub-agents; no files changed\nIt said nothing."
    );
}

#[test]
fn a_block_has_facts_first_and_then_all_words() {
    let report = report();
    let block = "[sub-agent explore-1] Completed: \"Write tests for auth.ts\"\n\
                 \x20 Duration: 34 s (6 turns, 8 tool calls)\n\
                 \x20 Files modified: tests/auth.test.ts (+82 lines, new file), b.rs (+3 -1 lines)\n\
                 \x20 Measured: no commands run; tests failed: `cargo test` (exit code 101, 4 of 5 passed); no commits; 2 \
                 sub-agents\n";
    let told = ToldReport { title: "Write tests for auth.ts", ..told(&report) };
    assert_eq!(
        spawn_text(&told),
        format!(
            "{block}warning: it cites `a.rs:9`, but the file has 3 lines\nnote: No checkout of its own.\n<report from=\"explore-1\">\n\
             | SUMMARY: Created 5 test cases\n| over login.\n| \n| More.\n</report>"
        )
    );
}

#[test]
fn every_ending_has_its_headline() {
    let cases = [
        (Ending::Completed, "Completed"),
        (Ending::Failed { failure: Failure::EmptyReply }, "Failed"),
        (Ending::Cancelled, "Cancelled"),
        (Ending::Interrupted { reason: "gone".into() }, "Interrupted"),
        (Ending::TimedOut, "Out of time"),
        (Ending::OutOfTurns, "Out of turns"),
        (Ending::OutOfTokens, "Out of tokens"),
        (Ending::OutOfMoney, "Out of money"),
        (Ending::Refused, "Refused by the model"),
    ];
    assert_eq!(cases.len(), 9);
    for (ending, headline) in cases {
        let report = Report { ending, ..said("x") };
        let block = spawn_text(&told(&report));
        assert!(block.starts_with(&format!("[sub-agent explore-1] {headline}: ")), "{block}");
    }
}

#[test]
fn durations_and_many_files_are_readable() {
    for (ms, shown) in
        [(0, "0.0 s"), (349, "0.3 s"), (59_900, "59 s"), (60_000, "1 min 0 s"), (754_600, "12 min 34 s")]
    {
        let mut report = said("x");
        report.receipt.duration_ms = ms;
        assert!(spawn_text(&told(&report)).contains(&format!("Duration: {shown} (")), "{ms}");
    }
    let mut report = said("x");
    report.receipt.files = (0..12).map(|n| changed(&format!("f{n}"), false, 0, 1)).collect();
    let block = spawn_text(&told(&report));
    assert!(block.contains("f9 (-1 line), and 2 more\n"), "{block}");
}
