//! What the configuration makes of a role: which model stands in for the one its file names, and what its tools lack here.

use posse_engine::models::{KnownModel, meant};
use posse_engine::roles::{LoadedRoles, Problem};
use posse_policy::meet;
use posse_protocol::visible::one_line;
use posse_protocol::{Grant, Network, Role, RoleOrigin};
use posse_roles::{Audience, INHERIT, template};

use crate::config::Config;
use crate::detect;
use crate::surroundings::Surroundings;

/// The tool that cannot do anything without a network.
const NETWORK_TOOL: &str = "web_fetch";

/// What roles are held against.
pub struct RoleFit {
    /// Name and provider's name of each model, the usual one first if it is known.
    models: Vec<(String, String)>,
    /// The model of a role that names none.
    usual: Option<String>,
    /// What the main agent may do.
    grant: Grant,
}

impl RoleFit {
    /// Without asking any server which models it has.
    pub fn of(config: &Config, surroundings: &Surroundings) -> Self {
        let main = detect::settled(config, surroundings);
        let id = |name: &String| config.models.get(name).and_then(|file| file.model.clone());
        let configured = config.models.keys().map(|name| (name.clone(), id(name).unwrap_or_default()));
        let usual = config.sub_agents.model.clone().or_else(|| main.as_ref().map(|(name, _)| name.clone()));
        let models = main.into_iter().chain(configured).collect();
        Self { models, usual, grant: config.grant() }
    }

    /// The model that a role runs on, where that is not the one its file names.
    pub fn stand_in(&self, role: &Role) -> Option<String> {
        let wanted = role.model.as_deref().filter(|model| *model != INHERIT)?;
        let known = self.models.iter().map(|(name, id)| KnownModel { name, id }).collect::<Vec<_>>();
        match meant(wanted, &known).map(|at| known[at]) {
            Some(model) if model.is_called(wanted) => None,
            Some(model) => Some(model.name.to_string()),
            None => Some(self.usual.clone().unwrap_or_else(|| "the usual model".to_string())),
        }
    }

    /// What an agent of a role may do here: no more than the main agent.
    pub fn rights(&self, role: &Role) -> Grant {
        meet(&self.grant, &role.grant)
    }

    /// What a role has a tool for and cannot do.
    fn lacks(&self, role: &Role) -> Option<String> {
        let listed = role.grant.tools.allow.iter().any(|layer| layer.contains(NETWORK_TOOL));
        if !listed {
            return None;
        } else if role.grant.network == Network::None {
            return Some(format!(
                "{NETWORK_TOOL} needs a network, and this file gives none: it cannot be used"
            ));
        }
        (self.grant.network == Network::None).then(|| {
            format!(
                "{NETWORK_TOOL} needs a network, and [rights] network is \"none\" here: it cannot be used"
            )
        })
    }

    /// What whoever checks these roles should know.
    pub fn problems(&self, loaded: &LoadedRoles) -> Vec<Problem> {
        let mut problems = Vec::new();
        for role in loaded.roles.iter() {
            let (RoleOrigin::User(path) | RoleOrigin::Project(path)) = &role.origin else { continue };
            let lines = loaded.lines.get(path).copied().unwrap_or_default();
            let mut add = |line: Option<usize>, text: String| {
                let (path, line) = (path.clone(), line.unwrap_or(1));
                problems.push(Problem { path, line, text, fatal: false, told: Audience::WhoChecks });
            };
            if let (Some(model), Some(wanted)) = (self.stand_in(role), &role.model) {
                add(lines.model, format!("\"{}\" is not configured: runs on {model}", one_line(wanted, 60)));
            }
            if let Some(text) = self.lacks(role) {
                add(lines.tools, text);
            }
            let template = template("", "");
            if template.rsplit("---\n").next().is_some_and(|body| body.trim() == role.prompt.trim()) {
                add(None, "its text is still the template's: say how the agent works".to_string());
            }
        }
        problems
    }
}
