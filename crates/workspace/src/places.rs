//! What in a workspace other programs act on by themselves, as it is there now: names of the table at any depth, what git's
//! own configuration names in the work tree, and what links at such names lead to. Reads files of the repository's
//! settings, links, and the names of the rest; starts nothing.

mod direnv;
mod git;

use std::{
    collections::{BTreeMap, VecDeque},
    ffi::{OsStr, OsString},
    fs::{self, File},
    io::Read,
    path::{Component, Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use posse_sandbox::{Protected, is_git, may_be_protected, protected_by};

use crate::{Stamp, limits};

/// Folders that hold nothing but what tools have unpacked or built.
const PASSED_OVER: &[&str] =
    &["node_modules", "site-packages", "target", ".venv", "venv", "__pycache__", ".tox", "vendor", "dist"];

/// Places, relative to the workspace, and the program that acts on each.
type Named = BTreeMap<PathBuf, &'static str>;

/// What is protected in one workspace.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// None: of no folder, and so nothing but the table.
    root: Option<PathBuf>,
    /// What was there when it was first asked for, and what links lead to.
    found: OnceLock<(Vec<PathBuf>, Named)>,
    known: Mutex<Known>,
}

/// What is known by now.
#[derive(Debug, Default)]
struct Known {
    /// What git's settings have named so far, and the files that say so as they were when they were read.
    by_git: Named,
    read: Vec<(PathBuf, Option<Stamp>)>,
    all: Option<Arc<Guarded>>,
}

/// What nobody writes.
#[derive(Debug, Default)]
pub(crate) struct Guarded {
    /// As far as it is there or is named, relative to the workspace: the most dangerous first.
    pub(crate) places: Vec<PathBuf>,
    /// The same with the table.
    pub(crate) protected: Protected,
}

impl Places {
    /// Of a folder, links resolved. Reads git's settings at once, before anybody has written anything: they can be in the
    /// work tree themselves.
    pub(crate) fn of(root: &Path) -> Self {
        let (by_git, read) = git::named(root);
        let known = Mutex::new(Known { by_git, read, all: None });
        Self { root: Some(root.to_owned()), found: OnceLock::new(), known }
    }

    /// All that is protected. Looks through the folder the first time, and reads git's settings again if they have changed:
    /// a person may set `core.hooksPath` at any time. What was named once stays protected.
    pub(crate) fn guarded(&self) -> Arc<Guarded> {
        let Some(root) = &self.root else { return Arc::default() };
        let (there, linked) = self.found.get_or_init(|| existing(root));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.read.iter().any(|(file, stamp)| stamp_of(file) != *stamp) {
            let (by_git, read) = git::named(root);
            known.read = read;
            known.by_git.extend(by_git);
            known.all = None;
        }
        if let Some(all) = &known.all {
            return Arc::clone(all);
        }
        let mut places: Vec<PathBuf> = known.by_git.keys().chain(there).cloned().collect();
        places.extend(linked.keys().cloned());
        let named = linked.iter().chain(&known.by_git).map(|(place, program)| (place.clone(), *program));
        let all = Arc::new(Guarded { places, protected: Protected::new(named) });
        known.all = Some(Arc::clone(&all));
        all
    }
}

fn stamp_of(file: &Path) -> Option<Stamp> {
    file.symlink_metadata().ok().map(|found| Stamp::of(&found))
}

/// What the names of the table come to in a folder, relative to it, shallow ones first, and what links at such names lead
/// to. It is looked for among a bounded number of entries: what is deeper is known by its name when somebody writes it.
fn existing(root: &Path) -> (Vec<PathBuf>, Named) {
    let (mut found, mut linked, mut entries) = (Vec::new(), Named::new(), 0);
    let mut open = VecDeque::from([PathBuf::new()]);
    let mut protected = VecDeque::new();
    while let Some(folder) = open.pop_front() {
        let ordinary = |name: &OsStr, kind: fs::FileType| {
            kind.is_file() && name.to_str().is_some_and(|name| !may_be_protected(name))
        };
        for (inside, kind) in listed(root, &folder, limits::PLACES_ENTRIES_MAX, &mut entries, ordinary) {
            let name = inside.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if is_git(&name) && kind.is_dir() {
                // The workspace's own is guarded anyway, there or not.
                found.extend(of_repository(root, &inside).filter(|_| !folder.as_os_str().is_empty()));
                protected.extend(["hooks", "info"].map(|part| inside.join(part)));
            } else if protected_by(&inside).is_some() {
                if kind.is_dir() {
                    protected.push_back(inside.clone());
                }
                follow(root, &inside, kind, &mut linked);
                linked.extend(direnv::read_by(root, &inside));
                found.push(inside);
            } else if kind.is_dir() && !PASSED_OVER.contains(&name.as_str()) {
                open.push_back(inside);
            } else {
                follow(root, &inside, kind, &mut linked);
            }
        }
    }
    // Programs follow the links in there as well: `.git/hooks/pre-commit`, `.claude/skills`.
    entries = 0;
    while let Some(folder) = protected.pop_front() {
        for (inside, kind) in
            listed(root, &folder, limits::PLACES_LINKS_ENTRIES_MAX, &mut entries, |_, _| false)
        {
            follow(root, &inside, kind, &mut linked);
            if kind.is_dir() {
                protected.push_back(inside);
            }
        }
    }
    found.truncate(limits::PROTECTED_PLACES_MAX);
    (found, linked)
}

/// The entries of a folder in order, without those to be left out, as long as not too many were met.
fn listed(
    root: &Path,
    folder: &Path,
    max: usize,
    count: &mut usize,
    left_out: impl Fn(&OsStr, fs::FileType) -> bool,
) -> Vec<(PathBuf, fs::FileType)> {
    let Ok(listed) = fs::read_dir(root.join(folder)) else { return Vec::new() };
    let mut all = Vec::new();
    for entry in listed.take(max.saturating_sub(*count)).flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        *count += 1;
        let name = entry.file_name();
        if !left_out(&name, kind) {
            all.push((folder.join(name), kind));
        }
    }
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all
}

