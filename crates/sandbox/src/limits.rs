//! Every number of this crate.

/// How long a command may clean up between SIGTERM and SIGKILL once its deadline has passed.
pub const TERM_GRACE_MS: u64 = 250;
/// How long output is still read after a command has ended, when something holds its pipes open.
pub const DRAIN_MS: u64 = 150;
/// How long a killed process may take to be gone before it is left to the runtime.
pub const REAP_MS: u64 = 200;
/// How many processes below a command are looked for.
pub const DESCENDANTS_MAX: usize = 4096;
/// How often processes below a command are looked for again because new ones appeared.
pub const DESCENDANTS_LOOKS_MAX: usize = 4;
/// One read from a child's pipe.
pub const READ_CHUNK_BYTES: usize = 64 * 1024;
/// Output kept from the start, unless told otherwise.
pub const OUTPUT_HEAD_BYTES: usize = 16 * 1024;
/// Output kept from the end, unless told otherwise.
pub const OUTPUT_TAIL_BYTES: usize = 16 * 1024;
/// The most that can be asked for on either side.
pub const OUTPUT_SIDE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Memory of a confined command.
pub const COMMAND_MEMORY_BYTES: u64 = 8 << 30;
/// Processes and threads of a confined command.
pub const COMMAND_PROCESSES: u64 = 4096;
/// One file written by a confined command.
pub const COMMAND_FILE_BYTES: u64 = 8 << 30;
/// Files open in one process of a confined command.
pub const COMMAND_OPEN_FILES: u64 = 16 * 1024;
/// What a confined command may put into each of its private folders.
pub const COMMAND_TMP_BYTES: u64 = 4 << 30;
/// How long the set-up of a confinement may take.
pub const CONFINE_MS: u64 = 10_000;
/// How long a confinement may take to end and clean up before it is left to itself.
pub const UNCONFINE_MS: u64 = 700;
/// How long to wait for a lock on the workspace that others hold while they clean up.
pub const WORKSPACE_LOCK_MS: u64 = 2_000;
/// The most that is read of the list of a workspace's placeholders.
pub const PLACEHOLDER_LIST_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// The longest file of git's settings whose content is compared.
pub const SETTINGS_BYTES_MAX: u64 = 1024 * 1024;
/// How often covered names are looked at where the system does not tell of changes.
pub const LOOK_AGAIN_MS: u64 = 50;
/// The most a plan for a confinement may take, as it is sent.
pub const PLAN_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The most that is read of what a confinement reports.
pub const REPORT_BYTES_MAX: usize = 32 * 1024 * 1024;
/// How many names that a command has touched are kept.
pub const TOUCHED_MAX: usize = 50_000;
/// The most that those take.
pub const TOUCHED_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How much of them is told at once while the command runs.
pub const TOUCHED_CHUNK_BYTES: usize = 32 * 1024;
/// How long a command has to name nothing new until what it has touched is told.
pub const TOUCHED_REST_MS: u64 = 50;
/// How many refused names are told of.
pub const GUARD_NOTES_MAX: usize = 20;
/// How many places that are there get a mount of their own; the rest is refused at each call.
pub const COVERS_MAX: usize = 128;
/// How many entries of a package that gets another name are looked at; one with more stays where it is.
pub const MOVED_LOOKS_MAX: usize = 20_000;
/// How many links a path may go through, as in the kernel.
pub const PATH_LINKS_MAX: usize = 40;
/// Memory is mapped in multiples of this, on every machine.
pub const PAGE_BYTES: usize = 4096;
/// How many calls of a command that have to wait are waited for at a time.
pub const ASIDE_MAX: usize = 256;
/// The stack of a thread that waits for one.
pub const ASIDE_STACK_BYTES: usize = 64 * 1024;
/// How many sockets that a command has bound in its workspace can be connected to at a time.
pub const BOUND_SOCKETS_MAX: usize = 256;
/// How many entries of a workspace are looked at to find one that a throw-away view can be tried with.
pub const COPY_TRIES_MAX: usize = 256;
/// How often an open is tried again when the tree changes under it.
pub const OPEN_TRIES_MAX: usize = 16;
/// How long secrets of toolchains that were found count as found.
pub const SECRETS_KNOWN_MS: u64 = 1_000;
/// How many links a protected name may go through.
pub const LINKS_MAX: usize = 8;
/// How often a session's cgroup is made anew because it went away meanwhile.
pub const CGROUP_TRIES: usize = 16;
/// How long an emptied cgroup may take to let itself be removed.
pub const CGROUP_REMOVE_MS: u64 = 500;
/// How old an empty cgroup of a process that is gone must be to count as left behind.
pub const CGROUP_LEFT_MS: u64 = 60_000;

/// Of the machine's memory, what all commands of a session may use together, in percent.
pub const SESSION_MEMORY_PERCENT: u64 = 70;
/// One in so many parts of its share is what a session gets beyond it before the kernel steps in.
pub const SESSION_MARGIN_PART: u64 = 4;
/// The most processes and threads of a session.
pub const SESSION_PROCESSES_MAX: u64 = 16 * 1024;
/// A session gets at most one in so many of the processes that the system or the user may have.
pub const SESSION_PROCESSES_PART: u64 = 4;
/// What commands leave free on the disk, in percent of it,
pub const DISK_FREE_PERCENT: u64 = 5;
/// and at least. Where there is less to begin with, they leave half of it.
pub const DISK_FREE_BYTES_MIN: u64 = 1 << 30;
/// A command that wrote less than this is not to blame for a full disk as long as another wrote more, or half of what is
/// to stay free still is.
pub const DISK_BLAME_BYTES_MIN: u64 = 16 << 20;
/// What a command may write to one file even where the disk is almost full.
pub const FILE_BYTES_MIN: u64 = 16 << 20;
/// How often the commands of a session are looked at,
pub const WATCH_MS: u64 = 100;
/// and how often once they use more than half of their share.
pub const WATCH_CLOSE_MS: u64 = 20;
/// How many processes are looked at each time.
pub const WATCH_PROCESSES_MAX: usize = 64 * 1024;
/// Of how many of them the open files are looked at.
pub const WATCH_FILES_OF_MAX: usize = 256;
/// When the whole machine has less memory than this left, in percent, a command that uses more than that is ended.
pub const MEMORY_LEFT_PERCENT: u64 = 5;
/// How much likelier than others a command is chosen when the kernel itself runs out of memory: its `oom_score_adj`.
pub const OOM_SCORE: &str = "800";
/// How deep in a toolchain's folder secrets are looked for.
pub const SECRETS_DEPTH_MAX: usize = 3;
/// How many entries of such folders are looked at; folders beyond that are hidden.
pub const SECRETS_SEEN_MAX: usize = 50_000;
/// How many folders are remembered as they were listed.
pub const SECRETS_FOLDERS_MAX: usize = 20_000;
/// A folder that changed this shortly before may change again and have the same times.
pub const SECRETS_FRESH_MS: u64 = 2_000;
/// How many folders that could not be looked through are named.
pub const LEFT_OUT_NAMED_MAX: usize = 3;
/// Settings that are longer are taken for secret.
pub const SECRETS_SETTINGS_BYTES_MAX: u64 = 256 * 1024;
/// The most that the system has to say about a user.
pub const USER_BYTES_MAX: usize = 64 * 1024;
/// What is kept of what this program says before its session is on record, in a process of its own.
pub const DETACHED_SAID_BYTES_MAX: usize = 64 * 1024;
