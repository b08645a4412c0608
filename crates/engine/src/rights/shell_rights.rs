//! Rights by name where everything is a command: whether an agent may use one, and what is told of that.
//!
//! A command is named as it is written, by the role that it starts, and by the tool behind it. One of them is enough to
//! be denied, and one is enough to be allowed.

use std::collections::BTreeSet;

use posse_policy::{delegates_to, invoked, passes};
use posse_protocol::{Files, Grant, NameRules, Network, Role, Shell};
use posse_surface::{AgentCommand, Routed, shell_commands};

/// What is not routed, and the tool behind it.
const PROGRAMS: (&str, &str) = ("bash", "shell");
/// The command that is a program, too.
const GREP: &str = "grep";
/// The role of the one agent for skills, and the commands that ask it.
const SKILL: &str = "skill";
const SKILL_COMMANDS: [&str; 2] = ["task:skill:search", "task:skill:enhance"];

/// What roles are told apart by, with what each needs.
const TOLD: [(&str, Need); 12] = [
    ("edit", Need::Files(Files::Write)),
    ("write", Need::Files(Files::Write)),
    ("read", Need::Files(Files::Read)),
    ("glob", Need::Files(Files::Read)),
    ("grep", Need::Files(Files::Read)),
    ("list", Need::Files(Files::Read)),
    ("bash", Need::Shell),
    ("fetch", Need::Network),
    ("todo", Need::Nothing),
    ("remember", Need::Nothing),
    ("recall", Need::Nothing),
    ("skill:load", Need::Nothing),
];

#[derive(Clone, Copy)]
enum Need {
    Nothing,
    Files(Files),
    Shell,
    Network,
}

/// Whether rules let a command through that goes by any of these names.
fn lets(rules: &NameRules, names: &[&str]) -> bool {
    !is_denied(rules, names) && is_allowed(rules, names)
}

fn is_denied(rules: &NameRules, names: &[&str]) -> bool {
    if rules.deny.is_empty() {
        return false;
    }
    let denies = NameRules { allow: BTreeSet::new(), deny: rules.deny.clone() };
    names.iter().any(|name| !passes(&denies, name))
}

fn is_allowed(rules: &NameRules, names: &[&str]) -> bool {
    let allows = NameRules { allow: rules.allow.clone(), deny: BTreeSet::new() };
    names.iter().any(|name| passes(&allows, name))
}

/// The tool behind a command, or its own name.
fn tool_of(name: &str) -> &str {
    if name == PROGRAMS.0 {
        return PROGRAMS.1;
    }
    shell_commands().find(|command| command.name == name).and_then(|command| command.tool).unwrap_or(name)
}

/// Whether rights by name let a command through. `role` is the one that it starts. The error names what is not.
pub(crate) fn may_run(rules: &NameRules, routed: &Routed, role: Option<&Role>) -> Result<(), String> {
    let name = routed.name.as_str();
    let refused = |name: &str| Err(format!("This agent may not use {name}."));
    let starts = role.filter(|role| role.name != SKILL).map(|role| format!("task:{}", role.name));
    let let_through = match &routed.command {
        AgentCommand::Help(_) => true,
        AgentCommand::Run(call) => lets(rules, &[name, call.name.as_str()]),
        // Lists of what is allowed are about tools: whom it may start is for the tree to say.
        AgentCommand::Start { .. } => !is_denied(rules, &[name, starts.as_deref().unwrap_or(name)]),
        _ => !is_denied(rules, &[name]),
    };
    if !let_through {
        return refused(name);
    }
    // A program that has the name of a command is no way round it.
    if let AgentCommand::Run(call) = &routed.command
        && name == PROGRAMS.0
        && is_denied(rules, &[GREP])
        && runs(&call.arguments, GREP)
    {
        return refused(GREP);
    }
    Ok(())
}

fn runs(arguments: &str, program: &str) -> bool {
    let arguments = serde_json::from_str::<serde_json::Value>(arguments).unwrap_or_default();
    let commands = arguments["command"].as_str().and_then(invoked);
    commands.is_none_or(|commands| commands.iter().any(|one| one.words.first().is_some_and(|w| w == program)))
}

