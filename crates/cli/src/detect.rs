//! Which model is used: the named one, the configured one, or the first that is found.

use std::time::Duration;

use anyhow::{anyhow, bail};
use posse_engine::models::{ListedModel, ModelConfig, Protocol, SecretString, list_models, shown_address};
use posse_protocol::{ModelError, Prices};

use crate::config::{Config, ModelFile};
use crate::exit::Exit;
use crate::providers::{PROVIDERS, Provider};
use crate::surroundings::shown;

/// How long a local server has to say that it is there.
const PROBE_MS: u64 = 700;

/// The variable that names the model to use.
const MODEL_VARIABLE: &str = "POSSE_MODEL";

/// A model that can be called, and what it costs.
pub(crate) struct Choice {
    pub(crate) model: ModelConfig,
    pub(crate) prices: Option<Prices>,
}

/// Finds the model to use, or says what to do about it.
pub(crate) async fn choose(config: &Config, named: Option<&str>) -> anyhow::Result<Choice> {
    let mut choice = found(config, named).await?;
    choice.model.profile = choice.model.profile.or(config.profile);
    Ok(choice)
}

async fn found(config: &Config, named: Option<&str>) -> anyhow::Result<Choice> {
    if let Some(name) = named.or(config.model.as_deref()) {
        return by_name(config, name).await;
    }
    match config.models.iter().next() {
        Some((name, file)) if config.models.len() == 1 => return configured(name, file),
        // Whoever has configured models did not mean any other.
        Some(_) => {
            let names = config.models.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            bail!(
                "several models are configured ({names}); choose one with --model, or with `model = \"NAME\"` in the file"
            );
        }
        None => {}
    }
    for provider in PROVIDERS.iter().filter(|p| p.key().is_some()) {
        if let Some(model) = provider.model {
            return Ok(provided(provider, model, provider.context_window));
        }
    }
    match first_local().await {
        Some((provider, model)) => Ok(provided(provider, &model.name, model.context_window)),
        None => Err(nothing_found(config)),
    }
}

/// The name and the provider's name of the model that would be used, as far as no server has to be asked for it.
pub(crate) fn settled(config: &Config) -> Option<(String, String)> {
    let named =
        std::env::var(MODEL_VARIABLE).ok().filter(|name| !name.is_empty()).or_else(|| config.model.clone());
    let only = || config.models.keys().next().filter(|_| config.models.len() == 1).cloned();
    if let Some(name) = named.or_else(only) {
        let configured = config.models.get(&name).and_then(|file| file.model.clone());
        let id = || name.split_once('/').map_or(name.clone(), |(_, model)| model.to_string());
        return Some((name.clone(), configured.unwrap_or_else(id)));
    }
    let provider =
        PROVIDERS.iter().find(|p| config.models.is_empty() && p.key().is_some() && p.model.is_some())?;
    let model = provider.model?;
    Some((format!("{}/{model}", provider.name), model.to_string()))
}

/// A configured model, or `PROVIDER/MODEL`, or a provider's name for its usual model.
async fn by_name(config: &Config, name: &str) -> anyhow::Result<Choice> {
    if let Some(file) = config.models.get(name) {
        return configured(name, file);
    }
    if let Some((provider, model)) = of_provider(name) {
        let provider = with_key(provider)?;
        return match model.or(provider.model) {
            Some(model) => {
                let window = match provider.context_window {
                    None if provider.key_env.is_none() => listed_window(provider, model).await,
                    known => known,
                };
                Ok(provided(provider, model, window))
            }
            None => {
                let model = probe(provider).await.map_err(|error| anyhow!("{}: {error}", provider.title))?;
                Ok(provided(provider, &model.name, model.context_window))
            }
        };
    }
    let known = config.models.keys().map(String::as_str).collect::<Vec<_>>();
    let known = if known.is_empty() { "none is configured".to_string() } else { known.join(", ") };
    let providers = PROVIDERS.map(|p| p.name).join(", ");
    bail!(
        "there is no model {name:?}. Configured: {known}. Or name one as PROVIDER/MODEL, with one of: {providers}"
    )
}

