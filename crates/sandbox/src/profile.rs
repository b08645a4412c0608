//! How a command is confined, as plain data. Touches no system.

use std::path::{Path, PathBuf};

use crate::{ProtectedName, limits, protected_names};

/// How much a confined command may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(target_os = "linux", derive(serde::Serialize, serde::Deserialize))]
pub enum Level {
    /// Everything is read-only.
    Inspect,
    /// The workspace is a throw-away view: it may be written, and nothing remains.
    Verify,
    /// The workspace is writable, except for what is read-only or protected.
    Full,
}

/// What a confined command sees and may do. What is not in it is not allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxProfile {
    /// How much it may change.
    pub level: Level,
    /// The folder it works on: absolute, links resolved.
    pub workspace: PathBuf,
    /// With [`Level::Full`]: what in the workspace is writable. Absolute.
    pub writable: Vec<PathBuf>,
    /// Exceptions inside `writable`, whether or not they exist yet. Absolute.
    pub read_only: Vec<PathBuf>,
    /// Names in the workspace that nobody writes, whether or not they exist yet.
    pub protected: Vec<ProtectedName>,
    /// Whether what other programs run or obey by themselves, wherever it is, is kept from being written: see
    /// [`crate::protected_by`]. Without it only `protected` and `read_only` are.
    pub guard_names: bool,
    /// What is in the workspace and nobody writes. What of it is there gets a mount; what is missing is refused like a
    /// protected name, if `guard_names`. Unlike `read_only` it costs nothing where it is missing, and what is above it may be
    /// renamed. Absolute.
    pub covered: Vec<PathBuf>,
    /// Folders and files that are not to be seen. Every home is hidden anyway.
    pub hidden: Vec<PathBuf>,
    /// Paths in hidden places that are to be seen, read-only, besides the toolchains that are found without being named.
    pub readable: Vec<PathBuf>,
    /// A folder that is its home: writable, and kept from one command to the next. Absolute, links resolved. With `None` its
    /// home is empty and goes with it.
    pub home: Option<PathBuf>,
    /// Whether it may use the host's network; else it has a loopback of its own and nothing more.
    pub network: bool,
    /// What it may use up.
    pub limits: ResourceLimits,
    /// Whether it sees nothing but the system's programs and libraries, what is `readable` and what is `writable`, and opens
    /// no socket: for programs of our own. Then there is no workspace, and nothing is protected but what is `read_only`.
    pub bare: bool,
    /// Whether [`Level::Verify`] does without an overlay even where there is one: read-only, with private build folders.
    pub without_overlay: bool,
}

impl SandboxProfile {
    /// The usual profile for a level: all of the workspace writable if it is [`Level::Full`], protected names, no network.
    pub fn new(level: Level, workspace: &Path) -> Self {
        let writable = if level == Level::Full { vec![workspace.to_owned()] } else { Vec::new() };
        Self {
            level,
            workspace: workspace.to_owned(),
            writable,
            read_only: Vec::new(),
            protected: protected_names().to_vec(),
            guard_names: true,
            covered: Vec::new(),
            hidden: Vec::new(),
            readable: Vec::new(),
            home: None,
            network: false,
            limits: ResourceLimits::default(),
            bare: false,
            without_overlay: false,
        }
    }

    /// For a program of our own that needs these folders and files and nothing else. All are absolute and no links: a link
    /// where one of them should be is an error, wherever it leads.
    pub fn bare(readable: Vec<PathBuf>, writable: Vec<PathBuf>) -> Self {
        let usual = Self::new(Level::Inspect, Path::new("/"));
        Self { readable, writable, protected: Vec::new(), bare: true, ..usual }
    }
}

/// What a confined command may use up, and all of them together. Where the kernel gives us a cgroup, memory and processes
/// are those of all its processes together; else memory is for each process. No command gets more than the session's share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(target_os = "linux", derive(serde::Serialize, serde::Deserialize))]
pub struct ResourceLimits {
    /// Memory.
    pub memory_bytes: u64,
    /// Processes and threads at a time.
    pub processes: u64,
    /// The size of one file it writes.
    pub file_bytes: u64,
    /// Files that one process has open.
    pub open_files: u64,
    /// What it may put into each private folder: /tmp, its home, a throw-away view.
    pub tmp_bytes: u64,
    /// What all confined commands of this process may use up together.
    pub session: Share,
}

/// What all confined commands of one process may use up together. What is not given is a share of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(target_os = "linux", derive(serde::Serialize, serde::Deserialize))]
pub struct Share {
    /// Memory, private folders included.
    pub memory_bytes: Option<u64>,
    /// Processes and threads at a time.
    pub processes: Option<u64>,
    /// What they leave free on the disk of their workspace.
    pub disk_free_bytes: Option<u64>,
}

impl Default for ResourceLimits {
    fn default() -> Self {
        Self {
            memory_bytes: limits::COMMAND_MEMORY_BYTES,
            processes: limits::COMMAND_PROCESSES,
            file_bytes: limits::COMMAND_FILE_BYTES,
            open_files: limits::COMMAND_OPEN_FILES,
            tmp_bytes: limits::COMMAND_TMP_BYTES,
            session: Share::default(),
        }
    }
}
