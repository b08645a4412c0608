//! From configuration and wishes to how a session delegates.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use posse_engine::Delegation;
use posse_engine::models::{Models, Routes};
use posse_engine::roles::Problem;
use posse_engine::roles::RoleHooks;
use posse_model::{Governors, Model, Recorder, shown_address};
use posse_policy::meet;
use posse_protocol::{Approval, Budget, Files, Grant, NameRules, RoleOrigin, Shell};
use posse_roles::{Audience, Team};
use posse_surface::Surface;

use crate::config::{Config, RoleSet, SubAgentsFile, Trusted};
use crate::detect;
use crate::error::RolesError;
use crate::limits::WARNINGS_SHOWN_MAX;
use crate::roles::{self, RoleSources};
use crate::servers::{AgentFileServers, agent_file_servers};
use crate::surroundings::Surroundings;
use crate::warning::SetupWarning;
use crate::wished_role::WishedRole;
use crate::wishes::Wishes;

/// How the session delegates, what its main agent may do and spend, and what the person should know.
pub(crate) struct Sharing {
    pub(crate) delegation: Option<Delegation>,
    pub(crate) grant: Grant,
    pub(crate) budget: Budget,
    pub(crate) warnings: Vec<SetupWarning>,
    /// What agent files say of servers.
    pub(crate) servers: Vec<AgentFileServers>,
    /// Hooks of agent files.
    pub(crate) role_hooks: Vec<RoleHooks>,
    /// What the main agent is told of the role that it works in, behind its task.
    pub(crate) role_text: Option<String>,
}

/// The same grant as its mode has it: in plan mode nothing is changed.
pub(crate) fn in_mode(mut grant: Grant) -> Grant {
    if grant.approval == Approval::Plan {
        grant.files = grant.files.min(Files::Read);
        grant.shell = grant.shell.min(Shell::Inspect);
    }
    grant
}

impl Sharing {
    /// The same in a role: no more than it may do and spend.
    pub(crate) fn in_role(mut self, role: &WishedRole) -> Self {
        self.grant = in_mode(meet(&self.grant, &role.grant));
        self.budget = role.lowered(self.budget);
        self.role_text = role.text();
        self
    }

    /// `lean`: agents are offered only if somebody asks for it, because the tools for it are many words for a small model.
    pub(crate) fn of(
        config: &Config,
        wishes: &Wishes,
        lean: bool,
        sources: &RoleSources,
        trusted: &Trusted,
        surroundings: &Surroundings,
    ) -> Result<Self, RolesError> {
        let (mut grant, mut budget) = (in_mode(config.grant()), config.budget());
        let enabled = config.sub_agents.enabled.unwrap_or_else(|| !lean || wants_agents(config, wishes));
        if wishes.no_tools {
            grant = Grant { tools: NameRules::nothing(), ..Grant::none() };
        }
        if wishes.alone || wishes.no_tools || !enabled {
            let (warnings, servers, role_hooks) = (Vec::new(), Vec::new(), Vec::new());
            return Ok(Self {
                delegation: None,
                grant,
                budget,
                warnings,
                servers,
                role_hooks,
                role_text: None,
            });
        }
        let surface = surface(config, wishes);
        let loaded = sources.load(team(config, wishes, sources), config, surroundings)?;
        let mut trusted_files = trusted_files(&loaded.project_files, trusted);
        // One of a project is among the sources only if it is trusted.
        trusted_files.extend(sources.settings.iter().map(|file| file.path.clone()));
        let mut warnings = role_warnings(&loaded.problems, &trusted_files, surroundings);
        warnings.extend(over_ceiling(config, surface));
        warnings.extend(sources.warnings.iter().cloned());
        let servers = agent_file_servers(&loaded, &trusted_files, surroundings);
        let sub_agents = match &sources.settings {
            Some(file) => config.sub_agents.with_defaults(&file.roles),
            None => config.sub_agents.clone(),
        };
        if let Some(main) = loaded.roles.lead() {
            grant.delegates = main.grant.delegates.clone();
            budget.turns = config.limits.max_turns.map(|turns| turns.get()).or(main.budget.turns);
            budget.time_ms = budget.time_ms.or(main.budget.time_ms);
        }
        let role_hooks = loaded.hooks;
        let delegation = Delegation {
            surface,
            roles: loaded.roles,
            limits: sub_agents.limits(surface),
            sub_agents: sub_agents.sub_agents(),
            coordinator: wishes.coordinator,
            team: wishes.team,
            trusted_files,
        };
        let delegation = Some(delegation);
        Ok(Self { delegation, grant, budget, warnings, servers, role_hooks, role_text: None })
    }
}

/// Whether a wish or a setting says how the work is shared out.
fn wants_agents(config: &Config, wishes: &Wishes) -> bool {
    let wished = wishes.coordinator || wishes.team || wishes.surface.is_some();
    wished || config.sub_agents != SubAgentsFile::default()
}

