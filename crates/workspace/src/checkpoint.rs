//! Checkpoints: what the files of a workspace were, kept in a shadow repository outside the person's own.
//!
//! A checkpoint is a commit of every file that git would not ignore, byte for byte, and of small ignored files such as
//! `.env`. Files of nested repositories are in it as plain files. Contents that the person's repository holds already
//! are not copied: the shadow repository reads them there, so they last as long as they do there. Must not know agents:
//! whose changes are undone is for the caller to say.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use posse_protocol::{Change, Conflict, Saved};
use sha2::{Digest, Sha256};
use tokio::sync::{Mutex, MutexGuard};

use crate::{
    Mode, Workspace, WorkspaceError, WorkspacePath,
    apply::{Keep, Policy, Steps, carry_out, conflict},
    excludes, limits,
    locks::Locks,
    shadow::{Shadow, checked, entry_of, failed, replace},
    staging::Staging,
    worktree::Repository,
};

/// What all checkpoints are reachable from.
const LINE: &str = "refs/heads/posse";

static SHADOWS: Locks<Mutex<Option<Snapshot>>> = Locks::new();

/// The checkpoints of one workspace. Cheap to clone. One operation at a time, whoever else has them open.
#[derive(Clone, Debug)]
pub struct Checkpoints(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    shadow: Shadow,
    workspace: Workspace,
    /// Held during every operation of this process; holds the last checkpoint.
    last: Arc<Mutex<Option<Snapshot>>>,
}

/// One checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// What keeps it.
    pub commit: String,
    /// What it holds.
    pub tree: String,
    /// Some of the files that are no part of it although they are not ignored: too large, or not to be read.
    pub left_out: Vec<String>,
}

/// What undoing came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// What undoing itself changed. Undoing that is doing it again.
    pub changes: Vec<Change>,
    /// What stayed as it is, because others changed the same lines since.
    pub conflicts: Vec<Conflict>,
}

/// Ends the turn of this process when it is dropped.
struct Turn<'a> {
    last: MutexGuard<'a, Option<Snapshot>>,
    _file: File,
}

impl Checkpoints {
    /// Opens the checkpoints of a workspace, in a folder where those of many may be.
    pub async fn open(folder: &Path, workspace: &Workspace) -> Result<Self, WorkspaceError> {
        fs::create_dir_all(folder).map_err(failed)?;
        let folder = folder.canonicalize().map_err(failed)?;
        let git_dir = folder.join(name_of(workspace.root()));
        fs::create_dir_all(&git_dir).map_err(failed)?;
        let shadow = Shadow {
            index: git_dir.join("posse.index"),
            work_tree: workspace.root().to_owned(),
            objects: None,
            git_dir,
        };
        let last = SHADOWS.of(&shadow.git_dir);
        let opened = Self(Arc::new(Inner { shadow, workspace: workspace.clone(), last }));
        let turn = opened.turn().await?;
        opened.prepare(&folder).await?;
        drop(turn);
        Ok(opened)
    }

    /// Saves what the files are now. If nothing changed since the last time, that is the checkpoint.
    pub async fn save(&self, label: &str) -> Result<Snapshot, WorkspaceError> {
        let mut turn = self.turn().await?;
        self.save_in(&mut turn, label).await
    }

    /// What changed between two checkpoints, in the order of paths. Paths that are not UTF-8 are not among them.
    pub async fn changes(&self, from: &Snapshot, to: &Snapshot) -> Result<Vec<Change>, WorkspaceError> {
        if from.tree == to.tree {
            return Ok(Vec::new());
        }
        Ok(self.0.shadow.differences(&from.tree, &to.tree).await?.changes)
    }

