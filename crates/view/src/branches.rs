//! Work of sub-agents that is on branches and not in the folder. It must not know how branches are made or merged.

use std::collections::{BTreeSet, HashSet};

use posse_protocol::{Conflict, FileChange, Receipt};

use crate::branch::{BranchState, BranchView};
use crate::{AgentView, SessionView, limits};

/// The agent was given a checkout.
pub(crate) fn checked_out(agent: &mut AgentView, name: &str) {
    if agent.branch.as_ref().is_none_or(|branch| branch.state == BranchState::Unmerged) {
        agent.branch = Some(BranchView::new(name, BranchState::Working));
    }
}

/// A sub-agent ended: what it changed is on its branch, or in the folder.
pub(crate) fn settled(agent: &mut AgentView, receipt: &Receipt, here: &mut BTreeSet<String>) {
    let paths = receipt.files_in_all().into_iter().map(|file| file.path);
    let merged = |branch: &BranchView| matches!(branch.state, BranchState::Merged | BranchState::Conflicts);
    match &receipt.branch {
        Some(branch) if !agent.branch.as_ref().is_some_and(merged) => {
            // Those below it worked where it did.
            for file in &receipt.files_below {
                here.remove(&file.path);
            }
            let mut branch = BranchView::new(&branch.name, BranchState::Unmerged);
            branch.paths = paths.collect();
            agent.branch = Some(branch);
        }
        _ => {
            agent.branch.take_if(|branch| !merged(branch));
            add(here, paths);
        }
    }
}

/// The work of an agent was brought into the folder, as far as it fits.
pub(crate) fn merged(agent: &mut AgentView, name: &str, conflicts: &[Conflict], here: &mut BTreeSet<String>) {
    let state = if conflicts.is_empty() { BranchState::Merged } else { BranchState::Conflicts };
    let branch = agent.branch.get_or_insert_with(|| BranchView::new(name, state));
    branch.state = state;
    add(here, branch.paths.drain(..));
}

fn add(here: &mut BTreeSet<String>, paths: impl Iterator<Item = String>) {
    let room = limits::PATHS_MAX.saturating_sub(here.len());
    here.extend(paths.take(room));
}

impl SessionView {
    /// The files of the main agent's receipt that were changed in the folder, and not on a branch alone.
    pub fn files_in_folder(&self, receipt: &Receipt) -> Vec<FileChange> {
        let open = self.agents.iter().filter_map(|agent| agent.branch.as_ref()).filter(|one| one.is_open());
        let apart: HashSet<&str> = open.flat_map(|branch| &branch.paths).map(String::as_str).collect();
        let own: HashSet<&str> = receipt.files.iter().map(|file| file.path.as_str()).collect();
        let here = |file: &FileChange| {
            let path = file.path.as_str();
            own.contains(path) || self.changed_here.contains(path) || !apart.contains(path)
        };
        receipt.files_in_all().into_iter().filter(here).collect()
    }
}
