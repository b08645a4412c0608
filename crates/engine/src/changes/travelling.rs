//! The files of agents that run on workers, on their way there and back.

use std::collections::BTreeMap;
use std::path::Path;

use posse_protocol::{Branch, KeptFile, Saved};
use posse_workspace::bundle::{self, KeptEntry, KeptWork, TakeLimits, TakenIn};
use posse_workspace::{Mode, Workspace, WorkspaceError};
use sha2::{Digest as _, Sha256};

use crate::changes::checkouts::Checkouts;
use crate::limits::{BRANCH_DIFF_BYTES_MAX, REMOTE_FILES_MAX};
use crate::project::project_folders;

/// The files of an agent as they go to workers.
#[derive(Clone, Debug)]
pub(crate) struct SentWork {
    /// Its branch.
    pub(crate) branch: String,
    /// The commit that its branch started from.
    pub(crate) base: String,
    /// The commit that it begins with.
    pub(crate) start: String,
    /// The folder it works in, within the repository.
    pub(crate) inside: String,
    pub(crate) sha256: bool,
    /// Names the repository on workers.
    pub(crate) repository: String,
    /// What was not sent, a sentence each.
    pub(crate) not_sent: Vec<String>,
}

impl SentWork {
    /// The same for a branch beside its own, where that has other commits.
    pub(crate) fn beside(&self, epoch: u64) -> Self {
        Self { branch: format!("{}.epoch{epoch}", self.branch), ..self.clone() }
    }

    /// What is on record of an agent's files: enough to take in its work.
    pub(crate) fn on_record(branch: &Branch) -> Self {
        Self {
            branch: branch.name.clone(),
            base: branch.base.clone(),
            start: branch.tip.clone(),
            inside: String::new(),
            sha256: false,
            repository: String::new(),
            not_sent: Vec::new(),
        }
    }
}

/// Names the repository of a folder on workers: the same for each session in it.
pub(crate) fn repository_name(root: &Path) -> String {
    let top = project_folders(root).last().unwrap_or(root);
    let name = Sha256::digest(top.as_os_str().as_encoded_bytes());
    name.iter().take(10).map(|byte| format!("{byte:02x}")).collect()
}

impl Checkouts {
    /// The files of a folder as they are now, or those of a branch that the agent continues on, and a bundle of them for
    /// somebody who has these commits. Says how long it is; 0 if they have all of it.
    pub(crate) async fn send(
        &self,
        workspace: &Workspace,
        name: &str,
        goes_on: Option<&Branch>,
        (has, to): (&[String], &Path),
    ) -> Result<(SentWork, u64), WorkspaceError> {
        let root = workspace.root();
        self.prepare(root).await?;
        let branch = goes_on.map_or_else(|| self.branch(name), |goes_on| goes_on.name.clone());
        let snapshot = bundle::snapshot(root, &self.own(), &branch, has).await?;
        let sent = snapshot.sent.clone();
        let (base, start) = match goes_on {
            Some(goes_on) => (goes_on.base.clone(), goes_on.tip.clone()),
            None => (sent.base.clone(), sent.base),
        };
        let (bytes, not_sent) = (snapshot.pack(&start, to).await?, snapshot.not_sent().to_vec());
        let (inside, sha256, repository) = (sent.inside, sent.sha256, repository_name(root));
        Ok((SentWork { branch, base, start, inside, sha256, repository, not_sent }, bytes))
    }

    /// A bundle of what was sent already, for another one.
    pub(crate) async fn send_again(
        &self,
        workspace: &Workspace,
        sent: &SentWork,
        (has, to): (&[String], &Path),
    ) -> Result<u64, WorkspaceError> {
        bundle::pack(workspace.root(), &sent.start, has, to).await
    }

    /// Takes a bundle of a worker, a stranger's, as the work of an agent: its branch, and what that changes. What was sent for it is let
    /// go of.
    pub(crate) async fn receive(
        &self,
        workspace: &Workspace,
        sent: &SentWork,
        (worker, tip, bundle): (&str, &str, &Path),
    ) -> Result<TakenIn, WorkspaceError> {
        let _turn = self.intakes.turn(worker).await;
        let commits = (sent.base.as_str(), sent.start.as_str(), tip);
        let most = (BRANCH_DIFF_BYTES_MAX, REMOTE_FILES_MAX);
        let (root, limits) = (workspace.root(), TakeLimits::default());
        bundle::take_in_measured(root, bundle, commits, &sent.branch, limits, most).await
    }

    /// Commits the files that an agent had changed to its branch, as far as home has them. None if they are as it began.
    pub(crate) async fn commit_kept(
        &self,
        workspace: &Workspace,
        sent: &SentWork,
        kept: Vec<KeptFile>,
        contents: BTreeMap<String, Vec<u8>>,
    ) -> Result<Option<TakenIn>, WorkspaceError> {
        let entry = |saved: Saved| Some(KeptEntry { mode: Mode::parse(&saved.mode)?, content: saved.blob });
        let mut files = Vec::new();
        for KeptFile { path, after } in kept {
            match after.map(entry) {
                None => files.push((path, None)),
                Some(Some(entry)) => files.push((path, Some(entry))),
                Some(None) => tracing::warn!(path, "a file that a worker told of is not as it has to be"),
            }
        }
        let commits = (sent.base.as_str(), sent.start.as_str());
        let most = (BRANCH_DIFF_BYTES_MAX, REMOTE_FILES_MAX);
        bundle::commit_kept(workspace.root(), commits, &sent.branch, KeptWork { files, contents }, most).await
    }

    /// Lets go of what was sent: its agent has ended without work of it.
    pub(crate) async fn sent_is_over(&self, workspace: &Workspace, branch: &str) {
        if let Err(error) = bundle::forget_sent(workspace.root(), branch).await {
            tracing::debug!(%error, branch, "what was sent to a worker stays in the repository");
        }
    }
}
