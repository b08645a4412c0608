//! What agents are called: names that models give, names of our own, and the register that keeps them unique.

use std::collections::BTreeMap;

use posse_protocol::AgentId;
use serde::{Deserialize, Serialize};

use crate::limits;
use crate::refusal::Refusal;

/// Means every agent when a message is addressed, so no agent can be called that.
const EVERYONE: &str = "all";

/// The names of a session. Owned by its tree; a name is never given up, only handed on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct AgentNames {
    taken: BTreeMap<String, AgentId>,
    /// The last number given, by beginning.
    numbers: BTreeMap<String, u32>,
}

impl AgentNames {
    pub(crate) fn find(&self, name: &str) -> Option<AgentId> {
        self.taken.get(&folded(name)).copied()
    }

    pub(crate) fn set(&mut self, name: String, id: AgentId) {
        self.taken.insert(name, id);
    }

    /// Keeps a name from being given to anybody, if nobody has it.
    pub(crate) fn hold(&mut self, name: String, id: AgentId) {
        self.taken.entry(name).or_insert(id);
    }

    /// A name that a model gave, as it will be.
    pub(crate) fn given(name: &str) -> Result<String, Refusal> {
        let name = folded(name);
        let good = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '_' | '-');
        if name.is_empty() || name.chars().count() > limits::NAME_CHARS_MAX || !name.chars().all(good) {
            return Err(Refusal::BadName);
        }
        if name == EVERYONE { Err(Refusal::NameTaken { name }) } else { Ok(name) }
    }

    /// A new name after a role: explore-1, explore-2, …
    pub(crate) fn numbered(&mut self, role: &str) -> String {
        let beginning = slug(role);
        let number = self.numbers.entry(beginning.clone()).or_default();
        loop {
            *number = number.saturating_add(1);
            let name = format!("{beginning}-{number}");
            // A name given by a model may look like one of ours.
            if !self.taken.contains_key(&name) {
                return name;
            }
        }
    }
}

fn folded(name: &str) -> String {
    name.trim().to_lowercase().replace(' ', "-")
}

/// A role as the beginning of a name.
fn slug(role: &str) -> String {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let all: String = folded(role).chars().map(|c| if good(c) { c } else { '-' }).collect();
    let short: String = all.trim_matches('-').chars().take(limits::NAME_ROLE_CHARS_MAX).collect();
    let short = short.trim_end_matches('-');
    if short.is_empty() { "agent".to_owned() } else { short.to_owned() }
}

/// The smallest id whose text has this beginning, if it can be the beginning of an id.
pub(crate) fn first_with_prefix(prefix: &str) -> Option<AgentId> {
    const ZEROS: &str = "00000000-0000-0000-0000-000000000000";
    if prefix.len() < limits::ID_PREFIX_CHARS_MIN {
        return None;
    }
    // `get` is none for a text that is longer than an id; anything but hexadecimal digits and dashes does not parse.
    format!("{prefix}{}", ZEROS.get(prefix.len()..)?).parse().ok()
}
