//! Checkouts of agents that work apart: one folder a session, outside the workspace, one checkout an agent.
//!
//! A checkout's work is committed to its branch before the folder goes. What a process that died left behind is found by
//! the next session and treated the same way. Whoever clears a session's folder holds the lock of that session, so that
//! nobody is at work in it.

use std::path::{Path, PathBuf};

use posse_policy::HiddenPaths;
use posse_protocol::{Branch, SessionId};
use posse_workspace::worktree::{self, Checkout};
use posse_workspace::{Workspace, WorkspaceError};
use tokio::sync::OnceCell;

use crate::changes::hidden::hides;
use crate::changes::intakes::Intakes;
use crate::limits::BRANCH_DIFF_BYTES_MAX;
use crate::project::project_folders;
use crate::record::processes::Processes;
use crate::record::session_lock::SessionLock;

/// Where in the data directory what can be undone is kept.
pub(crate) const CHECKPOINTS: &str = "checkpoints";
/// Where in the data directory agents that work apart have their checkouts.
const CHECKOUTS: &str = "worktrees";

pub(crate) struct Checkouts {
    /// Who has taken which session.
    processes: Processes,
    session: SessionId,
    /// What no agent sees in any of them.
    hidden: HiddenPaths,
    /// Set once the session has a folder.
    begun: OnceCell<()>,
    /// The turns of workers whose work is taken in.
    pub(super) intakes: Intakes,
}

impl Checkouts {
    /// Those of a session whose lock is held.
    pub(crate) fn new(processes: Processes, session: SessionId) -> Self {
        Self {
            processes,
            session,
            hidden: HiddenPaths::default(),
            begun: OnceCell::new(),
            intakes: Intakes::default(),
        }
    }

    /// The same, with these paths hidden from agents in each of them.
    pub(crate) fn hiding(self, hidden: HiddenPaths) -> Self {
        Self { hidden, ..self }
    }

    /// Where all sessions have theirs.
    fn all(&self) -> PathBuf {
        self.processes.data_dir().join(CHECKOUTS)
    }

    /// The data directory.
    pub(crate) fn data_dir(&self) -> &Path {
        self.processes.data_dir()
    }

    /// Where the session has its own.
    pub(super) fn own(&self) -> PathBuf {
        self.all().join(self.session.to_string())
    }

    /// Where what the files of its checkouts were is kept while agents work in them.
    pub(crate) fn kept(&self) -> PathBuf {
        kept(self.processes.data_dir(), self.session)
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
        self.begun.get_or_try_init(|| self.begin(root, &mut left)).await?;
        let branch = self.branch(name);
        let checkout = match goes_on {
            Some(before) if before.name != branch || worktree::exists(root, &branch).await? => {
                worktree::resume(root, &into, before).await?
            }
            // A branch of its own that is gone held no work.
            _ => worktree::check_out(root, &into, &branch).await?,
        };
        let own = self.opened(&checkout.folder)?;
        Ok((checkout, own, left))
    }

    /// A folder with files of an agent, without what is hidden in the session's.
    pub(super) fn opened(&self, folder: &Path) -> Result<Workspace, WorkspaceError> {
        let own = Workspace::open(folder)?;
        let hides = hides(self.hidden.clone(), own.root());
        Ok(own.hiding_where(hides))
    }

    /// Commits what is in a checkout and removes it. None if nothing was changed.
    pub(crate) async fn finish(
        &self,
        checkout: &Checkout,
        title: &str,
    ) -> Result<Option<Branch>, WorkspaceError> {
        let title = posse_protocol::visible::one_line(title, 72);
        let message = if title.is_empty() { "work of a sub-agent" } else { &title };
        worktree::finish(checkout, message, BRANCH_DIFF_BYTES_MAX).await
    }

    /// After the last agent: what is still there is committed, then the session's folder goes.
    pub(crate) async fn clean_up(&self, workspace: &Workspace) {
        if self.begun.get().is_some() {
            sweep(workspace.root(), &self.own()).await;
            let _ = std::fs::remove_dir_all(self.kept());
        }
    }

    /// What an agent that has no checkout any more left on its branch.
    pub(crate) async fn left_on(&self, workspace: &Workspace, branch: &Branch) -> Option<Branch> {
        let Branch { name, base, .. } = branch;
        worktree::left_on(workspace.root(), name, base, BRANCH_DIFF_BYTES_MAX).await.ok().flatten()
    }

    /// Commits what an interrupted session has left in its checkouts. Gives back the branches.
    pub(crate) async fn clear(&self, workspace: &Workspace) -> Vec<String> {
        let own = self.own();
        if own.exists() { sweep(workspace.root(), &own).await } else { Vec::new() }
    }

    /// Makes sure that the session has its folder.
    pub(super) async fn prepare(&self, root: &Path) -> Result<(), WorkspaceError> {
        self.begun.get_or_try_init(|| async { self.begin(root, &mut Vec::new()).await }).await.map(drop)
    }

    /// Makes the session's folder, and clears what was left: by the session itself before it was interrupted, and by
    /// others that are not at work.
    async fn begin(&self, root: &Path, left: &mut Vec<String>) -> Result<(), WorkspaceError> {
        let own = self.own();
        if own.exists() {
            sweep(root, &own).await;
        }
        let failed = |error: std::io::Error| WorkspaceError::Io { path: "checkouts".into(), source: error };
        std::fs::create_dir_all(&own).map_err(failed)?;
        let others = std::fs::read_dir(self.all()).into_iter().flatten().flatten().map(|entry| entry.path());
        for other in others.filter(|path| *path != own && path.is_dir()) {
            let session = other.file_name().and_then(|name| name.to_str()?.parse().ok());
            // Held until it is cleared: nobody goes on with it meanwhile.
            if let Some(session) = session
                && let Ok(Some(_idle)) = SessionLock::take(&self.processes, session)
            {
                let _ = std::fs::remove_dir_all(kept(self.processes.data_dir(), session));
                for branch in sweep(root, &other).await {
                    left.push(format!("work that an interrupted session left is on the branch {branch}"));
                }
            }
        }
        Ok(())
    }

    /// The branch of an agent.
    pub(super) fn branch(&self, name: &str) -> String {
        format!("posse/{}/{name}", self.short())
    }

    /// The beginning of the session's id that is enough for a person.
    fn short(&self) -> String {
        // The first parts are the time, the last ones chance.
        let id = self.session.to_string().replace('-', "");
        format!("{}{}", &id[6..12], &id[id.len() - 4..])
    }
}

/// Where what the files of a session's checkouts were is kept.
pub(crate) fn kept(data_dir: &Path, session: SessionId) -> PathBuf {
    data_dir.join(CHECKPOINTS).join(format!("checkouts-{session}"))
}

/// Commits what is left in the checkouts of a session, and clears them away. Gives back the branches.
async fn sweep(root: &Path, folder: &Path) -> Vec<String> {
    match worktree::sweep(root, folder).await {
        Ok(swept) => {
            if swept.failed.is_empty() {
                // All work is on branches by now.
                let _ = std::fs::remove_dir_all(folder);
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
