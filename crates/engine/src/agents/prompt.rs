//! System prompts, put together from parts that each have a cap.

use std::fmt;

use posse_protocol::{Budget, ReportForm, Role, RoleOrigin};
use posse_roles::{Roles, Team};
use posse_store::RoleRecord;

use crate::agents::advice;
use crate::agents::sub_agents::Delegation;
use crate::limits::{ROLES_NAMED_MAX, ROLES_RECORDED_MAX, ROLES_RULED_MAX, RULE_CHARS_MAX};
use crate::project::ProjectContext;

const MAIN: &str = include_str!("../../prompts/main.md").trim_ascii_end();
const MAIN_LEAN: &str = include_str!("../../prompts/main_lean.md").trim_ascii_end();
const LEADING: &str = include_str!("../../prompts/leading.md").trim_ascii_end();
const TEAM: &str = include_str!("../../prompts/team.md").trim_ascii_end();
const SHELL: &str = include_str!("../../prompts/shell_surface.md").trim_ascii_end();
const SUB_AGENT: &str = include_str!("../../prompts/sub_agent.md").trim_ascii_end();
const FORKED: &str = include_str!("../../prompts/forked.md").trim_ascii_end();

/// For roles that want no sections.
const ANSWER_ALONE: &str = "Your last message is your answer: what was asked for, and nothing else.";

/// The main agent's system prompt.
pub(crate) struct MainPrompt<'a> {
    /// Whether it is for a small model. It then holds no place of this machine: paths are written as they are shown, and a
    /// server that keeps what it has read of a prompt can use it for every folder.
    pub(crate) lean: bool,
    pub(crate) workspace: &'a str,
    pub(crate) project: Option<&'a ProjectContext>,
    pub(crate) delegation: Option<&'a Delegation>,
    /// The roles it may delegate to.
    pub(crate) roles: &'a [&'a Role],
    /// How roles have fared in this project.
    pub(crate) records: &'a [RoleRecord],
    /// How many notes of earlier sessions it can find.
    pub(crate) notes: usize,
}

impl fmt::Display for MainPrompt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lead = self.delegation.and_then(lead);
        let main = if self.lean { MAIN_LEAN } else { MAIN };
        match self.delegation {
            Some(delegation) if delegation.coordinator => {
                f.write_str(&advice::coordinating(delegation.surface))?;
            }
            Some(delegation) if delegation.surface == posse_surface::Surface::Shell => f.write_str(SHELL)?,
            _ => f.write_str(main)?,
        }
        match self.delegation {
            Some(_) if lead.is_some() => {
                let words = self.leading(lead.as_ref());
                write!(f, "{}{words}", if words.is_empty() { "" } else { "\n\n" })?;
            }
            // To a small model the tool says it all.
            Some(delegation) if !delegation.coordinator && !self.lean => {
                write!(f, "\n\n{}", advice::delegating(delegation.surface))?;
            }
            _ => {}
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
            noted(f, self.notes)?;
        }
        if let Some(project) = self.project {
            write!(f, "\n\nThe project's own notes, from {}:\n{}", project.name, project.text)?;
        }
        Ok(())
    }
}

impl MainPrompt<'_> {
    /// The text of its role, and when to hand work to whom: only roles that it may use are named. A small model gets the
    /// person's own text and nothing else.
    fn leading(&self, lead: Option<&Role>) -> String {
        if self.lean {
            let own = lead.filter(|lead| lead.origin != RoleOrigin::BuiltIn);
            return own.map(|lead| lead.prompt.trim().to_string()).unwrap_or_default();
        }
        let rule = |role: &&Role| {
            let about = role.description.lines().next().unwrap_or_default();
            format!("- {}: {}", role.name, about.chars().take(RULE_CHARS_MAX).collect::<String>())
        };
        let mut rules = self.roles.iter().take(ROLES_RULED_MAX).map(rule).collect::<Vec<_>>();
        if self.roles.len() > ROLES_RULED_MAX {
            rules.push("The tool names the others.".to_string());
        }
        let role = lead.map(|lead| lead.prompt.trim()).filter(|text| !text.is_empty());
        let rules =
            if rules.is_empty() { String::new() } else { LEADING.replace("{rules}", &rules.join("\n")) };
        role.into_iter()
            .chain(Some(rules.as_str()).filter(|rules| !rules.is_empty()))
            .collect::<Vec<_>>()
            .join("\n\n")
    }
}

/// The main agent's role, where there is a team to lead. What a stranger's file says of it does not count.
fn lead(delegation: &Delegation) -> Option<Role> {
    let lead = delegation.roles.lead()?;
    let strange =
        matches!(&lead.origin, RoleOrigin::Project(path) if !delegation.trusted_files.contains(path));
    if strange { Roles::builtin(Team::With).lead().cloned() } else { Some(lead.clone()) }
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
    /// Whether its parent's tool has a place for suggestions.
    pub(crate) suggestions: bool,
    pub(crate) workspace: &'a str,
    /// Whether that is a checkout of its own.
    pub(crate) apart: bool,
    /// Words of the configuration for all sub-agents.
    pub(crate) before: Option<&'a str>,
    pub(crate) project: Option<&'a ProjectContext>,
    /// How many notes of earlier sessions it can find.
    pub(crate) notes: usize,
}

impl SubPrompt<'_> {
    fn awareness(&self) -> String {
        let delegation = match self.delegates {
            [] => "You cannot delegate.".to_string(),
            few if few.len() <= ROLES_NAMED_MAX => format!("You may delegate to {}.", few.join(", ")),
            // The tool tells of them.
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

    /// How it is to report.
    fn report_form(&self) -> String {
        let format = match self.role.report {
            ReportForm::Sections => posse_roles::REPORT_FORMAT.trim_ascii_end(),
            ReportForm::Answer => return ANSWER_ALONE.to_string(),
        };
        if !self.suggestions {
            return format.to_string();
        }
        format!("{format}\n{}", posse_roles::REPORT_SUGGESTIONS.trim())
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
            self.report_form()
        )
    }
}

impl fmt::Display for SubPrompt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(before) = self.before {
            write!(f, "{}\n\n", before.trim())?;
        }
        // A task may leave everything to the configuration's words.
        let role = self.role.prompt.trim();
        if !role.is_empty() {
            write!(f, "{role}\n\n")?;
        }
        write!(f, "{}\n\n{}", self.report_form(), self.awareness())?;
        if self.team {
            write!(f, "\n\n{TEAM}")?;
        }
        write!(f, "\n\n{}", self.place())?;
        noted(f, self.notes)?;
        if let Some(project) = self.project {
            write!(f, "\n\nThe project's own notes, from {}:\n{}", project.name, project.text)?;
        }
        Ok(())
    }
}

/// That there are notes, where there are some: nobody looks for what they do not know of.
fn noted(f: &mut fmt::Formatter<'_>, notes: usize) -> fmt::Result {
    match notes {
        0 => Ok(()),
        1 => f.write_str("\nThere is 1 note from earlier sessions; recall finds it."),
        notes => write!(f, "\nThere are {notes} notes from earlier sessions; recall finds them."),
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
