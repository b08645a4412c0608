//! Cassettes made from a record: written in one go, played like those that were recorded.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use posse_model::{CassetteError, Exported, Governors, Model, ModelConfig, export_cassette};
use posse_protocol::{Message, Reply, StopReason};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{ask, call, result, said, tools};

const HERE: &str = "/srv/someone/work";

fn pairs(real: &str) -> Vec<(String, String)> {
    vec![(real.to_owned(), "{workspace}".to_owned())]
}

fn player(path: &Path, folder: &str) -> Model {
    let config = ModelConfig { substitutions: pairs(folder), ..ModelConfig::replay("replay", path) };
    Model::new(config, &Governors::new()).unwrap()
}

fn words(text: impl Into<String>) -> Reply {
    Reply { text: text.into(), ..Reply::default() }
}

fn reading(number: usize, path: &str) -> Reply {
    let arguments = json!({ "path": path }).to_string();
    let calls = vec![call(&format!("call_{number}"), "read_file", &arguments)];
    Reply { calls, stop: StopReason::ToolCalls, ..Reply::default() }
}

/// What one agent was told and said, as a record has it: `turns` files read in a folder, then a report.
fn conversation(task: &str, folder: &str, turns: usize, took: &str) -> Vec<Exported> {
    let system: Arc<str> = format!("You work in {folder}.").into();
    let mut messages = vec![Arc::new(Message::user(task))];
    let mut calls = Vec::new();
    for turn in 0..=turns {
        let done = turn == turns;
        let reply = if done { words("All is well.") } else { reading(turn, &format!("{folder}/{turn}")) };
        let exported = Exported {
            model: "small".into(),
            system: Arc::clone(&system),
            messages: messages.clone(),
            reply: reply.clone(),
        };
        calls.push(exported);
        messages.push(Arc::new(said(&reply)));
        let results =
            reply.calls.iter().map(|call| result(&call.id.0, true, &format!("{folder}: ok, {took}")));
        messages.push(Arc::new(Message::Tools { results: results.collect() }));
    }
    calls
}

/// Plays a conversation as an agent would, and expects every reply.
async fn plays(model: &Model, conversation: &[Exported]) {
    for exported in conversation {
        let mut transcript = model.transcript("A better prompt.", &tools());
        exported.messages.iter().for_each(|message| transcript.push(message));
        assert_eq!(ask(model, &transcript).await.0.unwrap(), exported.reply);
    }
}

fn lines(path: &Path) -> Vec<Value> {
    std::fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn a_record_plays_elsewhere_with_other_prompts_and_times() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("c.jsonl");
    let calls = conversation("Look around.", HERE, 3, "0.3s");
    assert_eq!(export_cassette(&path, calls, pairs(HERE)).unwrap(), 4);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains(HERE) && !text.contains("0.3s") && text.contains("{time}"), "{text}");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

    let elsewhere = "/tmp/other \"place\"";
    plays(&player(&path, elsewhere), &conversation("Look around.", elsewhere, 3, "17 ms")).await;
}

#[tokio::test]
async fn each_call_is_written_after_the_longest_it_goes_on_from() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("c.jsonl");
    let (main, other) = (conversation("One.", HERE, 2, "1s"), conversation("Two.", HERE, 1, "1s"));
    // A fork of the first conversation after its second call, and the same call over again.
    let mut fork = main[1].clone();
    fork.messages.push(Arc::new(Message::user("And now for something else.")));
    fork.reply = words("Forked.");
    let again = main[2].clone();
    // Two agents take turns on record.
    let calls = [&main[0], &other[0], &main[1], &fork, &other[1], &main[2], &again].map(Clone::clone);
    assert_eq!(export_cassette(&path, calls.clone(), vec![]).unwrap(), 7);
    let lines = lines(&path);
    assert_eq!(lines[0], json!({"posse_cassette": 1, "match": "conversation"}));
    let shape: Vec<(u64, Option<u64>, usize)> = lines[1..]
        .iter()
        .map(|line| {
            (line["id"].as_u64().unwrap(), line["after"].as_u64(), line["new"].as_array().unwrap().len())
        })
        .collect();
    let want = [(1, None, 1), (2, None, 1), (3, Some(1), 2), (4, Some(3), 1), (5, Some(2), 2)];
    assert_eq!(shape[..5], want);
    assert_eq!(shape[5..], [(6, Some(3), 2), (7, Some(6), 0)]);
    assert_eq!(
        (lines[1]["system"].as_str(), lines[3].get("system")),
        (Some("You work in /srv/someone/work."), None)
    );
    let model = player(&path, "");
    for conversation in [&calls[1..2], &calls[0..1], &calls[4..5], &calls[5..], &calls[2..4]] {
        plays(&model, conversation).await;
    }
}

#[tokio::test]
async fn messages_need_not_be_shared() {
    let folder = TempDir::new().unwrap();
    let (shared, apart) = (folder.path().join("shared"), folder.path().join("apart"));
    let calls = conversation("One.", HERE, 3, "1s");
    let copies = calls.iter().cloned().map(|mut call| {
        call.messages = call.messages.iter().map(|message| Arc::new((**message).clone())).collect();
        call
    });
    export_cassette(&apart, copies.collect::<Vec<_>>(), vec![]).unwrap();
    export_cassette(&shared, calls, vec![]).unwrap();
    assert_eq!(lines(&shared), lines(&apart));
}

#[tokio::test]
async fn a_conversation_that_was_shortened_goes_on_by_itself() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("c.jsonl");
    let mut calls = conversation("One.", HERE, 2, "1s");
    let mut after = calls[2].clone();
    after.messages.splice(0..3, [Arc::new(Message::user("What happened so far: little."))]);
    after.reply = words("So I see.");
    calls.push(after);
    // The same opening under another prompt is another conversation.
    calls.push(Exported { system: "You are a poet.".into(), ..calls[0].clone() });
    export_cassette(&path, calls.clone(), vec![]).unwrap();
    let lines = lines(&path);
    assert_eq!((lines[4].get("after"), lines[5].get("after")), (None, None));
    assert_eq!(lines[5]["system"], "You are a poet.");
    plays(&player(&path, ""), &calls).await;
}

#[test]
fn nothing_that_is_there_is_replaced() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("c.jsonl");
    std::fs::write(&path, "mine").unwrap();
    let calls = || conversation("One.", HERE, 1, "1s");
    let error = export_cassette(&path, calls(), vec![]).unwrap_err();
    assert!(
        matches!(&error, CassetteError::File { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists)
    );
    assert!(error.to_string().contains("c.jsonl"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "mine");
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path().join("elsewhere"), &link).unwrap();
    assert!(export_cassette(&link, calls(), vec![]).is_err(), "a link leads somewhere else");
    assert!(!folder.path().join("elsewhere").exists());
    assert!(export_cassette(Path::new("/nonexistent/c"), calls(), vec![]).is_err());
}
