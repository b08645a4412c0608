//! Every limit of a view, in one place.

/// Characters of a name, a title, a path or a reason that are kept.
pub const TEXT_CHARS_MAX: usize = 400;
/// Characters of an error or a warning that are kept.
pub const MESSAGE_CHARS_MAX: usize = 4_000;
/// Characters of a report's summary that are kept.
pub const SUMMARY_CHARS_MAX: usize = 1_000;
/// Items of a to-do list that are kept.
pub const TODO_ITEMS_MAX: usize = 100;
/// Paths changed in the folder by sub-agents that are kept.
pub const PATHS_MAX: usize = 10_000;
/// Levels above an agent that an event can reach; more than any session has.
pub const LEVELS_MAX: usize = 100;
/// A reply that stands still for so long is said to.
pub const SILENCE_TOLD_AFTER_MS: u64 = 3_000;
/// Messages not delivered yet that are kept of one agent.
pub const QUEUED_MAIL_MAX: usize = 256;
