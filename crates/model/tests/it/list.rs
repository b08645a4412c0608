//! Asking which models there are.

use std::time::Duration;

use posse_model::{ListedModel, Protocol, SecretString, list_models};
use posse_protocol::ModelErrorKind;
use posse_testkit::{FakeModel, MODEL_ID};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SECOND: Duration = Duration::from_secs(5);

#[tokio::test]
async fn lists_and_failures() {
    let server = FakeModel::start().await;
    let key = SecretString::from("sk-test-key");
    for protocol in [Protocol::Chat, Protocol::Responses, Protocol::Anthropic] {
        let models = list_models(&server.base_url(), Some(&key), protocol, SECOND).await;
        assert_eq!(models.unwrap(), [ListedModel { name: MODEL_ID.into(), ..ListedModel::default() }]);
    }
    let cases = [
        ("http://127.0.0.1:1/v1", ModelErrorKind::Unreachable),
        ("ftp://example.invalid", ModelErrorKind::BadRequest),
        ("not an address", ModelErrorKind::BadRequest),
    ];
    for (base_url, want) in cases {
        let error = list_models(base_url, None, Protocol::Chat, SECOND).await.unwrap_err();
        assert_eq!(error.kind, want, "{base_url}: {error}");
    }
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let error = list_models(&base_url, None, Protocol::Chat, Duration::from_millis(200)).await.unwrap_err();
    assert_eq!(error.kind, ModelErrorKind::Stalled);
}

#[tokio::test]
async fn the_context_window_is_taken_from_where_servers_put_it() {
    let cases = [
        (json!({"data": [{"id": "m", "meta": {"n_ctx": 4096, "n_ctx_train": 32768}}]}), Some(4096)),
        (json!({"data": [{"id": "m", "max_model_len": 8192}]}), Some(8192)),
        (json!({"data": [{"id": "m", "context_length": 128_000}]}), Some(128_000)),
        (json!({"models": [{"name": "m", "context_length": 0}]}), None),
        (json!([{"id": "m"}]), None),
    ];
    for (list, context_window) in cases {
        let server = whole_answer(&list).await;
        let models = list_models(&server, None, Protocol::Chat, SECOND).await.unwrap();
        assert_eq!(
            models,
            [ListedModel { name: "m".into(), context_window, ..ListedModel::default() }],
            "{list}"
        );
    }
}

/// A server that gives one answer to whoever asks.
async fn whole_answer(body: &serde_json::Value) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    let body = body.to_string();
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = [0; 4096];
        let _ = socket.read(&mut request).await.unwrap();
        let answer = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        socket.write_all(answer.as_bytes()).await.unwrap();
    });
    base_url
}

#[test]
fn names_that_a_list_holds() {
    let list = |names: &[&str]| -> Vec<ListedModel> {
        names.iter().map(|name| ListedModel { name: (*name).into(), ..ListedModel::default() }).collect()
    };
    let models = list(&["qwen3:latest", "claude-x-20250929", "gpt-y-2025-08-07", "models/gem-1", "fake"]);
    let cases = [
        ("fake", true),
        ("qwen3", true),
        ("qwen3:latest", true),
        ("fake:latest", true),
        ("claude-x", true),
        ("claude-x-latest", true),
        ("gpt-y", true),
        ("gem-1", true),
        ("gpt", false),
        ("qwen", false),
        ("claude", false),
        ("fak", false),
        ("m404", false),
        ("", false),
    ];
    assert_eq!(cases.len(), 14);
    for (name, want) in cases {
        assert_eq!(posse_model::lists(&models, name), want, "{name}");
    }
    let any = vec![ListedModel { name: "/m/a.gguf".into(), takes_any_name: true, ..ListedModel::default() }];
    assert!(posse_model::lists(&any, "whatever"));
}
