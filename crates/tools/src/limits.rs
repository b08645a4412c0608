//! Every number of this crate.

pub use posse_protocol::limits::TITLE_CHARS_MAX;

/// The longest arguments of a call that are looked at.
pub const ARGUMENTS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The longest text any call gives back.
pub const OUTCOME_BYTES_MAX: usize = 64 * 1024;

/// Lines that one read gives back.
pub const READ_LINES_MAX: usize = 2_000;
/// Bytes of text that one read gives back.
pub const READ_BYTES_MAX: usize = 50 * 1024;
/// Room that the text of a read has to begin with.
pub const READ_TEXT_BYTES: usize = 1024;
/// Bytes shown of one line.
pub const READ_LINE_BYTES_MAX: usize = 2_000;
/// The largest file that is read without a thread of its own, where it is in memory.
pub const READ_AT_ONCE_BYTES_MAX: usize = 128 * 1024;
/// How far into a file a read looks for its lines.
pub const READ_SCAN_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How far past the lines it shows a read counts how many more there are.
pub const READ_COUNT_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The largest file that is edited or overwritten.
pub const EDIT_BYTES_MAX: u64 = 10 * 1024 * 1024;
/// Lines shown around an edit, and of the closest place when the old text is not found.
pub const SNIPPET_LINES_MAX: usize = 12;
/// Bytes shown of one line of a snippet.
pub const SNIPPET_LINE_BYTES_MAX: usize = 300;
/// The largest file that is shown to an agent that was about to write over it unseen.
pub const UNSEEN_BYTES_MAX: u64 = 2_000;
/// Paths named when one is not there.
pub const NAMED_PATHS_MAX: usize = 20;
/// How many files an agent's memory of what it has read holds.
pub const SEEN_FILES_MAX: usize = 10_000;

/// Levels listed unless told otherwise.
pub const LIST_DEPTH: u32 = 2;
/// Levels listed at most.
pub const LIST_DEPTH_MAX: u32 = 16;
/// Entries listed in all.
pub const LIST_ENTRIES_MAX: usize = 500;
/// Entries listed of one folder.
pub const LIST_FOLDER_ENTRIES_MAX: u64 = 100;
/// Paths given back by one glob.
pub const GLOB_PATHS_MAX: usize = 200;

/// Matches given back by one grep unless told otherwise.
pub const GREP_MATCHES: u32 = 100;
/// Matches given back by one grep at most.
pub const GREP_MATCHES_MAX: u32 = 500;
/// Lines shown around a match at most.
pub const GREP_CONTEXT_MAX: u32 = 20;

/// How long a command may run unless told otherwise.
pub const SHELL_TIMEOUT_MS: u64 = 120_000;
/// How long a command may run at most.
pub const SHELL_TIMEOUT_MS_MAX: u64 = 600_000;
/// Output kept from the start of a command.
pub const SHELL_HEAD_BYTES: usize = 8 * 1024;
/// Output kept from the end of a command, where errors usually are.
pub const SHELL_TAIL_BYTES: usize = 22 * 1024;

/// How much of an escape sequence that has not come whole is waited for.
pub(crate) const ESCAPE_BYTES_MAX: usize = 256;

/// Items on a to-do list.
pub const TODO_ITEMS_MAX: usize = 50;
/// Characters of one item.
pub const TODO_ITEM_CHARS_MAX: usize = 300;

/// Bytes read of a web page.
pub const WEB_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of text given back of a web page.
pub const WEB_TEXT_BYTES_MAX: usize = 40 * 1024;
/// Redirects followed.
pub const WEB_REDIRECTS_MAX: usize = 5;
/// How long a connection may take to be made.
pub const WEB_CONNECT_TIMEOUT_MS: u64 = 10_000;
/// How long a page may take in all.
pub const WEB_TIMEOUT_MS: u64 = 30_000;
/// The longest address.
pub const WEB_URL_BYTES_MAX: usize = 4 * 1024;
/// A command has at least this long, whatever the model asks for: some write seconds where milliseconds are meant.
pub const SHELL_TIMEOUT_MIN_MS: u64 = 1_000;
/// How many commands run in the background at the same time in one session.
pub const JOBS_MAX: usize = 16;
/// How many of them are remembered with their output, those that have ended included.
pub const JOBS_KEPT_MAX: usize = 64;
/// How long a command may run in the background.
pub const JOB_TIME_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// Output kept from the start, and as much from the end, of a command in the background.
pub const JOB_OUTPUT_SIDE_BYTES: usize = 256 * 1024;

