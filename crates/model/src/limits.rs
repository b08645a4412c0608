//! Every number that bounds this crate's work, in one place.

/// The longest SSE frame that is accepted. Responses repeats the whole reply in its last frame.
pub const FRAME_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most bytes one reply's stream may have, comments and all.
pub const STREAM_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How much of an error answer is read.
pub const ERROR_BODY_BYTES_MAX: usize = 64 * 1024;
/// How long the body of an error answer may take.
pub const ERROR_BODY_MS: u64 = 5_000;
/// How many bytes of base64 one request holds. Anthropic takes requests of 32 MB in all.
pub const REQUEST_DATA_BYTES_MAX: usize = 24 * 1024 * 1024;
/// How many images and documents one request holds.
pub const REQUEST_IMAGES_MAX: usize = 20;
/// How many, if all are small: Anthropic refuses larger images among more than 20.
pub const SMALL_IMAGES_MAX: usize = 100;
/// The longest side of a small image.
pub const SMALL_IMAGE_SIDE_PIXELS_MAX: u32 = 2_000;
/// How much of a model list is read.
pub const MODEL_LIST_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How many names of a model list are kept.
pub const MODEL_LIST_MAX: usize = 10_000;
/// How much of a provider's own words an error message quotes.
pub const EXCERPT_CHARS_MAX: usize = 500;
/// Beginnings of requests that are kept to be shared.
pub const OPENINGS_KEPT_MAX: usize = 16;
/// The most tool calls one reply may hold.
pub const CALLS_MAX: usize = 128;
/// The most pieces of content (text, reasoning, calls) one reply may hold.
pub const BLOCKS_MAX: usize = 1_024;
/// The longest name of a tool that all providers take.
pub const TOOL_NAME_CHARS_MAX: usize = 64;
/// The longest id of a call that all providers take.
pub const CALL_ID_CHARS_MAX: usize = 64;
/// The longest description of a tool that all providers take.
pub const TOOL_DESCRIPTION_CHARS_MAX: usize = 1_024;
/// How much of arguments that are not JSON goes back into the conversation.
pub const UNPARSEABLE_CHARS_MAX: usize = 2_000;
/// Output tokens asked of Anthropic where the configuration names none; that protocol demands a number.
pub const ANTHROPIC_OUTPUT_TOKENS: u32 = 8_192;
/// Once a reply is complete, how long to wait for usage figures and the end of the stream.
pub const AFTER_FINISH_MS: u64 = 3_000;

/// Once a stream has said that it is over, how long its last bytes may take before the connection is given up.
pub const DRAIN_MS: u64 = 100;

/// How long making a connection may take.
pub const CONNECT_MS: u64 = 10_000;
/// How long the first event may take. Local models think long about a long prompt.
pub const FIRST_BYTE_MS: u64 = 600_000;
/// How long a stream may be silent.
pub const IDLE_MS: u64 = 120_000;

/// While nothing of a reply can be shown, how often it is said that something has come.
pub const ARRIVING_EVERY_MS: u64 = 1_000;

/// How often a call is tried in all, the first time included.
pub const ATTEMPTS_MAX: u32 = 6;
/// How often a call is tried where a server on this machine refuses the very first connection: nobody has started it.
pub const REFUSED_ATTEMPTS_MAX: u32 = 2;
/// How long a server has to list its models, once it does not know the one that was asked for.
pub const MODEL_NAMES_MS: u64 = 3_000;
/// How many of them a message names.
pub const MODEL_NAMES_SHOWN_MAX: usize = 8;
/// The longest name of a model that a message quotes.
pub const MODEL_NAME_CHARS_MAX: usize = 80;
/// The range of the first retry's delay.
pub const BACKOFF_BASE_MS: u64 = 500;
/// The widest range of a retry's delay.
pub const BACKOFF_CAP_MS: u64 = 30_000;
/// The longest Retry-After that is waited for.
pub const RETRY_AFTER_MAX_MS: u64 = 120_000;

/// Concurrent requests to an endpoint on this machine, where the configuration does not say: one graphics card.
pub const CONCURRENT_LOCAL: usize = 1;
/// Concurrent requests to any other endpoint, where the configuration does not say.
pub const CONCURRENT_REMOTE: usize = 8;
/// The most concurrent requests a configuration may ask for.
pub const CONCURRENT_MAX: usize = 1_024;
/// Successes in a row after which a slowed-down endpoint gets one more concurrent request.
pub const RECOVERY_SUCCESSES: u32 = 5;

/// The largest cassette that is read.
pub const CASSETTE_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// The most bytes of a mismatch's diff that are shown.
pub const DIFF_BYTES_MAX: usize = 6_000;
/// The most bytes of each side of a diff that are compared.
pub const DIFF_INPUT_BYTES_MAX: usize = 64 * 1024;
/// Characters in one piece of a replayed stream.
pub const REPLAY_CHUNK_CHARS: usize = 24;
/// Finished messages of a transcript are gathered into buffers of about this size.
pub const CHUNK_BYTES: usize = 64 * 1024;
/// Windows up to this size get the lean profile unless the configuration says otherwise.
pub const LEAN_WINDOW_TOKENS_MAX: u64 = 16 * 1024;
/// A last line up to this length says how to find what is not listed, and stays.
pub(crate) const LAST_LINE_CHARS_MAX: usize = 200;
/// How much may be given up to end at a line or a sentence instead of a word.
pub(crate) const GIVEN_UP_CHARS_MAX: usize = 160;
/// How much of an id is kept beside its hash.
pub(crate) const ID_CHARS_KEPT: usize = 32;
