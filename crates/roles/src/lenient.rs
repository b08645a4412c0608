//! Front matter line by line, as people write it by hand: a value is what stands after the first colon.
//!
//! Public agent files often hold a whole dialogue in an unquoted description, which no YAML parser takes. Never fails:
//! what cannot be understood is part of the value above it.

use crate::field::Field;
use crate::keys::FieldKey;
use crate::limits::KEY_CHARS_MAX;
use crate::lookalike::looks_like_a_right;
use crate::name::folded;
use crate::values::Value;

/// Words before a colon that are speech in a description, not keys.
const SPEECH: [&str; 8] =
    ["user", "assistant", "human", "system", "context", "commentary", "example", "examples"];

/// A key with the lines that belong to it.
struct Raw<'a> {
    line: usize,
    key: &'a str,
    head: &'a str,
    rest: Vec<&'a str>,
}

/// Reads the lines of a front matter; the first has the number `first_line`.
pub(crate) fn read(front: &str, first_line: usize) -> Vec<Field> {
    let cut = common_indent(front);
    let mut raws: Vec<Raw<'_>> = Vec::new();
    for (index, line) in front.lines().enumerate() {
        let line = line.get(cut..).unwrap_or_default();
        if line.starts_with('#') {
            continue;
        }
        match field_of(line, raws.last().map(|raw| raw.key)) {
            Some((key, head)) => raws.push(Raw { line: first_line + index, key, head, rest: Vec::new() }),
            None => raws.last_mut().into_iter().for_each(|raw| raw.rest.push(line)),
        }
    }
    let field = |raw: &Raw<'_>| Field { line: raw.line, key: raw.key.to_string(), value: value(raw) };
    raws.iter().map(field).collect()
}

/// The lines of a front matter as they are, without the fields of these folded keys and what belongs to no field.
pub(crate) fn without<'a>(front: &'a str, keys: &[&str]) -> Vec<&'a str> {
    let cut = common_indent(front);
    let mut above = None;
    let mut kept = Vec::new();
    for line in front.lines() {
        let line = line.get(cut..).unwrap_or_default();
        above = field_of(line, above).map(|(key, _)| key).or(above);
        if above.is_some_and(|key| !keys.contains(&folded(key).as_str())) {
            kept.push(line);
        }
    }
    kept
}

/// The key and the value of a line that begins a field below the one called `above`.
fn field_of<'a>(line: &'a str, above: Option<&str>) -> Option<(&'a str, &'a str)> {
    let indented = line.starts_with([' ', '\t']);
    key_of(line).filter(|(key, _)| !indented && !line.starts_with('#') && begins_field(key, above))
}

/// How many bytes of blanks every line begins with.
fn common_indent(front: &str) -> usize {
    let blanks = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    front.lines().filter(|line| !line.trim().is_empty()).map(blanks).min().unwrap_or(0)
}

fn key_of(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    let key = key.trim().trim_matches(['"', '\'']);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let known = FieldKey::of(key).is_some() || looks_like_a_right(key);
    let spaced = value.is_empty() || value.starts_with([' ', '\t']) || known;
    let is_key = !key.is_empty() && key.len() <= KEY_CHARS_MAX && key.chars().all(plain);
    (is_key && spaced && !key.starts_with('-')).then_some((key, value.trim()))
}

/// Whether a key begins a field of its own, or is a speaker in the description above.
fn begins_field(key: &str, above: Option<&str>) -> bool {
    let in_description = above.and_then(FieldKey::of) == Some(FieldKey::Description);
    let speech = SPEECH.iter().any(|word| word.eq_ignore_ascii_case(key));
    let sentence = key.starts_with(|c: char| c.is_ascii_uppercase());
    // No sentence begins with several words in one.
    let compound = key.contains(['_', '-', '.']) || key.chars().skip(1).any(char::is_uppercase);
    let right = compound && looks_like_a_right(key);
    FieldKey::of(key).is_some() || right || !in_description || !(speech || sentence)
}

fn value(raw: &Raw<'_>) -> Value {
    let lines = || raw.rest.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    let is_description = FieldKey::of(raw.key) == Some(FieldKey::Description);
    let head = if is_description { raw.head } else { without_comment(raw.head) };
    if is_block(head) {
        return Value::Text(block(head.starts_with('>'), &raw.rest));
    }
    let content = || lines().filter(|line| !line.starts_with('#'));
    if head.is_empty() && content().next().is_some() {
        if content().all(|line| line.starts_with('-')) {
            let item = |line: &str| unquoted(without_comment(line.trim_start_matches('-').trim()));
            return Value::List(content().map(item).collect());
        }
        let pair = |line| key_of(line).map(|(k, v)| (k.to_string(), unquoted(without_comment(v))));
        if !is_description && let Some(pairs) = content().map(pair).collect::<Option<Vec<_>>>() {
            return Value::Map(pairs);
        }
    }
    let text = [head].into_iter().chain(lines()).collect::<Vec<_>>().join("\n");
    let text = unquoted(text.trim());
    if text.is_empty() { Value::Nothing } else { Value::Text(text) }
}

/// Whether a value is announced to stand in the lines below: `|`, `>-`, `|2+` …
fn is_block(head: &str) -> bool {
    head.starts_with(['|', '>']) && head[1..].chars().all(|c| matches!(c, '+' | '-') || c.is_ascii_digit())
}

fn block(folded: bool, lines: &[&str]) -> String {
    let cut = common_indent(&lines.join("\n"));
    let lines = lines.iter().map(|line| line.get(cut..).unwrap_or_default().trim_end());
    let text = lines.collect::<Vec<_>>().join("\n");
    let text = text.trim_matches('\n');
    if !folded {
        return text.to_string();
    }
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n")
}

fn without_comment(value: &str) -> &str {
    if value.starts_with(['"', '\'']) {
        return value;
    }
    match value.split_once(" #") {
        Some((before, _)) => before.trim_end(),
        None => value,
    }
}

/// What stands between matching quotes, escapes resolved; anything else as it is.
fn unquoted(value: &str) -> String {
    let inside = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(text) = inside('\'') {
        return text.replace("''", "'");
    }
    let Some(text) = inside('"') else { return value.to_string() };
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, chars.clone().next()) {
            ('\\', Some(escaped @ ('n' | 't' | '"' | '\\'))) => {
                chars.next();
                plain.push(match escaped {
                    'n' => '\n',
                    't' => '\t',
                    other => other,
                });
            }
            _ => plain.push(c),
        }
    }
    plain
}
