//! Handles: short names for large stored values, read piece by piece.

use serde::{Deserialize, Serialize};

/// Which piece of a stored value is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandleRead {
    /// Some characters.
    Slice {
        /// The first one, from 0.
        offset: usize,
        /// How many.
        length: usize,
    },
    /// Some lines.
    Lines {
        /// The first one, from 1.
        from: usize,
        /// The last one.
        to: usize,
    },
    /// How large it is: characters, lines, and elements of JSON.
    Count,
    /// What a JSONPath finds in it.
    JsonPath(String),
}
