//! Every limit of this crate. What a client sends was written by a stranger.

/// A message of a client: a line, or the body of a request.
pub const MESSAGE_BYTES_MAX: usize = 4 << 20;
/// How long the body of a request may take.
pub const BODY_MS_MAX: u64 = 10_000;
/// Answers that wait to be taken by the client before nothing more is read of it.
pub const ANSWERS_WAITING_MAX: usize = 128;
/// Calls that are carried out at the same time.
pub const CALLS_MAX: usize = 64;
/// Tasks of this server that work at the same time.
pub const TASKS_WORKING_MAX: usize = 16;
/// Processes that are being started at the same time.
pub const STARTING_MAX: usize = 4;
/// Sessions of the HTTP transport, for clients of the era that has them.
pub const HTTP_SESSIONS_MAX: usize = 64;
/// How long such a session may be silent.
pub const HTTP_SESSION_IDLE_MS: u64 = 900_000;
/// A prompt, a message or an answer.
pub const TEXT_BYTES_MAX: usize = 128 << 10;
/// A name or an id.
pub const NAME_BYTES_MAX: usize = 1 << 10;
/// How long a call waits for a task: below the timeout of common clients, which is a minute.
pub const WAIT_MS: u64 = 50_000;
/// The same while the client listens to progress, which holds its timeout off.
pub const WAIT_WITH_PROGRESS_MS: u64 = 900_000;
/// How often a task is looked at that somebody waits for.
pub const LOOK_MS: u64 = 200;
/// How long it may take until the record shows what a command has done.
pub const SHOWN_MS_MAX: u64 = 5_000;
/// Progress is told not sooner than this after it was told last.
pub const PROGRESS_MS_MIN: u64 = 1_000;
/// Progress is told not later than this, although nothing is new.
pub const PROGRESS_MS_MAX: u64 = 10_000;
/// How long the client may take for one message to it, where the work does not depend on it.
pub const TELLING_MS_MAX: u64 = 5_000;
/// How long a client may take to ask its person.
pub const ASKING_MS_MAX: u64 = 600_000;
/// How often a client is told to look at a task.
pub const POLL_MS: u64 = 2_000;
/// How long a client may keep the list of tools, which does not change while the server runs.
pub const TOOLS_TTL_MS: u64 = 3_600_000;
/// How long a task that has answered waits for what to do next.
pub const REST_MS: u64 = 600_000;
/// Agents that an answer has; the others are counted.
pub const AGENTS_SHOWN_MAX: usize = 60;
/// Questions that an answer has.
pub const QUESTIONS_SHOWN_MAX: usize = 50;
/// A report in the answer to the call that began the task.
pub const REPORT_BYTES: usize = 24 << 10;
/// A report in the answer to `report`.
pub const WHOLE_REPORT_BYTES_MAX: usize = 256 << 10;
/// Events of the main agent that are looked through for its report.
pub const REPORT_EVENTS_MAX: usize = 50;
/// What is shown of a text in one line.
pub const LINE_CHARS_MAX: usize = 300;
/// What is shown of a question.
pub const QUESTION_CHARS_MAX: usize = 4_000;
/// How often tasks are looked at that somebody listens to.
pub const LISTEN_MS: u64 = 500;
/// Tasks that one subscription is about.
pub const FOLLOWED_TASKS_MAX: usize = 32;
