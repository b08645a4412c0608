//! Every number of this crate.

pub use posse_protocol::limits::TITLE_CHARS_MAX;

/// The longest arguments of a call that are looked at. A file may be written through them.
pub const ARGUMENTS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The longest prompt of a task.
pub const PROMPT_BYTES_MAX: usize = 64 * 1024;
/// The longest system prompt that a task may bring.
pub const SYSTEM_PROMPT_BYTES_MAX: usize = 16 * 1024;
/// The longest message to an agent.
pub const MESSAGE_BYTES_MAX: usize = 64 * 1024;
/// The longest name of an agent; an id fits too.
pub const NAME_CHARS_MAX: usize = 40;
/// The longest name of a role, model or tool pattern.
pub const WORD_CHARS_MAX: usize = 120;
/// The longest name of a handle.
pub const HANDLE_CHARS_MAX: usize = 200;
/// The longest path, JSONPath or endpoint.
pub const PATH_BYTES_MAX: usize = 4_096;
/// A title made from a prompt.
pub const TITLE_FROM_PROMPT_CHARS_MAX: usize = 60;
/// The longest item of the team's board.
pub const BOARD_TITLE_CHARS_MAX: usize = 200;

/// Context files that are passed on; how many of them are read is not decided here.
pub const CONTEXT_FILES_MAX: usize = 50;
/// Turns of the parent that a task may name.
pub const CONTEXT_TURNS_MAX: usize = 200;
/// Files that a task may promise.
pub const DELIVERABLES_MAX: usize = 50;
/// Tools that a task may list.
pub const ALLOWED_TOOLS_MAX: usize = 200;
/// Agents that one wait may name.
pub const WAIT_AGENTS_MAX: usize = 200;
/// Items that one item of the board may come after.
pub const BOARD_AFTER_MAX: usize = 50;

/// Agents that run at the same time on the surface `sessions`, whatever the configuration says.
pub const SESSIONS_RUNNING_MAX: usize = 20;

/// How long a wait without a figure of its own lasts, where the surface has to say.
pub const WAIT_MS: u64 = 120_000;
/// The longest wait.
pub const WAIT_MS_MAX: u64 = 3_600_000;

/// Characters read from a handle unless told otherwise.
pub const SLICE_CHARS: usize = 4_000;
/// Lines read from a handle unless told otherwise.
pub const SLICE_LINES: usize = 200;

/// Bytes of the names of roles that a small model is told.
pub const LEAN_ROLES_BYTES_MAX: usize = 240;
/// Endpoints that are listed.
pub const ENDPOINTS_MAX: usize = 20;
/// The longest description of a tool that every provider takes.
pub const DESCRIPTION_BYTES_MAX: usize = 1_024;
/// Characters shown of a role's description, the most that lets all be listed.
pub const ROLE_ABOUT_CHARS: [usize; 7] = [120, 90, 75, 60, 50, 40, 30];
/// Bytes that the roles have in any case.
pub const ROLES_BYTES_MIN: usize = 400;
/// Bytes of the roles that `help` lists.
pub const HELP_ROLES_BYTES_MAX: usize = 3_000;
/// Bytes kept for how roles that are not listed are found.
pub const ROLE_SEARCH_BYTES: usize = 64;
/// Bytes of names up to which a schema lists the roles.
pub const ROLE_NAMES_BYTES_MAX: usize = 600;
/// Names and labels of workers up to which a schema lists them.
pub const PLACES_MAX: usize = 20;
/// Models that are listed.
pub const MODELS_MAX: usize = 20;

/// Characters shown of what a model wrote, in an error.
pub const SHOWN_CHARS_MAX: usize = 60;
/// Fields that are compared with one that is missing.
pub const KEYS_COMPARED_MAX: usize = 50;
/// Items of a to-do list that are passed on.
pub const TODO_ITEMS_MAX: usize = 100;

/// Commands after operators of one line that are looked at.
pub const LINE_HEADS_MAX: usize = 100;
/// How far the name of such a command is looked for.
pub const LINE_HEAD_BYTES_MAX: usize = 300;
/// The longest end mark of a here-document.
pub const HERE_MARK_BYTES_MAX: usize = 100;
/// Characters of a command's name that are looked at.
pub const COMMAND_NAME_CHARS_MAX: usize = 240;