/// The commands that rights by name leave out.
pub(crate) fn denied(rules: &NameRules) -> Vec<&'static str> {
    let named = shell_commands().map(|command| match command.tool {
        Some(tool) => (command.name, lets(rules, &[command.name, tool])),
        None => (command.name, !is_denied(rules, &[command.name])),
    });
    let programs = (PROGRAMS.0, lets(rules, &[PROGRAMS.0, PROGRAMS.1]));
    named.chain([programs]).filter(|(_, let_through)| !let_through).map(|(name, _)| name).collect()
}

/// Whether rights by name let an agent start a role, by whatever tool. Elsewhere nothing tells searching from enhancing.
pub(crate) fn may_start(grant: &Grant, role: &str, by_command: bool) -> bool {
    let commands = if role == SKILL { &SKILL_COMMANDS[..] } else { &[] };
    let left_out = commands.iter().filter(|name| is_denied(&grant.tools, &[name])).count();
    let skill = left_out == 0 || by_command && left_out < commands.len();
    skill
        && delegates_to(grant, role)
        && (role == SKILL || !is_denied(&grant.tools, &[&format!("task:{role}")]))
}

/// What a role may use, in the names of commands: `all`, `all but …` or `only …`.
pub(crate) fn uses(role: &Role) -> String {
    if role.tools_listed_by_task {
        return "what --allowed-tools lists".to_string();
    }
    let grant = &role.grant;
    let nobody = grant.delegates.allow.iter().any(BTreeSet::is_empty) || is_denied(&grant.tools, &["task:*"]);
    let starts = match (nobody, may_start(grant, SKILL, true)) {
        (true, _) => Some("task:*"),
        (false, false) => Some("task:skill:*"),
        (false, true) => None,
    };
    let has = |name: &str, need: Need| {
        let enough = match need {
            Need::Nothing => true,
            Need::Files(files) => grant.files >= files,
            Need::Shell => grant.shell > Shell::None,
            Need::Network => grant.network != Network::None,
        };
        enough && lets(&grant.tools, &[name, tool_of(name)])
    };
    let (with, without): (Vec<_>, Vec<_>) = TOLD.iter().partition(|(name, need)| has(name, *need));
    let names = |list: &[&(&'static str, Need)]| list.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    let (with, without) = (names(&with), names(&without));
    if without.is_empty() && starts.is_none() {
        "all".to_string()
    } else if without.len() <= with.len() {
        let left_out = starts.into_iter().chain(without).collect::<Vec<_>>();
        format!("all but {}", left_out.join(", "))
    } else {
        let task = (starts != Some("task:*")).then_some("task:*");
        let given = with.into_iter().chain(task).collect::<Vec<_>>();
        if given.is_empty() { "nothing".to_string() } else { format!("only {}", given.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use posse_protocol::RoleOrigin;
    use posse_roles::{Roles, Team, parse};

    use super::*;

    #[test]
    fn what_roles_may_use_is_told_in_the_names_of_commands() {
        let roles = Roles::builtin(Team::Without);
        let cases = [
            ("general", "all"),
            ("explore", "all but task:*, edit, write"),
            ("skill", "all but task:skill:*"),
            ("implementer", "all but task:*"),
            ("review", "all but task:*, edit, write, bash, fetch"),
            ("custom", "what --allowed-tools lists"),
        ];
        for (name, said) in cases {
            assert_eq!(uses(roles.find(name).unwrap()), said, "{name}");
        }
        let own = [
            ("include: [read, grep]", "only read, grep"),
            ("include: [read, 'task:explore']", "only read, task:*"),
            ("include: []", "nothing"),
            ("exclude: [grep]", "all but task:*, grep"),
            ("include: all\nexclude: [bash, 'skill:load']", "all but bash, skill:load"),
        ];
        for (front, said) in own {
            let text = format!("---\nname: x\ndescription: y\n{front}\n---\nDo it.");
            let role = parse(&text, "x.md", RoleOrigin::BuiltIn).role.unwrap();
            assert_eq!(uses(&role), said, "{front}");
        }
    }
}
