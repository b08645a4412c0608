//! A TOML file of a few known keys, some of which hold secrets: a message names keys and lines, and never a value.

use posse_protocol::visible::one_line;
use toml::{Table, Value};

use super::error::WorkerFileError;
use crate::limits::FAULT_COLUMNS_MAX;
use crate::surroundings::ShownPath;

/// The values of such a file, and where it is.
pub(super) struct KeyedFile<'a> {
    path: &'a ShownPath,
    table: Table,
}

impl<'a> KeyedFile<'a> {
    /// Reads the text of a file that has these keys and no other.
    pub(super) fn parse(text: &str, path: &'a ShownPath, known: &[&str]) -> Result<Self, WorkerFileError> {
        let file = Self { path, table: Table::new() };
        let table: Table = toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map_or(1, |before| before.matches('\n').count() + 1);
            file.fault(format!("line {line} is no TOML"))
        })?;
        match table.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(Self { table, ..file }),
            Some(key) => {
                let (key, known) = (one_line(key, FAULT_COLUMNS_MAX), known.join("`, `"));
                Err(file.fault(format!("unknown key `{key}`; it has `{known}`")))
            }
        }
    }

    /// Says what is wrong.
    pub(super) fn fault(&self, fault: String) -> WorkerFileError {
        WorkerFileError::Faulty { path: self.path.clone(), fault }
    }

    /// A text that may be missing.
    pub(super) fn optional(&self, key: &str) -> Result<Option<&str>, WorkerFileError> {
        let Some(value) = self.table.get(key) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| self.fault(format!("`{key}` must be a text")))
    }

    /// A text that must be there.
    pub(super) fn text(&self, key: &str) -> Result<&str, WorkerFileError> {
        self.optional(key)?.ok_or_else(|| self.fault(format!("`{key}` is missing")))
    }

    /// A whole number that must be there.
    pub(super) fn number(&self, key: &str) -> Result<i64, WorkerFileError> {
        let value = self.table.get(key).ok_or_else(|| self.fault(format!("`{key}` is missing")))?;
        value.as_integer().ok_or_else(|| self.fault(format!("`{key}` must be a whole number")))
    }

    /// A list of texts; without it, an empty one.
    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>, WorkerFileError> {
        let Some(value) = self.table.get(key) else { return Ok(Vec::new()) };
        let texts =
            value.as_array().and_then(|all| all.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
        let texts = texts.ok_or_else(|| self.fault(format!("`{key}` must be a list of texts")))?;
        Ok(texts.into_iter().map(str::to_owned).collect())
    }
}
