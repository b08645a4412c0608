//! Every number of this crate.

/// The longest command that is looked through. A longer one matches every `deny` and `ask` pattern for commands.
pub const COMMAND_BYTES_MAX: usize = 64 * 1024;
/// How many simple commands of one text are looked at; with more, every `deny` and `ask` pattern matches.
pub const COMMANDS_MAX: usize = 2_000;
/// How many words after `sudo`, `xargs` and the like may be the command that they run.
pub const WRAPPED_WORDS_MAX: usize = 24;
/// The longest rule.
pub const RULE_BYTES_MAX: usize = 64 * 1024 + 200;
/// The most rules of one kind.
pub const RULES_MAX: usize = 2_000;
/// How many notes explain a command.
pub const NOTES_MAX: usize = 8;
/// How much of a stranger's word is repeated in a message.
pub const SHOWN_CHARS_MAX: usize = 60;
/// How deep commands within commands are looked at.
pub const NESTING_MAX: usize = 12;
/// How many commands, also such as others may run, are held against a pattern.
pub const CANDIDATES_MAX: usize = 8_000;
/// How much of a command with unknown parts is held against how much of a pattern.
pub const GUESSED_BYTES_MAX: usize = 200;
/// How much of one command among others is held against a pattern.
pub const HELD_BYTES_MAX: usize = 2_000;
/// How far a word is looked ahead in for the bracket that closes a pattern.
pub(crate) const LOOK_AHEAD_CHARS: usize = 256;
/// How many changes of folder in one text are followed; with more, a command may be anywhere.
pub(crate) const FOLDERS_MAX: usize = 4;
/// How deep commands within commands are looked for.
pub(crate) const INVOKED_DEPTH_MAX: usize = 6;
