//! `[sub_agents]`: what holds for all sub-agents.

use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};

use posse_engine::limits::PROCESS_RUNNING_MAX;
use posse_engine::{Limits, OverCap};
use posse_engine::{RecordDetail, SubAgents};
use posse_protocol::{HOME, Isolation};
use posse_roles::AgentRoles;
use posse_surface::Surface;
use serde::{Deserialize, Serialize};

use super::times::Time;
use super::written;

/// The section as it is written. What is left out has the engine's default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SubAgentsFile {
    /// Whether there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enabled: Option<bool>,
    /// The dialect in which models delegate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) surface: Option<Surface>,
    /// Which built-in roles there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) roles: Option<RoleSet>,
    /// A settings file with `AgentRoles`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) roles_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_depth: Option<u32>,
    /// Agents at work at the same time.
    #[serde(alias = "max_concurrent", skip_serializing_if = "Option::is_none")]
    pub(crate) max_running: Option<NonZeroUsize>,
    /// The same for all sessions of a process together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_running_in_process: Option<NonZeroUsize>,
    /// What happens to a task beyond `max_running`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) over_cap: Option<OverCap>,
    /// Turns of one agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_iterations: Option<NonZeroU32>,
    /// Tokens of one reply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_tokens: Option<NonZeroU32>,
    /// Tokens of one agent, requests and replies together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token_budget: Option<NonZeroU64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_time: Option<Time>,
    /// Tokens of a report that reach the parent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) result_tokens: Option<NonZeroUsize>,
    /// Whether a longer report is summed up by the agent's own model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sum_up: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) system_prompt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "written::address")]
    pub(crate) endpoint: Option<String>,
    /// Addresses that a task may name beside those of configured models.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "written::addresses")]
    pub(crate) endpoints: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) inherit_context_file: Option<bool>,
    /// Whether they read and make notes that outlive the session.
    #[serde(alias = "inherit_vault", skip_serializing_if = "Option::is_none")]
    pub(crate) inherit_memory: Option<bool>,
    /// Whether the delegation prompt tells what worked here, in one line a role.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) show_record: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) record: Option<RecordDetail>,
    /// Where sub-agents work, unless role or task say otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) isolation: Option<Isolation>,
    /// On which machine they run, unless role or task say otherwise.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "written::on")]
    pub(crate) on: Option<String>,
}

/// Which built-in roles there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RoleSet {
    /// general, explore, plan, review, …
    Standard,
    /// Those too, and the delegation team: planner, coder, tester, reviewer, debugger.
    Team,
}

impl SubAgentsFile {
    /// How wide and deep the tree may grow on a surface. On some of them sub-agents delegate only if that is configured.
    pub(crate) fn limits(&self, surface: Surface) -> Limits {
        let usual = Limits::default();
        let depth_max = if surface.nests() { usual.depth_max } else { 1 };
        Limits {
            depth_max: self.max_depth.unwrap_or(depth_max),
            running_max: self.max_running.map_or(usual.running_max, NonZeroUsize::get),
            over_cap: self.over_cap.unwrap_or(usual.over_cap),
            ..usual
        }
    }

    /// How many agents of all sessions of a process run at the same time.
    pub(crate) fn running_in_process(&self) -> NonZeroUsize {
        let usual = NonZeroUsize::new(PROCESS_RUNNING_MAX).unwrap_or(NonZeroUsize::MIN);
        self.max_running_in_process.unwrap_or(usual)
    }

    /// The addresses that sub-agents may be sent to although no model is configured there.
    pub(crate) fn addresses(&self) -> Vec<String> {
        self.endpoint.iter().chain(self.endpoints.iter().flatten()).cloned().collect()
    }

    pub(crate) fn sub_agents(&self) -> SubAgents {
        let usual = SubAgents::default();
        SubAgents {
            max_turns: self.max_iterations.map_or(usual.max_turns, NonZeroU32::get),
            tokens: self.token_budget.map_or(usual.tokens, NonZeroU64::get),
            time_ms: self.max_time.map_or(usual.time_ms, |time| time.0),
            max_output_tokens: self.max_tokens.map(NonZeroU32::get).or(usual.max_output_tokens),
            result_tokens: self.result_tokens.map_or(usual.result_tokens, NonZeroUsize::get),
            sum_up: self.sum_up,
            system_prompt: self.system_prompt.clone(),
            model: self.model.clone(),
            endpoint: self.endpoint.clone(),
            inherit_context_file: self.inherit_context_file.unwrap_or(usual.inherit_context_file),
            inherit_memory: self.inherit_memory.unwrap_or(usual.inherit_memory),
            show_record: self.show_record.unwrap_or(usual.show_record),
            record: self.record.unwrap_or(usual.record),
            isolation: self.isolation.unwrap_or(usual.isolation),
            on: self.on.clone(),
        }
    }

    /// Every value that counts, those included that nobody has written.
    pub(crate) fn in_force(&self) -> Self {
        let surface = self.surface.unwrap_or_default();
        let (limits, usual) = (self.limits(surface), self.sub_agents());
        Self {
            enabled: Some(self.enabled.unwrap_or(true)),
            surface: Some(surface),
            max_depth: Some(limits.depth_max),
            max_running: NonZeroUsize::new(limits.running_max),
            max_running_in_process: Some(self.running_in_process()),
            over_cap: Some(limits.over_cap),
            max_iterations: NonZeroU32::new(usual.max_turns),
            max_tokens: usual.max_output_tokens.and_then(NonZeroU32::new),
            token_budget: NonZeroU64::new(usual.tokens),
            max_time: Some(Time(usual.time_ms)),
            result_tokens: NonZeroUsize::new(usual.result_tokens),
            sum_up: Some(usual.sum_up.unwrap_or(surface == Surface::Spawn)),
            inherit_context_file: Some(usual.inherit_context_file),
            inherit_memory: Some(usual.inherit_memory),
            show_record: Some(usual.show_record),
            record: Some(usual.record),
            isolation: Some(usual.isolation),
            on: Some(usual.on.unwrap_or_else(|| HOME.to_owned())),
            ..self.clone()
        }
    }

    /// What a settings file with roles says of all of them counts where this section says nothing.
    pub(crate) fn with_defaults(&self, file: &AgentRoles) -> Self {
        Self {
            max_depth: self.max_depth.or(file.max_depth),
            max_iterations: self.max_iterations.or(file.max_turns.and_then(NonZeroU32::new)),
            max_time: self.max_time.or(file.max_time_ms.map(Time)),
            ..self.clone()
        }
    }

    /// What another file says counts more.
    pub(crate) fn replaced_by(&self, other: &Self) -> Self {
        macro_rules! newer {
            ($($field:ident),*) => { Self { $($field: other.$field.clone().or_else(|| self.$field.clone())),* } };
        }
        newer!(
            enabled,
            surface,
            roles,
            roles_file,
            max_depth,
            max_running,
            max_running_in_process,
            over_cap,
            max_iterations,
            max_tokens,
            token_budget,
            max_time,
            result_tokens,
            sum_up,
            system_prompt,
            model,
            endpoint,
            endpoints,
            inherit_context_file,
            inherit_memory,
            show_record,
            record,
            isolation,
            on
        )
    }
}
