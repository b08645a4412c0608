//! Every number of this crate.

/// The longest path that is looked at.
pub const PATH_BYTES_MAX: usize = 4096;
/// How many symbolic links a write follows.
pub const LINKS_MAX: usize = 8;
/// How often an open is tried again when the tree changes under it.
pub const OPEN_TRIES_MAX: usize = 16;
/// How many entries one walk looks at.
pub const WALK_ENTRIES_MAX: u64 = 200_000;
/// How long one walk or search may take.
pub const WALK_TIME_MS_MAX: u64 = 20_000;
/// The most memory one searched line may take.
pub const GREP_LINE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How much of a found line is kept.
pub const GREP_LINE_CHARS_MAX: usize = 300;
/// The longest search pattern.
pub const PATTERN_BYTES_MAX: usize = 4096;
/// How much of a file is looked at to tell text from binary.
pub const SNIFF_BYTES: usize = 8 * 1024;
/// How many lines are compared when the closest one is looked for.
pub const NEAREST_LINES_MAX: usize = 50_000;
/// How much of each line is compared when the closest one is looked for.
pub const NEAREST_LINE_CHARS_MAX: usize = 200;
/// How long counting changed lines may look for the shortest difference.
pub const DIFF_TIME_MS_MAX: u64 = 500;
/// How long one git call may take.
pub const GIT_TIME_MS_MAX: u64 = 15_000;
/// How much output of one git call is read.
pub const GIT_OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How many names are suggested for a missing file.
pub const SUGGESTIONS_MAX: usize = 5;
/// How many places of a text that should be unique are looked for.
pub const PLACES_MAX: usize = 100;
/// How many files are watched for changes by commands; with more, none is.
pub const BASELINE_FILES_MAX: usize = 20_000;
/// The largest file whose content is remembered, to count changed lines.
pub const BASELINE_FILE_BYTES_MAX: usize = 256 * 1024;
/// How much content is remembered in all.
pub const BASELINE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// A file changed this shortly before it was read may change again without a new stamp.
pub const BASELINE_FRESH_MS: u64 = 2_000;
/// How long changed lines are counted exactly in one go; after that, at most.
pub const BASELINE_DIFF_TIME_MS_MAX: u64 = 2_000;
