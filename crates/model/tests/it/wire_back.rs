//! What goes back into a conversation is what providers take, whatever the model made up; and how odd but whole answers are
//! read.

use posse_model::Protocol::{self, Anthropic, Chat, Responses};
use posse_protocol::{Message, ModelErrorKind, Needs, ToolSpec, Usage};
use posse_testkit::{FakeModel, Turn};
use serde_json::{Value, json};

use crate::{PROTOCOLS, ask, call, config, messages, model, one, question, result, said, shown_text};

fn is_safe(word: &str) -> bool {
    (1..=64).contains(&word.len()) && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
}

/// Every call and every result of a request: (id, name if it is a call, arguments if it is a call).
fn calls_in(request: &Value) -> Vec<(String, Option<String>, Value)> {
    let mut found = Vec::new();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    for message in messages(request) {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            assert_eq!(call["type"], "function");
            let arguments = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
            found.push((text(&call["id"]), Some(text(&call["function"]["name"])), arguments));
        }
        if message["role"] == "tool" {
            found.push((text(&message["tool_call_id"]), None, Value::Null));
        }
        match message["type"].as_str() {
            Some("function_call") => {
                let arguments = serde_json::from_str(message["arguments"].as_str().unwrap()).unwrap();
                found.push((text(&message["call_id"]), Some(text(&message["name"])), arguments));
            }
            Some("function_call_output") => found.push((text(&message["call_id"]), None, Value::Null)),
            _ => {}
        }
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("tool_use") => {
                    found.push((text(&block["id"]), Some(text(&block["name"])), block["input"].clone()));
                }
                Some("tool_result") => found.push((text(&block["tool_use_id"]), None, Value::Null)),
                _ => {}
            }
        }
    }
    found
}

#[tokio::test]
async fn made_up_names_ids_and_arguments_go_back_safe() {
    let long = "n".repeat(200);
    let names = [
        "read file",
        "fs.read",
        "läsen",
        "読む🎉",
        "a\"b\\c\nd",
        &long,
        "functions.shell:0",
        "ok-name_1",
        "",
    ];
    let ids = ["a b", "a.b", "ü", &long, "x:1", "tooluse|7", "call_9", "", "toolu_ok"];
    let arguments = ["{}", "[1]", "null", "\"x\"", "{\"a\"", "7", "", "{\"path\": \"x\"}", " {} "];
    let mut ran = 0;
    for protocol in PROTOCOLS {
        let server = FakeModel::start().await;
        let model = model(config(protocol, &server));
        let mut transcript = question(&model);
        for index in 0..names.len() {
            // As decoded from a reply, and as taken over from the record of another provider.
            let made_up = call(ids[index], names[index], arguments[index]);
            transcript.push(&Message::Assistant {
                text: "x".into(),
                reasoning: vec![],
                calls: vec![made_up],
            });
            transcript.push(&Message::Tools { results: vec![result(ids[index], false, "no such tool")] });
            server.push(Turn::call(names[index], json!(arguments[index])).id(ids[index]));
            let reply = ask(&model, &transcript).await.0.unwrap();
            let id = reply.calls[0].id.0.clone();
            transcript.push(&said(&reply));
            transcript.push(&Message::Tools { results: vec![result(&id, false, "no such tool")] });
        }
        server.push(Turn::text("ok"));
        ask(&model, &transcript).await.0.unwrap();
        let request = server.requests().last().unwrap().json();
        let found = calls_in(&request);
        assert_eq!(found.len(), 4 * names.len(), "{protocol:?}");
        let mut seen = std::collections::BTreeSet::new();
        for pair in found.chunks(2) {
            let [(id, Some(name), arguments), (answered, None, _)] = pair else { panic!("{pair:?}") };
            assert!(is_safe(id) && is_safe(name) && arguments.is_object(), "{protocol:?} {pair:?}");
            assert_eq!(id, answered);
            assert!(seen.insert(id.clone()), "{protocol:?}: {id} twice");
            ran += 1;
        }
    }
    assert_eq!(ran, 3 * 2 * 9);
}

