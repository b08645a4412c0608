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
/// How many entries are looked at to find what other programs act on by themselves.
pub const PLACES_ENTRIES_MAX: usize = 30_000;
/// How many entries of folders that such programs read are searched for links.
pub const PLACES_LINKS_ENTRIES_MAX: usize = 5_000;
/// How many such places are covered, and how many git's settings name.
pub const PROTECTED_PLACES_MAX: usize = 64;
/// How many places that links at such names lead to are known.
pub const LINKED_PLACES_MAX: usize = 256;
/// How many files of a repository's settings are read.
pub const SETTINGS_FILES_MAX: usize = 32;
/// How much of each.
pub const SETTINGS_BYTES_MAX: u64 = 1024 * 1024;
/// The most memory one searched line may take.
pub const GREP_LINE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Files up to this length are read at once and searched in memory. In longer ones the search for NUL bytes would end here.
pub const GREP_WHOLE_BYTES_MAX: u64 = 64 * 1024;
/// How many threads search.
pub const GREP_THREADS_MAX: usize = 8;
/// How many files a thread takes at a time.
pub const GREP_BATCH_FILES: usize = 64;
/// How many such batches may wait for a thread before whoever found the files searches, too.
pub const GREP_BATCHES_MAX: usize = 32;
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
/// Lines that a diff shows around each place.
pub const DIFF_LINES_AROUND: usize = 3;
/// How long one git call may take.
pub const GIT_TIME_MS_MAX: u64 = 15_000;
/// The longest file by which a checkout and its repository name each other.
pub const GIT_POINTER_BYTES_MAX: u64 = 8 * 1024;
/// The longest configuration of the person's that is read for who commits.
pub const GIT_PERSON_FILES_MAX: usize = 16;
/// How much output of one git call is read.
pub const GIT_OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How many entries are looked at to find files near a missing one.
pub const NEARBY_ENTRIES_MAX: usize = 4_000;
/// As how many of them opening a folder counts.
pub const NEARBY_FOLDER_ENTRIES: usize = 8;
/// How many names are suggested for a missing file.
pub const SUGGESTIONS_MAX: usize = 5;
/// How many places of a text that should be unique are looked for.
pub const PLACES_MAX: usize = 100;
/// The longest text that is looked for but for its white space.
pub const LOOSE_LINES_MAX: usize = 500;
/// The largest file in which that is done.
pub const LOOSE_BYTES_MAX: usize = 1024 * 1024;
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
/// How many files of one nested repository are taken into a checkout.
pub const NESTED_FILES_MAX: usize = 20_000;
/// How much of a file with ignore rules is read.
pub const IGNORE_FILE_BYTES_MAX: u64 = 256 * 1024;
/// How long another process may keep a private git folder to itself.
pub const LOCK_WAIT_MS_MAX: u64 = 60_000;
/// How long to wait before trying such a lock again.
pub const LOCK_POLL_MS: u64 = 10;
/// How long the text of one conflict may be.
pub const CONFLICT_BYTES_MAX: usize = 8 * 1024;
/// How many conflicts are reported with their texts.
pub const CONFLICTS_MAX: usize = 200;
/// How long a merge of one file may look for the shortest difference.
pub const MERGE_TIME_MS_MAX: u64 = 1_000;
/// How many links the real place of a path may lead through.
pub const REAL_PATH_LINKS_MAX: usize = 32;
/// How long the diff of work that a crash left may be.
pub const SWEPT_DIFF_BYTES_MAX: usize = 16 * 1024;
/// The oldest git that obeys all settings it is called with.
pub const GIT_VERSION_MIN: (u32, u32) = (2, 38);
/// How much is kept of one workspace in all.
pub const STORE_BYTES_MAX: u64 = 8 * 1024 * 1024 * 1024;
/// How large one file of the store becomes.
pub const SEGMENT_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How much room a disk has to have left.
pub const DISK_FREE_BYTES_MIN: u64 = 512 * 1024 * 1024;
/// After how much that was kept the room on the disk is looked at.
pub const DISK_CHECK_BYTES: u64 = 64 * 1024 * 1024;
/// From which length on a content is a file of its own.
pub const LARGE_BYTES_MIN: u64 = 1024 * 1024;
/// How much is copied at a time.
pub const COPY_BYTES: usize = 256 * 1024;
/// The largest file of the repository's history that is kept.
pub const PACK_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// How much history of the repository is kept.
pub const HISTORY_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// How much of loose objects is copied because another repository shares them.
pub const PARTED_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// How much small contents are gathered before they are stored.
pub const GATHERED_BYTES: usize = 1024 * 1024;
/// How many threads look at a workspace.
pub const LOOK_THREADS_MAX: usize = 8;
/// After how many files a look tells how far it is.
pub const TOLD_FILES: usize = 1_000;
/// How many entries of ignored folders are searched for links that lead outside.
pub const LINK_ENTRIES_MAX: usize = 200_000;
/// How many folders of a workspace are watched; with more, everything is looked at every time.
pub const WATCHES_MAX: usize = 100_000;
/// How much of what is reported is read at a time.
pub const REPORTS_BYTES: usize = 64 * 1024;
/// How many files with more than one name are looked at every time; with more, everything is.
pub const SEVERAL_NAMES_MAX: usize = 5_000;
/// A file changed this shortly before it was read may change again without a new stamp.
pub const FRESH_MS: u64 = 2_000;
/// How long after the first look what is known is saved.
pub const SAVE_AFTER_MS: u64 = 1_000;
/// How long changed lines are counted exactly in one go; after that, at most.
pub const LINES_TIME_MS_MAX: u64 = 2_000;
/// How much content is brought back at a time.
pub const UNDO_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Up to how many files are brought to the disk one by one when something is taken back or merged.
pub const SYNCED_FILES_MAX: usize = 16;
/// How old a half-written file must be to count as left behind.
pub const LEFTOVER_AGE_MS_MIN: u64 = 60_000;
/// How many files and folders are looked at to find such.
pub const LEFTOVERS_SEEN_MAX: usize = 500_000;
/// The largest file whose content is handed out to be looked at.
pub(crate) const CONTENTS_BYTES_MAX: u64 = 1024 * 1024;
/// How many places of a kind that undo does not cover are known by name.
pub(crate) const UNCOVERED_PLACES_MAX: usize = 1_000;
/// The longest path that an error repeats.
pub(crate) const SHOWN_PATH_CHARS_MAX: usize = 80;
/// The longest text that paths are completed from.
pub const COMPLETE_TYPED_BYTES_MAX: usize = 1_000;
/// Paths that are offered to complete it.
pub const COMPLETE_MATCHES_MAX: usize = 200;
/// Entries that one walk for them looks at; there are at most six walks.
pub const COMPLETE_ENTRIES_MAX: usize = 5_000;
/// How long all walks for them take.
pub const COMPLETE_TIME_MS_MAX: u64 = 500;
/// Ignored files that are listed behind those that are not ignored.
pub const IGNORED_LISTED_MAX: usize = 20_000;
/// The longest record in what git writes piece by piece.
pub(crate) const GIT_RECORD_BYTES_MAX: usize = 64 * 1024;
/// For how many repositories it is remembered what git takes them for.
pub(crate) const PLACES_KNOWN_MAX: usize = 64;
/// How long the line for a shell may be that makes several calls of git: a system takes 128 KB as one word.
pub(crate) const GIT_SERIES_BYTES_MAX: usize = 100 * 1024;
/// How long git may take to write a bundle or to take one apart.
pub const BUNDLE_TIME_MS_MAX: u64 = 1_800_000;
/// How long it has for any bundle, and how many bytes more it is expected to take apart in a millisecond.
pub(crate) const BUNDLE_TIME_MS_MIN: u64 = 120_000;
pub(crate) const BUNDLE_BYTES_PER_MS_MIN: u64 = 1_000;
/// How much of a bundle is read for what it says of itself.
pub(crate) const BUNDLE_HEAD_BYTES_MAX: u64 = 1024 * 1024;
/// How many commits that the other side has are considered.
pub const BUNDLE_HAVE_MAX: usize = 64;
/// The longest bundle that is taken, unless somebody says otherwise.
pub const BUNDLE_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;
/// How many objects it may hold.
pub const BUNDLE_OBJECTS_MAX: u64 = 5_000_000;
/// How much that may be unpacked.
pub const BUNDLE_UNPACKED_BYTES_MAX: u64 = 16 * 1024 * 1024 * 1024;
/// How many files and folders its commit may have.
pub const BUNDLE_ENTRIES_MAX: u64 = 1_000_000;
/// Up to how many objects of a bundle become files of their own in the repository, as git does with what it fetches.
pub(crate) const BUNDLE_LOOSE_OBJECTS_MAX: u64 = 100;
/// From which length on git keeps the contents of a file out of memory while it takes a bundle apart.
pub(crate) const BUNDLE_BLOB_MEMORY_BYTES: u64 = 64 * 1024 * 1024;
/// How much memory git uses to find what is alike while it writes a bundle.
pub(crate) const BUNDLE_WINDOW_BYTES: u64 = 128 * 1024 * 1024;
/// How many sizes of contents are asked for at a time.
pub(crate) const BUNDLE_SIZES_ASKED: usize = 50_000;
/// How many things that a snapshot lacks are named.
pub(crate) const UNSENT_NAMED_MAX: usize = 5;
/// How many ignored files may be our own among those that are looked at.
pub(crate) const UNSENT_OWN_MAX: usize = 100;
/// How many files are looked at to find those that git LFS keeps elsewhere.
pub(crate) const LFS_FILES_MAX: usize = 2_000;
/// The longest file that stands for one which git LFS keeps elsewhere.
pub(crate) const LFS_POINTER_BYTES_MAX: u64 = 1_024;
/// How many released checkouts a depot keeps for the next agents.
pub const DEPOT_POOL_MAX: usize = 32;
/// How many checkouts of a depot are in use at a time: more than a worker has agents.
pub const DEPOT_CHECKOUTS_MAX: usize = 2_100;
/// How many commits a depot says that it has.
pub const DEPOT_BASES_MAX: usize = 16;
/// How many files are put into a checkout at a time.
pub const DEPOT_FILES_MAX: usize = 10_000;
/// How many folders of a depot hold work that could not be committed.
pub(crate) const DEPOT_LEFT_MAX: usize = 16;
