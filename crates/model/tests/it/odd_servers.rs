//! Chat servers that do things their own way.

use posse_model::{Protocol, Signal};
use posse_protocol::{Message, ReasoningOrigin, Reply, StopReason, Usage};
use posse_testkit::{FakeModel, Turn};
use serde_json::{Value, json};

use crate::{ask, call, config, model, one, question, result, said, usage};

/// A stream of these chunks, without [DONE].
fn stream(chunks: &[Value]) -> String {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect()
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": null}]})
}

fn finish(word: &str) -> Value {
    json!({"choices": [{"index": 0, "delta": {}, "finish_reason": word}]})
}

async fn chat(chunks: &[Value]) -> Reply {
    one(Protocol::Chat, [Turn::raw(stream(chunks))]).await.0.unwrap()
}

/// What it is, the pieces of calls as they come, and the ids of the two calls that must come of it.
const SHAPES: &[(&str, &[&str], [&str; 2])] = &[
    (
        "whole, no index",
        &[
            r#"{"id": "x", "function": {"name": "grep", "arguments": "{\"a\":1}"}}"#,
            r#"{"id": "y", "function": {"name": "grep", "arguments": "{\"b\":2}"}}"#,
        ],
        ["x", "y"],
    ),
    (
        "no index, no id",
        &[
            r#"{"function": {"name": "grep", "arguments": "{\"a\":1}"}}"#,
            r#"{"function": {"name": "grep", "arguments": "{\"b\":"}}"#,
            r#"{"function": {"arguments": "2}"}}"#,
        ],
        ["call_1", "call_2"],
    ),
    (
        "empty ids",
        &[
            r#"{"index": 0, "id": "", "function": {"name": "grep", "arguments": "{\"a\":1}"}}"#,
            r#"{"index": 1, "id": "", "function": {"name": "grep", "arguments": "{\"b\":2}"}}"#,
        ],
        ["call_1", "call_2"],
    ),
    (
        "null and missing ids",
        &[
            r#"{"index": 0, "id": null, "function": {"name": "grep", "arguments": "{\"a\":1}"}}"#,
            r#"{"index": 1, "function": {"name": "grep", "arguments": "{\"b\":2}"}}"#,
        ],
        ["call_1", "call_2"],
    ),
    (
        "one index for all",
        &[
            r#"{"index": 0, "id": "x", "function": {"name": "grep", "arguments": "{\"a\":1}"}}"#,
            r#"{"index": 0, "id": "y", "function": {"name": "grep", "arguments": "{\"b\":2}"}}"#,
        ],
        ["x", "y"],
    ),
    (
        "the same id twice",
        &[
            r#"{"index": 0, "id": "x", "function": {"name": "grep", "arguments": "{\"a\":1}"}}"#,
            r#"{"index": 1, "id": "x", "function": {"name": "grep", "arguments": "{\"b\":2}"}}"#,
        ],
        ["x", "x"],
    ),
    (
        "arguments as an object",
        &[
            r#"{"index": 0, "id": "x", "function": {"name": "grep", "arguments": {"a": 1}}}"#,
            r#"{"index": 1, "id": "y", "function": {"name": "grep", "arguments": {"b": 2}}}"#,
        ],
        ["x", "y"],
    ),
    (
        "name and id repeated with every piece",
        &[
            r#"{"index": 0, "id": "x", "function": {"name": "grep", "arguments": "{\"a\""}}"#,
            r#"{"index": 0, "id": "x", "function": {"name": "grep", "arguments": ":1}"}}"#,
            r#"{"index": 1, "id": "y", "function": {"name": "grep", "arguments": "{\"b\":2}"}}"#,
        ],
        ["x", "y"],
    ),
    (
        "name in pieces",
        &[
            r#"{"index": 0, "id": "x", "function": {"name": "gr"}}"#,
            r#"{"index": 0, "function": {"name": "ep", "arguments": "{\"a\":1}"}}"#,
            r#"{"index": 1, "id": "y", "function": {"name": "grep", "arguments": "{\"b\":2}"}}"#,
        ],
        ["x", "y"],
    ),
    (
        "interleaved",
        &[
            r#"{"index": 0, "id": "x", "function": {"name": "grep", "arguments": "{\"a\""}}"#,
            r#"{"index": 1, "id": "y", "function": {"name": "grep", "arguments": "{\"b\""}}"#,
            r#"{"index": 0, "function": {"arguments": ":1}"}}"#,
            r#"{"index": 1, "function": {"arguments": ":2}"}}"#,
        ],
        ["x", "y"],
    ),
];

