//! Servers in the person's own file: `[mcp.NAME]`, added and removed as text, so that comments and layout stay.

use std::fmt::Write as _;

use posse_mcp::tool_name;

use super::rule_file::change;
use super::{RuleFileError, ServerFile};
use crate::paths::Paths;

/// Saves a server. False if there is one of this name, whatever it says.
pub(crate) fn save_server(paths: &Paths, name: &str, server: &ServerFile) -> Result<bool, RuleFileError> {
    change(paths, |text, file| {
        if file.mcp.keys().any(|known| is_same(known, name)) {
            return None;
        }
        file.mcp.insert(name.to_owned(), server.clone());
        Some(Some(with_server(text, name, server)))
    })
}

/// Removes a server. False if there is none of this name.
pub(crate) fn remove_server(paths: &Paths, name: &str) -> Result<bool, RuleFileError> {
    change(paths, |text, file| {
        let exact = file.mcp.contains_key(name).then(|| name.to_owned());
        let known = exact.or_else(|| file.mcp.keys().find(|known| is_same(known, name)).cloned())?;
        file.mcp.remove(&known);
        Some(Some(without_server(text, &known)))
    })
}

/// Whether tools of two servers would have the same names.
fn is_same(a: &str, b: &str) -> bool {
    tool_name(a, "") == tool_name(b, "")
}

fn with_server(text: &str, name: &str, server: &ServerFile) -> String {
    let gap = match text {
        "" => "",
        text if text.ends_with('\n') => "\n",
        _ => "\n\n",
    };
    let mut out = format!("{text}{gap}[mcp.{}]\n", key(name));
    let mut line = |name: &str, value: String| {
        // Writing to a text cannot fail.
        let _ = writeln!(out, "{name} = {value}");
    };
    server.command.iter().for_each(|command| line("command", quoted(command)));
    if !server.args.is_empty() {
        let args = server.args.iter().map(|word| quoted(word)).collect::<Vec<_>>();
        line("args", format!("[{}]", args.join(", ")));
    }
    server.url.iter().for_each(|url| line("url", quoted(url)));
    for (section, pairs) in [("env", &server.env), ("headers", &server.headers)] {
        let pairs = pairs.iter().map(|(name, value)| format!("{} = {}", key(name), quoted(&value.0)));
        let pairs = pairs.collect::<Vec<_>>();
        if !pairs.is_empty() {
            line(section, format!("{{ {} }}", pairs.join(", ")));
        }
    }
    out
}

/// The text without the section of a server and the sections below it. Comments behind its last line may be about what follows,
/// and stay.
fn without_server(text: &str, name: &str) -> String {
    let (mut kept, mut pending) = (String::new(), Vec::new());
    let mut inside = false;
    for line in text.split_inclusive('\n') {
        let is_empty = line.trim().is_empty() || line.trim_start().starts_with('#');
        if let Some(is_its) = is_head_of(line, name) {
            if inside {
                let after = pending.drain(..).skip_while(|line: &&str| line.trim().is_empty());
                after.for_each(|line| kept.push_str(line));
            }
            inside = is_its;
        } else if inside && is_empty {
            pending.push(line);
            continue;
        }
        if inside {
            pending.clear();
        } else {
            kept.push_str(line);
        }
    }
    let after = pending.into_iter().skip_while(|line| line.trim().is_empty());
    after.for_each(|line| kept.push_str(line));
    // The gap before it was its own if it was the last.
    while kept.ends_with("\n\n") {
        kept.pop();
    }
    kept
}

/// Whether a line begins the section of a server or one below it; none if it begins no section.
fn is_head_of(line: &str, name: &str) -> Option<bool> {
    let head = line.trim();
    if !head.starts_with('[') {
        return None;
    }
    let table = toml::from_str::<toml::Table>(head).ok()?;
    let server = table.get("mcp").and_then(|servers| servers.get(name));
    Some(server.is_some_and(toml::Value::is_table))
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_go_and_all_else_stays() {
        let text = "# mine\nmodel = \"m\"\n\n# the server\n[mcp.a]\ncommand = \"a\" # x\n# inside\nargs = [\n  \"b\",\n]\n\
                    [mcp.a.env]\nA = \"1\"\n\n# about b\n[mcp.\"b c\"] # b\ncommand = \"b\"\n";
        let without_a =
            "# mine\nmodel = \"m\"\n\n# the server\n# about b\n[mcp.\"b c\"] # b\ncommand = \"b\"\n";
        assert_eq!(without_server(text, "a"), without_a);
        let last = without_server(text, "b c");
        assert!(last.ends_with("A = \"1\"\n\n# about b\n"), "{last}");
        let server = ServerFile { command: Some("x\"y".to_owned()), ..ServerFile::default() };
        let added = with_server(without_a, "d.e", &server);
        assert_eq!(added, format!("{without_a}\n[mcp.\"d.e\"]\ncommand = 'x\"y'\n"));
        assert_eq!(without_server(&added, "d.e"), without_a);
    }
}
