//! How an agent ends that ran on a worker: its work is fetched and measured here, its words are checked against that, and only
//! then it is on record.

use std::path::PathBuf;

use posse_protocol::visible::one_line;
use posse_protocol::{Branch, Ending, EventKind, Failure, FileChange, Isolation, Report};
use posse_workspace::WorkspaceError;
use posse_workspace::bundle::{CommitFiles, TakenIn};

use super::{RemoteDriver, late_work};
use crate::agents::facts::{CommitFacts, WorkspaceFacts};
use crate::agents::finished::{Continuation, FinishedAgent};
use crate::driver::settle::checked;
use crate::limits::{REMOTE_ENDING_BYTES_MAX, REMOTE_NOTE_CHARS_MAX, REMOTE_NOTES_MAX};
use crate::remote::{HostedEnd, SeatCommand};

/// How it ended: as a worker says, or because home ends it.
pub(super) struct RemoteEnd {
    pub(super) end: HostedEnd,
    pub(super) bundle: Option<PathBuf>,
    pub(super) by_worker: bool,
}

impl RemoteEnd {
    /// Home ends it, with what there is.
    pub(super) fn here(ending: Ending) -> Self {
        let end = HostedEnd { ending, short: None, notes: Vec::new(), tip: None };
        Self { end, bundle: None, by_worker: false }
    }
}