/// That fewer agents run at the same time than the configuration says.
fn over_ceiling(config: &Config, surface: Surface) -> Option<SetupWarning> {
    let (wanted, most) = (config.sub_agents.max_running?.get(), surface.running_max()?);
    (wanted > most).then_some(SetupWarning::MaxRunning { wanted, most, surface })
}

/// The tools that models delegate with.
fn surface(config: &Config, wishes: &Wishes) -> Surface {
    wishes.surface.or(config.sub_agents.surface).unwrap_or_default()
}

/// Whether the main agent leads a team: where the surface is made for it, and where a settings file says who is in it.
fn team(config: &Config, wishes: &Wishes, sources: &RoleSources) -> Team {
    let leads = surface(config, wishes) == Surface::Delegate || sources.settings.is_some();
    let usual = if leads { RoleSet::Team } else { RoleSet::Standard };
    if config.sub_agents.roles.unwrap_or(usual) == RoleSet::Team { Team::With } else { Team::Without }
}

/// The model that the main agent is to have by its role: what `[roles.main]` says, or the file of the one who leads.
pub(crate) fn main_model(
    config: &Config,
    wishes: &Wishes,
    sources: &RoleSources,
    trusted: &Trusted,
    surroundings: &Surroundings,
) -> Result<Option<String>, RolesError> {
    let team = if wishes.alone { Team::Without } else { team(config, wishes, sources) };
    if team == Team::Without {
        return Ok(roles::main_model(config, None));
    }
    let loaded = sources.load(team, config, surroundings)?;
    let mut seen = trusted_files(&loaded.project_files, trusted);
    seen.extend(sources.settings.iter().map(|file| file.path.clone()));
    // A stranger's file has no say in it.
    let lead = loaded.roles.lead().filter(|lead| match &lead.origin {
        RoleOrigin::Project(path) => seen.contains(path),
        RoleOrigin::BuiltIn | RoleOrigin::User(_) => true,
    });
    Ok(roles::main_model(config, lead.and_then(|lead| lead.model.as_deref())))
}

/// What is said of agent files when a session starts: which are left out, which may only read, which replace a prompt.
fn role_warnings(
    problems: &[Problem],
    trusted: &BTreeSet<String>,
    surroundings: &Surroundings,
) -> Vec<SetupWarning> {
    let is_told = |problem: &&Problem| match problem.told {
        Audience::Everybody => true,
        Audience::UntilTrusted => !trusted.contains(&problem.path),
        Audience::WhoChecks => false,
    };
    let said = |problem: &Problem| SetupWarning::RoleFile {
        path: surroundings.shown(Path::new(&problem.path)),
        fault: problem.text.clone(),
        left_out: problem.fatal,
    };
    let mut warnings: Vec<SetupWarning> = problems.iter().filter(is_told).map(said).collect();
    if warnings.len() > WARNINGS_SHOWN_MAX {
        warnings.truncate(WARNINGS_SHOWN_MAX);
        warnings.push(SetupWarning::MoreRoleFiles);
    }
    warnings
}

/// The project's agent files whose very content was trusted.
fn trusted_files(files: &[(String, String)], trusted: &Trusted) -> BTreeSet<String> {
    let holds = |(path, text): &&(String, String)| trusted.holds(Path::new(path), text);
    files.iter().filter(holds).map(|(path, _)| path.clone()).collect()
}

/// Adds the other configured models and addresses, for sub-agents. One that cannot be set up is left out, with the reason.
pub(crate) fn add_models(
    models: &mut Models,
    config: &Config,
    surroundings: &Surroundings,
    substitutions: &[(String, String)],
    governors: &Governors,
    recorder: Option<&Arc<Recorder>>,
) {
    const NO_PRICE: &str = "its price is not known, and max_cost_usd is set";
    let addresses = config.sub_agents.addresses();
    if config.limits.max_cost_usd.is_some() {
        addresses.iter().for_each(|address| models.leave_out(&shown_address(address), NO_PRICE));
    } else {
        let recorder = recorder.cloned();
        models.route(Routes { addresses, substitutions: substitutions.to_vec(), recorder });
    }
    let configured =
        config.models.iter().map(|(name, file)| (name, detect::configured(name, file, surroundings)));
    let provided = config
        .models_named()
        .filter_map(|(_, name)| Some((name, detect::for_sub_agents(name, surroundings)?)));
    for (name, choice) in configured.chain(provided) {
        let set_up = choice.and_then(|mut choice| {
            choice.model.substitutions = substitutions.to_vec();
            choice.model.profile = choice.model.profile.or(config.profile);
            Ok((Model::new(choice.model, governors)?, choice.prices))
        });
        match set_up {
            Ok((_, None)) if config.limits.max_cost_usd.is_some() => {
                models.leave_out(name, NO_PRICE);
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
