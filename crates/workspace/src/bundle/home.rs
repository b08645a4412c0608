//! The side where the session is: its files as they are now, on their way to a worker, and the worker's result, as a branch.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use posse_protocol::{Branch, FileChange};
use tokio::sync::Mutex as Turn;

use super::{
    TakeLimits,
    checks::{Answers, Strictness, WantedBundle},
    commit_files::CommitFiles,
    incoming::{BundleFile, IncomingBundle},
    pack::write,
    scratch::Scratch,
    unsent::{ignored, unsent},
};
use crate::{
    WorkspaceError,
    checkpoint::folder::Top,
    git::{GitError, plain},
    limits,
    locks::{Locks, Together},
    repository::Repository,
    shadow::{blocking, checked, failed, replace},
    text::cut,
    worktree::{
        CheckoutPlace, SessionLook, changes_listed, commit_files, look, made, own,
        record::{must_be_ours, view_of},
        shared_by,
    },
};

/// What a worker has to be told of a session's files beside the bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// The commit of the session's files as they were, uncommitted work included.
    pub base: String,
    /// The commit that the repository itself is at; none if there is no commit yet.
    pub head: Option<String>,
    /// The session's folder within its repository, with `/` between parts; empty at the top.
    pub inside: String,
    /// Whether objects are named by SHA-256; otherwise by SHA-1.
    pub sha256: bool,
}

/// A session's files at one moment, as a commit.
#[derive(Debug)]
pub struct SessionSnapshot {
    /// What is told of it.
    pub sent: Sent,
    shared: Arc<SharedSnapshot>,
    have: Vec<String>,
}

/// What all snapshots have in common that were asked for at the same time.
#[derive(Debug)]
struct SharedSnapshot {
    repository: Repository,
    base: String,
    head: Option<String>,
    not_sent: Vec<String>,
    into: PathBuf,
    /// The bundles that were written for them, by what the other side has, and how long they are.
    packed: Turn<HashMap<Vec<String>, (Scratch, u64)>>,
}

static SNAPSHOTS: Locks<Together<SharedSnapshot>> = Locks::new();

/// Makes a commit of the session's files as they are now, which stays until work is taken in or [`forget_sent`]. Untracked files
/// are in it, ignored ones are not. Nobody else may use `into` for anything but checkouts; `branch` is the one that the result
/// will come back on; `have` are commits that the other side has. The same files make the same commit again.
pub async fn snapshot(
    session_folder: &Path,
    into: &Path,
    branch: &str,
    have: &[String],
) -> Result<SessionSnapshot, WorkspaceError> {
    let (reference, into) = (reference_of(branch)?, made(into)?);
    commits_of(have)?;
    let snapshots = SNAPSHOTS.of(&shared_by(&into, session_folder));
    let shared = snapshots.share(SharedSnapshot::take(session_folder, &into)).await?;
    let SharedSnapshot { repository, base, head, .. } = &*shared;
    let place = CheckoutPlace::new(repository, session_folder, into, branch)?;
    let inside = place.inside.to_str().ok_or(GitError::UnusableName)?.to_owned();
    plain::remove_lock(&repository.common, &reference);
    repository.move_references(format!("update {reference} {base}\n")).await?;
    let sha256 = repository.format == "sha256";
    let sent = Sent { base: base.clone(), head: head.clone(), inside, sha256 };
    Ok(SessionSnapshot { sent, shared, have: have.to_vec() })
}

impl SharedSnapshot {
    async fn take(session_folder: &Path, into: &Path) -> Result<Self, WorkspaceError> {
        let last = LastSnapshot::read(into);
        let commit = last.as_ref().map_or("", |last| last.commit.as_str());
        let names = ["HEAD^{commit}", "HEAD^{tree}", &format!("{commit}^{{commit}}")];
        let SessionLook { repository, files, named, records } =
            look(session_folder, into, &names, Some(ignored())).await?;
        let mut named = named.into_iter();
        let (head, tree, last_there) =
            (named.next().flatten(), named.next().flatten(), named.next().flatten());
        let whole_history = has_whole_history(&repository.common);
        let parent = head.clone().filter(|_| whole_history);
        let base = match (&parent, last) {
            (Some(head), _) if tree.as_ref() == Some(&files.tree) => head.clone(),
            (_, Some(last)) if last_there.is_some() && last.is_of(&files.tree, parent.as_deref()) => {
                last.commit
            }
            _ => {
                let commit = commit_files(&repository, into, &files.tree, parent.as_deref()).await?;
                let tree = files.tree.clone();
                LastSnapshot { tree, parent, commit: commit.clone() }.write(into)?;
                commit
            }
        };
        let not_sent = unsent(&repository, into, &files, &records, whole_history).await?;
        let (into, packed) = (into.to_owned(), Turn::default());
        Ok(Self { repository, base, head, not_sent, into, packed })
    }
}

