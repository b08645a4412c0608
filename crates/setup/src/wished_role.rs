//! The role that the main agent of a session works in, where one is wished for. It gives the agent a text and takes rights
//! and budget away; nothing in it adds any.

use std::path::Path;

use posse_protocol::{Budget, Grant, Role, RoleOrigin};
use posse_roles::Team;

use crate::config::{Config, Trusted};
use crate::error::RolesError;
use crate::roles::RoleSources;
use crate::surroundings::Surroundings;

/// What a session has of the role that it is begun in.
pub(crate) struct WishedRole {
    name: String,
    prompt: String,
    pub(crate) grant: Grant,
    budget: Budget,
}

impl WishedRole {
    /// A role by name: a built-in one, one of the person, or one of the project whose very content was trusted.
    pub(crate) fn find(
        name: &str,
        config: &Config,
        sources: &RoleSources,
        trusted: &Trusted,
        surroundings: &Surroundings,
    ) -> Result<Self, RolesError> {
        let loaded = sources.load(Team::With, config, surroundings)?;
        let role = loaded.roles.find(name).map_err(RolesError::NotKnown)?;
        if let RoleOrigin::Project(path) = &role.origin {
            let settings = sources.settings.as_ref().is_some_and(|file| file.path == *path);
            let file = |(at, text): &(String, String)| at == path && trusted.holds(Path::new(at), text);
            if !settings && !loaded.project_files.iter().any(file) {
                let path = surroundings.shown(Path::new(path));
                return Err(RolesError::Stranger { name: role.name.clone(), path });
            }
        }
        let Role { name, prompt, grant, budget, .. } = role.clone();
        Ok(Self { name, prompt, grant, budget })
    }

    /// The smaller of two budgets, limit by limit.
    pub(crate) fn lowered(&self, budget: Budget) -> Budget {
        fn smaller<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(if b < a { b } else { a }),
                (a, b) => a.or(b),
            }
        }
        Budget {
            turns: smaller(budget.turns, self.budget.turns),
            tokens: smaller(budget.tokens, self.budget.tokens),
            time_ms: smaller(budget.time_ms, self.budget.time_ms),
            cost_usd: smaller(budget.cost_usd, self.budget.cost_usd),
        }
    }

    /// What the agent is told of it, behind its task; none where the role says nothing.
    pub(crate) fn text(&self) -> Option<String> {
        let prompt = self.prompt.trim();
        (!prompt.is_empty()).then(|| format!("\n\n[You work in the role \"{}\":]\n{prompt}", self.name))
    }
}
