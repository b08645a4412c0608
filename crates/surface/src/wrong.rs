//! What can be wrong with a call, as texts that a model can act on.

use posse_protocol::PLACE_HINT;

use crate::{limits, words::short};

/// Why a call was not understood.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Wrong {
    #[error("The arguments are not valid JSON ({0}). Send one JSON object.")]
    NotJson(String),
    #[error("The arguments are {0}, not a JSON object.")]
    NotObject(&'static str),
    #[error("The arguments are longer than {} bytes.", limits::ARGUMENTS_BYTES_MAX)]
    ArgumentsTooLong,
    #[error("`{field}` is missing{}.", meant.as_ref().map(|key| format!("; you wrote `{key}`")).unwrap_or_default())]
    Missing { field: &'static str, meant: Option<String> },
    #[error("There is no argument `{field}`{}", meant.as_ref().map_or(".".to_owned(), |key| format!("; did you mean `{key}`?")))]
    Unknown { field: String, meant: Option<String>, also: String },
    #[error("A read is one of these: {accepted}. You asked for {got}.")]
    Pieces { accepted: &'static str, got: String },
    #[error("`{field}` cannot be read: {why}")]
    Piece { field: &'static str, why: &'static str },
    #[error("`{field}` must be {wants}, not {got}.")]
    Type { field: String, wants: &'static str, got: String },
    #[error("`{field}` cannot be \"{got}\". Accepted: {accepted}.")]
    Choice { field: String, got: String, accepted: String },
    #[error("`on` cannot be \"{0}\"; {PLACE_HINT}.")]
    Place(String),
    #[error("`{field}` is longer than {max} {unit}. {advice}")]
    TooLong { field: &'static str, max: usize, unit: &'static str, advice: &'static str },
    #[error("`{field}` has more than {max} entries. Name fewer.")]
    TooMany { field: &'static str, max: usize },
    #[error(
        "context \"selective\" needs `context_turns`, such as [1, 2]: your replies count from 1. Or give `context_files`."
    )]
    NothingSelected,
    #[error("`to` ({to}) is before `from` ({from}); swap them.")]
    Backwards { from: usize, to: usize },
    #[error("There is no tool `{tool}` here. Available: {available}.")]
    NoTool { tool: String, available: String },

    #[error("A quote is not closed. Close it, or give the text by <<'EOF' … EOF.")]
    OpenQuote,
    #[error(
        "{name} must be the only command of its call, without {operator} outside quotes; quote the text if it is one. {advice}"
    )]
    Operator { name: String, operator: String, advice: String },
    #[error(
        "{name} is a command of this tool and no program: it must be the only command of its call, with nothing before or around it. {advice}"
    )]
    Around { name: String, advice: String },
    #[error("There is no option {flag}. {usage}")]
    NoFlag { flag: String, usage: String },
    #[error("{flag} needs {wants}. {usage}")]
    FlagValue { flag: String, wants: &'static str, usage: String },
    #[error("{why} {usage}")]
    Usage { why: String, usage: String },
    #[error("{old} is called {new} now: {new} --prompt \"…\"")]
    Renamed { old: &'static str, new: &'static str },
    #[error("There is no command {name}. {available}")]
    NoCommand { name: String, available: String },
}

impl Wrong {
    /// A value of the wrong type.
    pub(crate) fn of_type(field: &str, wants: &'static str, got: &serde_json::Value) -> Self {
        let got = match got {
            serde_json::Value::String(text) => format!("\"{}\"", short(text, limits::SHOWN_CHARS_MAX)),
            other => kind(other).to_owned(),
        };
        Self::Type { field: short(field, limits::SHOWN_CHARS_MAX), wants, got }
    }
}

/// What a JSON value is called.
pub(crate) fn kind(value: &serde_json::Value) -> &'static str {
    match value {
        serde_json::Value::Null => "null",
        serde_json::Value::Bool(_) => "true or false",
        serde_json::Value::Number(_) => "a number",
        serde_json::Value::String(_) => "a string",
        serde_json::Value::Array(_) => "an array",
        serde_json::Value::Object(_) => "an object",
    }
}
