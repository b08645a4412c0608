//! Asks the person before undoing or merging writes a file that other programs run or obey by themselves.

use std::sync::Arc;

use posse_protocol::{Change, Saved};
use posse_workspace::{Mode, Permit, Workspace};

use crate::engine::Engine;

/// Says whether these paths may be written although other programs act on them by themselves.
pub(crate) type Ask = Arc<dyn Fn(&[String]) -> bool + Send + Sync>;

impl Engine {
    /// The same engine, in which undoing and merging ask this before they write what other programs act on by themselves.
    /// Without it they leave such files as they are, and say so.
    pub fn asking(self, ask: impl Fn(&[String]) -> bool + Send + Sync + 'static) -> Self {
        Self { ask: Some(Arc::new(ask)), ..self }
    }

    /// The workspace, in which what is protected of what taking these changes back writes may be written if somebody says so.
    pub(crate) fn permitted_back<'a>(
        &self,
        workspace: Workspace,
        changes: impl IntoIterator<Item = &'a Change>,
    ) -> Workspace {
        let is_link =
            |side: &Option<Saved>| side.as_ref().is_some_and(|side| side.mode == Mode::Link.as_str());
        let is_protected = |change: &&Change| {
            let Ok(path) = workspace.resolve(&change.path) else { return false };
            let link = is_link(&change.before) || is_link(&change.after);
            if link { workspace.protected_link(&path) } else { workspace.protected(&path) }.is_some()
        };
        let protected = changes.into_iter().filter(is_protected).map(|change| change.path.clone()).collect();
        self.permitted(workspace, protected)
    }

    /// The workspace, in which these paths, all protected, may be written if somebody says so.
    pub(crate) fn permitted(&self, workspace: Workspace, mut protected: Vec<String>) -> Workspace {
        protected.sort();
        protected.dedup();
        match &self.ask {
            Some(ask) if !protected.is_empty() && ask(&protected) => {
                workspace.permitting(Permit::These(protected))
            }
            _ => workspace,
        }
    }
}