    /// Keeps a change that is known exactly: what was there and what is there since.
    pub async fn keep(
        &self,
        path: &str,
        before: Option<(&[u8], Mode)>,
        after: Option<(&[u8], Mode)>,
    ) -> Result<Change, WorkspaceError> {
        let contents: Vec<&[u8]> = [before, after].into_iter().flatten().map(|(bytes, _)| bytes).collect();
        let turn = self.turn().await?;
        let mut names = self.0.shadow.store(&contents).await?.into_iter();
        drop(turn);
        let mut side = |side: Option<(&[u8], Mode)>| {
            side.and_then(|(_, mode)| Some(Saved { mode: mode.as_str().to_owned(), blob: names.next()? }))
        };
        Ok(Change { path: path.to_owned(), before: side(before), after: side(after) })
    }

    /// Takes changes back, given oldest first. What others changed since stays.
    pub async fn undo(&self, changes: &[Change]) -> Result<Undone, WorkspaceError> {
        let mut turn = self.turn().await?;
        // A state that cannot be saved as a whole is no reason: what is overwritten is kept one by one.
        let _ = self.save_in(&mut turn, "before undoing").await;
        let mut blobs = BTreeSet::new();
        for side in changes.iter().flat_map(|change| [&change.before, &change.after]).flatten() {
            blobs.insert(checked(&side.blob)?);
        }
        let contents = self.0.shadow.read(&blobs).await?;
        let mut undone = Undone::default();
        let mut open = Vec::new();
        for (path, backwards) in backwards(changes) {
            let Some(path) = WorkspacePath::exactly(path) else {
                let text = "it is no path within the workspace".to_owned();
                undone.conflicts.push(Conflict { path: path.to_owned(), text });
                continue;
            };
            let steps = backwards
                .into_iter()
                .map(|(from, to)| Ok((entry_of(from, &contents)?, entry_of(to, &contents)?)))
                .collect();
            match steps {
                Ok(steps) => open.push(Steps { path, steps }),
                Err(why) => {
                    let why: &str = why;
                    undone.conflicts.push(conflict(&path, why.to_owned()));
                }
            }
        }
        let done = carry_out(&self.0.workspace, open, Policy::Whole, Keep::Shadow(&self.0.shadow)).await?;
        undone.changes = done.0;
        undone.conflicts.extend(done.1);
        Ok(undone)
    }

    /// What changes come to, as a unified diff of at most `bytes_max`: from what was there before the first of each path
    /// to what was there after the last.
    pub async fn diff(&self, changes: &[Change], bytes_max: usize) -> Result<String, WorkspaceError> {
        let mut paths: BTreeMap<&str, (&Option<Saved>, &Option<Saved>)> = BTreeMap::new();
        for change in changes {
            paths.entry(&change.path).or_insert((&change.before, &change.after)).1 = &change.after;
        }
        let (mut before, mut after) = (Vec::new(), Vec::new());
        for (path, (first, last)) in &paths {
            before.extend(first.as_ref().map(|saved| (*path, saved)));
            after.extend(last.as_ref().map(|saved| (*path, saved)));
        }
        let shadow = &self.0.shadow;
        let (before, after) = (shadow.tree_of(&before).await?, shadow.tree_of(&after).await?);
        shadow.patch(&before, &after, bytes_max).await
    }

    /// Applies steps to the files, everything that is overwritten kept. For merging.
    pub(crate) async fn carry_out(
        &self,
        workspace: &Workspace,
        open: Vec<Steps>,
        label: &str,
    ) -> Result<(Vec<Change>, Vec<Conflict>), WorkspaceError> {
        let mut turn = self.turn().await?;
        let _ = self.save_in(&mut turn, label).await;
        carry_out(workspace, open, Policy::Hunks, Keep::Shadow(&self.0.shadow)).await
    }