#[tokio::test]
async fn calls_in_every_shape() {
    let mut ran = 0;
    for (what, pieces, [first, second]) in SHAPES {
        let pieces: Vec<Value> = pieces.iter().map(|piece| serde_json::from_str(piece).unwrap()).collect();
        let apart: Vec<Value> = pieces.iter().map(|piece| delta(json!({"tool_calls": [piece]}))).collect();
        let together = vec![delta(json!({"tool_calls": pieces}))];
        for mut chunks in [apart, together] {
            chunks.push(finish("tool_calls"));
            let reply = chat(&chunks).await;
            let want = vec![call(first, "grep", "{\"a\":1}"), call(second, "grep", "{\"b\":2}")];
            assert_eq!((reply.calls, reply.stop), (want, StopReason::ToolCalls), "{what}");
            ran += 1;
        }
    }
    assert_eq!(ran, 20);
    let nothing = delta(json!({"tool_calls": [{"index": 0, "id": "x", "function": {"name": "grep"}}]}));
    assert_eq!(chat(&[nothing, finish("tool_calls")]).await.calls, [call("x", "grep", "{}")]);
}

#[tokio::test]
async fn ids_given_by_posse_are_unique_in_the_conversation() {
    let unnamed = || Turn::call("grep", json!({})).id("");
    let same = || Turn::call("grep", json!({})).id("same");
    let server = FakeModel::with([unnamed(), unnamed(), same(), same()]).await;
    let model = model(config(Protocol::Chat, &server));
    let mut transcript = question(&model);
    // As after compaction: a call from before is still there.
    let kept = vec![call("call_7", "grep", "{}")];
    transcript.push(&Message::Assistant { text: String::new(), reasoning: vec![], calls: kept });
    transcript.push(&Message::Tools { results: vec![result("call_7", true, "x")] });
    let mut ids = Vec::new();
    for _ in 0..4 {
        let reply = ask(&model, &transcript).await.0.unwrap();
        let id = reply.calls[0].id.0.clone();
        transcript.push(&said(&reply));
        transcript.push(&Message::Tools { results: vec![result(&id, true, "x")] });
        ids.push(id);
    }
    assert_eq!(ids, ["call_8", "call_9", "same", "call_11"]);
}

#[tokio::test]
async fn endings_and_extras() {
    let hi = || delta(json!({"content": "hi"}));
    // No [DONE], no blank line at the end, choices that are null, a second choice, a keep-alive, other line ends.
    let streams = [
        stream(&[hi(), finish("stop")]),
        stream(&[hi(), finish("stop")]).trim_end().to_owned(),
        format!("{}data: [DONE]\n\n", stream(&[hi()])),
        format!(": OPENROUTER PROCESSING\n\n{}", stream(&[json!({"choices": null}), hi(), finish("stop")])),
        stream(&[json!({"choices": [{"index": 1, "delta": {"content": "no"}}]}), hi(), finish("eos")]),
        stream(&[hi(), finish("stop")]).replace('\n', "\r\n"),
        stream(&[delta(json!({"content": [{"type": "text", "text": "hi"}]})), finish("stop")]),
        stream(&[json!({"prompt_filter_results": [], "choices": []}), hi(), finish("stop")]),
    ];
    let count = streams.len();
    for text in streams {
        let reply = one(Protocol::Chat, [Turn::raw(text.clone())]).await.0.unwrap();
        assert_eq!((reply.text.as_str(), reply.stop), ("hi", StopReason::EndTurn), "{text}");
    }
    assert_eq!(count, 8);
}

#[tokio::test]
async fn a_finished_reply_on_a_connection_that_stays_open() {
    let text = stream(&[delta(json!({"content": "hi"})), finish("stop")]);
    let (reply, _) = one(Protocol::Chat, [Turn::raw(text).stall_after(1)]).await;
    assert_eq!(reply.unwrap().text, "hi");
}

