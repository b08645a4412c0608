//! What file tools wrote, byte for byte, for whoever keeps it. Nothing here is kept longer than one call.

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use posse_workspace::{Mode, Workspace, WorkspacePath};

/// One file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewrite {
    /// Relative to the workspace, links resolved.
    pub path: String,
    /// What it is; writing does not change that.
    pub mode: Mode,
    /// What was there; none if nothing was.
    pub before: Option<Vec<u8>>,
    /// What is there now.
    pub after: Vec<u8>,
}

impl Rewrite {
    pub(crate) fn of(
        workspace: &Workspace,
        path: &WorkspacePath,
        before: Option<Vec<u8>>,
        after: Vec<u8>,
    ) -> Self {
        let real = workspace.real_path(path);
        let inside = real.as_deref().and_then(|real| real.strip_prefix(workspace.root()).ok());
        let path = inside.map_or_else(|| path.to_string(), |inside| inside.to_string_lossy().into_owned());
        let mode = if real.is_some_and(|real| may_run(&real)) { Mode::Program } else { Mode::File };
        Self { path, mode, before, after }
    }
}

/// The files that one call wrote.
#[derive(Clone, Debug, Default)]
pub struct Rewrites(Arc<Mutex<Vec<Rewrite>>>);

impl Rewrites {
    pub(crate) fn push(&self, rewrite: Rewrite) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(rewrite);
    }

    /// Takes what was written so far.
    pub fn take(&self) -> Vec<Rewrite> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(unix)]
fn may_run(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|metadata| metadata.permissions().mode() & 0o100 != 0)
}

#[cfg(not(unix))]
fn may_run(_path: &Path) -> bool {
    false
}
