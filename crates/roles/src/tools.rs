//! The tools a file names become rules. Names of other programs are understood; what cannot be enforced is not given.

use std::collections::BTreeSet;

use posse_policy::{TOOLS, is_tool, own_name};
use posse_protocol::NameRules;

use crate::limits::LIST_ITEM_CHARS_MAX;
use crate::limits::TOOL_LIKENESS_MIN;
use crate::name::{folded, shortened};
use crate::values::Value;

/// What stands for every name.
const EVERY: &str = "*";
/// The same in a list of commands.
const ALL: &str = "all";
/// The role of the one agent for skills.
const SKILL: &str = "skill";
/// The commands that ask it.
const SKILL_COMMANDS: [&str; 2] = ["task:skill:search", "task:skill:enhance"];

/// What a file says about tools and delegation, gathered key by key.
#[derive(Default)]
pub(crate) struct Tools {
    /// The only ones; `None` where no list is given, or the list is `*`.
    only: Option<BTreeSet<String>>,
    denied: BTreeSet<String>,
    /// Whether there is a list at all.
    listed: bool,
    /// The roles that the list lets it start; empty for none.
    roles: BTreeSet<String>,
    roles_denied: BTreeSet<String>,
    /// What a list `include` leaves, and the roles that it lets it start. `None` where there is no such list.
    included: Option<(Option<BTreeSet<String>>, BTreeSet<String>)>,
    /// Whether there is a list `exclude`.
    excludes: bool,
}

/// What one entry of a list means.
enum Entry {
    Everything,
    Tools(Vec<String>),
    /// These roles may be started, `*` for all.
    Delegation(Vec<String>),
    /// A tool with a condition that Posse does not check.
    Conditional(String),
    /// A tool that Posse does not have.
    Unknown(String),
}

impl Tools {
    /// Reads a list of the only tools, or a map of tools to true and false. What is to be said goes to `warn`.
    pub(crate) fn allow(&mut self, value: &Value, warn: &mut dyn FnMut(String)) {
        if let Value::Map(pairs) = value {
            return self.switch(pairs, warn);
        }
        self.listed = true;
        let (only, roles) = read_list(value, warn);
        self.roles.extend(roles);
        self.only = only;
    }

    /// Reads a list of all it may use, delegation included, by the names of commands; `all` is everything.
    pub(crate) fn include(&mut self, value: &Value, warn: &mut dyn FnMut(String)) {
        if value.text().eq_ignore_ascii_case(ALL) {
            self.included = Some((None, BTreeSet::from([EVERY.to_string()])));
            return;
        }
        let (only, mut roles) = read_list(value, warn);
        if only.is_none() {
            roles.insert(EVERY.to_string());
        }
        self.included = Some((only, roles));
    }

    /// Reads a list of what it may not use, by the names of commands.
    pub(crate) fn exclude(&mut self, value: &Value, warn: &mut dyn FnMut(String)) {
        self.excludes = true;
        self.deny(value, warn);
    }

    /// Whether a list `exclude` leaves it no way of writing files but commands.
    pub(crate) fn excludes_writing(&self) -> bool {
        self.excludes && ["edit_file", "write_file"].iter().all(|tool| self.denied.contains(*tool))
    }

    /// Reads a list of tools it may not use; of a map, every name counts.
    pub(crate) fn deny(&mut self, value: &Value, warn: &mut dyn FnMut(String)) {
        let names = match value {
            Value::Map(pairs) => pairs.iter().map(|(name, _)| name.clone()).collect(),
            other => other.entries(),
        };
        for written in names {
            self.deny_one(&written, warn);
        }
    }

