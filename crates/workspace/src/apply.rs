//! Applies changes to files that may have been changed since: what leads from one content to another is brought onto
//! what is there now. Undoing and merging are both this; neither knows here where contents come from.

use std::{collections::BTreeSet, path::Path};

use ignore::WalkBuilder;
use posse_protocol::{Change, Conflict, Saved};

use crate::{
    Entry, Expect, Kind, Mode, Stamp, Workspace, WorkspaceError, WorkspacePath,
    content_store::ContentStore,
    limits,
    merge3::{Touching, merge},
    repository::Repository,
    shadow::{blocking, store_blobs},
    text::{cut, is_binary},
};

/// What to do where both sides changed the same lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Policy {
    /// Leave the whole file as it is.
    Whole,
    /// Keep what is there in those lines, and take the rest.
    Hunks,
}

/// One path and what is to be brought onto it, in order.
#[derive(Clone, Debug)]
pub(crate) struct PathSteps {
    pub(crate) path: WorkspacePath,
    /// From what to what.
    pub(crate) steps: Vec<(Option<Entry>, Option<Entry>)>,
}

/// What came of [`PathSteps`], before anything is written.
#[derive(Clone, Debug)]
struct Plan {
    path: WorkspacePath,
    now: Option<Entry>,
    stamp: Option<Stamp>,
    result: Option<Entry>,
    conflict: Option<Conflict>,
}

impl Plan {
    fn changes_something(&self) -> bool {
        self.now != self.result
    }
}

/// Where contents are kept before files are written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Keep<'a> {
    Store(&'a ContentStore),
    /// The person's own repository, where there are no checkpoints.
    Repository(&'a Repository),
}

impl Keep<'_> {
    async fn store(self, contents: &[&[u8]]) -> Result<Vec<String>, WorkspaceError> {
        match self {
            Self::Store(store) => store.keep(contents),
            Self::Repository(repository) => {
                let before = repository.common.join("refs/posse/kept").exists();
                store_blobs(repository.writing(), before, contents).await
            }
        }
    }
}

/// Plans, keeps and writes. Says what changed by it, and what could not be done.
pub(crate) async fn carry_out(
    workspace: &Workspace,
    mut open: Vec<PathSteps>,
    policy: Policy,
    keep: Keep<'_>,
) -> Result<(Vec<Change>, Vec<Conflict>), WorkspaceError> {
    let (mut changes, mut conflicts) = (Vec::new(), Vec::new());
    for last_try in [false, false, true] {
        let (place, steps) = (workspace.clone(), std::mem::take(&mut open));
        let planned = blocking(move || {
            let plans: Vec<Plan> =
                steps.iter().map(|steps| plan(&place, steps, policy, &BTreeSet::new())).collect();
            (steps, plans)
        });
        let (mut steps, plans) = planned.await?;
        let named = saved(&plans, keep).await?;
        let place = workspace.clone();
        let (plans, failed) = blocking(move || {
            let failed = write(&place, &plans);
            (plans, failed)
        })
        .await?;
        for (at, (plan, change)) in plans.into_iter().zip(named).enumerate() {
            match failed.iter().find(|(failed, _)| *failed == at) {
                Some((_, WorkspaceError::Changed { .. } | WorkspaceError::Exists { .. })) if !last_try => {
                    open.push(steps[at].clone());
                }
                Some((_, error)) => conflicts.push(conflict(&plan.path, error.to_string())),
                None => {
                    changes.extend(change);
                    conflicts.extend(plan.conflict);
                }
            }
        }
        steps.clear();
        if open.is_empty() {
            break;
        }
    }
    shorten(&mut conflicts);
    Ok((changes, conflicts))
}

/// Plans, and says what [`carry_out`] would change and could not do, without writing to the workspace. `gone` are the files
/// that would not be there any more because of what was planned before; those of this plan are added.
pub(crate) async fn preview(
    workspace: &Workspace,
    open: Vec<PathSteps>,
    policy: Policy,
    keep: Keep<'_>,
    gone: &mut BTreeSet<String>,
) -> Result<(Vec<Change>, Vec<Conflict>), WorkspaceError> {
    let (place, before) = (workspace.clone(), gone.clone());
    let planned = blocking(move || {
        let plans: Vec<Plan> = open.iter().map(|steps| plan(&place, steps, policy, &before)).collect();
        let removed = plans.iter().filter(|plan| plan.changes_something() && plan.result.is_none());
        let mut after = before;
        after.extend(removed.map(|plan| plan.path.to_string()));
        let refused: Vec<_> = plans.iter().map(|plan| refusal(&place, plan, &after)).collect();
        (plans, refused)
    });
    let (plans, refused) = planned.await?;
    let named = saved(&plans, keep).await?;
    let (mut changes, mut conflicts) = (Vec::new(), Vec::new());
    for ((plan, change), refused) in plans.into_iter().zip(named).zip(refused) {
        match refused {
            Some(error) => conflicts.push(conflict(&plan.path, error.to_string())),
            None => {
                gone.extend(
                    change.iter().filter(|change| change.after.is_none()).map(|change| change.path.clone()),
                );
                changes.extend(change);
                conflicts.extend(plan.conflict);
            }
        }
    }
    shorten(&mut conflicts);
    Ok((changes, conflicts))
}

