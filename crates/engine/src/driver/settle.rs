//! How an agent ends: what is below it first, then its report, checked and on record, then its place in the tree.

use std::sync::Arc;

use posse_protocol::{Ending, EventKind, Failure, Isolation, Receipt, Report};
use posse_report::Facts;

use super::Driver;
use crate::agents::facts::{WorkspaceFacts, together};
use crate::agents::finished::{Continuation, FinishedAgent};
use crate::agents::start::AgentIdentity;

impl Driver {
    /// Ends the agent: first everything below it, then itself. Its report is checked before it is recorded.
    pub(super) async fn settle(mut self, ending: Ending) -> Report {
        self.journal.send();
        self.has_begun();
        self.crew.close_mailbox(self.who.id);
        self.crew.stop_below(self.who.id).await;
        self.conversation.catch_up(self.agent.conversation());
        if self.who.id == self.crew.main {
            self.crew.background.stop_all(&self.crew).await;
        } else if self.workplace.checkout.is_some() {
            self.crew.background.stop_at(&self.crew, &self.workplace.site).await;
        }
        self.before_settling().await;
        let mut report = self.prompt_report(ending).await;
        report.receipt = self.past.with(&report.receipt);
        if self.who.id == self.crew.main {
            self.crew.checkouts.clean_up(&self.crew.site.workspace).await;
        }
        if let Some(checkout) = self.workplace.checkout {
            match self.crew.checkouts.finish(&checkout, &self.who.title).await {
                Ok(branch) => report.receipt.branch = branch,
                Err(error) => report.notes.push(format!(
                    "its work could not be committed and is still in {}: {error}",
                    checkout.top.display()
                )),
            }
        } else if let Some(branch) =
            self.workplace.branch.as_ref().filter(|_| self.workplace.isolation == Isolation::Worktree)
        {
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
        let continuation = Continuation {
            role: self.who.role.clone(),
            conversation: self.conversation,
            isolation: self.workplace.isolation,
            branch: report.receipt.branch.clone(),
            on: None,
        };
        let AgentIdentity { id, name, title, role, .. } = self.who;
        let (role, continuation) = (role.name, Some(continuation));
        let finished = FinishedAgent { id, name, role, title, report: report.clone(), continuation };
        self.crew.settle(id, finished);
        report
    }
}

impl Driver {
    /// What it says and what was measured since its last prompt, checked.
    pub(super) async fn prompt_report(&mut self, ending: Ending) -> Report {
        let text = self.agent.last_words().to_string();
        let receipt = self.receipt();
        let mut report = Report::new(ending, text, receipt);
        report.short = self.agent.in_short().map(str::to_string);
        report.blocked = posse_report::blocked(&report.text);
        if self.who.id == self.crew.main {
            report.receipt.not_covered = self.workplace.site.history.not_covered();
            self.notes.extend(self.workplace.site.history.slow().cloned());
        }
        let facts =
            WorkspaceFacts::new(self.workplace.site.workspace.clone(), self.workplace.checkout.is_some());
        // Its words may be about everything that it did before.
        let measured = self.past.with(&report.receipt);
        let deliverables = self.task.deliverables.clone();
        report = checked(report, measured, self.crew.earlier(self.who.id), deliverables, facts).await;
        report.notes.append(&mut self.notes);
        report
    }

    /// What was measured since its last prompt.
    fn receipt(&mut self) -> Receipt {
        let edits = self.crew.edits(self.who.id);
        for (run, effects) in self.crew.take_ended_jobs(self.who.id) {
            self.effects.add(&effects, edits);
            self.effects.background_ended(&run, edits);
        }
        let inherited = self.crew.take_inherited(self.who.id);
        let receipt = std::mem::take(&mut self.effects).receipt(&self.agent, inherited);
        self.past.only_new(receipt)
    }
}

/// Compares a report with what can be measured.
pub(crate) async fn checked(
    report: Report,
    measured: Receipt,
    earlier: Vec<Receipt>,
    deliverables: Vec<String>,
    facts: impl Facts + Send + 'static,
) -> Report {
    let report = Arc::new(report);
    let words = Arc::clone(&report);
    let check = tokio::task::spawn_blocking(move || {
        let measured = Report { receipt: together(&measured, &earlier), ..Report::clone(&words) };
        posse_report::check(&measured, &deliverables, &facts)
    });
    let checked = check.await;
    let report = Arc::unwrap_or_clone(report);
    match checked {
        Ok(warnings) => Report { warnings, ..report },
        Err(_) => report,
    }
}