    fn deny_one(&mut self, written: &str, warn: &mut dyn FnMut(String)) {
        match entry(written) {
            Entry::Everything => self.denied.extend(["*".to_string()]),
            Entry::Tools(names) => {
                self.denied.extend(names);
                // A command of the same name must not get round it.
                self.denied.insert(written.to_string());
            }
            Entry::Delegation(roles) => {
                // A command is denied by its name, too.
                self.denied.extend(written.contains(':').then(|| written.to_lowercase()));
                self.roles_denied.extend(roles);
            }
            Entry::Unknown(name) => {
                warn(unknown(&name));
                self.denied.insert(name);
            }
            Entry::Conditional(tool) => {
                warn(format!(
                    "Posse does not check the condition in {:?}, so {tool} is taken away altogether",
                    shortened(written)
                ));
                self.denied.insert(tool);
            }
        }
    }

    /// `read: true`, `write: false`: what is off is denied; where `*` is off, what is on is all there is.
    fn switch(&mut self, pairs: &[(String, String)], warn: &mut dyn FnMut(String)) {
        let is_on = |word: &str| matches!(word, "true" | "yes" | "on");
        let (on, off): (Vec<_>, Vec<_>) = pairs.iter().partition(|(_, word)| is_on(word));
        if off.iter().any(|(name, _)| name == "*") {
            return self.allow(&Value::List(on.into_iter().map(|(name, _)| name.clone()).collect()), warn);
        }
        for (name, _) in off {
            self.deny_one(name, warn);
        }
    }

    /// Permissions by kind of action. Only `allow` is allowed: nobody is asked here, and patterns are not checked.
    pub(crate) fn permit(&mut self, value: &Value, warn: &mut dyn FnMut(String)) {
        let all = [("*".to_string(), value.text())];
        let pairs = if let Value::Map(pairs) = value { pairs.as_slice() } else { &all };
        for (name, word) in pairs.iter().filter(|(_, word)| word != "allow") {
            if word != "deny" {
                warn(format!("{:?} is not simply allowed, so it is not given", shortened(name)));
            }
            self.deny_one(name, warn);
            if name == "edit" {
                self.denied.insert("write_file".to_string());
            }
        }
    }

    /// Which tools it may use.
    pub(crate) fn rules(&self) -> NameRules {
        let included = self.included.as_ref().and_then(|(only, _)| only.as_ref());
        let allow = self.only.iter().chain(included).cloned().collect();
        NameRules { allow, deny: self.denied.clone() }
    }

    /// To which roles it may delegate: what `delegates_to` says, else what the lists of tools say, else none.
    pub(crate) fn delegates(&self, delegates_to: Option<&Value>) -> NameRules {
        let named = delegates_to.map(|value| value.entries().into_iter().collect::<BTreeSet<_>>());
        let included = self.included.as_ref().map(|(_, roles)| roles.clone());
        let listed = || if self.listed { Some(self.roles.clone()) } else { included.clone() };
        let roles = named.or_else(listed).unwrap_or_default();
        let layers = [Some(roles), included].into_iter().flatten();
        let allow = layers.filter(|layer| !layer.contains(EVERY)).collect();
        let skill = SKILL_COMMANDS.iter().all(|name| self.denied.contains(*name));
        if self.roles_denied.contains(EVERY) {
            return NameRules::nothing();
        }
        let mut deny = self.roles_denied.clone();
        deny.extend(skill.then(|| SKILL.to_string()));
        NameRules { allow, deny }
    }
}

/// The names of a list, `None` for all of them, and the roles that it lets an agent start.
fn read_list(value: &Value, warn: &mut dyn FnMut(String)) -> (Option<BTreeSet<String>>, BTreeSet<String>) {
    let (mut only, mut roles, mut everything) = (BTreeSet::new(), BTreeSet::new(), false);
    for written in value.entries() {
        match entry(&written) {
            Entry::Everything => everything = true,
            Entry::Tools(names) => only.extend(names),
            Entry::Delegation(named) => roles.extend(named),
            Entry::Unknown(name) => {
                warn(unknown(&name));
                only.insert(name);
            }
            Entry::Conditional(tool) => warn(format!(
                "Posse does not check the condition in {:?}, so {tool} is not given; write it without, or leave it out",
                shortened(&written)
            )),
        }
    }
    if only.is_empty() && roles.is_empty() && !everything {
        warn("it has no tools at all; leave the key out to give it every tool".to_string());
    }
    ((!everything).then_some(only), roles)
}

