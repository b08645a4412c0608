//! Checkouts of agents that work apart: one folder a session, outside the workspace, one checkout an agent.
//!
//! A checkout's work is committed to its branch before the folder goes. What a process that died left behind is found by
//! the next session and treated the same way; the lock on a session's folder tells who is still alive.

use std::fs::File;
use std::path::{Path, PathBuf};

use posse_protocol::{Branch, SessionId};
use posse_workspace::worktree::{self, Checkout};
use posse_workspace::{Workspace, WorkspaceError};
use tokio::sync::OnceCell;

use crate::limits::BRANCH_DIFF_BYTES_MAX;
use crate::project::project_folders;

pub(crate) struct Checkouts {
    /// Where all sessions have theirs.
    all: PathBuf,
    session: SessionId,
    /// Held while this session has checkouts.
    lock: OnceCell<File>,
}

impl Checkouts {
    pub(crate) fn new(all: PathBuf, session: SessionId) -> Self {
        Self { all, session, lock: OnceCell::new() }
    }

    fn own(&self) -> PathBuf {
        self.all.join(self.session.to_string())
    }

    /// Where the checkout that an agent gets of this folder is, or will be.
    pub(crate) fn folder(&self, of: &Path, name: &str) -> String {
        let top = project_folders(of).last().unwrap_or(of);
        let inside = of.strip_prefix(top).unwrap_or(Path::new(""));
        let place = self.own().join(format!("{}--{name}", self.short())).join(inside);
        // Without a separator at its end.
        place.components().collect::<PathBuf>().display().to_string()
    }

    /// Makes a checkout of the workspace as it is now, or goes on with a branch. Also tells what others had left.
    pub(crate) async fn make(
        &self,
        workspace: &Workspace,
        name: &str,
        goes_on: Option<&Branch>,
    ) -> Result<(Checkout, Workspace, Vec<String>), WorkspaceError> {
        let (root, into) = (workspace.root(), self.own());
        let mut left = Vec::new();
        self.lock.get_or_try_init(|| self.begin(root, &mut left)).await?;
        let checkout = match goes_on {
            Some(branch) => worktree::resume(root, &into, branch).await?,
            None => worktree::check_out(root, &into, &format!("posse/{}/{name}", self.short())).await?,
        };
        let own = Workspace::open(&checkout.folder)?;
        Ok((checkout, own, left))
    }

    /// Commits what is in a checkout and removes it. None if nothing was changed.
    pub(crate) async fn finish(
        &self,
        checkout: &Checkout,
        title: &str,
    ) -> Result<Option<Branch>, WorkspaceError> {
        let title = posse_tools::one_line(title, 72);
        let message = if title.is_empty() { "work of a sub-agent" } else { &title };
        worktree::finish(checkout, message, BRANCH_DIFF_BYTES_MAX).await
    }

    /// After the last agent: what is still there is committed, then the session's folder goes.
    pub(crate) async fn clean_up(&self, workspace: &Workspace) {
        if self.lock.get().is_some() {
            sweep(workspace.root(), &self.own()).await;
        }
    }

    /// Makes the session's folder, and clears what dead sessions left.
    async fn begin(&self, root: &Path, left: &mut Vec<String>) -> Result<File, WorkspaceError> {
        let own = self.own();
        let failed = |error: std::io::Error| WorkspaceError::Io { path: "checkouts".into(), source: error };
        std::fs::create_dir_all(&own).map_err(failed)?;
        let lock = File::create(lock_of(&own)).map_err(failed)?;
        lock.try_lock().map_err(|error| failed(error.into()))?;
        let others = std::fs::read_dir(&self.all).into_iter().flatten().flatten().map(|entry| entry.path());
        for other in others.filter(|path| *path != own && path.is_dir()) {
            // Held until it is cleared: nobody else does the same at the same time.
            if let Ok(lock) = File::open(lock_of(&other))
                && lock.try_lock().is_ok()
            {
                for branch in sweep(root, &other).await {
                    left.push(format!("work that an interrupted session left is on the branch {branch}"));
                }
            }
        }
        Ok(lock)
    }

    /// The beginning of the session's id that is enough for a person.
    fn short(&self) -> String {
        // The first parts are the time, the last ones chance.
        let id = self.session.to_string().replace('-', "");
        format!("{}{}", &id[6..12], &id[id.len() - 4..])
    }
}

/// The lock beside a session's folder.
fn lock_of(folder: &Path) -> PathBuf {
    folder.with_extension("lock")
}

/// Commits what is left in the checkouts of a session, and clears them away. Gives back the branches.
async fn sweep(root: &Path, folder: &Path) -> Vec<String> {
    match worktree::sweep(root, folder).await {
        Ok(swept) => {
            if swept.failed.is_empty() {
                // All work is on branches by now.
                let _ = std::fs::remove_dir_all(folder);
                let _ = std::fs::remove_file(lock_of(folder));
            } else {
                tracing::warn!(left = ?swept.failed, "checkouts could not be cleared");
            }
            swept.branches.into_iter().map(|branch| branch.name).collect()
        }
        Err(error) => {
            tracing::warn!(%error, folder = %folder.display(), "checkouts could not be cleared");
            Vec::new()
        }
    }
}
