//! What a look after a command came to, as plain data.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::Path;

use posse_protocol::{Change, Effect, EventKind};
use posse_sandbox::Touched;

/// What changed while a command ran.
#[derive(Default)]
pub(crate) struct Found {
    /// By the command.
    pub(crate) own: Vec<Change>,
    /// By nobody knows whom.
    pub(crate) meanwhile: Vec<Change>,
    /// The same for the receipt.
    pub(crate) effects: Vec<Effect>,
    /// What the command wrote although other programs act on it by themselves, and whether it could be put back.
    pub(crate) refused: Vec<Refused>,
    /// Everything that may have been written, also where no look goes.
    pub(crate) written: WrittenPaths,
}

impl Found {
    /// The events that say what was changed in a turn, and what else changed meanwhile.
    pub(crate) fn into_events(self, turn: u32) -> impl Iterator<Item = EventKind> {
        let Self { own, meanwhile, .. } = self;
        let own = (!own.is_empty()).then_some(EventKind::Changed { turn, changes: own });
        let meanwhile =
            (!meanwhile.is_empty()).then_some(EventKind::ChangedMeanwhile { turn, changes: meanwhile });
        own.into_iter().chain(meanwhile)
    }
}

/// Paths that may have been written, relative to the folder of whoever did.
#[derive(Default)]
pub(crate) struct WrittenPaths {
    pub(crate) paths: BTreeSet<String>,
    /// Whether there may be more that nobody saw.
    pub(crate) unseen: bool,
}

impl WrittenPaths {
    /// What changes came to.
    pub(crate) fn add(&mut self, changes: &[Change]) {
        self.paths.extend(changes.iter().map(|change| change.path.clone()));
    }

    /// What a command named in order to change it, whether or not anything came of it.
    pub(crate) fn add_touched(&mut self, root: &Path, touched: &Touched) {
        let named = touched.paths.iter().chain(touched.moved.keys()).chain(&touched.marked);
        let named = named.filter(|path| !is_past_lock(root, path));
        let inside = named.filter_map(|path| path.strip_prefix(root).ok());
        self.paths.extend(inside.map(|path| path.to_string_lossy().into_owned()));
        self.unseen |= !touched.complete;
    }
}

/// Whether it is a lock that git made in order to look, and removed again. What is written under one is named by itself.
fn is_past_lock(root: &Path, path: &Path) -> bool {
    let lock = path.extension().is_some_and(|extension| extension == "lock");
    lock && path.starts_with(root.join(".git")) && path.symlink_metadata().is_err()
}

/// A path that a command got past its guards. See [`Found::refused`].
pub(crate) struct Refused {
    pub(crate) path: String,
    /// The program that acts on it by itself.
    pub(crate) program: &'static str,
    pub(crate) put_back: bool,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, program, put_back } = self;
        let what = if *put_back { "it was put back as it was" } else { "it could not be put back" };
        write!(
            f,
            "{path} is something that {program} acts on by itself: {what}. Write it with a file tool, which asks the person"
        )
    }
}

impl Found {
    pub(crate) fn extend(&mut self, other: Self) {
        self.own.extend(other.own);
        self.meanwhile.extend(other.meanwhile);
        self.effects.extend(other.effects);
        self.refused.extend(other.refused);
        self.written.paths.extend(other.written.paths);
        self.written.unseen |= other.written.unseen;
    }
}

/// One change a path, where one follows the other.
pub(crate) fn folded(changes: Vec<Change>) -> Vec<Change> {
    let mut folded: Vec<Change> = Vec::new();
    let mut last: HashMap<String, usize> = HashMap::new();
    for change in changes {
        match last.get(&change.path).map(|at| &mut folded[*at]).filter(|known| known.after == change.before) {
            Some(known) => known.after = change.after,
            None => {
                last.insert(change.path.clone(), folded.len());
                folded.push(change);
            }
        }
    }
    folded.retain(|change| change.before != change.after);
    folded
}