/// The published types of the Responses protocol: what an output message and a piece of reasoning must hold.
#[tokio::test]
async fn assistant_text_has_the_shape_of_the_published_types() {
    for protocol in PROTOCOLS {
        let server = FakeModel::with((0..4).map(|_| Turn::text("Same words."))).await;
        let model = model(config(protocol, &server));
        let mut transcript = question(&model);
        for _ in 0..3 {
            let mut reply = ask(&model, &transcript).await.0.unwrap();
            if protocol == Responses {
                let opaque = Some(json!({"type": "reasoning", "encrypted_content": "x"}).to_string());
                let origin = posse_protocol::ReasoningOrigin::Responses;
                reply.reasoning.push(posse_protocol::Reasoning { text: String::new(), origin, opaque });
            }
            transcript.push(&said(&reply));
            transcript.push(&Message::user("Again."));
        }
        ask(&model, &transcript).await.0.unwrap();
        let request = server.requests()[3].json();
        let spoken: Vec<&Value> = messages(&request).iter().filter(|m| m["role"] == "assistant").collect();
        assert_eq!(spoken.len(), 3, "{protocol:?}");
        let mut ids = std::collections::BTreeSet::new();
        for message in &spoken {
            match protocol {
                Chat => assert_eq!(message["content"], "Same words."),
                Anthropic => assert_eq!(message["content"], json!([{"type": "text", "text": "Same words."}])),
                _ => {
                    assert_eq!(
                        (&message["type"], &message["status"]),
                        (&json!("message"), &json!("completed"))
                    );
                    let content = json!([{"type": "output_text", "text": "Same words.", "annotations": []}]);
                    assert_eq!(message["content"], content);
                    assert!(message["id"].as_str().unwrap().starts_with("msg_"));
                    ids.insert(message["id"].to_string());
                }
            }
        }
        let thoughts = messages(&request).iter().filter(|m| m["type"] == "reasoning");
        for thought in thoughts {
            assert!(thought["id"].as_str().unwrap().starts_with("rs_") && thought["summary"] == json!([]));
            ids.insert(thought["id"].to_string());
        }
        assert_eq!(ids.len(), if protocol == Responses { 6 } else { 0 });
    }
}

#[tokio::test]
async fn descriptions_are_never_longer_than_providers_take() {
    let list: String = (0..300).map(|n| format!("\n- rölé-{n}: does the work of number {n}")).collect();
    let spec = ToolSpec {
        name: "agent".into(),
        description: format!("Starts an agent.\nRoles:{list}\n280 more: give a word."),
        schema: json!({"type": "object", "properties": {}}).into(),
        needs: Needs::default(),
    };
    for protocol in PROTOCOLS {
        let server = FakeModel::with([Turn::text("ok")]).await;
        let model = model(config(protocol, &server));
        let mut transcript = model.transcript("", std::slice::from_ref(&spec));
        transcript.push(&Message::user("Hi."));
        ask(&model, &transcript).await.0.unwrap();
        let request = server.requests()[0].json();
        let tool = &request["tools"][0];
        let sent = tool["description"].as_str().or(tool["function"]["description"].as_str()).unwrap();
        assert!((900..=1_024).contains(&sent.chars().count()), "{}", sent.chars().count());
        assert!(sent.ends_with(" …\n280 more: give a word."), "{sent}");
    }
}

