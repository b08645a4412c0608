//! Checkouts for agents that work apart, each on a branch of its own.
//!
//! A checkout starts from the session's files as they are, uncommitted work included, byte for byte. The person's index,
//! HEAD, stash and files are never touched: trees are built in a private git folder that shares the repository's objects,
//! so that no setting, filter, attribute or hook of the repository has a say. Submodules stay what they are and are empty
//! in a checkout, as in any other; nested repositories that git does not know are plain files; ignored files are neither
//! taken along nor kept. Order of steps: work is on a branch before a checkout is removed, so a crash loses nothing.

mod merge;
mod own;
mod record;
mod sweep;

pub use merge::{Merge, merge, preview_merge, protected_in};
pub use sweep::{Swept, sweep};

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use posse_protocol::Branch;
use tokio::sync::Mutex;

use crate::repository::Repository;
use crate::{
    WorkspaceError,
    checkpoint::{folder::Top, locked},
    excludes,
    git::{
        GitError,
        call::{going_on, settled},
        plain,
    },
    locks::Locks,
    shadow::{Shadow, blocking, checked, failed, patch, replace},
    staging::Staging,
};
use own::CheckoutFolder;
use record::{CheckoutRecord, CheckoutState, index_of, must_be_ours, view_of};

/// One at a time adds or removes a checkout of a repository: git reads what it knows of all others meanwhile, and fails
/// where one of them is only half there.
static KNOWN: Locks<Mutex<()>> = Locks::new();

/// One at a time looks at a session's files.
static VIEWS: Locks<Mutex<()>> = Locks::new();

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
    let repository = Repository::of(session_folder).await?;
    let place = RepositoryPlace::new(&repository, session_folder, into, branch).await?;
    let names = [&*format!("refs/heads/{branch}"), "HEAD^{commit}", "HEAD^{tree}"];
    let mut found = repository.names(&names).await?.into_iter();
    if found.next().flatten().is_some() {
        return Err(GitError::BranchExists(branch.to_owned()).into());
    }
    let head = found.next().flatten().zip(found.next().flatten());
    let base = place.base(&repository, head).await?;
    place.make(&repository, &base, &["-b", branch], &base).await?;
    Ok(place.checkout(base))
}

