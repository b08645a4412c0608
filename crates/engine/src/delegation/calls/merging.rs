//! Bringing the work of an agent with a checkout of its own into the files of the one that asks.

use std::fmt::Write as _;
use std::sync::Arc;

use posse_protocol::{AgentId, Branch, Conflict, EventKind};
use posse_report::quote;
use posse_workspace::Permit;
use posse_workspace::worktree::Merge;

use super::DelegationCalls;
use crate::changes::found::WrittenPaths;
use crate::crew::Crew;
use crate::delegation::answers::CallAnswer;
use crate::limits::CONFLICTS_TOLD_MAX;

impl DelegationCalls {
    pub(super) async fn merge(&self, name: &str, permit: Permit) -> CallAnswer {
        let id = match self.find(name) {
            Ok(id) => id,
            Err(answer) => return answer,
        };
        let Some(finished) = self.crew.finished(id) else {
            return CallAnswer::error(format!("{name} has not ended yet; its report comes by itself."));
        };
        let Some(branch) = &finished.report.receipt.branch else {
            return CallAnswer::error(format!(
                "{name} had no checkout of its own, or changed nothing in it: there is nothing to merge."
            ));
        };
        // On a task of its own: what was merged must be on record, whoever goes away meanwhile.
        let merged =
            tokio::spawn(bring_in(Arc::clone(&self.crew), self.id, id, branch.clone(), permit)).await;
        let merged = match merged.unwrap_or_else(|_| Err("a fault in Posse".to_string())) {
            Ok(merged) => merged,
            Err(error) => return CallAnswer::error(format!("Nothing was merged: {error}")),
        };
        let text = told(name, &branch.name, merged.changes.len(), &merged.conflicts);
        if merged.conflicts.is_empty() { CallAnswer::ok(text) } else { CallAnswer::error(text) }
    }
}

/// Merges a branch into the files of an agent, and records what that changed.
async fn bring_in(
    crew: Arc<Crew>,
    by: AgentId,
    from: AgentId,
    branch: Branch,
    permit: Permit,
) -> Result<Merge, String> {
    let site = crew.site(by);
    let into = site.workspace.permitting(permit);
    let writes = crew.approvals.track_write(Some(&format!("merge of {}", branch.name)));
    let merged = site.history.merge(&into, &branch).await.map_err(|error| error.to_string())?;
    let mut written = WrittenPaths::default();
    written.add(&merged.changes);
    writes.wrote(&[], &written);
    if !merged.changes.is_empty() {
        crew.note_merge(by);
    }
    let parent = crew.tree(|tree| tree.node(by).and_then(|node| node.parent));
    let mut journal = crew.journal(by, parent);
    let (changes, conflicts) = (merged.changes.clone(), merged.conflicts.clone());
    journal.note(EventKind::Merged { from, branch: branch.name, changes, conflicts });
    journal.durable().await.map_err(|error| format!("it could not be recorded: {error}"))?;
    Ok(merged)
}

/// What came of a merge, in words; both sides of a conflict are data.
fn told(name: &str, branch: &str, changed: usize, conflicts: &[Conflict]) -> String {
    let files = if changed == 1 { "1 file".to_string() } else { format!("{changed} files") };
    let mut text = match (changed, conflicts.len()) {
        (0, 0) => format!("All that {name} did is in the workspace already."),
        (_, 0) => format!("The work of {name} is in the workspace now: {files} changed."),
        (_, count) => format!(
            "{files} changed. In {} the work of {name} does not go together with what is there: those places were \
             left as they are, and its side stays on the branch {branch}. Settle them by hand.",
            if count == 1 { "1 file".to_string() } else { format!("{count} files") }
        ),
    };
    for conflict in conflicts.iter().take(CONFLICTS_TOLD_MAX) {
        let _ = write!(text, "\n{}", quote("conflict", &conflict.path, conflict.text.trim_end()));
    }
    if let Some(more @ 1..) = conflicts.len().checked_sub(CONFLICTS_TOLD_MAX) {
        let _ = write!(text, "\n… and {more} more");
    }
    text
}
