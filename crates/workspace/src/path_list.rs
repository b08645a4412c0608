//! All paths of a folder, for a list that is searched many times: the files that are not ignored, then those that are. `.git`
//! and what is hidden from agents are never among them, and no link is followed.

use std::collections::HashSet;
use std::path::Path;

use ignore::WalkBuilder;

use crate::{Workspace, limits};

/// The files of a folder, relative to it, with `/` between their parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathList {
    /// Those that are not ignored.
    pub paths: Vec<String>,
    /// Those that are, as far as they are listed.
    pub ignored: Vec<String>,
}

impl Workspace {
    /// Lists up to so many files.
    pub fn list_paths(&self, files_max: usize) -> PathList {
        let paths = self.files(files_max, true);
        let known: HashSet<&str> = paths.iter().map(String::as_str).collect();
        let ignored_max = limits::IGNORED_LISTED_MAX.min(files_max.saturating_sub(paths.len()));
        // The walk sees those that are not ignored once more.
        let all = self.files(paths.len().saturating_add(ignored_max), false);
        let ignored = all.into_iter().filter(|path| !known.contains(path.as_str())).collect();
        PathList { paths, ignored }
    }

    fn files(&self, files_max: usize, respects_ignored: bool) -> Vec<String> {
        let (root, hiding) = (self.root().to_path_buf(), self.clone());
        let within = root.clone();
        let walk = WalkBuilder::new(&root)
            .standard_filters(false)
            .git_ignore(respects_ignored)
            .git_exclude(respects_ignored)
            .ignore(respects_ignored)
            .parents(false)
            .require_git(false)
            .follow_links(false)
            .filter_entry(move |entry| {
                let hidden = || entry.path().strip_prefix(&within).is_ok_and(|inside| hiding.hides(inside));
                entry.file_name() != ".git" && !hidden()
            })
            .build();
        let file = |entry: ignore::DirEntry| {
            entry.file_type().filter(std::fs::FileType::is_file)?;
            entry.path().strip_prefix(&root).ok().and_then(Path::to_str).map(str::to_owned)
        };
        walk.flatten().filter_map(file).take(files_max).collect()
    }
}
