//! All limits of this crate. What comes over a socket was written by a stranger.

/// Connections at once; more are told so and closed. With sessions at rest and their files, a process stays below the
/// usual limit of 1,024 open files.
pub const CONNECTIONS_MAX: usize = 256;
/// Calls that are carried out at the same time. Followers do not count.
pub const CALLS_MAX: usize = 64;
/// How many follow one session over the socket.
pub const FOLLOWERS_MAX: usize = 100;
/// The body of a request, unless its call says otherwise.
pub const REQUEST_BYTES_MAX: usize = 256 << 10;
/// A text of a person, such as what an agent is told.
pub const TEXT_BYTES_MAX: usize = 128 << 10;
/// A prompt with the images and documents that go with it; the engine limits those.
pub const PROMPT_BODY_BYTES_MAX: usize = 24 << 20;
/// A name, an id or a pattern.
pub const NAME_BYTES_MAX: usize = 1 << 10;
/// A text in a query string.
pub const QUERY_BYTES_MAX: usize = 4 << 10;
/// The fields in the head of a request.
pub(crate) const HEADERS_MAX: usize = 32;
/// What is buffered of a connection, the head of a request included.
pub(crate) const BUFFER_BYTES_MAX: usize = 16 << 10;
/// How long the head of a request may take, and how long a connection may be idle.
pub(crate) const HEAD_MS_MAX: u64 = 10_000;
/// How long the body of a request may take.
pub(crate) const BODY_MS_MAX: u64 = 10_000;
/// How long a client may take nothing of what is written to it.
pub(crate) const STALLED_MS_MAX: u64 = 60_000;
/// How often a follower hears something.
pub(crate) const HEARTBEAT_MS: u64 = 15_000;
/// How long a follower waits for the next sign of life: several heartbeats.
pub(crate) const SILENCE_MS_MAX: u64 = 60_000;
/// Frames that are ready for a follower that has not taken them yet.
pub(crate) const FRAMES_AHEAD_MAX: usize = 16;
/// Frames of a session that are kept for its other followers, and how large one of them may be.
pub(crate) const FRAMES_KEPT_MAX: usize = 64;
pub(crate) const FRAME_KEPT_BYTES_MAX: usize = 64 << 10;
/// A frame of another process's event stream, and its answer to a call.
pub(crate) const FRAME_BYTES_MAX: usize = 64 << 20;
pub(crate) const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Arguments of a server's prompt.
pub const PROMPT_ARGUMENTS_MAX: usize = 50;
/// How long a server may take for the text of a prompt: it may have to start first.
pub const SERVER_ANSWER_MS_MAX: u64 = 180_000;
/// How long another process may take for an answer, unless the call says otherwise.
pub const ANSWER_MS_MAX: u64 = 60_000;
/// The same for what reads or writes many files.
pub const CHANGE_MS_MAX: u64 = 600_000;
/// How often, and after which pause, a process is tried that has not begun to listen.
pub(crate) const CONNECT_TRIES_MAX: usize = 25;
pub(crate) const CONNECT_PAUSE_MS: u64 = 20;
/// How long connecting may take.
pub(crate) const CONNECT_MS_MAX: u64 = 5_000;
/// How long calls that are being carried out may take when the server closes.
pub(crate) const CLOSING_MS_MAX: u64 = 500;
/// How long after the start of a server it makes its socket: the first request to a model comes first, and a session that
/// is over by then needs none. Clients wait longer.
pub(crate) const LISTEN_AFTER_MS: u64 = 30;
/// The pause after a connection could not be accepted, for want of open files say.
pub(crate) const ACCEPT_PAUSE_MS: u64 = 50;
/// Connections that wait to be accepted.
pub(crate) const BACKLOG: i32 = 128;
/// The longest path that a socket address holds.
pub(crate) const SOCKET_PATH_BYTES_MAX: usize = 107;
/// Rows of a list, and events of a page.
pub const ROWS_MAX: usize = 1_000;
/// A page of events: it ends with the event that passes this.
pub(crate) const PAGE_BYTES_MAX: usize = 1 << 20;
/// Events that are read for a page at a time.
pub(crate) const EVENTS_AT_ONCE: usize = 50;
/// A list's length where none is asked for.
pub(crate) const ROWS: usize = 50;

/// Folders that a server lists.
pub(crate) const FOLDERS_MAX: usize = 200;
/// Views of sessions that a server keeps.
pub(crate) const VIEWS_KEPT_MAX: usize = 8;
/// How long updates are gathered before they are sent, and the same where many follow a session: with what is told of all
/// sessions once a second, at most 20 times a second.
pub(crate) const MERGE_MS: u64 = 20;
pub(crate) const MERGE_MS_OF_MANY: u64 = 54;
/// How many followers are few.
pub(crate) const ROOM_FEW: usize = 8;
/// How many follow one session through a server.
pub const ROOM_FOLLOWERS_MAX: usize = 400;
/// Pieces that a follower may be behind before it has to ask again.
pub(crate) const PIECES_AHEAD_MAX: usize = 256;
/// How often the record of a session is looked at that nobody runs.
pub(crate) const ROOM_LOOK_MS: u64 = 500;
/// How often a server looks for what waits for a person, while somebody listens.
pub(crate) const OVERVIEW_MS: u64 = 1_000;
/// Sessions that one stream follows.
pub const FOLLOWED_MAX: usize = 32;
/// How long a question beside a session may take.
pub(crate) const ASIDE_MS_MAX: u64 = 600_000;
/// A session as a text, and how long it may take to make it.
pub(crate) const EXPORT_BYTES_MAX: usize = 32 << 20;
pub(crate) const EXPORT_MS_MAX: u64 = 60_000;
/// Paths that complete what was typed.
pub(crate) const COMPLETIONS_MAX: usize = 50;
/// How long a command may take that a person types.
pub(crate) const TYPED_COMMAND_MS_MAX: u64 = 120_000;
/// Connections of a server at once: below the usual limit of 1,024 open files.
pub const WEB_CONNECTIONS_MAX: usize = 512;
/// How long the head of a request may take on such a connection, and how long it may be idle.
pub(crate) const WEB_HEAD_MS_MAX: u64 = 30_000;
/// How long the handshake of TLS may take.
pub(crate) const HANDSHAKE_MS_MAX: u64 = 10_000;
/// A token in bytes: 256 bits.
pub(crate) const TOKEN_BYTES: usize = 32;
/// The largest file with a token, a certificate or a key.
pub(crate) const SECRET_FILE_BYTES_MAX: u64 = 1 << 20;
/// When a certificate of our own is made anew: before it ends.
pub(crate) const CERTIFICATE_DAYS_MAX: u64 = 365;
/// How much of a stream of lines is read at once.
pub(crate) const LINE_READ_BYTES: usize = 64 << 10;
