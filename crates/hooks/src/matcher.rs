//! Which tools, agent types or reasons a hook is for.

use std::fmt;

use regex::{Regex, RegexBuilder};

use crate::limits::{MATCHER_BYTES_MAX, MATCHER_CHARS_MAX};

/// What a settings file calls a matcher.
#[derive(Clone, Debug)]
pub struct HookMatcher {
    text: String,
    way: Way,
}

#[derive(Clone, Debug)]
enum Way {
    Everything,
    Names(Vec<String>),
    Pattern(Regex),
}

/// Why a matcher is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatcherError(pub String);

impl HookMatcher {
    /// Reads one: nothing or `*` is everything; letters, digits, `_`, `-`, spaces, commas and `|` are names; anything else is
    /// a regular expression that may match anywhere.
    pub fn read(text: &str) -> Result<Self, MatcherError> {
        if text.chars().count() > MATCHER_CHARS_MAX {
            return Err(MatcherError(format!("it is longer than {MATCHER_CHARS_MAX} characters")));
        }
        let trimmed = text.trim();
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ' ' | ',' | '|');
        let way = if trimmed.is_empty() || trimmed == "*" {
            Way::Everything
        } else if trimmed.chars().all(is_name) {
            let names = trimmed.split(['|', ',']).map(str::trim).filter(|name| !name.is_empty());
            Way::Names(names.map(str::to_owned).collect())
        } else {
            let built = RegexBuilder::new(trimmed).size_limit(MATCHER_BYTES_MAX).build();
            Way::Pattern(built.map_err(|error| MatcherError(first_words(&error.to_string())))?)
        };
        Ok(Self { text: trimmed.to_owned(), way })
    }

    /// Whether one of these names is meant.
    pub fn fits(&self, names: &[&str]) -> bool {
        match &self.way {
            Way::Everything => true,
            Way::Names(meant) => meant.iter().any(|meant| names.contains(&meant.as_str())),
            Way::Pattern(pattern) => names.iter().any(|name| pattern.is_match(name)),
        }
    }
}

/// The last line of what is said about a pattern; the others draw it.
fn first_words(error: &str) -> String {
    error.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or(error).trim().to_owned()
}

impl PartialEq for HookMatcher {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for HookMatcher {}

impl fmt::Display for HookMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.text.is_empty() { "*" } else { &self.text })
    }
}
