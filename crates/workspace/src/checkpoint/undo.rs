//! Takes changes back. What others did since stays: lines of texts are brought together, everything else goes back only if
//! it is still what the change left. The repository's state is taken back file by file, branches all or none.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use posse_protocol::{Change, Conflict, Saved};

use super::{
    Inner, Undone,
    folder::EntryKind,
    found::{Side, saved},
    manifest::split,
    read::stamp_name,
    repository,
};
use crate::content_store::{ContentHash, ContentStore, name_of, parsed};
use crate::{
    Entry, Expect, Kind, Mode, Stamp, Workspace, WorkspaceError, WorkspacePath,
    apply::{Keep, PathSteps, Policy, carry_out, conflict, preview, shorten},
    limits,
    shadow::{blocking, checked},
};

type Sides<'a> = (Option<&'a Saved>, Option<&'a Saved>);

const NOT_KEPT: &str = "its content is too large or not kept any more";

/// Whether anything is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UndoEffect {
    /// Files are written.
    Write,
    /// It is only found out what would be written.
    Preview,
}

/// Takes changes back, given oldest first, or says what that would do.
pub(super) async fn undo(
    inner: &Arc<Inner>,
    changes: &[Change],
    effect: UndoEffect,
) -> Result<Undone, WorkspaceError> {
    for side in changes.iter().flat_map(|change| [&change.before, &change.after]).flatten() {
        checked(&side.blob)?;
    }
    let mut undone = Undone::default();
    let (mut removals, mut rewrites, mut state) = (Vec::new(), Vec::new(), Vec::new());
    for (path, steps) in backwards(changes) {
        let owned = |side: Option<&Saved>| side.cloned();
        let steps: Vec<_> = steps.into_iter().map(|(from, to)| (owned(from), owned(to))).collect();
        let Some(clean) = WorkspacePath::exactly(path) else {
            let text = "it is no path within the workspace".to_owned();
            undone.conflicts.push(Conflict { path: path.to_owned(), text });
            continue;
        };
        if path == repository::OBJECTS_PATH {
            let (inner, steps) = (Arc::clone(inner), steps.clone());
            let text = blocking(move || restore_objects(&inner, &steps, effect)).await?;
            undone.conflicts.extend(text.map(|text| conflict(&clean, text)));
        } else if repository::is_inside(path) {
            state.push((clean, steps));
        } else if steps.last().is_some_and(|(_, to)| to.is_none()) {
            removals.push((clean, steps));
        } else {
            rewrites.push((clean, steps));
        }
    }
    // What is in the way goes before what needs its place comes.
    let mut gone = BTreeSet::new();
    for mut open in [removals, rewrites] {
        open.reverse();
        while !open.is_empty() {
            let gone = (effect == UndoEffect::Preview).then_some(&mut gone);
            some(inner, &mut open, &mut undone, gone).await?;
        }
    }
    let worked = Arc::clone(inner);
    let (done, conflicts) = blocking(move || undo_state(&worked, state, effect)).await?;
    undone.changes.extend(done);
    undone.conflicts.extend(conflicts);
    undone.changes.sort_by(|a, b| a.path.cmp(&b.path));
    undone.conflicts.sort_by(|a, b| a.path.cmp(&b.path));
    shorten(&mut undone.conflicts);
    Ok(undone)
}

type Open = Vec<(WorkspacePath, Vec<(Option<Saved>, Option<Saved>)>)>;

/// Takes back as much of what is open as should be in memory at a time. With a list of what would be gone by now, nothing is
/// written.
async fn some(
    inner: &Arc<Inner>,
    open: &mut Open,
    undone: &mut Undone,
    gone: Option<&mut BTreeSet<String>>,
) -> Result<(), WorkspaceError> {
    let (mut taken, mut bytes) = (Vec::new(), 0);
    while bytes < limits::UNDO_BYTES_MAX
        && let Some((path, steps)) = open.pop()
    {
        let sides = steps.iter().flat_map(|(from, to)| [from, to]).flatten();
        bytes += sides.filter_map(|side| inner.store.bytes_of(&parsed(&side.blob)?)).sum::<u64>();
        taken.push((path, steps));
    }
    let worked = Arc::clone(inner);
    let effect = if gone.is_some() { UndoEffect::Preview } else { UndoEffect::Write };
    let (ready, direct, conflicts) = blocking(move || prepare(&worked, taken, effect)).await?;
    undone.changes.extend(direct);
    undone.conflicts.extend(conflicts);
    let keep = Keep::Store(&inner.store);
    let (changes, conflicts) = match gone {
        None => carry_out(&inner.workspace, ready, Policy::Whole, keep).await?,
        Some(gone) => preview(&inner.workspace, ready, Policy::Whole, keep, gone).await?,
    };
    undone.changes.extend(changes);
    undone.conflicts.extend(conflicts);
    Ok(())
}

