//! Errors of all providers, told apart: as answers and inside streams.

use posse_model::Protocol::{self, Anthropic, Chat, Responses};
use posse_model::{ModelConfig, SecretString, limits};
use posse_protocol::ModelErrorKind::{self, *};
use posse_testkit::{FakeModel, Turn};
use serde_json::{Value, json};

use crate::{ask, config, model, one, question};

fn openai(code: &str, message: &str) -> Value {
    json!({"error": {"message": message, "type": "invalid_request_error", "param": "messages", "code": code}})
}

fn anthropic(kind: &str, message: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}})
}

type Case = (Protocol, u16, Value, ModelErrorKind);

/// Everybody's words for a conversation that does not fit.
fn too_long() -> Vec<Case> {
    let said = |message: &str| json!({"error": {"message": message}});
    vec![
        (
            Chat,
            400,
            openai("context_length_exceeded", "This model's maximum context length is 8192 tokens."),
            ContextTooLong,
        ),
        (
            Responses,
            400,
            openai("context_length_exceeded", "Your input exceeds the context window of this model."),
            ContextTooLong,
        ),
        (
            Anthropic,
            400,
            anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
            ContextTooLong,
        ),
        (
            Anthropic,
            400,
            anthropic(
                "invalid_request_error",
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            ),
            ContextTooLong,
        ),
        (Anthropic, 413, anthropic("request_too_large", "Request exceeds the maximum size"), ContextTooLong),
        (
            Chat,
            400,
            json!({"error": {"code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error", "n_ctx": 4096}}),
            ContextTooLong,
        ),
        (Chat, 500, said("Context size has been exceeded."), ContextTooLong),
        (
            Chat,
            400,
            json!({"object": "error", "message": "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens", "type": "BadRequestError", "code": 400}),
            ContextTooLong,
        ),
        (Chat, 400, said("prompt too long; exceeded max context length by 120 tokens"), ContextTooLong),
        (
            Chat,
            400,
            said(
                "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000",
            ),
            ContextTooLong,
        ),
        (
            Chat,
            400,
            json!({"error": "The number of tokens to keep from the initial prompt is greater than the context length."}),
            ContextTooLong,
        ),
        (Chat, 400, said("Please reduce the length of the messages or completion."), ContextTooLong),
        (
            Chat,
            400,
            json!({"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": "prompt is too long: 9 > 8"}}}),
            ContextTooLong,
        ),
    ]
}

/// All other errors.
fn others() -> Vec<Case> {
    let said = |message: &str| json!({"error": {"message": message}});
    vec![
        (Chat, 401, openai("invalid_api_key", "Incorrect API key provided"), NotAuthorised),
        (Anthropic, 401, anthropic("authentication_error", "invalid x-api-key"), NotAuthorised),
        (Chat, 402, said("Insufficient Balance"), OutOfCredit),
        (Chat, 403, said("forbidden"), NotAuthorised),
        (Chat, 429, openai("insufficient_quota", "You exceeded your current quota"), OutOfCredit),
        (Anthropic, 400, anthropic("invalid_request_error", "Your credit balance is too low"), OutOfCredit),
        (Chat, 403, openai("insufficient_quota", "no quota"), OutOfCredit),
        (Chat, 402, json!("x"), OutOfCredit),
        (Chat, 429, said("Request too large: 90000 tokens per min, maximum context length"), RateLimited),
        (Anthropic, 429, anthropic("rate_limit_error", "slow down"), RateLimited),
        (Anthropic, 529, anthropic("overloaded_error", "Overloaded"), Overloaded),
        (Chat, 500, json!("oops"), Overloaded),
        (Chat, 503, said("Loading model"), Overloaded),
        (Chat, 501, said("not implemented"), Overloaded),
        (Chat, 404, said("model `x` not found"), BadRequest),
        (Chat, 422, json!({"detail": "field required"}), BadRequest),
        (Chat, 400, json!([{"error": {"message": "in a list"}}]), BadRequest),
        (Chat, 307, json!({}), BadRequest),
    ]
}

#[tokio::test]
async fn answers() {
    let mut ran = 0;
    for (protocol, status, body, want) in too_long().into_iter().chain(others()) {
        let turns = (0..4).map(|_| Turn::status_body(status, body.clone()));
        let error = one(protocol, turns).await.0.unwrap_err();
        assert_eq!(error.kind, want, "{status} {body}: {error}");
        assert!(
            error.message.contains("127.0.0.1:") && error.message.contains(&status.to_string()),
            "{error}"
        );
        ran += 1;
    }
    assert_eq!(ran, 31);
}

