//! One Markdown file with a prompt that a person starts by name. Files of other programs load as they are: nothing in one is an
//! error, what is odd is told. It gives no rights; what it says of tools and models is only words.

use crate::RoleError;
use crate::fields::{FileParts, plain, take_apart};
use crate::limits::{DESCRIPTION_CHARS_MAX, LIST_ITEMS_MAX, NAME_CHARS_MAX};
use crate::name::folded;
use crate::skill::first_words;
use crate::values::Value;
use crate::warning::Warning;

/// A prompt that is started by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandPrompt {
    /// What it is for, in one line.
    pub description: String,
    /// What its arguments are, if it says so.
    pub argument_hint: Option<String>,
    /// The model its author had in mind, as written.
    pub model: Option<String>,
    /// The tools its author expects, as written.
    pub allowed_tools: Vec<String>,
    /// The text below the front matter.
    pub body: String,
    /// What a person should look at, by line.
    pub warnings: Vec<Warning>,
}

/// Reads the text of such a file.
pub fn parse_command(text: &str) -> CommandPrompt {
    let mut warnings = Vec::new();
    let FileParts { fields, body } = take_apart(text).unwrap_or_else(|error| {
        // Most of them have none.
        if !matches!(error, RoleError::NoFrontMatter) {
            let why = format!("{error}; until then all of it is the prompt");
            warnings.push(Warning::new(error.line(), why));
        }
        FileParts { fields: Vec::new(), body: plain(text).trim().to_string() }
    });
    let value = |key: &str| {
        let field = fields.iter().rev().find(|field| folded(&field.key) == key);
        field.map(|field| field.value.clone()).filter(|value| *value != Value::Nothing)
    };
    let words = |key: &str, chars_max: usize| {
        // A hint is often written in brackets, which a reader of YAML takes for a list.
        let text = match value(key)? {
            Value::List(items) => format!("[{}]", items.join(", ")),
            value => value.text(),
        };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(text.chars().take(chars_max).collect::<String>()).filter(|text| !text.is_empty())
    };
    CommandPrompt {
        description: words("description", DESCRIPTION_CHARS_MAX).unwrap_or_else(|| first_words(&body)),
        argument_hint: words("argumenthint", NAME_CHARS_MAX * 4),
        model: words("model", NAME_CHARS_MAX * 4),
        allowed_tools: value("allowedtools")
            .map(|value| value.entries())
            .unwrap_or_default()
            .into_iter()
            .take(LIST_ITEMS_MAX)
            .collect(),
        body,
        warnings,
    }
}