/// Why what was planned could not be written, once these files are gone; none if it could.
fn refusal(workspace: &Workspace, plan: &Plan, gone: &BTreeSet<String>) -> Option<WorkspaceError> {
    if !plan.changes_something() {
        return None;
    }
    if let Err(error) = workspace.must_be_puttable(&plan.path, plan.result.as_ref()) {
        return Some(error);
    }
    if plan.result.is_some()
        && let Some(error) = on_the_way(workspace.root(), &plan.path, gone)
    {
        return Some(error);
    }
    let place = workspace.root().join(plan.path.as_path());
    let is_folder = place.symlink_metadata().is_ok_and(|found| found.is_dir());
    let in_the_way = plan.result.is_some() && is_folder && !goes(workspace.root(), &place, gone);
    in_the_way.then(|| WorkspaceError::NotAFile { path: plan.path.to_string(), kind: Kind::Folder })
}

/// What is in the place of a folder that a path needs and does not go; none if nothing is.
fn on_the_way(root: &Path, path: &WorkspacePath, gone: &BTreeSet<String>) -> Option<WorkspaceError> {
    let mut above = Vec::new();
    let mut folder = path.parent();
    while !folder.is_root() {
        above.push(folder.clone());
        folder = folder.parent();
    }
    for folder in above.iter().rev() {
        let Ok(found) = root.join(folder.as_path()).symlink_metadata() else { return None };
        if found.is_dir() {
            continue;
        }
        let error = match found.is_symlink() {
            true => WorkspaceError::ThroughLink { path: path.to_string() },
            false => WorkspaceError::from_io(path.as_str(), std::io::ErrorKind::NotADirectory.into()),
        };
        return (!gone.contains(folder.as_str())).then_some(error);
    }
    None
}

/// Whether a folder goes with the files in it: an empty one stays.
fn goes(root: &Path, folder: &Path, gone: &BTreeSet<String>) -> bool {
    // Those that were found, and those with something in them.
    let (mut folders, mut filled) = (BTreeSet::from([folder.to_path_buf()]), BTreeSet::new());
    let walk = WalkBuilder::new(folder).standard_filters(false).follow_links(false).build();
    for entry in walk.skip(1) {
        let Ok(entry) = entry else { return false };
        let path = entry.into_path();
        filled.extend(path.parent().map(Path::to_path_buf));
        let inside = path.strip_prefix(root).ok().and_then(Path::to_str);
        if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            folders.insert(path);
        } else if !inside.is_some_and(|inside| gone.contains(inside)) {
            return false;
        }
    }
    folders == filled
}

/// Whether a folder on the way to a path is a file that goes.
fn freed(path: &WorkspacePath, gone: &BTreeSet<String>) -> bool {
    let mut above = path.parent();
    while !gone.is_empty() && !above.is_root() {
        if gone.contains(above.as_str()) {
            return true;
        }
        above = above.parent();
    }
    false
}

/// Keeps what is there and what will be, so that either can be had again.
async fn saved(plans: &[Plan], keep: Keep<'_>) -> Result<Vec<Option<Change>>, WorkspaceError> {
    let changing = plans.iter().filter(|plan| plan.changes_something());
    let sides = changing.flat_map(|plan| [plan.now.as_ref(), plan.result.as_ref()]).flatten();
    let contents: Vec<&[u8]> = sides.map(|entry| entry.bytes.as_slice()).collect();
    let mut names = keep.store(&contents).await?.into_iter();
    let mut side = |entry: Option<&Entry>| {
        let entry = entry?;
        Some(Saved { mode: entry.mode.as_str().to_owned(), blob: names.next()? })
    };
    let change = |plan: &Plan| {
        plan.changes_something().then(|| Change {
            path: plan.path.to_string(),
            before: side(plan.now.as_ref()),
            after: side(plan.result.as_ref()),
        })
    };
    Ok(plans.iter().map(change).collect())
}

