//! Checkpoints: what the files of a workspace were, kept outside it, so that what changed is known and can be taken back.
//!
//! Contents are kept in a store of our own that no command can write. A look finds out what changed since the look before:
//! from what the kernel reported where it can watch, else by looking at everything. Must not know agents: whose changes
//! are undone is for the caller to say.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use posse_protocol::{Change, Conflict};

use crate::{Mode, Workspace, WorkspaceError, apply::Steps, limits, shadow::failed};

/// Is told now and then how many files were looked at.
pub type Told = Arc<dyn Fn(usize) + Send + Sync>;

/// The kept state of one workspace: contents, what each file was when it was last looked at, and watches. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Checkpoints(Arc<Inner>);

#[derive(Debug)]
struct Inner {}

/// What a look found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// What changed since the last look, by anybody, in the order of paths.
    pub changes: Vec<Change>,
    /// A name of the state; another one if anything changed.
    pub name: String,
    /// Why everything had to be looked at again, if so.
    pub everything: Option<&'static str>,
}

/// What undoing came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// What undoing itself changed. Undoing that is doing it again.
    pub changes: Vec<Change>,
    /// What stayed as it is, because others changed the same lines since.
    pub conflicts: Vec<Conflict>,
}

const NOT_YET: WorkspaceError = WorkspaceError::Stopped;

impl Checkpoints {
    /// Opens the store of a workspace, in a folder where those of many may be. Looks at no file of the workspace.
    pub async fn open(_folder: &Path, _workspace: &Workspace) -> Result<Self, WorkspaceError> {
        Ok(Self(Arc::new(Inner {})))
    }

    /// Brings what is kept up to what the files are now, and says what changed since the last look. The first one compares
    /// with nothing.
    pub async fn look(&self, _told: Option<Told>) -> Result<Look, WorkspaceError> {
        Err(NOT_YET)
    }

    /// Keeps a change that a file tool made and knows exactly. The next look does not report it again.
    pub async fn keep(
        &self,
        _path: &str,
        _before: Option<(&[u8], Mode)>,
        _after: Option<(&[u8], Mode)>,
    ) -> Result<Change, WorkspaceError> {
        Err(NOT_YET)
    }

    /// Takes changes back, given oldest first. What others changed since stays.
    pub async fn undo(&self, _changes: &[Change]) -> Result<Undone, WorkspaceError> {
        Err(NOT_YET)
    }

    /// What changes come to, as a unified diff of at most `bytes_max`: from what was there before the first of each path
    /// to what was there after the last.
    pub async fn diff(&self, _changes: &[Change], _bytes_max: usize) -> Result<String, WorkspaceError> {
        Err(NOT_YET)
    }

    /// Lines added and removed by each change; none where they cannot be counted.
    pub async fn lines(&self, changes: &[Change]) -> Vec<Option<(u32, u32)>> {
        changes.iter().map(|_| None).collect()
    }

    /// What cannot be taken back here, a short line each, for a person. Known after the first look.
    pub fn not_covered(&self) -> Vec<String> {
        Vec::new()
    }

    /// Folders with files that have a name outside the workspace too, and how many. Known after the first look.
    pub fn linked_outside(&self) -> Vec<(PathBuf, usize)> {
        Vec::new()
    }

    /// Applies steps to the files, everything that is overwritten kept. For merging.
    pub(crate) async fn carry_out(
        &self,
        _workspace: &Workspace,
        _open: Vec<Steps>,
        _label: &str,
    ) -> Result<(Vec<Change>, Vec<Conflict>), WorkspaceError> {
        Err(NOT_YET)
    }
}

/// A file that only one process at a time can have; given back when it is dropped or the process dies.
pub(crate) async fn locked(path: &Path, what: &str) -> Result<File, WorkspaceError> {
    let file = File::options().create(true).append(true).open(path).map_err(failed)?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
            Err(fs::TryLockError::WouldBlock) => {}
        }
        if began.elapsed() > Duration::from_millis(limits::LOCK_WAIT_MS_MAX) {
            return Err(WorkspaceError::Busy { what: what.to_owned() });
        }
        tokio::time::sleep(Duration::from_millis(limits::LOCK_POLL_MS)).await;
    }
}
