//! What an agent is offered: whom it may delegate to, and the words in which tools tell it.

use std::fmt::Write as _;

use posse_protocol::{ANYWHERE, HOME, Needs, ToolSpec};
use serde_json::{Map, Value, json};

use crate::{limits, words::short};

/// What the tools of one agent are made from.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// The roles it may delegate to, and only those.
    pub roles: &'a [RoleOffer<'a>],
    /// Whether it may delegate at all; if not, no tool that starts an agent is offered.
    pub may_delegate: bool,
    /// Whether it is one of a team with mailboxes and a board.
    pub team: bool,
    /// Whether agents can have checkouts of their own here, whose work it can merge.
    pub merges: bool,
    /// The models it may ask for.
    pub models: &'a [String],
    /// The addresses it may send a task to, where they are listed.
    pub endpoints: &'a [String],
    /// Names and labels of the workers it may send a task to; without any, nobody is told of other machines.
    pub places: &'a [String],
    /// The ordinary tools it has, for the shell surface: they are commands there.
    pub shell_tools: &'a [ToolSpec],
    /// The commands of the shell surface that its rights name and leave out.
    pub denied: &'a [&'a str],
    /// What each of the roles may use, in the words of the shell surface; empty elsewhere.
    pub uses: &'a [String],
}

impl Offer<'_> {
    /// An offer of nothing but the tools themselves, for telling what a tool takes.
    pub(crate) const BARE: Offer<'static> = Offer {
        roles: &[],
        may_delegate: true,
        team: true,
        merges: false,
        models: &[],
        endpoints: &[],
        places: &[],
        shell_tools: &[],
        denied: &[],
        uses: &[],
    };

    /// The name of a role, what it is for and what it may use, on one line.
    fn line(&self, at: usize, about_chars_max: usize) -> String {
        let role = &self.roles[at];
        let name = short(role.name, limits::WORD_CHARS_MAX);
        let uses = self.uses.get(at).map(|uses| format!(" ({uses})")).unwrap_or_default();
        format!("- {name}: {}{uses}", gist(role.description, about_chars_max))
    }

    /// The roles with what they may use, those together that may use the same: it tells more than the beginning of a sentence.
    fn by_use(&self) -> String {
        let mut lines: Vec<(&str, String)> = Vec::new();
        for (role, uses) in self.roles.iter().zip(self.uses) {
            let name = short(role.name, limits::WORD_CHARS_MAX);
            match lines.iter_mut().find(|(same, _)| same == uses) {
                Some((_, names)) => names.push_str(&format!(", {name}")),
                None => lines.push((uses, format!("- {name}"))),
            }
        }
        let lines = lines.iter().map(|(uses, names)| format!("{names} ({uses})"));
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The roles within so many bytes: a line each, shorter ones where there are many; then names; then how to find the
    /// others.
    pub(crate) fn role_list(&self, bytes_max: usize) -> String {
        for chars_max in limits::ROLE_ABOUT_CHARS {
            let list =
                (0..self.roles.len()).map(|at| self.line(at, chars_max)).collect::<Vec<_>>().join("\n");
            if list.len() <= bytes_max {
                return list;
            }
        }
        let by_use = self.by_use();
        if self.uses.len() == self.roles.len() && by_use.len() <= bytes_max {
            return by_use;
        }
        let room = bytes_max.saturating_sub(limits::ROLE_SEARCH_BYTES);
        let shortest = limits::ROLE_ABOUT_CHARS[limits::ROLE_ABOUT_CHARS.len() - 1];
        let mut list = String::new();
        let mut shown = 0;
        for at in 0..self.roles.len() {
            let line = self.line(at, shortest) + "\n";
            // The rest is for names: they tell more in the same room.
            if list.len() + line.len() > room / 2 {
                break;
            }
            list.push_str(&line);
            shown += 1;
        }
        let mut before = "Also: ";
        for role in &self.roles[shown..] {
            let name = short(role.name, limits::WORD_CHARS_MAX);
            if list.len() + before.len() + name.len() > room {
                break;
            }
            let _ = write!(list, "{before}{name}");
            (before, shown) = (", ", shown + 1);
        }
        let more = self.roles.len() - shown;
        if more > 0 {
            let _ = write!(list, "\n{more} more: words instead of a role tell which ones fit");
        }
        list.trim().to_owned()
    }

    /// A description, and the roles below it, in the room that a description has beside what else is `there`.
    pub(crate) fn with_roles(&self, description: &str, there: usize) -> String {
        let description = description.trim_end();
        if self.roles.is_empty() {
            return description.to_owned();
        }
        let used = there + description.len() + "\nRoles:\n".len();
        let room = limits::DESCRIPTION_BYTES_MAX.saturating_sub(used);
        format!("{description}\nRoles:\n{}", self.role_list(room.max(limits::ROLES_BYTES_MIN)))
    }

    /// The schema of a role: one of those on offer, or any word where there are too many to list.
    pub(crate) fn role_schema(&self) -> Value {
        let names = self.roles.iter().map(|role| role.name.to_owned()).collect::<Vec<_>>();
        match names.iter().map(String::len).sum::<usize>() > limits::ROLE_NAMES_BYTES_MAX {
            true => text(),
            false => one_of(names),
        }
    }

    /// The schema of an endpoint: one of those on offer, or any where none are listed.
    pub(crate) fn endpoint_schema(&self) -> Value {
        one_of(self.endpoints.iter().take(limits::ENDPOINTS_MAX).cloned().collect())
    }

    /// The schema of the machine that an agent runs on; none where there are no others.
    pub(crate) fn place_schema(&self) -> Option<Value> {
        let fits = self.places.len() <= limits::PLACES_MAX;
        let listed = [HOME, ANYWHERE].into_iter().map(str::to_owned).chain(self.places.iter().cloned());
        let (schema, words) = match fits {
            true => (one_of(listed.collect()), "machine it runs on"),
            false => (text(), "machine it runs on: a worker, a label, anywhere or home"),
        };
        (!self.places.is_empty()).then(|| about(schema, words))
    }

    /// The schema of a model: one of those on offer, or any where none are listed.
    pub(crate) fn model_schema(&self) -> Value {
        one_of(self.models.iter().take(limits::MODELS_MAX).cloned().collect())
    }
}

