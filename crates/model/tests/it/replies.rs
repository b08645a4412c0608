//! Whole replies on all three protocols: text, parallel calls, reasoning there and back, usage, stop reasons.

use posse_model::{Protocol, Signal};
use posse_protocol::{Message, Reasoning, ReasoningOrigin, Reply, StopReason, Usage};
use posse_testkit::{FakeModel, MODEL_ID, Turn};
use serde_json::{Value, json};

use crate::{PROTOCOLS, ask, call, config, messages, model, one, question, result, said, shown_text, usage};

#[tokio::test]
async fn text_arrives_whole_however_it_is_cut() {
    let text = "Grüße, 世界! 🎉 A longer text that is streamed in several deltas.";
    for protocol in PROTOCOLS {
        for split in [1, 3, 7, 64, 100_000] {
            let turn = Turn::text(text).usage(usage(100, 40, 20)).split_every(split);
            let (reply, signals) = one(protocol, [turn]).await;
            let want = Reply {
                text: text.into(),
                usage: usage(100, 40, 20),
                model: MODEL_ID.into(),
                ..Reply::default()
            };
            assert_eq!(reply.unwrap(), want, "{protocol:?} split {split}");
            assert_eq!(shown_text(&signals), text);
        }
    }
}

#[tokio::test]
async fn parallel_calls_keep_their_order() {
    for protocol in PROTOCOLS {
        let turn = Turn::call("read_file", json!({"path": "a"}))
            .and_call("grep", json!({"pattern": "x\ny\"z"}))
            .and_call("read_file", json!({"path": "b"}))
            .and_text("Looking.");
        let (reply, signals) = one(protocol, [turn]).await;
        let reply = reply.unwrap();
        let want = vec![
            call("call_read_file_1", "read_file", r#"{"path":"a"}"#),
            call("call_grep_2", "grep", r#"{"pattern":"x\ny\"z"}"#),
            call("call_read_file_3", "read_file", r#"{"path":"b"}"#),
        ];
        assert_eq!((reply.calls, reply.text.as_str()), (want, "Looking."), "{protocol:?}");
        assert_eq!(reply.stop, StopReason::ToolCalls);
        let names: Vec<&Signal> = signals.iter().filter(|s| matches!(s, Signal::Calling(_))).collect();
        assert_eq!(names.len(), 3, "{signals:?}");
    }
}

#[tokio::test]
async fn arguments_that_come_slowly_are_told_to_come() {
    let slow = || {
        let turn = Turn::call("write_file", json!({"path": "a", "content": "x".repeat(1_000)}));
        [turn.split_every(1_000).slowly(std::time::Duration::from_millis(150))]
    };
    let [first, second, third] = PROTOCOLS;
    let replies = tokio::join!(one(first, slow()), one(second, slow()), one(third, slow()));
    for (protocol, (reply, signals)) in PROTOCOLS.into_iter().zip([replies.0, replies.1, replies.2]) {
        assert_eq!(reply.unwrap().calls.len(), 1, "{protocol:?}");
        assert!(matches!(&signals[0], Signal::Calling(name) if name == "write_file"), "{signals:?}");
        assert!(signals.len() > 1, "{protocol:?}: {signals:?}");
        assert!(signals[1..].iter().all(|signal| *signal == Signal::Arriving), "{signals:?}");
    }
}

/// What each protocol must find in the request after a reply with reasoning and a call.
fn carried_back(protocol: Protocol, request: &Value) -> bool {
    let said = &messages(request)[if protocol == Protocol::Chat { 2 } else { 1 }];
    match protocol {
        Protocol::Chat => said["reasoning_content"] == "I should read it.",
        Protocol::Responses => {
            *said
                == json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "c2VhbGVk",
                    "summary": [{"type": "summary_text", "text": "I should read it."}]})
        }
        _ => {
            said["content"][0]
                == json!({"type": "thinking", "thinking": "I should read it.", "signature": "c2lnbmVk"})
        }
    }
}

#[tokio::test]
async fn reasoning_goes_back_to_where_it_came_from() {
    for protocol in PROTOCOLS {
        let server = FakeModel::with([
            Turn::call("read_file", json!({"path": "a"})).reasoning("I should read it."),
            Turn::text("done").reasoning("Good."),
            Turn::text("bye"),
        ])
        .await;
        let model = model(config(protocol, &server));
        let mut transcript = question(&model);
        let (reply, signals) = ask(&model, &transcript).await;
        let reply = reply.unwrap();
        assert_eq!(reply.reasoning[0].text, "I should read it.", "{protocol:?}");
        assert!(signals.iter().any(|s| matches!(s, Signal::Reasoning(_))));
        transcript.push(&said(&reply));
        transcript.push(&Message::Tools { results: vec![result(&reply.calls[0].id.0, true, "x")] });
        let last = ask(&model, &transcript).await.0.unwrap();
        transcript.push(&said(&last));
        transcript.push(&Message::user("Thanks."));
        ask(&model, &transcript).await.0.unwrap();
        let requests = server.requests();
        assert!(carried_back(protocol, &requests[1].json()), "{protocol:?}: {}", requests[1].json());
        if protocol == Protocol::Chat {
            // Without calls, plain reasoning stays here.
            assert_eq!(requests[2].json()["messages"][4], json!({"role": "assistant", "content": "done"}));
        }
    }
}

#[tokio::test]
async fn reasoning_of_one_kind_of_provider_is_not_sent_to_another() {
    let origins = [
        ReasoningOrigin::Chat,
        ReasoningOrigin::ChatDetails,
        ReasoningOrigin::Responses,
        ReasoningOrigin::Anthropic,
    ];
    let reasoning: Vec<Reasoning> = origins
        .into_iter()
        .map(|origin| Reasoning {
            text: format!("{origin:?}-thought"),
            origin,
            opaque: Some(json!([format!("{origin:?}-thought")]).to_string()),
        })
        .collect();
    for protocol in PROTOCOLS {
        let server = FakeModel::with([Turn::text("ok")]).await;
        let model = model(config(protocol, &server));
        let mut transcript = question(&model);
        transcript.push(&Message::Assistant {
            text: String::new(),
            reasoning: reasoning.clone(),
            calls: vec![call("c1", "grep", "{}")],
        });
        transcript.push(&Message::Tools { results: vec![result("c1", true, "x")] });
        ask(&model, &transcript).await.0.unwrap();
        let body = String::from_utf8(server.requests()[0].body.clone()).unwrap();
        let sent: Vec<bool> = origins.iter().map(|o| body.contains(&format!("{o:?}-thought"))).collect();
        let want = match protocol {
            Protocol::Chat => [false, true, false, false],
            Protocol::Responses => [false, false, true, false],
            _ => [false, false, false, true],
        };
        assert_eq!(sent, want, "{protocol:?}: {body}");
    }
}

#[tokio::test]
async fn usage_is_what_was_reported_and_nothing_else() {
    let whole = Usage {
        input_tokens: Some(1000),
        cached_tokens: Some(600),
        cache_write_tokens: Some(300),
        output_tokens: Some(50),
        reasoning_tokens: Some(20),
    };
    let cases = [
        (Protocol::Chat, Usage { cache_write_tokens: None, ..whole }),
        (Protocol::Responses, Usage { cache_write_tokens: None, ..whole }),
        (Protocol::Anthropic, Usage { reasoning_tokens: None, ..whole }),
    ];
    for (protocol, want) in cases {
        assert_eq!(
            one(protocol, [Turn::text("x").usage(whole)]).await.0.unwrap().usage,
            want,
            "{protocol:?}"
        );
        assert_eq!(one(protocol, [Turn::text("x").no_usage()]).await.0.unwrap().usage, Usage::default());
        let only_output = Usage { output_tokens: Some(7), ..Usage::default() };
        assert_eq!(one(protocol, [Turn::text("x").usage(only_output)]).await.0.unwrap().usage, only_output);
    }
}

#[tokio::test]
async fn stop_reasons() {
    let other = |word: &str| StopReason::Other(word.into());
    let mut ran = 0;
    for protocol in PROTOCOLS {
        for stop in [StopReason::EndTurn, StopReason::MaxTokens, StopReason::Refusal, other("pause_turn")] {
            let (reply, _) = one(protocol, [Turn::text("x").stop(stop.clone())]).await;
            assert_eq!(reply.unwrap().stop, stop, "{protocol:?}");
            ran += 1;
        }
        // Servers that say "stop" in spite of calls.
        let odd = Turn::call("grep", json!({})).stop(StopReason::EndTurn);
        assert_eq!(one(protocol, [odd]).await.0.unwrap().stop, StopReason::ToolCalls, "{protocol:?}");
        assert_eq!(one(protocol, [Turn::empty()]).await.0.unwrap().text, "");
        ran += 2;
    }
    assert_eq!(ran, 18);
}

/// One message of several results becomes what each protocol wants.
#[tokio::test]
async fn tool_results_on_the_wire() {
    let chat = json!([
        {"role": "tool", "tool_call_id": "c1", "content": "one"},
        {"role": "tool", "tool_call_id": "c2", "content": "two"}]);
    let responses = json!([
        {"type": "function_call_output", "call_id": "c1", "output": "one"},
        {"type": "function_call_output", "call_id": "c2", "output": "two"}]);
    let anthropic = json!([{"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "one"}]},
        {"type": "tool_result", "tool_use_id": "c2", "is_error": true, "content": [{"type": "text", "text": "two"}],
         "cache_control": {"type": "ephemeral"}}]}]);
    for (protocol, want) in PROTOCOLS.into_iter().zip([chat, responses, anthropic]) {
        let server = FakeModel::with([Turn::text("ok")]).await;
        let model = model(config(protocol, &server));
        let mut transcript = question(&model);
        let calls = vec![call("c1", "grep", "{}"), call("c2", "grep", r#"{"path": "x", "#)];
        transcript.push(&Message::Assistant { text: String::new(), reasoning: vec![], calls });
        transcript
            .push(&Message::Tools { results: vec![result("c1", true, "one"), result("c2", false, "two")] });
        ask(&model, &transcript).await.0.unwrap();
        let request = server.requests()[0].json();
        let sent = messages(&request);
        let want = want.as_array().unwrap();
        assert_eq!(sent[sent.len() - want.len()..], want[..], "{protocol:?}");
        // Arguments that were not JSON went back as an object that says so.
        let body = request.to_string();
        assert!(body.contains("unparseable"), "{body}");
    }
}
