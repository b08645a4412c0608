//! From configuration and flags to how a session delegates.

use std::collections::BTreeSet;
use std::path::Path;

use posse_engine::Delegation;
use posse_engine::delegating::Surface;
use posse_engine::models::{Governors, Model, Models, Recorder};
use posse_engine::roles::{RolePlace, Team, load_roles};
use posse_protocol::{Approval, Budget, Files, Grant, Shell};

use crate::args::ModeArgs;
use crate::config::{Config, RoleSet, Trusted};
use crate::detect;
use crate::output::one_line;

/// How the session delegates, what its main agent may do and spend, and what the person should know.
pub(crate) struct Setup {
    pub(crate) delegation: Option<Delegation>,
    pub(crate) grant: Grant,
    pub(crate) budget: Budget,
    pub(crate) warnings: Vec<String>,
}

impl Setup {
    /// `modes`: how the work is shared out; not at all where `None`.
    pub(crate) fn of(
        config: &Config,
        modes: Option<&ModeArgs>,
        places: &[RolePlace],
        trusted: &Trusted,
    ) -> Self {
        let (mut grant, mut budget) = (config.grant(), config.budget());
        if grant.approval == Approval::Plan {
            grant.files = grant.files.min(Files::Read);
            grant.shell = grant.shell.min(Shell::Inspect);
        }
        let modes = modes.filter(|_| config.sub_agents.enabled != Some(false));
        let Some(modes) = modes else {
            return Self { delegation: None, grant, budget, warnings: Vec::new() };
        };
        let surface = modes.surface.or(config.sub_agents.surface).unwrap_or_default();
        let usual = if surface == Surface::Delegate { RoleSet::Team } else { RoleSet::Standard };
        let set = config.sub_agents.roles.unwrap_or(usual);
        let team = if set == RoleSet::Team { Team::With } else { Team::Without };
        let loaded = load_roles(team, places);
        let broken = loaded.problems.iter().filter(|problem| problem.fatal);
        let mut warnings = broken
            .map(|problem| format!("{} is left out: {}", problem.path, one_line(&problem.text, 200)))
            .collect::<Vec<_>>();
        if warnings.len() > 3 {
            warnings.truncate(3);
            warnings.push("more agent files are left out; see: posse agents check".to_string());
        }
        if set == RoleSet::Team
            && let Ok(main) = loaded.roles.find("main")
        {
            grant.delegates = main.grant.delegates.clone();
            budget.turns = config.limits.max_turns.map(|turns| turns.get()).or(main.budget.turns);
            budget.time_ms = budget.time_ms.or(main.budget.time_ms);
        }
        let delegation = Delegation {
            surface,
            roles: loaded.roles,
            limits: config.sub_agents.limits(),
            sub_agents: config.sub_agents.sub_agents(),
            coordinator: modes.coordinator,
            team: modes.team,
            trusted_files: trusted_files(&loaded.project_files, trusted),
        };
        Self { delegation: Some(delegation), grant, budget, warnings }
    }
}

/// The project's agent files whose very content was trusted.
fn trusted_files(files: &[(String, String)], trusted: &Trusted) -> BTreeSet<String> {
    let holds = |(path, text): &&(String, String)| trusted.holds(Path::new(path), text);
    files.iter().filter(holds).map(|(path, _)| path.clone()).collect()
}

/// Adds the other configured models, for sub-agents. One that cannot be set up is left out, with the reason.
pub(crate) fn add_models(
    models: &mut Models,
    config: &Config,
    substitutions: &[(String, String)],
    governors: &Governors,
    recorder: Option<&std::sync::Arc<Recorder>>,
) {
    for (name, file) in &config.models {
        let set_up = detect::configured(name, file).and_then(|mut choice| {
            choice.model.substitutions = substitutions.to_vec();
            Ok((Model::new(choice.model, governors)?, choice.prices))
        });
        match set_up {
            Ok((_, None)) if config.limits.max_cost_usd.is_some() => {
                models.leave_out(name, "its price is not known, and max_cost_usd is set");
            }
            Err(error) => models.leave_out(name, &error.to_string()),
            Ok((model, prices)) => {
                let model = match recorder {
                    Some(recorder) => model.recording(recorder.clone()),
                    None => model,
                };
                models.add(model, prices);
            }
        }
    }
}