/// Makes a checkout of a branch that holds work already, to go on with it.
pub async fn resume(session_folder: &Path, into: &Path, branch: &Branch) -> Result<Checkout, WorkspaceError> {
    let repository = Repository::of(session_folder).await?;
    let base = checked(&branch.base)?.to_owned();
    let place = RepositoryPlace::new(&repository, session_folder, into, &branch.name).await?;
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
struct RepositoryPlace {
    into: PathBuf,
    top: PathBuf,
    /// The session's folder within its repository.
    inside: PathBuf,
    branch: String,
}

impl RepositoryPlace {
    async fn new(
        repository: &Repository,
        session_folder: &Path,
        into: &Path,
        branch: &str,
    ) -> Result<Self, WorkspaceError> {
        must_be_ours(branch)?;
        fs::create_dir_all(into).map_err(failed)?;
        let into = into.canonicalize().map_err(failed)?;
        let session_folder = session_folder.canonicalize().map_err(failed)?;
        let inside = session_folder.strip_prefix(&repository.top).unwrap_or(Path::new("")).to_owned();
        let top = into.join(branch.trim_start_matches("posse/").replace('/', "--"));
        if top.symlink_metadata().is_ok() {
            return Err(GitError::CheckedOut(branch.to_owned()).into());
        }
        let view = Shadow { git_dir: view_of(&into), ..session_view(repository, &into) };
        let mut excludes =
            excludes::from_above(&repository.top, &repository.top, &repository.common.join("info/exclude"));
        if let Ok(inside) = into.strip_prefix(&repository.top) {
            excludes.push_str(&format!("/{}/\n", inside.display()));
        }
        let turn = VIEWS.of(&into);
        let turn = turn.lock().await;
        view.prepare(repository.format, &excludes).await?;
        drop(turn);
        Ok(Self { into, top, inside, branch: branch.to_owned() })
    }

    fn checkout(self, base: String) -> Checkout {
        Checkout { folder: self.top.join(self.inside), top: self.top, branch: self.branch, base }
    }

    /// A commit of the session's files as they are now: `head`, given with its tree, if they are what it holds.
    async fn base(
        &self,
        repository: &Repository,
        head: Option<(String, String)>,
    ) -> Result<String, WorkspaceError> {
        let turn = VIEWS.of(&self.into);
        let _turn = turn.lock().await;
        let _file = locked(&view_of(&self.into).join("posse.lock"), "the session's checkouts").await?;
        let view = session_view(repository, &self.into);
        let submodules = submodules(repository).await?;
        // Git remembers them in the index; one that is gone must be forgotten.
        let listed: String = submodules.keys().map(|path| format!("{path}\n")).collect();
        let known = view.git_dir.join("submodules");
        if fs::read_to_string(&known).unwrap_or_default() != listed {
            let _ = fs::remove_file(&view.index);
            replace(&known, &listed)?;
        }
        let tree = view.stage(&Staging { submodules }).await?.tree;
        if let Some((head, _)) = head.as_ref().filter(|(_, known)| *known == tree) {
            return Ok(head.clone());
        }
        let parents: Vec<&str> = head.iter().map(|(head, _)| head.as_str()).collect();
        view.commit(&tree, &parents, "The session's files when this branch began").await
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
    let mut found = repository.names(&names.each_ref().map(String::as_str)).await?.into_iter();
    let (known, tree, base_tree) = (found.next().flatten(), found.next().flatten(), found.next().flatten());
    let mut tip = known.clone().unwrap_or_else(|| record.base.clone());
    if record.state == CheckoutState::Ready && plain::is_folder(top) {
        let tree = if known.is_some() { tree } else { base_tree };
        tip = commit_work(repository, &view, top, (&tip, tree), message).await?;
        if known.as_deref() != Some(tip.as_str()) && tip != record.base {
            let old = known.unwrap_or_default();
            plain::remove_lock(&repository.common, &reference);
            repository.writing().run_through(&["update-ref", &reference, &tip, &old]).await?;
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

/// The commit that holds all work in a checkout, on top of `tip`, given with its tree; `tip` itself if nothing was changed
/// since.
async fn commit_work(
    repository: &Repository,
    view: &Shadow,
    top: &Path,
    (tip, known): (&str, Option<String>),
    message: &str,
) -> Result<String, WorkspaceError> {
    if !view.index.exists() {
        view.git()?.text(&["read-tree", checked(tip)?]).await?;
    }
    let tree = view.stage(&Staging::default()).await?.tree;
    // An agent may have committed without a branch: that must stay reachable too.
    let own = CheckoutFolder::of(repository, top).and_then(|own| own.text(b"HEAD"));
    let apart = own.as_deref().filter(|head| checked(head).is_ok() && *head != tip);
    if apart.is_none() && known.as_ref() == Some(&tree) {
        return Ok(tip.to_owned());
    }
    let parents: Vec<&str> = std::iter::once(tip).chain(apart).collect();
    view.commit(&tree, &parents, message).await
}

/// Removes a checkout and what git knows of it; with `unused`, its branch too if it is still where it began.
async fn remove(
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

fn session_view(repository: &Repository, into: &Path) -> Shadow {
    let git_dir = view_of(into);
    Shadow {
        index: git_dir.join("session.index"),
        work_tree: repository.top.clone(),
        objects: Some(repository.common.join("objects")),
        git_dir,
    }
}

fn checkout_view(repository: &Repository, top: &Path) -> Result<Shadow, WorkspaceError> {
    let into = top.parent().ok_or(GitError::UnusableName)?;
    Ok(Shadow {
        git_dir: view_of(into),
        work_tree: top.to_owned(),
        index: index_of(top)?,
        objects: Some(repository.common.join("objects")),
    })
}

/// The repository's submodules by path, and the commits they are at.
async fn submodules(repository: &Repository) -> Result<BTreeMap<String, String>, WorkspaceError> {
    let listed = repository.git().large().bytes(&["ls-files", "--stage", "-z"]).await?;
    let mut found = BTreeMap::new();
    for line in listed.split(|byte| *byte == 0) {
        let Ok(line) = std::str::from_utf8(line) else { continue };
        if let Some((head, path)) = line.split_once('\t')
            && let ["160000", commit, "0"] = head.split(' ').collect::<Vec<_>>()[..]
        {
            found.insert(path.to_owned(), checked(commit)?.to_owned());
        }
    }
    Ok(found)
}
