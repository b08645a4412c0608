//! What a repository knows of its checkouts: a folder each, in git's own folder. In mode full agents can write there, so all
//! of it is reached by open folders and without a link, and nothing outside is read, written or removed.

use std::{
    io,
    path::{Path, PathBuf},
};

use super::Repository;
use crate::{
    checkpoint::folder::{Folder, Top, path_of},
    limits,
};

/// One of them, open.
pub(crate) struct CheckoutFolder {
    /// The folder of all of them, and this one's name in it.
    all: Folder,
    name: Box<[u8]>,
    pub(crate) folder: Folder,
}

impl CheckoutFolder {
    /// Makes that of a new checkout at a commit, and the file there that leads to it, as git does. What leads back comes
    /// first: by that a half-made one is found again.
    pub(crate) fn make(repository: &Repository, top: &Path, commit: &str) -> io::Result<()> {
        let top = Top::open(top)?;
        let (number, random) = (top.path.file_name().unwrap_or_default(), fastrand::u64(..));
        let name = [number.as_encoded_bytes(), format!("-{random:016x}").as_bytes()].concat();
        let inside = [b"worktrees/", &name[..]].concat();
        let folder = Top::open(&repository.common)?.make_folder(&inside)?;
        let dot = [top.path.as_os_str().as_encoded_bytes(), b"/.git\n"].concat();
        let common = repository.common.as_os_str().as_encoded_bytes();
        let leads = [b"gitdir: ", common, b"/", &inside[..], b"\n"].concat();
        folder.put(b"gitdir", &dot, 0o666)?;
        folder.put(b"commondir", b"../..\n", 0o666)?;
        folder.put(b"HEAD", format!("{commit}\n").as_bytes(), 0o666)?;
        top.folder(b"")?.put(b".git", &leads, 0o666)
    }

    /// That of a checkout.
    pub(crate) fn of(repository: &Repository, top: &Path) -> Option<Self> {
        let dot = top.join(".git");
        all(repository).into_iter().find(|own| own.checkout().as_deref() == Some(&dot))
    }

    /// The file in the checkout that leads here, as it is said here.
    pub(crate) fn checkout(&self) -> Option<PathBuf> {
        let said = self.folder.small(b"gitdir", limits::GIT_POINTER_BYTES_MAX)?;
        // Git takes blanks at its end for part of it, too.
        let said = said.strip_suffix(b"\n").unwrap_or(&said);
        Some(path_of(said).to_owned())
    }

    /// A line of text in it.
    pub(crate) fn text(&self, name: &[u8]) -> Option<String> {
        let bytes = self.folder.small(name, limits::GIT_POINTER_BYTES_MAX)?;
        Some(String::from_utf8(bytes).ok()?.trim().to_owned())
    }

    /// Its name among those of the others.
    pub(crate) fn name(&self) -> &[u8] {
        &self.name
    }

    pub(crate) fn remove(self) -> io::Result<()> {
        self.all.remove_all(&self.name)
    }
}

/// All that there are.
pub(crate) fn all(repository: &Repository) -> Vec<CheckoutFolder> {
    let open = || Top::open(&repository.common)?.folder(b"worktrees");
    let names = open().and_then(|folder| folder.names()).unwrap_or_default();
    let opened = names.into_iter().filter_map(|(name, _)| {
        let all = open().ok()?;
        let folder = all.folder(&name).ok()?;
        Some(CheckoutFolder { all, name, folder })
    });
    opened.collect()
}