    async fn prepare(&self, folder: &Path) -> Result<(), WorkspaceError> {
        let shadow = &self.0.shadow;
        let root = self.0.workspace.root();
        let mut excludes = String::new();
        let repository = Repository::of(root).await.ok().filter(|found| found.format == "sha1");
        if let Some(found) = &repository {
            excludes = excludes::from_above(root, &found.top, &found.common.join("info/exclude"));
        }
        if let Ok(inside) = folder.strip_prefix(root) {
            excludes.push_str(&format!("/{}/\n", inside.display()));
        }
        shadow.prepare("sha1", &excludes).await?;
        if let Some(found) = repository {
            let objects = found.common.join("objects").display().to_string();
            if !objects.contains('\n') {
                let alternates = shadow.git_dir.join("objects/info/alternates");
                fs::create_dir_all(shadow.git_dir.join("objects/info")).map_err(failed)?;
                // What was read there once may be needed again, even if the repository moved since.
                let known = fs::read_to_string(&alternates).unwrap_or_default();
                if !known.lines().any(|line| line == objects) {
                    replace(&alternates, &format!("{known}{objects}\n"))?;
                }
            }
        }
        Ok(())
    }

    async fn save_in(&self, turn: &mut Turn<'_>, label: &str) -> Result<Snapshot, WorkspaceError> {
        let shadow = &self.0.shadow;
        let staging = Staging {
            ignored: true,
            file_bytes_max: Some(limits::CHECKPOINT_FILE_BYTES_MAX),
            ..Staging::default()
        };
        let staged = shadow.stage(&staging).await?;
        let newest = fs::read_to_string(shadow.git_dir.join(LINE)).unwrap_or_default().trim().to_owned();
        // Another process may have saved since.
        if let Some(last) =
            turn.last.as_ref().filter(|last| last.commit == newest && last.tree == staged.tree)
        {
            return Ok(Snapshot { left_out: staged.left_out, ..last.clone() });
        }
        let parents: Vec<&str> = if newest.is_empty() { Vec::new() } else { vec![checked(&newest)?] };
        let commit = shadow.commit(&staged.tree, &parents, label).await?;
        let _ = fs::remove_file(shadow.git_dir.join(format!("{LINE}.lock")));
        shadow.git()?.text(&["update-ref", LINE, &commit]).await?;
        let snapshot = Snapshot { commit, tree: staged.tree, left_out: staged.left_out };
        *turn.last = Some(snapshot.clone());
        Ok(snapshot)
    }

    /// Waits until nobody else works on these checkpoints, here or in another process.
    async fn turn(&self) -> Result<Turn<'_>, WorkspaceError> {
        let last = self.0.last.lock().await;
        let file = locked(&self.0.shadow.git_dir.join("posse.lock"), "the checkpoints").await?;
        Ok(Turn { last, _file: file })
    }
}

/// A file that only one process at a time can have; given back when it is dropped or the process dies.
pub(crate) async fn locked(path: &Path, what: &str) -> Result<File, WorkspaceError> {
    let file = File::options().create(true).append(true).open(path).map_err(failed)?;
    let began = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::Error(error)) => return Err(failed(error)),
            Err(fs::TryLockError::WouldBlock) => {}
        }
        if began.elapsed() > Duration::from_millis(limits::LOCK_WAIT_MS_MAX) {
            return Err(WorkspaceError::Busy { what: what.to_owned() });
        }
        tokio::time::sleep(Duration::from_millis(limits::LOCK_POLL_MS)).await;
    }
}

type Sides<'a> = (Option<&'a Saved>, Option<&'a Saved>);

/// For each path, what leads back, newest first. Changes that follow each other directly are one.
fn backwards(changes: &[Change]) -> BTreeMap<&str, Vec<Sides<'_>>> {
    let mut paths: BTreeMap<&str, Vec<Sides<'_>>> = BTreeMap::new();
    for change in changes.iter().rev() {
        let (before, after) = (change.before.as_ref(), change.after.as_ref());
        let steps = paths.entry(&change.path).or_default();
        match steps.last_mut() {
            Some(last) if last.1 == after => last.1 = before,
            _ => steps.push((after, before)),
        }
    }
    paths
}

/// A name for a workspace's shadow repository: people should recognise it, and it must be the only one.
fn name_of(root: &Path) -> PathBuf {
    let digest = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let unique: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let name: String = name.chars().map(plain).take(40).collect();
    PathBuf::from(format!("{name}-{unique}.git"))
}
