//! One key of front matter with its value.

use crate::keys::FieldKey;
use crate::values::Value;

/// One key of the front matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    /// The line it stands on, from 1.
    pub(crate) line: usize,
    /// As written.
    pub(crate) key: String,
    pub(crate) value: Value,
}

impl Field {
    pub(crate) fn kind(&self) -> Option<FieldKey> {
        FieldKey::of(&self.key)
    }
}
