//! What agents changed in one folder, kept so that it can be shown and taken back, and measured for receipts.
//!
//! File tools say exactly what they wrote. What commands changed is found by looking before and after; whose it is, by
//! what each command named in order to change it. What changed while commands ran and none of them named is not certain
//! to be anybody's: it is told apart, and not taken back unless a person asks for it by name.
//!
//! ```text
//! begins ─► look: what differs is the person's, or, while other commands run, pending
//! after  ─► look: pending and new ─► done by this command, as what it named tells: its own
//!                                 ─► others still run: pending
//!                                 ─► else: meanwhile, not certain whose
//! ```

mod put_back;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as SyncMutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use posse_policy::{Undo, reach};
use posse_protocol::{Approval, Branch, Change, Effect, EventKind, FileChange, Saved};
use posse_sandbox::Touched;
use posse_tools::{LinkedFolders, Rewrite};
use posse_workspace::worktree::{self, Merge};
use posse_workspace::{Checkpoints, Permit, Workspace, WorkspaceError, is_loose};
use tokio::sync::{Mutex, OnceCell};

use crate::changes::found::{Found, folded};
use crate::changes::measured;
use crate::changes::shares::Shares;
use crate::changes::undoable;
use crate::limits::{AHEAD_AFTER_MS, LINKED_FOLDERS_MAX, MEASURED_CHANGES_MAX, SLOW_LOOK_MS};

/// Is told how many files were looked at, now and then.
pub(crate) type OnLook = Arc<dyn Fn(usize) + Send + Sync>;

/// Shared by all agents that work in a folder. Clones are the same.
#[derive(Clone)]
pub(crate) struct History(Arc<Inner>);

struct Inner {
    workspace: Workspace,
    /// Where contents are kept.
    folder: PathBuf,
    /// Whether changes go on record. Not where the work is on a branch of its own, which is all the history it needs.
    recorded: bool,
    on_look: Option<OnLook>,
    checkpoints: OnceCell<Option<Checkpoints>>,
    /// How many commands are under way that can change something, or whose changes were not looked for yet.
    running: SyncMutex<usize>,
    /// Paths that file tools are writing right now, and how many at a time.
    writing: SyncMutex<HashMap<String, usize>>,
    /// What file tools and merges put there, which is somebody's already; none where something was removed. Apart from
    /// the ledger, because whoever writes a file must not wait for a look.
    known: SyncMutex<HashMap<String, Option<Saved>>>,
    ledger: Mutex<Ledger>,
    /// Where folders go whose files have other names outside, and the same in words.
    linked: LinkedFolders,
    read_only: OnceCell<Vec<String>>,
    /// Whether commands are expected, so that a look ahead is of use.
    awaited: AtomicBool,
    /// Whether there was a look, and whether what it does not cover was told.
    looked: AtomicBool,
    told: AtomicBool,
    /// Why every file was looked at again and it took long; the first time.
    slow: OnceCell<String>,
    /// Why something could not be kept; the first reason.
    trouble: OnceCell<String>,
}

#[derive(Default)]
struct Ledger {
    /// The state at the last look, and the one that is on record.
    name: String,
    recorded: String,
    /// Changes that were found while commands ran, and that no command that has ended had named.
    pending: Vec<Change>,
}

/// A command under way. Its changes are looked for when it is given to [`History::end_command`].
pub(crate) struct Running {
    inner: Arc<Inner>,
    /// Whether it may write what other programs act on by themselves.
    unguarded: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut running = lock(&self.inner.running);
        *running = running.saturating_sub(1);
    }
}

/// A path that a file tool is writing: until this is gone, nobody else is said to have changed it.
pub(crate) struct Writing(Arc<Inner>, String);

impl Drop for Writing {
    fn drop(&mut self) {
        let mut writing = lock(&self.0.writing);
        if let Some(count) = writing.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                writing.remove(&self.1);
            }
        }
    }
}

impl History {
    /// Of the session's folder. Contents are kept in a folder where those of many may be.
    pub(crate) fn recorded(
        folder: PathBuf,
        workspace: Workspace,
        on_look: OnLook,
        linked: LinkedFolders,
    ) -> Self {
        Self::new(folder, workspace, true, Some(on_look), linked)
    }

    /// Of a checkout, for receipts alone.
    pub(crate) fn measured(folder: PathBuf, workspace: Workspace) -> Self {
        Self::new(folder, workspace, false, None, LinkedFolders::default())
    }

