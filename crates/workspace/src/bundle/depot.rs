//! The side where the work is done: one repository for all that comes from one repository of one owner, and the folders of
//! the agents that work on it. Bundles go in, results come out; nothing else leads in or out.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tokio::sync::Mutex as Turn;

use super::{
    TakeLimits,
    checks::{Strictness, WantedBundle},
    incoming::{BundleFile, IncomingBundle},
    pack::write,
    scrub::open_up,
    slots::{DepotCheckout, DepotSlots, is_past},
};
use crate::{
    Entry, Expect, Workspace, WorkspaceError, WorkspacePath,
    checkpoint::{folder::Top, locked},
    git::{GitError, call::Git, plain},
    guard::is_of_git,
    limits,
    locks::Locks,
    repository::Repository,
    shadow::{Shadow, blocking, checked, failed, replace},
    worktree::record::view_of,
};

/// What keeps commits that came from home.
const BASES: &str = "refs/posse/bases/";

/// One at a time takes in a bundle of a commit.
static RECEIVED: Locks<Turn<()>> = Locks::new();

/// See the module. There is one for a folder at a time, in all processes.
#[derive(Debug)]
pub struct Depot {
    folder: PathBuf,
    repository: Repository,
    slots: DepotSlots,
    /// The repository's settings as they are to be: agents can write there.
    settings: Vec<u8>,
    /// The references that keep commits from home, once they were looked for.
    bases: Mutex<Option<Vec<(String, String)>>>,
    /// Held as long as this is there.
    _lock: fs::File,
}

impl Depot {
    /// Opens a depot, or makes it. What a crash left is dealt with: the work of agents is committed, half-made folders go.
    pub async fn open(folder: &Path, sha256: bool) -> Result<Self, WorkspaceError> {
        let (top, into, incoming) =
            (folder.join("repository"), folder.join("checkouts"), folder.join("incoming"));
        // What was on its way in when the last one ended is of no use.
        let lock = match fs::create_dir_all(folder) {
            Ok(()) => locked(&folder.join("posse.lock"), "the depot").await?,
            Err(error) => return Err(failed(error)),
        };
        let _ = fs::remove_dir_all(&incoming);
        for made in [&top, &into, &incoming] {
            fs::create_dir_all(made).map_err(failed)?;
        }
        let folder = folder.canonicalize().map_err(failed)?;
        let (top, into) = (folder.join("repository"), folder.join("checkouts"));
        let format = if sha256 { "sha256" } else { "sha1" };
        let kept = folder.join("settings");
        if !kept.exists() {
            let _ = fs::remove_dir_all(top.join(".git"));
            let format = format!("--object-format={format}");
            let init = ["init", "--quiet", "--initial-branch=posse", &format, "."];
            Git::at(&top).writes(&top).run_through(&init).await?;
            // Last: it says that all is there.
            replace(&kept, &fs::read_to_string(top.join(".git/config")).map_err(failed)?)?;
        }
        let settings = fs::read(&kept).map_err(failed)?;
        put_right(&top.join(".git"), &settings).map_err(failed)?;
        let repository = Repository::of(&top).await?;
        if repository.format != format {
            return Err(GitError::OtherRepository.into());
        }
        let git_dir = view_of(&into);
        let view = Shadow { index: git_dir.join("session.index"), work_tree: top, objects: None, git_dir };
        view.prepare(format, "").await?;
        let slots = DepotSlots::open(repository.clone(), into).await?;
        Ok(Self { folder, repository, slots, settings, bases: Mutex::default(), _lock: lock })
    }

    /// Where it is.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Commits whose whole history is here, those that came last first.
    pub async fn has(&self) -> Result<Vec<String>, WorkspaceError> {
        let mut found: Vec<String> = Vec::new();
        for (_, commit) in self.bases().await? {
            if !found.contains(&commit) && found.len() < limits::DEPOT_BASES_MAX {
                found.push(commit);
            }
        }
        Ok(found)
    }

