//! Every number of this crate.

/// A report told to a parent has at least this much room, whatever was asked for: its facts must fit.
pub const TOLD_BYTES_MIN: usize = 2 * 1024;
/// The longest name of an agent or role, as it is shown.
pub const NAME_CHARS_MAX: usize = 64;
/// The longest name of a handle, as it is shown.
pub const HANDLE_CHARS_MAX: usize = 100;
/// The longest title, as it is shown.
pub const TITLE_CHARS_MAX: usize = 100;
/// The longest warning, as it is shown.
pub const WARNING_CHARS_MAX: usize = 400;
/// Files that are named one by one.
pub const FILES_NAMED_MAX: usize = 10;
/// Changed test files that are named one by one.
pub const TEST_FILES_NAMED_MAX: usize = 5;
/// Commits that are named one by one: the last of them.
pub const COMMITS_NAMED_MAX: usize = 3;
/// Sub-agents that are named one by one; of more, only how they ended is counted.
pub const CHILDREN_NAMED_MAX: usize = 6;
/// The longest command or subject of a commit within a fact.
pub const QUOTED_CHARS_MAX: usize = 80;
/// The longest path that is shown.
pub const PATH_SHOWN_CHARS_MAX: usize = 120;

/// How often a cut is made anew because its wrapper took more room than was thought.
pub const CUT_TRIES_MAX: usize = 8;

/// The longest name of a section.
pub const SECTION_NAME_BYTES_MAX: usize = 40;
/// Suggestions taken from a report.
pub const SUGGESTIONS_MAX: usize = 50;
/// Places a report may cite.
pub const CITATIONS_MAX: usize = 200;
/// Changes a report may claim.
pub const CLAIMS_MAX: usize = 200;
/// A longer word is not taken for a path.
pub const PATH_BYTES_MAX: usize = 200;
/// A longer word is not looked at for a path and a place in it.
pub const WORD_BYTES_MAX: usize = 300;
/// How much of a report is read for claims.
pub const PROSE_BYTES_MAX: usize = 64 * 1024;
/// A longer sentence is taken for several.
pub const SENTENCE_TOKENS_MAX: usize = 100;
/// The longest word before a colon that is a heading.
pub const HEADING_KEY_BYTES_MAX: usize = 40;
/// A longer heading is a sentence.
pub const HEADING_WORDS_MAX: usize = 5;
/// Words in the gap of a pattern.
pub const PHRASE_GAP_TOKENS_MAX: usize = 5;
/// How far behind a claim it can be taken back.
pub const TAKEN_BACK_TOKENS_MAX: usize = 6;
/// The longest command in a warning.
pub const COMMAND_SHOWN_CHARS_MAX: usize = 60;
/// The longest quote in a warning.
pub const QUOTE_SHOWN_CHARS_MAX: usize = 60;
/// A shorter piece of a quote is not compared.
pub const QUOTE_PIECE_CHARS_MIN: usize = 4;
/// How many lines a quote may be away from the cited ones: who counts is easily off by one or two.
pub const QUOTE_LINES_OFF_MAX: usize = 3;
/// The longest block that is compared with a file.
pub const QUOTE_BLOCK_BYTES_MAX: usize = 4 * 1024;
/// How far from a cited place a line is read for what it says about a quote.
pub const QUOTE_REACH_BYTES_MAX: usize = 400;
/// Words between a cited place and its quote.
pub const QUOTE_WORDS_BETWEEN_MAX: usize = 5;
/// Warnings that a check gives; how many more there are is said in one more.
pub const WARNINGS_MAX: usize = 20;

/// What a warning keeps in a JSON report that is cut.
pub const JSON_WARNING_CHARS_MIN: usize = 80;
/// How a JSON report is cut, more and more until it fits, which the last always does: entries of each list, characters
/// of each text.
pub const JSON_CUTS: [(usize, usize); 5] = [(20, 400), (10, 100), (3, 40), (1, 10), (1, 0)];

/// What one read of a handle gives back.
pub const READ_BYTES_MAX: usize = 16 * 1024;
/// The largest value that is read as JSON.
pub const JSON_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Keys of an object that a count names.
pub const KEYS_NAMED_MAX: usize = 20;
/// The longest JSONPath.
pub const JSON_PATH_BYTES_MAX: usize = 500;
/// How deep brackets in a JSONPath go; the time of its parser grows with a power of it.
pub const JSON_PATH_NESTING_MAX: usize = 6;
/// The longest JSONPath with a regular expression in it.
pub const JSON_PATH_PATTERN_BYTES_MAX: usize = 200;
/// How many elements a JSONPath may look at, estimated before it runs.
pub const JSON_PATH_WORK_MAX: u64 = 2_000_000;
/// Memory a JSONPath may use for the places of what it looks at, estimated before it runs.
pub const JSON_PATH_PLACES_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Denied calls that are told one by one.
pub const DENIALS_TOLD_MAX: usize = 5;
/// Room that a diff needs at least to be worth showing.
pub const DIFF_BYTES_MIN: usize = 300;
/// Room for what stands around a diff.
pub const DIFF_MARGIN_BYTES: usize = 120;
