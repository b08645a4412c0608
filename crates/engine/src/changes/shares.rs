//! Whose changes are that were found when a command had ended, by what it did to what it named. Pure.
//!
//! Naming is no proof. What a command wrote, made or removed is its own. What it moved holds what it held: its own is what is
//! gone, and what is now where it moved it. Of what it only touched, or failed to make, permissions are its own. The rest may
//! be the person's.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use posse_protocol::{Change, Saved};
use posse_sandbox::{Came, Touched};

/// What stands for the history of the repository in the workspace.
const HISTORY: &str = ".git/objects";

/// Changes, by whose they are.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Shares {
    /// The command's.
    pub(crate) own: Vec<Change>,
    /// Not certain, although the command named it.
    pub(crate) named: Vec<Change>,
    /// Not named by it.
    pub(crate) rest: Vec<Change>,
}

impl Shares {
    pub(crate) fn of(changes: Vec<Change>, touched: &Touched, root: &Path) -> Self {
        let held =
            changes.iter().filter_map(|change| Some((root.join(&change.path), change.before.clone()?)));
        let held: HashMap<PathBuf, Saved> =
            if touched.moved.is_empty() { HashMap::new() } else { held.collect() };
        let mut shares = Self::default();
        for change in changes {
            let place = root.join(&change.path);
            let share = if is_own(&change, &place, touched, &held) {
                &mut shares.own
            } else if touched.names(&place) {
                &mut shares.named
            } else {
                &mut shares.rest
            };
            share.push(change);
        }
        shares
    }
}

/// `held` is what was where before, of what has changed.
fn is_own(change: &Change, place: &Path, touched: &Touched, held: &HashMap<PathBuf, Saved>) -> bool {
    // All of the repository's history is one change.
    let below = || touched.paths.range(place.to_owned()..).next().is_some_and(|next| next.starts_with(place));
    let moved = || match touched.came(place) {
        Some(Came::Gone) => change.after.is_none(),
        Some(Came::Outside) => true,
        // Back where it was, it would not differ.
        Some(Came::From(origin)) if origin == place => false,
        Some(Came::From(origin)) => match (&change.after, held.get(&origin)) {
            (Some(after), Some(held)) => after.blob == held.blob,
            // What is ignored is not looked at.
            _ => true,
        },
        None => false,
    };
    touched.paths.contains(place)
        || (change.path == HISTORY && below())
        || (touched.marked.contains(place) && holds_the_same(change))
        || moved()
}

fn holds_the_same(change: &Change) -> bool {
    matches!((&change.before, &change.after), (Some(before), Some(after)) if before.blob == after.blob)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Path, before, after, and whose it is.
    type Row = (&'static str, &'static str, &'static str, char);

    /// A side is its content, after its mode if that is not the usual one.
    fn change(path: &str, before: &str, after: &str) -> Change {
        let side = |text: &str| {
            let (mode, blob) = text.split_once(' ').unwrap_or(("100644", text));
            (!text.is_empty()).then(|| Saved { mode: mode.to_string(), blob: blob.to_string() })
        };
        Change { path: path.to_string(), before: side(before), after: side(after) }
    }

    fn touched(words: &str) -> Touched {
        let mut touched = Touched { complete: true, ..Touched::default() };
        let at = |path: &str| Path::new("/ws").join(path);
        for word in words.split_whitespace() {
            let (kind, path) = word.split_once(':').unwrap();
            match (kind, path.split_once('<')) {
                ("w", _) => drop(touched.paths.insert(at(path))),
                ("a", _) => drop(touched.marked.insert(at(path))),
                (_, Some((to, "outside"))) => drop(touched.moved.insert(at(to), Came::Outside)),
                (_, Some((to, from))) => drop(touched.moved.insert(at(to), Came::From(at(from)))),
                (_, None) => drop(touched.moved.insert(at(path), Came::Gone)),
            }
        }
        touched
    }

    /// What was written (`w`), moved (`m`, from where) and only marked (`a`), what changed, and whose it is: own, named, or
    /// the rest.
    #[test]
    fn naming_is_no_proof() {
        let cases: &[(&str, &str, &[Row])] = &[
            ("a write", "w:a", &[("a", "1", "2", 'o'), ("b", "1", "2", 'r')]),
            ("touch and somebody's edit", "a:a", &[("a", "1", "2", 'n')]),
            ("chmod", "a:a", &[("a", "100644 1", "100755 1", 'o')]),
            ("chmod and somebody's edit", "a:a", &[("a", "100644 1", "100755 2", 'n')]),
            ("chmod of what is new", "a:a", &[("a", "", "1", 'n')]),
            ("chmod of what is gone", "a:a", &[("a", "1", "", 'n')]),
            ("chmod and a write", "a:a w:a", &[("a", "1", "2", 'o')]),
            ("a moved folder", "m:d m:e<d", &[("d/x", "1", "", 'o'), ("e/x", "", "1", 'o')]),
            (
                "there and back",
                "m:d<d m:e",
                &[
                    ("d/x", "1", "2", 'n'),
                    ("d/y", "1", "", 'n'),
                    ("d/new", "", "3", 'n'),
                    ("e/y", "", "4", 'n'),
                ],
            ),
            ("moved, and somebody's edit", "m:d m:e<d", &[("d/x", "1", "", 'o'), ("e/x", "", "2", 'n')]),
            ("moved, and another there", "m:d m:e<d", &[("d/x", "1", "2", 'n'), ("e/x", "", "1", 'o')]),
            ("exchanged", "m:d<e m:e<d", &[("d/x", "1", "2", 'o'), ("e/x", "2", "1", 'o')]),
            ("moved and written", "m:d m:e<d w:e/x", &[("d/x", "1", "", 'o'), ("e/x", "", "2", 'o')]),
            ("moved with other rights", "m:a m:b<a a:a", &[("a", "1", "", 'o'), ("b", "", "100755 1", 'o')]),
            ("from where nobody looks", "m:out/a m:b<out/a", &[("b", "1", "2", 'o')]),
            ("from outside", "m:b<outside", &[("b/c", "", "2", 'o')]),
            ("history", "w:.git/objects/ab/c", &[(".git/objects", "1", "2", 'o')]),
            ("another's history", "w:.git/index", &[(".git/objects", "1", "2", 'r')]),
        ];
        for (name, words, changes) in cases {
            let all = changes.iter().map(|(path, before, after, _)| change(path, before, after)).collect();
            let shares = Shares::of(all, &touched(words), Path::new("/ws"));
            for (path, _, _, whose) in *changes {
                let has = |share: &[Change]| share.iter().any(|change| change.path == *path);
                let found = [('o', &shares.own), ('n', &shares.named), ('r', &shares.rest)];
                let found: Vec<char> =
                    found.iter().filter(|(_, share)| has(share)).map(|(c, _)| *c).collect();
                assert_eq!(found, [*whose], "{name}: {path}");
            }
        }
        assert_eq!(cases.len(), 18);
    }
}