#[tokio::test]
async fn whole_json_where_a_stream_was_asked_for() {
    let chat = json!({"model": "m", "choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "hi"}}], "usage": {"prompt_tokens": 5, "completion_tokens": 2}});
    let responses = json!({"object": "response", "status": "completed", "model": "m", "output": [
        {"type": "message", "content": [{"type": "output_text", "text": "hi"}]}],
        "usage": {"input_tokens": 5, "output_tokens": 2}});
    let anthropic = json!({"type": "message", "model": "m", "content": [{"type": "text", "text": "hi"}],
        "stop_reason": "end_turn", "usage": {"input_tokens": 5, "output_tokens": 2}});
    let protocols = [Protocol::Chat, Protocol::Responses, Protocol::Anthropic];
    for (protocol, body) in protocols.into_iter().zip([chat, responses, anthropic]) {
        let reply = one(protocol, [Turn::json(&body)]).await.0.unwrap();
        let usage = Usage { input_tokens: Some(5), output_tokens: Some(2), ..Usage::default() };
        let want = Reply { text: "hi".into(), usage, model: "m".into(), ..Reply::default() };
        assert_eq!(reply, want, "{protocol:?}");
    }
}

#[tokio::test]
async fn usage_in_other_peoples_words() {
    let cases = [
        (
            json!({"usage": {"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 8, "prompt_cache_miss_tokens": 2}}),
            usage(10, 8, 2),
        ),
        (
            json!({"timings": {"cache_n": 30, "prompt_n": 12, "predicted_n": 5, "prompt_ms": 1.5}}),
            usage(42, 30, 5),
        ),
        (
            json!({"usage": {"prompt_tokens": 42, "completion_tokens": 5}, "timings": {"cache_n": 30, "prompt_n": 12, "predicted_n": 5}}),
            usage(42, 30, 5),
        ),
        (
            json!({"usage": {"prompt_tokens": 42, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 31}}, "timings": {"cache_n": 30, "prompt_n": 12, "predicted_n": 5}}),
            usage(42, 31, 5),
        ),
        (
            json!({"choices": [{"index": 0, "delta": {}, "usage": {"prompt_tokens": 3, "completion_tokens": 1, "cached_tokens": 2}}]}),
            usage(3, 2, 1),
        ),
        (json!({"usage": null}), Usage::default()),
        (json!({"usage": {"prompt_tokens": "many", "completion_tokens": -3}}), Usage::default()),
    ];
    for (extra, want) in cases {
        let reply = chat(&[delta(json!({"content": "hi"})), finish("stop"), extra.clone()]).await;
        assert_eq!(reply.usage, want, "{extra}");
    }
}

#[tokio::test]
async fn reasoning_under_other_names() {
    let calls = || {
        delta(
            json!({"tool_calls": [{"index": 0, "id": "x", "function": {"name": "grep", "arguments": "{}"}}]}),
        )
    };
    let details =
        |text: &str| json!([{"type": "reasoning.text", "index": 0, "text": text, "signature": null}]);
    let signed = json!([{"type": "reasoning.text", "index": 0, "text": "!", "signature": "sig"}, {"type": "reasoning.encrypted", "index": 1, "data": "zzz"}]);
    let router = stream(&[
        delta(json!({"reasoning": "a", "reasoning_details": details("a")})),
        delta(json!({"reasoning": "b", "reasoning_details": details("b")})),
        delta(json!({"reasoning_details": signed})),
        calls(),
        finish("tool_calls"),
    ]);
    let plain = stream(&[delta(json!({"reasoning": "ab"})), calls(), finish("tool_calls")]);
    let both = stream(&[
        delta(json!({"reasoning": "ab", "reasoning_content": "ab"})),
        calls(),
        finish("tool_calls"),
    ]);
    let merged = json!([{"type": "reasoning.text", "index": 0, "text": "ab!", "signature": "sig"},
        {"type": "reasoning.encrypted", "index": 1, "data": "zzz"}]);
    let cases = [
        (router, ReasoningOrigin::ChatDetails, "reasoning_details", merged),
        (plain, ReasoningOrigin::Chat, "reasoning", json!("ab")),
        (both, ReasoningOrigin::Chat, "reasoning_content", json!("ab")),
    ];
    for (text, origin, field, want) in cases {
        let server = FakeModel::with([Turn::raw(text), Turn::text("ok")]).await;
        let model = model(config(Protocol::Chat, &server));
        let mut transcript = question(&model);
        let (reply, signals) = ask(&model, &transcript).await;
        let reply = reply.unwrap();
        let thought: String = signals
            .iter()
            .filter_map(|s| if let Signal::Reasoning(t) = s { Some(t.as_str()) } else { None })
            .collect();
        assert_eq!(
            (thought.as_str(), reply.reasoning[0].text.as_str(), reply.reasoning.len()),
            ("ab", "ab", 1)
        );
        assert_eq!(reply.reasoning[0].origin, origin);
        transcript.push(&said(&reply));
        transcript.push(&Message::Tools { results: vec![result("x", true, "r")] });
        ask(&model, &transcript).await.0.unwrap();
        let sent = &server.requests()[1].json()["messages"][2];
        assert_eq!(sent[field], want);
        let fields: Vec<&String> =
            sent.as_object().unwrap().keys().filter(|k| k.starts_with("reasoning")).collect();
        assert_eq!(fields, [field]);
    }
}

#[tokio::test]
async fn a_refusal_is_one() {
    let reply = chat(&[delta(json!({"refusal": "I cannot."})), finish("stop")]).await;
    assert_eq!((reply.text.as_str(), reply.stop), ("I cannot.", StopReason::Refusal));
}
