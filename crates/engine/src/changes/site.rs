//! One folder that agents work in: the session's, or the checkout of one agent.

use std::path::Path;

use posse_tools::LinkedFolders;
use posse_workspace::Workspace;

use crate::changes::history::{History, OnLook};
use crate::project::project_folders;

/// Shared by all agents that work there.
pub(crate) struct Site {
    /// Its path, as agents are told.
    pub(crate) folder: String,
    pub(crate) workspace: Workspace,
    pub(crate) history: History,
}

impl Site {
    /// The session's folder.
    pub(crate) fn shared(
        folder: String,
        workspace: Workspace,
        checkpoints: &Path,
        on_look: OnLook,
        linked: LinkedFolders,
    ) -> Self {
        let history = History::recorded(checkpoints.to_path_buf(), workspace.clone(), on_look, linked);
        Self { folder, workspace, history }
    }

    /// Whether agents can have checkouts of it, as far as one can tell without asking git.
    pub(crate) fn is_repository(&self) -> bool {
        project_folders(self.workspace.root()).last().is_some_and(|top| top.join(".git").exists())
    }

    /// A checkout. What it held is kept beside it, and goes with it.
    pub(crate) fn own(workspace: Workspace, beside: &Path) -> Self {
        let history = History::measured(beside.to_path_buf(), workspace.clone());
        Self { folder: workspace.root().display().to_string(), workspace, history }
    }
}