    fn new(
        folder: PathBuf,
        workspace: Workspace,
        recorded: bool,
        on_look: Option<OnLook>,
        linked: LinkedFolders,
    ) -> Self {
        Self(Arc::new(Inner {
            linked,
            read_only: OnceCell::new(),
            workspace,
            folder,
            recorded,
            on_look,
            checkpoints: OnceCell::new(),
            running: SyncMutex::default(),
            writing: SyncMutex::default(),
            known: SyncMutex::default(),
            ledger: Mutex::default(),
            awaited: AtomicBool::new(false),
            looked: AtomicBool::default(),
            told: AtomicBool::default(),
            slow: OnceCell::new(),
            trouble: OnceCell::new(),
        }))
    }

    async fn checkpoints(&self) -> Option<&Checkpoints> {
        let opened = self.0.checkpoints.get_or_init(|| async {
            // It writes nothing but to put back what a command was not to write.
            let workspace = self.0.workspace.permitting(Permit::Everything);
            let opened = Checkpoints::open(&self.0.folder, &workspace).await;
            opened.inspect_err(|error| self.could_not(error)).ok()
        });
        opened.await.as_ref()
    }

    fn could_not(&self, error: &WorkspaceError) {
        tracing::warn!(%error, "changes cannot be kept");
        let _ = self.0.trouble.set(error.to_string());
    }

    /// What cannot be taken back here, each in a few words; known after the first look.
    pub(crate) fn not_covered(&self) -> Vec<String> {
        let kept = self.0.checkpoints.get().and_then(Option::as_ref);
        let mut all = kept.map(Checkpoints::not_covered).unwrap_or_default();
        all.extend(self.0.trouble.get().map(|why| format!("nothing that commands change: {why}")));
        all
    }

    /// The same, once, and what commands see read-only; none if there is nothing to tell, or nobody has looked yet.
    pub(crate) fn tell_not_covered(&self) -> Option<EventKind> {
        if !self.0.looked.load(Ordering::Relaxed) || self.0.told.load(Ordering::Relaxed) {
            return None;
        }
        self.0.told.store(true, Ordering::Relaxed);
        let (what, read_only) = (self.not_covered(), self.0.read_only.get().cloned().unwrap_or_default());
        let nothing = what.is_empty() && read_only.is_empty();
        (!nothing).then_some(EventKind::NotCovered { what, read_only })
    }

    /// Why commands had to wait for a look at every file, if they had to.
    pub(crate) fn slow(&self) -> Option<&String> {
        self.0.slow.get()
    }

