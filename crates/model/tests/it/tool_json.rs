//! Promise M2, this crate's part: arguments reach the agent exactly as the model wrote them, however broken.

use posse_protocol::{Message, StopReason};
use posse_testkit::{FakeModel, Turn};
use serde_json::{Value, json};

use crate::{PROTOCOLS, ask, config, messages, model, question, result, said};

#[tokio::test]
async fn arguments_truncated_at_every_byte_stay_as_they_are() {
    let whole = r#"{"path":"a \"b\" \\ ü","n":[1,{"x":null}]}"#;
    let cuts: Vec<&str> =
        (1..whole.len()).filter(|at| whole.is_char_boundary(*at)).map(|at| &whole[..at]).collect();
    let mut ran = 0;
    for protocol in PROTOCOLS {
        let server = FakeModel::start().await;
        let model = model(config(protocol, &server));
        let transcript = question(&model);
        for cut in &cuts {
            server.push(Turn::call("grep", json!(cut)).stop(StopReason::MaxTokens));
            let reply = ask(&model, &transcript).await.0.unwrap();
            assert_eq!(
                (reply.calls[0].arguments.as_str(), reply.stop),
                (*cut, StopReason::MaxTokens),
                "{protocol:?}"
            );
            ran += 1;
        }
    }
    assert_eq!(ran, 3 * (whole.len() - 2));
}

/// Whatever a model wrote as arguments, what goes back to the provider is a JSON object.
#[tokio::test]
async fn history_holds_objects_only() {
    let deep = "[".repeat(500);
    let deep_object = format!("{}{}", "{\"a\":".repeat(500), "1");
    let long = "x".repeat(100_000);
    let broken = [
        "{",
        "[]",
        "null",
        "\"text\"",
        "12",
        "{\"a\":1}}",
        "{\"a\":\"\\ud800\"}",
        "not json",
        &deep,
        &deep_object,
        &long,
    ];
    let mut ran = 0;
    for protocol in PROTOCOLS {
        for arguments in broken {
            let server = FakeModel::with([Turn::call("grep", json!(arguments)), Turn::text("ok")]).await;
            let model = model(config(protocol, &server));
            let mut transcript = question(&model);
            let reply = ask(&model, &transcript).await.0.unwrap();
            assert_eq!(reply.calls[0].arguments, arguments);
            transcript.push(&said(&reply));
            transcript
                .push(&Message::Tools { results: vec![result(&reply.calls[0].id.0, false, "not JSON")] });
            ask(&model, &transcript).await.0.unwrap();
            let request = server.requests()[1].json();
            let sent = messages(&request).iter().find_map(|message| {
                let function = &message["tool_calls"][0]["function"]["arguments"];
                let text = function.as_str().or(message["arguments"].as_str());
                let parsed = text.map(|text| serde_json::from_str::<Value>(text).unwrap());
                parsed.or_else(|| message["content"][0].get("input").cloned())
            });
            let kept = sent.unwrap()["unparseable"].as_str().unwrap().to_owned();
            assert!(arguments.starts_with(&kept) && kept.len() <= 2_000, "{protocol:?} {kept}");
            ran += 1;
        }
    }
    assert_eq!(ran, 33);
}

#[tokio::test]
async fn more_calls_than_are_accepted() {
    for protocol in PROTOCOLS {
        let turn = (0..200).fold(Turn::empty(), |turn, n| turn.and_call("grep", json!({"n": n})));
        let server = FakeModel::with([turn]).await;
        let model = model(config(protocol, &server));
        let reply = ask(&model, &question(&model)).await.0;
        let kind = reply.unwrap_err().kind;
        assert_eq!(kind, posse_protocol::ModelErrorKind::BadReply, "{protocol:?}");
    }
}
