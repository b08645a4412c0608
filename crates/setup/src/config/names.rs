//! Names in a configuration file that must mean something: tools in rules, and models. A misspelt one is an error with its
//! file, its line and a suggestion, because a rule about nothing holds nothing back.

use std::collections::BTreeMap;
use std::ops::Range;

use posse_policy::{Rules, is_tool};
use posse_roles::likely_tool;
use serde::Deserialize;
use toml::Spanned;

use super::Config;
use crate::error::ConfigError;
use crate::providers::Provider;
use crate::surroundings::ShownPath;

/// How alike another name must be to be meant.
const ALIKE: f64 = 0.75;

/// The parts of a file that hold names, with their places.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Places {
    model: Option<Spanned<String>>,
    approval: RulePlaces,
    sub_agents: ModelPlace,
    roles: BTreeMap<String, ModelPlace>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RulePlaces {
    allow: Vec<Spanned<String>>,
    ask: Vec<Spanned<String>>,
    deny: Vec<Spanned<String>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ModelPlace {
    model: Option<Spanned<String>>,
}

/// The models that a file names. Whether they are there is known when all files are read.
#[derive(Clone, Debug, Default)]
pub(super) struct NamedModels {
    file: ShownPath,
    main: Option<(usize, String)>,
    sub_agents: Option<(usize, String)>,
    /// Role, line and name.
    roles: Vec<(String, usize, String)>,
}

/// Checks the rules of a file, and gives back the models it names.
pub(super) fn check(text: &str, path: &ShownPath) -> Result<NamedModels, ConfigError> {
    let line = |span: Range<usize>| text[..span.start.min(text.len())].matches('\n').count() + 1;
    let wrong = |line, fault| ConfigError::Line { path: path.clone(), line, fault };
    let places: Places = toml::from_str(text)
        .map_err(|error| wrong(error.span().map_or(0, line), error.message().to_owned()))?;
    let RulePlaces { allow, ask, deny } = &places.approval;
    for (rules, allows) in [(allow, true), (ask, false), (deny, false)] {
        for rule in rules {
            let one = std::slice::from_ref(rule.get_ref());
            let read = if allows { Rules::parse(one, &[], &[]) } else { Rules::parse(&[], one, &[]) };
            read.map_err(|error| wrong(line(rule.span()), error.to_string()))?;
            let tool = Rules::tool_of(rule.get_ref());
            if !is_tool(tool) {
                let hint = likely_tool(tool).map(|tool| format!("; did you mean {tool:?}?"));
                let hint = hint.unwrap_or_else(|| {
                    "; there are shell, edit_file, write_file, read_file, web_fetch and others".into()
                });
                let (path, line) = (path.clone(), line(rule.span()));
                return Err(ConfigError::UnknownTool { path, line, tool: tool.to_owned(), hint });
            }
        }
    }
    let named = |place: Option<Spanned<String>>| place.map(|name| (line(name.span()), name.into_inner()));
    let role =
        |(role, place): (String, ModelPlace)| named(place.model).map(|(line, name)| (role, line, name));
    Ok(NamedModels {
        roles: places.roles.into_iter().filter_map(role).collect(),
        file: path.clone(),
        main: named(places.model),
        sub_agents: named(places.sub_agents.model),
    })
}

impl NamedModels {
    /// Whether every model that counts is one: configured, or of a provider.
    pub(super) fn check(&self, config: &Config) -> Result<(), ConfigError> {
        let of_all = [(&self.main, &config.model), (&self.sub_agents, &config.sub_agents.model)];
        let of_all = of_all.into_iter().filter_map(|(named, in_force)| Some((named.as_ref()?, in_force)));
        let of_roles = self.roles.iter().filter(|(_, _, name)| !name.eq_ignore_ascii_case("inherit"));
        let of_roles =
            of_roles.filter_map(|(role, line, name)| Some((line, name, &config.roles.get(role)?.model)));
        let counts = of_all.map(|((line, name), in_force)| (line, name, in_force)).chain(of_roles);
        for (line, name, in_force) in counts {
            if in_force.as_ref() == Some(name) && !is_model(config, name) {
                let (path, line, hint) = (self.file.clone(), *line, likely_model(config, name));
                return Err(ConfigError::UnknownModel { path, line, model: name.clone(), hint });
            }
        }
        Ok(())
    }
}

fn is_model(config: &Config, name: &str) -> bool {
    let provider = name.split_once('/').map_or(name, |(provider, _)| provider);
    let by_id = || config.models.values().filter_map(|model| model.model.as_deref());
    config.models.contains_key(name)
        || config
            .models
            .keys()
            .map(String::as_str)
            .chain(by_id())
            .any(|known| known.eq_ignore_ascii_case(name))
        || Provider::named(provider).is_some()
}

/// What may be meant by the name of a model that is none.
fn likely_model(config: &Config, name: &str) -> String {
    let alike = |known: &&String| strsim::jaro_winkler(known, name);
    let closest = config.models.keys().max_by(|a, b| alike(a).total_cmp(&alike(b)));
    match closest {
        Some(known) if alike(&known) > ALIKE => format!("did you mean {known:?}?"),
        Some(_) => {
            let known = config.models.keys().map(String::as_str).collect::<Vec<_>>();
            format!("configured: {}", known.join(", "))
        }
        None => "none is configured; add [models.NAME], or write PROVIDER/MODEL".to_string(),
    }
}