    /// Has the first look made while the model thinks, so that the first command does not have to wait for it. Not at
    /// once: a session that is over by then, or that begins with a file tool, would only be slowed down.
    pub(crate) fn look_ahead(&self) {
        self.0.awaited.store(true, Ordering::Relaxed);
        let history = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(AHEAD_AFTER_MS)).await;
            let Some(history) = history.upgrade().map(Self) else { return };
            if !history.0.awaited.load(Ordering::Relaxed) {
                return;
            }
            // Commands are expected, and somebody has to let go of the watches that the look makes.
            posse_sandbox::prepare_ahead();
            let mut ledger = history.0.ledger.lock().await;
            if !history.0.looked.load(Ordering::Relaxed) {
                history.others(&mut ledger).await;
            }
        });
    }

    /// Leaves out a look ahead that has not begun, because the session rests. Gives back whether one is still wanted later.
    pub(crate) fn rest(&self) -> bool {
        self.0.awaited.swap(false, Ordering::Relaxed) && !self.0.looked.load(Ordering::Relaxed)
    }

    /// Sees to it that a write in place reaches nothing outside: loose objects are copied, other folders read-only.
    async fn part_from_others(&self, checkpoints: &Checkpoints) {
        let mut linked = checkpoints.linked_outside();
        if linked.iter().any(|(folder, _)| is_loose(folder)) && checkpoints.part_objects().await {
            linked.retain(|(folder, _)| !is_loose(folder));
        }
        // Each is a mount; where there are many, what they lie in is.
        if linked.len() > LINKED_FOLDERS_MAX {
            let mut tops: BTreeMap<PathBuf, usize> = BTreeMap::new();
            for (folder, files) in linked {
                let top = folder.components().take(1).collect();
                *tops.entry(top).or_default() += files;
            }
            linked = tops.into_iter().collect();
        }
        let said = |(folder, files): &(PathBuf, usize)| {
            let place = if folder.as_os_str().is_empty() { ".".into() } else { folder.display().to_string() };
            if *files == 1 { format!("{place} (1 file)") } else { format!("{place} ({files} files)") }
        };
        let _ = self.0.read_only.set(linked.iter().map(said).collect());
        let root = self.0.workspace.root();
        let place =
            |folder: PathBuf| if folder.as_os_str().is_empty() { root.into() } else { root.join(folder) };
        self.0.linked.are(linked.into_iter().map(|(folder, _)| place(folder)).collect());
    }

    /// What differs from the last look, without what is somebody's already.
    async fn look(&self, ledger: &mut Ledger) -> Vec<Change> {
        let Some(checkpoints) = self.checkpoints().await else { return Vec::new() };
        let since = Instant::now();
        let look = match checkpoints.look(self.0.on_look.clone()).await {
            Ok(look) => look,
            Err(error) => {
                self.could_not(&error);
                self.0.looked.store(true, Ordering::Relaxed);
                return Vec::new();
            }
        };
        let first = !self.0.looked.load(Ordering::Relaxed);
        if first {
            self.part_from_others(checkpoints).await;
        }
        self.0.looked.store(true, Ordering::Relaxed);
        if let Some(why) =
            look.everything.filter(|_| !first && since.elapsed() > Duration::from_millis(SLOW_LOOK_MS))
        {
            let seconds = since.elapsed().as_secs_f64();
            let _ =
                self.0.slow.set(format!("every file had to be looked at, which took {seconds:.1} s: {why}"));
        }
        ledger.name = look.name;
        let writing = lock(&self.0.writing);
        let mut known = lock(&self.0.known);
        let theirs = |change: Change| {
            if writing.contains_key(&change.path) {
                return None;
            }
            match known.remove(&change.path) {
                Some(there) if there == change.after => None,
                // Changed again after it was kept: only that much is new.
                Some(there) => Some(Change { before: there, ..change }),
                None => Some(change),
            }
        };
        look.changes.into_iter().filter_map(theirs).collect()
    }

    /// Looks at the folder before a command. Gives back the name of its state, if that is not on record yet.
    pub(crate) async fn checkpoint(&self) -> Option<String> {
        let mut ledger = self.0.ledger.lock().await;
        self.others(&mut ledger).await;
        if !self.0.recorded || ledger.name == ledger.recorded {
            return None;
        }
        ledger.recorded = ledger.name.clone();
        Some(ledger.name.clone())
    }

    /// What has changed by now is not of the command that is about to begin.
    async fn others(&self, ledger: &mut Ledger) {
        let found = self.look(ledger).await;
        if *self.running() > 0 {
            ledger.pending.extend(found);
        }
    }

    fn running(&self) -> MutexGuard<'_, usize> {
        lock(&self.0.running)
    }

    /// A command begins.
    pub(crate) async fn begin_command(&self, approval: Approval) -> Running {
        let mut ledger = self.0.ledger.lock().await;
        self.others(&mut ledger).await;
        self.add_command(approval)
    }

    /// A command goes on that has begun already.
    pub(crate) fn add_command(&self, approval: Approval) -> Running {
        *self.running() += 1;
        Running { inner: Arc::clone(&self.0), unguarded: approval == Approval::Full }
    }

    /// Whether all that a command would reach could be taken back. Looks first, at what is new since.
    pub(crate) async fn undo_for(&self, command: &str) -> Undo {
        if !self.0.recorded {
            // Its branch has what is committed, and the rest is a copy.
            return Undo::Holds;
        }
        self.others(&mut *self.0.ledger.lock().await).await;
        let Some(checkpoints) = self.checkpoints().await else { return Undo::Fails };
        if self.0.trouble.get().is_some() {
            return Undo::Fails;
        }
        let holds = undoable::holds(checkpoints, self.0.workspace.root(), &reach(command));
        if holds { Undo::Holds } else { Undo::Fails }
    }

    /// A command has ended: what it changed, and what else changed meanwhile.
    pub(crate) async fn end_command(&self, running: Running, touched: &Touched) -> Found {
        let mut ledger = self.0.ledger.lock().await;
        let mut changes = std::mem::take(&mut ledger.pending);
        if let Some(checkpoints) = self.checkpoints().await {
            let root = self.0.workspace.root();
            checkpoints.doubt(touched.paths.iter().filter_map(|path| path.strip_prefix(root).ok()));
        }
        changes.extend(self.look(&mut ledger).await);
        let Shares { mut own, mut named, mut rest } =
            Shares::of(folded(changes), touched, self.0.workspace.root());
        let uncertain: HashSet<String> = named.iter().map(|change| change.path.clone()).collect();
        own.append(&mut named);
        let mut found = Found { own, ..Found::default() };
        if !running.unguarded {
            self.put_back(&mut found).await;
        }
        // For what other programs act on naming is enough. Elsewhere what is not certain is left alone.
        rest.extend(found.own.extract_if(.., |change| uncertain.contains(&change.path)));
        // Only now: whoever looks next takes what is there for somebody else's.
        drop(running);
        if *self.running() > 0 {
            ledger.pending = rest;
        } else {
            found.meanwhile = rest;
        }
        drop(ledger);
        found.written.add_touched(self.0.workspace.root(), touched);
        found.written.add(&found.own);
        found.written.add(&found.meanwhile);
        self.measured_in(&mut found).await;
        if !self.0.recorded {
            found.own.clear();
            found.meanwhile.clear();
        }
        found
    }

    /// What changes say beyond their lines: tests that were lost, commits that were made.
    pub(crate) async fn told_by(&self, changes: &[Change]) -> Vec<Effect> {
        let telling = changes.iter().filter(|change| measured::is_telling(change));
        let telling: Vec<Change> = telling.take(MEASURED_CHANGES_MAX).cloned().collect();
        if telling.is_empty() {
            return Vec::new();
        }
        let Some(checkpoints) = self.checkpoints().await else { return Vec::new() };
        let contents = checkpoints.contents(&telling).await;
        let told = telling.iter().zip(contents).filter_map(|(change, contents)| {
            let (before, after) = contents?;
            Some(measured::told(change, &before, &after))
        });
        told.flatten().collect()
    }

    /// Adds what a receipt says of changes. The repository's own files are no part of the work.
    async fn measured_in(&self, found: &mut Found) {
        let Some(checkpoints) = self.checkpoints().await else { return };
        found.effects.extend(self.told_by(&found.own).await);
        // Whoever commits while a command runs: most likely the command.
        let log: Vec<Change> =
            found.meanwhile.iter().filter(|change| change.path.starts_with(".git/")).cloned().collect();
        found.effects.extend(self.told_by(&log).await);
        let sides =
            [(&found.own, Effect::File as fn(FileChange) -> Effect), (&found.meanwhile, Effect::NotCertain)];
        for (changes, effect) in sides {
            let of_the_work = |change: &&Change| !change.path.starts_with(".git/");
            let changes: Vec<Change> = changes.iter().filter(of_the_work).cloned().collect();
            let lines = checkpoints.lines(&changes).await;
            for (change, lines) in changes.into_iter().zip(lines) {
                let (lines_added, lines_removed) = lines.unwrap_or_default();
                let (path, created) = (change.path, change.before.is_none());
                found.effects.push(effect(FileChange { path, created, lines_added, lines_removed }));
            }
        }
    }

    /// A file tool is about to write this path.
    pub(crate) fn begin_file_write(&self, path: String) -> Writing {
        let mut writing = lock(&self.0.writing);
        *writing.entry(path.clone()).or_default() += 1;
        Writing(Arc::clone(&self.0), path)
    }

    /// Keeps what a file tool wrote.
    pub(crate) async fn keep(&self, rewrites: Vec<Rewrite>) -> Vec<Change> {
        if !self.0.recorded {
            return Vec::new();
        }
        let Some(checkpoints) = self.checkpoints().await else { return Vec::new() };
        let mut changes = Vec::new();
        for Rewrite { path, mode, before, after } in rewrites {
            let before = before.as_deref().map(|bytes| (bytes, mode));
            match checkpoints.keep(&path, before, Some((&after, mode))).await {
                Ok(change) => {
                    lock(&self.0.known).insert(path, change.after.clone());
                    changes.push(change);
                }
                Err(error) => self.could_not(&error),
            }
        }
        changes
    }

    /// The bytes that changes have left; none where they are not kept.
    pub(crate) async fn kept_bytes(&self, saved: &[Saved]) -> Result<Vec<Option<Vec<u8>>>, WorkspaceError> {
        match self.checkpoints().await {
            Some(checkpoints) => checkpoints.kept_bytes(saved).await,
            None => Ok(vec![None; saved.len()]),
        }
    }

    /// Merges a branch; what that brings in is nobody else's work.
    pub(crate) async fn merge(&self, into: &Workspace, branch: &Branch) -> Result<Merge, WorkspaceError> {
        let checkpoints = if self.0.recorded { self.checkpoints().await } else { None };
        let merged = worktree::merge(into, checkpoints, branch).await?;
        let now_there = merged.changes.iter().map(|change| (change.path.clone(), change.after.clone()));
        lock(&self.0.known).extend(now_there);
        Ok(merged)
    }
}

fn lock<T>(mutex: &SyncMutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
