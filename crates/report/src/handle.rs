//! Reads a stored value piece by piece: characters, lines, its size, or what a JSONPath finds in it. What comes back is
//! bounded and says how to get the rest.

use std::fmt::Write as _;

use posse_protocol::HandleRead;
use serde_json::Value;

use posse_protocol::visible::one_line;

use crate::{json_path, limits, visible::head};

/// A piece of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Exactly what was asked for, as far as one read gives it.
    pub text: String,
    /// What there is to say about it: how it goes on, or that there is nothing.
    pub note: String,
}

/// The wanted piece of a value. The error says what to ask for instead.
pub fn read(value: &str, read: &HandleRead) -> Result<Piece, String> {
    match read {
        HandleRead::Slice { offset, length } => slice(value, *offset, *length),
        HandleRead::Lines { from, to } => lines(value, *from, *to),
        HandleRead::Count => Ok(Piece { text: count(value), note: String::new() }),
        HandleRead::JsonPath(path) => find(value, path),
    }
}

fn empty() -> Piece {
    Piece { text: String::new(), note: "The value is empty.".to_owned() }
}

fn slice(value: &str, offset: usize, length: usize) -> Result<Piece, String> {
    if length == 0 {
        return Err("length is 0; ask for at least 1 character".to_owned());
    } else if value.is_empty() {
        return Ok(empty());
    }
    let Some((begin, _)) = value.char_indices().nth(offset) else {
        let chars = value.chars().count();
        return Err(format!("the value has {chars} characters; offset must be less than that"));
    };
    let rest = &value[begin..];
    let wanted = rest.char_indices().nth(length).map_or(rest, |(end, _)| &rest[..end]);
    let shown = head(wanted, limits::READ_BYTES_MAX);
    let more = rest[shown.len()..].chars().count();
    let next = offset.saturating_add(shown.chars().count());
    let note = match more {
        0 => String::new(),
        more => format!("{more} more characters: read on from offset {next}."),
    };
    Ok(Piece { text: shown.to_owned(), note })
}

fn lines(value: &str, from: usize, to: usize) -> Result<Piece, String> {
    let from = from.max(1);
    if to < from {
        return Err(format!("the last line ({to}) comes before the first ({from}); lines count from 1"));
    } else if value.is_empty() {
        return Ok(empty());
    }
    let total = value.lines().count();
    if from > total {
        return Err(format!("the value has {total} lines; the first line must be one of them"));
    }
    let mut shown: Vec<&str> = Vec::new();
    let (mut bytes, mut notes) = (0, Vec::new());
    for line in value.lines().skip(from - 1).take(to - from + 1) {
        if !shown.is_empty() && bytes + line.len() + 1 > limits::READ_BYTES_MAX {
            break;
        }
        let part = head(line, limits::READ_BYTES_MAX);
        shown.push(part);
        bytes += part.len() + 1;
        if part.len() < line.len() {
            let at = from + shown.len() - 1;
            let begin: usize = value.split_inclusive('\n').take(at - 1).map(|l| l.chars().count()).sum();
            let next = begin + part.chars().count();
            notes.push(format!("Line {at} is longer: read on by offset {next}."));
            break;
        }
    }
    let next = from + shown.len();
    if next <= total {
        notes.push(format!("{} more lines: read on from line {next}.", total + 1 - next));
    } else if to > total && to != usize::MAX {
        notes.push(format!("The value ends with line {total}."));
    }
    Ok(Piece { text: shown.join("\n"), note: notes.join(" ") })
}

fn count(value: &str) -> String {
    let mut out = format!("{} characters, {} lines", value.chars().count(), value.lines().count());
    match parsed(value) {
        Ok(Value::Array(list)) => {
            let _ = write!(out, ", a JSON list of {} elements", list.len());
        }
        Ok(Value::Object(map)) => {
            let keys = map.keys().take(limits::KEYS_NAMED_MAX).map(|key| one_line(key, 40));
            let keys = keys.collect::<Vec<_>>().join(", ");
            let more = if map.len() > limits::KEYS_NAMED_MAX { ", …" } else { "" };
            let _ = write!(out, ", a JSON object of {} keys: {keys}{more}", map.len());
        }
        _ => {}
    }
    out
}

fn find(value: &str, path: &str) -> Result<Piece, String> {
    let value = parsed(value)?;
    let found = json_path::find(&value, path)?;
    let mut note = match found.len() {
        0 => "No matches.".to_owned(),
        1 => "1 match.".to_owned(),
        count => format!("{count} matches."),
    };
    let mut shown: Vec<String> = Vec::new();
    let mut bytes = 0;
    for (at, one) in found.iter().enumerate() {
        let text = one.to_string();
        if at > 0 && bytes + text.len() > limits::READ_BYTES_MAX {
            let more = found.len() - at;
            let _ = write!(note, " {more} of them are not shown: narrow the path, with [{at}:] for example.");
            break;
        }
        let part = head(&text, limits::READ_BYTES_MAX);
        bytes += part.len() + 1;
        shown.push(part.to_owned());
        if part.len() < text.len() {
            let (more, rest) = (text[part.len()..].chars().count(), found.len() - at - 1);
            let _ = write!(
                note,
                " {more} more characters and {rest} more matches: go deeper with the path, or read by offset."
            );
            break;
        }
    }
    Ok(Piece { text: shown.join("\n"), note })
}

fn parsed(value: &str) -> Result<Value, String> {
    if value.len() > limits::JSON_BYTES_MAX {
        return Err(format!(
            "the value has {} bytes, and only up to {} are read as JSON; read it by slice or lines",
            value.len(),
            limits::JSON_BYTES_MAX
        ));
    }
    serde_json::from_str(value).map_err(|error| match error.is_syntax() {
        true if error.to_string().starts_with("recursion") => {
            "the value is JSON, but nested too deeply for JSONPath; read it by slice or lines".to_owned()
        }
        _ => "the value is not JSON, so JSONPath finds nothing in it; read it by slice or lines".to_owned(),
    })
}