impl SessionSnapshot {
    /// What is not there at the worker's, a plain sentence each.
    pub fn not_sent(&self) -> &[String] {
        &self.shared.not_sent
    }

    /// The same as [`pack`], for the side that was asked for what it has.
    pub async fn pack(&self, commit: &str, to: &Path) -> Result<u64, WorkspaceError> {
        let SharedSnapshot { repository, base, into, packed, .. } = &*self.shared;
        if commit != base || self.have.iter().any(|known| known == commit) {
            return pack_in(repository, commit, &self.have, to).await;
        }
        // Those that begin at the same time mostly go to workers that have the same.
        let mut packed = packed.lock().await;
        let (written, bytes) = match packed.get(&self.have) {
            Some(known) => known,
            None => {
                let (scratch, _) = Scratch::beside(&view_of(into).join("bundle"))?;
                let bytes = pack_in(repository, commit, &self.have, scratch.path()).await?;
                packed.entry(self.have.clone()).or_insert((scratch, bytes))
            }
        };
        let (from, to, bytes) = (written.path().to_owned(), to.to_owned(), *bytes);
        if bytes > 0 {
            let linked = move || {
                let _ = fs::remove_file(&to);
                fs::hard_link(&from, &to).or_else(|_| fs::copy(&from, &to).map(drop))
            };
            blocking(linked).await?.map_err(failed)?;
        }
        Ok(bytes)
    }
}

/// Writes a bundle of a commit to the file `to`, in a folder of Posse's own, and says how long it is. All that is reachable
/// from those commits of `have` that the repository knows is left out; if nothing else is left, nothing is written and the
/// length is 0.
pub async fn pack(
    session_folder: &Path,
    commit: &str,
    have: &[String],
    to: &Path,
) -> Result<u64, WorkspaceError> {
    pack_in(&Repository::of(session_folder).await?, commit, have, to).await
}

async fn pack_in(
    repository: &Repository,
    commit: &str,
    have: &[String],
    to: &Path,
) -> Result<u64, WorkspaceError> {
    if have.iter().any(|known| known == commit) {
        return Ok(0);
    }
    let asked: Vec<String> =
        std::iter::once(format!("{}^{{commit}}", checked(commit)?)).chain(commits_of(have)?).collect();
    let asked: Vec<&str> = asked.iter().map(String::as_str).collect();
    let mut found = repository.names(&asked).await?.into_iter();
    let commit = found.next().flatten().ok_or(GitError::NoSuchCommit)?;
    let known: Vec<String> = found.flatten().collect();
    write(repository, &commit, &known, to).await
}

/// How git is asked for commits that somebody says they have.
fn commits_of(have: &[String]) -> Result<Vec<String>, WorkspaceError> {
    let some = have.iter().take(limits::BUNDLE_HAVE_MAX);
    some.map(|id| Ok(format!("{}^{{commit}}", checked(id)?))).collect()
}

/// Lets go of what [`snapshot`] made for a branch on which no work was taken in. What is on the branch stays.
pub async fn forget_sent(session_folder: &Path, branch: &str) -> Result<(), WorkspaceError> {
    let repository = Repository::of(session_folder).await?;
    let reference = reference_of(branch)?;
    repository.move_references(format!("delete {reference}\n")).await
}

/// Takes a worker's result: makes or moves `branch` to `tip`, which descends from `base`. The bundle is a stranger's: if
/// anything about it is wrong, nothing of it enters the repository. Files are unpacked beside it first.
pub async fn take_in(
    session_folder: &Path,
    bundle: &Path,
    base: &str,
    tip: &str,
    branch: &str,
    limits: TakeLimits,
) -> Result<(), WorkspaceError> {
    let repository = Repository::of(session_folder).await?;
    take(&repository, bundle, (None, base, tip), branch, limits).await.map(drop)
}

/// What [`take_in_measured`] came to.
#[derive(Debug)]
pub struct TakenIn {
    /// What is on the branch since it began; none if that is nothing.
    pub branch: Option<Branch>,
    /// The files that differ since the worker got them.
    pub changed: Vec<FileChange>,
    /// The files as they are on the branch.
    pub files: CommitFiles,
}

