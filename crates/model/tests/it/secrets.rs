//! Keys go to the endpoint and nowhere else.

use posse_model::{Governors, Model, ModelConfig, Protocol, SecretString};
use posse_testkit::{FakeModel, Turn};
use serde_json::json;

use crate::{PROTOCOLS, ask, config, model, question};

const KEY: &str = "sk-very-secret-0123456789";
const HEADER: &str = "header-secret-987654";

fn with_secrets(protocol: Protocol, server: &FakeModel) -> ModelConfig {
    let base_url = server.base_url().replace("http://", "http://user:password-1234@");
    let api_key = Some(SecretString::from(KEY));
    let headers = vec![("x-gateway".to_owned(), HEADER.to_owned())];
    ModelConfig { api_key, headers, base_url, ..config(protocol, server) }
}

#[tokio::test]
async fn keys_are_sent_in_the_protocols_way() {
    for protocol in PROTOCOLS {
        let server = FakeModel::with([Turn::text("ok")]).await;
        let model = model(with_secrets(protocol, &server));
        ask(&model, &question(&model)).await.0.unwrap();
        let request = &server.requests()[0];
        if protocol == Protocol::Anthropic {
            assert_eq!(request.header("x-api-key"), Some(KEY));
            assert_eq!(request.header("anthropic-version"), Some("2023-06-01"));
            assert_eq!(request.path, "/v1/messages");
        } else {
            assert_eq!(request.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
        }
        assert_eq!(request.header("x-gateway"), Some(HEADER));
        assert_eq!(request.header("content-type"), Some("application/json"));
    }
}

#[tokio::test]
async fn keys_are_shown_nowhere() {
    let echo = json!({"error": {"message": format!("bad key {KEY}, header {HEADER}, password-1234")}});
    let turns: [fn(serde_json::Value) -> Turn; 3] = [
        |echo| Turn::status_body(401, echo),
        |echo| Turn::raw(format!("data: {echo}\n\n")),
        |_| Turn::status(302).header("location", &format!("http://x/{KEY}")),
    ];
    let mut texts = Vec::new();
    for turn in turns {
        let server = FakeModel::with((0..4).map(|_| turn(echo.clone()))).await;
        let model = model(with_secrets(Protocol::Chat, &server));
        texts.push(format!("{:?}", ask(&model, &question(&model)).await.0.unwrap_err()));
        texts.push(format!("{:?}", model.config()));
        texts.push(format!("{:?}", question(&model)));
    }
    let server = FakeModel::start().await;
    let unsendable =
        ModelConfig { api_key: Some(format!("{KEY}\n").into()), ..with_secrets(Protocol::Chat, &server) };
    texts.push(Model::new(unsendable, &Governors::new()).err().unwrap().to_string());
    let nowhere = ModelConfig {
        base_url: "http://user:password-1234@127.0.0.1:1".into(),
        ..with_secrets(Protocol::Chat, &server)
    };
    let unreachable = model(nowhere);
    texts.push(format!("{:?}", ask(&unreachable, &question(&unreachable)).await.0.unwrap_err()));
    assert_eq!(texts.len(), 11);
    for text in texts {
        let leaked = [KEY, HEADER, "password-1234"].into_iter().find(|secret| text.contains(secret));
        assert_eq!(leaked, None, "{text}");
    }
}

/// An address with a secret in each of its parts, and the secrets.
fn address(server: &FakeModel) -> (String, Vec<String>) {
    let secrets = ["user-secret-11", "pass word/22+x", "key-secret-33", "tok%en secret&44"];
    let [user, password, key, token] = secrets;
    let mut url: reqwest::Url = server.base_url().parse().unwrap();
    url.set_username(user).unwrap();
    url.set_password(Some(password)).unwrap();
    url.query_pairs_mut().append_pair("key", key).append_pair("token", token);
    let written = [url.password().unwrap().to_owned(), url.query().unwrap().to_owned()];
    let encoded = url.query().unwrap().split("token=").nth(1).unwrap().to_owned();
    let all = secrets.map(str::to_owned).into_iter().chain(written).chain([encoded]);
    (url.to_string(), all.collect())
}

#[tokio::test]
async fn credentials_in_an_address_work_and_are_shown_nowhere() {
    let server = FakeModel::start().await;
    let (base_url, secrets) = address(&server);
    let config = || ModelConfig { base_url: base_url.clone(), ..config(Protocol::Chat, &server) };
    let model = model(config());
    server.push(Turn::text("ok"));
    ask(&model, &question(&model)).await.0.unwrap();
    let request = &server.requests()[0];
    assert!(request.path.starts_with("/v1/chat/completions?key=key-secret-33&token="), "{}", request.path);
    assert!(request.header("authorization").is_some_and(|value| value.starts_with("Basic ")));
    let mut texts =
        vec![format!("{model:?}"), model.config().endpoint(), posse_model::shown_address(&base_url)];
    let echo = || json!({"error": {"message": secrets.join(" and ")}});
    for turn in [
        Turn::status_body(401, echo()),
        Turn::raw(format!("data: {}\n\n", echo())),
        Turn::status(302).header("location", &base_url),
    ] {
        server.push(turn);
        texts.push(format!("{:?}", ask(&model, &question(&model)).await.0.unwrap_err()));
    }
    for address in
        ["http://me:password-1234@/v1", "me:password-1234@host:80", "host?key=key-secret-33", "not one"]
    {
        texts.push(posse_model::shown_address(address));
        let broken = ModelConfig { base_url: address.into(), ..config() };
        texts.push(
            Model::new(broken, &Governors::new()).err().map(|error| error.to_string()).unwrap_or_default(),
        );
    }
    for text in &texts {
        let leaked =
            secrets.iter().map(String::as_str).chain(["password-1234"]).find(|secret| text.contains(secret));
        assert_eq!(leaked, None, "{text}");
    }
    assert_eq!(texts.len(), 14);
    assert_eq!(texts[1], server.base_url());
}