fn stream(protocol: Protocol, text: &str) -> String {
    match protocol {
        Chat => format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n\
             data: {{\"choices\":[{{\"index\":0,\"delta\":{{}},\"finish_reason\":\"stop\"}}]}}\n\n"
        ),
        Responses => format!(
            "data: {{\"type\":\"response.output_text.delta\",\"delta\":\"{text}\"}}\n\n\
             data: {{\"type\":\"response.completed\",\"response\":{{\"status\":\"completed\"}}}}\n\n"
        ),
        _ => format!(
            "data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"text\",\"text\":\"\"}}}}\n\n\
             data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n\
             data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"end_turn\"}}}}\n\n"
        ),
    }
}

#[tokio::test]
async fn bytes_that_are_not_utf8_do_not_end_a_run() {
    let mut ran = 0;
    for protocol in PROTOCOLS {
        let cases: [(&[u8], &str); 5] = [
            (b"a\xff\xfeb", "a\u{fffd}\u{fffd}b"),
            (b"a\xf0\x9f\x8eb", "a\u{fffd}b"),
            ("grüße 🎉".as_bytes(), "grüße 🎉"),
            (br"a\ud83cb", "a\u{fffd}b"),
            (br"\ud83c\udf89", "🎉"),
        ];
        for (bytes, want) in cases {
            let body = stream(protocol, "@@");
            let at = body.find("@@").unwrap();
            let body = [&body.as_bytes()[..at], bytes, &body.as_bytes()[at + 2..]].concat();
            for split in [1, 3, 100_000] {
                let (reply, signals) = one(protocol, [Turn::raw(body.clone()).split_every(split)]).await;
                assert_eq!(reply.unwrap().text, want, "{protocol:?} by {split}");
                assert_eq!(shown_text(&signals), want);
                ran += 1;
            }
        }
        let mut document =
            br#"{"choices":[{"index":0,"finish_reason":"stop","message":{"content":"a"#.to_vec();
        document.extend_from_slice(b"\xffb\"}}]}");
        let (reply, _) = one(Chat, [Turn::raw(document)]).await;
        assert_eq!(reply.unwrap().text, "a\u{fffd}b");
    }
    assert_eq!(ran, 45);
}

/// What an answer is shows at its first byte, whatever its label says.
#[tokio::test]
async fn labels_do_not_count() {
    let whole = |protocol| match protocol {
        Chat => json!({"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "hi"}}]}),
        Responses => json!({"object": "response", "status": "completed", "output": [
            {"type": "message", "content": [{"type": "output_text", "text": "hi"}]}]}),
        _ => {
            json!({"type": "message", "content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"})
        }
    };
    let mut ran = 0;
    for protocol in PROTOCOLS {
        for label in
            ["application/json", "application/json; charset=utf-8", "text/plain", "text/event-stream", "x"]
        {
            let streamed = stream(protocol, "hi");
            let document = whole(protocol).to_string();
            for body in [
                streamed.clone(),
                format!(": ping\n\n{streamed}"),
                format!("\u{feff}\r\n\n{streamed}"),
                document.clone(),
                format!("\n\n  {document}\n"),
            ] {
                for split in [1, 100_000] {
                    let turn = Turn::labelled(label, body.clone()).split_every(split);
                    assert_eq!(
                        one(protocol, [turn]).await.0.unwrap().text,
                        "hi",
                        "{protocol:?} {label} {body}"
                    );
                    ran += 1;
                }
            }
        }
    }
    assert_eq!(ran, 3 * 5 * 5 * 2);
    let page = "<!DOCTYPE html><html><head><title>Sign in</title></head><body><p>x</p></body></html>";
    let error = one(Chat, [Turn::labelled("text/html", page)]).await.0.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::BadReply);
    let told = error.to_string();
    assert!(told.contains("Sign in") && !told.contains('<'), "{told}");
}

fn anthropic(start: Value, delta: Value, rest: &str) -> String {
    let start = json!({"type": "message_start", "message": {"model": "m", "usage": start}});
    let begin =
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": delta});
    format!("data: {start}\n\ndata: {begin}\n\ndata: {end}\n\n{rest}")
}

#[tokio::test]
async fn of_two_numbers_the_later_counts() {
    let stop = "data: {\"type\":\"message_stop\"}\n\n";
    let usage = |input: u64, cached: Option<u64>, output: u64| Usage {
        input_tokens: Some(input),
        cached_tokens: cached,
        output_tokens: Some(output),
        ..Usage::default()
    };
    let cases = [
        (
            json!({"input_tokens": 0, "output_tokens": 0}),
            json!({"input_tokens": 5_000, "output_tokens": 90}),
            usage(5_000, None, 90),
        ),
        (
            json!({"input_tokens": 1_000, "output_tokens": 1}),
            json!({"input_tokens": 900, "output_tokens": 90}),
            usage(900, None, 90),
        ),
        (
            json!({"input_tokens": 10, "cache_read_input_tokens": 600, "output_tokens": 1}),
            json!({"output_tokens": 90}),
            usage(610, Some(600), 90),
        ),
        (
            json!({"input_tokens": 10, "cache_read_input_tokens": 600, "output_tokens": 1}),
            json!({"input_tokens": 10, "output_tokens": 90}),
            usage(610, Some(600), 90),
        ),
        (
            json!({"input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 0}),
            json!({"input_tokens": 10, "cache_read_input_tokens": 600, "output_tokens": 90}),
            usage(610, Some(600), 90),
        ),
        (
            json!({"input_tokens": 700, "output_tokens": 1}),
            json!({"input_tokens": 0, "output_tokens": 90}),
            usage(700, None, 90),
        ),
        (json!(null), json!({"input_tokens": 7, "output_tokens": 3}), usage(7, None, 3)),
    ];
    assert_eq!(cases.len(), 7);
    for (start, delta, want) in cases {
        let body = anthropic(start.clone(), delta.clone(), stop);
        let reply = one(Anthropic, [Turn::raw(body)]).await.0.unwrap();
        assert_eq!(reply.usage, want, "{start} {delta}");
    }
    let chunk = |usage: Value| format!("data: {}\n\n", json!({"choices": [], "usage": usage}));
    let chat = stream(Chat, "hi");
    let early = chunk(json!({"prompt_tokens": 0, "completion_tokens": 0}));
    let late = chunk(json!({"prompt_tokens": 50, "completion_tokens": 9}));
    let reply = one(Chat, [Turn::raw(format!("{early}{chat}{late}data: [DONE]\n\n"))]).await.0.unwrap();
    assert_eq!(reply.usage, usage(50, None, 9));
}

/// With a reason to stop the reply is whole, however the stream ends; without one it is not.
#[tokio::test]
async fn whole_with_a_reason_to_stop_and_not_without() {
    let item = json!({"type": "response.output_item.done", "output_index": 0, "item":
        {"type": "message", "content": [{"type": "output_text", "text": "hi"}]}});
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let begun = "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"hi\"}}\n\n";
    let delta = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"}}]}\n\n";
    let added = "data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"message\"}}\n\n";
    let cases = [
        (Anthropic, anthropic(usage.clone(), usage.clone(), ""), true),
        (Anthropic, anthropic(usage.clone(), usage, "data: [DONE]\n\n"), true),
        (Anthropic, begun.to_owned(), false),
        (Anthropic, format!("{begun}data: [DONE]\n\n"), false),
        (Chat, stream(Chat, "hi"), true),
        (Chat, format!("{delta}data: [DONE]\n\n"), true),
        (Chat, delta.to_owned(), false),
        (Responses, format!("data: {item}\n\ndata: [DONE]\n\n"), true),
        (Responses, format!("data: {item}\n\n"), false),
        (Responses, format!("data: {item}\n\n{added}data: [DONE]\n\n"), false),
        (Responses, format!("data: {item}\n\ndata: {{\"type\":\"response.completed\"}}\n\n"), true),
    ];
    assert_eq!(cases.len(), 11);
    for (protocol, body, is_whole) in cases {
        let reply = one(protocol, (0..4).map(|_| Turn::raw(body.clone()))).await.0;
        match reply {
            Ok(reply) => assert_eq!((reply.text.as_str(), is_whole), ("hi", true), "{body}"),
            Err(error) => assert_eq!((error.kind, is_whole), (ModelErrorKind::CutOff, false), "{body}"),
        }
    }
}

#[tokio::test]
async fn a_call_without_input_has_none() {
    let begin = json!({"type": "content_block_start", "index": 0, "content_block":
        {"type": "tool_use", "id": "a", "name": "grep"}});
    let end = json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}});
    let reply = one(Anthropic, [Turn::raw(format!("data: {begin}\n\ndata: {end}\n\n"))]).await.0.unwrap();
    assert_eq!(reply.calls, [call("a", "grep", "{}")]);
}