/// Loads what is needed. What was never kept, but is still what the change left, is replaced at once.
fn prepare(inner: &Inner, open: Open, effect: UndoEffect) -> (Vec<PathSteps>, Vec<Change>, Vec<Conflict>) {
    let (mut ready, mut direct, mut conflicts) = (Vec::new(), Vec::new(), Vec::new());
    for (path, sides) in open {
        let steps: Result<Vec<_>, _> = sides
            .iter()
            .map(|(from, to)| {
                Ok((entry_of(&inner.store, from.as_ref())?, entry_of(&inner.store, to.as_ref())?))
            })
            .collect();
        match (steps, &sides[..]) {
            (Ok(steps), _) => ready.push(PathSteps { path, steps }),
            (Err(why), [(from, to)]) => {
                match replace_unkept(inner, &path, (from.as_ref(), to.as_ref()), effect) {
                    Some(Ok(change)) => direct.push(change),
                    Some(Err(error)) => conflicts.push(conflict(&path, error.to_string())),
                    None => conflicts.push(conflict(&path, str::to_owned(why))),
                }
            }
            (Err(why), _) => conflicts.push(conflict(&path, str::to_owned(why))),
        }
    }
    (ready, direct, conflicts)
}

/// Takes back a change to a file whose new content is too large to be kept. None if the old one is not kept either, or
/// the file was changed since.
fn replace_unkept(
    inner: &Inner,
    path: &WorkspacePath,
    (from, to): Sides<'_>,
    effect: UndoEffect,
) -> Option<Result<Change, WorkspaceError>> {
    let from = side_of(from)?;
    let entry = entry_of(&inner.store, to).ok()?;
    let (folder, name) = split(path.as_str().as_bytes());
    let seen = inner.top.folder(folder).ok()?.look(name).ok()??;
    if seen.what != EntryKind::Entry(from.0) || stamp_name(&seen) != from.1 {
        return None;
    }
    let stamp = std::fs::symlink_metadata(inner.workspace.root().join(path.as_path())).ok()?;
    let put = if effect == UndoEffect::Preview {
        inner.workspace.must_be_puttable(path, entry.as_ref())
    } else {
        let _writing = inner.workspace.writing();
        inner.workspace.put(path, entry.as_ref(), Expect::Unchanged(Stamp::of(&stamp)), true)
    };
    let change = Change { path: path.to_string(), before: saved(Some(from)), after: to.cloned() };
    Some(put.map(|()| change))
}

/// Takes back what was done to the repository's state.
fn undo_state(inner: &Inner, open: Open, effect: UndoEffect) -> (Vec<Change>, Vec<Conflict>) {
    let (mut plans, mut conflicts) = (Vec::new(), Vec::new());
    for (path, steps) in open {
        match plan_state(inner, &path, &steps) {
            Ok(plan) => plans.push(plan),
            Err(why) => conflicts.push(conflict(&path, why)),
        }
    }
    // Branches that are half where they were are worse than either.
    if conflicts.iter().any(|conflict| repository::is_reference(&conflict.path)) {
        let (references, others): (Vec<_>, Vec<_>) =
            plans.into_iter().partition(|plan| repository::is_reference(plan.path.as_str()));
        plans = others;
        let why = "other branches of the repository were changed since; it stays with them";
        conflicts.extend(references.iter().map(|plan| conflict(&plan.path, why.to_owned())));
    }
    let mut changes = Vec::new();
    for removals in [true, false] {
        for plan in plans.iter().filter(|plan| plan.new.is_none() == removals && plan.now != plan.new) {
            let expect = plan.stamp.map_or(Expect::Absent, Expect::Unchanged);
            let written = if effect == UndoEffect::Preview {
                Ok(())
            } else {
                let _writing = inner.workspace.writing();
                inner.workspace.put_state(&plan.path, plan.new.as_ref(), expect)
            };
            match written {
                Ok(()) => changes.extend(plan.change(&inner.store)),
                Err(error) => conflicts.push(conflict(&plan.path, error.to_string())),
            }
        }
    }
    // A repository without these is none, and empty folders are not kept.
    if effect == UndoEffect::Write && changes.iter().any(|change| change.after.is_some()) {
        for folder in [".git/refs/heads", ".git/refs/tags", ".git/objects/info", ".git/objects/pack"] {
            let _ = inner.top.make_folder(folder.as_bytes());
        }
    }
    (changes, conflicts)
}

/// What is to become of one file of the repository.
struct Plan {
    path: WorkspacePath,
    now: Option<Entry>,
    stamp: Option<Stamp>,
    new: Option<Entry>,
}

impl Plan {
    fn change(&self, store: &ContentStore) -> Option<Change> {
        let side = |entry: Option<&Entry>| -> Option<Side> {
            let Some(entry) = entry else { return Some(None) };
            Some(Some((entry.mode, store.put_one(&entry.bytes).ok()?)))
        };
        let (before, after) = (side(self.now.as_ref())?, side(self.new.as_ref())?);
        Some(Change { path: self.path.to_string(), before: saved(before), after: saved(after) })
    }
}

