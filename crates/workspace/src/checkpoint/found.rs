//! What a look found: where what was known and what is there differ, but for what we did ourselves. Touches no file.

use std::collections::{BTreeSet, HashMap};

use posse_protocol::{Change, Saved};

use super::manifest::{Held, KnownFile, Manifest, Zone, joined};
use crate::Mode;
use crate::content_store::{ContentHash, written};

/// A side of a change; none if nothing is there.
pub(crate) type Side = Option<(Mode, ContentHash)>;

/// What we did ourselves at each path, in order.
pub(super) type OwnChanges = HashMap<Box<[u8]>, Vec<(Side, Side)>>;

/// What differs.
#[derive(Default)]
pub(super) struct FoundChanges {
    pub(super) changes: Vec<Change>,
    /// Of what the repository has stored.
    pub(super) removed: Vec<(String, ContentHash)>,
}

impl FoundChanges {
    /// Compares what a folder held and holds.
    pub(super) fn compare(
        &mut self,
        folder: &[u8],
        old: Option<&Held>,
        new: Option<&Held>,
        known: &mut OwnChanges,
    ) {
        let Some(zone) = new.or(old).map(|held| held.zone) else { return };
        let mut before = old.into_iter().flat_map(|held| &held.files).peekable();
        let mut after = new.into_iter().flat_map(|held| &held.files).peekable();
        loop {
            let order = match (before.peek(), after.peek()) {
                (Some((old, _)), Some((new, _))) => old.cmp(new),
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (None, None) => return,
            };
            let was = if order.is_le() { before.next() } else { None };
            let is = if order.is_ge() { after.next() } else { None };
            let Some((name, _)) = was.or(is) else { return };
            let (was, is) = (was.map(|(_, known)| known), is.map(|(_, known)| known));
            let same = matches!((was, is), (Some(was), Some(is)) if was.equals(is));
            if !same || !known.is_empty() {
                self.one(zone, &joined(folder, name), was, is, known);
            }
        }
    }

    /// Compares what a path was and is, but for what we did there ourselves.
    pub(super) fn one(
        &mut self,
        zone: Zone,
        path: &[u8],
        old: Option<&KnownFile>,
        new: Option<&KnownFile>,
        known: &mut OwnChanges,
    ) {
        let side = |known: Option<&KnownFile>| known.map(|known| (known.mode, known.name));
        let (mut last, new) = (side(old), side(new));
        let Ok(text) = std::str::from_utf8(path) else { return };
        if zone == Zone::Objects {
            // What is added can stay, whatever is taken back.
            if let Some((_, name)) = last.filter(|_| last != new) {
                self.removed.push((text.to_owned(), name));
            }
            return;
        }
        for (before, after) in known.remove(path).unwrap_or_default() {
            self.push(text, last, before);
            last = after;
        }
        self.push(text, last, new);
    }

    fn push(&mut self, path: &str, before: Side, after: Side) {
        if before != after {
            self.changes.push(Change { path: path.to_owned(), before: saved(before), after: saved(after) });
        }
    }

    /// When rules change, old files may come to light that nobody has made: to take them for new would be to remove them
    /// when that is undone. New is what was not ignored before, or was not there to be passed over.
    pub(super) fn without_uncovered(&mut self, old: &Manifest, passed_over: &BTreeSet<Box<[u8]>>) {
        let rules = |change: &Change| change.path.rsplit('/').next() == Some(".gitignore");
        if self.changes.iter().any(rules) {
            self.changes.retain(|change| {
                let path = change.path.as_bytes();
                change.before.is_some() || !(passed_over.contains(path) || was_in_ignored(old, path))
            });
        }
    }
}

/// Whether a path is in a folder that was ignored.
fn was_in_ignored(old: &Manifest, path: &[u8]) -> bool {
    let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end);
    let mut above = old.folders.get(b"".as_slice());
    for end in ends {
        let folder = &path[..end];
        match (old.folders.get(folder), above) {
            (Some(held), _) if held.zone == Zone::Ignored => return true,
            (Some(held), _) => above = Some(held),
            // The first that was not known: it is new, or it was ignored.
            (None, Some(held)) => return held.rules.ignores(folder, true),
            (None, None) => return false,
        }
    }
    false
}

/// A side as records have it.
pub(crate) fn saved(side: Side) -> Option<Saved> {
    side.map(|(mode, name)| Saved { mode: mode.as_str().to_owned(), blob: written(&name) })
}
