//! Asking an endpoint which models it has: for auto-detection and for diagnosis.

use std::time::Duration;

use posse_protocol::{ModelError, ModelErrorKind};
use reqwest::header::HeaderMap;
use reqwest::{RequestBuilder, StatusCode};
use secrecy::SecretString;
use serde_json::Value;

use crate::fault::Secrets;
use crate::http::Clients;
use crate::trouble::ProviderError;
use crate::words::ErrorWords;
use crate::{ModelConfig, Protocol, endpoint, limits, live};

/// One model of an endpoint's list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedModel {
    /// The endpoint's name of it.
    pub name: String,
    /// How many tokens it takes in all, where the endpoint says so.
    pub context_window: Option<u64>,
    /// Whether its server has one model and calls it whatever the request does.
    pub takes_any_name: bool,
}

/// Whether a model of this name is in a list. Providers also know names without the date or tag that the list gives.
pub fn lists(models: &[ListedModel], name: &str) -> bool {
    let dated = |rest: &str| rest.starts_with(":latest") || rest.strip_prefix('-').is_some_and(is_date);
    let known = |listed: &str| {
        let listed = listed.strip_prefix("models/").unwrap_or(listed);
        listed == name
            || listed.strip_prefix(name).is_some_and(dated)
            || name.strip_prefix(listed) == Some(":latest")
    };
    models.iter().any(|model| model.takes_any_name || known(&model.name))
        || name
            .strip_suffix("-latest")
            .is_some_and(|family| models.iter().any(|model| model.name.starts_with(family)))
}

fn is_date(text: &str) -> bool {
    let digits = text.chars().filter(char::is_ascii_digit).count();
    (4..=8).contains(&digits) && text.chars().all(|c| c.is_ascii_digit() || c == '-')
}

/// The models an endpoint says it has. One request, no retries, done within `timeout`.
pub async fn list_models(
    base_url: &str,
    api_key: Option<&SecretString>,
    protocol: Protocol,
    timeout: Duration,
) -> Result<Vec<ListedModel>, ModelError> {
    listed_at(base_url, api_key, protocol, None, timeout).await
}

/// The same for a configured model; errors then say what to do about its settings.
pub async fn list_models_of(config: &ModelConfig, timeout: Duration) -> Result<Vec<ListedModel>, ModelError> {
    listed_at(&config.base_url, config.api_key.as_ref(), config.protocol, Some(config), timeout).await
}

async fn listed_at(
    base_url: &str,
    api_key: Option<&SecretString>,
    protocol: Protocol,
    config: Option<&ModelConfig>,
    timeout: Duration,
) -> Result<Vec<ListedModel>, ModelError> {
    let base = live::base("", base_url).map_err(|error| bad_request(&error.to_string()))?;
    let host = endpoint::host(&base);
    let secrets = Secrets::new(api_key.cloned().into_iter().chain(endpoint::secrets(&base)));
    let headers = live::headers("", api_key, protocol).map_err(|error| bad_request(&error.to_string()))?;
    let words = ErrorWords { host: &host, secrets: &secrets, config };
    match tokio::time::timeout(timeout, fetch(&base, headers, &words, timeout)).await {
        Ok(models) => models,
        Err(_) => {
            let text = format!("{host} did not list its models within {} ms", timeout.as_millis());
            Err(ModelError::new(ModelErrorKind::Stalled, text))
        }
    }
}

async fn fetch(
    base: &reqwest::Url,
    headers: HeaderMap,
    words: &ErrorWords<'_>,
    timeout: Duration,
) -> Result<Vec<ListedModel>, ModelError> {
    let host = words.host;
    let connect_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX).clamp(1, limits::CONNECT_MS);
    let url = address(base);
    let client = Clients::default().get(&url, connect_ms).map_err(|cause| {
        ModelError::new(ModelErrorKind::Unreachable, format!("no connection to {host}: {cause}"))
    })?;
    let (status, body) = match read(client.get(url).headers(headers)).await {
        Ok(Some(answer)) => answer,
        Ok(None) => return Err(bad_reply(host, "the list is longer than is accepted")),
        Err(error) => {
            let fault = words.unsent(error);
            return Err(ModelError { kind: ModelErrorKind::Unreachable, ..fault.into_error(String::new()) });
        }
    };
    if !status.is_success() {
        let fault = ProviderError::from_body(status.as_u16(), &body).fault(words);
        return Err(fault.into_error(String::new()));
    }
    listed(&body).ok_or_else(|| bad_reply(host, "the answer is not a list of models"))
}

/// Where the list is. Anthropic gives it in pages; one of the greatest size holds all.
pub(crate) fn address(base: &reqwest::Url) -> reqwest::Url {
    let mut url = endpoint::join(base, "models");
    if url.host_str() == Some("api.anthropic.com") {
        url.query_pairs_mut().append_pair("limit", "1000");
    }
    url
}

/// Status and body of an answer, unless that is longer than is accepted.
pub(crate) async fn read(request: RequestBuilder) -> reqwest::Result<Option<(StatusCode, Vec<u8>)>> {
    let mut response = request.send().await?;
    let status = response.status();
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await? {
        body.extend_from_slice(&part);
        if body.len() > limits::MODEL_LIST_BYTES_MAX {
            return Ok(None);
        }
    }
    Ok(Some((status, body)))
}

/// OpenAI and Anthropic name the list `data` and the field `id`; others `models` and `name`.
pub(crate) fn listed(body: &[u8]) -> Option<Vec<ListedModel>> {
    let value: Value = serde_json::from_str(&String::from_utf8_lossy(body)).ok()?;
    let list =
        value["data"].as_array().or_else(|| value["models"].as_array()).or_else(|| value.as_array())?;
    let model = |entry: &Value| {
        let name = entry["id"].as_str().or_else(|| entry["name"].as_str())?.to_owned();
        let takes_any_name = entry["owned_by"] == "llamacpp";
        Some(ListedModel { name, context_window: context_window(entry), takes_any_name })
    };
    Some(list.iter().filter_map(model).take(limits::MODEL_LIST_MAX).collect())
}

/// What is in force comes before what would be possible: llama.cpp, vLLM, LM Studio, OpenRouter.
fn context_window(entry: &Value) -> Option<u64> {
    let places = [
        &entry["meta"]["n_ctx"],
        &entry["max_model_len"],
        &entry["loaded_context_length"],
        &entry["context_length"],
    ];
    places.into_iter().find_map(Value::as_u64).filter(|tokens| *tokens > 0)
}

fn bad_request(text: &str) -> ModelError {
    ModelError::new(ModelErrorKind::BadRequest, text)
}

fn bad_reply(host: &str, what: &str) -> ModelError {
    ModelError::new(ModelErrorKind::BadReply, format!("{host}: {what}; check its endpoint"))
}