fn plan_state(
    inner: &Inner,
    path: &WorkspacePath,
    steps: &[(Option<Saved>, Option<Saved>)],
) -> Result<Plan, String> {
    let [(from, to)] = steps else {
        return Err("others changed it in between".to_owned());
    };
    let new = entry_of(&inner.store, to.as_ref())?;
    if let Some(why) = new.as_ref().and_then(|new| repository::refusal(path.as_str(), new)) {
        return Err(why.to_owned());
    }
    let (now, stamp) = match inner.workspace.entry(path, limits::CHECKPOINT_FILE_BYTES_MAX) {
        Ok(Some((entry, stamp))) => (Some(entry), Some(stamp)),
        Ok(None) | Err(WorkspaceError::NotAFile { kind: Kind::Folder, .. }) => (None, None),
        Err(error) => return Err(error.to_string()),
    };
    let is = now.as_ref().map(|entry| (entry.mode, name_of(&entry.bytes)));
    let left = from.as_ref().map(|saved| side_of(Some(saved)).ok_or(NOT_KEPT)).transpose()?;
    if is != left && now != new {
        return Err("it was changed since".to_owned());
    }
    Ok(Plan { path: path.clone(), now, stamp, new })
}

/// Puts back what the repository had stored. Says what could not be.
fn restore_objects(
    inner: &Inner,
    steps: &[(Option<Saved>, Option<Saved>)],
    effect: UndoEffect,
) -> Option<String> {
    let mut failed = Vec::new();
    for listed in steps.iter().filter_map(|(_, to)| to.as_ref()) {
        let Some(list) = parsed(&listed.blob).and_then(|name| inner.store.get(&name)) else {
            return Some("the list of what was there is not kept any more".to_owned());
        };
        for line in String::from_utf8_lossy(&list).lines() {
            let Some((name, path)) = line.split_once(' ') else { continue };
            let put = parsed(name).is_some_and(|name| restore_object(inner, path, &name, effect));
            if !put {
                failed.push(path.to_owned());
            }
        }
    }
    let first = failed.first()?;
    Some(format!("{} of the repository's files could not be put back, such as {first}", failed.len()))
}

fn restore_object(inner: &Inner, path: &str, name: &ContentHash, effect: UndoEffect) -> bool {
    let inside = path.strip_prefix(".git/objects/").filter(|_| WorkspacePath::exactly(path).is_some());
    if inside.is_none() {
        return false;
    }
    let (folder, file) = split(path.as_bytes());
    let Some(bytes) = inner.store.get(name) else { return false };
    if effect == UndoEffect::Preview {
        return true;
    }
    let Ok(folder) = inner.top.make_folder(folder) else { return false };
    // What somebody has put there instead may be of any size.
    if folder.small(file, bytes.len() as u64).is_some_and(|there| there == bytes) {
        return true;
    }
    inner.state().forget(path.as_bytes());
    folder.put(file, &bytes, 0o444).is_ok()
}

/// A side of a change; none if it is not one of ours.
fn side_of(saved: Option<&Saved>) -> Option<(Mode, ContentHash)> {
    let saved = saved?;
    Some((Mode::parse(&saved.mode)?, parsed(&saved.blob)?))
}

/// A side with its content, as it is to be written; `Err` with the reason if it cannot be had.
fn entry_of(store: &ContentStore, saved: Option<&Saved>) -> Result<Option<Entry>, &'static str> {
    let Some(saved) = saved else { return Ok(None) };
    let mode = Mode::parse(&saved.mode).ok_or("it is neither a file nor a link")?;
    let bytes = parsed(&saved.blob).and_then(|name| store.get(&name)).ok_or(NOT_KEPT)?;
    Ok(Some(Entry { mode, bytes }))
}

/// For each path, what leads back, newest first. Changes that follow each other directly are one.
fn backwards(changes: &[Change]) -> BTreeMap<&str, Vec<Sides<'_>>> {
    let mut paths: BTreeMap<&str, Vec<Sides<'_>>> = BTreeMap::new();
    for change in changes.iter().rev() {
        let (before, after) = (change.before.as_ref(), change.after.as_ref());
        let steps = paths.entry(&change.path).or_default();
        match steps.last_mut() {
            Some(last) if last.1 == after && change.path != repository::OBJECTS_PATH => last.1 = before,
            _ => steps.push((after, before)),
        }
    }
    // What was done and undone again is nothing to take back.
    paths.retain(|path, steps| {
        *path == repository::OBJECTS_PATH || !matches!(steps[..], [(from, to)] if from == to)
    });
    paths
}

impl Workspace {
    /// Puts a file of the repository's state where it was. No link is followed or made. The caller holds
    /// [`Self::writing`].
    pub(super) fn put_state(
        &self,
        path: &WorkspacePath,
        entry: Option<&Entry>,
        expect: Expect,
    ) -> Result<(), WorkspaceError> {
        let refused = !repository::is_state(path.as_str())
            || entry.is_some_and(|entry| repository::refusal(path.as_str(), entry).is_some());
        if refused {
            return Err(WorkspaceError::Protected { path: path.to_string(), program: "git".to_owned() });
        }
        self.put_unguarded(path, entry, expect, true)
    }
}
