//! Lists folders and finds files by pattern, on top of the walk.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};

use globset::{GlobBuilder, GlobMatcher};

use crate::{Cut, Kind, Stop, WalkEntry, Workspace, WorkspaceError, WorkspacePath, limits, walk::Walk};

/// What is in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The entries, parents first.
    pub entries: Vec<WalkEntry>,
    /// How many more entries each folder has that are not in `entries`.
    pub left_out: BTreeMap<WorkspacePath, u64>,
    /// Why the walk ended early, if it did.
    pub cut: Option<Cut>,
}

/// Files whose path matches a pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GlobFound {
    /// Their paths, in order.
    pub paths: Vec<WorkspacePath>,
    /// How many there are in all.
    pub total: u64,
    /// Why the walk ended early, if it did.
    pub cut: Option<Cut>,
}

impl Workspace {
    /// Lists a folder `depth` levels deep: at most `entries_max` in all and `folder_max` of each folder.
    pub fn list(
        &self,
        path: &WorkspacePath,
        depth: usize,
        entries_max: usize,
        folder_max: u64,
        stop: &Stop,
    ) -> Result<Listing, WorkspaceError> {
        let mut listing = Listing::default();
        let mut in_folder: BTreeMap<WorkspacePath, u64> = BTreeMap::new();
        let mut passed_over: BTreeSet<WorkspacePath> = BTreeSet::new();
        let walk = Walk { workspace: self, start: path, hidden: false, depth: Some(depth), stop };
        listing.cut = walk.run(&mut |found| {
            let folder = found.path.parent();
            let count = in_folder.entry(folder.clone()).or_default();
            let parent_shown = !passed_over.contains(&folder);
            if parent_shown && *count < folder_max && listing.entries.len() < entries_max {
                *count += 1;
                listing.entries.push(found);
                return ControlFlow::Continue(());
            }
            if parent_shown {
                *listing.left_out.entry(folder).or_default() += 1;
            }
            // What is below a folder that is left out is not counted: the folder itself is.
            if found.kind == Kind::Folder {
                passed_over.insert(found.path);
            }
            ControlFlow::Continue(())
        })?;
        Ok(listing)
    }

    /// Finds files by a glob pattern relative to `path`. A pattern without `/` matches at any depth.
    pub fn glob(
        &self,
        pattern: &str,
        path: &WorkspacePath,
        paths_max: usize,
        stop: &Stop,
    ) -> Result<GlobFound, WorkspaceError> {
        let matcher = PathPattern::new(pattern)?;
        let mut found = GlobFound::default();
        let hidden = matcher.hidden;
        let walk = Walk { workspace: self, start: path, hidden, depth: None, stop };
        found.cut = walk.run(&mut |entry| {
            if matches!(entry.kind, Kind::File | Kind::Link) && matcher.matches(path, &entry.path) {
                found.total += 1;
                if found.paths.len() < paths_max {
                    found.paths.push(entry.path);
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(found)
    }
}

/// A compiled glob pattern for paths below some folder.
pub(crate) struct PathPattern {
    matcher: GlobMatcher,
    /// Whether the pattern itself names something hidden.
    pub(crate) hidden: bool,
}

impl PathPattern {
    pub(crate) fn new(pattern: &str) -> Result<Self, WorkspaceError> {
        let bad =
            |why: String| WorkspaceError::BadPattern { pattern: pattern.chars().take(80).collect(), why };
        if pattern.is_empty() || pattern.len() > limits::PATTERN_BYTES_MAX {
            return Err(bad("it is empty or too long; write one such as **/*.rs".to_owned()));
        }
        let clean = pattern.trim_start_matches("./");
        if clean.starts_with('/') || clean.split('/').any(|part| part == "..") {
            return Err(bad(
                "it must be relative to the searched folder; write one such as src/**/*.rs".into()
            ));
        }
        let anywhere = if clean.contains('/') { clean.to_owned() } else { format!("**/{clean}") };
        let glob = GlobBuilder::new(&anywhere).literal_separator(true).build();
        let glob = glob.map_err(|error| bad(error.kind().to_string()))?;
        let hidden = clean.split(['/', '{', ',']).any(|part| part.starts_with('.'));
        Ok(Self { matcher: glob.compile_matcher(), hidden })
    }

    pub(crate) fn matches(&self, below: &WorkspacePath, path: &WorkspacePath) -> bool {
        let relative = if below.is_root() {
            Some(path.as_str())
        } else {
            path.as_str().strip_prefix(below.as_str()).and_then(|rest| rest.strip_prefix('/'))
        };
        // Below a link the walk shows real places: then the whole path is what there is to match.
        self.matcher.is_match(relative.unwrap_or(path.as_str()))
    }
}
