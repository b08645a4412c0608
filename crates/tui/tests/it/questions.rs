//! Questions of agents: they never take keys that are meant for the composer, and each way to answer.

use posse_protocol::{Answer, FreeQuestion};
use posse_tui::{ChatEffect, SteerCommand};

use super::support::*;

fn gives(agent: u32, call: &str, answer: Answer) -> ChatEffect {
    let call = posse_protocol::CallId(call.to_owned());
    ChatEffect::Steer(SteerCommand::Answer { agent: id(agent), call, answer })
}

fn asking() -> ChatStage {
    let mut stage = ChatStage::at_work();
    stage.event(1, asks(question("c1", "cargo test")));
    stage
}

#[test]
fn keys_for_the_composer_never_answer() {
    let mut stage = asking();
    assert!(
        stage.shows("? main wants to run a command") && stage.shows("  cargo test"),
        "{:?}",
        stage.rows()
    );
    assert_eq!(stage.does("y"), []);
    assert_eq!(stage.does("ns1"), []);
    assert_eq!(stage.written(), "yns1");
    let tell = SteerCommand::Tell { agent: None, text: "yns1".to_owned() };
    assert_eq!(stage.does(ENTER), [ChatEffect::Steer(tell)]);
    assert!(stage.shows("cargo test"), "it still waits");
    let mut stage = ChatStage::at_work();
    assert_eq!(stage.does(CTRL_Q), []);
    assert!(stage.shows("nobody asks anything"));
}

#[test]
fn each_way_to_answer() {
    let pattern = |pattern: &str| Answer::Pattern { pattern: pattern.to_owned() };
    let no = |reason: &str| Answer::No { reason: reason.to_owned() };
    let save = |rule: &str| ChatEffect::SaveRule(rule.to_owned());
    let cases = [
        ("y", vec![gives(1, "c1", Answer::Once)]),
        ("Y", vec![gives(1, "c1", Answer::Once)]),
        ("s", vec![gives(1, "c1", Answer::Session)]),
        ("r\r", vec![gives(1, "c1", pattern("shell(cargo test)")), save("shell(cargo test)")]),
        ("r\x7f -q)\r", vec![gives(1, "c1", pattern("shell(cargo test -q)")), save("shell(cargo test -q)")]),
        ("r\x15\r", vec![]),
        ("n\r", vec![gives(1, "c1", no(""))]),
        ("nuse make\r", vec![gives(1, "c1", no("use make"))]),
        ("n\x1b[200~use\nmake\x1b[201~\r", vec![gives(1, "c1", no("use make"))]),
        ("nno\x1by", vec![gives(1, "c1", Answer::Once)]),
        ("x\r", vec![]),
    ];
    assert_eq!(cases.len(), 11);
    for (keys, expected) in cases {
        let mut stage = asking();
        stage.keys(CTRL_Q);
        // Esc is a key of its own only when nothing follows it at once.
        let effects: Vec<_> = if keys.contains("\x1b[") {
            stage.does(keys)
        } else {
            keys.split_inclusive(ESC).flat_map(|keys| stage.does(keys)).collect()
        };
        assert_eq!(effects, expected, "{keys:?}");
    }
}

#[test]
fn answering_is_left_without_an_answer() {
    for keys in [ESC, CTRL_C, CTRL_Q] {
        let mut stage = asking();
        stage.keys("half a thought");
        stage.keys(CTRL_Q);
        assert!(
            stage.shows("y once") && stage.shows("n no") && stage.shows("s for the session"),
            "{:?}",
            stage.rows()
        );
        assert_eq!(stage.does(keys), [], "{keys:?}");
        assert_eq!(stage.written(), "half a thought", "{keys:?}");
        assert!(stage.shows("cargo test"));
    }
}

#[test]
fn leaving_the_sandbox_takes_a_word() {
    let outside = || {
        let mut stage = ChatStage::at_work();
        let mut question = question("c1", "git push");
        (question.leaves, question.written) = (true, vec!["build.rs".to_owned()]);
        stage.event(1, asks(question));
        stage.keys(CTRL_Q);
        stage
    };
    assert!(outside().shows("OUTSIDE the sandbox"));
    for keys in ["y", "yy\r", "s\r", "ooutsid\r", "oOUTSIDE\r", "oyes\r"] {
        assert_eq!(outside().does(keys), [], "{keys}");
    }
    for keys in ["ooutside\r", "y outside \r"] {
        assert_eq!(outside().does(keys), [gives(1, "c1", Answer::Once)], "{keys}");
    }
    assert_eq!(outside().does("nno\r"), [gives(1, "c1", Answer::No { reason: "no".to_owned() })]);
}

#[test]
fn free_questions_take_a_number_or_words() {
    let said = |text: &str| vec![gives(1, "c1", Answer::Said { text: text.to_owned() })];
    let cases = [
        ("2\r", said("blue")),
        ("3\r", said("3")),
        ("neither\r", said("neither")),
        ("\r", vec![]),
        ("0\r", said("0")),
    ];
    for (keys, expected) in cases {
        let mut stage = ChatStage::at_work();
        let mut question = question("c1", "Which colour?");
        question.asks = Some(FreeQuestion { choices: vec!["red".to_owned(), "blue".to_owned()] });
        stage.event(1, asks(question));
        assert!(stage.shows("main asks you") && stage.shows("  2  blue"), "{:?}", stage.rows());
        stage.keys(CTRL_Q);
        assert_eq!(stage.does(keys), expected, "{keys:?}");
    }
}

#[test]
fn questions_wait_in_order_and_name_who_asks() {
    let mut stage = asking();
    stage.admit(2, 1, "finder-1", "find it");
    stage.event(2, started(1));
    stage.event(2, asks(question("c2", "rm b")));
    assert!(stage.shows("main wants") && stage.shows("+1 more waiting") && !stage.shows("? finder-1 wants"));
    assert_eq!(stage.chat.title(), "? mend the parser");
    stage.keys(CTRL_Q);
    assert_eq!(stage.does("y"), [gives(1, "c1", Answer::Once)]);
    stage.event(1, answered("c1"));
    assert!(
        stage.shows("? finder-1 wants to run a command") && !stage.shows("more waiting"),
        "{:?}",
        stage.rows()
    );
    stage.keys(CTRL_Q);
    assert_eq!(stage.does("y"), [gives(2, "c2", Answer::Once)]);
}

#[test]
fn what_was_answered_elsewhere_ends_answering() {
    let mut stage = asking();
    stage.keys(CTRL_Q);
    stage.keys("nbecau");
    stage.event(1, answered("c1"));
    assert!(stage.shows("that question is answered or gone"));
    assert_eq!(stage.does("y"), []);
    assert_eq!(stage.written(), "y", "keys go to the composer again");
}

#[test]
fn all_of_a_question_is_one_key_away() {
    for keys in ["\x0f", "\x11\x0f", "\x11?"] {
        let mut stage = asking();
        assert_eq!(stage.does(keys), []);
        assert!(stage.view().contains("cargo test"), "{keys:?}: {}", stage.view());
    }
}
