//! Which files belong into a tree, by what git says about them and how large they are.

use std::{collections::BTreeMap, fs, path::Path};

use ignore::WalkBuilder;

use crate::limits;

/// What is taken beside what git would take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Staging {
    /// Nested repositories that stay what they are, by path and commit; all others are taken as plain files.
    pub(crate) submodules: BTreeMap<String, String>,
}

/// What [`choose`] chose.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    /// What is new or different; for git, with a NUL after each.
    pub(crate) paths: Vec<u8>,
    /// What is no file or link any more; for git, with a NUL after each.
    pub(crate) gone: Vec<u8>,
}

/// Goes through what `git status -z` said.
pub(crate) fn choose(work_tree: &Path, listed: &[u8], staging: &Staging) -> Chosen {
    let mut chosen = Chosen::default();
    for record in listed.split(|byte| *byte == 0).filter(|record| record.len() > 3) {
        let (state, path) = (&record[..2], &record[3..]);
        match (state, path.strip_suffix(b"/")) {
            (_, Some(nested)) => nested_files(work_tree, nested, staging, &mut chosen),
            ([_, b' '], None) => {}
            ([_, b'D'], None) => chosen.take_out(path),
            (_, None) => chosen.take_if_fit(work_tree, path),
        }
    }
    chosen
}

impl Chosen {
    fn take(&mut self, path: &[u8]) {
        self.paths.extend_from_slice(path);
        self.paths.push(0);
    }

    fn take_if_fit(&mut self, work_tree: &Path, path: &[u8]) {
        let at = work_tree.join(name_of(path));
        match fs::symlink_metadata(&at) {
            Ok(found) if found.is_symlink() => self.take(path),
            Ok(found) if found.is_file() => {
                // Git stops at the first file that it cannot read.
                if readable(&at) {
                    self.take(path);
                }
            }
            // A pipe, or gone meanwhile.
            _ => self.take_out(path),
        }
    }

    fn take_out(&mut self, path: &[u8]) {
        self.gone.extend_from_slice(path);
        self.gone.push(0);
    }
}

/// The files of a repository within the tree, which git would take as one thing.
fn nested_files(work_tree: &Path, nested: &[u8], staging: &Staging, chosen: &mut Chosen) {
    if staging.submodules.contains_key(String::from_utf8_lossy(nested).as_ref()) {
        return;
    }
    let mut walk = WalkBuilder::new(work_tree.join(name_of(nested)));
    walk.hidden(false).parents(false).git_global(false).require_git(false).follow_links(false);
    walk.filter_entry(|entry| entry.file_name() != ".git");
    let files = walk
        .build()
        .flatten()
        .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file() || kind.is_symlink()));
    let files: Vec<_> = files.take(limits::NESTED_FILES_MAX + 1).collect();
    if files.len() > limits::NESTED_FILES_MAX {
        return;
    }
    for file in files {
        if let Ok(inside) = file.path().strip_prefix(work_tree) {
            chosen.take_if_fit(work_tree, inside.as_os_str().as_encoded_bytes());
        }
    }
}

/// Whether we may read it.
#[cfg(unix)]
fn readable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::READ_OK).is_ok()
}

#[cfg(not(unix))]
fn readable(_path: &Path) -> bool {
    true
}

#[cfg(unix)]
fn name_of(path: &[u8]) -> &Path {
    use std::os::unix::ffi::OsStrExt as _;
    Path::new(std::ffi::OsStr::from_bytes(path))
}

#[cfg(not(unix))]
fn name_of(path: &[u8]) -> std::path::PathBuf {
    String::from_utf8_lossy(path).into_owned().into()
}
