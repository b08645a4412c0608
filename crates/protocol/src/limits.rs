//! Limits on what is carried between crates.

/// The longest title of a tool call, in characters.
pub const TITLE_CHARS_MAX: usize = 100;
/// How many commands a receipt lists.
pub const RECEIPT_COMMANDS_MAX: usize = 50;
/// How many files a receipt lists.
pub const RECEIPT_FILES_MAX: usize = 500;
/// How many denied calls a receipt holds.
pub const RECEIPT_DENIALS_MAX: usize = 50;
