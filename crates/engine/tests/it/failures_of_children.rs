//! Failure is honest (promise T5): however a child fails, its parent is told how, and gets what there is.

use posse_protocol::{StopReason, Usage};
use posse_surface::Surface;
use posse_testkit::Turn;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::crew::Stage;
use crate::follow::sh;

/// One way to fail.
struct Case {
    name: &'static str,
    /// What the child does after it has begun.
    turns: Vec<Turn>,
    /// What the task says besides.
    task: Value,
    /// How the ending is called, in one word and to the parent.
    ending: (&'static str, &'static str),
    /// The last words that reach the parent.
    words: &'static str,
}

const BEGUN: &str = "I have begun with part one.";
const SO_FAR: &str = "This is how far I got.";

fn case(name: &'static str, turn: Turn, ending: (&'static str, &'static str)) -> Case {
    Case { name, turns: vec![turn; 12], task: json!({}), ending, words: BEGUN }
}

fn models() -> Vec<Case> {
    let error = |code: u16, text: &str| Turn::status_body(code, json!({"error": {"message": text}}));
    let words = || Turn::text("some words here").split_every(50);
    vec![
        case("429", Turn::status(429).retry_after("0"), ("failed", "429")),
        case("529", Turn::status(529), ("failed", "529")),
        case("500", Turn::status(500), ("failed", "500")),
        case("401", error(401, "bad key"), ("failed", "bad key")),
        case("400", error(400, "what?"), ("failed", "what?")),
        Case {
            words: "some",
            ..case("cut stream", words().cut_after(3), ("failed", "ended the stream before"))
        },
        Case { words: "some", ..case("stall", words().stall_after(3), ("failed", "was silent for")) },
        case("garbage", Turn::raw("data: {not json}\n\n"), ("failed", "")),
        case(
            "context",
            error(400, "context_length_exceeded: maximum context length is 5"),
            ("failed", "context"),
        ),
        case("empty replies", Turn::empty(), ("failed", "the model gave an empty reply twice")),
        Case {
            words: "and so on",
            ..case(
                "cut at the output limit",
                Turn::text("and so on").stop(StopReason::MaxTokens),
                ("failed", "cut off again and again"),
            )
        },
        Case {
            words: "I will not.",
            ..case(
                "refusal",
                Turn::text("I will not.").stop(StopReason::Refusal),
                ("refused", "the model refused"),
            )
        },
    ]
}

fn agents() -> Vec<Case> {
    let malformed = (0..5).map(|n| Turn::call("read_file", json!(format!("{{\"path\": {n}"))));
    let much = Usage { input_tokens: Some(5_000), output_tokens: Some(10), ..Usage::default() };
    let read = || Turn::call("read_file", json!({"path": "a.txt"}));
    let closing = |name, turns: Vec<Turn>, task, ending| Case {
        name,
        turns: turns.into_iter().chain([Turn::text(SO_FAR)]).collect(),
        task,
        ending,
        words: SO_FAR,
    };
    vec![
        closing("malformed calls", malformed.collect(), json!({}), ("failed", "could be run")),
        closing("the same call", vec![read(); 4], json!({}), ("failed", "the same read_file call")),
        closing("a failing tool", vec![sh("exit 3"); 4], json!({}), ("failed", "the same shell call")),
        closing(
            "timeout",
            vec![sh("exec sleep 30")],
            json!({"max_time_ms": 4000}),
            ("timed_out", "out of time"),
        ),
        closing("out of turns", vec![read()], json!({"max_turns": 2}), ("out_of_turns", "out of turns")),
        closing(
            "out of tokens",
            vec![read().usage(much)],
            json!({"token_budget": 2000}),
            ("out_of_tokens", "out of tokens"),
        ),
        Case {
            name: "connection refused",
            turns: Vec::new(),
            task: json!({"model": "gone"}),
            ending: ("failed", "127.0.0.1:9"),
            words: "It said nothing.",
        },
    ]
}

/// Runs one case on a surface that waits for the child: its report is the result of the call.
async fn fail(case: Case) -> (&'static str, Result<(), String>) {
    let Case { name, turns, task, ending: (word, why), words } = case;
    let mut arguments = json!({"description": "Do it", "prompt": "Do it.", "name": "child"});
    arguments.as_object_mut().unwrap().extend(task.as_object().unwrap().clone());
    let begin = Turn::call("write_file", json!({"path": "part.txt", "content": "one\n"})).and_text(BEGUN);
    let main = vec![Turn::call("agent", arguments), Turn::text("I know now.")];
    let child = [begin].into_iter().chain(turns).collect();
    let mut stage = Stage::new([("main", main), ("child", child)]).await.surface(Surface::Task);
    let mut gone = stage.config("gone");
    gone.base_url = "http://127.0.0.1:9/v1".to_string();
    stage.others = vec![gone];
    let ran = stage.run("go").await;
    let (ok, text) = ran.results_of("main")[0].clone();
    let (file, changed) = (
        "; 1 file changed (+1 -0): part.txt (+1 line, new file).",
        stage.files.path().join("part.txt").exists(),
    );
    let head = text.lines().next().unwrap_or_default().to_string();
    let checks = [
        ("the call failed", !ok),
        ("the ending is typed", ran.ended("child") == word),
        (
            "the ending is named",
            head.contains(&ran.report_of("child").ending.to_string()) && head.contains(why),
        ),
        ("the words are there", text.contains(words)),
        ("the files are there", text.contains(file) == changed && changed == (name != "connection refused")),
        ("the parent goes on", ran.report.text == "I know now." && ran.ended("main") == "completed"),
        ("it settles once", ran.endings().len() == 1),
    ];
    let wrong = checks.iter().filter(|(_, right)| !right).map(|(what, _)| *what).collect::<Vec<_>>();
    let outcome =
        if wrong.is_empty() { Ok(()) } else { Err(format!("not so: {}\n{text}", wrong.join(", "))) };
    (name, outcome)
}

#[tokio::test]
async fn the_parent_gets_a_typed_error_and_the_partial_work_every_time() {
    let mut running = JoinSet::new();
    for case in models().into_iter().chain(agents()) {
        running.spawn(fail(case));
    }
    let all = running.join_all().await;
    let wrong =
        all.iter().filter_map(|(name, outcome)| outcome.as_ref().err().map(|why| format!("{name}: {why}")));
    let wrong = wrong.collect::<Vec<_>>();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n\n"));
    assert_eq!(all.len(), 19);
}
