//! What agents changed in one folder, kept so that it can be shown and taken back.
//!
//! File tools say exactly what they wrote. For commands the folder is saved before and after: what two commands that run
//! at the same time changed cannot be told apart, and is said to be the work of the one that ends first. Without git
//! nothing is kept, which is said once.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex as SyncMutex, PoisonError};

use posse_protocol::{Branch, Change, Saved};
use posse_tools::Rewrite;
use posse_workspace::worktree::{self, Merge};
use posse_workspace::{Checkpoints, Snapshot, Workspace, WorkspaceError};
use tokio::sync::{Mutex, OnceCell};

/// Shared by all agents that work in a folder. Clones are the same.
#[derive(Clone)]
pub(crate) struct History(Arc<Inner>);

struct Inner {
    workspace: Workspace,
    /// Where shadow repositories are.
    folder: PathBuf,
    checkpoints: OnceCell<Option<Checkpoints>>,
    /// Commands under way that can change something, or whose changes were not looked for yet.
    running: AtomicUsize,
    /// Paths that file tools are writing right now, and how many at a time.
    writing: SyncMutex<HashMap<String, usize>>,
    ledger: Mutex<Ledger>,
    /// Why something could not be kept; the first reason.
    trouble: OnceCell<String>,
}

#[derive(Default)]
struct Ledger {
    /// Up to here every change is known to be somebody's.
    last: Option<Snapshot>,
    /// What is known exactly to be there since, and is somebody's already; none where something was removed.
    known: HashMap<String, Option<Saved>>,
    /// Changes that were found while a command ran and are nobody's yet.
    unclaimed: Vec<Change>,
}

/// A command under way. Its changes are looked for when it is given to [`History::after`].
pub(crate) struct Running(Arc<Inner>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A path that a file tool is writing: until this is gone, nobody else is said to have changed it.
pub(crate) struct Writing(Arc<Inner>, String);

impl Drop for Writing {
    fn drop(&mut self) {
        let mut writing = self.0.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = writing.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                writing.remove(&self.1);
            }
        }
    }
}

impl History {
    pub(crate) fn new(folder: PathBuf, workspace: Workspace) -> Self {
        Self(Arc::new(Inner {
            workspace,
            folder,
            checkpoints: OnceCell::new(),
            running: AtomicUsize::new(0),
            writing: SyncMutex::default(),
            ledger: Mutex::default(),
            trouble: OnceCell::new(),
        }))
    }

    async fn checkpoints(&self) -> Option<&Checkpoints> {
        let opened = self.0.checkpoints.get_or_init(|| async {
            let opened = Checkpoints::open(&self.0.folder, &self.0.workspace).await;
            opened.inspect_err(|error| self.could_not(error)).ok()
        });
        opened.await.as_ref()
    }

    fn could_not(&self, error: &WorkspaceError) {
        tracing::warn!(%error, "changes cannot be kept");
        let _ = self.0.trouble.set(error.to_string());
    }

    /// Why not everything can be taken back, if so.
    pub(crate) fn trouble(&self) -> Option<&str> {
        self.0.trouble.get().map(String::as_str)
    }

    async fn save(&self, label: &str) -> Option<Snapshot> {
        let saved = self.checkpoints().await?.save(label).await;
        saved.inspect_err(|error| self.could_not(error)).ok()
    }

    /// Saves the folder as it is. Gives back the commit.
    pub(crate) async fn checkpoint(&self, label: &str) -> Option<String> {
        let mut ledger = self.0.ledger.lock().await;
        let now = self.save(label).await?;
        let commit = now.commit.clone();
        if self.0.running.load(Ordering::Relaxed) > 0 {
            let found = self.since_last(&mut ledger, now).await;
            ledger.unclaimed.extend(found);
        } else {
            ledger.last = Some(now);
            ledger.known.clear();
        }
        Some(commit)
    }

    /// A command begins, after a checkpoint.
    pub(crate) fn begins(&self) -> Running {
        self.0.running.fetch_add(1, Ordering::Relaxed);
        Running(Arc::clone(&self.0))
    }

    /// A command has ended: what it changed, as far as nobody else did.
    pub(crate) async fn after(&self, running: Running) -> Vec<Change> {
        let mut ledger = self.0.ledger.lock().await;
        let now = self.save("after a command").await;
        let mut changes = std::mem::take(&mut ledger.unclaimed);
        if let Some(now) = now {
            changes.extend(self.since_last(&mut ledger, now).await);
        }
        // Only now: whoever saves next takes what is there for nobody's.
        drop(running);
        changes
    }

    /// A file tool is about to write this path.
    pub(crate) fn writes(&self, path: String) -> Writing {
        let mut writing = self.0.writing.lock().unwrap_or_else(PoisonError::into_inner);
        *writing.entry(path.clone()).or_default() += 1;
        Writing(Arc::clone(&self.0), path)
    }

    /// Keeps what a file tool wrote.
    pub(crate) async fn keep(&self, rewrites: Vec<Rewrite>) -> Vec<Change> {
        let Some(checkpoints) = self.checkpoints().await else { return Vec::new() };
        let mut ledger = self.0.ledger.lock().await;
        let mut changes = Vec::new();
        for Rewrite { path, mode, before, after } in rewrites {
            let before = before.as_deref().map(|bytes| (bytes, mode));
            match checkpoints.keep(&path, before, Some((&after, mode))).await {
                Ok(change) => {
                    ledger.known.insert(path, change.after.clone());
                    changes.push(change);
                }
                Err(error) => self.could_not(&error),
            }
        }
        changes
    }

    /// Merges a branch; what that brings in is nobody else's work.
    pub(crate) async fn merge(&self, into: &Workspace, branch: &Branch) -> Result<Merge, WorkspaceError> {
        let checkpoints = self.checkpoints().await;
        let mut ledger = self.0.ledger.lock().await;
        let merged = worktree::merge(into, checkpoints, branch).await?;
        let now_there = merged.changes.iter().map(|change| (change.path.clone(), change.after.clone()));
        ledger.known.extend(now_there);
        Ok(merged)
    }

    /// What changed since the last look, without what is somebody's already.
    async fn since_last(&self, ledger: &mut Ledger, now: Snapshot) -> Vec<Change> {
        let known = std::mem::take(&mut ledger.known);
        let last = ledger.last.replace(now.clone());
        let (Some(last), Some(checkpoints)) = (last, self.checkpoints().await) else { return Vec::new() };
        let changes = match checkpoints.changes(&last, &now).await {
            Ok(changes) => changes,
            Err(error) => {
                self.could_not(&error);
                return Vec::new();
            }
        };
        let writing = self.0.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let theirs = |mut change: Change| match known.get(&change.path) {
            _ if writing.contains_key(&change.path) => None,
            Some(there) if *there == change.after => None,
            // Changed again after it was kept: only that much is new.
            Some(there) => {
                change.before.clone_from(there);
                Some(change)
            }
            None => Some(change),
        };
        changes.into_iter().filter_map(theirs).collect()
    }
}
