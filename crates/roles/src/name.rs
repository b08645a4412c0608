//! Names of roles: what may be one, and when two are the same.

use posse_protocol::clip::clipped;

use crate::error::NameFault;
use crate::limits::{NAME_CHARS_MAX, WORD_CHARS_MAX};

/// Whether a role can be called that.
pub fn valid_name(name: &str) -> Result<(), NameFault> {
    if name.starts_with('-') {
        Err(NameFault::Dash)
    } else if name.chars().count() > NAME_CHARS_MAX {
        Err(NameFault::Long)
    } else if name.chars().any(|c| c == ':' || c == '*' || c.is_control()) {
        Err(NameFault::Character)
    } else if !name.chars().any(char::is_alphanumeric) {
        Err(NameFault::Blank)
    } else {
        Ok(())
    }
}

/// What two spellings of one name have in common: case and separators do not count.
pub(crate) fn folded(name: &str) -> String {
    let kept = name.chars().filter(|c| !matches!(c, '-' | '_') && !c.is_whitespace());
    kept.flat_map(char::to_lowercase).collect()
}

/// A stranger's word as a message repeats it.
pub(crate) fn shortened(word: &str) -> String {
    clipped(word, WORD_CHARS_MAX)
}