impl RemoteDriver {
    /// Ends the agent: what is below it first, then itself.
    pub(super) async fn settle(mut self, ended: RemoteEnd) -> Report {
        let RemoteEnd { end, bundle, by_worker } = ended;
        self.crew.close_mailbox(self.who.id);
        self.crew.stop_below(self.who.id).await;
        let fetched = self.fetch(&end, bundle).await.unwrap_or_else(|why| {
            self.notes.push(format!("its work was refused: {why}"));
            None
        });
        let refused = by_worker && end.tip.is_some() && fetched.is_none();
        let work = match fetched {
            Some(work) => work,
            None => self.kept_work().await,
        };
        let Fetched { branch, changed, .. } = &work;
        let ending = if refused {
            let message = "what its worker sent as its work was refused".to_string();
            Ending::Failed { failure: Failure::Internal { message } }
        } else {
            end.ending
        };
        // Its words are those on record; a worker adds none.
        let elapsed_ms = u64::try_from(self.signals.clock.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (text, mut receipt) = self.mirror.outcome(self.crew.take_inherited(self.who.id), elapsed_ms);
        (receipt.files, receipt.files_not_certain) = (changed.clone(), Vec::new());
        receipt.duration_ms = elapsed_ms;
        let mut report = Report::new(told_ending(ending), text, receipt);
        let sums_up = self.crew.sum_up_over(self.who.depth).is_some();
        report.short = end.short.filter(|short| sums_up && short.len() < report.text.len());
        report.blocked = posse_report::blocked(&report.text);
        let (branch, is_in) = (branch.clone(), work.files.is_some());
        report = self.check(report, work).await;
        report.notes.append(&mut self.notes);
        report.notes.extend(told_notes(&end.notes));
        report.receipt.branch.clone_from(&branch);
        self.journal.note(EventKind::AgentSettled { report: report.clone() });
        let recorded = self.journal.durable().await;
        let is_kept = by_worker && !refused && recorded.is_ok();
        match recorded {
            Ok(()) => self.kept.clear(),
            // Whoever takes the session up needs what is kept here and there.
            Err(error) => {
                tracing::error!(%error, "the end of an agent could not be recorded");
                let message = format!("the end of the agent could not be recorded: {error}");
                report.ending = Ending::Failed { failure: Failure::Internal { message } };
            }
        }
        let _ = self.seat.commands.send(SeatCommand::Settled { is_kept });
        if let Some(sent) = self.sent_work().filter(|_| !is_in) {
            self.crew.checkouts.sent_is_over(&self.crew.site.workspace, &sent.branch).await;
        }
        let continuation = Continuation {
            role: self.who.role.clone(),
            conversation: self.mirror.request(),
            isolation: Isolation::Worktree,
            branch,
            on: Some(self.on.clone()),
        };
        let (id, name, title, role) =
            (self.who.id, self.who.name.clone(), self.who.title.clone(), self.who.role.name.clone());
        let finished =
            FinishedAgent { id, name, role, title, report: report.clone(), continuation: Some(continuation) };
        // One that had it before may come back with what it did, and so may the last one if that is not here.
        let late = self.sent_work().filter(|_| self.epoch > 1 || (self.epoch == 1 && !is_kept));
        self.crew.settle(id, finished);
        if let Some(sent) = late {
            late_work::await_it(&self.crew, id, self.seat, sent);
        }
        report
    }

    /// Its work as a branch, and what that changes; none if its worker sent none.
    async fn fetch(&self, end: &HostedEnd, bundle: Option<PathBuf>) -> Result<Option<Fetched>, String> {
        let (Some(sent), Some(tip)) = (self.sent_work(), &end.tip) else { return Ok(None) };
        let bundle = bundle.ok_or("there is no bundle")?;
        let (checkouts, workspace) = (&self.crew.checkouts, &self.crew.site.workspace);
        let from =
            (self.worker.as_ref().map_or("", |run| run.worker.as_str()), tip.as_str(), bundle.as_path());
        let mut taken = checkouts.receive(workspace, &sent, from).await;
        if taken.as_ref().is_err_and(WorkspaceError::is_of_another_branch) {
            // Home was killed after it had made the branch and before that was on record, or a person works on it. Both stay.
            taken = checkouts.receive(workspace, &sent.beside(self.epoch), from).await;
            checkouts.sent_is_over(workspace, &sent.branch).await;
        }
        let _ = std::fs::remove_file(&bundle);
        let TakenIn { branch, changed, files } = taken.map_err(|error| error.to_string())?;
        Ok(Some(Fetched { branch, changed, files: Some(files) }))
    }

    /// What home has of its work where no worker sent it: the files that it had changed when home heard of it last, or what it had
    /// done before it continued.
    async fn kept_work(&mut self) -> Fetched {
        let kept = self.commit_kept().await.unwrap_or_else(|why| {
            self.notes.push(format!("what home had kept of its work is not on its branch: {why}"));
            None
        });
        if let Some(TakenIn { branch, changed, files }) = kept {
            self.notes.push("its branch has what home had kept of its work when it ended".to_string());
            return Fetched { branch, changed, files: Some(files) };
        }
        let earlier = self.branch.as_ref().filter(|branch| branch.tip != branch.base);
        Fetched { branch: earlier.cloned(), ..Fetched::default() }
    }

    async fn commit_kept(&self) -> Result<Option<TakenIn>, String> {
        let Some(sent) = self.sent_work().filter(|_| self.has_kept) else { return Ok(None) };
        let (_, kept) = self.so_far().await?;
        if kept.is_empty() {
            return Ok(None);
        }
        let contents = self.kept.get(&kept).await?;
        let (checkouts, workspace) = (&self.crew.checkouts, &self.crew.site.workspace);
        let mut committed = checkouts.commit_kept(workspace, &sent, kept.clone(), contents).await;
        if committed.as_ref().is_err_and(WorkspaceError::is_of_another_branch) {
            let contents = self.kept.get(&kept).await?;
            committed = checkouts.commit_kept(workspace, &sent.beside(self.epoch), kept, contents).await;
            checkouts.sent_is_over(workspace, &sent.branch).await;
        }
        committed.map_err(|error| error.to_string())
    }

    /// Compares its report with the files that it left, or with those that it began with.
    async fn check(&self, report: Report, work: Fetched) -> Report {
        let (measured, earlier) = (report.receipt.clone(), self.crew.earlier(self.who.id));
        let deliverables = self.task.deliverables.clone();
        let workspace = self.crew.site(self.who.id).workspace.clone();
        let files = match (work.files, work.branch) {
            (None, Some(branch)) => CommitFiles::of(workspace.root(), &branch.tip).await.ok(),
            (files, _) => files,
        };
        match files {
            Some(files) => {
                let facts = CommitFacts::new(files, workspace);
                checked(report, measured, earlier, deliverables, facts).await
            }
            None => {
                let facts = WorkspaceFacts::new(workspace, true);
                checked(report, measured, earlier, deliverables, facts).await
            }
        }
    }
}

/// What was fetched of its work.
#[derive(Default)]
struct Fetched {
    branch: Option<Branch>,
    changed: Vec<FileChange>,
    /// Its files; none if nothing came.
    files: Option<CommitFiles>,
}

/// Remarks of a worker, as such: the other notes of a report are home's own.
fn told_notes(notes: &[String]) -> impl Iterator<Item = String> {
    let some = notes.iter().take(REMOTE_NOTES_MAX);
    some.map(|note| format!("its worker says: {}", one_line(note, REMOTE_NOTE_CHARS_MAX)))
}

/// How a worker says that its agent ended, unless it says too much.
fn told_ending(ending: Ending) -> Ending {
    match serde_json::to_vec(&ending) {
        Ok(bytes) if bytes.len() <= REMOTE_ENDING_BYTES_MAX => ending,
        _ => {
            let message = "its worker says more than a reason".to_string();
            Ending::Failed { failure: Failure::Internal { message } }
        }
    }
}
