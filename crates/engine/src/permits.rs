//! Asks whoever undoes or merges before something is written that other programs act on by themselves.

use std::sync::Arc;

use posse_workspace::{Permit, Workspace};

use crate::engine::Engine;

/// Says whether these paths may be written although other programs act on them by themselves.
pub(crate) type Ask = Arc<dyn Fn(&[String]) -> bool + Send + Sync>;

impl Engine {
    /// The same engine, in which undoing and merging ask this before they write what other programs act on by themselves.
    /// Without it they leave such files as they are, and say so.
    pub fn asking(self, ask: impl Fn(&[String]) -> bool + Send + Sync + 'static) -> Self {
        Self { ask: Some(Arc::new(ask)), ..self }
    }

    /// The workspace, in which what is protected of these paths may be written if somebody says so.
    pub(crate) fn permitted(
        &self,
        workspace: Workspace,
        paths: impl IntoIterator<Item = String>,
    ) -> Workspace {
        let is_protected =
            |path: &String| workspace.resolve(path).is_ok_and(|path| workspace.protected(&path).is_some());
        let mut protected: Vec<String> = paths.into_iter().filter(is_protected).collect();
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
