//! Everything has a limit: what is shown, how wide, and for how long something is waited for.

/// Columns of a role's name and of what it may do, in a list.
pub(crate) const NAME_COLUMNS_MAX: usize = 24;
/// Columns of what a role may do.
pub(crate) const MAY_COLUMNS_MAX: usize = 32;
/// How many files with the same warning are named one by one.
pub(crate) const SAME_NAMED_MAX: usize = 3;
/// The longest diff that is printed.
pub(crate) const DIFF_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Paths named one by one; the others are counted.
pub(crate) const PATHS_SHOWN_MAX: usize = 40;
/// Columns of a name.
pub(crate) const COMPLETED_COLUMNS_MAX: usize = 100;
/// Between two pieces of recorded text, so that people can read along.
pub(crate) const PACE_MS: u64 = 180;
/// Branches that are named one by one.
pub(crate) const BRANCHES_SHOWN_MAX: usize = 12;
/// Columns of a title that are kept, however long the outcome is.
pub(crate) const TITLE_COLUMNS_MIN: usize = 16;
/// Lines of a failed command's output that are shown.
pub(crate) const OUTPUT_LINES_MAX: usize = 3;
/// Columns of where an agent runs.
pub(crate) const WORKER_COLUMNS_MAX: usize = 30;
/// Columns of a title that are worth showing.
pub(crate) const CREW_TITLE_COLUMNS_MIN: usize = 10;
/// Columns of a call in a log.
pub(crate) const LOGGED_CALL_COLUMNS_MAX: usize = 100;
/// Lines of the block, the main agent's included.
pub(crate) const BLOCK_LINES_MAX: usize = 12;
/// Lines of sub-agents that wait for the end of a line of the main agent's text.
pub(crate) const HELD_LINES_MAX: usize = 500;
/// Columns of a name, a title or an action.
pub(crate) const TEXT_COLUMNS_MAX: usize = 200;
/// Warnings told one by one.
pub(crate) const WARNINGS_SHOWN_MAX: usize = 5;
/// Columns of a warning.
pub(crate) const WARNING_COLUMNS_MAX: usize = 400;
/// Columns of all facts on one line.
pub(crate) const FACTS_COLUMNS_MAX: usize = 1000;
/// Columns that the names get at most.
pub(crate) const AGENT_NAME_COLUMNS_MAX: usize = 20;
/// What is not covered, named one by one; the others are counted.
pub(crate) const LISTED_MAX: usize = 12;
/// Denied calls named one by one; the others are counted.
pub(crate) const DENIALS_SHOWN_MAX: usize = 5;
/// Columns of the reason of a denial.
pub(crate) const REASON_COLUMNS_MAX: usize = 300;
/// Columns of what a server said.
pub(crate) const WORDS_COLUMNS_MAX: usize = 600;
/// Columns of a task.
pub(crate) const TITLE_COLUMNS_MAX: usize = 200;
/// Characters of a session's id that are shown.
pub(crate) const ID_CHARS: usize = 8;
/// Bytes that wait while a question is open; what comes after that is only counted, and is on record.
pub(crate) const WAITING_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Levels that are indented; what is deeper stands under the deepest of them.
pub(crate) const LEVELS_INDENTED_MAX: usize = 12;
/// Columns that a name with its title gets at most.
pub(crate) const TREE_NAME_COLUMNS_MAX: usize = 60;
/// Characters of an error that are shown.
pub(crate) const ERROR_CHARS_MAX: usize = 100;
/// Between two looks at what moves without events.
pub(crate) const TICK_MS: u64 = 100;
/// Notes that are looked through where words are wanted from all projects.
pub(crate) const NOTES_LOOKED_AT_MAX: usize = 10_000;
/// Columns of a warning.
pub(crate) const NOTE_COLUMNS_MAX: usize = 2000;
/// Columns of a path in a list.
pub(crate) const PATH_COLUMNS_MAX: usize = 60;
/// Columns of a bar.
pub(crate) const BAR_COLUMNS_MAX: u64 = 30;
/// The longest prompt that is read from standard input.
pub(crate) const PROMPT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// How long standard input beside a prompt has to come to its end.
pub(crate) const PIPED_WAIT_MS: u64 = 1000;
/// Bytes of a line that are held back until it is clear what it is.
pub(crate) const START_BYTES_MAX: usize = 8 * 1024;
/// Rows of a table that are held back until it is complete.
pub(crate) const TABLE_ROWS_MAX: usize = 500;
/// Columns of text that a row has at least, however deep its indent is.
pub(crate) const ROOM_MIN: usize = 10;
/// Columns that lines are broken at, however narrow the terminal is.
pub(crate) const COLUMNS_MIN: usize = 20;
/// Rows of what is asked that must be in sight; where there is less room, the choices are told more briefly.
pub(crate) const BODY_ROWS_MIN: usize = 4;
/// Rows of one remark about it.
pub(crate) const REMARK_ROWS_MAX: usize = 3;
/// Rows of who wants what.
pub(crate) const HEADING_ROWS_MAX: usize = 4;
/// The same of open files.
pub(crate) const FILES_MIN: usize = 32;
/// These threads do nothing.
pub(crate) const STACK_BYTES: usize = 64 * 1024;
/// Calls without a result that are named one by one.
pub(crate) const CALLS_SHOWN_MAX: usize = 12;
/// Agents that are named one by one.
pub(crate) const NAMES_SHOWN_MAX: usize = 12;
/// Sessions that are shown one by one.
pub(crate) const SESSIONS_SHOWN_MAX: usize = 20;
/// Branches that are named one by one.
pub(crate) const CLEAR_BRANCHES_SHOWN_MAX: usize = 20;
/// How much of an id has to be typed, so that a slip does not name a session.
pub(crate) const ID_CHARS_MIN: usize = 4;
/// Characters of a tool's result that are kept.
pub(crate) const RESULT_CHARS_MAX: usize = 2000;
/// Lines of files beside what was measured.
pub(crate) const FILE_LINES_MAX: usize = 4;
/// Columns of a session's title that are shown.
pub(crate) const SESSIONS_TITLE_COLUMNS_MAX: usize = 60;
/// Columns of a path that are shown.
pub(crate) const SESSIONS_PATH_COLUMNS_MAX: usize = 1000;
/// The longest prompt that is put into the command line; longer ones are better kept in a file.
pub(crate) const PROMPT_CHARS_MAX: usize = 120;
/// Agents that are named one by one.
pub(crate) const REPLAY_NAMES_SHOWN_MAX: usize = 12;
/// Columns of a session's title that are shown.
pub(crate) const SEARCH_TITLE_COLUMNS_MAX: usize = 60;
/// Columns of a query that are said again.
pub(crate) const QUERY_COLUMNS_MAX: usize = 60;
/// Columns that keys get at most, and at least where room is short.
pub(crate) const KEY_COLUMNS_MAX: usize = 28;
/// The fewest columns of a row's name.
pub(crate) const KEY_COLUMNS_MIN: usize = 10;
/// Columns that the last column needs to be worth showing.
pub(crate) const ENDINGS_COLUMNS_MIN: usize = 12;
/// Characters of a report or a reason that are shown.
pub(crate) const STEPS_RESULT_CHARS_MAX: usize = 160;
/// Lines of a tool's result that are shown.
pub(crate) const RESULT_LINES_MAX: usize = 5;
/// Columns of a line of it.
pub(crate) const LINE_COLUMNS_MAX: usize = 200;
/// Characters of a message that are shown.
pub(crate) const MESSAGE_CHARS_MAX: usize = 2000;
/// Levels that are indented.
pub(crate) const STEPS_LEVELS_INDENTED_MAX: u32 = 12;
/// Characters of the session's title that are shown.
pub(crate) const TITLE_CHARS_MAX: usize = 80;
/// Agents whose facts are shown.
pub(crate) const MEASURED_SHOWN_MAX: usize = 50;
/// Columns of an agent's name before its facts.
pub(crate) const TASKS_NAME_COLUMNS_MAX: usize = 60;
/// Sessions among which others at work and interrupted ones are looked for.
pub(crate) const SESSIONS_LOOKED_AT_MAX: usize = 200;
/// Other sessions that are shown.
pub(crate) const OTHERS_SHOWN_MAX: usize = 5;
/// Columns of what a file wants.
pub(crate) const WANT_COLUMNS_MAX: usize = 1000;
/// Sessions among which those of a folder are looked for.
pub(crate) const OWN_SESSIONS_LOOKED_AT_MAX: usize = 1000;
/// Digits of a place in the list; more of them are part of an id.
pub(crate) const PLACE_DIGITS_MAX: usize = 3;
/// Threads that agents run on, at least: one that is busy does not hold up the others.
pub(crate) const WORKERS_MIN: usize = 2;
/// The same at most. All of them are started at once, which takes time, and thousands of agents do not keep these busy.
pub(crate) const WORKERS_MAX: usize = 8;
/// How long `posse stop` waits for the end of a session.
pub(crate) const STOPPING_MS_MAX: u64 = 10_000;
/// Updates of a session elsewhere that wait to be shown.
pub(crate) const UPDATES_AHEAD_MAX: usize = 64;
/// How long a session in the background rests until its process ends it, unless the person says otherwise.
pub(crate) const REST_MS_MAX: u64 = 60 * 60 * 1000;
/// What is written into the log of a session in the background, and how long a line of it is.
pub(crate) const BACKGROUND_LOG_BYTES_MAX: usize = 1024 * 1024;
pub(crate) const BACKGROUND_LINE_COLUMNS_MAX: usize = 400;
/// Such logs that are kept.
pub(crate) const BACKGROUND_LOGS_MAX: usize = 100;
/// How often, and after which pause, it is looked whether a process that does not answer is gone.
pub(crate) const GONE_TRIES_MAX: usize = 20;
pub(crate) const GONE_PAUSE_MS: u64 = 25;
/// How long the program that opens a browser may take.
pub(crate) const BROWSER_MS_MAX: u64 = 10_000;
/// Columns of a server's command line or address.
pub(crate) const SERVER_COMMAND_COLUMNS_MAX: usize = 160;
/// Columns of where a server is written down and what it may do.
pub(crate) const SERVER_FACTS_COLUMNS_MAX: usize = 400;
/// Columns of what a server says of itself or of a tool.
pub(crate) const SERVER_WORDS_COLUMNS_MAX: usize = 100;
/// How long a worker has to say what it is.
pub(crate) const REMOTE_ANSWER_MS_MAX: u64 = 30_000;
/// How long this program may take to be copied to a worker.
pub(crate) const REMOTE_COPY_MS_MAX: u64 = 900_000;
/// How much of what a worker says is kept, of its beginning and of its end.
pub(crate) const REMOTE_ANSWER_BYTES_MAX: usize = 64 * 1024;
/// How long the doctor listens for workers at a broker: those that do not understand a question speak every 15 seconds.
pub(crate) const HELLO_WAIT_MS: u64 = 20_000;
/// How long a list waits for workers at a broker.
pub(crate) const LIST_WAIT_MS: u64 = 3_000;
/// The first version of a broker that has all that is used, with its major and its minor number.
pub(crate) const BROKER_VERSION_MIN: (u32, u32) = (2, 11);
