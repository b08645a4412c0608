//! Which models a server has, told where it does not have the one that was asked for: one more request, once.

use std::cmp::Reverse;
use std::time::Duration;

use posse_protocol::{ModelError, ModelErrorKind};
use reqwest::header::CONTENT_TYPE;

use crate::fault::{Secrets, excerpt};
use crate::live::LiveModel;
use crate::words::ErrorWords;
use crate::{ListedModel, ModelConfig, endpoint, limits, list};

/// The error with the names there are, or as it was where the server does not list them.
pub(crate) async fn look_up(live: &LiveModel, config: &ModelConfig, error: ModelError) -> ModelError {
    let time = Duration::from_millis(limits::MODEL_NAMES_MS);
    match tokio::time::timeout(time, names(live, config)).await {
        Ok(Some(models)) if !models.is_empty() => told(config, &models, error),
        _ => error,
    }
}

/// The error of a model that a server does not list, if it does list others.
pub fn missing(config: &ModelConfig, models: &[ListedModel]) -> Option<ModelError> {
    if models.is_empty() || list::lists(models, &config.model) {
        return None;
    }
    let base = endpoint::parse(&config.base_url)?;
    let secrets = Secrets::new(config.api_key.clone().into_iter().chain(endpoint::secrets(&base)));
    let mut names: Vec<&str> = models.iter().map(|model| model.name.as_str()).collect();
    // The ones that look alike first; a misspelt name is the usual cause.
    names.sort_by_key(|name| Reverse(likeness(name, &config.model)));
    let shown = names.iter().take(limits::MODEL_NAMES_SHOWN_MAX).map(|name| cleaned(name, &secrets));
    let words = ErrorWords { host: &endpoint::host(&base), secrets: &secrets, config: Some(config) };
    let asked = cleaned(&config.model, &secrets);
    let (message, advice) = words.unknown_model(&asked, &shown.collect::<Vec<_>>(), names.len());
    Some(ModelError { advice, ..ModelError::new(ModelErrorKind::UnknownModel, message) })
}

async fn names(live: &LiveModel, config: &ModelConfig) -> Option<Vec<ListedModel>> {
    let url = list::address(&endpoint::parse(&config.base_url)?);
    let mut headers = live.headers.clone();
    headers.remove(CONTENT_TYPE);
    let request = live.client().ok()?.get(url).headers(headers);
    let (status, body) = list::read(request).await.ok()??;
    if status.is_success() { list::listed(&body) } else { None }
}

fn told(config: &ModelConfig, models: &[ListedModel], error: ModelError) -> ModelError {
    match missing(config, models) {
        Some(missing) => ModelError { said: error.said, partial: error.partial, ..missing },
        None => {
            let advice = "the server lists the model: check `endpoint` and `protocol` instead".to_owned();
            ModelError { advice, ..error }
        }
    }
}

/// How many characters two names have in common at their beginning.
fn likeness(name: &str, asked: &str) -> usize {
    let end = |name: &str| name.rsplit('/').next().unwrap_or_default().to_lowercase();
    end(name).chars().zip(end(asked).chars()).take_while(|(a, b)| a == b).count()
}

fn cleaned(name: &str, secrets: &Secrets) -> String {
    excerpt(name, secrets).chars().take(limits::MODEL_NAME_CHARS_MAX).collect()
}
