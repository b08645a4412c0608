//! Checkouts for agents that work apart, each on a branch of its own.
//!
//! A checkout starts from the session's files as they are, uncommitted work included, byte for byte. The person's index,
//! HEAD, stash and files are never touched: trees are built in a private git folder that shares the repository's objects,
//! so that no setting, filter, attribute or hook of the repository has a say. Submodules stay what they are and are empty
//! in a checkout, as in any other; nested repositories that git does not know are plain files; ignored files are neither
//! taken along nor kept. Order of steps: work is on a branch before a checkout is removed, so a crash loses nothing.

mod changed;
mod look;
mod merge;
pub(crate) mod own;
pub(crate) mod record;
mod sweep;

pub use changed::changed_files;
pub(crate) use changed::changes_listed;
pub(crate) use look::{SessionFiles, SessionLook, look, look_at_checkout};
pub use merge::{Merge, merge, preview_merge, protected_in};
pub use sweep::{Swept, sweep};
pub(crate) use sweep::{forget_missing, recorded};

use std::{
    fs,
    path::{Component, Path, PathBuf},
};

use posse_protocol::Branch;
use tokio::sync::Mutex;

use crate::repository::Repository;
use crate::{
    WorkspaceError,
    checkpoint::folder::Top,
    git::{
        GitError,
        call::{going_on, settled},
        plain,
    },
    locks::{Locks, Together},
    shadow::{NewCommit, SeenTree, Shadow, blocking, checked, failed, patch},
    staging::Staging,
};
use own::CheckoutFolder;
use record::{CheckoutRecord, CheckoutState, index_of, must_be_ours, view_of};

/// One at a time adds or removes a checkout of a repository: git reads what it knows of all others meanwhile, and fails
/// where one of them is only half there.
pub(crate) static KNOWN: Locks<Mutex<()>> = Locks::new();

/// Looks at the files of sessions, which those share who ask at the same time.
static LOOKS: Locks<Together<SessionLook>> = Locks::new();

/// A checkout of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkout {
    /// What stands for the session's folder within it.
    pub folder: PathBuf,
    /// Its top folder.
    pub top: PathBuf,
    /// Its branch.
    pub branch: String,
    /// The commit the branch started from: the session's files at that time.
    pub base: String,
}

/// Makes a checkout of the session's files as they are now, on a new branch `posse/<session>/<name>`, as a folder within
/// `into`. Nobody else may use `into` for anything.
pub async fn check_out(session_folder: &Path, into: &Path, branch: &str) -> Result<Checkout, WorkspaceError> {
    must_be_ours(branch)?;
    let into = made(into)?;
    let looks = LOOKS.of(&shared_by(&into, session_folder));
    let shared = looks.share(look(session_folder, &into, &["HEAD^{commit}", "HEAD^{tree}"], None)).await?;
    let SessionLook { repository, files, named, .. } = &*shared;
    let place = CheckoutPlace::new(repository, session_folder, into, branch)?;
    if repository.names(&[&format!("refs/heads/{branch}")]).await? != [None] {
        return Err(GitError::BranchExists(branch.to_owned()).into());
    }
    let base = match &named[..] {
        [Some(head), Some(tree)] if *tree == files.tree => head.clone(),
        head => commit_files(repository, &place.into, &files.tree, head[0].as_deref()).await?,
    };
    place.make(repository, &base, &["-b", branch], &base).await?;
    Ok(place.checkout(base))
}

/// Makes a checkout of a branch that holds work already, to go on with it.
pub async fn resume(session_folder: &Path, into: &Path, branch: &Branch) -> Result<Checkout, WorkspaceError> {
    let repository = Repository::of(session_folder).await?;
    let base = checked(&branch.base)?.to_owned();
    let place = CheckoutPlace::new(&repository, session_folder, made(into)?, &branch.name)?;
    look::prepare(&repository, &place.into).await?;
    let tip = repository.commit_of(&format!("refs/heads/{}", branch.name)).await?;
    let tip = tip.ok_or_else(|| GitError::BranchGone(branch.name.clone()))?;
    place.make(&repository, &base, &[], &tip).await?;
    Ok(place.checkout(base))
}

/// Whether there is such a branch.
pub async fn exists(session_folder: &Path, branch: &str) -> Result<bool, WorkspaceError> {
    must_be_ours(branch)?;
    let repository = Repository::of(session_folder).await?;
    Ok(repository.commit_of(&format!("refs/heads/{branch}")).await?.is_some())
}

/// The work on a branch that began at `base`; none if there is no such branch, or nothing on it.
pub async fn left_on(
    session_folder: &Path,
    branch: &str,
    base: &str,
    diff_bytes_max: usize,
) -> Result<Option<Branch>, WorkspaceError> {
    must_be_ours(branch)?;
    let (repository, base) = (Repository::of(session_folder).await?, checked(base)?);
    let tip = repository.commit_of(&format!("refs/heads/{branch}")).await?;
    let Some(tip) = tip.filter(|tip| tip != base) else { return Ok(None) };
    let diff = patch(repository.git(), base, &tip, diff_bytes_max).await?;
    Ok(Some(Branch { name: branch.to_owned(), base: base.to_owned(), tip, diff }))
}

