//! What the settings and hooks of a folder's repository name in its work tree.

use std::{
    collections::{BTreeSet, VecDeque},
    fs,
    path::{Path, PathBuf},
};

use posse_sandbox::{names_no_program, protected_by, settings};

use super::{Named, lexical, programs, stamp_of, text_of, way};
use crate::{Stamp, limits};

/// The places in a work tree that its repository's settings name: folders of hooks, further settings, and programs that
/// git starts, such as filters and drivers; and what links among its hooks lead to. Relative to the folder. Also the files
/// that say so, as they are now.
pub(super) fn named(root: &Path) -> (Named, Vec<(PathBuf, Option<Stamp>)>) {
    let Some(Repository { top, common, files }) = repository_of(root) else { return Default::default() };
    let mut stamps = vec![(common.join("hooks"), stamp_of(&common.join("hooks")))];
    let mut places = BTreeSet::new();
    let mut open: VecDeque<PathBuf> = files.into();
    let mut read = BTreeSet::new();
    while let Some(file) = open.pop_front() {
        if read.len() >= limits::SETTINGS_FILES_MAX || !read.insert(file.clone()) {
            continue;
        }
        stamps.push((file.clone(), stamp_of(&file)));
        let Some(text) = text_of(&file) else { continue };
        for (key, value) in settings(&text) {
            if key.starts_with("include") && key.ends_with(".path") {
                let further = lexical(&file.parent().unwrap_or(&top).join(&value));
                places.insert(further.clone());
                open.push_back(further);
            } else if key == "core.hookspath" {
                places.insert(lexical(&top.join(&value)));
            } else if !names_no_program(&key) {
                places.extend(programs(&top, &value));
            }
        }
    }
    let hooks = fs::read_dir(common.join("hooks")).into_iter().flatten().flatten();
    let hooks = hooks.filter(|hook| hook.file_type().is_ok_and(|kind| kind.is_symlink()));
    places.extend(hooks.take(limits::PROTECTED_PLACES_MAX).map(|hook| hook.path()));
    let inside =
        places.iter().flat_map(|place| way(root, place)).filter(|place| protected_by(place).is_none());
    (inside.take(limits::PROTECTED_PLACES_MAX).map(|place| (place, "Git")).collect(), stamps)
}

/// The repository that a folder is in.
struct Repository {
    /// The top of the work tree.
    top: PathBuf,
    /// Where it has what all its checkouts share.
    common: PathBuf,
    /// The files of its settings.
    files: Vec<PathBuf>,
}

fn repository_of(root: &Path) -> Option<Repository> {
    let top = root.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    let dot = top.join(".git");
    let own = match text_of(&dot).as_deref().and_then(|said| said.strip_prefix("gitdir: ")) {
        Some(elsewhere) => lexical(&top.join(elsewhere.trim())),
        None => dot,
    };
    let common = text_of(&own.join("commondir")).map(|said| lexical(&own.join(said.trim())));
    let common = common.unwrap_or_else(|| own.clone());
    let files = [common.join("config"), own.join("config.worktree"), own.join("config")].to_vec();
    Some(Repository { top: top.to_owned(), common, files })
}
