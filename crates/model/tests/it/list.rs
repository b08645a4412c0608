//! Asking which models there are.

use std::time::Duration;

use posse_model::{Protocol, SecretString, list_models};
use posse_protocol::ModelErrorKind;
use posse_testkit::{FakeModel, MODEL_ID};

const SECOND: Duration = Duration::from_secs(5);

#[tokio::test]
async fn lists_and_failures() {
    let server = FakeModel::start().await;
    let key = SecretString::from("sk-test-key");
    for protocol in [Protocol::Chat, Protocol::Responses, Protocol::Anthropic] {
        let models = list_models(&server.base_url(), Some(&key), protocol, SECOND).await;
        assert_eq!(models.unwrap(), [MODEL_ID]);
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
