//! Every number of this crate.

/// The largest agent file.
pub const FILE_BYTES_MAX: usize = 256 * 1024;
/// The longest description; the rest is cut off.
pub const DESCRIPTION_CHARS_MAX: usize = 8_000;
/// The longest description of a skill by the rules that programs share; a longer one is told of and read.
pub const SKILL_DESCRIPTION_CHARS: usize = 1_024;
/// The longest name of a role or alias.
pub const NAME_CHARS_MAX: usize = 100;
/// The longest name of a model.
pub const MODEL_CHARS_MAX: usize = 200;
/// The most entries of one list, such as `tools`.
pub const LIST_ITEMS_MAX: usize = 200;
/// The most characters of one entry of a list.
pub const LIST_ITEM_CHARS_MAX: usize = 300;
/// The most roles there can be.
pub const ROLES_MAX: usize = 2_000;
/// How many roles are told of by the words that fit.
pub const ROLES_FITTING_MAX: usize = 8;
/// Characters of a description that are told then.
pub const ABOUT_CHARS_MAX: usize = 160;
/// Up to how many roles all are told of where a name is none.
pub const ROLES_ACCEPTED_MAX: usize = 30;
/// How many roles the error about an unknown one lists.
pub const ROLES_LISTED_MAX: usize = 60;
/// How much of a stranger's word is repeated in a message.
pub const WORD_CHARS_MAX: usize = 60;
/// How many warnings one file can have.
pub const WARNINGS_MAX: usize = 100;
/// How deep front matter may nest.
pub(crate) const YAML_DEPTH_MAX: usize = 16;
/// How many nodes front matter may have, those repeated by aliases included.
pub(crate) const YAML_NODES_MAX: usize = 10_000;
/// How like a wrong key must be to be suggested, from 0 to 1.
pub(crate) const LIKENESS_MIN: f64 = 0.75;
/// The longest thing before a colon that is taken for a key.
pub(crate) const KEY_CHARS_MAX: usize = 40;
/// How like a tool a name must be to be taken for a slip of the pen, from 0 to 1.
pub(crate) const TOOL_LIKENESS_MIN: f64 = 0.8;
