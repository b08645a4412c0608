//! Cassettes: recorded over a real socket, played back, and compared when they do not fit.

use std::path::Path;
use std::sync::Arc;

use posse_model::{Governors, Model, ModelConfig, Protocol, Recorder, Signal};
use posse_protocol::{Message, ModelErrorKind, Reply, ToolSpec};
use posse_testkit::{FakeModel, Turn};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{PROTOCOLS, ask, config, model, result, said, shown_text, tool, tools};

const HERE: &str = "/srv/someone/work";

fn pairs(real: &str) -> Vec<(String, String)> {
    vec![(real.to_owned(), "{workspace}".to_owned())]
}

/// A conversation of three calls, in some folder.
async fn converse(
    model: &Model,
    folder: &str,
    tools: &[ToolSpec],
    system: &str,
) -> Result<Vec<Reply>, String> {
    let mut transcript = model.transcript(&format!("{system} You work in {folder}."), tools);
    transcript.push(&Message::user(format!("Look at {folder}/a.")));
    let mut replies = Vec::new();
    for _ in 0..3 {
        let reply = ask(model, &transcript).await.0.map_err(|error| format!("{:?}: {error}", error.kind))?;
        transcript.push(&said(&reply));
        let results =
            reply.calls.iter().map(|c| result(&c.id.0, true, &format!("{folder}/a:1: x"))).collect();
        transcript.push(&Message::Tools { results });
        replies.push(reply);
    }
    Ok(replies)
}

fn script() -> Vec<Turn> {
    vec![
        Turn::call("read_file", json!({"path": format!("{HERE}/a")})).reasoning("Reading first."),
        Turn::call("grep", json!({"path": format!("{HERE}/b")})).and_text("And now grep."),
        Turn::text(format!("All is well in {HERE}.")),
    ]
}

async fn record(protocol: Protocol, path: &Path) -> Vec<Reply> {
    let server = FakeModel::with(script()).await;
    let recorder = Arc::new(Recorder::create(path, pairs(HERE)).unwrap());
    let model = model(config(protocol, &server)).recording(Arc::clone(&recorder));
    let replies = converse(&model, HERE, &tools(), "Be brief.").await.unwrap();
    assert_eq!((recorder.failure(), recorder.path()), (None, path));
    replies
}

fn player(path: &Path, folder: &str) -> Model {
    let config = ModelConfig { substitutions: pairs(folder), ..ModelConfig::replay("replay", path) };
    Model::new(config, &Governors::new()).unwrap()
}

/// An agent may have left one where the person records.
#[cfg(unix)]
#[test]
fn a_recording_does_not_go_through_a_link() {
    let folder = TempDir::new().unwrap();
    let (kept, path) = (folder.path().join("kept"), folder.path().join("c.jsonl"));
    std::fs::write(&kept, "kept").unwrap();
    for target in [kept.clone(), folder.path().join("new")] {
        std::os::unix::fs::symlink(&target, &path).unwrap();
        assert!(Recorder::create(&path, pairs(HERE)).is_err(), "{}", target.display());
        std::fs::remove_file(&path).unwrap();
    }
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "kept");
    assert!(!folder.path().join("new").exists());
}

#[tokio::test]
async fn what_was_recorded_is_played_elsewhere() {
    for protocol in PROTOCOLS {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("c.jsonl");
        let replies = record(protocol, &path).await;
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(HERE) && text.contains("{workspace}"), "{text}");
        // One line an exchange, only what is new in each.
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines[0], json!({"posse_cassette": 1, "match": "request"}));
        let new: Vec<usize> = lines[1..].iter().map(|line| line["new"].as_array().unwrap().len()).collect();
        assert_eq!(new, [1, 2, 2]);
        assert_eq!((&lines[2]["after"], lines[2].get("system")), (&json!(1), None));

        let elsewhere = "/tmp/other \"place\"";
        let replayed = converse(&player(&path, elsewhere), elsewhere, &tools(), "Be brief.").await.unwrap();
        assert_eq!(replayed[2].text, format!("All is well in {elsewhere}."));
        let arguments: Value = serde_json::from_str(&replayed[0].calls[0].arguments).unwrap();
        assert_eq!(arguments, json!({"path": format!("{elsewhere}/a")}));
        assert_eq!(converse(&player(&path, HERE), HERE, &tools(), "Be brief.").await.unwrap(), replies);
    }
}

#[tokio::test]
async fn a_replay_streams_and_takes_its_time() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("c.jsonl");
    record(Protocol::Chat, &path).await;
    let mut config = ModelConfig { substitutions: pairs(HERE), ..ModelConfig::replay("replay", &path) };
    config.replay_pace_ms = 20;
    let model = model(config);
    let mut transcript = model.transcript(&format!("Be brief. You work in {HERE}."), &tools());
    transcript.push(&Message::user(format!("Look at {HERE}/a.")));
    let started = std::time::Instant::now();
    let (reply, signals) = ask(&model, &transcript).await;
    assert_eq!(signals, [Signal::Reasoning("Reading first.".into()), Signal::Calling("read_file".into())]);
    assert!(started.elapsed() >= std::time::Duration::from_millis(40));
    transcript.push(&said(&reply.unwrap()));
    assert_eq!(
        shown_text(&ask(&model, &transcript).await.1),
        "",
        "a request that was not recorded shows nothing"
    );
}