pub(crate) fn configured(name: &str, file: &ModelFile) -> anyhow::Result<Choice> {
    let wanted = |what: &str| anyhow!("[models.{name}] needs `{what}`");
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
            bail!(
                "[models.{name}] api_key_env is the name of a variable, such as MY_KEY; the key itself never goes into a file"
            );
        }
        let key = std::env::var(variable).ok().filter(|key| !key.trim().is_empty());
        let key =
            key.ok_or_else(|| anyhow!("[models.{name}] takes its key from {variable}, which is not set"))?;
        model.api_key = Some(SecretString::from(key));
        model.key_name = Some(variable.clone());
    }
    model.section = Some(format!("[models.{name}]"));
    model.context_window = file.context_window;
    model.profile = file.profile;
    model.max_output_tokens = file.max_output_tokens;
    model.max_concurrent = file.max_concurrent.unwrap_or(model.max_concurrent);
    model.tool_calls = file.tool_calls;
    model.reasoning_effort.clone_from(&file.reasoning_effort);
    model.temperature = file.temperature;
    if let Some(idle) = file.idle_timeout {
        model.timeouts.idle_ms = idle.0;
        model.timeouts.first_byte_ms = model.timeouts.first_byte_ms.max(idle.0);
    }
    Ok(Choice { model, prices: file.price })
}

/// The provider that a name begins with, and the model if it names one.
fn of_provider(name: &str) -> Option<(&'static Provider, Option<&str>)> {
    let (provider, model) =
        name.split_once('/').map_or((name, None), |(provider, model)| (provider, Some(model)));
    Provider::named(provider).map(|provider| (provider, model))
}

fn with_key(provider: &Provider) -> anyhow::Result<&Provider> {
    match (provider.key_env, provider.key()) {
        (Some(variable), None) => bail!("{} needs a key: set {variable}", provider.title),
        _ => Ok(provider),
    }
}

/// `PROVIDER/MODEL` for sub-agents, under the name as it is written; nothing where that names no provider. No server is
/// asked for it.
pub(crate) fn for_sub_agents(name: &str) -> Option<anyhow::Result<Choice>> {
    let (provider, model) = of_provider(name)?;
    let choice = || {
        let provider = with_key(provider)?;
        let model = model.or(provider.model);
        let model = model.ok_or_else(|| anyhow!("write {}/MODEL", provider.name))?;
        let mut choice = provided(provider, model, provider.context_window);
        choice.model.name = name.to_string();
        Ok(choice)
    };
    Some(choice())
}

fn provided(provider: &Provider, model: &str, context_window: Option<u64>) -> Choice {
    // llama.cpp names a model by its file; people need the last part only.
    let short = model.rsplit('/').next().unwrap_or(model);
    let name = format!("{}/{}", provider.name, if model.starts_with('/') { short } else { model });
    let mut config = ModelConfig::new(name, model, provider.protocol, provider.endpoint());
    config.api_key = provider.key().map(SecretString::from);
    config.key_name = provider.key_env.map(str::to_string);
    config.context_window = context_window;
    config.temperature = provider.temperature;
    Choice { model: config, prices: None }
}

/// The window that a local server gives a model, if it answers and says so.
async fn listed_window(provider: &Provider, model: &str) -> Option<u64> {
    let timeout = Duration::from_millis(PROBE_MS);
    let models = list_models(&provider.endpoint(), None, provider.protocol, timeout).await.ok()?;
    models.into_iter().find(|listed| listed.name == model)?.context_window
}

/// Asks a server for its models and takes the first.
pub(crate) async fn probe(provider: &Provider) -> Result<ListedModel, ModelError> {
    let endpoint = provider.endpoint();
    let timeout = Duration::from_millis(PROBE_MS);
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
async fn first_local() -> Option<(&'static Provider, ListedModel)> {
    let mut probes = tokio::task::JoinSet::new();
    for (index, provider) in PROVIDERS.iter().enumerate().filter(|(_, p)| p.key_env.is_none()) {
        probes.spawn(async move { (index, probe(provider).await) });
    }
    let mut found = probes.join_all().await;
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().find_map(|(index, result)| result.ok().map(|model| (&PROVIDERS[index], model)))
}

/// What to do, a line each.
fn nothing_found(config: &Config) -> anyhow::Error {
    let names = |keyed: bool| -> Vec<&str> {
        let of_kind = PROVIDERS.iter().filter(|provider| provider.key_env.is_some() == keyed);
        of_kind.map(|provider| provider.key_env.unwrap_or(provider.title)).collect()
    };
    let keys = names(true);
    let first = keys.first().copied().unwrap_or_default();
    let others: Vec<String> =
        keys.iter().skip(1).map(|key| key.strip_suffix("API_KEY").unwrap_or(key).to_string()).collect();
    let servers: Vec<&str> = names(false).into_iter().filter(|title| *title != "Ollama").collect();
    Exit::NoModel.because(format!(
        "no model found\n\
         with a key       export {first}=…  (or {})\n\
         on this machine  ollama serve  (or {})\n\
         your own         [models.NAME] in {}\n\
         just look        posse demo",
        others.join(", "),
        servers.join(", "),
        config.own_file.as_deref().map_or("the configuration".to_string(), shown)
    ))
}
