//! What of a configuration reaches the wire, and which configurations are refused.

use posse_model::{Governors, Model, ModelConfig, Protocol, Retry, Timeouts};
use posse_testkit::{FakeModel, Turn};
use serde_json::{Value, json};

use crate::{ask, config, model, question};

async fn sent(change: impl FnOnce(&mut ModelConfig), protocol: Protocol) -> Value {
    let server = FakeModel::with([Turn::text("ok")]).await;
    let mut config = config(protocol, &server);
    change(&mut config);
    let model = model(config);
    ask(&model, &question(&model)).await.0.unwrap();
    server.requests()[0].json()
}

#[tokio::test]
async fn heads_on_the_wire() {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let chat_tool = |name: &str| json!({"type": "function", "function": {"name": name, "description": format!("Does {name}."), "parameters": schema}});
    let chat = sent(|_| {}, Protocol::Chat).await;
    let want = json!({"model": "fake-model", "stream": true, "stream_options": {"include_usage": true},
        "tools": [chat_tool("read_file"), chat_tool("grep")],
        "messages": [{"role": "system", "content": "You are a test."}, {"role": "user", "content": "Go on."}]});
    assert_eq!(chat, want);

    let tool = |name: &str| json!({"type": "function", "name": name, "description": format!("Does {name}."), "parameters": schema, "strict": false});
    let responses = sent(|_| {}, Protocol::Responses).await;
    let want = json!({"model": "fake-model", "stream": true, "store": false,
        "include": ["reasoning.encrypted_content"], "tools": [tool("read_file"), tool("grep")],
        "instructions": "You are a test.",
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on."}]}]});
    assert_eq!(responses, want);

    let cache = json!({"type": "ephemeral"});
    let anthropic = sent(|_| {}, Protocol::Anthropic).await;
    let want = json!({"model": "fake-model", "stream": true, "max_tokens": 8192,
        "tools": [{"name": "read_file", "description": "Does read_file.", "input_schema": schema},
            {"name": "grep", "description": "Does grep.", "input_schema": schema, "cache_control": cache}],
        "system": [{"type": "text", "text": "You are a test.", "cache_control": cache}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Go on.", "cache_control": cache}]}]});
    assert_eq!(anthropic, want);
}

#[tokio::test]
async fn settings_under_each_protocols_names() {
    let all = |config: &mut ModelConfig| {
        config.max_output_tokens = Some(1000);
        config.temperature = Some(0.5);
        config.reasoning_effort = Some("high".into());
    };
    let chat = sent(all, Protocol::Chat).await;
    assert_eq!(
        (&chat["max_tokens"], &chat["temperature"], &chat["reasoning_effort"]),
        (&json!(1000), &json!(0.5), &json!("high"))
    );
    let responses = sent(all, Protocol::Responses).await;
    assert_eq!(
        (&responses["max_output_tokens"], &responses["reasoning"]),
        (&json!(1000), &json!({"effort": "high"}))
    );
    let anthropic = sent(all, Protocol::Anthropic).await;
    assert_eq!(
        (
            &anthropic["max_tokens"],
            &anthropic["thinking"],
            &anthropic["output_config"],
            &anthropic["temperature"]
        ),
        (&json!(1000), &json!({"type": "adaptive"}), &json!({"effort": "high"}), &Value::Null)
    );
    let budget = sent(|c| c.reasoning_effort = Some("10000".into()), Protocol::Anthropic).await;
    assert_eq!(
        (&budget["max_tokens"], &budget["thinking"]),
        (&json!(18192), &json!({"type": "enabled", "budget_tokens": 10000}))
    );
}

#[test]
fn what_cannot_work_is_refused_at_once() {
    let good = || ModelConfig::new("m", "x", Protocol::Chat, "http://127.0.0.1:1/v1");
    let cases = [
        (ModelConfig { base_url: "localhost:8080".into(), ..good() }, "not an http(s) address"),
        (ModelConfig { base_url: String::new(), ..good() }, "not an http(s) address"),
        (ModelConfig { max_concurrent: 0, ..good() }, "max_concurrent"),
        (ModelConfig { retry: Retry { attempts_max: 0, ..Retry::default() }, ..good() }, "attempts_max"),
        (ModelConfig { timeouts: Timeouts { idle_ms: 0, ..Timeouts::default() }, ..good() }, "timeout"),
        (ModelConfig { temperature: Some(f64::NAN), ..good() }, "temperature"),
        (ModelConfig { headers: vec![("a b".into(), "x".into())], ..good() }, "header `a b`"),
        (ModelConfig { headers: vec![("a".into(), "x\ny".into())], ..good() }, "header `a`"),
        (ModelConfig { protocol: Protocol::Replay, ..good() }, "needs `cassette`"),
        (ModelConfig::replay("m", "/nonexistent/cassette"), "/nonexistent/cassette"),
    ];
    let count = cases.len();
    for (config, want) in cases {
        let error = Model::new(config, &Governors::new()).err().unwrap().to_string();
        assert!(error.contains(want), "{error}");
    }
    assert_eq!(count, 10);
    assert!(Model::new(good(), &Governors::new()).is_ok());
    assert_eq!(
        (
            good().max_concurrent,
            ModelConfig::new("m", "x", Protocol::Chat, "https://example.com/v1").max_concurrent
        ),
        (1, 8)
    );
}

#[test]
fn the_words_of_a_configuration() {
    let words = json!(["chat", "responses", "anthropic", "replay"]);
    let protocols = [Protocol::Chat, Protocol::Responses, Protocol::Anthropic, Protocol::Replay];
    assert_eq!(serde_json::to_value(protocols).unwrap(), words);
    let modes: [posse_model::ToolCallMode; 3] =
        serde_json::from_value(json!(["auto", "native", "text"])).unwrap();
    assert_eq!(modes[0], posse_model::ToolCallMode::default());
}