/// A role as it is offered to a model.
#[derive(Clone, Copy, Debug)]
pub struct RoleOffer<'a> {
    /// Its name.
    pub name: &'a str,
    /// When to use it.
    pub description: &'a str,
}

/// The first sentence; the rest of a description is for people.
fn gist(description: &str, chars_max: usize) -> String {
    let line = description.trim().lines().next().unwrap_or_default();
    let sentence = line.split_once(". ").map_or(line, |(sentence, _)| sentence);
    short(sentence.trim_end_matches('.'), chars_max)
}

fn one_of(words: Vec<String>) -> Value {
    if words.is_empty() { text() } else { json!({"type": "string", "enum": words}) }
}

/// The schema of a string.
pub(crate) fn text() -> Value {
    json!({"type": "string"})
}

/// The schema of a whole number.
pub(crate) fn integer() -> Value {
    json!({"type": "integer"})
}

/// The schema of a list of whole numbers.
pub(crate) fn integers() -> Value {
    json!({"type": "array", "items": {"type": "integer"}})
}

/// The schema of a list of strings.
pub(crate) fn texts() -> Value {
    json!({"type": "array", "items": {"type": "string"}})
}

/// The schema of where an agent works.
pub(crate) fn isolation() -> Value {
    json!({"type": "string", "enum": ["shared", "worktree"], "description": "worktree: own checkout, merge it later"})
}

/// The schema of `true` and `false`.
pub(crate) fn boolean() -> Value {
    json!({"type": "boolean"})
}

/// The same schema with a few words about the field.
pub(crate) fn about(mut schema: Value, words: &str) -> Value {
    schema["description"] = json!(words);
    schema
}

/// A tool that needs no rights of its own: what it may do is checked where it is done.
pub(crate) fn tool(
    name: &str,
    description: impl Into<String>,
    required: &[&str],
    properties: impl IntoIterator<Item = (&'static str, Value)>,
) -> ToolSpec {
    let properties: Map<String, Value> =
        properties.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    let (name, description, schema) = (name.to_owned(), description.into(), schema.into());
    ToolSpec { name, description, schema, needs: Needs::default() }
}

/// The fields of a tool, as its schema names them.
pub(crate) fn offered(tool: &ToolSpec) -> Vec<String> {
    let fields = tool.schema["properties"].as_object();
    fields.into_iter().flat_map(Map::keys).cloned().collect()
}

/// What a tool takes, in one line, for errors.
pub(crate) fn takes(tool: &ToolSpec) -> String {
    let needed = |name: &str| {
        tool.schema["required"].as_array().is_some_and(|required| required.iter().any(|one| one == name))
    };
    let told = |name: String| if needed(&name) { format!("{name} (required)") } else { name };
    let fields: Vec<String> = offered(tool).into_iter().map(told).collect();
    format!("{} takes: {}.", tool.name, fields.join(", "))
}
