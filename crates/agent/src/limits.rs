//! Every limit of the loop, in one place.

/// How often one call may run with one result before it is not run again (promise T6).
pub const SAME_RESULT_MAX: u32 = 3;
/// Turns in a row in which no call could be run, before the agent is ended.
pub const BAD_TURNS_MAX: u32 = 5;
/// Replies in a row that may be empty: the first is asked for once more.
pub const EMPTY_REPLIES_MAX: u32 = 2;
/// Bytes of a summary for each word that is asked for: words are six or so, and models write more of them than asked.
pub const BYTES_PER_SUMMED_WORD: usize = 12;
/// Replies in a row that may run into the output limit without a call.
pub const CUT_REPLIES_MAX: u32 = 3;
/// Compactions in a row without a turn of work in between (promise T6).
pub const FRUITLESS_COMPACTIONS_MAX: u32 = 2;
/// Calls taken from one reply; the others are answered with an error.
pub const CALLS_PER_REPLY_MAX: usize = 64;
/// Distinct calls that are remembered to notice repetition; beyond it, memory starts anew.
pub const REMEMBERED_CALLS_MAX: usize = 4096;
/// The conversation is shortened when it fills this share of the context window, in percent.
pub const COMPACT_AT_PERCENT: u64 = 80;
/// What may remain after dropping the older part, in percent of the context window.
pub const TRIM_TO_PERCENT: u64 = 40;
/// Results that the model has not acted on stay beside notes up to this share of the context window, in percent.
pub const UNREAD_KEPT_PERCENT: u64 = 20;
/// Bytes taken for one token where the provider did not count.
pub use posse_protocol::limits::BYTES_PER_TOKEN;
/// The longest summary kept, in bytes.
pub const SUMMARY_BYTES_MAX: usize = 24 * 1024;
/// The longest quotation of a malformed call in an error, in characters.
pub const QUOTE_CHARS_MAX: usize = 120;
