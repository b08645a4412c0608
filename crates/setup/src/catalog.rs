//! What there is to choose from in a folder: roles, skills and models, as values that every interface can show.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use posse_engine::skills::{FoundSkill, find_skills};
use posse_model::Protocol;
use posse_protocol::Role;
use posse_roles::{Audience, Team};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::detect::settled;
use crate::{Config, PROVIDERS, Paths, PrepareError, RoleSources, Surroundings, Trusted, skill_folders};

/// The roles of a folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RoleList {
    /// Every role, the built-in ones included, without its prompt.
    pub roles: Vec<Role>,
    /// What the person should know about agent files, one line each.
    pub problems: Vec<String>,
}

/// One skill that agents find.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillSummary {
    /// What it is loaded by.
    pub key: String,
    /// What it calls itself.
    pub name: String,
    /// When to use it.
    pub description: String,
    /// Whose it is: `you` or `project`.
    pub from: String,
    /// Its folder.
    pub path: Option<PathBuf>,
    /// Folders with a skill of the same key that do not count.
    pub hides: Vec<PathBuf>,
    /// Whether models are told of it.
    pub listed: bool,
    /// The tools that it says it needs.
    pub allowed_tools: Vec<String>,
    /// What is odd about its file.
    pub warnings: Vec<String>,
}

/// One model that can be named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelSummary {
    /// What it is named by.
    pub name: String,
    /// The provider's name of it; none where the provider's usual one is asked for.
    pub model: Option<String>,
    /// Its wire protocol.
    pub protocol: String,
    /// How many tokens fit into its context window, where that is known.
    pub context_window: Option<u64>,
    /// Whether it is in the configuration; else it is found by its key.
    pub configured: bool,
}

/// The roles of a folder, as sessions there have them.
pub fn role_list(paths: &Paths, folder: &Path, team: bool) -> Result<RoleList, PrepareError> {
    let config = Config::load(paths, folder)?;
    let sources = RoleSources::of(paths, folder, &config, &Trusted::load(paths)?)?;
    let team = if team { Team::With } else { Team::Without };
    let loaded = sources.load(team, &config, paths.surroundings())?;
    let told = loaded.problems.iter().filter(|problem| problem.fatal || problem.told > Audience::WhoChecks);
    let problems = told.map(|problem| format!("{}:{}: {}", problem.path, problem.line, problem.text));
    let warnings = sources.warnings.iter().map(ToString::to_string);
    Ok(RoleList {
        problems: problems.chain(warnings).collect(),
        roles: loaded.roles.iter().map(|role| Role { prompt: String::new(), ..role.clone() }).collect(),
    })
}

/// The names by which agents ask for models: those of the configuration, and the usual one's. A worker that calls models itself needs
/// them all.
pub fn needed_models(paths: &Paths, config: &Config) -> Vec<String> {
    let usual = settled(config, paths.surroundings()).map(|(name, _)| name);
    let named = config.models_named().map(|(_, name)| name.clone());
    config.models.keys().cloned().chain(named).chain(usual).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The skills that agents find in a folder.
pub fn skill_list(paths: &Paths, folder: &Path) -> Vec<SkillSummary> {
    find_skills(&skill_folders(paths, folder)).iter().map(SkillSummary::of).collect()
}

impl SkillSummary {
    /// What is worth knowing of a skill before it is loaded.
    pub fn of(one: &FoundSkill) -> Self {
        let of_project = one.folders.first().is_some_and(|folder| folder.within.is_some());
        let warning = |line: usize, text: &str| format!("line {line}: {text}");
        Self {
            key: one.skill.key.clone(),
            name: one.skill.name.clone(),
            description: one.skill.description.clone(),
            from: if of_project { "project" } else { "you" }.to_owned(),
            path: one.folders.first().map(|folder| folder.path.clone()),
            hides: one.folders.iter().skip(1).map(|folder| folder.path.clone()).collect(),
            listed: one.skill.listed,
            allowed_tools: one.skill.allowed_tools.clone(),
            warnings: one.skill.warnings.iter().map(|found| warning(found.line, &found.text)).collect(),
        }
    }
}

/// The models that can be named: the configured ones, and one of each provider whose key is set. No server is asked.
pub fn model_list(config: &Config, surroundings: &Surroundings) -> Vec<ModelSummary> {
    let configured = config.models.iter().map(|(name, file)| ModelSummary {
        name: name.clone(),
        model: file.model.clone(),
        protocol: word(file.protocol).to_owned(),
        context_window: file.context_window,
        configured: true,
    });
    let with_key = PROVIDERS.iter().filter(|provider| provider.key(surroundings).is_some());
    let found = with_key.map(|provider| ModelSummary {
        name: provider.model.map_or(provider.name.to_owned(), |model| format!("{}/{model}", provider.name)),
        model: provider.model.map(str::to_owned),
        protocol: word(provider.protocol).to_owned(),
        context_window: provider.context_window,
        configured: false,
    });
    configured.chain(found).collect()
}

/// How many tokens fit into the context window of a model by its configured name, where the files say so.
pub fn context_window(config: &Config, surroundings: &Surroundings, name: &str) -> Option<u64> {
    let listed = model_list(config, surroundings).into_iter().find(|model| model.name == name);
    let provider = || PROVIDERS.iter().find(|provider| name.split('/').next() == Some(provider.name));
    listed.map_or_else(|| provider()?.context_window, |model| model.context_window)
}

fn word(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Chat => "chat",
        Protocol::Responses => "responses",
        Protocol::Anthropic => "anthropic",
        Protocol::Replay => "replay",
    }
}
