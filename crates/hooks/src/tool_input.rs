//! What other programs call our tools and their arguments, and the way back.

use posse_policy::own_name;
use serde_json::{Map, Value};

/// What other programs call the start of an agent.
pub(crate) const AGENT: &str = "Agent";

/// A field by our name and by that of other programs.
type Renamed = (&'static str, &'static str);

/// Our tools, what other programs call them, and the fields that have other names there.
const TOOLS: &[(&str, &str, &[Renamed])] = &[
    ("shell", "Bash", &[("timeout_ms", "timeout"), ("background", "run_in_background")]),
    ("write_file", "Write", &[("path", "file_path")]),
    ("edit_file", "Edit", &[("path", "file_path"), ("old_text", "old_string"), ("new_text", "new_string")]),
    ("read_file", "Read", &[("path", "file_path"), ("start_line", "offset")]),
    ("glob", "Glob", &[]),
    ("grep", "Grep", &[("ignore_case", "-i"), ("context", "-C"), ("limit", "head_limit")]),
    ("list_files", "LS", &[]),
    ("web_fetch", "WebFetch", &[]),
    ("todo", "TodoWrite", &[("items", "todos")]),
    ("ask_person", "AskUserQuestion", &[]),
    ("skill_load", "Skill", &[("key", "skill")]),
];

/// What other programs call a tool of ours; none if they have no such tool.
pub(crate) fn foreign(own: &str) -> Option<&'static str> {
    TOOLS.iter().find(|(name, ..)| *name == own).map(|(_, foreign, _)| *foreign)
}

/// The same; its own name where there is no other, as for tools that come from elsewhere.
pub fn foreign_name(own: &str) -> String {
    foreign(own).map_or_else(|| own.to_owned(), str::to_owned)
}

fn renamed(own: &str) -> &'static [Renamed] {
    TOOLS.iter().find(|(name, ..)| *name == own).map_or(&[], |(_, _, fields)| *fields)
}

/// Arguments of a tool of ours as other programs would have them. Paths become absolute.
pub fn foreign_input(own: &str, arguments: &Value, folder: &str) -> Value {
    let Value::Object(fields) = arguments else { return arguments.clone() };
    let mut input = Map::new();
    for (key, value) in fields {
        let foreign = renamed(own).iter().find(|(ours, _)| ours == key).map_or(key.as_str(), |(_, it)| *it);
        let is_path = matches!(foreign, "file_path" | "path") && foreign_name(own) != own;
        let value = match value {
            Value::String(path) if is_path => Value::String(absolute(path, folder)),
            value => value.clone(),
        };
        input.insert(foreign.to_owned(), value);
    }
    Value::Object(input)
}

fn absolute(path: &str, folder: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path);
    match path {
        _ if path.starts_with('/') => path.to_owned(),
        "" | "." => folder.to_owned(),
        path => format!("{}/{path}", folder.trim_end_matches('/')),
    }
}

/// Arguments that a hook has written, under our names again. Paths in the folder become relative to it.
pub fn own_input(own: &str, input: &Value, folder: &str) -> Value {
    let Value::Object(fields) = input else { return input.clone() };
    let own = own_name(own).unwrap_or(own);
    let mut arguments = Map::new();
    for (key, value) in fields {
        let ours = renamed(own).iter().find(|(_, it)| it == key).map_or(key.as_str(), |(ours, _)| *ours);
        let value = match value {
            Value::String(path) if ours == "path" && foreign(own).is_some() => {
                let inside = path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
                Value::String(inside.unwrap_or(path).to_owned())
            }
            value => value.clone(),
        };
        arguments.insert(ours.to_owned(), value);
    }
    Value::Object(arguments)
}
