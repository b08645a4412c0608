//! Whose changes are that were found when a command had ended, by what it did to what it named. Pure.
//!
//! Naming is no proof. What a command wrote, made, removed or moved is its own. What it only touched, or failed to make, is
//! its own as far as it holds the same as before: then its permissions are what differs. The rest may be the person's.

use std::path::Path;

use posse_protocol::Change;
use posse_sandbox::Touched;

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
        let mut shares = Self::default();
        for change in changes {
            let place = root.join(&change.path);
            let share = if is_own(&change, &place, touched) {
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

fn is_own(change: &Change, place: &Path, touched: &Touched) -> bool {
    // All of the repository's history is one change.
    let below = || touched.paths.range(place.to_owned()..).next().is_some_and(|next| next.starts_with(place));
    touched.writes(place)
        || (change.path == HISTORY && below())
        || (touched.marked.contains(place) && holds_the_same(change))
}

fn holds_the_same(change: &Change) -> bool {
    matches!((&change.before, &change.after), (Some(before), Some(after)) if before.blob == after.blob)
}

#[cfg(test)]
mod tests {
    use posse_protocol::Saved;

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
        for word in words.split_whitespace() {
            let (kind, path) = word.split_once(':').unwrap();
            let paths = match kind {
                "w" => &mut touched.paths,
                "m" => &mut touched.moved,
                _ => &mut touched.marked,
            };
            paths.insert(Path::new("/ws").join(path));
        }
        touched
    }

    /// What was written, moved and only marked, what changed, and whose it is: own, named, or the rest.
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
        assert_eq!(cases.len(), 9);
    }
}
