//! What an agent is told of the commands of the shell surface: only those that it may use, in the words of this surface.

use crate::{limits, offer::Offer, words::short};

use super::table::{COMMANDS, CommandKind, SKILL, TASK, TableEntry, find};

/// The role of the one agent for skills.
const SKILL_ROLE: &str = "skill";
/// The commands that ask it.
pub(super) const SKILL_COMMANDS: [&str; 2] = ["task:skill:search", "task:skill:enhance"];

/// Commands that agents use all the time.
const OFTEN: [&str; 10] = [
    TASK.name,
    SKILL.name,
    SKILL_COMMANDS[0],
    SKILL_COMMANDS[1],
    "skill:load",
    "read",
    "write",
    "edit",
    "glob",
    "grep",
];

/// The command of the shell surface by which the skill agent learns from a session.
pub const ENHANCE: &str = SKILL_COMMANDS[1];

/// A command that can be offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferedCommand {
    /// As it is called; rights name it so.
    pub name: &'static str,
    /// The ordinary tool behind it, which rights name as well.
    pub tool: Option<&'static str>,
}

/// Every command of the shell surface but those that start an agent of an ordinary role.
pub fn shell_commands() -> impl Iterator<Item = OfferedCommand> {
    let others = COMMANDS.iter().map(|entry| match entry.kind {
        CommandKind::Program(tool) | CommandKind::Tool(tool) => {
            OfferedCommand { name: entry.name, tool: Some(tool) }
        }
        _ => OfferedCommand { name: entry.name, tool: None },
    });
    SKILL_COMMANDS.iter().map(|name| OfferedCommand { name, tool: None }).chain(others)
}

impl Offer<'_> {
    fn has_tool(&self, name: &str) -> bool {
        self.shell_tools.iter().any(|tool| tool.name == name)
    }

    /// Whether programs can be run.
    pub(super) fn runs_programs(&self) -> bool {
        self.has_tool("shell") && !self.denied.contains(&"bash")
    }

    fn has(&self, entry: &TableEntry) -> bool {
        let denied = |name: &str| self.denied.contains(&name);
        if entry.name == SKILL.name {
            let role = self.roles.is_empty() || self.roles.iter().any(|role| role.name == SKILL_ROLE);
            return self.may_delegate && role && !SKILL_COMMANDS.iter().all(|name| denied(name));
        } else if entry.name == TASK.name {
            let roles = self.roles.is_empty() || self.roles.iter().any(|role| role.name != SKILL_ROLE);
            return self.may_delegate && roles;
        }
        let there = match entry.kind {
            CommandKind::Always => true,
            CommandKind::Delegation => self.may_delegate,
            CommandKind::Merge => self.may_delegate && self.merges,
            CommandKind::Program(name) | CommandKind::Tool(name) => self.has_tool(name),
        };
        there && !denied(entry.name)
    }

    /// The commands within a tool's description: a line for each that is used all the time, the others by name.
    pub(super) fn told(&self) -> String {
        let (often, seldom): (Vec<_>, Vec<_>) = self.commands().partition(|line| {
            OFTEN.iter().any(|name| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(' ')))
        });
        let mut text = often.join("\n");
        let names = seldom.iter().filter_map(|line| line.split(' ').next()).collect::<Vec<_>>();
        if !names.is_empty() {
            text.push_str(&format!("\nWith --help: {}", names.join(", ")));
        }
        text
    }

    /// Where the agent that a command starts can run, for its help; nothing where there are no other machines.
    fn places_told(&self, entry: &TableEntry) -> String {
        if self.places.is_empty() || ![TASK.name, SKILL.name].contains(&entry.name) {
            return String::new();
        }
        let listed =
            self.places.iter().take(limits::PLACES_MAX).map(|place| short(place, limits::WORD_CHARS_MAX));
        format!(
            " --on PLACE: run it on another machine: {}, anywhere or home.",
            listed.collect::<Vec<_>>().join(", ")
        )
    }

    /// The commands, a line each.
    pub(super) fn commands(&self) -> impl Iterator<Item = String> {
        [&TASK, &SKILL].into_iter().chain(COMMANDS).filter(|entry| self.has(entry)).map(|entry| {
            let search = SKILL_COMMANDS.iter().find(|name| !self.denied.contains(name));
            let all =
                entry.name != SKILL.name || SKILL_COMMANDS.iter().all(|name| !self.denied.contains(name));
            match search.filter(|_| !all) {
                Some(name) => format!("{name} {}", entry.synopsis),
                None if entry.name == TASK.name && !self.places.is_empty() => {
                    format!("{} [--on PLACE]", entry.line())
                }
                None => entry.line(),
            }
        })
    }
}

/// What `help` answers: how one command is used, or what there is.
pub fn shell_help(offer: &Offer<'_>, about: Option<&str>) -> String {
    let entry = about.and_then(|name| match find(name) {
        Some(entry) => Some(entry),
        None if name.starts_with("task:skill") => Some(&SKILL),
        None if name.starts_with("task:") && name.len() > "task:".len() => Some(&TASK),
        None => None,
    });
    match entry {
        Some(entry) if offer.has(entry) => return format!("{}{}", entry.help(), offer.places_told(entry)),
        Some(_) => {
            let name = short(about.unwrap_or_default(), limits::SHOWN_CHARS_MAX);
            return format!("This agent may not use {name}.");
        }
        None => {}
    }
    let mut text = about.map_or_else(String::new, |word| {
        format!("{} is none of these commands.\n", short(word, limits::SHOWN_CHARS_MAX))
    });
    for line in offer.commands() {
        text.push_str(&line);
        text.push('\n');
    }
    if offer.may_delegate && !offer.roles.is_empty() {
        text.push_str(&format!("Roles:\n{}\n", offer.role_list(limits::HELP_ROLES_BYTES_MAX)));
    }
    text.push_str(if offer.runs_programs() {
        "Anything else is run by the shell. --help after a name tells more."
    } else {
        "Other programs cannot be run. --help after a name tells more."
    });
    text
}
