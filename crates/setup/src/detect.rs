//! Which model is used, and how it is called.

use std::time::Duration;

use posse_model::{ListedModel, ModelConfig, Protocol, SecretString, list_models, shown_address};
use posse_protocol::{ModelError, Prices};

use crate::config::{Config, ModelFile};
use crate::error::ModelChoiceError;
use crate::limits::SERVER_PROBE_MS;
use crate::providers::{PROVIDERS, Provider};
use crate::surroundings::Surroundings;

/// The variable that names the model to use.
const MODEL_VARIABLE: &str = "POSSE_MODEL";

/// A model that can be called, and what it costs.
pub struct ModelChoice {
    /// The model.
    pub model: ModelConfig,
    /// US dollars for a million tokens, where they are known.
    pub prices: Option<Prices>,
}

/// The model that the environment names.
pub(crate) fn named_model(surroundings: &Surroundings) -> Option<&str> {
    surroundings.text(MODEL_VARIABLE)
}

/// Finds the model to use: the named one, the one of `POSSE_MODEL`, a configured one, or the first that is found.
pub async fn choose(
    config: &Config,
    surroundings: &Surroundings,
    named: Option<&str>,
) -> Result<ModelChoice, ModelChoiceError> {
    let named = named.or_else(|| named_model(surroundings));
    let mut choice = found(config, surroundings, named).await?;
    choice.model.profile = choice.model.profile.or(config.profile);
    Ok(choice)
}

async fn found(
    config: &Config,
    surroundings: &Surroundings,
    named: Option<&str>,
) -> Result<ModelChoice, ModelChoiceError> {
    if let Some(name) = named.or(config.model.as_deref()) {
        return by_name(config, surroundings, name).await;
    }
    match config.models.iter().next() {
        Some((name, file)) if config.models.len() == 1 => return configured(name, file, surroundings),
        // Whoever has configured models did not mean any other.
        Some(_) => return Err(ModelChoiceError::Several { names: config.models.keys().cloned().collect() }),
        None => {}
    }
    for provider in PROVIDERS.iter().filter(|p| p.key(surroundings).is_some()) {
        if let Some(model) = provider.model {
            return Ok(provided(provider, surroundings, model, provider.context_window));
        }
    }
    match first_local(surroundings).await {
        Some((provider, model)) => Ok(provided(provider, surroundings, &model.name, model.context_window)),
        None => Err(ModelChoiceError::NoneFound { own_file: config.own_file.clone() }),
    }
}

/// The name and the provider's name of the model that would be used, as far as no server has to be asked for it.
pub(crate) fn settled(config: &Config, surroundings: &Surroundings) -> Option<(String, String)> {
    let said = named_model(surroundings).filter(|name| !name.is_empty());
    let named = said.map(str::to_owned).or_else(|| config.model.clone());
    let only = || config.models.keys().next().filter(|_| config.models.len() == 1).cloned();
    if let Some(name) = named.or_else(only) {
        let configured = config.models.get(&name).and_then(|file| file.model.clone());
        let id = || name.split_once('/').map_or(name.clone(), |(_, model)| model.to_string());
        return Some((name.clone(), configured.unwrap_or_else(id)));
    }
    let has_model = |p: &&Provider| p.key(surroundings).is_some() && p.model.is_some();
    let provider = PROVIDERS.iter().filter(|_| config.models.is_empty()).find(has_model)?;
    let model = provider.model?;
    Some((format!("{}/{model}", provider.name), model.to_string()))
}

/// A configured model, or `PROVIDER/MODEL`, or a provider's name for its usual model.
async fn by_name(
    config: &Config,
    surroundings: &Surroundings,
    name: &str,
) -> Result<ModelChoice, ModelChoiceError> {
    if let Some(file) = config.models.get(name) {
        return configured(name, file, surroundings);
    }
    if let Some((provider, model)) = of_provider(name) {
        let provider = with_key(provider, surroundings)?;
        return match model.or(provider.model) {
            Some(model) => {
                let window = match provider.context_window {
                    None if provider.key_env.is_none() => listed_window(provider, surroundings, model).await,
                    known => known,
                };
                Ok(provided(provider, surroundings, model, window))
            }
            None => {
                let probed = probe(provider, provider.endpoint(surroundings)).await;
                let no_answer = |error| ModelChoiceError::NoAnswer { provider: provider.title, error };
                let model = probed.map_err(no_answer)?;
                Ok(provided(provider, surroundings, &model.name, model.context_window))
            }
        };
    }
    let configured = config.models.keys().cloned().collect();
    Err(ModelChoiceError::Unknown { name: name.to_owned(), configured })
}