    /// Takes a bundle of `base`. It is a stranger's: if anything about it is wrong, nothing of it stays. If the commit is here
    /// already, nobody looks into the bundle.
    pub async fn receive(&self, bundle: &Path, base: &str, limits: TakeLimits) -> Result<(), WorkspaceError> {
        checked(base)?;
        // Agents that begin at the same time come with the same commit, each in a bundle of its own.
        let turn = RECEIVED.of(&self.folder.join(base));
        let _turn = turn.lock().await;
        let within = self.folder.join("incoming");
        let known = self.has().await?;
        if known.iter().any(|commit| commit == base) {
            return Ok(());
        }
        let bundle = BundleFile::read(&self.repository, bundle, &limits)?;
        let wanted = WantedBundle { tip: base, base: None, known: &known, branch: None, shown_from: None };
        let (incoming, _) =
            IncomingBundle::open(&self.repository, bundle, &within, Strictness::History, limits, wanted)
                .await?;
        let (moves, kept) = remembering(base, &self.bases().await?);
        *self.known_bases() = None;
        incoming.move_into_repository(moves).await?;
        *self.known_bases() = Some(kept);
        Ok(())
    }

    /// Makes a folder for one agent, with the files of `base`; `inside` is what stands for the session's folder in it. The
    /// folder of an agent that was here before is used again, without anything of that agent.
    pub async fn check_out(
        &self,
        base: &str,
        inside: &str,
        name: &str,
    ) -> Result<DepotCheckout, WorkspaceError> {
        let (common, settings) = (self.repository.common.clone(), self.settings.clone());
        blocking(move || put_right(&common, &settings)).await?.map_err(failed)?;
        let known = self.bases().await?;
        // One that came from home is there for certain; others may be before one.
        if !known.iter().any(|(_, commit)| commit == base) {
            let there = self.repository.commit_of(checked(base)?).await?;
            let contains = format!("--contains={base}");
            let holding = ["for-each-ref", "--count=1", "--format=%(refname)", &contains, "refs/posse/"];
            if there.is_none() || self.repository.git().large().text(&holding).await?.is_empty() {
                return Err(GitError::NoSuchCommit.into());
            }
        }
        self.remember(base, &known).await?;
        let checked_out = self.slots.check_out(base, inside, name).await;
        if checked_out.is_err() {
            // An agent may have removed what it needs.
            *self.known_bases() = None;
        }
        checked_out
    }

    /// Writes or removes files before an agent goes on, by their paths relative to the session's folder. No link is followed,
    /// and nothing is written in git's own folder.
    pub async fn put_files(
        &self,
        checkout: &DepotCheckout,
        files: Vec<(String, Option<Entry>)>,
    ) -> Result<(), WorkspaceError> {
        if files.len() > limits::DEPOT_FILES_MAX {
            return Err(GitError::TooMuch { call: "put".to_owned() }.into());
        }
        let mut wanted = Vec::new();
        for (path, entry) in files {
            let exact = WorkspacePath::exactly(&path).filter(|path| !is_of_git(path.as_path()));
            wanted.push((exact.ok_or(WorkspaceError::Outside { path })?, entry));
        }
        let folder = checkout.folder.clone();
        let put = move || {
            let workspace = Workspace::open(&folder)?;
            let _writing = workspace.writing();
            // What goes may be where something else is to be.
            wanted.sort_by_key(|(_, entry)| entry.is_some());
            for (path, entry) in &wanted {
                match workspace.put_unguarded(path, entry.as_ref(), Expect::Anything, false) {
                    Err(WorkspaceError::Missing { .. }) if entry.is_none() => {}
                    put => put?,
                }
            }
            Ok(())
        };
        blocking(put).await?
    }

    /// Commits all work of an agent, also what it committed itself, on any branch or none. The commit descends from the base
    /// and stays until [`Self::release`] lets go of it. None if nothing was changed. The agent may go on afterwards.
    pub async fn finish(
        &self,
        checkout: &DepotCheckout,
        message: &str,
    ) -> Result<Option<String>, WorkspaceError> {
        self.slots.finish(checkout, message).await
    }

    /// Writes a bundle of what leads from `base` to `tip` to the file `to`, and says how long it is.
    pub async fn pack_result(&self, base: &str, tip: &str, to: &Path) -> Result<u64, WorkspaceError> {
        write(&self.repository, checked(tip)?, &[checked(base)?.to_owned()], to).await
    }

