//! Every request starts with the bytes of the one before, up to its last message.

use posse_model::{Protocol, ToolCallMode};
use posse_protocol::Message;
use posse_testkit::{FakeModel, Turn};
use serde_json::json;

use crate::{PROTOCOLS, ask, config, messages, model, result, said, tools};

fn script(turn: usize) -> Turn {
    Turn::call("read_file", json!({"path": format!("src/{turn}.rs")}))
        .and_call("grep", json!({"path": "ünï\"côdé\\"}))
        .and_text(format!("Reading {turn}."))
        .reasoning("Let me look.")
}

/// Where the last message of a body begins, so that everything before must be the start of the next body.
fn before_last_message(body: &[u8], last: &serde_json::Value) -> usize {
    let text = String::from_utf8(body.to_vec()).unwrap();
    let mut plain = last.clone();
    // Anthropic's marker moves with the last message; all before it is as stored.
    if let Some(block) = plain["content"].as_array_mut().and_then(|blocks| blocks.last_mut()) {
        block.as_object_mut().unwrap().remove("cache_control");
    }
    let start = serde_json::to_string(&plain).unwrap();
    text.rfind(&start[..start.len().min(40)]).unwrap()
}

async fn check(protocol: Protocol, tool_calls: ToolCallMode) {
    const TURNS: usize = 6;
    let server = FakeModel::with((0..TURNS).map(script)).await;
    let model = model(posse_model::ModelConfig { tool_calls, ..config(protocol, &server) });
    let mut transcript = model.transcript("You are a test.", &tools());
    transcript.push(&Message::user("Begin."));
    for turn in 0..TURNS {
        let reply = ask(&model, &transcript).await.0.unwrap();
        assert_eq!(reply.calls.len(), 2);
        transcript.push(&said(&reply));
        let results = reply.calls.iter().map(|c| result(&c.id.0, turn % 2 == 0, "fn main() {}\n")).collect();
        transcript.push(&Message::Tools { results });
    }
    let requests = server.requests();
    let mut ran = 0;
    for pair in requests.windows(2) {
        let json = pair[0].json();
        let stable = before_last_message(&pair[0].body, messages(&json).last().unwrap());
        assert!(stable > 200);
        assert_eq!(pair[0].body[..stable], pair[1].body[..stable], "{protocol:?}");
        let sent: usize = pair[1].header("content-length").unwrap().parse().unwrap();
        assert_eq!(sent, pair[1].body.len());
        // And the messages themselves are the same ones.
        let (mut before, after) = (json, pair[1].json());
        let count = messages(&before).len();
        if protocol == Protocol::Anthropic {
            let block = &mut before["messages"][count - 1]["content"];
            let last = block.as_array().unwrap().len() - 1;
            block[last].as_object_mut().unwrap().remove("cache_control").unwrap();
        }
        assert_eq!(messages(&before)[..], messages(&after)[..count]);
        ran += 1;
    }
    assert_eq!(ran, TURNS - 1);
    assert_eq!(server.connections(), 1, "{protocol:?}: connections are used again");
    assert!(transcript.len() == 2 * TURNS + 1 && !transcript.is_empty());
}

#[tokio::test]
async fn requests_start_with_the_request_before() {
    for protocol in PROTOCOLS {
        check(protocol, ToolCallMode::Auto).await;
        check(protocol, ToolCallMode::Text).await;
    }
}

#[tokio::test]
async fn a_fork_sends_its_parents_prefix_and_leaves_the_parent_alone() {
    for protocol in PROTOCOLS {
        let server = FakeModel::by_rule(|_| Turn::text("ok")).await;
        let model = model(config(protocol, &server));
        let mut parent = model.transcript("You are a test.", &tools());
        parent.push(&Message::user("Begin."));
        let bytes = parent.bytes();
        let mut fork = parent.clone();
        fork.push(&Message::user("You are the fork."));
        ask(&model, &parent).await.0.unwrap();
        ask(&model, &fork).await.0.unwrap();
        ask(&model, &parent).await.0.unwrap();
        let sent = server.requests();
        assert_eq!(sent[0].body, sent[2].body);
        assert_eq!((parent.len(), parent.bytes(), fork.len()), (1, bytes, 2));
        let marker = if protocol == Protocol::Anthropic {
            r#","cache_control":{"type":"ephemeral"}"#.len()
        } else {
            0
        };
        assert_eq!(sent[0].body.len(), bytes + marker);
        let common = sent[0].body.iter().zip(&sent[1].body).take_while(|(a, b)| a == b).count();
        assert!(common >= sent[0].body.len() - "}]}]}".len() - marker, "{protocol:?}");
    }
}
