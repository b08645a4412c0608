//! What is printed: once, in order, whatever is lost on the way, and of a bounded size.

use posse_protocol::{Ending, EventKind, ProgressKind, Purpose, Sender};
use posse_tui::{ChatEffect, ChatFound, ChatInput, ChatOutcome, ChatQuery};

use super::support::*;

fn work() -> ChatStage {
    let mut stage = ChatStage::at_work();
    stage.printed();
    stage
}

#[test]
fn streamed_text_is_printed_once() {
    let text = "# Head\n\nSome *words* here.\n\n- one\n- two\n\n```rust\nfn a() {}\n```\n\nThe end.";
    let whole = {
        let mut stage = work();
        stage.event(1, replied(text, 10));
        stage.printed()
    };
    assert_eq!(whole.iter().filter(|line| !line.is_empty()).count(), 7, "{whole:?}");
    for size in [1, 2, 3, 7, 20, 1000] {
        for came in [0, 1, text.len() / 2, text.len()] {
            let mut stage = work();
            let (mut printed, mut rest) = (Vec::new(), &text[..came]);
            while !rest.is_empty() {
                let (piece, more) = rest.split_at(size.min(rest.len()));
                stage.streams(piece);
                printed.extend(stage.printed());
                rest = more;
            }
            stage.event(1, replied(text, 10));
            printed.extend(stage.printed());
            assert_eq!(printed, whole, "pieces of {size}, {came} bytes came");
        }
    }
}

#[test]
fn lost_pieces_leave_no_half_of_a_reply() {
    let mut stage = work();
    stage.streams("The ans");
    stage.streams("two.");
    stage.event(1, replied("The answer is forty-two.", 10));
    assert_eq!(stage.printed(), ["The answer is forty-two.", ""], "nothing was printed yet");
    stage.event(1, turn(2));
    stage.streams("First.\n\nSec");
    stage.streams("rd.\n");
    stage.event(1, replied("First.\n\nSecond.\n\nThird.", 10));
    let again = "  parts were lost; the reply again, whole:";
    assert_eq!(stage.printed(), ["First.", "", again, "First.", "", "Second.", "", "Third.", ""]);
}

#[test]
fn a_request_that_is_sent_again_begins_its_reply_again() {
    let retrying = || EventKind::Retrying {
        attempt: 1,
        attempts_max: 4,
        delay_ms: 9_000,
        reason: "overloaded".to_owned(),
    };
    let mut stage = work();
    stage.streams("Half of it");
    stage.event(1, retrying());
    assert!(stage.shows("overloaded · try 2 of 4 in 9.0 s"), "{:?}", stage.rows());
    stage.now_ms += 4_000;
    stage.input(ChatInput::Tick);
    assert!(stage.shows("try 2 of 4 in 5.0 s"), "the time left: {:?}", stage.rows());
    stage.streams("All of it.");
    stage.event(1, replied("All of it.", 10));
    assert_eq!(stage.printed(), ["All of it.", ""]);
    stage.event(1, turn(2));
    stage.streams("One.\n\nTw");
    stage.event(1, retrying());
    stage.streams("One.\n\nTwo.");
    stage.event(1, replied("One.\n\nTwo.", 10));
    assert_eq!(
        stage.printed(),
        ["One.", "", "· overloaded: the reply begins again", "", "One.", "", "Two.", ""]
    );
}

#[test]
fn the_end_of_a_sub_agent_does_not_break_what_is_being_written() {
    let text =
        "A par\nagraph.\n\n```rust\nfn a() {\n    b();\n}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nEnd.";
    let run = |at: Option<usize>| {
        let mut stage = work();
        stage.admit(2, 1, "finder-1", "find it");
        stage.event(2, started(1));
        stage.streams(&text[..at.unwrap_or(0)]);
        if at.is_some() {
            stage.event(2, settled(Ending::Completed, "found"));
        }
        stage.streams(&text[at.unwrap_or(0)..]);
        stage.event(1, replied(text, 10));
        let lines = stage.printed().into_iter().filter(|line| !line.is_empty());
        lines.partition::<Vec<_>, _>(|line| line.contains("finder-1") || line == "    found")
    };
    let (_, whole) = run(None);
    assert_eq!(whole.len(), 10, "{whole:?}");
    for at in 0..text.len() {
        let (report, printed) = run(Some(at));
        assert_eq!((report.len(), printed), (2, whole.clone()), "after {:?}", &text[..at]);
    }
}

