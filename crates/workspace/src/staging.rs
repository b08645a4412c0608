//! Which files belong into a tree, by what git says about them and how large they are.

use std::{collections::BTreeMap, fs, path::Path};

use ignore::WalkBuilder;

use crate::limits;

/// What is taken beside what git would take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Staging {
    /// Small ignored files too, if their folders are not ignored.
    pub(crate) ignored: bool,
    /// Larger files are left out.
    pub(crate) file_bytes_max: Option<u64>,
    /// Nested repositories that stay what they are, by path and commit; all others are taken as plain files.
    pub(crate) submodules: BTreeMap<String, String>,
}

impl Staging {
    pub(crate) fn ignored_option(&self) -> &'static str {
        if self.ignored { "--ignored=matching" } else { "--ignored=no" }
    }
}

/// What [`choose`] chose.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    /// What is new or different; for git, with a NUL after each.
    pub(crate) paths: Vec<u8>,
    /// What is no file or link any more; for git, as lines that take it out.
    pub(crate) gone: Vec<u8>,
    pub(crate) left_out: Vec<String>,
    /// How many files are new or different, and how long they are in all.
    files: usize,
    bytes: u64,
}

/// Goes through what `git status -z` said.
pub(crate) fn choose(work_tree: &Path, listed: &[u8], staging: &Staging) -> Chosen {
    let mut chosen = Chosen::default();
    let mut ignored = Vec::new();
    for record in listed.split(|byte| *byte == 0).filter(|record| record.len() > 3) {
        let (state, path) = (&record[..2], &record[3..]);
        match (state, path.strip_suffix(b"/")) {
            (b"!!", None) => ignored.push(path),
            (b"!!", Some(_)) => {}
            (_, Some(nested)) => nested_files(work_tree, nested, staging, &mut chosen),
            ([_, b' '], None) => {}
            ([_, b'D'], None) => chosen.take_out(path),
            (_, None) => chosen.take_if_fit(work_tree, path, staging.file_bytes_max),
        }
    }
    // Very many of them are something that was built, not something that was written.
    let many = ignored.len() > limits::IGNORED_FILES_MAX;
    let worth = |path: &&&[u8]| {
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        !(name.starts_with(b".posse-") && name.ends_with(b".tmp")) && (!many || name.starts_with(b".env"))
    };
    for path in ignored.iter().filter(worth).take(limits::IGNORED_FILES_MAX) {
        if size(work_tree, path).is_some_and(|bytes| bytes <= limits::IGNORED_FILE_BYTES_MAX) {
            chosen.take_if_fit(work_tree, path, None);
        }
    }
    chosen
}

impl Chosen {
    /// Whether it is more than should be copied without being asked for.
    pub(crate) fn is_too_much(&self) -> bool {
        self.files > limits::CHECKPOINT_NEW_FILES_MAX || self.bytes > limits::CHECKPOINT_NEW_BYTES_MAX
    }

    fn take(&mut self, path: &[u8]) {
        self.files += 1;
        self.paths.extend_from_slice(path);
        self.paths.push(0);
    }

    fn take_if_fit(&mut self, work_tree: &Path, path: &[u8], bytes_max: Option<u64>) {
        let at = work_tree.join(name_of(path));
        match fs::symlink_metadata(&at) {
            Ok(found) if found.is_symlink() => self.take(path),
            Ok(found) if found.is_file() => {
                let fits = bytes_max.is_none_or(|max| found.len() <= max) && readable(&at);
                if fits {
                    self.bytes = self.bytes.saturating_add(found.len());
                    self.take(path);
                } else {
                    self.leave_out(path);
                }
            }
            // A pipe, or gone meanwhile.
            _ => self.take_out(path),
        }
    }

    fn take_out(&mut self, path: &[u8]) {
        self.gone.extend_from_slice(format!("0 {:040}\t", 0).as_bytes());
        self.gone.extend_from_slice(path);
        self.gone.push(0);
    }

    fn leave_out(&mut self, path: &[u8]) {
        if self.left_out.len() < limits::LEFT_OUT_NAMES_MAX {
            self.left_out.push(String::from_utf8_lossy(path).into_owned());
        }
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
        return chosen.leave_out(nested);
    }
    for file in files {
        if let Ok(inside) = file.path().strip_prefix(work_tree) {
            chosen.take_if_fit(work_tree, inside.as_os_str().as_encoded_bytes(), staging.file_bytes_max);
        }
    }
}

/// Whether we may read it: git stops at the first file that it cannot.
#[cfg(unix)]
fn readable(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::READ_OK).is_ok()
}

#[cfg(not(unix))]
fn readable(_path: &Path) -> bool {
    true
}

fn size(work_tree: &Path, path: &[u8]) -> Option<u64> {
    fs::symlink_metadata(work_tree.join(name_of(path))).ok().map(|found| found.len())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_full_of_files_is_too_much() {
        let folder = tempfile::tempdir().unwrap();
        let mut listed = Vec::new();
        for number in 0..90 {
            let name = format!("f{number}");
            let file = fs::File::create(folder.path().join(&name)).unwrap();
            file.set_len(limits::CHECKPOINT_FILE_BYTES_MAX).unwrap();
            listed.extend_from_slice(format!("?? {name}\0").as_bytes());
        }
        let staging =
            Staging { file_bytes_max: Some(limits::CHECKPOINT_FILE_BYTES_MAX), ..Staging::default() };
        assert!(choose(folder.path(), &listed, &staging).is_too_much());
        assert!(!choose(folder.path(), &listed[..100], &staging).is_too_much());
        let small = Staging { file_bytes_max: Some(1000), ..Staging::default() };
        let chosen = choose(folder.path(), &listed, &small);
        assert_eq!((chosen.paths.len(), chosen.left_out.len()), (0, limits::LEFT_OUT_NAMES_MAX));
    }
}
