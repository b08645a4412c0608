//! Limits on what is carried between crates.

/// The longest title of a tool call, in characters.
pub const TITLE_CHARS_MAX: usize = 100;
/// The longest diff that a question carries, in bytes.
pub const PREVIEW_BYTES_MAX: usize = 512 * 1024;
/// How many written files a question names.
pub const WRITTEN_NAMES_MAX: usize = 5;
/// How many commands a receipt lists.
pub const RECEIPT_COMMANDS_MAX: usize = 50;
/// How many files a receipt lists.
pub const RECEIPT_FILES_MAX: usize = 500;
/// How many denied calls a receipt holds.
pub const RECEIPT_DENIALS_MAX: usize = 50;
/// How many changed test files a receipt lists.
pub const RECEIPT_TEST_FILES_MAX: usize = 50;
/// How many commits a receipt lists.
pub const RECEIPT_COMMITS_MAX: usize = 20;
/// How many sub-agents a receipt lists.
pub const RECEIPT_CHILDREN_MAX: usize = 50;
/// Marks above and below one letter; more of them would cover the lines around it.
pub(crate) const MARKS_MAX: usize = 4;
/// Characters of a title that Posse makes of a prompt.
pub const TITLE_SHORT_CHARS_MAX: usize = 60;
/// Bytes of a prompt that are looked at for its title.
pub const TITLE_PROMPT_BYTES_MAX: usize = 16 * 1024;
/// Characters of a title that a person gives.
pub const NAME_CHARS_MAX: usize = 200;
/// Characters of what a person types for a title that are looked at: spaces at its ends count.
pub(crate) const NAME_TYPED_CHARS_MAX: usize = 1_000;
/// Characters that a sentence must have to be a title alone.
pub(crate) const SENTENCE_CHARS_MIN: usize = 12;