/// The same errors after a 200, which cannot be undone.
#[tokio::test]
async fn inside_streams() {
    let event = |value: Value| format!("event: error\ndata: {value}\n\n");
    let chat_text = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n";
    let plain = |value: Value| format!("data: {value}\n\n");
    let failed = |code: &str, message: &str| {
        let response = json!({"status": "failed", "error": {"code": code, "message": message}});
        plain(json!({"type": "response.failed", "response": response}))
    };
    let cases = [
        (Chat, plain(openai("context_length_exceeded", "too long")), ContextTooLong),
        (
            Chat,
            format!("{chat_text}{}", plain(json!({"error": {"code": 502, "message": "provider died"}}))),
            Overloaded,
        ),
        (Chat, plain(json!({"error": "model runner has unexpectedly stopped", "choices": []})), Overloaded),
        (
            Chat,
            event(json!({"error": {"code": 500, "message": "slot unavailable", "type": "server_error"}})),
            Overloaded,
        ),
        (
            Responses,
            failed("context_length_exceeded", "Your input exceeds the context window"),
            ContextTooLong,
        ),
        (Responses, failed("rate_limit_exceeded", "Rate limit reached"), RateLimited),
        (Responses, failed("server_error", "sorry"), Overloaded),
        (Responses, plain(json!({"type": "error", "code": "invalid_prompt", "message": "no"})), BadRequest),
        (Anthropic, event(anthropic("overloaded_error", "Overloaded")), Overloaded),
        (Anthropic, event(anthropic("rate_limit_error", "slow")), RateLimited),
        (Anthropic, event(anthropic("invalid_request_error", "prompt is too long")), ContextTooLong),
        (Anthropic, plain(json!({"error": {"message": "no type", "type": "not_found_error"}})), BadRequest),
        (Chat, plain(json!({"choices": 7})), BadReply),
        (Responses, plain(json!({"no": "type"})), BadReply),
        (Anthropic, plain(json!({"type": "content_block_delta", "index": 3, "delta": {}})), BadReply),
        (Chat, "<html>not a stream</html>".to_owned(), BadReply),
    ];
    let mut ran = 0;
    for (protocol, stream, want) in cases {
        let turns = (0..4).map(|_| Turn::raw(stream.clone()));
        let error = one(protocol, turns).await.0.unwrap_err();
        assert_eq!(error.kind, want, "{stream}: {error}");
        let partial = if stream.contains("Hel") { "Hel" } else { "" };
        assert_eq!(error.partial, partial);
        ran += 1;
    }
    assert_eq!(ran, 16);
}

#[tokio::test]
async fn quotes_are_short_and_in_one_line() {
    let body = json!({"error": {"message": format!("line one\nline two\u{7} {}", "x".repeat(10_000))}});
    let error = one(Chat, [Turn::status_body(400, body)]).await.0.unwrap_err();
    assert!(error.said.chars().count() <= limits::EXCERPT_CHARS_MAX + 1);
    assert!(error.said.contains("line one line two x") && !error.said.contains(['\n', '\u{7}']), "{error}");
}

/// What happened, what was said and what to do, each for itself.
#[tokio::test]
async fn errors_say_what_happened_what_was_said_and_what_to_do() {
    let page = "<html><head><title>502 Bad Gateway</title></head><body><h1>x</h1></body></html>";
    type Want = (&'static str, &'static str, &'static str);
    let cases: [(Turn, Want); 7] = [
        (
            Turn::status_body(401, openai("invalid_api_key", "Incorrect API key provided.")),
            (
                "HOST refused the key (401)",
                "Incorrect API key provided.",
                "check BADKEY, which [models.m] uses",
            ),
        ),
        (
            Turn::status_body(403, json!({"error": {"message": "not for you"}})),
            ("HOST does not allow this (403)", "not for you", "check BADKEY, which [models.m] uses"),
        ),
        (
            Turn::status_body(429, openai("insufficient_quota", "You exceeded your current quota")),
            (
                "the account at HOST is out of credit (429)",
                "You exceeded your current quota",
                "add credit to the account of BADKEY, or use another model (-m NAME)",
            ),
        ),
        (
            Turn::status_text(502, page),
            (
                "HOST cannot answer now (502)",
                "502 Bad Gateway",
                "try again later, or use another model (-m NAME)",
            ),
        ),
        (
            Turn::status_body(404, json!({"error": {"message": "The model does not exist"}})),
            (
                "HOST has no model `m404`; it has fake-model",
                "The model does not exist",
                "set `model` in [models.m] to one of these",
            ),
        ),
        (
            Turn::status_body(400, json!({"error": {"message": "m404 is not a valid model ID"}})),
            (
                "HOST has no model `m404`; it has fake-model",
                "m404 is not a valid model ID",
                "set `model` in [models.m] to one of these",
            ),
        ),
        (
            Turn::status_body(400, json!({"error": {"message": "bad temperature"}})),
            ("HOST refused the request (400)", "bad temperature", "check the settings of [models.m]"),
        ),
    ];
    assert_eq!(cases.len(), 7);
    for (turn, (message, said, advice)) in cases {
        let server = FakeModel::with([turn]).await;
        let host = server.base_url().replace("http://", "").replace("/v1", "");
        let mut config = ModelConfig { model: "m404".into(), ..config(Chat, &server) };
        config.retry.attempts_max = 1;
        config.api_key = Some(SecretString::from("key-0123456789"));
        (config.key_name, config.section) = (Some("BADKEY".into()), Some("[models.m]".into()));
        let model = model(config);
        let error = ask(&model, &question(&model)).await.0.unwrap_err();
        let got = (error.message.replace(&host, "HOST"), error.said.as_str(), error.advice.as_str());
        assert_eq!(got, (message.to_owned(), said, advice));
    }
}
