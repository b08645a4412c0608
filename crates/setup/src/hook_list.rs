//! The hooks of a folder for people: what is there, whether it runs and how, and what comes of trying it.

use posse_engine::{EngineError, HookSettings, HookTrial, MadeUpMoment, TriedHook};
use posse_hooks::{HookAction, HookOwner, HookScope, OnTimeout};
use serde::Serialize;

use crate::config::Trusted;
use crate::error::PrepareError;
use crate::hooks::find_hooks;
use crate::plan::SessionPlan;
use crate::roles::RoleSources;
use crate::sharing::in_mode;
use crate::warning::SetupWarning;

/// One hook, as it is listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedHook {
    /// The file.
    pub file: String,
    /// When it runs.
    pub event: String,
    /// For what.
    pub matcher: String,
    /// Its command or address.
    pub runs: String,
    /// `command` or `http`.
    pub kind: String,
    /// The role or the skill that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only_for: Option<String>,
    /// How long it may take.
    pub timeout_ms: u64,
    /// Whether a late end counts as a no.
    pub denies_on_timeout: bool,
    /// Whether it runs: not before a project's file is trusted.
    pub trusted: bool,
    /// Whether it runs in the sandbox.
    pub confined: bool,
}

impl SessionPlan<'_> {
    /// The hooks of a session here, and what is wrong with them.
    pub fn hook_list(&self) -> Result<(Vec<ListedHook>, Vec<SetupWarning>), HookListError> {
        let (settings, warnings) = self.found_hooks()?;
        let all = self.trial(settings)?.confined()?;
        let listed = all.into_iter().map(|(hook, confined)| ListedHook {
            file: hook.origin.file.clone(),
            event: hook.event.name().to_owned(),
            matcher: if hook.event.has_matcher() { hook.matcher.to_string() } else { "*".to_owned() },
            runs: hook.action.text(),
            kind: if matches!(hook.action, HookAction::Http(..)) { "http" } else { "command" }.to_owned(),
            only_for: match &hook.origin.scope {
                HookScope::Session => None,
                HookScope::Role(name) => Some(format!("role {name}")),
                HookScope::Skill(key) => Some(format!("skill {key}")),
            },
            timeout_ms: hook.timeout_ms,
            denies_on_timeout: hook.on_timeout == OnTimeout::Deny,
            trusted: hook.origin.owner != HookOwner::Project { trusted: false },
            confined,
        });
        Ok((listed.collect(), warnings))
    }

    /// Runs what a moment concerns that was made up.
    pub async fn try_hooks(&self, moment: &MadeUpMoment) -> Result<Vec<TriedHook>, HookListError> {
        let (settings, _) = self.found_hooks()?;
        Ok(self.trial(settings)?.run(moment).await?)
    }

    fn found_hooks(&self) -> Result<(HookSettings, Vec<SetupWarning>), PrepareError> {
        let trusted = Trusted::load(self.paths)?;
        let sources = RoleSources::of(self.paths, self.folder, &self.config, &trusted)?;
        let team = posse_roles::Team::With;
        let roles = sources.load(team, &self.config, self.paths.surroundings())?.hooks;
        let found = find_hooks(self.paths, self.folder, &self.config, &trusted, &roles);
        Ok((found.settings, found.warnings))
    }

    fn trial(&self, settings: HookSettings) -> Result<HookTrial, PrepareError> {
        let (grant, rules) = (in_mode(self.config.grant()), self.config.rules()?);
        let (workspace, tools) = (self.folder.to_path_buf(), self.tool_settings());
        Ok(HookTrial { settings, workspace, grant, tools, rules })
    }
}

/// Why hooks cannot be listed or tried.
#[derive(Debug, thiserror::Error)]
pub enum HookListError {
    /// The files cannot be read.
    #[error(transparent)]
    Prepare(Box<PrepareError>),
    /// The folder cannot be used.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl From<PrepareError> for HookListError {
    fn from(error: PrepareError) -> Self {
        Self::Prepare(Box::new(error))
    }
}