    /// Ends a checkout. Its folder waits for the next agent, or goes; what is not committed is lost. Its result stays, unless
    /// whoever it was for has it.
    pub async fn release(&self, checkout: DepotCheckout, forget_result: bool) -> Result<(), WorkspaceError> {
        self.slots.release(&checkout, forget_result).await
    }

    /// Ends a checkout whose work could not be committed: its folder stays as it is, for a person to look at. When the depot is
    /// opened next, it is tried again. There is room for a few such folders.
    pub fn leave(&self, checkout: &DepotCheckout) -> Result<(), WorkspaceError> {
        self.slots.leave(checkout)
    }

    /// The results that are kept: their names and commits.
    pub async fn results(&self) -> Result<Vec<(String, String)>, WorkspaceError> {
        let listed = self.listed("refs/posse/results/").await?;
        let named = |(name, commit): (String, String)| {
            Some((name.strip_prefix("refs/posse/results/")?.to_owned(), commit))
        };
        Ok(listed.into_iter().filter_map(named).collect())
    }

    /// Whether it holds work that nobody has fetched, or somebody works here.
    pub async fn has_work(&self) -> Result<bool, WorkspaceError> {
        Ok(self.slots.in_use() || !self.results().await?.is_empty())
    }

    /// Lets go of work that nobody has fetched for so long. A result counts from when it was first seen here: the times of commits
    /// are what agents say.
    pub async fn forget_work(&self, kept_for: Duration) -> Result<(), WorkspaceError> {
        self.slots.forget_left(kept_for).await?;
        let marks = self.folder.join("results");
        fs::create_dir_all(&marks).map_err(failed)?;
        let (results, mut gone) = (self.results().await?, String::new());
        for (name, _) in &results {
            // One that no file can be called by is an agent's own.
            let is_ours = !name.contains('/');
            let seen = fs::metadata(marks.join(name)).and_then(|mark| mark.modified());
            if !is_ours || seen.as_ref().is_ok_and(|seen| is_past(*seen, kept_for)) {
                gone += &format!("delete refs/posse/results/{name}\n");
            } else if seen.is_err() {
                fs::write(marks.join(name), "").map_err(failed)?;
            }
        }
        for mark in fs::read_dir(&marks).map_err(failed)?.flatten() {
            if !results.iter().any(|(name, _)| mark.file_name() == name.as_str()) {
                let _ = fs::remove_file(mark.path());
            }
        }
        self.update(gone).await
    }

    /// How much room it takes on the disk.
    pub async fn size_bytes(&self) -> Result<u64, WorkspaceError> {
        Self::size_of(&self.folder).await
    }

    /// The same of one that is not open.
    pub async fn size_of(folder: &Path) -> Result<u64, WorkspaceError> {
        let folder = folder.to_owned();
        blocking(move || size_of(&folder)).await?.map_err(failed)
    }

    /// Removes one that is not open, with all that it holds.
    pub async fn erase(folder: &Path) -> Result<(), WorkspaceError> {
        let folder = folder.to_owned();
        let erase = move || {
            fs::remove_dir_all(&folder).or_else(|_| {
                // An agent can close folders.
                let _ = open_up(&folder);
                fs::remove_dir_all(&folder)
            })
        };
        blocking(erase).await?.map_err(failed)
    }

    /// Makes it smaller if it is larger than `keep_bytes`: first folders that wait go, then old commits. What agents work on,
    /// results and the newest commit stay. Says how large it is then.
    pub async fn prune(&self, keep_bytes: u64) -> Result<u64, WorkspaceError> {
        if self.size_bytes().await? <= keep_bytes {
            return self.size_bytes().await;
        }
        self.slots.empty_pool().await?;
        let bases = self.bases().await?;
        if self.size_bytes().await? > keep_bytes && !self.slots.in_use() {
            self.update(deleting(bases.iter().skip(1))).await?;
            let git = || self.repository.writing().large().time_ms_max(limits::BUNDLE_TIME_MS_MAX);
            git().run_through(&["repack", "-a", "-d", "-q"]).await?;
            git().run_through(&["prune", "--expire=now"]).await?;
        }
        self.size_bytes().await
    }