#[tokio::test]
async fn a_request_that_was_not_recorded_is_shown_as_a_diff() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("c.jsonl");
    record(Protocol::Chat, &path).await;
    let replay = player(&path, HERE);
    let mut transcript = replay.transcript(&format!("Be brief. You work in {HERE}."), &tools());
    transcript.push(&Message::user(format!("Look at {HERE}/a.")));
    let reply = ask(&replay, &transcript).await.0.unwrap();
    transcript.push(&said(&reply));
    transcript.push(&Message::Tools { results: vec![result(&reply.calls[0].id.0, false, "no such file")] });
    let error = ask(&replay, &transcript).await.0.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::NotRecorded);
    let want = format!(
        "The request is not on the cassette {}. Closest is exchange 2:
--- recorded
+++ actual
@@ -9,5 +9,5 @@
 assistant:
 (reasoning) Reading first. 
 call call_read_file_1: read_file {{\"path\":\"{{workspace}}/a\"}}
-result call_read_file_1:
-{{workspace}}/a:1: x
+failed call_read_file_1:
+no such file

Record the cassette again if the change is meant.",
        path.display()
    );
    assert_eq!(error.message, want);
}

#[tokio::test]
async fn diffs_are_bounded_and_replays_are_used_up() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("c.jsonl");
    record(Protocol::Chat, &path).await;
    let replay = player(&path, HERE);
    let mut transcript = replay.transcript("", &[]);
    transcript.push(&Message::user("line ü\n".repeat(100_000)));
    let error = ask(&replay, &transcript).await.0.unwrap_err();
    assert!(error.message.len() < 8_000 && error.message.contains("goes on"), "{}", error.message.len());

    converse(&replay, HERE, &tools(), "Be brief.").await.unwrap();
    let again = converse(&replay, HERE, &tools(), "Be brief.").await.unwrap_err();
    assert!(again.contains("has been played already"), "{again}");
}

#[tokio::test]
async fn matching_by_conversation_leaves_prompts_free() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("c.jsonl");
    record(Protocol::Chat, &path).await;
    let other_tools =
        [tool("grep"), ToolSpec { description: "In other words.".into(), ..tool("read_file") }, tool("new")];
    let by_request = converse(&player(&path, HERE), HERE, &other_tools, "Be brief.").await.unwrap_err();
    assert!(by_request.contains("+tool new"), "{by_request}");

    let text = std::fs::read_to_string(&path).unwrap().replacen("\"request\"", "\"conversation\"", 1);
    std::fs::write(&path, text).unwrap();
    converse(&player(&path, HERE), HERE, &other_tools, "Be verbose.").await.unwrap();
    let missing = converse(&player(&path, HERE), HERE, &[tool("grep")], "Be brief.").await.unwrap_err();
    assert!(missing.contains("calls a tool that is not offered"), "{missing}");
}

/// Many agents, one cassette, any order: requests find their replies by what they say.
#[tokio::test]
async fn agents_replay_in_parallel_and_forks_share_what_is_common() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("c.jsonl");
    let echo = |request: &posse_testkit::Captured| {
        let messages = request.json()["messages"].clone();
        let last = messages.as_array().unwrap().last().unwrap()["content"].clone();
        Turn::text(format!("heard {}", last.as_str().unwrap()))
    };
    let server = FakeModel::by_rule(echo).await;
    let recorder = Arc::new(Recorder::create(&path, vec![]).unwrap());
    let live = model(config(Protocol::Chat, &server)).recording(recorder);
    let run = |model: Model| async move {
        let mut base = model.transcript("s", &[]);
        base.push(&Message::user("base"));
        let first = ask(&model, &base).await.0.unwrap();
        base.push(&said(&first));
        let forks = (0..20).map(|n| {
            let (model, mut fork) = (model.clone(), base.clone());
            tokio::spawn(async move {
                fork.push(&Message::user(format!("fork {n}")));
                ask(&model, &fork).await.0.unwrap().text
            })
        });
        let mut heard = vec![first.text];
        for fork in forks.collect::<Vec<_>>().into_iter().rev() {
            heard.push(fork.await.unwrap());
        }
        heard
    };
    let recorded = run(live).await;
    assert_eq!((recorded.len(), recorded[1].as_str()), (21, "heard fork 19"));
    assert_eq!(run(player(&path, "")).await, recorded);
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.matches("\"after\":1").count(), 20);
}

#[test]
fn damaged_cassettes_are_refused_with_the_line() {
    let header = "{\"posse_cassette\":1,\"match\":\"request\"}\n";
    let exchange = "{\"id\":1,\"new\":[],\"reply\":{\"stop\":\"end_turn\",\"usage\":{}}}\n";
    let cases = [
        (String::new(), "line 1: the file is empty"),
        ("hello\n".to_owned(), "line 1: this is not a cassette's header"),
        ("{\"posse_cassette\":2,\"match\":\"request\"}\n".to_owned(), "line 1: version 2 is not known"),
        ("{\"posse_cassette\":1,\"match\":\"order\"}\n".to_owned(), "line 1"),
        (format!("{header}{{\"id\":1"), "line 2"),
        (format!("{header}{exchange}\n{exchange}"), "line 4: id 1 is there twice"),
        (
            format!("{header}{}", exchange.replace("\"new\"", "\"after\":9,\"new\"")),
            "line 2: `after` names exchange 9",
        ),
        (format!("{header}{}", exchange.replace("\"new\"", "\"odd\":9,\"new\"")), "line 2"),
    ];
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("c.jsonl");
    let count = cases.len();
    for (text, want) in cases {
        std::fs::write(&path, &text).unwrap();
        let error = Model::new(ModelConfig::replay("r", &path), &Governors::new()).err().unwrap().to_string();
        assert!(error.contains(want), "{text}: {error}");
    }
    assert_eq!(count, 8);
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    assert!(Model::new(ModelConfig::replay("r", &path), &Governors::new()).is_err());
}

#[test]
fn a_cassette_that_cannot_be_written() {
    for path in ["/dev/full", "/nonexistent/c"] {
        let error = Recorder::create(Path::new(path), vec![]).err().unwrap().to_string();
        assert!(error.contains(path), "{error}");
    }
}