/// The same, and says what is on the branch since `began`, and which files differ since `base`.
pub async fn take_in_measured(
    session_folder: &Path,
    bundle: &Path,
    (began, base, tip): (&str, &str, &str),
    branch: &str,
    limits: TakeLimits,
    (diff_bytes_max, files_max): (usize, usize),
) -> Result<TakenIn, WorkspaceError> {
    let (repository, began) = (Repository::of(session_folder).await?, checked(began)?);
    let Answers { patch, listed, .. } =
        take(&repository, bundle, (Some(began), base, tip), branch, limits).await?;
    let left = || {
        let diff = cut(String::from_utf8_lossy(&patch).into_owned(), diff_bytes_max);
        Branch { name: branch.to_owned(), base: began.to_owned(), tip: tip.to_owned(), diff }
    };
    let changed = changes_listed(&listed, &repository.inside(session_folder), files_max);
    let files = CommitFiles::within(&repository, session_folder, tip)?;
    Ok(TakenIn { branch: (tip != began).then(left), changed, files })
}

async fn take(
    repository: &Repository,
    bundle: &Path,
    (shown_from, base, tip): (Option<&str>, &str, &str),
    branch: &str,
    limits: TakeLimits,
) -> Result<Answers, WorkspaceError> {
    must_be_ours(branch)?;
    let within = bundle.parent().ok_or(GitError::UnusableName)?;
    let bundle = BundleFile::read(repository, bundle, &limits)?;
    must_be_left(repository, branch)?;
    let wanted = WantedBundle { tip, base: Some(base), known: &[], branch: Some(branch), shown_from };
    let (incoming, answers) =
        IncomingBundle::open(repository, bundle, within, Strictness::New, limits, wanted).await?;
    if let Some(old) = &answers.old
        && !incoming.is_ancestor(old, tip).await?
    {
        return Err(GitError::BranchExists(branch.to_owned()).into());
    }
    let reference = format!("refs/heads/{branch}");
    plain::remove_lock(&repository.common, &reference);
    let moved = match &answers.old {
        Some(old) => format!("update {reference} {tip} {old}\n"),
        None => format!("create {reference} {tip}\n"),
    };
    // What was sent is reachable from the branch now.
    let sent = reference_of(branch)?;
    plain::remove_lock(&repository.common, &sent);
    incoming.move_into_repository(format!("{moved}delete {sent}\n")).await?;
    Ok(answers)
}

/// Refuses a branch that somebody works on.
pub(super) fn must_be_left(repository: &Repository, branch: &str) -> Result<(), WorkspaceError> {
    let reference = format!("refs/heads/{branch}");
    let mut heads: Vec<_> = own::all(repository).iter().filter_map(|own| own.text(b"HEAD")).collect();
    heads.extend(plain::text(&repository.common.join("HEAD")));
    match heads.iter().any(|head| head.strip_prefix("ref: ") == Some(&reference)) {
        true => Err(GitError::CheckedOut(branch.to_owned()).into()),
        false => Ok(()),
    }
}

pub(super) fn reference_of(branch: &str) -> Result<String, WorkspaceError> {
    Ok(format!("refs/posse/sent/{}", must_be_ours(branch)?.trim_start_matches("posse/")))
}

/// Whether all that history leads to is there: a shallow or partial clone has only some of it, and nobody else could tell
/// where it ends.
fn has_whole_history(common: &Path) -> bool {
    let Ok(top) = Top::open(common) else { return false };
    let is_there = |folder: &[u8], name: &[u8]| {
        let looked = top.folder(folder).and_then(|folder| folder.look(name));
        looked.is_ok_and(|seen| seen.is_some())
    };
    let packs = top.folder(b"objects/pack").and_then(|packs| packs.names()).unwrap_or_default();
    !is_there(b"", b"shallow")
        && !is_there(b"info", b"grafts")
        && !packs.iter().any(|(name, _)| name.ends_with(b".promisor"))
}

/// The last commit that was made of a session's files, so that the same files need no other.
#[derive(Debug)]
struct LastSnapshot {
    tree: String,
    parent: Option<String>,
    commit: String,
}

impl LastSnapshot {
    fn read(into: &Path) -> Option<Self> {
        let text = fs::read_to_string(view_of(into).join("sent")).ok()?;
        let [tree, parent, commit] = text.lines().collect::<Vec<_>>()[..] else { return None };
        let parent = checked(parent).ok().map(str::to_owned);
        Some(Self { tree: tree.to_owned(), parent, commit: checked(commit).ok()?.to_owned() })
    }

    fn is_of(&self, tree: &str, parent: Option<&str>) -> bool {
        self.tree == tree && self.parent.as_deref() == parent
    }

    fn write(&self, into: &Path) -> Result<(), WorkspaceError> {
        let parent = self.parent.as_deref().unwrap_or("-");
        let folder = view_of(into);
        fs::create_dir_all(&folder).map_err(failed)?;
        replace(&folder.join("sent"), &format!("{}\n{parent}\n{}\n", self.tree, self.commit))
    }
}