/// Ends a checkout. If nothing was changed in it, it is removed with its branch; otherwise its work is committed to its
/// branch first.
pub async fn finish(
    checkout: &Checkout,
    message: &str,
    diff_bytes_max: usize,
) -> Result<Option<Branch>, WorkspaceError> {
    let record = CheckoutRecord::read(&checkout.top)?;
    let repository = Repository::of(&record.repository).await?;
    close(&repository, &checkout.top, record, message, diff_bytes_max).await
}

/// Where a checkout is to be.
pub(crate) struct CheckoutPlace {
    into: PathBuf,
    top: PathBuf,
    /// The session's folder within its repository.
    pub(crate) inside: PathBuf,
    branch: String,
}

impl CheckoutPlace {
    /// One within `into`, a folder that is [`made`].
    pub(crate) fn new(
        repository: &Repository,
        session_folder: &Path,
        into: PathBuf,
        branch: &str,
    ) -> Result<Self, WorkspaceError> {
        must_be_ours(branch)?;
        let session_folder = session_folder.canonicalize().map_err(failed)?;
        let inside = session_folder.strip_prefix(&repository.top).unwrap_or(Path::new("")).to_owned();
        let top = into.join(branch.trim_start_matches("posse/").replace('/', "--"));
        if top.symlink_metadata().is_ok() {
            return Err(GitError::CheckedOut(branch.to_owned()).into());
        }
        Ok(Self { into, top, inside, branch: branch.to_owned() })
    }

    fn checkout(self, base: String) -> Checkout {
        Checkout { folder: self.top.join(self.inside), top: self.top, branch: self.branch, base }
    }

    /// Makes the checkout of `commit`, recorded first.
    async fn make(
        &self,
        repository: &Repository,
        base: &str,
        new_branch: &[&str],
        commit: &str,
    ) -> Result<(), WorkspaceError> {
        let record = CheckoutRecord {
            state: CheckoutState::Making,
            branch: self.branch.clone(),
            base: base.to_owned(),
            repository: repository.top.clone(),
        };
        record.write(&self.top)?;
        let made = self.fill(repository, new_branch, commit).await;
        match made {
            Ok(()) => CheckoutRecord { state: CheckoutState::Ready, ..record }.write(&self.top),
            Err(error) => {
                let _ = remove(repository, &self.top, Some((&record.branch, base))).await;
                Err(error)
            }
        }
    }

    async fn fill(
        &self,
        repository: &Repository,
        new_branch: &[&str],
        commit: &str,
    ) -> Result<(), WorkspaceError> {
        let top = self.top.to_str().ok_or(GitError::UnusableName)?;
        // Made here, so that git need not write beside it.
        fs::create_dir(&self.top).map_err(failed)?;
        let start = if new_branch.is_empty() { self.branch.as_str() } else { commit };
        // One that was called off may be on its way to its end.
        settled().await;
        let add = [&["worktree", "add", "--quiet", "--no-checkout"], new_branch, &[top, start]].concat();
        let known = KNOWN.of(&repository.common);
        let turn = known.lock().await;
        repository.writing().writes(&self.top).run_through(&add).await?;
        drop(turn);
        let view = checkout_view(repository, &self.top)?;
        let _ = fs::remove_file(&view.index);
        view.filler()?.text(&["read-tree", "--reset", "-u", checked(commit)?]).await?;
        // So that git within the checkout sees what is there.
        if let Some(own) = CheckoutFolder::of(repository, &self.top) {
            let index = fs::read(&view.index).map_err(failed)?;
            own.folder.put(b"index", &index, 0o666).map_err(failed)?;
        }
        // What the branch holds there may be a link: whoever works in it must not work somewhere else.
        let inside = self.inside.as_os_str().as_encoded_bytes();
        Top::open(&self.top).and_then(|top| top.make_folder(inside)).map(drop).map_err(failed)
    }
}

/// A commit of a tree of the session's files.
pub(crate) async fn commit_files(
    repository: &Repository,
    into: &Path,
    tree: &str,
    head: Option<&str>,
) -> Result<String, WorkspaceError> {
    let parents: Vec<&str> = head.into_iter().collect();
    let view = session_view(repository, into);
    view.commit(tree, &parents, "The session's files when this branch began").await
}

