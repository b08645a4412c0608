//! System prompts, put together from parts that each have a cap.

use std::fmt;

use posse_protocol::{Budget, Role};
use posse_store::RoleRecord;

use crate::delegation::Delegation;
use crate::project::ProjectContext;

const MAIN: &str = include_str!("../prompts/main.md").trim_ascii_end();
const MAIN_LEAN: &str = include_str!("../prompts/main_lean.md").trim_ascii_end();
const DELEGATING: &str = include_str!("../prompts/delegating.md").trim_ascii_end();
const COORDINATOR: &str = include_str!("../prompts/coordinator.md").trim_ascii_end();
const TEAM: &str = include_str!("../prompts/team.md").trim_ascii_end();
const SHELL: &str = include_str!("../prompts/shell_surface.md").trim_ascii_end();
const SUB_AGENT: &str = include_str!("../prompts/sub_agent.md").trim_ascii_end();
const FORKED: &str = include_str!("../prompts/forked.md").trim_ascii_end();

/// Roles whose record is told.
const ROLES_RECORDED_MAX: usize = 12;
/// Roles that are named one by one in a sub-agent's prompt.
const ROLES_NAMED_MAX: usize = 4;

/// The main agent's system prompt.
pub(crate) struct MainPrompt<'a> {
    /// Whether it is for a small model. It then holds no place of this machine: paths are written as they are shown, and a
    /// server that keeps what it has read of a prompt can use it for every folder.
    pub(crate) lean: bool,
    pub(crate) workspace: &'a str,
    pub(crate) project: Option<&'a ProjectContext>,
    pub(crate) delegation: Option<&'a Delegation>,
    /// How roles have fared in this project.
    pub(crate) records: &'a [RoleRecord],
}

impl fmt::Display for MainPrompt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let main = if self.lean { MAIN_LEAN } else { MAIN };
        match self.delegation {
            Some(delegation) if delegation.coordinator => f.write_str(COORDINATOR)?,
            Some(delegation) if delegation.surface == posse_surface::Surface::Shell => {
                write!(f, "{SHELL}\n\n{DELEGATING}")?;
            }
            Some(_) => write!(f, "{main}\n\n{DELEGATING}")?,
            None => f.write_str(main)?,
        }
        if self.delegation.is_some_and(|delegation| delegation.team) {
            write!(f, "\n\n{TEAM}")?;
        }
        if !self.records.is_empty() {
            write!(f, "\n\nHow roles have done in this project so far:")?;
        }
        for record in self.records.iter().take(ROLES_RECORDED_MAX) {
            let RoleRecord { role, tasks, success_percent, turns_median } = record;
            write!(f, "\n- {role}: {success_percent}% of {tasks} tasks completed")?;
            if let Some(turns) = turns_median {
                write!(f, ", {turns} turns in the median")?;
            }
        }
        if !self.lean {
            write!(f, "\n\nWorkspace: {} ({})", self.workspace, std::env::consts::OS)?;
        }
        if let Some(project) = self.project {
            write!(f, "\n\nThe project's own notes, from {}:\n{}", project.name, project.text)?;
        }
        Ok(())
    }
}

/// What a sub-agent is told of itself. A fresh one has it as its system prompt, a forked one before its task.
pub(crate) struct SubPrompt<'a> {
    pub(crate) name: &'a str,
    pub(crate) role: &'a Role,
    pub(crate) parent: &'a str,
    pub(crate) depth: u32,
    pub(crate) depth_max: u32,
    pub(crate) budget: &'a Budget,
    /// The roles it may delegate to; none if it may not.
    pub(crate) delegates: &'a [String],
    pub(crate) team: bool,
    pub(crate) workspace: &'a str,
    /// Whether that is a checkout of its own.
    pub(crate) apart: bool,
    /// Words of the configuration for all sub-agents.
    pub(crate) before: Option<&'a str>,
    pub(crate) project: Option<&'a ProjectContext>,
}

impl SubPrompt<'_> {
    fn awareness(&self) -> String {
        let delegation = match self.delegates {
            [] => "You cannot delegate.".to_string(),
            few if few.len() <= ROLES_NAMED_MAX => format!("You may delegate to {}.", few.join(", ")),
            // The tool names them all.
            _ => "You may delegate.".to_string(),
        };
        SUB_AGENT
            .replace("{name}", self.name)
            .replace("{role}", &self.role.name)
            .replace("{depth}", &format!("{}/{}", self.depth, self.depth_max))
            .replace("{parent}", self.parent)
            .replace("{limits}", &limits(self.budget))
            .replace("{delegation}", &delegation)
    }

    fn place(&self) -> String {
        let apart = if self.apart {
            ", a checkout of your own. What you change is committed for you (git add and commit do not work), and merged by others."
        } else {
            ""
        };
        format!("Workspace: {} ({}){apart}", self.workspace, std::env::consts::OS)
    }

    /// Role, report and awareness, for the end of a forked conversation.
    pub(crate) fn forked(&self, state: &str, task: &str) -> String {
        let state = if state.is_empty() { String::new() } else { format!("\n\n{state}") };
        let (role, awareness) = (self.role.prompt.trim(), self.awareness());
        let place = if self.apart { format!("\n\n{}", self.place()) } else { String::new() };
        format!(
            "{FORKED}{state}\n\n{role}\n\n{}\n\n{awareness}{place}\n\nYour task:\n{task}",
            posse_roles::REPORT_FORMAT.trim()
        )
    }
}

impl fmt::Display for SubPrompt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(before) = self.before {
            write!(f, "{}\n\n", before.trim())?;
        }
        write!(
            f,
            "{}\n\n{}\n\n{}",
            self.role.prompt.trim(),
            posse_roles::REPORT_FORMAT.trim(),
            self.awareness()
        )?;
        if self.team {
            write!(f, "\n\n{TEAM}")?;
        }
        write!(f, "\n\n{}", self.place())?;
        if let Some(project) = self.project {
            write!(f, "\n\nThe project's own notes, from {}:\n{}", project.name, project.text)?;
        }
        Ok(())
    }
}

fn limits(budget: &Budget) -> String {
    let mut parts = Vec::new();
    parts.extend(budget.turns.map(|turns| format!("{turns} turns")));
    parts.extend(budget.tokens.map(|tokens| format!("{tokens} tokens")));
    parts.extend(budget.time_ms.map(|ms| format!("{} s", ms / 1000)));
    parts.extend(budget.cost_usd.map(|usd| format!("${usd:.2}")));
    if parts.is_empty() { "none".to_string() } else { parts.join(", ") }
}
