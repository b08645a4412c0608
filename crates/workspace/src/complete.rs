//! Paths that complete what a person has typed after `@`. Shallow places and files that are not ignored come first. The work
//! is bounded: how many entries are looked at does not grow with the folder.

use std::{
    collections::BTreeSet,
    path::Path,
    time::{Duration, Instant},
};

use ignore::WalkBuilder;
use serde::{Deserialize, Serialize};

use crate::{Kind, Workspace, WorkspaceError, WorkspacePath, limits};

/// Paths that fit what was typed, best first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Completions {
    /// The paths.
    pub matches: Vec<CompletedPath>,
    /// How many entries were looked at.
    pub visited: usize,
    /// Whether there may be more: not everything was looked at, or more fit than are listed.
    pub more: bool,
}

/// One path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletedPath {
    /// Relative to the folder, with `/` between its parts.
    pub path: String,
    /// Whether it is a folder.
    pub folder: bool,
    /// Whether ignore files leave it out.
    pub ignored: bool,
}

impl Workspace {
    /// The paths that fit: those that begin so, those whose name does, those that have all its letters in order. `.git` and
    /// what is hidden from agents are never among them, and no link is followed.
    pub fn complete(&self, typed: &str, matches_max: usize) -> Result<Completions, WorkspaceError> {
        let typed = typed.trim_start_matches("./");
        if typed.len() > limits::COMPLETE_TYPED_BYTES_MAX {
            return Ok(Completions::default());
        }
        let mut search = Search::new(self, typed);
        // What was typed up to the last `/` may be a folder: its entries are wanted first.
        let named = typed.rsplit_once('/').and_then(|(folder, _)| WorkspacePath::exactly(folder));
        if let Some(folder) = named.and_then(|path| self.folder(&path).ok()) {
            search.walk(&folder, Some(1), Ignore::Respected);
            search.walk(&folder, Some(1), Ignore::Everything);
        }
        // Near places first: a large folder must not keep others from being found.
        for depth in [Some(1), Some(3), None] {
            search.walk(Path::new(""), depth, Ignore::Respected);
        }
        if search.found.len() < matches_max {
            search.walk(Path::new(""), None, Ignore::Everything);
        }
        Ok(search.finish(matches_max.min(limits::COMPLETE_MATCHES_MAX)))
    }
}

/// Whether ignore files count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ignore {
    Respected,
    Everything,
}

struct Search<'a> {
    workspace: &'a Workspace,
    typed: Vec<char>,
    /// Upper case is told from lower case if somebody typed upper case.
    exact_case: bool,
    began: Instant,
    found: Vec<(u32, CompletedPath)>,
    /// What was looked at, so that no entry is ranked twice.
    seen: BTreeSet<String>,
    visited: usize,
    cut: bool,
}

impl<'a> Search<'a> {
    fn new(workspace: &'a Workspace, typed: &str) -> Self {
        Self {
            workspace,
            typed: typed.chars().collect(),
            exact_case: typed.chars().any(char::is_uppercase),
            began: Instant::now(),
            found: Vec::new(),
            seen: BTreeSet::new(),
            visited: 0,
            cut: false,
        }
    }

    /// Looks at what is below a folder, within the limits of one walk.
    fn walk(&mut self, inside: &Path, depth: Option<usize>, ignore: Ignore) {
        let root = self.workspace.root().to_path_buf();
        let (start, hiding) = (root.join(inside), self.workspace.clone());
        // From the top, so that the ignore files on the way count.
        let (within, levels) = (root.clone(), inside.components().count());
        let mut builder = WalkBuilder::new(&root);
        builder
            .standard_filters(false)
            .git_ignore(ignore == Ignore::Respected)
            .git_exclude(ignore == Ignore::Respected)
            .ignore(ignore == Ignore::Respected)
            .parents(false)
            .require_git(false)
            .follow_links(false)
            .max_depth(depth.map(|depth| depth + levels))
            .filter_entry(move |entry| {
                let path = entry.path();
                let on_the_way = path.starts_with(&start) || start.starts_with(path);
                let hidden = || path.strip_prefix(&within).is_ok_and(|inside| hiding.hides(inside));
                entry.file_name() != ".git" && on_the_way && !hidden()
            });
        let mut left = limits::COMPLETE_ENTRIES_MAX;
        for entry in builder.build() {
            if left == 0 || self.began.elapsed() > Duration::from_millis(limits::COMPLETE_TIME_MS_MAX) {
                self.cut = true;
                return;
            }
            (left, self.visited) = (left - 1, self.visited + 1);
            let Ok(entry) = entry else { continue };
            let Some(path) = entry.path().strip_prefix(&root).ok().and_then(Path::to_str) else { continue };
            let Some(kind) = entry.file_type().map(Kind::of_type) else { continue };
            if path.is_empty() || !matches!(kind, Kind::File | Kind::Folder | Kind::Link) {
                continue;
            }
            if self.seen.insert(path.to_owned())
                && let Some(rank) = self.rank(path)
            {
                let (folder, ignored) = (kind == Kind::Folder, ignore == Ignore::Everything);
                self.found.push((rank, CompletedPath { path: path.to_owned(), folder, ignored }));
            }
        }
    }

    /// How well a path fits, 0 best; none if it does not.
    fn rank(&self, path: &str) -> Option<u32> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let dotted =
            u32::from(path.split('/').any(|part| part.starts_with('.')) && self.typed.first() != Some(&'.'));
        let class = if self.typed.is_empty() {
            0
        } else if self.begins(path) || self.begins(name) {
            1
        } else if self.inside(name) {
            2
        } else if self.inside(path) {
            3
        } else if self.in_order(name) {
            4
        } else if self.in_order(path) {
            5
        } else {
            return None;
        };
        let levels = u32::try_from(path.matches('/').count()).unwrap_or(u32::MAX).min(99);
        Some(class * 1_000 + dotted * 500 + levels)
    }

    fn same(&self, typed: char, found: char) -> bool {
        typed == found || (!self.exact_case && found.to_lowercase().eq(typed.to_lowercase()))
    }

    fn begins(&self, text: &str) -> bool {
        let mut chars = text.chars();
        self.typed.iter().all(|typed| chars.next().is_some_and(|found| self.same(*typed, found)))
    }

    fn inside(&self, text: &str) -> bool {
        text.char_indices().any(|(at, _)| self.begins(&text[at..]))
    }

    fn in_order(&self, text: &str) -> bool {
        let mut chars = text.chars();
        self.typed.iter().all(|typed| chars.any(|found| self.same(*typed, found)))
    }

    fn finish(mut self, matches_max: usize) -> Completions {
        self.found.sort_by(|(a_rank, a), (b_rank, b)| {
            (a.ignored, a_rank, a.path.len(), &a.path).cmp(&(b.ignored, b_rank, b.path.len(), &b.path))
        });
        let more = self.cut || self.found.len() > matches_max;
        let matches = self.found.into_iter().take(matches_max).map(|(_, path)| path).collect();
        Completions { matches, visited: self.visited, more }
    }
}
