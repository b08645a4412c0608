//! A sub-agent as its prompt describes it, from the settings of the session.

use std::path::Path;

use posse_protocol::{Budget, Grant, Isolation, Role};
use posse_surface::Surface;

use crate::agents::offer::roles_for;
use crate::agents::prompt::SubPrompt;
use crate::agents::session_parts::SessionParts;
use crate::agents::sub_agents::Delegation;

/// An agent as it is told of itself.
pub(crate) struct SubAgent<'a> {
    pub(crate) name: &'a str,
    pub(crate) role: &'a Role,
    /// The name of its parent.
    pub(crate) parent: &'a str,
    pub(crate) depth: u32,
    pub(crate) budget: &'a Budget,
    pub(crate) grant: &'a Grant,
    pub(crate) isolation: Isolation,
    /// Where its parent works.
    pub(crate) folder: &'a str,
    /// The worker or the label of workers that it runs on.
    pub(crate) on: Option<&'a str>,
}

impl SubAgent<'_> {
    pub(crate) fn prompt<T>(
        &self,
        parts: &SessionParts,
        delegation: &Delegation,
        write: impl FnOnce(&SubPrompt<'_>) -> T,
    ) -> T {
        let delegates = roles_for(delegation, self.grant, self.depth);
        let names = delegates.iter().map(|role| role.name.clone()).collect::<Vec<_>>();
        let inherits = self.role.inherit_context_file.unwrap_or(delegation.sub_agents.inherit_context_file);
        let folder = match self.isolation {
            // Wherever that will be: its requests are the same on every worker.
            _ if self.on.is_some() => "the current folder".to_string(),
            Isolation::Shared => self.folder.to_string(),
            Isolation::Worktree => parts.checkouts.folder(Path::new(self.folder), self.name),
        };
        write(&SubPrompt {
            name: self.name,
            role: self.role,
            parent: self.parent,
            depth: self.depth,
            depth_max: delegation.limits.depth_max,
            budget: self.budget,
            delegates: &names,
            team: delegation.team,
            suggestions: delegation.surface == Surface::Delegate,
            workspace: &folder,
            apart: self.isolation == Isolation::Worktree,
            before: delegation.sub_agents.system_prompt.as_deref(),
            project: parts.project.as_ref().filter(|_| inherits),
            // Notes stay at home.
            notes: if self.on.is_some() { 0 } else { parts.notes_for(self.role, self.depth, self.grant) },
        })
    }
}
