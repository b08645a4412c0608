//! Every limit of the record, in one place.

/// The largest event, as JSON.
pub const EVENT_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How many events may wait for the writer; beyond, `append` refuses.
pub const QUEUE_EVENTS_MAX: usize = 20_000;
/// How many bytes of events may wait for the writer. A single batch always fits an empty queue.
pub const QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How many events one transaction takes before the next one begins.
pub const COMMIT_EVENTS_MAX: usize = 1_000;
/// How long one commit waits for another process that is writing.
pub const COMMIT_WAIT_MS_MAX: u64 = 5_000;
/// How long opening waits for another process that holds the file.
pub const OPEN_WAIT_MS_MAX: u64 = 5_000;
/// How long opening sleeps between two tries.
pub const OPEN_RETRY_MS: u64 = 25;
/// How long a query waits for another process that holds the file.
pub const READ_WAIT_MS_MAX: u64 = 5_000;
/// How many idle read connections are kept.
pub const READERS_IDLE_MAX: usize = 4;
/// How many events one page of a query holds.
pub const PAGE_EVENTS_MAX: usize = 10_000;
/// After how many bytes of events a page ends; it always holds at least one event.
pub const PAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How many rows a list of sessions or agents holds.
pub const ROWS_MAX: usize = 10_000;
/// How many sessions an ambiguous prefix lists.
pub const AMBIGUOUS_LISTED_MAX: usize = 10;
/// The longest title of a session.
pub const TITLE_CHARS_MAX: usize = 120;
/// The longest summary of a response.
pub const SUMMARY_CHARS_MAX: usize = 400;
/// How many calls `messages.tool_calls_json` lists: the first ones.
pub const TOOL_CALLS_LISTED_MAX: usize = 1_000;
/// The write-ahead log is cut back to this size once its content is in the database.
pub const WAL_KEPT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Prepared statements kept by a connection.
pub const STATEMENTS_KEPT_MAX: usize = 64;
