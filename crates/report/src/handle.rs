//! Reads a stored value piece by piece: characters, lines, its size, or what a JSONPath finds in it. What comes back is
//! bounded and says how to get the rest.

use std::fmt::Write as _;

use posse_protocol::HandleRead;
use serde_json::Value;

use crate::{json_path, limits, visible::head, visible::one_line};

/// The wanted piece of a value. The error says what to ask for instead.
pub fn read(value: &str, read: &HandleRead) -> Result<String, String> {
    match read {
        HandleRead::Slice { offset, length } => slice(value, *offset, *length),
        HandleRead::Lines { from, to } => lines(value, *from, *to),
        HandleRead::Count => Ok(count(value)),
        HandleRead::JsonPath(path) => find(value, path),
    }
}

fn slice(value: &str, offset: usize, length: usize) -> Result<String, String> {
    if length == 0 {
        return Err("length is 0; ask for at least 1 character".to_owned());
    } else if value.is_empty() {
        return Ok("(the value is empty)".to_owned());
    }
    let Some((begin, _)) = value.char_indices().nth(offset) else {
        let chars = value.chars().count();
        return Err(format!("the value has {chars} characters; offset must be less than that"));
    };
    let rest = &value[begin..];
    let wanted = rest.char_indices().nth(length).map_or(rest, |(end, _)| &rest[..end]);
    let shown = head(wanted, limits::READ_BYTES_MAX);
    let more = rest[shown.len()..].chars().count();
    let mut out = shown.to_owned();
    if more > 0 {
        let next = offset.saturating_add(shown.chars().count());
        let _ = write!(out, "\n… {more} more characters: read on from offset {next}");
    }
    Ok(out)
}

fn lines(value: &str, from: usize, to: usize) -> Result<String, String> {
    let from = from.max(1);
    if to < from {
        return Err(format!("the last line ({to}) comes before the first ({from}); lines count from 1"));
    } else if value.is_empty() {
        return Ok("(the value is empty)".to_owned());
    }
    let total = value.lines().count();
    if from > total {
        return Err(format!("the value has {total} lines; the first line must be one of them"));
    }
    let mut out = String::new();
    let mut next = from;
    for line in value.lines().skip(from - 1).take(to - from + 1) {
        if !out.is_empty() && out.len() + line.len() + 1 > limits::READ_BYTES_MAX {
            break;
        }
        out.push_str(head(line, limits::READ_BYTES_MAX));
        out.push('\n');
        next += 1;
        if line.len() > limits::READ_BYTES_MAX {
            let shown = head(line, limits::READ_BYTES_MAX).chars().count();
            let begin: usize = value.split_inclusive('\n').take(next - 2).map(|l| l.chars().count()).sum();
            let _ = writeln!(
                out,
                "… line {} is longer: read on by slice from offset {}",
                next - 1,
                begin + shown
            );
            break;
        }
    }
    let more = total + 1 - next;
    if more > 0 {
        let _ = write!(out, "… {more} more lines: read on from line {next}");
    }
    out.truncate(out.trim_end_matches('\n').len());
    Ok(out)
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

fn find(value: &str, path: &str) -> Result<String, String> {
    let value = parsed(value)?;
    let found = json_path::find(&value, path)?;
    let mut out = match found.len() {
        0 => return Ok("no matches".to_owned()),
        1 => "1 match\n".to_owned(),
        count => format!("{count} matches\n"),
    };
    for (at, one) in found.iter().enumerate() {
        let text = one.to_string();
        if at > 0 && out.len() + text.len() > limits::READ_BYTES_MAX {
            let _ =
                write!(out, "… {} more matches: narrow the path, with [{at}:] for example", found.len() - at);
            break;
        }
        let shown = head(&text, limits::READ_BYTES_MAX);
        out.push_str(shown);
        out.push('\n');
        if shown.len() < text.len() {
            let more = text[shown.len()..].chars().count();
            let rest = found.len() - at - 1;
            let _ = write!(
                out,
                "… {more} more characters and {rest} more matches: go deeper with the path, or read by slice"
            );
            break;
        }
    }
    out.truncate(out.trim_end_matches('\n').len());
    Ok(out)
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