#[test]
fn what_was_stopped_keeps_what_came() {
    let mut stage = work();
    stage.streams("Half a sen");
    stage.event(1, EventKind::CutShort { turn: 1, text: "Half a sen".to_owned() });
    assert_eq!(stage.printed(), ["Half a sen", "", "  … stopped here"]);
    stage.event(1, turn(2));
    stage.streams("more than is on record");
    stage.event(1, EventKind::CutShort { turn: 2, text: "more than".to_owned() });
    assert_eq!(stage.printed(), ["", "more than is on record", "", "  … stopped here"]);
}

#[test]
fn notes_that_replace_the_conversation_are_not_printed() {
    let mut stage = work();
    stage.event(1, EventKind::TurnStarted { turn: 2, purpose: Purpose::Summary });
    stage.streams("Summary: the person wants\n\nand so on");
    stage.event(1, replied("Summary: the person wants\n\nand so on", 10));
    stage.event(1, turn(3));
    stage.event(1, replied("On with it.", 10));
    assert_eq!(stage.printed(), ["On with it.", ""]);
}

#[test]
fn blocks_are_apart_by_one_empty_line_however_often_they_are_taken() {
    let run = |take_often: bool| {
        let mut stage = ChatStage::new();
        let mut printed = Vec::new();
        stage = stage.begun();
        let kinds = [
            replied("First.\n\nSecond.", 10),
            tool_started("c1", "grep x", posse_protocol::CallKind::Other),
            tool_finished("c1", "", true),
            turn(2),
            replied("Third.", 10),
            EventKind::AgentRested { report: Some(report(Ending::Completed, "Third.")) },
            EventKind::told(Sender::Person, "next".to_owned()),
            replied("Fourth.", 10),
        ];
        for kind in kinds {
            if take_often {
                printed.extend(stage.printed());
            }
            stage.event(1, kind);
        }
        printed.extend(stage.printed());
        printed
    };
    let often = run(true);
    assert_eq!(often, run(false));
    assert!(!often.windows(2).any(|pair| pair[0].is_empty() && pair[1].is_empty()), "{often:?}");
}

#[test]
fn text_waits_behind_a_full_screen_view_and_is_bounded() {
    let mut stage = work();
    stage.keys("\x14");
    assert!(stage.view().starts_with("Work"));
    stage.streams("First.\n\nSecond.\n\n");
    assert_eq!(stage.printed(), [""; 0]);
    stage.keys(ESC);
    assert_eq!(stage.printed(), ["First.", "", "Second."]);
    stage.keys("\x14");
    let piece = format!("{}\n\n", "a line of a reply ".repeat(57));
    for _ in 0..50 * 1024 {
        stage.streams(&piece);
    }
    assert!(stage.rows().iter().map(String::len).sum::<usize>() < 4_000);
    stage.keys(ESC);
    let printed = stage.printed();
    let bytes: usize = printed.iter().map(String::len).sum();
    assert!((1_000_000..5 * 1024 * 1024).contains(&bytes), "{bytes} of 50 MB are kept");
    let left: usize =
        printed[0].trim_start_matches("… ").split(' ').next().unwrap().replace(',', "").parse().unwrap();
    assert_eq!(left + printed.len() - 1, 2 * 50 * 1024, "the others are counted");
}

#[test]
fn a_reply_of_50_mb_is_printed_as_it_comes() {
    let mut stage = work();
    let piece = format!("{}\n\n", "a line of a reply ".repeat(57));
    let (mut lines, mut most) = (0, 0);
    for _ in 0..50 * 1024 {
        stage.streams(&piece);
        let printed = stage.printed();
        lines += printed.len();
        most = most.max(printed.len());
    }
    assert_eq!((lines + 1, most), (2 * 50 * 1024, 2));
    stage.event(1, replied(&piece.repeat(50 * 1024), 10));
    assert!(stage.printed().len() <= 2, "all of it was printed");
    assert_eq!(stage.does("/copy\r"), []);
    assert!(stage.shows("too long to copy"), "and not an older one: {:?}", stage.rows());
}

