//! A file taken apart: the fields of its front matter, and the text below.

use crate::error::RoleError;
use crate::field::Field;
use crate::keys::FieldKey;
use crate::values::Value;
use crate::{lenient, strict};

/// A file taken apart.
pub(crate) struct FileParts {
    pub(crate) fields: Vec<Field>,
    pub(crate) body: String,
}

/// A text with its byte order mark and foreign line ends put right.
pub(crate) fn plain(text: &str) -> String {
    text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n")
}

/// Takes a file apart.
pub(crate) fn take_apart(text: &str) -> Result<FileParts, RoleError> {
    let (front, body, line) = cut(&plain(text))?;
    Ok(FileParts { fields: read(&front, line), body })
}

/// Cuts a plain text at the lines `---`: its front matter, what is below, and the number of the first line inside.
pub(crate) fn cut(text: &str) -> Result<(String, String, usize), RoleError> {
    let lines: Vec<&str> = text.split('\n').collect();
    let blank = |line: &&str| line.trim().is_empty();
    let start = lines.iter().take_while(|line| blank(line)).count();
    if lines.get(start).is_none_or(|line| line.trim_end() != "---") {
        return Err(RoleError::NoFrontMatter);
    }
    let inside = &lines[start + 1..];
    let Some(end) = inside.iter().position(|line| matches!(line.trim_end(), "---" | "...")) else {
        return Err(if begins_fields(inside) {
            RoleError::Unclosed { line: start + 1 }
        } else {
            RoleError::NoFrontMatter
        });
    };
    let front = inside[..end].join("\n");
    let body = inside[end + 1..].join("\n").trim().to_string();
    Ok((front, body, start + 2))
}

/// Whether what follows a line `---` are fields, and not the page below a rule.
fn begins_fields(lines: &[&str]) -> bool {
    let first = lines.iter().find(|line| !line.trim().is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| line.split_once(':').is_some_and(|(key, _)| FieldKey::of(key).is_some()))
}

/// Strict YAML where it is that; else line by line. The lines tell where a key stands in either case, and how a
/// number is written.
fn read(front: &str, first_line: usize) -> Vec<Field> {
    let by_line = lenient::read(front, first_line);
    let Some(strict) = strict::read(front) else { return by_line };
    let field = |(key, value): (String, Option<Value>)| {
        let written = by_line.iter().find(|field| field.key == key);
        let value = value.or_else(|| written.map(|field| field.value.clone())).unwrap_or(Value::Nothing);
        Field { line: written.map_or(first_line, |field| field.line), key, value }
    };
    strict.into_iter().map(field).collect()
}
