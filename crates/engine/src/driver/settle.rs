//! How an agent ends: what is below it first, then its report, checked and on record, then its place in the tree.

use std::sync::Arc;

use posse_protocol::{Ending, EventKind, Failure, Isolation, Receipt, Report};

use super::Driver;
use crate::agents::facts::{WorkspaceFacts, together};
use crate::agents::finished::{Finished, Kept};

impl Driver {
    /// Ends the agent: first everything below it, then itself. Its report is checked before it is recorded.
    pub(super) async fn settle(mut self, ending: Ending) -> Report {
        self.journal.send();
        self.crew.ends(self.id);
        self.crew.stop_below(self.id).await;
        self.extend_transcript();
        let text = self.agent.last_words().to_string();
        let receipt = self.receipt().await;
        let mut report = Report::new(ending, text, receipt);
        report.short = self.agent.in_short().map(str::to_string);
        report.blocked = posse_report::blocked(&report.text);
        if self.id == self.crew.main {
            report.receipt.not_covered = self.site.history.not_covered();
            self.notes.extend(self.site.history.slow().cloned());
            self.crew.checkouts.clean_up(&self.crew.site.workspace).await;
        }
        let facts = WorkspaceFacts::new(self.site.workspace.clone(), self.checkout.is_some());
        report = checked(report, self.crew.earlier(self.id), self.deliverables, facts).await;
        report.notes.append(&mut self.notes);
        if let Some(checkout) = self.checkout {
            match self.crew.checkouts.finish(&checkout, &self.title).await {
                Ok(branch) => report.receipt.branch = branch,
                Err(error) => report.notes.push(format!(
                    "its work could not be committed and is still in {}: {error}",
                    checkout.top.display()
                )),
            }
        } else if let Some(branch) = self.branch.as_ref().filter(|_| self.isolation == Isolation::Worktree) {
            // It could not be checked out again; what it had done is still there.
            report.receipt.branch = self.crew.checkouts.left_on(&self.crew.site.workspace, branch).await;
        }
        self.journal.note(EventKind::AgentSettled { report: report.clone() });
        if let Err(error) = self.journal.durable().await {
            tracing::error!(%error, "the end of an agent could not be recorded");
            // Whatever it came to: nobody will find it on record, so that is what there is to say.
            let message = format!("the end of the agent could not be recorded: {error}");
            report.ending = Ending::Failed { failure: Failure::Internal { message } };
        }
        let kept = Kept {
            role: self.role.clone(),
            model: self.model,
            system: self.system,
            tools: self.tools,
            empty: self.empty,
            transcript: self.transcript,
            messages: self.agent.conversation().messages().to_vec(),
            isolation: self.isolation,
            branch: report.receipt.branch.clone(),
        };
        let finished = Finished {
            id: self.id,
            name: self.name,
            role: self.role.name,
            title: self.title,
            report: report.clone(),
            conversation: Some(kept),
        };
        self.crew.settled(self.id, finished);
        report
    }
}

impl Driver {
    /// What was measured, once nothing runs any more that was to end with the agent.
    async fn receipt(&mut self) -> Receipt {
        if self.id == self.crew.main {
            self.crew.background.stop_all(&self.crew).await;
        } else if self.checkout.is_some() {
            self.crew.background.stop_at(&self.crew, &self.site).await;
        }
        let edits = self.crew.edits(self.id);
        for (run, effects) in self.crew.take_ended_jobs(self.id) {
            self.effects.add(&effects, edits);
            self.effects.background_ended(&run, edits);
        }
        std::mem::take(&mut self.effects).receipt(&self.agent, self.crew.inherited(self.id))
    }
}

/// Compares a report with what can be measured.
async fn checked(
    report: Report,
    earlier: Vec<Receipt>,
    deliverables: Vec<String>,
    facts: WorkspaceFacts,
) -> Report {
    let report = Arc::new(report);
    let words = Arc::clone(&report);
    let check = tokio::task::spawn_blocking(move || {
        if earlier.is_empty() {
            return posse_report::check(&words, &deliverables, &facts);
        }
        let measured = Report { receipt: together(&words.receipt, &earlier), ..Report::clone(&words) };
        posse_report::check(&measured, &deliverables, &facts)
    });
    let checked = check.await;
    let report = Arc::unwrap_or_clone(report);
    match checked {
        Ok(warnings) => Report { warnings, ..report },
        Err(_) => report,
    }
}