    /// The references that keep commits from home, the newest first: their names begin with the time.
    async fn bases(&self) -> Result<Vec<(String, String)>, WorkspaceError> {
        if let Some(known) = &*self.known_bases() {
            return Ok(known.clone());
        }
        let listed = self.listed(BASES).await?;
        *self.known_bases() = Some(listed.clone());
        Ok(listed)
    }

    fn known_bases(&self) -> MutexGuard<'_, Option<Vec<(String, String)>>> {
        self.bases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn listed(&self, within: &str) -> Result<Vec<(String, String)>, WorkspaceError> {
        let words = ["for-each-ref", "--sort=-refname", "--format=%(refname) %(objectname)", within];
        let listed = self.repository.git().text(&words).await?;
        let pairs = listed.lines().filter_map(|line| line.split_once(' '));
        Ok(pairs.map(|(name, commit)| (name.to_owned(), commit.to_owned())).collect())
    }

    /// Keeps a commit as the newest beside those that are known, and lets go of the oldest.
    async fn remember(&self, base: &str, known: &[(String, String)]) -> Result<(), WorkspaceError> {
        let (moves, kept) = remembering(base, known);
        self.update(moves).await?;
        *self.known_bases() = Some(kept);
        Ok(())
    }

    /// Moves references, as `update-ref --stdin` reads it.
    async fn update(&self, moves: String) -> Result<(), WorkspaceError> {
        if moves.is_empty() {
            return Ok(());
        }
        *self.known_bases() = None;
        self.repository.move_references(moves).await
    }
}

/// What is to be done so that a commit is kept as the newest beside those that are known, and what is known then.
fn remembering(base: &str, known: &[(String, String)]) -> (String, Vec<(String, String)>) {
    if known.first().is_some_and(|(_, commit)| commit == base) {
        return (String::new(), known.to_vec());
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |past| past.as_millis());
    let reference = format!("{BASES}{now:016}-{base}");
    let (mut gone, mut kept): (Vec<_>, Vec<_>) =
        known.iter().cloned().partition(|(_, commit)| commit == base);
    gone.extend(kept.drain(kept.len().min(limits::DEPOT_BASES_MAX - 1)..));
    let moves = format!("update {reference} {base}\n") + &deleting(gone.iter());
    kept.insert(0, (reference, base.to_owned()));
    (moves, kept)
}

fn deleting<'n>(gone: impl Iterator<Item = &'n (String, String)>) -> String {
    gone.map(|(name, _)| format!("delete {name}\n")).collect()
}

/// Brings back what has a say in what git does, should an agent have changed it.
fn put_right(common: &Path, settings: &[u8]) -> std::io::Result<()> {
    let top = Top::open(common)?;
    let folder = top.folder(b"")?;
    if plain::bytes(&common.join("config"), limits::SETTINGS_BYTES_MAX).as_deref() != Some(settings) {
        folder.put(b"config", settings, 0o666)?;
    }
    for name in ["config.worktree", "shallow", "hooks", "info", "modules"] {
        let Some(seen) = folder.look(name.as_bytes())? else { continue };
        // An empty folder may be there to be covered while a command runs.
        let empty = seen.is_folder() && folder.folder(name.as_bytes())?.names_up_to(1)?.is_empty();
        match seen.is_folder() {
            true if empty => {}
            true => folder.remove_all(name.as_bytes())?,
            false => folder.remove(name.as_bytes())?,
        }
    }
    let borrowed = top.folder(b"objects/info").and_then(|info| info.remove(b"alternates"));
    match borrowed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The files in a folder, all together.
fn size_of(folder: &Path) -> std::io::Result<u64> {
    let top = Top::open(folder)?;
    let (mut sum, mut folders) = (0_u64, vec![Vec::new()]);
    while let Some(inside) = folders.pop() {
        let Ok(opened) = top.folder(&inside) else { continue };
        for (name, _) in opened.names()? {
            let Ok(Some(seen)) = opened.look(&name) else { continue };
            if seen.is_folder() {
                let path =
                    if inside.is_empty() { name.to_vec() } else { [&inside[..], b"/", &name].concat() };
                folders.push(path);
            } else {
                sum = sum.saturating_add(seen.bytes);
            }
        }
    }
    Ok(sum)
}
