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
/// How long one git call on a whole tree may take.
pub const GIT_LARGE_TIME_MS_MAX: u64 = 300_000;
/// How much output of one git call on a whole tree is read.
pub const GIT_LARGE_OUTPUT_BYTES_MAX: usize = 32 * 1024 * 1024;
/// The largest file that is kept in a checkpoint, taken back or merged.
pub const CHECKPOINT_FILE_BYTES_MAX: u64 = 24 * 1024 * 1024;
/// How many bytes of contents are read from git at a time.
pub const BLOBS_BYTES_MAX: u64 = 28 * 1024 * 1024;
/// How many ignored files outside ignored folders are kept in a checkpoint.
pub const IGNORED_FILES_MAX: usize = 200;
/// The largest ignored file that is kept in a checkpoint.
pub const IGNORED_FILE_BYTES_MAX: u64 = 64 * 1024;
/// How many files of one nested repository are kept in a checkpoint.
pub const NESTED_FILES_MAX: usize = 20_000;
/// How many left-out paths are named.
pub const LEFT_OUT_NAMES_MAX: usize = 50;
/// How much of a file with ignore rules is read.
pub const IGNORE_FILE_BYTES_MAX: u64 = 256 * 1024;
/// How long another process may keep a shadow repository to itself.
pub const LOCK_WAIT_MS_MAX: u64 = 60_000;
/// How long to wait before trying such a lock again.
pub const LOCK_POLL_MS: u64 = 10;
/// How long the text of one conflict may be.
pub const CONFLICT_BYTES_MAX: usize = 8 * 1024;
/// How many conflicts are reported one by one.
pub const CONFLICTS_MAX: usize = 200;
/// How long a merge of one file may look for the shortest difference.
pub const MERGE_TIME_MS_MAX: u64 = 1_000;
/// How many links the real place of a path may lead through.
pub const REAL_PATH_LINKS_MAX: usize = 32;
/// How long the diff of work that a crash left may be.
pub const SWEPT_DIFF_BYTES_MAX: usize = 16 * 1024;
/// From how many new files on their contents are stored together.
pub const PACKED_FILES_MIN: usize = 500;
/// The oldest git that obeys all settings it is called with.
pub const GIT_VERSION_MIN: (u32, u32) = (2, 38);
/// How many new or changed files one checkpoint takes.
pub const CHECKPOINT_NEW_FILES_MAX: usize = 200_000;
/// How much content of new or changed files one checkpoint takes.
pub const CHECKPOINT_NEW_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;
/// How old a half-written file must be to count as left behind.
pub const LEFTOVER_AGE_MS_MIN: u64 = 60_000;
/// How many files and folders are looked at to find such.
pub const LEFTOVERS_SEEN_MAX: usize = 500_000;
