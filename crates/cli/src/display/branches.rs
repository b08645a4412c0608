//! Work of sub-agents that is on branches and not in the folder, so that the end does not say otherwise. It must not know
//! how branches are made or merged.

use std::collections::{HashMap, HashSet};

use posse_protocol::{AgentId, Event, EventKind, FileChange, Receipt};

use crate::output::{Style, one_line};

/// Branches that are named one by one.
const BRANCHES_SHOWN_MAX: usize = 12;

/// What is on branches, while the events of a session go by.
#[derive(Default)]
pub(super) struct Branches {
    names: HashMap<AgentId, String>,
    /// Work that was not merged, or not all of it.
    open: Vec<Unmerged>,
    /// Whose work came into the folder.
    merged: HashSet<AgentId>,
    /// What sub-agents changed in the folder itself.
    here: HashSet<String>,
}

struct Unmerged {
    agent: AgentId,
    branch: String,
    paths: Vec<String>,
}

impl Branches {
    pub(super) fn event(&mut self, event: &Event) {
        match &event.kind {
            EventKind::AgentAdmitted { name, .. } => {
                self.names.insert(event.agent, one_line(name, 60));
            }
            EventKind::AgentSettled { report } if event.parent.is_some() => {
                self.settled(event.agent, &report.receipt);
            }
            EventKind::Merged { from, conflicts, .. } => {
                self.merged.insert(*from);
                for one in self.open.iter_mut().filter(|one| one.agent == *from) {
                    self.here.extend(one.paths.drain(..));
                }
                // What did not fit is still there, and there alone.
                self.open.retain(|one| one.agent != *from || !conflicts.is_empty());
            }
            _ => {}
        }
    }

    fn settled(&mut self, agent: AgentId, receipt: &Receipt) {
        self.open.retain(|one| one.agent != agent);
        let paths = receipt.files_in_all().into_iter().map(|file| file.path);
        match &receipt.branch {
            Some(branch) if !self.merged.contains(&agent) => {
                let paths = paths.collect::<Vec<_>>();
                // Those below it worked where it did.
                self.here.retain(|path| receipt.files_below.iter().all(|file| file.path != *path));
                self.open.push(Unmerged { agent, branch: branch.name.clone(), paths });
            }
            _ => self.here.extend(paths),
        }
    }

    /// The files that were changed in the folder.
    pub(super) fn in_folder(&self, receipt: &Receipt) -> Vec<FileChange> {
        let own = |path: &str| receipt.files.iter().any(|file| file.path == path);
        let apart = |path: &str| self.open.iter().any(|one| one.paths.iter().any(|other| other == path));
        let here =
            |file: &FileChange| own(&file.path) || self.here.contains(&file.path) || !apart(&file.path);
        receipt.files_in_all().into_iter().filter(here).collect()
    }

    /// Where the rest is, and how it comes in.
    pub(super) fn told(&self, style: Style) -> String {
        let mut text = String::new();
        for one in self.open.iter().take(BRANCHES_SHOWN_MAX) {
            let name = self.names.get(&one.agent).map_or("NAME", String::as_str);
            let branch = one_line(&one.branch, 100);
            text.push_str(&style.yellow(&format!("  branch   {branch} is not merged: posse merge {name}\n")));
        }
        if let Some(more @ 1..) = self.open.len().checked_sub(BRANCHES_SHOWN_MAX) {
            text.push_str(&style.yellow(&format!("  branch   and {more} more\n")));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use posse_protocol::{Branch, Conflict, Ending};

    use super::super::sample::{admitted, event, id, report};
    use super::*;

    fn settled(branch: bool) -> EventKind {
        let mut report = report(Ending::Completed, "");
        let name = "posse/coder-1".to_string();
        let branch = branch.then(|| Branch { name, base: "a".into(), tip: "b".into(), diff: String::new() });
        report.receipt.branch = branch;
        EventKind::AgentSettled { report }
    }

    fn merged(conflicts: Vec<Conflict>) -> EventKind {
        EventKind::Merged { from: id(2), branch: "posse/coder-1".into(), changes: Vec::new(), conflicts }
    }

    /// What is told after these events: how many files of the folder, and whether the branch is named.
    fn after(kinds: Vec<EventKind>) -> (usize, bool) {
        let mut branches = Branches::default();
        branches.event(&event(2, 1, admitted("coder-1", 1, "mend it")));
        for kind in kinds {
            branches.event(&event(2, 1, kind));
        }
        let mut main = report(Ending::Completed, "").receipt;
        main.files_below = std::mem::take(&mut main.files);
        let told = branches.told(Style::plain());
        let named = told == "  branch   posse/coder-1 is not merged: posse merge coder-1\n";
        assert!(named || told.is_empty(), "{told}");
        (branches.in_folder(&main).len(), named)
    }

    #[test]
    fn work_on_a_branch_is_not_told_as_work_in_the_folder() {
        let conflict = Conflict { path: "tests/auth.rs".into(), text: String::new() };
        let cases = [
            (vec![settled(false)], (1, false)),
            (vec![settled(true)], (0, true)),
            (vec![settled(true), merged(Vec::new())], (1, false)),
            (vec![merged(Vec::new()), settled(true)], (1, false)),
            (vec![settled(true), merged(vec![conflict])], (1, true)),
        ];
        for (number, (kinds, want)) in cases.into_iter().enumerate() {
            assert_eq!(after(kinds), want, "{number}");
        }
    }
}
