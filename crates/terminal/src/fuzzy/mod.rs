//! Finds paths and names by some of their characters. Must not know where they come from.

mod score;

use std::cmp::Reverse;
use std::collections::HashSet;

use self::score::Query;
use crate::limits::{NARROWED_MAX, PATH_BYTES_MAX, PATHS_BYTES_MAX, PATHS_MAX};

/// A path that can be found.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// Where it is among all paths.
    start: usize,
    end: usize,
    /// Where its last part begins, from its own beginning.
    name_start: usize,
    mask: u64,
    is_ignored: bool,
}

/// The paths of a folder, for completing `@path`. Folders end with `/`; those of the files are added.
#[derive(Clone, Debug, Default)]
pub struct PathIndex {
    /// All paths, one after the other.
    text: String,
    /// In the order in which they are shown without a query.
    paths: Vec<Known>,
    /// Which paths fit a query, for queries that each begin with the one before.
    narrowed: Vec<(String, Vec<u32>)>,
}

impl PathIndex {
    /// Takes the paths of files, relative to the folder, and those of files that are ignored, which are found second. What
    /// belongs to git is left out.
    pub fn new<P: AsRef<str>>(
        paths: impl IntoIterator<Item = P>,
        ignored: impl IntoIterator<Item = P>,
    ) -> Self {
        let paths: Vec<P> = paths.into_iter().take(PATHS_MAX).collect();
        let ignored: Vec<P> = ignored.into_iter().take(PATHS_MAX - paths.len()).collect();
        let mut seen = HashSet::new();
        let mut shown: Vec<(bool, usize, &str)> = Vec::new();
        let all = paths.iter().map(|path| (false, path)).chain(ignored.iter().map(|path| (true, path)));
        for (is_ignored, path) in all {
            for path in with_folders(path.as_ref()) {
                // Where a folder is known, those above it are, too.
                if !seen.insert(path) {
                    break;
                }
                shown.push((is_ignored, depth(path), path));
            }
        }
        shown.sort_unstable();
        let mut index = Self::default();
        for (is_ignored, _, path) in shown {
            if index.text.len() + path.len() <= PATHS_BYTES_MAX && index.paths.len() < PATHS_MAX {
                index.add(path, is_ignored);
            }
        }
        index
    }

    /// How many paths there are, with folders.
    pub fn len(&self) -> usize {
        self.paths.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty()
    }

    /// The paths that fit a query, the best first: its characters stand in the path in this order. Beginnings of words count
    /// more, the name more than its folders, and shorter paths come first. A capital letter finds capital ones only.
    pub fn find(&mut self, query: &str, limit: usize) -> Vec<&str> {
        let Some(mut wanted) = Query::new(query) else { return Vec::new() };
        if wanted.is_empty() {
            return self.paths.iter().take(limit).map(|known| self.path(known)).collect();
        }
        let mut found = self.narrow(query, &mut wanted);
        if limit < found.len() {
            found.select_nth_unstable(limit);
            found.truncate(limit);
        }
        found.sort_unstable();
        found.into_iter().map(|fitting| self.path(&self.paths[fitting.at as usize])).collect()
    }

    /// The paths that fit the query, from those that fit the longest beginning of it that is known; and remembers them.
    fn narrow(&mut self, query: &str, wanted: &mut Query) -> Vec<Fitting> {
        while self.narrowed.last().is_some_and(|(last, _)| !query.starts_with(last.as_str())) {
            self.narrowed.pop();
        }
        let fitting = |at: u32| {
            let known = &self.paths[at as usize];
            let path = self.path(known);
            let score = if wanted.may_fit(known.mask) {
                wanted.score(path.as_bytes(), known.name_start)
            } else {
                None
            };
            score.map(|score| Fitting {
                is_ignored: known.is_ignored,
                score: Reverse(score - length_cost(path)),
                length: path.len(),
                at,
            })
        };
        let found: Vec<Fitting> = match self.narrowed.last() {
            Some((_, known)) => known.iter().copied().filter_map(fitting).collect(),
            None => (0..self.paths.len() as u32).filter_map(fitting).collect(),
        };
        if self.narrowed.last().is_none_or(|(last, _)| last != query) {
            if self.narrowed.len() >= NARROWED_MAX {
                self.narrowed.pop();
            }
            self.narrowed.push((query.to_owned(), found.iter().map(|fitting| fitting.at).collect()));
        }
        found
    }

    fn path(&self, known: &Known) -> &str {
        &self.text[known.start..known.end]
    }

    fn add(&mut self, path: &str, is_ignored: bool) {
        let start = self.text.len();
        self.text.push_str(path);
        let name_start = path.trim_end_matches('/').rfind('/').map_or(0, |slash| slash + 1);
        let mask = score::mask(path.as_bytes());
        self.paths.push(Known { start, end: self.text.len(), name_start, mask, is_ignored });
    }
}

/// A path that fits a query; the best is the smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fitting {
    is_ignored: bool,
    score: Reverse<i32>,
    length: usize,
    at: u32,
}

/// A path and the folders above it, from the longest on; nothing of git.
fn with_folders(path: &str) -> impl Iterator<Item = &str> {
    let path = path.trim_start_matches("./");
    let is_kept = path.len() <= PATH_BYTES_MAX && !path.split('/').any(|part| part == ".git");
    let folders = path.rmatch_indices('/').map(|(slash, _)| &path[..=slash]);
    let all = std::iter::once(path).chain(folders.filter(move |folder| *folder != path));
    all.filter(move |path| is_kept && !path.trim_matches('/').is_empty())
}

fn depth(path: &str) -> usize {
    path.trim_end_matches('/').matches('/').count()
}

/// What a long path costs: little, so that it only decides between paths that fit about as well.
fn length_cost(path: &str) -> i32 {
    i32::try_from(path.len() / 8).unwrap_or(i32::MAX / 4)
}

/// Which of a few names fit a query, the best first, by their numbers. Without a query all do; names that fit equally well
/// stay in their order.
pub fn rank<N: AsRef<str>>(query: &str, names: &[N]) -> Vec<usize> {
    let Some(mut wanted) = Query::new(query) else { return Vec::new() };
    if wanted.is_empty() {
        return (0..names.len()).collect();
    }
    let scored = names.iter().enumerate().filter_map(|(at, name)| {
        let name = name.as_ref().as_bytes();
        let name = &name[..name.len().min(PATH_BYTES_MAX)];
        Some((Reverse(wanted.score(name, 0)?), at))
    });
    let mut found: Vec<_> = scored.collect();
    found.sort_unstable();
    found.into_iter().map(|(_, at)| at).collect()
}
