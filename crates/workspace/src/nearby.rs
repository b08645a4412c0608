//! Finds files near a path that is not there, so that a close name can be suggested: in the folder it names, then around
//! it, then further away. Looks at a bounded number of entries, however large the workspace is.

use std::{collections::VecDeque, sync::Arc};

use crate::{
    Stop, Workspace, WorkspacePath,
    checkpoint::{
        folder::{EntryKind, Hint, Top, path_of},
        joined,
        rules::{self, IgnoreRules},
        split,
    },
    limits,
};

/// The files near a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Nearby {
    /// In order. Neither ignored nor hidden ones.
    pub files: Vec<WorkspacePath>,
    /// Whether there may be more.
    pub cut: bool,
}

impl Workspace {
    /// Files in the nearest folder above `path` that is there, and below it; then in the folders above that. Each of these
    /// may take half of the entries that are left to be looked at, and what is in a folder comes before what is in its folders.
    pub fn nearby(&self, path: &WorkspacePath, stop: &Stop) -> Nearby {
        let Ok(top) = Top::open(self.root()) else { return Nearby::default() };
        let mut folder = self.place(path).unwrap_or_else(|_| path.clone()).parent();
        while !folder.is_root() && top.folder(folder.as_str().as_bytes()).is_err() {
            folder = folder.parent();
        }
        let left = limits::NEARBY_ENTRIES_MAX;
        let mut search = Search { workspace: self, top, stop, files: Vec::new(), left };
        let (mut done, mut later) = (None, Open::new());
        loop {
            let place: Box<[u8]> =
                if folder.is_root() { Box::default() } else { folder.as_str().as_bytes().into() };
            let mut open = Open::from([(place.clone(), search.rules_above(&place))]);
            search.look(&mut open, search.left / 2, done.as_deref());
            later.append(&mut open);
            done = Some(place);
            if folder.is_root() {
                break;
            }
            folder = folder.parent();
        }
        search.look(&mut later, 0, None);
        search.files.sort_unstable();
        Nearby { files: search.files, cut: search.left == 0 || !later.is_empty() }
    }
}

/// Folders that are still to be looked at, with the rules that hold where they are.
type Open = VecDeque<(Box<[u8]>, Arc<IgnoreRules>)>;

struct Search<'a> {
    workspace: &'a Workspace,
    top: Top,
    stop: &'a Stop,
    files: Vec<WorkspacePath>,
    /// How many entries may still be looked at.
    left: usize,
}

impl Search<'_> {
    /// Looks at folders and at those in them, but for `done`, until only so many entries are left.
    fn look(&mut self, open: &mut Open, left_min: usize, done: Option<&[u8]>) {
        while self.left > left_min && !self.stop.stopped() {
            let Some((place, above)) = open.pop_front() else { return };
            self.folder(&place, &above, open, done);
        }
    }

    fn folder(&mut self, place: &[u8], above: &Arc<IgnoreRules>, open: &mut Open, done: Option<&[u8]>) {
        self.left = self.left.saturating_sub(limits::NEARBY_FOLDER_ENTRIES);
        let Ok(folder) = self.top.folder(place) else { return };
        let Ok(names) = folder.names_up_to(self.left) else { return };
        self.left -= names.len();
        let has_rules = names.iter().any(|(name, _)| name.as_ref() == rules::FILE);
        let rules = if has_rules { IgnoreRules::within(above, place, &folder) } else { Arc::clone(above) };
        for (name, hint) in names {
            let (path, is_folder) = (joined(place, &name), hint == Hint::Folder);
            let passed_over = name.starts_with(b".") || rules.ignores(&path, is_folder);
            if passed_over || self.workspace.hides(path_of(&path)) || done == Some(&*path) {
                continue;
            }
            let is_entry = || {
                folder.look(&name).ok().flatten().is_some_and(|seen| matches!(seen.what, EntryKind::Entry(_)))
            };
            if is_folder {
                open.push_back((path, Arc::clone(&rules)));
            } else if hint == Hint::Regular || is_entry() {
                self.files.push(WorkspacePath::from_walk(path_of(&path)));
            }
        }
    }

    /// The rules that hold in the folder in which `place` is.
    fn rules_above(&self, place: &[u8]) -> Arc<IgnoreRules> {
        if place.is_empty() {
            // As for walks: what a repository around the workspace ignores is none of it.
            let own = self.top.path.join(".git").symlink_metadata().is_ok();
            return if own { IgnoreRules::from_above(&self.top.path) } else { Arc::default() };
        }
        let (above, _) = split(place);
        let rules = self.rules_above(above);
        self.top
            .folder(above)
            .map_or_else(|_| Arc::clone(&rules), |folder| IgnoreRules::within(&rules, above, &folder))
    }
}
