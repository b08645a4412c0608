//! Looks at files for a checkout or a commit, in as few confinements as it takes: at those of a session, where nothing of
//! the person's changes, and at those of a checkout.

use std::{collections::BTreeMap, fs, path::Path};

use tokio::sync::Mutex;

use super::{record::view_of, session_view};
use crate::{
    WorkspaceError,
    checkpoint::locked,
    excludes,
    git::{
        GitError,
        flow::{FlowInput, Parts},
        series::GitStep,
    },
    limits,
    locks::Locks,
    repository::{Repository, named},
    shadow::{SeenTree, Shadow, checked, replace},
    staging::Staging,
};

/// One at a time looks at a session's files.
static VIEWS: Locks<Mutex<()>> = Locks::new();

/// The session's files as they were at a moment.
#[derive(Debug)]
pub(crate) struct SessionFiles {
    pub(crate) tree: String,
    pub(crate) submodules: BTreeMap<String, String>,
}

/// A session's files and its repository, as they were at a moment.
#[derive(Debug)]
pub(crate) struct SessionLook {
    pub(crate) repository: Repository,
    pub(crate) files: SessionFiles,
    /// What the names stood for that were asked for.
    pub(crate) named: Vec<Option<String>>,
    /// What the other question came to.
    pub(crate) records: Vec<String>,
}

/// Stores the session's files as they are now, and asks the repository for names. Another question may be asked of the view of
/// these files, of which so many records are enough.
pub(crate) async fn look(
    session_folder: &Path,
    into: &Path,
    names: &[&str],
    also: Option<(GitStep, usize)>,
) -> Result<SessionLook, WorkspaceError> {
    let repository = Repository::of(session_folder).await?;
    prepare(&repository, into).await?;
    let turn = VIEWS.of(into);
    let _turn = turn.lock().await;
    let _file = locked(&view_of(into).join("posse.lock"), "the session's checkouts").await?;
    let view = session_view(&repository, into);
    let mut steps = vec![repository.naming(names)?, repository.listing()?];
    steps.extend(view.looking());
    let (usual, enough) = (steps.len(), also.as_ref().map_or(0, |(_, enough)| *enough));
    steps.extend(also.map(|(step, _)| step));
    let (mut said, mut bytes) = (vec![Vec::new(); usual], 0);
    let (mut parts, mut records) = (Parts::ending_in(0), Vec::new());
    let git = repository.seen_by(view.git()?);
    let heard = git.series(&steps, FlowInput::Bytes(Vec::new()), |step, piece| {
        let piece = piece.unwrap_or_default();
        if step >= usual {
            return parts.hear("ls-files", piece, |record| {
                records.push(String::from_utf8_lossy(record).into_owned());
                if records.len() < enough { Ok(()) } else { Err(WorkspaceError::Stopped) }
            });
        }
        bytes += piece.len();
        said[step].extend_from_slice(piece);
        match bytes <= limits::GIT_LARGE_OUTPUT_BYTES_MAX {
            true => Ok(()),
            false => Err(GitError::TooMuch { call: "ls-files".to_owned() }.into()),
        }
    });
    match heard.await {
        Err(WorkspaceError::Stopped) if records.len() >= enough => {}
        heard => heard?,
    }
    let seen = SeenTree::new(said.split_off(2));
    let (named, submodules) = (named(&said[0], names.len())?, submodules_in(&said[1])?);
    // Git remembers them in the index; one that is gone must be forgotten.
    let listed: String = submodules.keys().map(|path| format!("{path}\n")).collect();
    let known = view.git_dir.join("submodules");
    let same = fs::read_to_string(&known).unwrap_or_default() == listed;
    if !same {
        let _ = fs::remove_file(&view.index);
        replace(&known, &listed)?;
    }
    let staging = Staging { submodules };
    let tree = view.stage(&staging, same.then_some(seen), None).await?.tree;
    let files = SessionFiles { tree, submodules: staging.submodules };
    Ok(SessionLook { repository, files, named, records })
}

/// Makes the view of a session's files, or brings its rules up to date.
pub(super) async fn prepare(repository: &Repository, into: &Path) -> Result<(), WorkspaceError> {
    let view = session_view(repository, into);
    let mut excludes =
        excludes::from_above(&repository.top, &repository.top, &repository.common.join("info/exclude"));
    if let Ok(inside) = into.strip_prefix(&repository.top) {
        excludes.push_str(&format!("/{}/\n", inside.display()));
    }
    let turn = VIEWS.of(into);
    let _turn = turn.lock().await;
    view.prepare(repository.format, &excludes).await
}

/// What names of a checkout's repository stand for, and what its files are; the latter only if it has an index.
pub(crate) async fn look_at_checkout(
    repository: &Repository,
    view: &Shadow,
    names: &[&str],
) -> Result<(Vec<Option<String>>, Option<SeenTree>), WorkspaceError> {
    if !view.index.exists() || !view.work_tree.is_dir() {
        return Ok((repository.names(names).await?, None));
    }
    let mut steps = vec![repository.naming(names)?];
    steps.extend(view.looking());
    let mut said = repository.seen_by(view.git()?).say(&steps).await?;
    let seen = SeenTree::new(said.split_off(1));
    Ok((named(&said[0], names.len())?, Some(seen)))
}

/// The repository's submodules by path, and the commits they are at.
fn submodules_in(listed: &[u8]) -> Result<BTreeMap<String, String>, WorkspaceError> {
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
