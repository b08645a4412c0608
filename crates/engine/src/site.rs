//! One folder that agents work in: the session's, or the checkout of one agent.

use std::path::Path;

use posse_workspace::Workspace;

use crate::history::History;
use crate::measure::Measure;
use crate::project::project_folders;

/// Shared by all agents that work there.
pub(crate) struct Site {
    /// Its path, as agents are told.
    pub(crate) folder: String,
    pub(crate) workspace: Workspace,
    pub(crate) measure: Measure,
    /// None where the work is on a branch of its own, which is all the history it needs.
    pub(crate) history: Option<History>,
}

impl Site {
    /// The session's folder.
    pub(crate) fn shared(folder: String, workspace: Workspace, checkpoints: &Path) -> Self {
        let measure = Measure::new(workspace.clone());
        let history = Some(History::new(checkpoints.to_path_buf(), workspace.clone()));
        Self { folder, workspace, measure, history }
    }

    /// Whether agents can have checkouts of it, as far as one can tell without asking git.
    pub(crate) fn is_repository(&self) -> bool {
        project_folders(self.workspace.root()).last().is_some_and(|top| top.join(".git").exists())
    }

    /// A checkout.
    pub(crate) fn own(workspace: Workspace) -> Self {
        let (folder, measure) = (workspace.root().display().to_string(), Measure::new(workspace.clone()));
        Self { folder, workspace, measure, history: None }
    }
}
