//! One SKILL.md becomes one skill, and back. Public collections load as they are: nothing in a file is an error, what is
//! odd is told. A skill gives no rights; what it says of tools is only words.

use crate::fields::{FileParts, cut, plain, take_apart};
use crate::keys::FieldKey;
use crate::lenient;
use crate::limits::{DESCRIPTION_CHARS_MAX, LIST_ITEMS_MAX, NAME_CHARS_MAX, SKILL_DESCRIPTION_CHARS};
use crate::name::{folded, shortened};
use crate::values::{Value, quoted};
use crate::warning::Warning;

/// The keys of a description; some programs have the second half of it under one of its own.
const DESCRIPTION: [&str; 2] = ["description", "whentouse"];

/// How one kind of work is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// What it is loaded by: the name of its folder.
    pub key: String,
    /// What it calls itself.
    pub name: String,
    /// What it does and when to use it.
    pub description: String,
    /// The text below the front matter.
    pub body: String,
    /// Whether models are told of it.
    pub listed: bool,
    /// The tools its author expects, as written.
    pub allowed_tools: Vec<String>,
    /// What a person should look at, by line.
    pub warnings: Vec<Warning>,
}

/// Reads the text of a SKILL.md in a folder called `key`.
pub fn parse_skill(text: &str, key: &str) -> Skill {
    let mut warnings = Vec::new();
    let pieces = take_apart(text).unwrap_or_else(|error| {
        let why = format!("{error}; until then all of it is the skill's text");
        warnings.push(Warning::new(error.line(), why));
        FileParts { fields: Vec::new(), body: plain(text).trim().to_string() }
    });
    let mut reading = Reading { pieces, warnings };
    let name = reading.name(key);
    let description = reading.description();
    let listed = reading.listed();
    let tools = reading.value("allowedtools").map(|(_, value)| value.entries()).unwrap_or_default();
    let Reading { pieces: FileParts { body, .. }, mut warnings } = reading;
    warnings.sort_by_key(|warning| warning.line);
    let allowed_tools = tools.into_iter().take(LIST_ITEMS_MAX).collect();
    Skill { key: key.to_string(), name, description, body, listed, allowed_tools, warnings }
}

struct Reading {
    pieces: FileParts,
    warnings: Vec<Warning>,
}

impl Reading {
    /// The last value under a key, however that is written, and its line.
    fn value(&self, key: &str) -> Option<(usize, Value)> {
        let field = self.pieces.fields.iter().rev().find(|field| folded(&field.key) == key)?;
        (field.value != Value::Nothing).then(|| (field.line, field.value.clone()))
    }

    fn warn(&mut self, line: usize, text: impl Into<String>) {
        self.warnings.push(Warning::new(line, text));
    }

    fn name(&mut self, key: &str) -> String {
        let Some((line, value)) = self.value("name") else { return key.to_string() };
        let name = value.text().split_whitespace().collect::<Vec<_>>().join(" ");
        if name != key {
            let text = format!("it is called {:?}, and loaded as {:?}", shortened(&name), shortened(key));
            self.warn(line, text + " after its folder");
        }
        match name.is_empty() || name.chars().count() > NAME_CHARS_MAX {
            true => key.to_string(),
            false => name,
        }
    }

    fn description(&mut self) -> String {
        let mut line = 1;
        let mut text = String::new();
        for key in DESCRIPTION {
            if let Some((at, value)) = self.value(key) {
                line = if text.is_empty() { at } else { line };
                text = format!("{text} {}", value.text().trim());
            }
        }
        let text = text.trim();
        if text.is_empty() {
            self.warn(1, "there is no description:, so its first words stand for it");
            return first_words(&self.pieces.body);
        }
        let chars = text.chars().count();
        if chars > SKILL_DESCRIPTION_CHARS {
            let more = format!("the description has {chars} characters");
            self.warn(line, format!("{more}; other programs take {SKILL_DESCRIPTION_CHARS}"));
        }
        text.chars().take(DESCRIPTION_CHARS_MAX).collect()
    }

    /// One that only a person may start is not told of; neither is one that may have said so.
    fn listed(&mut self) -> bool {
        let Some((line, value)) = self.value("disablemodelinvocation") else { return true };
        let disabled = value.flag();
        if disabled.is_none() {
            let shown = shortened(&value.text());
            self.warn(line, format!("{shown:?} is not understood, so it is not listed; write true or false"));
        }
        disabled == Some(false)
    }
}

/// The first line that says something, without the signs of a heading if there is nothing else.
pub(crate) fn first_words(body: &str) -> String {
    let lines = || body.lines().map(str::trim).filter(|line| !line.is_empty());
    let plain = lines().find(|line| !line.starts_with(['#', '`', '-', '<', '|']));
    let line = plain.or_else(|| lines().next()).unwrap_or_default();
    line.trim_start_matches('#').trim().chars().take(SKILL_DESCRIPTION_CHARS).collect()
}

/// The text of a SKILL.md that says this. What else a file that was there before said of itself stays, as long as it does
/// not get in the way.
pub fn skill_text(key: &str, description: &str, body: &str, before: Option<&str>) -> String {
    let body = without_front(body);
    let alone = text_with(key, description, &[], &body);
    let Some((front, ..)) = before.and_then(|text| cut(&plain(text)).ok()) else { return alone };
    let more = lenient::without(&front, &["name", DESCRIPTION[0], DESCRIPTION[1]]);
    let kept = text_with(key, description, &more, &body);
    let said = |text: &str| {
        let skill = parse_skill(text, key);
        (skill.name, skill.description, skill.body)
    };
    if said(&kept) == said(&alone) { kept } else { alone }
}

fn text_with(key: &str, description: &str, more: &[&str], body: &str) -> String {
    let description = quoted(description);
    let more = more.iter().filter(|line| !line.trim().is_empty()).map(|line| format!("{line}\n"));
    let more = more.collect::<String>();
    format!("---\nname: {key}\ndescription: {description}\n{more}---\n\n{body}\n")
}

/// The text itself, where somebody has put a whole file into it.
fn without_front(body: &str) -> String {
    let is_file = |pieces: &FileParts| {
        pieces.fields.iter().any(|field| matches!(field.kind(), Some(FieldKey::Name | FieldKey::Description)))
    };
    match take_apart(body) {
        Ok(pieces) if is_file(&pieces) && !pieces.body.is_empty() => pieces.body,
        _ => plain(body).trim().to_string(),
    }
}
