//! Brings the work of a branch into the session's files.

use std::{collections::BTreeSet, path::Path};

use posse_protocol::{Branch, Change, Conflict};
use tokio::sync::Mutex;

use super::Repository;
use crate::{
    Checkpoints, Mode, Workspace, WorkspaceError, WorkspacePath,
    apply::{Keep, PathSteps, Policy, carry_out, conflict},
    locks::Locks,
    shadow::{checked, entry_of, read_blobs},
};

/// Merges into one folder wait for each other, first come first served.
static QUEUES: Locks<Mutex<()>> = Locks::new();

/// What a merge came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merge {
    /// What it changed in the session's files.
    pub changes: Vec<Change>,
    /// What it did not: it is still on the branch.
    pub conflicts: Vec<Conflict>,
    /// Whether all of the branch's work is in the session's files now.
    pub merged: bool,
}

/// Applies what leads from a branch's base to its tip to the session's files as they are now. Where both changed the same
/// lines, the session's stay and both sides are reported. Nothing is committed and the branch stays. Merging again
/// changes nothing.
pub async fn merge(
    session: &Workspace,
    checkpoints: Option<&Checkpoints>,
    branch: &Branch,
) -> Result<Merge, WorkspaceError> {
    bring_in(session, checkpoints, branch, true).await
}

/// What [`merge`] would change now, and what it would leave on the branch. The session's files stay as they are.
pub async fn preview_merge(
    session: &Workspace,
    checkpoints: &Checkpoints,
    branch: &Branch,
) -> Result<Merge, WorkspaceError> {
    bring_in(session, Some(checkpoints), branch, false).await
}

async fn bring_in(
    session: &Workspace,
    checkpoints: Option<&Checkpoints>,
    branch: &Branch,
    writes: bool,
) -> Result<Merge, WorkspaceError> {
    let queue = QUEUES.of(session.root());
    let _turn = queue.lock().await;
    let repository = Repository::of(session.root()).await?;
    let differences = differences(&repository, branch).await?;
    let inside = session.root().strip_prefix(&repository.top).unwrap_or(Path::new("")).to_owned();
    let blobs = differences.changes.iter().flat_map(|change| [&change.before, &change.after]).flatten();
    let blobs: BTreeSet<&str> = blobs.map(|saved| saved.blob.as_str()).collect();
    let contents = read_blobs(|| Ok(repository.git().large()), &blobs).await?;
    let mut merged = Merge::default();
    for path in &differences.others {
        let text = "a submodule, or a name that is not UTF-8; it is still on the branch".to_owned();
        merged.conflicts.push(Conflict { path: path.clone(), text });
    }
    let mut open = Vec::new();
    for change in &differences.changes {
        let within = Path::new(&change.path).strip_prefix(&inside).ok().and_then(Path::to_str);
        let Some(path) = within.and_then(WorkspacePath::exactly) else {
            let text = "it is outside the session's folder; it is still on the branch".to_owned();
            merged.conflicts.push(Conflict { path: change.path.clone(), text });
            continue;
        };
        match (entry_of(change.before.as_ref(), &contents), entry_of(change.after.as_ref(), &contents)) {
            (Ok(before), Ok(after)) => open.push(PathSteps { path, steps: vec![(before, after)] }),
            (Err(why), _) | (_, Err(why)) => merged.conflicts.push(conflict(&path, why.to_owned())),
        }
    }
    let (changes, conflicts) = match checkpoints {
        Some(checkpoints) => checkpoints.carry_out(session, open, writes).await?,
        None => carry_out(session, open, Policy::Hunks, Keep::Repository(&repository)).await?,
    };
    merged.changes = changes;
    merged.conflicts.extend(conflicts);
    merged.merged = merged.conflicts.is_empty();
    Ok(merged)
}

/// The paths on a branch, relative to the session's folder, that other programs would act on by themselves. A merge leaves
/// them out unless the workspace it goes into permits them.
pub async fn protected_in(session: &Workspace, branch: &Branch) -> Result<Vec<String>, WorkspaceError> {
    let repository = Repository::of(session.root()).await?;
    let differences = differences(&repository, branch).await?;
    let inside = session.root().strip_prefix(&repository.top).unwrap_or(Path::new("")).to_owned();
    let paths = differences.changes.iter().filter_map(|change| {
        let path = WorkspacePath::exactly(Path::new(&change.path).strip_prefix(&inside).ok()?.to_str()?)?;
        let link = change.after.as_ref().is_some_and(|after| after.mode == Mode::Link.as_str());
        let program = if link { session.protected_link(&path) } else { session.protected(&path) };
        program.map(|_| path.to_string())
    });
    Ok(paths.collect())
}

async fn differences(
    repository: &Repository,
    branch: &Branch,
) -> Result<crate::shadow::Differences, WorkspaceError> {
    let arguments = ["diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames"];
    let commits = [checked(&branch.base)?, checked(&branch.tip)?];
    let raw = repository.git().large().bytes(&[&arguments[..], &commits].concat()).await?;
    Ok(crate::shadow::parse_raw(&raw))
}
