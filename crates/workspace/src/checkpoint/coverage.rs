//! What a look could not keep, in words for a person, and which files lead out of the workspace by another name.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    path::PathBuf,
};

use super::{
    folder::{EntryState, path_of},
    repository,
};
use crate::limits;

/// What is left out, as far as it was met.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage {
    pub(crate) large: NamedPlaces,
    pub(crate) unreadable: NamedPlaces,
    pub(crate) ignored_folders: NamedPlaces,
    pub(crate) ignored_files: NamedPlaces,
    pub(crate) nested: NamedPlaces,
    pub(crate) odd_names: NamedPlaces,
    pub(crate) history: NamedPlaces,
    /// Whether ignored folders hold too much to look for links in all of it.
    pub(crate) links_cut: bool,
}

/// Which, and how many more.
#[derive(Clone, Debug, Default)]
pub(crate) struct NamedPlaces {
    /// The first in order, so that the same is said every time.
    places: BTreeSet<Box<[u8]>>,
    more: usize,
}

impl NamedPlaces {
    pub(crate) fn add(&mut self, path: &[u8]) {
        if self.places.insert(path.into()) && self.places.len() > limits::UNCOVERED_PLACES_MAX {
            self.places.pop_last();
            self.more += 1;
        }
    }

    fn join(&mut self, other: Self) {
        other.places.iter().for_each(|path| self.add(path));
        self.more += other.more;
    }

    /// Whether one of them is in a folder and still there. If not all of them are known, one may be.
    fn is_below(&self, folder: &[u8], there: &impl Fn(&[u8]) -> bool) -> bool {
        let below = |path: &&[u8]| {
            let rest = path.strip_prefix(folder);
            folder.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        self.more > 0 || self.places.iter().map(Box::as_ref).filter(below).any(there)
    }

    fn said(&self, one: &str, many: &str) -> Option<String> {
        // Names come from the workspace: what could end the line is shown as what it is.
        let example = self.places.first().map(|path| String::from_utf8_lossy(path).into_owned());
        let example = example.unwrap_or_default();
        let example = example.escape_debug();
        match self.places.len() + self.more {
            0 => None,
            1 => Some(format!("{one}: {example}")),
            count => Some(format!("{count} {many}, such as {example}")),
        }
    }
}

impl Coverage {
    /// A folder of the work that is not looked at.
    pub(crate) fn leaves_out(&mut self, path: &[u8], name: &[u8]) {
        let nested = name == repository::DOT;
        let left = if nested { &mut self.nested } else { &mut self.ignored_folders };
        left.add(path);
    }

    pub(crate) fn join(&mut self, other: Self) {
        self.large.join(other.large);
        self.unreadable.join(other.unreadable);
        self.ignored_folders.join(other.ignored_folders);
        self.ignored_files.join(other.ignored_files);
        self.nested.join(other.nested);
        self.odd_names.join(other.odd_names);
        self.history.join(other.history);
        self.links_cut |= other.links_cut;
    }

    /// Whether something in a folder is left out that is still there.
    pub(crate) fn lacks_below(&self, folder: &[u8], there: impl Fn(&[u8]) -> bool) -> bool {
        let more = [&self.ignored_folders, &self.ignored_files, &self.nested, &self.history];
        self.lacks_known_below(folder, &there) || more.iter().any(|named| named.is_below(folder, &there))
    }

    /// The same of what git does not ignore.
    pub(crate) fn lacks_known_below(&self, folder: &[u8], there: impl Fn(&[u8]) -> bool) -> bool {
        let all = [&self.large, &self.unreadable, &self.odd_names];
        all.iter().any(|named| named.is_below(folder, &there))
    }

    /// Whether something of the repository's history is left out.
    pub(crate) fn lacks_history(&self) -> bool {
        self.history.is_below(b"", &|_| true)
    }

    pub(crate) fn lines(&self, full: bool) -> Vec<String> {
        let mebibytes = crate::limits::CHECKPOINT_FILE_BYTES_MAX / (1024 * 1024);
        let mut lines: Vec<String> = [
            self.ignored_folders.said("an ignored folder", "ignored folders"),
            self.ignored_files.said("an ignored file", "ignored files"),
            self.large
                .said(&format!("a file above {mebibytes} MiB"), &format!("files above {mebibytes} MiB")),
            self.unreadable.said("a file that cannot be read", "files that cannot be read"),
            self.nested.said("the history of a nested repository", "histories of nested repositories"),
            self.odd_names.said("a name that is not UTF-8", "names that are not UTF-8"),
            self.history.said(
                "history of the repository that is too large",
                "files of the repository's history, which is too large",
            ),
        ]
        .into_iter()
        .flatten()
        .collect();
        if full {
            lines.push("new contents: there is no room left for them".to_owned());
        }
        if self.links_cut {
            lines.push("not all ignored folders were searched for links that lead outside".to_owned());
        }
        lines
    }
}

/// A name of a file that has more than one.
#[derive(Clone, Debug)]
pub(crate) struct Linked {
    identity: (u64, u64),
    links: u32,
    folder: Box<[u8]>,
}

impl Linked {
    /// None if the file has no other name.
    pub(crate) fn of(seen: &EntryState, folder: &[u8]) -> Option<Self> {
        let several = seen.links > 1;
        several.then(|| Self {
            identity: (seen.device, seen.inode),
            links: seen.links,
            folder: folder.into(),
        })
    }
}

/// The folders with files of which not all names were found, and how many such names.
pub(crate) fn outside(linked: &[Linked]) -> Vec<(PathBuf, usize)> {
    let mut names: HashMap<(u64, u64), u32> = HashMap::new();
    for one in linked {
        *names.entry(one.identity).or_default() += 1;
    }
    let mut folders: BTreeMap<&[u8], usize> = BTreeMap::new();
    for one in linked.iter().filter(|one| names.get(&one.identity).is_some_and(|found| *found < one.links)) {
        *folders.entry(&one.folder).or_default() += 1;
    }
    folders.into_iter().map(|(folder, count)| (PathBuf::from(path_of(folder)), count)).collect()
}
