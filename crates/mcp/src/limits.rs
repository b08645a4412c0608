//! Limits of this crate, all in one place.

/// Servers of one session.
pub const SERVERS_MAX: usize = 50;
/// Bytes of a value that is taken out of what its server says; shorter ones are words like others.
pub const SECRET_BYTES_MIN: usize = 6;
/// Bytes of a file with servers.
pub const FILE_BYTES_MAX: usize = 1 << 20;
/// Arguments, variables, headers or patterns of one server.
pub const PARTS_MAX: usize = 200;
/// Bytes of one of these.
pub const PART_BYTES_MAX: usize = 32 << 10;
/// Characters of a server's name.
pub const NAME_CHARS_MAX: usize = 40;
/// Characters of a tool's whole name: what providers take.
pub const TOOL_NAME_CHARS_MAX: usize = 64;
/// How long a server may be silent while it works on a call, unless its entry says otherwise.
pub const CALL_IDLE_MS: u64 = 60_000;
/// The longest that an entry may say.
pub const CALL_IDLE_MS_MAX: u64 = 24 * 60 * 60 * 1000;
/// How long a call may take in all, however often progress is told.
pub const CALL_TOTAL_MS: u64 = 60 * 60 * 1000;
/// How long a server may take from its start until it has told its tools. Programs download themselves meanwhile.
pub const START_MS: u64 = 120_000;
/// How long after the start of a session servers are started of which nothing is known.
pub const BACKGROUND_AFTER_MS: u64 = 100;
/// How long whoever looks for tools waits for servers that are starting.
pub const FIND_WAIT_MS: u64 = 30_000;
/// The pause before a server that failed is started again; it doubles with each failure.
pub const BACKOFF_MS: u64 = 1_000;
/// The longest pause.
pub const BACKOFF_MS_MAX: u64 = 60_000;
/// How long a server may take to end once its input is closed.
pub const END_MS: u64 = 2_000;
/// Bytes of one message of a server.
pub const MESSAGE_BYTES_MAX: usize = 16 << 20;
/// Bytes kept of what a server writes to its log.
pub const LOG_BYTES_MAX: usize = 16 << 10;
/// Tools of one server.
pub const TOOLS_MAX: usize = 1_000;
/// Resources or prompts of one server that are listed.
pub const LISTED_MAX: usize = 1_000;
/// Bytes of the definition of one tool.
pub const DEFINITION_BYTES_MAX: usize = 32 << 10;
/// Above so many tools they are looked for instead of being offered.
pub const OFFERED_TOOLS_MAX: usize = 10;
/// The same for the bytes of their definitions.
pub const OFFERED_BYTES_MAX: usize = 4 << 10;
/// Characters told of a server where its tools are looked for.
pub const SERVER_LINE_CHARS_MAX: usize = 80;
/// Tools told in answer to one search.
pub const FOUND_MAX: usize = 8;
/// Bytes of one answer to a search.
pub const FOUND_BYTES_MAX: usize = 24 << 10;
/// Characters of a description that are told.
pub const DESCRIPTION_CHARS_MAX: usize = 2_000;
/// Bytes of a result that are told at once; the rest is read by its handle.
pub const RESULT_BYTES_MAX: usize = 24 << 10;
/// Bytes of results that are kept for that, all of a session together.
pub const KEPT_BYTES_MAX: usize = 32 << 20;
/// Images of one result.
pub const IMAGES_MAX: usize = 8;
/// Rounds of questions within one call.
pub const QUESTION_ROUNDS_MAX: usize = 10;
/// Fields of one question.
pub const QUESTION_FIELDS_MAX: usize = 20;
/// Bytes of what is kept of a server from one session to the next.
pub const KNOWN_BYTES_MAX: usize = 8 << 20;
/// Bytes read of an answer that is an error.
pub const ERROR_BYTES_MAX: usize = 64 << 10;
/// Redirects that are followed, on the same computer.
pub const REDIRECTS_MAX: usize = 5;
/// How long a connection may take to be made.
pub const CONNECT_MS: u64 = 10_000;
/// The first pause where a server wants to be asked again; it doubles.
pub const AGAIN_MS: u64 = 100;
/// Lines told of the end of a server's log.
pub const LOG_LINES_TOLD: usize = 6;
/// Pages of one list.
pub const PAGES_MAX: usize = 100;
/// The longest pause before a new start that a call waits for.
pub const BACKOFF_WAIT_MS_MAX: u64 = 4_000;
/// How deep schemas may refer to themselves.
pub const SCHEMA_DEPTH_MAX: usize = 24;
/// Comparisons of one check: a schema can be written so that there would be no end of them.
pub const SCHEMA_STEPS_MAX: usize = 20_000;
