//! Everything has a limit: what is read of files and servers, and how long messages get.

/// The largest configuration file that is read.
pub(crate) const CONFIG_BYTES_MAX: u64 = 256 * 1024;
/// The longest command of a status line.
pub(crate) const STATUS_LINE_BYTES_MAX: usize = 16 * 1024;
/// The largest file of a user command.
pub(crate) const COMMAND_FILE_BYTES_MAX: u64 = 64 * 1024;
/// How many user commands there are at most.
pub(crate) const COMMAND_FILES_MAX: usize = 500;
/// How many entries of folders are looked at for them.
pub(crate) const COMMAND_ENTRIES_MAX: usize = 5_000;
/// How deep in a folder they are looked for.
pub(crate) const COMMAND_DEPTH_MAX: usize = 4;
/// The longest name of one.
pub(crate) const COMMAND_NAME_CHARS_MAX: usize = 100;
/// How many commands one may run.
pub(crate) const COMMAND_RUNS_MAX: usize = 20;
/// The longest text that one becomes with its arguments.
pub(crate) const EXPANDED_BYTES_MAX: usize = 1024 * 1024;
/// How many faults of such files are told.
pub(crate) const FAULTS_MAX: usize = 50;
/// How many commands of a file are named where its trust is asked for.
pub(crate) const WANTED_COMMANDS_MAX: usize = 5;
/// How many patterns name the tools of a server.
pub(crate) const SERVER_PATTERNS_MAX: usize = 200;
/// The largest file of a project with servers.
pub(crate) const SERVERS_FILE_BYTES_MAX: u64 = 1024 * 1024;
/// How many servers are named where they do not run.
pub(crate) const SERVERS_NAMED_MAX: usize = 5;
/// How many prompts of a folder are read back, the newest.
pub(crate) const PROMPTS_KEPT_MAX: usize = 1_000;
/// How much of them is read.
pub(crate) const PROMPTS_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The longest prompt that is kept.
pub(crate) const PROMPT_BYTES_MAX: usize = 64 * 1024;
/// The longest name of a file with the project's notes.
pub(crate) const NAME_BYTES_MAX: usize = 200;
/// How much is written to find out whether there is room: more than a file system keeps beside a name.
pub(crate) const ROOM_PROBE_BYTES: usize = 64 * 1024;
/// How long a local server has to say that it is there.
pub(crate) const SERVER_PROBE_MS: u64 = 700;
/// Columns of a model's name.
pub(crate) const MODEL_COLUMNS_MAX: usize = 100;
/// The largest list of users that is read.
pub(crate) const USERS_BYTES_MAX: usize = 1024 * 1024;
/// How many entries of a folder are looked at for homes.
pub(crate) const HOMES_MAX: usize = 4_096;
/// When it is found out whether commands can be confined here.
pub(crate) const SANDBOX_TRIED_AFTER_MS: u64 = 500;
/// How much is said about agent files when a session begins.
pub(crate) const WARNINGS_SHOWN_MAX: usize = 6;
/// The share of a model's context that a task may fill, in percent; the rest is for the work.
pub(crate) const TASK_PERCENT_MAX: u64 = 80;
/// The largest text file that goes with a task.
pub(crate) const ATTACHED_TEXT_BYTES_MAX: u64 = 1024 * 1024;
/// Columns of what is said about one agent file.
pub(crate) const FAULT_COLUMNS_MAX: usize = 200;
/// How long the chosen model's endpoint has to answer.
pub(crate) const ANSWER_MS: u64 = 5000;