/// The longest note.
pub const NOTE_BYTES_MAX: usize = 2 * 1024;
/// The longest kind of a note.
pub const NOTE_KIND_BYTES_MAX: usize = 40;
/// Characters shown of a note's kind, and of who made it.
pub const NOTE_WORD_CHARS_MAX: usize = 60;
/// Notes given back unless told otherwise.
pub const RECALL_NOTES: u32 = 8;
/// Notes given back at most.
pub const RECALL_NOTES_MAX: u32 = 30;
/// Bytes of a query that are looked at.
pub const RECALL_QUERY_BYTES_MAX: usize = 1024;
/// Bytes of notes given back in all.
pub const RECALL_BYTES_MAX: usize = 24 * 1024;

/// Skills that are named where a key is none and no word fits.
pub const SKILLS_NAMED_MAX: usize = 60;
/// Bytes of the list in the description, which has at most 1,024 in all.
pub const SKILLS_LISTED_BYTES_MAX: usize = 840;
/// Characters shown of a skill's description, the most that lets all be listed.
pub const SKILL_ABOUT_CHARS: [usize; 6] = [200, 120, 90, 70, 50, 35];
/// Characters shown of a skill's key.
pub const SKILL_WORD_CHARS_MAX: usize = 80;
/// Skills that are told of when a key is none.
pub const SKILLS_FITTING_MAX: usize = 10;
/// Bytes shown of a skill's text, or of one of its files.
pub const SKILL_BODY_BYTES_MAX: usize = 32 * 1024;
/// Files of a skill that are listed.
pub const SKILL_FILES_MAX: usize = 50;
/// Characters shown of such a file's path.
pub const SKILL_PATH_CHARS_MAX: usize = 200;
/// The longest description of a skill that is written.
pub const SKILL_DESCRIPTION_CHARS_MAX: usize = 1024;
/// The longest text of a skill that is written.
pub const SKILL_SAVED_BYTES_MAX: usize = 32 * 1024;
/// Bytes shown of what a skill that was written had said before.
pub const SKILL_DIFF_BYTES_MAX: usize = 4 * 1024;
/// How many files and folders of a workspace are looked at to find those that rules hide from a command.
pub(crate) const DENIED_ENTRIES_MAX: usize = 400_000;
/// How deep groups and the like within a shell text are read to find test runners.
pub(crate) const TEST_SCRIPT_NESTING_MAX: usize = 40;
/// How many shell texts and functions within each other are read.
pub(crate) const TEST_SCRIPT_TEXTS_MAX: usize = 6;
/// How many programs may stand around a test runner: `env timeout …`.
pub(crate) const TEST_WRAPPERS_MAX: usize = 12;
/// Steps of a shell text that are looked at for test runners.
pub(crate) const TEST_SCRIPT_STEPS_MAX: usize = 300;
/// Files of a project that are looked up to find out what a command runs.
pub(crate) const TEST_FILES_LOOKED_MAX: usize = 100;
/// Files that are named as those which say what a command runs.
pub(crate) const TEST_FILES_NAMED_MAX: usize = 8;
/// The largest file of a project that is read to find out what its name for tests runs.
pub(crate) const TEST_SCRIPT_BYTES_MAX: u64 = 64 * 1024;
/// Characters shown of what hides the exit code of tests.
pub(crate) const HIDDEN_BY_CHARS_MAX: usize = 40;
/// The longest key of a skill.
pub(crate) const KEY_CHARS_MAX: usize = 64;
/// How deep variables stand in variables, and targets need targets.
pub(crate) const MAKE_DEPTH_MAX: usize = 8;
/// Targets that are looked at.
pub(crate) const MAKE_TARGETS_MAX: usize = 20;
