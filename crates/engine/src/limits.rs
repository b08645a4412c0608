//! Every limit of the engine, in one place.

/// Updates a slow face may fall behind before it reads from the record instead.
pub const UPDATES_BEHIND_MAX: usize = 4096;
/// Read-only calls of one turn that run at the same time.
pub const PARALLEL_CALLS_MAX: usize = 8;
/// A call that only reads is shown as running after this long; a quicker one goes on record with its result.
pub const SHOW_AFTER_MS: u64 = 3;
/// Once its time is over an agent has a tenth of it again for a last report, but at least this long.
pub const LAST_WORD_MS_MIN: u64 = 5_000;
/// And at most this long.
pub const LAST_WORD_MS_MAX: u64 = 30_000;
/// Events read from the record at a time.
pub const EVENTS_PER_PAGE: usize = 500;
/// The most of a project's AGENTS.md that goes into the prompt.
pub const PROJECT_CONTEXT_BYTES_MAX: u64 = 16 * 1024;
/// How many folders upwards a project's files are looked for.
pub const PROJECT_LEVELS_MAX: usize = 32;
/// The longest text of a reply that is kept to report when the reply is cut short.
pub const PARTIAL_BYTES_MAX: usize = 64 * 1024;