fn entry(written: &str) -> Entry {
    if written == EVERY {
        return Entry::Everything;
    } else if let Some(command) = command(&written.to_lowercase()) {
        return command;
    }
    let (base, condition) = match written.split_once('(') {
        Some((base, rest)) => (base.trim(), Some(rest.strip_suffix(')').unwrap_or(rest).trim())),
        None => (written, None),
    };
    let condition = condition.filter(|text| *text != "*");
    if is_delegation(base) {
        let roles = condition.unwrap_or("*").split(',').map(|role| role.trim().to_string());
        return Entry::Delegation(roles.filter(|role| !role.is_empty() && !role.contains(':')).collect());
    }
    match (own_name(base), condition) {
        (Some(tool), None) => Entry::Tools(vec![tool.to_string()]),
        (Some(tool), Some(_)) => Entry::Conditional(tool.to_string()),
        (None, Some(_)) => Entry::Conditional(base.chars().take(LIST_ITEM_CHARS_MAX).collect()),
        (None, None) => foreign(base),
    }
}

/// A command of the surface `shell` whose name is no tool's: what it is elsewhere goes with it.
fn command(name: &str) -> Option<Entry> {
    let tools: &[&str] = match name {
        "skill:*" => &["skill_load", "skill_save"],
        "skill:load" => &["skill_load"],
        "skill:save" => &["skill_save"],
        "handle:*" | "handle:read" => &["handle_read"],
        "task:wait" | "task:status" | "task:message" | "task:cancel" | "task:close" | "task:merge" => &[],
        name if SKILL_COMMANDS.contains(&name) => &[],
        "task:skill:*" => return Some(Entry::Delegation(vec![SKILL.to_string()])),
        name => {
            let role = name.strip_prefix("task:").filter(|role| !role.is_empty() && !role.contains(':'))?;
            return Some(Entry::Delegation(vec![role.to_string()]));
        }
    };
    let names = tools.iter().copied().chain([name]);
    Some(Entry::Tools(names.map(str::to_string).collect()))
}

/// A name that is none of ours: a tool of an MCP server, a command, a pattern, or unknown.
fn foreign(name: &str) -> Entry {
    let name: String = name.chars().take(LIST_ITEM_CHARS_MAX).collect();
    if let Some(rest) = name.strip_prefix("mcp__")
        && !rest.contains("__")
        && !rest.contains('*')
    {
        // A server without a tool is all of its tools.
        return Entry::Tools(vec![format!("{name}__*"), name]);
    }
    let known = TOOLS.contains(&name.as_str()) || name.starts_with("mcp_") || name.contains(['*', ':']);
    if known { Entry::Tools(vec![name]) } else { Entry::Unknown(name) }
}

fn is_delegation(name: &str) -> bool {
    let name = folded(name);
    matches!(name.as_str(), "task" | "agent" | "spawntask" | "delegatetoagent")
        || matches!(name.as_str(), "agentopen" | "agenteval" | "agentclose")
}

/// What to say of a name that is none of a tool here.
fn unknown(name: &str) -> String {
    let likely = likely_tool(name).map(|tool| format!("; did you mean {tool:?}?")).unwrap_or_default();
    format!("{:?} is no tool of Posse's{likely}", shortened(name))
}

/// The tool that somebody who wrote this may have meant; none for the name of another program's tool.
pub fn likely_tool(name: &str) -> Option<&'static str> {
    // What other programs call ours is misspelt, too.
    const ALSO: [&str; 6] = ["bash", "read", "write", "edit", "webfetch", "todowrite"];
    let wanted = folded(&shortened(name));
    let scored = TOOLS.iter().chain(&ALSO).map(|tool| (strsim::jaro_winkler(&folded(tool), &wanted), *tool));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|_| !is_tool(name))?;
    (best.0 >= TOOL_LIKENESS_MIN).then(|| own_name(best.1).unwrap_or(best.1))
}
