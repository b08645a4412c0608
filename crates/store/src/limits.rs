//! Every limit of the record, in one place.

/// The largest event, as JSON.
pub const EVENT_BYTES_MAX: usize = 32 * 1024 * 1024;
/// An event whose JSON is smaller than this is kept whole.
pub const EVENT_WHOLE_BYTES_MAX: usize = 8 * 1024;
/// A text inside a larger event that has at least so many bytes is kept once, by its hash.
pub const BLOB_BYTES_MIN: usize = 4 * 1024;
/// How many events may wait for the writer; beyond, `append` refuses.
pub const QUEUE_EVENTS_MAX: usize = 20_000;
/// How many bytes of events may wait for the writer. A single batch always fits an empty queue.
pub const QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How many events one transaction takes before the next one begins.
pub const COMMIT_EVENTS_MAX: usize = 1_000;
/// How long events wait for others to go into the same transaction, unless somebody waits for them.
pub const COMMIT_GATHERS_MS: u64 = 4;
/// From so many batches in a transaction on, the next one gathers although somebody waits for it.
pub const CROWD_BATCHES: usize = 8;
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
/// The longest summary of a response.
pub const SUMMARY_CHARS_MAX: usize = 400;
/// How many calls `prompts.tool_calls_json` lists: the first ones.
pub const TOOL_CALLS_LISTED_MAX: usize = 1_000;
/// The write-ahead log is cut back to this size once its content is in the database.
pub const WAL_KEPT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// After how many more pages of the write-ahead log they are moved into the database, beside the writer.
pub const LOG_PAGES_STEP: i32 = 2_000;
/// From this length on the writer moves them itself, so that the log can begin anew: 64 MiB.
pub const LOG_PAGES_MAX: i32 = 16_384;
/// The longest log that is left as it is when a process ends. Reading it takes about a millisecond per megabyte.
pub const LOG_LEFT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// How long tidying waits for others: what is appended meanwhile waits with it.
pub const TIDY_WAIT_MS_MAX: u64 = 250;
/// The database is not made smaller unless it has more free pages than these.
pub const FREE_PAGES_KEPT_MAX: i64 = 256;
/// Nor unless more than one in so many of its pages is free.
pub const FREE_PAGES_KEPT_ONE_IN: i64 = 4;
/// Prepared statements kept by a connection.
pub const STATEMENTS_KEPT_MAX: usize = 64;
/// The longest query of a search; what is beyond is not looked at.
pub const QUERY_BYTES_MAX: usize = 4 * 1024;
/// How many words of a query count.
pub const QUERY_WORDS_MAX: usize = 32;
/// How much of a word counts.
pub const QUERY_WORD_CHARS_MAX: usize = 64;
/// From this length on, a word also finds longer ones that begin with it.
pub const PREFIX_CHARS_MIN: usize = 3;
/// The longest note; the rest is cut off.
pub const NOTE_BYTES_MAX: usize = 4 * 1024;
/// The longest word for the kind of a note.
pub const NOTE_KIND_CHARS_MAX: usize = 40;
/// How many notes a project keeps, and how many the person keeps beside those; beyond, the oldest go.
pub const NOTES_IN_SCOPE_MAX: usize = 1_000;
/// How many notes are recalled at once.
pub const NOTES_RECALLED_MAX: usize = 100;
/// How much of one text can be found by searching: its beginning.
pub const INDEXED_TEXT_BYTES_MAX: usize = 64 * 1024;
/// How many events are made searchable at a time.
pub const INDEX_EVENTS_MAX: usize = 500;
/// How many pages of events one transaction makes searchable.
pub const INDEX_PAGES_MAX: usize = 100;
/// After how many bytes of text a transaction that makes them searchable ends: events wait for it meanwhile.
pub const INDEX_BYTES_MAX: usize = 512 * 1024;
/// How much a search finds.
pub const HITS_MAX: usize = 1_000;
/// How many words of a text are shown around what was found.
pub const SNIPPET_WORDS: u32 = 16;
/// How many rows each table of statistics has.
pub const STATS_ROWS_MAX: usize = 1_000;
/// How many figures are kept to find the one in the middle.
pub const MEDIAN_SAMPLE_MAX: usize = 10_000;
/// How many tasks of a project, the newest, tell how its roles do.
pub const ROLE_RECORD_TASKS_MAX: usize = 2_000;
/// How many roles of a project are told about.
pub const ROLE_RECORDS_MAX: usize = 50;
/// Figures that are added up are cut here, so that no provider's number can make a sum overflow.
pub(crate) const FIGURE_MAX: u64 = 1 << 40;
/// The last millisecond of the year 9999: SQLite writes no later date.
pub(crate) const MOMENT_MS_MAX: u64 = 253_402_300_799_999;
/// A page of an agent's conversation: it ends before the event that would pass this.
pub(crate) const TRANSCRIPT_BYTES_MAX: usize = 1 << 20;