/// Commits what a checkout holds, then removes it.
async fn close(
    repository: &Repository,
    top: &Path,
    record: CheckoutRecord,
    message: &str,
    diff_bytes_max: usize,
) -> Result<Option<Branch>, WorkspaceError> {
    let view = checkout_view(repository, top)?;
    let reference = format!("refs/heads/{}", record.branch);
    let names = [
        format!("{reference}^{{commit}}"),
        format!("{reference}^{{tree}}"),
        format!("{}^{{tree}}", record.base),
    ];
    let names = names.each_ref().map(String::as_str);
    let (found, seen) = match record.state == CheckoutState::Ready {
        true => look_at_checkout(repository, &view, &names).await?,
        false => (repository.names(&names).await?, None),
    };
    let mut found = found.into_iter();
    let (known, tree, base_tree) = (found.next().flatten(), found.next().flatten(), found.next().flatten());
    let mut tip = known.clone().unwrap_or_else(|| record.base.clone());
    if record.state == CheckoutState::Ready && plain::is_folder(top) {
        let tree = if known.is_some() { tree } else { base_tree };
        // An agent may have committed without a branch: that must stay reachable too.
        let head = CheckoutFolder::of(repository, top).and_then(|own| own.text(b"HEAD"));
        let apart = head.filter(|head| checked(head).is_ok() && *head != tip);
        tip = commit_work(&view, seen, (&tip, tree), apart.as_deref(), message).await?;
        if known.as_deref() != Some(tip.as_str()) && tip != record.base {
            plain::remove_lock(&repository.common, &reference);
            let moved = match known {
                Some(old) => format!("update {reference} {tip} {old}\n"),
                None => format!("create {reference} {tip}\n"),
            };
            repository.move_references(moved).await?;
        }
    }
    // From here on what is missing in the checkout was removed by us.
    CheckoutRecord { state: CheckoutState::Done, ..record.clone() }.write(top)?;
    if tip == record.base {
        remove(repository, top, Some((&record.branch, &record.base))).await?;
        return Ok(None);
    }
    let diff = view.patch(&record.base, &tip, diff_bytes_max).await?;
    remove(repository, top, None).await?;
    Ok(Some(Branch { name: record.branch, base: record.base, tip, diff }))
}

/// The commit that holds all work in a checkout, on top of `tip`, given with its tree, and of what was committed apart from
/// it; `tip` itself if nothing was changed since.
pub(crate) async fn commit_work(
    view: &Shadow,
    seen: Option<SeenTree>,
    (tip, known): (&str, Option<String>),
    apart: Option<&str>,
    message: &str,
) -> Result<String, WorkspaceError> {
    if !view.index.exists() {
        view.git()?.text(&["read-tree", checked(tip)?]).await?;
    }
    let parents: Vec<&str> = std::iter::once(tip).chain(apart).collect();
    let commit = NewCommit { parents: &parents, message };
    let staged = view.stage(&Staging::default(), seen, Some(commit)).await?;
    if apart.is_none() && known.as_ref() == Some(&staged.tree) {
        return Ok(tip.to_owned());
    }
    match staged.commit {
        Some(commit) => Ok(commit),
        None => view.commit(&staged.tree, &parents, message).await,
    }
}

/// Removes a checkout and what git knows of it; with `unused`, its branch too if it is still where it began.
pub(crate) async fn remove(
    repository: &Repository,
    top: &Path,
    unused: Option<(&str, &str)>,
) -> Result<(), WorkspaceError> {
    let own = CheckoutFolder::of(repository, top);
    let folder = top.to_owned();
    let known = KNOWN.of(&repository.common);
    let _turn = known.lock().await;
    let going = going_on().await;
    blocking(move || {
        let _going = going;
        let removed = fs::remove_dir_all(&folder);
        for removed in [removed, own.map_or(Ok(()), CheckoutFolder::remove)] {
            match removed {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
                _ => {}
            }
        }
        Ok(())
    })
    .await??;
    if let Some((branch, base)) = unused {
        let reference = format!("refs/heads/{branch}");
        // It goes only if it is where it began; if it is not, that is no failure.
        let removed = repository.writing().run_through(&["update-ref", "-d", &reference, base]).await;
        if removed.is_err() && repository.commit_of(&reference).await?.as_deref() == Some(base) {
            removed?;
        }
    }
    CheckoutRecord::remove(top)
}

pub(crate) fn session_view(repository: &Repository, into: &Path) -> Shadow {
    let git_dir = view_of(into);
    Shadow {
        index: git_dir.join("session.index"),
        work_tree: repository.top.clone(),
        objects: Some(repository.common.join("objects")),
        git_dir,
    }
}

pub(crate) fn checkout_view(repository: &Repository, top: &Path) -> Result<Shadow, WorkspaceError> {
    let into = top.parent().ok_or(GitError::UnusableName)?;
    Ok(Shadow {
        git_dir: view_of(into),
        work_tree: top.to_owned(),
        index: index_of(top)?,
        objects: Some(repository.common.join("objects")),
    })
}

/// A folder for checkouts, which is there then.
pub(crate) fn made(into: &Path) -> Result<PathBuf, WorkspaceError> {
    fs::create_dir_all(into).map_err(failed)?;
    into.canonicalize().map_err(failed)
}

/// Names what looks at a folder for checkouts within another share: it is no place.
pub(crate) fn shared_by(into: &Path, session_folder: &Path) -> PathBuf {
    let parts = session_folder.components().filter(|part| matches!(part, Component::Normal(_)));
    into.join(parts.collect::<PathBuf>())
}