/// Looks at what is there and works out what should be.
fn plan(workspace: &Workspace, steps: &PathSteps, policy: Policy, gone: &BTreeSet<String>) -> Plan {
    let path = steps.path.clone();
    let found = match freed(&path, gone) {
        true => Ok(None),
        false => workspace.entry(&path, limits::CHECKPOINT_FILE_BYTES_MAX),
    };
    let (now, stamp) = match found {
        Ok(Some((entry, stamp))) => (Some(entry), Some(stamp)),
        // A folder may be empty by the time its place is needed; if not, writing says so.
        Ok(None) | Err(WorkspaceError::NotAFile { kind: Kind::Folder, .. }) => (None, None),
        Err(error) => {
            let conflict = Some(conflict(&path, error.to_string()));
            return Plan { path, now: None, stamp: None, result: None, conflict };
        }
    };
    let mut result = now.clone();
    for (base, theirs) in &steps.steps {
        let (next, why) = bring(base.as_ref(), result.as_ref(), theirs.as_ref(), policy);
        if let Some(why) = why {
            let result = if policy == Policy::Whole { now.clone() } else { next };
            let conflict = Some(conflict(&path, why));
            return Plan { path, now, stamp, result, conflict };
        }
        result = next;
    }
    Plan { path, now, stamp, result, conflict: None }
}

/// Writes what was planned. What is in the way is removed before what needs its place is written. Plans whose file was
/// changed in between are given back.
fn write(workspace: &Workspace, plans: &[Plan]) -> Vec<(usize, WorkspaceError)> {
    let mut failed = Vec::new();
    // To wait for the disk once is quicker than for each of many.
    let synced = plans.len() <= limits::SYNCED_FILES_MAX;
    for removals in [true, false] {
        for (at, plan) in plans.iter().enumerate() {
            if !plan.changes_something() || plan.result.is_none() != removals {
                continue;
            }
            let expect = plan.stamp.map_or(Expect::Absent, Expect::Unchanged);
            // Held for one file at a time: nobody else should wait for all of them.
            let _writing = workspace.writing();
            if let Err(error) = workspace.put(&plan.path, plan.result.as_ref(), expect, synced) {
                failed.push((at, error));
            }
        }
    }
    if !synced {
        workspace.sync();
    }
    failed
}

/// What `ours` becomes, and why not all of it could be done.
fn bring(
    base: Option<&Entry>,
    ours: Option<&Entry>,
    theirs: Option<&Entry>,
    policy: Policy,
) -> (Option<Entry>, Option<String>) {
    if ours == theirs || base == theirs {
        return (ours.cloned(), None);
    } else if ours == base {
        return (theirs.cloned(), None);
    }
    let kept = ours.cloned();
    match (base, ours, theirs) {
        (_, Some(ours), Some(theirs)) if texts(base, ours, theirs) => {
            let nothing = Entry { mode: ours.mode, bytes: Vec::new() };
            bring_text(base.unwrap_or(&nothing), ours, theirs, policy)
        }
        (_, Some(_), Some(_)) => (kept, Some("both sides changed it, and it is no text".to_owned())),
        (_, Some(ours), None) => {
            (kept, Some(format!("removed by the other side, but changed here:\n{}", shown(ours))))
        }
        (_, None, Some(theirs)) => {
            (kept, Some(format!("gone here, but changed by the other side:\n{}", shown(theirs))))
        }
        (_, None, None) => (None, None),
    }
}

fn texts(base: Option<&Entry>, ours: &Entry, theirs: &Entry) -> bool {
    let text = |entry: &Entry| entry.mode != Mode::Link && !is_binary(&entry.bytes);
    base.is_none_or(text) && text(ours) && text(theirs)
}

fn bring_text(base: &Entry, ours: &Entry, theirs: &Entry, policy: Policy) -> (Option<Entry>, Option<String>) {
    let touching = if policy == Policy::Whole { Touching::Clean } else { Touching::Conflict };
    let merged = merge(&base.bytes, &ours.bytes, &theirs.bytes, touching);
    let mode = if ours.mode == base.mode { theirs.mode } else { ours.mode };
    let mut why = String::new();
    for (ours, theirs) in &merged.conflicts {
        let sides = [ours, theirs].map(|side| {
            let text = String::from_utf8_lossy(side).into_owned();
            if text.is_empty() || text.ends_with('\n') { text } else { text + "\n" }
        });
        why.push_str(&format!("<<<<<<< here\n{}=======\n{}>>>>>>> the other side\n", sides[0], sides[1]));
    }
    (Some(Entry { mode, bytes: merged.bytes }), (!why.is_empty()).then_some(why))
}

fn shown(entry: &Entry) -> String {
    if is_binary(&entry.bytes) {
        return format!("(a file of {} bytes that is no text)", entry.bytes.len());
    }
    String::from_utf8_lossy(&entry.bytes[..entry.bytes.len().min(limits::CONFLICT_BYTES_MAX)]).into_owned()
}

/// Leaves the texts of many conflicts out. Each path stays: whoever takes the rest back later has to know what is open.
pub(crate) fn shorten(conflicts: &mut [Conflict]) {
    conflicts.iter_mut().skip(limits::CONFLICTS_MAX).for_each(|conflict| conflict.text.clear());
}

/// A conflict with its text cut to a bounded length.
pub(crate) fn conflict(path: &WorkspacePath, text: String) -> Conflict {
    Conflict { path: path.to_string(), text: cut(text, limits::CONFLICT_BYTES_MAX) }
}
