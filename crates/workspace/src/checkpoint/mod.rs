//! Checkpoints: what the files of a workspace were, kept outside it, so that what changed is known and can be taken back.
//!
//! Contents are kept in a store of our own that no command can write. A look finds out what changed since the look before:
//! from what the kernel reported where it can watch, else by looking at everything. Kept is every file that git would not
//! ignore, small ignored files such as `.env`, and the state and the history of the workspace's repository. Must not know
//! agents: whose changes are undone is for the caller to say.

mod coverage;
mod diff;
pub(crate) mod folder;
mod found;
mod manifest;
mod read;
mod repository;
pub(crate) mod rules;
mod scan;
mod state;
mod undo;
mod watch;

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    fs::{self, File},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use posse_protocol::{Change, Conflict, Saved};
use sha2::{Digest, Sha256};
use tokio::sync::OwnedMutexGuard;

pub(crate) use manifest::{joined, split};

use crate::content_store::{ContentStore, parsed};
use crate::{
    Mode, Workspace, WorkspaceError,
    apply::{Keep, PathSteps, Policy, carry_out, preview},
    limits,
    shadow::{blocking, failed},
};
use folder::Top;
use found::{Side, saved};
use state::{LookContext, WatchState};

/// Is told now and then how many files were looked at.
pub type LookProgress = Arc<dyn Fn(usize) + Send + Sync>;

/// The kept state of one workspace: contents, what each file was when it was last looked at, and watches. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Checkpoints(Arc<Inner>);

struct Inner {
    /// Shared by all who have the workspace open in this process.
    store: Arc<ContentStore>,
    workspace: Workspace,
    top: Top,
    /// Where we keep things ourselves, if that is in the workspace.
    own: Option<PathBuf>,
    /// Held during every operation; goes on being held when nobody waits for it any more.
    turn: Arc<tokio::sync::Mutex<()>>,
    state: Mutex<WatchState>,
    /// What was kept since the last look began. Apart from the state, because whoever writes a file must not wait for a
    /// look.
    expected: Mutex<Vec<Expected>>,
    /// What is looked at next although nothing may be reported about it.
    doubted: Mutex<BTreeSet<Box<[u8]>>>,
    /// Tells the states of one opening from those of others.
    id: u64,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoints").field("store", &self.store.folder()).finish_non_exhaustive()
    }
}

/// What a look found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceLook {
    /// What changed since the last look, by anybody. What is below `.git/` is the repository's state; `.git/objects`
    /// stands for all of its history that is gone.
    pub changes: Vec<Change>,
    /// A name of the state; another one if anything changed.
    pub name: String,
    /// Why everything had to be looked at again, if so.
    pub everything: Option<&'static str>,
}

/// How much of a folder is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Covered {
    /// All below it.
    Everything,
    /// What git does not ignore.
    Known,
    /// What git tracks.
    Tracked,
}

/// What undoing came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// What undoing itself changed. Undoing that is doing it again.
    pub changes: Vec<Change>,
    /// What stayed as it is, because others changed the same lines since.
    pub conflicts: Vec<Conflict>,
}

/// A change in two parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitChange {
    /// What the chosen hunks changed.
    pub taken: Change,
    /// What the others changed before that.
    pub left: Change,
}

type Turn = OwnedMutexGuard<()>;
/// A path, what was there, and what is there since.
type Expected = (Box<[u8]>, Side, Side);

impl Checkpoints {
    /// Opens the store of a workspace, in a folder where those of many may be. Looks at no file of the workspace.
    pub async fn open(folder: &Path, workspace: &Workspace) -> Result<Self, WorkspaceError> {
        let (folder, workspace) = (folder.to_owned(), workspace.clone());
        let opened = blocking(move || {
            private(&folder)?;
            let folder = folder.canonicalize()?;
            let name = name_of(workspace.root());
            // What an earlier version kept is of no use any more.
            let _ = fs::remove_dir_all(folder.join(format!("{name}.git")));
            let store = shared(&folder.join(name))?;
            let own = folder.strip_prefix(workspace.root()).ok().map(Path::to_owned);
            let top = Top::open(workspace.root())?;
            let (turn, state, id) = (Arc::default(), Mutex::default(), fastrand::u64(..));
            let (expected, doubted) = (Mutex::default(), Mutex::default());
            Ok(Self(Arc::new(Inner { store, workspace, top, own, turn, state, expected, doubted, id })))
        });
        opened.await?.map_err(kept)
    }