/// Adds what a link leads to, if it is at a protected name or where one begins.
fn follow(root: &Path, link: &Path, kind: fs::FileType, linked: &mut Named) {
    if !kind.is_symlink() || linked.len() >= limits::LINKED_PLACES_MAX {
        return;
    }
    if let Some(program) = protected_by(link) {
        linked.extend(way(root, &root.join(link)).into_iter().skip(1).map(|place| (place, program)));
    }
    for rest in Protected::default().below(link) {
        let name = link.join(rest);
        let program = protected_by(&name).unwrap_or("another program");
        linked.extend(way(root, &root.join(name)).into_iter().skip(1).map(|place| (place, program)));
    }
}

/// The links in a folder that a path leads through, and where it ends if that is in there too; relative to the folder.
fn way(root: &Path, path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut at = PathBuf::from("/");
    let mut rest: Vec<OsString> = Vec::new();
    let push = |rest: &mut Vec<OsString>, path: &Path| {
        let parts =
            path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
        rest.extend(parts.map(|part| part.as_os_str().to_owned()).rev());
    };
    push(&mut rest, path);
    let inside = |path: &Path| {
        path.strip_prefix(root).ok().filter(|inside| !inside.as_os_str().is_empty()).map(Path::to_owned)
    };
    while let Some(part) = rest.pop() {
        if part == ".." {
            at.pop();
            continue;
        }
        at.push(part);
        let Ok(target) = fs::read_link(&at) else { continue };
        found.extend(inside(&at));
        if found.len() > limits::REAL_PATH_LINKS_MAX {
            return found;
        }
        at.pop();
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        push(&mut rest, &target);
    }
    found.extend(inside(&at));
    found
}

/// What of a repository below the workspace can run code, as far as it is there.
fn of_repository(root: &Path, folder: &Path) -> impl Iterator<Item = PathBuf> {
    let names = ["config", "config.worktree", "hooks", "info", "modules", "commondir", "worktrees"];
    let there: Vec<PathBuf> = names.iter().map(|name| folder.join(name)).collect();
    let root = root.to_owned();
    there.into_iter().filter(move |path| root.join(path).symlink_metadata().is_ok())
}

/// The files of a work tree among the words of a value: a program, and what it is given. What is missing counts if it looks
/// like a path or the name of a script: whoever makes it has it run.
fn programs(top: &Path, value: &str) -> Vec<PathBuf> {
    let between = ['"', '\'', '!', ';', '(', ')', '&', '|', '=', '<', '>'];
    let words =
        value.split(|c: char| c.is_whitespace() || between.contains(&c)).filter(|word| !word.is_empty());
    let path = |c: char| c.is_alphanumeric() || "./_-+@".contains(c);
    let like_a_file = |word: &str| {
        let letters = word.chars().any(char::is_alphabetic) && word.chars().all(path);
        letters && word.contains(['/', '.']) && !word.starts_with('-') && !word.ends_with(['/', '.'])
    };
    let file = |word: &&str| match top.join(word).symlink_metadata() {
        Ok(found) => !found.is_dir(),
        Err(_) => like_a_file(word),
    };
    words.filter(file).map(|word| lexical(&top.join(word))).collect()
}

/// A path without `.` and `..`, as text.
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