pub(crate) fn configured(
    name: &str,
    file: &ModelFile,
    surroundings: &Surroundings,
) -> Result<ModelChoice, ModelChoiceError> {
    let wanted = |setting| ModelChoiceError::Incomplete { name: name.to_owned(), setting };
    let mut model = match (file.protocol, &file.cassette) {
        (Protocol::Replay, Some(cassette)) => ModelConfig::replay(name, cassette),
        (Protocol::Replay, None) => return Err(wanted("cassette")),
        (protocol, _) => {
            let endpoint = file.endpoint.as_ref().ok_or_else(|| wanted("endpoint"))?;
            let id = file.model.as_ref().ok_or_else(|| wanted("model"))?;
            ModelConfig::new(name, id, protocol, endpoint)
        }
    };
    if let Some(variable) = &file.api_key_env {
        if !variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(ModelChoiceError::KeyInFile { name: name.to_owned() });
        }
        let key = surroundings.text(variable).filter(|key| !key.trim().is_empty());
        let not_set = || ModelChoiceError::KeyNotSet { name: name.to_owned(), variable: variable.clone() };
        let key = key.ok_or_else(not_set)?;
        model.api_key = Some(SecretString::from(key));
        model.key_name = Some(variable.clone());
    }
    model.section = Some(format!("[models.{name}]"));
    model.context_window = file.context_window;
    model.profile = file.profile;
    model.images = file.images.unwrap_or(false);
    model.documents = file.documents;
    model.max_output_tokens = file.max_output_tokens;
    model.max_concurrent = file.max_concurrent.unwrap_or(model.max_concurrent);
    model.tool_calls = file.tool_calls;
    model.reasoning_effort.clone_from(&file.reasoning_effort);
    model.temperature = file.temperature;
    if let Some(idle) = file.idle_timeout {
        model.timeouts.idle_ms = idle.0;
        model.timeouts.first_byte_ms = model.timeouts.first_byte_ms.max(idle.0);
    }
    Ok(ModelChoice { model, prices: file.price })
}

/// The provider that a name begins with, and the model if it names one.
fn of_provider(name: &str) -> Option<(&'static Provider, Option<&str>)> {
    let (provider, model) =
        name.split_once('/').map_or((name, None), |(provider, model)| (provider, Some(model)));
    // Behind a slash there may be nothing yet.
    let model = model.filter(|model| !model.trim().is_empty());
    Provider::named(provider).map(|provider| (provider, model))
}

fn with_key<'a>(
    provider: &'a Provider,
    surroundings: &Surroundings,
) -> Result<&'a Provider, ModelChoiceError> {
    match (provider.key_env, provider.key(surroundings)) {
        (Some(variable), None) => Err(ModelChoiceError::ProviderKey { provider: provider.title, variable }),
        _ => Ok(provider),
    }
}

/// `PROVIDER/MODEL` for sub-agents, under the name as it is written; nothing where that names no provider. No server is
/// asked for it.
pub(crate) fn for_sub_agents(
    name: &str,
    surroundings: &Surroundings,
) -> Option<Result<ModelChoice, ModelChoiceError>> {
    let (provider, model) = of_provider(name)?;
    let choice = || {
        let provider = with_key(provider, surroundings)?;
        let model = model.or(provider.model);
        let model = model.ok_or(ModelChoiceError::NoUsualModel { provider: provider.name })?;
        let mut choice = provided(provider, surroundings, model, provider.context_window);
        choice.model.name = name.to_string();
        Ok(choice)
    };
    Some(choice())
}

fn provided(
    provider: &Provider,
    surroundings: &Surroundings,
    model: &str,
    context_window: Option<u64>,
) -> ModelChoice {
    // llama.cpp names a model by its file; people need the last part only.
    let short = model.rsplit('/').next().unwrap_or(model);
    let name = format!("{}/{}", provider.name, if model.starts_with('/') { short } else { model });
    let mut config = ModelConfig::new(name, model, provider.protocol, provider.endpoint(surroundings));
    config.api_key = provider.key(surroundings).map(SecretString::from);
    config.key_name = provider.key_env.map(str::to_string);
    config.context_window = context_window;
    config.temperature = provider.temperature;
    config.images = provider.images.iter().any(|family| model.starts_with(family));
    ModelChoice { model: config, prices: None }
}

/// The window that a local server gives a model, if it answers and says so.
async fn listed_window(provider: &Provider, surroundings: &Surroundings, model: &str) -> Option<u64> {
    let timeout = Duration::from_millis(SERVER_PROBE_MS);
    let models =
        list_models(&provider.endpoint(surroundings), None, provider.protocol, timeout).await.ok()?;
    models.into_iter().find(|listed| listed.name == model)?.context_window
}

/// Asks a provider's server for its models and takes the first.
pub async fn probe(provider: &Provider, endpoint: String) -> Result<ListedModel, ModelError> {
    let timeout = Duration::from_millis(SERVER_PROBE_MS);
    let models = list_models(&endpoint, None, provider.protocol, timeout).await?;
    let none = || {
        ModelError::new(
            posse_protocol::ModelErrorKind::BadReply,
            format!("{} lists no models", shown_address(&endpoint)),
        )
    };
    // Servers list what they use for search beside what can talk.
    models.into_iter().find(|model| !model.name.contains("embed")).ok_or_else(none)
}

/// Asks all local servers at once; the first of the table that answers wins.
async fn first_local(surroundings: &Surroundings) -> Option<(&'static Provider, ListedModel)> {
    let mut probes = tokio::task::JoinSet::new();
    for (index, provider) in PROVIDERS.iter().enumerate().filter(|(_, p)| p.key_env.is_none()) {
        let endpoint = provider.endpoint(surroundings);
        probes.spawn(async move { (index, probe(provider, endpoint).await) });
    }
    let mut found = probes.join_all().await;
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().find_map(|(index, result)| result.ok().map(|model| (&PROVIDERS[index], model)))
}
