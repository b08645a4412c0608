//! Limits on what a client can send, ask and leave unread.

/// The longest line that is read, in bytes: a prompt may hold 20 MiB of images.
pub const LINE_BYTES_MAX: usize = 32 << 20;
/// How many sessions are open in one connection.
pub(crate) const SESSIONS_MAX: usize = 256;
/// How many requests of the client are worked on at the same time; the next lines are read when one is answered.
pub(crate) const REQUESTS_MAX: usize = 512;
/// What waits to be read by the client, in bytes. Sessions wait to say more; the engine does not wait for them.
pub(crate) const QUEUE_BYTES_MAX: usize = 4 << 20;
/// How many waiting messages are looked at for one that the next can be joined with.
pub(crate) const MERGE_LOOKBACK_MAX: usize = 64;
/// The longest text that pieces of an answer are joined to, in bytes.
pub(crate) const MERGED_BYTES_MAX: usize = 64 << 10;
/// How many bytes are written to the client at once.
pub(crate) const WRITE_BYTES_MAX: usize = 256 << 10;
/// Characters of a tool's result that the client is shown.
pub(crate) const RESULT_CHARS_MAX: usize = 20_000;
/// Bytes of a running command's output that the client is shown: the newest.
pub(crate) const OUTPUT_BYTES_MAX: usize = 4 << 10;
/// The longest arguments of a call that are passed on as they are, in bytes.
pub(crate) const RAW_INPUT_BYTES_MAX: usize = 16 << 10;
/// How many calls of one agent are remembered until they begin.
pub(crate) const CALLS_MAX: usize = 256;
/// Bytes of both sides of all files of one diff.
pub(crate) const DIFF_BYTES_MAX: usize = 1 << 20;
/// How many files of one change are shown as diffs.
pub(crate) const DIFF_FILES_MAX: usize = 20;
/// How many changes are shown as diffs when a session is loaded.
pub(crate) const DIFFS_REPLAYED_MAX: usize = 200;
/// The longest title of a call, an agent or a session, in columns.
pub(crate) const TITLE_COLUMNS_MAX: usize = 160;
/// Characters of a sub-agent's report that the client is shown.
pub(crate) const REPORT_CHARS_MAX: usize = 8_000;
/// The longest diff or command in a question, in characters.
pub(crate) const QUESTION_CHARS_MAX: usize = 20_000;
/// How many remarks on a report are shown.
pub(crate) const REMARKS_MAX: usize = 20;
/// How many prompts are remembered with what came of them.
pub(crate) const TURNS_KEPT: usize = 32;
/// How many sessions one page of a list has.
pub(crate) const PAGE_SESSIONS: usize = 50;
/// How many servers a client passes with a session.
pub(crate) const SERVERS_MAX: usize = 32;
/// How long the client may take to read a file for a prompt.
pub(crate) const FILE_READ_MS_MAX: u64 = 3_000;
/// The longest text of one resource in a prompt, in bytes.
pub(crate) const RESOURCE_BYTES_MAX: usize = 1 << 20;
/// How many files of one prompt are read through the client.
pub(crate) const FILES_READ_MAX: usize = 20;
/// How long a command inside a user command may run.
pub(crate) const COMMAND_MS_MAX: u64 = 60_000;
/// How long sessions may take to put their end on record when the client is gone.
pub(crate) const LEAVE_MS_MAX: u64 = 10_000;
/// How long a session may take to close.
pub(crate) const CLOSE_MS_MAX: u64 = 15_000;
/// How long the last lines may take to be written when the connection ends.
pub(crate) const FLUSH_MS_MAX: u64 = 1_000;
