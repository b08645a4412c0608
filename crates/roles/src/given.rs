//! What an agent file says itself, beside the role that is read from it.

use crate::keys::FieldKey;
use crate::warning::Warning;

/// What a file says itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    pub(crate) keys: Vec<FieldKey>,
    /// Whether there is a prompt.
    pub(crate) prompt: bool,
    /// Whether something was held back that could not be told.
    pub(crate) closed: bool,
    /// What to say about what is not there, unless it is another role's.
    pub(crate) missing: Vec<Warning>,
}

impl Given {
    pub(crate) fn has(&self, key: FieldKey) -> bool {
        self.keys.contains(&key)
    }
}
