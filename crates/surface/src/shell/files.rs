//! The commands of the shell surface that are ordinary tools of Posse: from words to the tool's JSON arguments.

use serde_json::{Map, Value, json};

use super::{
    flags::SortedWords,
    table::{CommandKind, TableEntry},
};
use crate::{limits, words::short, wrong::Wrong};

/// An ordinary tool and its arguments.
pub(crate) struct Ordinary {
    /// The tool.
    pub(crate) tool: &'static str,
    /// As its schema wants them.
    pub(crate) arguments: Map<String, Value>,
}

/// The tool and its arguments; `None` if it is meant for a program of that name in the real shell.
pub(crate) fn arguments(
    entry: &TableEntry,
    sorted: SortedWords,
    here: Option<String>,
) -> Result<Option<Ordinary>, Wrong> {
    let (CommandKind::Program(tool) | CommandKind::Tool(tool)) = entry.kind else { return Ok(None) };
    if here.is_some() && !matches!(entry.name, "write" | "edit" | "todo" | "skill:save" | "remember" | "ask")
    {
        return Ok(None);
    }
    let SortedWords { mut fields, mut rest, .. } = sorted;
    if matches!(entry.name, "remember" | "recall" | "ask") {
        // Words without quotes around them are one text.
        let text = rest.drain(..).chain(here.clone()).collect::<Vec<_>>().join(" ");
        rest.extend((!text.trim().is_empty()).then_some(text));
    }
    if entry.name == "todo" {
        fields.insert("items".to_owned(), items(rest, here.as_deref(), entry)?);
        return Ok(Some(Ordinary { tool, arguments: fields }));
    }
    let (needs, may): (&[&str], &[&str]) = match entry.name {
        "grep" | "glob" => (&["pattern"], &["path"]),
        "list" => (&[], &["path"]),
        "fetch" => (&["url"], &[]),
        "skill:load" => (&["key"], &["file"]),
        "skill:save" => (&["key"], &[]),
        "remember" => (&["text"], &[]),
        "ask" => (&["question"], &[]),
        "recall" => (&[], &["query"]),
        "write" => (&["path", "content"], &[]),
        "edit" => (&["path", "old_text", "new_text"], &[]),
        _ => (&["path"], &[]),
    };
    let mut rest = rest.into_iter();
    for name in needs.iter().chain(may) {
        if !fields.contains_key(*name)
            && let Some(word) = rest.next()
        {
            fields.insert((*name).to_owned(), word.into());
        }
    }
    match rest.next() {
        Some(word) if matches!(entry.name, "write" | "edit") => {
            let word = short(&word, limits::SHOWN_CHARS_MAX);
            let why = format!("\"{word}\" belongs to nothing; put each text into quotes.");
            return Err(Wrong::Usage { why, usage: entry.usage() });
        }
        None if !for_the_program(entry.name, &fields) => {}
        _ => return Ok(None),
    }
    fields.shift_remove("extended");
    here_text(entry, &mut fields, here)?;
    let texts: &[&str] = if entry.name == "skill:save" { &["description", "body"] } else { &[] };
    let missing = needs.iter().chain(texts).find(|name| !fields.contains_key(**name));
    match missing {
        Some(name) => Err(Wrong::Usage {
            why: format!("The {} is missing.", name.replace('_', " ")),
            usage: entry.usage(),
        }),
        None => Ok(Some(Ordinary { tool, arguments: fields })),
    }
}

/// Whether only the program can do what is asked.
fn for_the_program(name: &str, fields: &Map<String, Value>) -> bool {
    let text = |field: &str| fields.get(field).and_then(Value::as_str).unwrap_or_default();
    // The shell would have made paths of this.
    let many_paths = name == "grep" && text("path").contains(['*', '?', '[']);
    // Without -E these mean the opposite of what they mean to us.
    let basic = ["\\|", "\\(", "\\)", "\\{", "\\}", "\\+", "\\?"];
    let basic = name == "grep"
        && !fields.contains_key("extended")
        && basic.iter().any(|operator| text("pattern").contains(operator));
    many_paths || basic
}

/// Puts the text of a here-document where it is missing.
fn here_text(entry: &TableEntry, fields: &mut Map<String, Value>, here: Option<String>) -> Result<(), Wrong> {
    let Some(text) = here else { return Ok(()) };
    let field = match entry.name {
        "write" => "content",
        "edit" => "new_text",
        "skill:save" => "body",
        _ => return Ok(()),
    };
    if fields.contains_key(field) {
        let why = "The text is given twice, as a word and by <<.".to_owned();
        return Err(Wrong::Usage { why, usage: entry.usage() });
    }
    match entry.name {
        "edit" => replacement(fields, &text),
        _ => drop(fields.insert(field.to_owned(), text.into())),
    }
    Ok(())
}

/// What a here-document says to `edit`: the new text, or the old one and the new one with a line between them.
fn replacement(fields: &mut Map<String, Value>, text: &str) {
    let text = text.strip_suffix('\n').unwrap_or(text);
    if fields.contains_key("old_text") {
        fields.entry("new_text").or_insert(text.into());
        return;
    }
    let lines: Vec<&str> = text.split('\n').collect();
    let Some(middle) = lines.iter().position(|line| line.trim_end() == "=======") else { return };
    let (old, new) = (&lines[..middle], &lines[middle + 1..]);
    let old = if old.first().is_some_and(|line| line.starts_with("<<<<<<<")) { &old[1..] } else { old };
    let new = match new.split_last() {
        Some((last, before)) if last.starts_with(">>>>>>>") => before,
        _ => new,
    };
    fields.insert("old_text".to_owned(), old.join("\n").into());
    fields.insert("new_text".to_owned(), new.join("\n").into());
}

fn items(words: Vec<String>, here: Option<&str>, entry: &TableEntry) -> Result<Value, Wrong> {
    let lines = here.unwrap_or_default().lines().map(str::to_owned);
    let words = words.into_iter().chain(lines).filter(|word| !word.trim().is_empty());
    let items: Vec<Value> = words.map(|word| item(&word)).collect();
    if items.is_empty() {
        return Err(Wrong::Usage { why: "The items are missing.".to_owned(), usage: entry.usage() });
    } else if items.len() > limits::TODO_ITEMS_MAX {
        return Err(Wrong::TooMany { field: "ITEM", max: limits::TODO_ITEMS_MAX });
    }
    Ok(items.into())
}

fn item(word: &str) -> Value {
    let word = word.trim();
    let word = word.strip_prefix("- ").unwrap_or(word).trim_start();
    let marks = [("[x]", "done"), ("[X]", "done"), ("[>]", "doing"), ("[ ]", "pending"), ("[]", "pending")];
    for (mark, status) in marks {
        if let Some(text) = word.strip_prefix(mark) {
            return json!({"text": text.trim(), "status": status});
        }
    }
    json!({"text": word, "status": "pending"})
}
