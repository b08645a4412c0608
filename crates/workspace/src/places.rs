//! What in a workspace other programs act on by themselves, as it is there now: names of the table at any depth, and what
//! git's own configuration names in the work tree. Reads files of the repository's settings and the names of others;
//! starts nothing.

use std::{
    collections::{BTreeSet, VecDeque},
    fs::{self, File},
    io::Read,
    path::{Component, Path, PathBuf},
};

use posse_sandbox::{is_git, protected_by, settings};

use crate::limits;

/// Folders that hold nothing but what tools have unpacked or built.
const PASSED_OVER: &[&str] =
    &["node_modules", "site-packages", "target", ".venv", "venv", "__pycache__", ".tox", "vendor", "dist"];

/// What the names of the table come to in a folder, relative to it, shallow ones first. It is looked for among a bounded
/// number of entries: what is deeper is known by its name when somebody writes it.
pub(crate) fn existing(root: &Path) -> Vec<PathBuf> {
    let (mut found, mut entries) = (Vec::new(), 0);
    let mut open = VecDeque::from([PathBuf::new()]);
    while let Some(folder) = open.pop_front() {
        let Ok(listed) = fs::read_dir(root.join(&folder)) else { continue };
        let mut listed: Vec<_> = listed.take(limits::PLACES_ENTRIES_MAX - entries).flatten().collect();
        entries += listed.len();
        listed.sort_by_key(fs::DirEntry::file_name);
        for entry in listed {
            let inside = folder.join(entry.file_name());
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_git(&name) && is_folder {
                // The workspace's own is guarded anyway, there or not.
                found.extend(of_repository(root, &inside).filter(|_| !folder.as_os_str().is_empty()));
            } else if protected_by(&inside).is_some() {
                found.push(inside);
            } else if is_folder && !PASSED_OVER.contains(&name.as_str()) {
                open.push_back(inside);
            }
        }
        if entries >= limits::PLACES_ENTRIES_MAX || found.len() >= limits::PROTECTED_PLACES_MAX {
            break;
        }
    }
    found.truncate(limits::PROTECTED_PLACES_MAX);
    found
}

/// What of a repository below the workspace can run code, as far as it is there.
fn of_repository(root: &Path, folder: &Path) -> impl Iterator<Item = PathBuf> {
    let names = ["config", "config.worktree", "hooks", "info", "modules", "commondir", "worktrees"];
    let there: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
    let root = root.to_owned();
    there.into_iter().filter(move |path| root.join(path).symlink_metadata().is_ok())
}

/// The places in a work tree that its repository's settings name: folders of hooks, further settings, and programs that
/// git starts, such as filters and drivers. Relative to the folder.
pub(crate) fn named(root: &Path) -> Vec<PathBuf> {
    let Some((top, files)) = settings_of(root) else { return Vec::new() };
    let mut places = BTreeSet::new();
    let mut open: VecDeque<PathBuf> = files.into();
    let mut read = BTreeSet::new();
    while let Some(file) = open.pop_front() {
        if read.len() >= limits::SETTINGS_FILES_MAX || !read.insert(file.clone()) {
            continue;
        }
        let Some(text) = text_of(&file) else { continue };
        for (key, value) in settings(&text) {
            if key.starts_with("include") && key.ends_with(".path") {
                let further = lexical(&file.parent().unwrap_or(&top).join(&value));
                places.insert(further.clone());
                open.push_back(further);
            } else if key == "core.hookspath" {
                places.insert(lexical(&top.join(&value)));
            } else {
                places.extend(programs(&top, &value));
            }
        }
    }
    let relative = places.iter().filter_map(|place| {
        let inside = place.strip_prefix(root).ok()?;
        (!inside.as_os_str().is_empty()).then(|| inside.to_owned())
    });
    relative.take(limits::PROTECTED_PLACES_MAX).collect()
}

/// The top of the work tree that a folder is in, and the files of its repository's settings.
fn settings_of(root: &Path) -> Option<(PathBuf, Vec<PathBuf>)> {
    let top = root.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok())?;
    let dot = top.join(".git");
    let own = match text_of(&dot).as_deref().and_then(|said| said.strip_prefix("gitdir: ")) {
        Some(elsewhere) => lexical(&top.join(elsewhere.trim())),
        None => dot,
    };
    let common = text_of(&own.join("commondir")).map(|said| lexical(&own.join(said.trim())));
    let common = common.unwrap_or_else(|| own.clone());
    let files = [common.join("config"), own.join("config.worktree"), own.join("config")];
    Some((top.to_owned(), files.to_vec()))
}

/// The files of a work tree among the words of a value: a program, and what it is given.
fn programs(top: &Path, value: &str) -> Vec<PathBuf> {
    let quotes = ['"', '\'', '!', ';', '(', ')', '&', '|'];
    let words =
        value.split(|c: char| c.is_whitespace() || quotes.contains(&c)).filter(|word| !word.is_empty());
    let places = words.map(|word| lexical(&top.join(word)));
    places.filter(|place| place.symlink_metadata().is_ok_and(|found| !found.is_dir())).collect()
}

/// A path without `.` and `..`, as text: links are guarded by themselves where they are written.
fn lexical(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            part => clean.push(part),
        }
    }
    clean
}

/// The text of a regular file that is not too long. A pipe that somebody has put there is not waited for.
fn text_of(path: &Path) -> Option<String> {
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let mut options = File::options();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(flags.bits().cast_signed());
    }
    let file = options.read(true).open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(limits::SETTINGS_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
