//! Every number of this crate.

/// The most characters that count of one text that a hook says.
pub const SAID_CHARS_MAX: usize = 10_000;
/// The longest matcher.
pub const MATCHER_CHARS_MAX: usize = 1_000;
/// What a matcher's compiled pattern may take.
pub const MATCHER_BYTES_MAX: usize = 256 * 1024;
/// The longest command, address or argument.
pub const COMMAND_CHARS_MAX: usize = 16_000;
/// The most hooks of one file.
pub const HOOKS_OF_FILE_MAX: usize = 200;
/// The most arguments of one command, and headers of one request.
pub const PARTS_MAX: usize = 100;
/// The most warnings about one file.
pub const WARNINGS_MAX: usize = 20;
/// How long a hook may run, unless it says otherwise.
pub const TIMEOUT_MS: u64 = 600_000;
/// The same for hooks that look at a prompt.
pub const PROMPT_TIMEOUT_MS: u64 = 30_000;
/// The same for all hooks together that hear of the end of a session.
pub const END_TIMEOUT_MS: u64 = 1_500;
/// The longest that a hook may ask for.
pub const TIMEOUT_MS_MAX: u64 = 3_600_000;
/// How often in a row a hook may keep an agent working.
pub const KEPT_WORKING_MAX: u32 = 8;
/// What of a tool's result a hook is told.
pub const RESULT_CHARS_MAX: usize = 100_000;
/// How much of an unreadable value is shown.
pub const SHOWN_CHARS_MAX: usize = 80;