    /// Brings what is kept up to what the files are now, and says what changed since the last look. The first one compares
    /// with nothing.
    pub async fn look(&self, told: Option<LookProgress>) -> Result<WorkspaceLook, WorkspaceError> {
        let turn = self.turn().await;
        let (_turn, everything) = self.look_in(turn, told).await?;
        let mut state = self.0.state();
        let changes = std::mem::take(&mut state.found);
        let name = format!("{:016x}-{}", self.0.id, state.version);
        Ok(WorkspaceLook { changes, name, everything })
    }

    /// Looks at these paths the next time, whatever is reported: what is written by a name that is gone again, or that is in
    /// a folder nobody watches, is reported for no other name of the file.
    pub fn doubt<'a>(&self, paths: impl Iterator<Item = &'a Path>) {
        lock(&self.0.doubted).extend(paths.map(|path| path.as_os_str().as_encoded_bytes().into()));
    }

    /// Looks at everything from the next look on, as where the system reports no changes.
    pub fn look_at_everything(&self) {
        self.0.state().unwatch("it was asked for");
    }

    async fn turn(&self) -> Turn {
        Arc::clone(&self.0.turn).lock_owned().await
    }

    /// Looks. What is found waits in the state until it is told: who stops waiting for this loses nothing.
    async fn look_in(
        &self,
        turn: Turn,
        told: Option<LookProgress>,
    ) -> Result<(Turn, Option<&'static str>), WorkspaceError> {
        let inner = Arc::clone(&self.0);
        for (path, before, after) in std::mem::take(&mut *lock(&inner.expected)) {
            inner.state().expect(&path, before, after);
        }
        let mut reported = inner.with_place(|place, state| state.reported(place));
        let doubted = std::mem::take(&mut *lock(&inner.doubted));
        if let Ok(reported) = &mut reported {
            let state = inner.state();
            let folders = state.manifest().map(|manifest| &manifest.folders);
            let splits = doubted.iter().map(|path| split(path));
            let known = splits.filter(|(folder, _)| folders.is_some_and(|known| known.contains_key(*folder)));
            known.for_each(|(folder, name)| reported.add(folder, name, false));
        }
        if reported.as_ref().is_ok_and(|reported| reported.names.is_empty()) {
            return Ok((turn, None));
        }
        let first = !inner.state().has_looked();
        let looked = blocking(move || {
            // Without this everything would seem to be gone.
            inner.top.folder(b"").and_then(|top| top.names()).map_err(kept)?;
            Ok((turn, inner.with_place(|place, state| state.look(place, reported, told))))
        });
        let looked = looked.await?;
        if first && looked.is_ok() {
            self.save_later();
        }
        looked
    }

    /// Saves what is known for the next session, when nothing else is to be done.
    fn save_later(&self) {
        let inner = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(limits::SAVE_AFTER_MS)).await;
            if let Some(inner) = inner.upgrade() {
                let _ = blocking(move || inner.save()).await;
            }
        });
    }

    /// Keeps a change that a file tool made and knows exactly. The next look does not report it again.
    pub async fn keep(
        &self,
        path: &str,
        before: Option<(&[u8], Mode)>,
        after: Option<(&[u8], Mode)>,
    ) -> Result<Change, WorkspaceError> {
        let side = |side: Option<(&[u8], Mode)>| -> Result<Side, WorkspaceError> {
            side.map(|(bytes, mode)| Ok((mode, self.0.store.put_one(bytes)?))).transpose()
        };
        let (before, after) = (side(before)?, side(after)?);
        // It may have been written through a link.
        let place = self.0.workspace.resolve(path).and_then(|path| self.0.workspace.place(&path));
        if let Ok(place) = place {
            lock(&self.0.expected).push((place.as_str().as_bytes().into(), before, after));
        }
        Ok(Change { path: path.to_owned(), before: saved(before), after: saved(after) })
    }

    /// Takes changes back, given oldest first. What others changed since stays.
    pub async fn undo(&self, changes: &[Change]) -> Result<Undone, WorkspaceError> {
        let turn = self.turn().await;
        // A state that cannot be looked at as a whole is no reason: what is overwritten is kept one by one.
        let _turn = match self.look_in(turn, None).await {
            Ok((turn, _)) => turn,
            Err(_) => self.turn().await,
        };
        let undone = undo::undo(&self.0, changes, undo::UndoEffect::Write).await?;
        self.0.expect(&undone.changes);
        Ok(undone)
    }

    /// What [`Self::undo`] would change now, and what it would leave as it is. The workspace stays as it is; contents are
    /// kept, so that the changes can be shown.
    pub async fn preview_undo(&self, changes: &[Change]) -> Result<Undone, WorkspaceError> {
        let _turn = self.turn().await;
        undo::undo(&self.0, changes, undo::UndoEffect::Preview).await
    }

    /// The part of a change that some of its hunks make, numbered from 1 as [`Self::diff`] shows them, and the part that stays
    /// without them. None if both sides are not kept as text, or there is no hunk of a number.
    pub async fn split_change(
        &self,
        change: &Change,
        hunks: &[u32],
    ) -> Result<Option<SplitChange>, WorkspaceError> {
        let (inner, change, wanted) = (Arc::clone(&self.0), change.clone(), hunks.to_vec());
        let split = blocking(move || {
            diff::without_hunks(&inner.store, &change, &wanted).map(|bytes| (change, bytes))
        });
        let Some((change, bytes)) = split.await? else { return Ok(None) };
        let mode = [&change.after, &change.before].into_iter().flatten().next().map(|side| side.mode.clone());
        let blob = self.0.store.keep(&[&bytes])?.into_iter().next();
        let between = mode.zip(blob).map(|(mode, blob)| Saved { mode, blob });
        // All of a file that came or went is the file itself, not an empty one.
        let between = match (&change.before, &change.after) {
            (None, _) | (_, None) if bytes.is_empty() => None,
            _ => between,
        };
        Ok(Some(SplitChange {
            taken: Change { path: change.path.clone(), before: between.clone(), after: change.after },
            left: Change { path: change.path, before: change.before, after: between },
        }))
    }

    /// What changes come to, as a unified diff of at most `bytes_max`: from what was there before the first of each path
    /// to what was there after the last.
    pub async fn diff(&self, changes: &[Change], bytes_max: usize) -> Result<String, WorkspaceError> {
        let (inner, changes) = (Arc::clone(&self.0), changes.to_vec());
        blocking(move || diff::diff(&inner.store, &changes, bytes_max)).await
    }

    /// Lines added and removed by each change; none where they cannot be counted.
    pub async fn lines(&self, changes: &[Change]) -> Vec<Option<(u32, u32)>> {
        let (inner, all) = (Arc::clone(&self.0), changes.to_vec());
        let counted = blocking(move || diff::lines(&inner.store, &all)).await;
        counted.unwrap_or_else(|_| vec![None; changes.len()])
    }

    /// What each change found and left, as bytes; none where that is not kept, binary, or too large to be read.
    pub async fn contents(&self, changes: &[Change]) -> Vec<Option<(Vec<u8>, Vec<u8>)>> {
        let (inner, all) = (Arc::clone(&self.0), changes.to_vec());
        let read = blocking(move || diff::contents(&inner.store, &all)).await;
        read.unwrap_or_else(|_| vec![None; changes.len()])
    }

    /// The bytes that changes have left, whatever they are; none where they are not kept.
    pub async fn kept_bytes(&self, saved: &[Saved]) -> Result<Vec<Option<Vec<u8>>>, WorkspaceError> {
        let (inner, all) = (Arc::clone(&self.0), saved.to_vec());
        let get =
            |store: &ContentStore, saved: &Saved| store.get(&crate::content_store::parsed(&saved.blob)?);
        blocking(move || all.iter().map(|saved| get(&inner.store, saved)).collect()).await
    }

    /// What cannot be taken back here, a short line each, for a person. Known after the first look.
    pub fn not_covered(&self) -> Vec<String> {
        self.0.state().coverage.lines(self.0.store.is_full())
    }

    /// Whether what is at a path, relative to the workspace or absolute, could be taken back if it were gone: a folder with
    /// all below it, or with what git does not ignore there. Known after the first look.
    pub fn covers(&self, path: &Path, extent: Covered) -> bool {
        let root = self.0.workspace.root();
        let full = root.join(path);
        let Ok(there) = full.symlink_metadata() else { return true };
        // Through links: what is outside, and what other programs act on by themselves, no command writes.
        let real = match (full.parent().map(Path::canonicalize), full.file_name()) {
            (Some(Ok(above)), Some(name)) => Ok(above.join(name)),
            _ => full.canonicalize(),
        };
        let Ok(real) = real else { return false };
        // All of it, where the workspace itself is in there.
        let Ok(real) = real.strip_prefix(root).or_else(|_| root.strip_prefix(&real).map(|_| Path::new("")))
        else {
            return true;
        };
        if posse_sandbox::protected_by(real).is_some() {
            return true;
        }
        let (state, inside) = (self.0.state(), real.as_os_str().as_encoded_bytes());
        let Some(manifest) = state.manifest() else { return false };
        if !there.is_dir() {
            let kept = |known: &manifest::KnownFile| known.seen.bytes <= limits::CHECKPOINT_FILE_BYTES_MAX;
            return manifest.get(inside).is_some_and(kept);
        }
        let there = |inside: &[u8]| root.join(folder::path_of(inside)).symlink_metadata().is_ok();
        let lacks = match extent {
            Covered::Everything => state.coverage.lacks_below(inside, there),
            Covered::Known => state.coverage.lacks_known_below(inside, there),
            Covered::Tracked => {
                let index = repository::index(&self.0.top);
                let tracked =
                    |inside: &[u8]| there(inside) && repository::may_track(index.as_deref(), inside);
                state.coverage.lacks_known_below(inside, tracked)
            }
        };
        manifest.folders.contains_key(inside) && !lacks
    }

    /// Whether all that the repository has stored could be taken back.
    pub fn covers_history(&self) -> bool {
        !self.0.state().coverage.lacks_history()
    }

    /// The names in a folder, relative to the workspace; none if it is no folder of it, or reached by a link.
    pub fn names_in(&self, folder: &Path) -> Option<Vec<String>> {
        let names = self.0.top.folder(folder.as_os_str().as_encoded_bytes()).ok()?.names().ok()?;
        Some(names.iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// Folders with files that have a name outside the workspace too, and how many. Known after the first look.
    pub fn linked_outside(&self) -> Vec<(PathBuf, usize)> {
        self.0.state().outside.clone()
    }

    /// Gives loose objects of the repository contents of their own where they share them by links with another one, as a
    /// local clone does: a command that writes them in place must not reach that one. Within a limit; says whether it is
    /// all of them.
    pub async fn part_objects(&self) -> bool {
        let inner = Arc::clone(&self.0);
        blocking(move || inner.part_objects()).await.unwrap_or(false)
    }

    /// Applies steps to the files, everything that is overwritten kept. For merging.
    pub(crate) async fn carry_out(
        &self,
        workspace: &Workspace,
        open: Vec<PathSteps>,
        writes: bool,
    ) -> Result<(Vec<Change>, Vec<Conflict>), WorkspaceError> {
        let _turn = self.turn().await;
        let keep = Keep::Store(&self.0.store);
        if !writes {
            return preview(workspace, open, Policy::Hunks, keep, &mut BTreeSet::new()).await;
        }
        let done = carry_out(workspace, open, Policy::Hunks, keep).await?;
        self.0.expect(&done.0);
        Ok(done)
    }
}

impl Inner {
    fn state(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_place<T>(&self, work: impl FnOnce(&LookContext<'_>, &mut WatchState) -> T) -> T {
        let hidden = |inside: &[u8]| {
            let inside = folder::path_of(inside);
            self.own.as_ref().is_some_and(|own| inside.starts_with(own)) || self.workspace.hides(inside)
        };
        work(&LookContext { top: &self.top, store: &self.store, hidden: &hidden }, &mut self.state())
    }

    /// What we did ourselves: a look does not report it.
    fn expect(&self, changes: &[Change]) {
        let side = |saved: &Option<posse_protocol::Saved>| -> Side {
            let saved = saved.as_ref()?;
            Some((Mode::parse(&saved.mode)?, parsed(&saved.blob)?))
        };
        let mut state = self.state();
        for change in changes {
            state.expect(change.path.as_bytes(), side(&change.before), side(&change.after));
        }
    }

    fn part_objects(&self) -> bool {
        let outside = self.state().outside.clone();
        let loose = outside.iter().filter(|(folder, _)| is_loose(folder));
        let mut bytes_left = limits::PARTED_BYTES_MAX;
        loose.into_iter().all(|(folder, _)| self.part(folder, &mut bytes_left).is_ok())
    }

    fn part(&self, folder: &Path, bytes_left: &mut u64) -> std::io::Result<()> {
        let folder = self.top.folder(folder.as_os_str().as_encoded_bytes())?;
        for (name, _) in folder.names()? {
            let (mut file, seen) = folder.open(&name)?;
            if seen.links > 1 {
                *bytes_left = bytes_left.checked_sub(seen.bytes).ok_or(std::io::ErrorKind::QuotaExceeded)?;
                let mut bytes = Vec::new();
                std::io::Read::read_to_end(&mut file, &mut bytes)?;
                folder.put(&name, &bytes, 0o444)?;
            }
        }
        Ok(())
    }

    fn save(&self) {
        let mut state = self.state();
        let unsaved = std::mem::take(&mut state.unsaved);
        if let Some(manifest) = state.manifest().filter(|_| unsaved) {
            // Without it the next session reads more than it would have to.
            let _ = manifest.save(&self.store.folder().join("manifest"));
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.save();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a folder that is for this user alone.
fn private(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Whether a folder is one of those that git has its loose objects in.
pub fn is_loose(folder: &Path) -> bool {
    let name = folder.strip_prefix(".git/objects").ok().and_then(Path::to_str);
    name.is_some_and(|name| name.len() == 2 && name.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// The store in a folder: the same one for everybody in this process.
fn shared(folder: &Path) -> std::io::Result<Arc<ContentStore>> {
    static STORES: Mutex<Option<HashMap<PathBuf, Weak<ContentStore>>>> = Mutex::new(None);
    let mut stores = STORES.lock().unwrap_or_else(PoisonError::into_inner);
    let stores = stores.get_or_insert_default();
    if let Some(store) = stores.get(folder).and_then(Weak::upgrade) {
        return Ok(store);
    }
    stores.retain(|_, store| store.strong_count() > 0);
    let store = Arc::new(ContentStore::open(folder)?);
    stores.insert(folder.to_owned(), Arc::downgrade(&store));
    Ok(store)
}

fn kept(error: std::io::Error) -> WorkspaceError {
    WorkspaceError::Kept(error.to_string())
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

/// A name for a workspace's store: people should recognise it, and it must be the only one.
fn name_of(root: &Path) -> String {
    let digest = Sha256::digest(root.as_os_str().as_encoded_bytes());
    let unique: String = digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let name = root.file_name().unwrap_or_default().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
    let name: String = name.chars().map(plain).take(40).collect();
    format!("{name}-{unique}")
}
