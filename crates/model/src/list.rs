//! Asking an endpoint which models it has: for auto-detection and for diagnosis.

use std::time::Duration;

use posse_protocol::{ModelError, ModelErrorKind};
use secrecy::SecretString;
use serde_json::Value;

use crate::fault::{ProviderError, Secrets};
use crate::http::{Clients, describe};
use crate::{Protocol, endpoint, limits, live};

/// One model of an endpoint's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedModel {
    /// The endpoint's name of it.
    pub name: String,
    /// How many tokens it takes in all, where the endpoint says so.
    pub context_window: Option<u64>,
}

/// The models an endpoint says it has. One request, no retries, done within `timeout`.
pub async fn list_models(
    base_url: &str,
    api_key: Option<&SecretString>,
    protocol: Protocol,
    timeout: Duration,
) -> Result<Vec<ListedModel>, ModelError> {
    let base = live::base("", base_url).map_err(|error| bad_request(&error.to_string()))?;
    let host = endpoint::host(&base);
    match tokio::time::timeout(timeout, fetch(&base, api_key, protocol, timeout)).await {
        Ok(models) => models,
        Err(_) => {
            let text = format!("{host} did not list its models within {} ms.", timeout.as_millis());
            Err(ModelError::new(ModelErrorKind::Stalled, text))
        }
    }
}

async fn fetch(
    base: &reqwest::Url,
    api_key: Option<&SecretString>,
    protocol: Protocol,
    timeout: Duration,
) -> Result<Vec<ListedModel>, ModelError> {
    let host = endpoint::host(base);
    let unreachable = |cause: String| {
        ModelError::new(
            ModelErrorKind::Unreachable,
            format!("No connection to {host}: {cause}. Is the server running?"),
        )
    };
    let headers = live::headers("", api_key, protocol).map_err(|error| bad_request(&error.to_string()))?;
    let connect_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX).clamp(1, limits::CONNECT_MS);
    let url = endpoint::join(base, "models");
    let client = Clients::default().get(&url, connect_ms).map_err(unreachable)?;
    let sent = client.get(url).headers(headers).send().await;
    let mut response = sent.map_err(|error| unreachable(describe(&error.without_url())))?;
    let status = response.status();
    let mut body = Vec::new();
    while let Some(part) =
        response.chunk().await.map_err(|error| unreachable(describe(&error.without_url())))?
    {
        body.extend_from_slice(&part);
        if body.len() > limits::MODEL_LIST_BYTES_MAX {
            return Err(bad_reply(&host, "the list is longer than is accepted"));
        }
    }
    if !status.is_success() {
        let secrets = Secrets::new(api_key.cloned().into_iter().chain(endpoint::secrets(base)));
        let fault = ProviderError::from_body(status.as_u16(), &body).fault(&host, &secrets);
        return Err(fault.into_error(String::new()));
    }
    listed(&body).ok_or_else(|| bad_reply(&host, "the answer is not a list of models"))
}

/// OpenAI and Anthropic name the list `data` and the field `id`; others `models` and `name`.
fn listed(body: &[u8]) -> Option<Vec<ListedModel>> {
    let value: Value = serde_json::from_slice(body).ok()?;
    let list =
        value["data"].as_array().or_else(|| value["models"].as_array()).or_else(|| value.as_array())?;
    let model = |entry: &Value| {
        let name = entry["id"].as_str().or_else(|| entry["name"].as_str())?.to_owned();
        Some(ListedModel { name, context_window: context_window(entry) })
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
    ModelError::new(ModelErrorKind::BadReply, format!("{host}: {what}. Check its endpoint."))
}