#[test]
fn letting_go_prints_what_was_being_written() {
    let mut stage = work();
    stage.streams("An unfinished thou");
    stage.keys("/new\r");
    assert_eq!(stage.printed(), ["An unfinished thou", ""]);
}

#[test]
fn diffs_stand_at_their_place_or_are_left_out() {
    let changed = || EventKind::Changed { turn: 1, changes: Vec::new() };
    let mut stage = work();
    let effects = stage.event(1, changed());
    let [ChatEffect::Query(ChatQuery::EventDiff(seq))] = effects[..] else { panic!("{effects:?}") };
    stage.event(1, tool_finished("c1", "", true));
    stage.event(1, replied("Changed.", 10));
    assert_eq!(stage.printed(), ["• shell"], "the diff comes next");
    let diff = "--- a/a.rs\n+++ b/a.rs\n@@ -1 +1 @@\n-old\n+new\n";
    stage.outcome(ChatOutcome::Found(ChatFound::EventDiff(seq, diff.to_owned())));
    let printed = stage.printed();
    assert!(printed[0].contains("a.rs") && printed[0].starts_with("    "), "{printed:?}");
    assert_eq!(printed[printed.len() - 2..], ["Changed.", ""]);
    stage.event(1, changed());
    stage.event(1, tool_finished("c2", "", true));
    stage.event(1, replied("Again.", 10));
    stage.now_ms += 1_000;
    stage.input(ChatInput::Tick);
    assert_eq!(stage.printed(), ["• shell", "", "Again.", ""], "it took too long");
}

#[test]
fn reasoning_is_folded_until_a_key_shows_it() {
    let mut stage = work();
    let think =
        |stage: &mut ChatStage, text: &str| stage.progress(1, ProgressKind::Reasoning(text.to_owned()));
    think(&mut stage, "secretly");
    assert!(!stage.shows("secretly"));
    stage.streams("One.\n\n");
    assert_eq!(stage.printed(), ["One."]);
    stage.keys("\x1br");
    think(&mut stage, "aloud\nand more");
    assert!(stage.shows("┊ aloud"), "{:?}", stage.rows());
    stage.streams("Two.\n\n");
    assert_eq!(stage.printed()[..2], ["  ┊ aloud", "  ┊ and more"]);
    for _ in 0..1000 {
        think(&mut stage, &"x".repeat(1000));
    }
    stage.event(1, replied("One.\n\nTwo.\n\nThree.", 10));
    let bytes: usize = stage.printed().iter().map(String::len).sum();
    assert!(bytes < 20_000, "{bytes}");
}

#[test]
fn a_large_prompt_is_printed_in_part() {
    let mut stage = work();
    stage.event(1, EventKind::told(Sender::Person, "line\n".repeat(100_000)));
    let printed = stage.printed();
    assert_eq!(printed.len(), 42);
    assert_eq!(printed[40..], ["  … 99,960 more lines", ""]);
    stage.event(1, EventKind::told(Sender::Person, "x".repeat(10_000_000)));
    assert!(stage.printed().iter().map(String::len).sum::<usize>() < 5_000);
}

#[test]
fn what_strangers_write_cannot_drive_the_terminal() {
    let mut stage = work();
    let evil = "\x1b[2J\x1b]0;owned\x07 hello \u{202e}";
    stage.streams(&format!("{evil}\n\n"));
    stage.admit(2, 1, evil, evil);
    stage.event(2, started(1));
    stage.event(2, settled(Ending::Completed, evil));
    stage.event(1, asks(question("c1", evil)));
    stage.outcome(ChatOutcome::Failed(evil.to_owned()));
    let text = [stage.printed(), stage.rows()].concat().concat();
    assert!(text.contains("hello"));
    assert!(!text.contains(['\x1b', '\x07', '\u{202e}']), "{text}");
}
