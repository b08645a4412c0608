//! What in a workspace other programs act on by themselves, as it is there now: names of the table at any depth, what git's
//! own configuration names in the work tree, and what links at such names lead to. Reads files of the repository's
//! settings, links, and the names of the rest; starts nothing.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    ffi::OsString,
    fs::{self, File},
    io::Read,
    path::{Component, Path, PathBuf},
    sync::OnceLock,
};

use posse_sandbox::{Protected, is_git, protected_by, settings};

use crate::limits;

/// Folders that hold nothing but what tools have unpacked or built.
const PASSED_OVER: &[&str] =
    &["node_modules", "site-packages", "target", ".venv", "venv", "__pycache__", ".tox", "vendor", "dist"];

/// Places, relative to the workspace, and the program that acts on each.
type Named = BTreeMap<PathBuf, &'static str>;

/// What is protected in one workspace.
#[derive(Debug)]
pub(crate) struct Places {
    root: PathBuf,
    /// What git's settings name.
    by_git: Named,
    /// What was there when it was first asked for.
    found: OnceLock<Found>,
}

#[derive(Debug, Default)]
struct Found {
    /// All that nobody writes, as far as it is there or is named: the most dangerous first.
    all: Vec<PathBuf>,
    protected: Protected,
}

impl Default for Places {
    /// Of no folder: nothing but the table.
    fn default() -> Self {
        Self { root: PathBuf::new(), by_git: Named::new(), found: OnceLock::from(Found::default()) }
    }
}

impl Places {
    /// Of a folder, links resolved. Reads git's settings at once, before anybody has written anything: they can be in the
    /// work tree themselves.
    pub(crate) fn of(root: &Path) -> Self {
        Self { root: root.to_owned(), by_git: named(root), found: OnceLock::new() }
    }

    /// The table, and all that is protected here beside it. Looks at the disk the first time.
    pub(crate) fn protected(&self) -> &Protected {
        &self.found().protected
    }

    /// What nobody writes, there or not.
    pub(crate) fn all(&self) -> &[PathBuf] {
        &self.found().all
    }

    fn found(&self) -> &Found {
        self.found.get_or_init(|| {
            let (there, linked) = existing(&self.root);
            let mut all: Vec<PathBuf> = self.by_git.keys().cloned().chain(there).collect();
            all.extend(linked.keys().cloned());
            let named = linked.iter().chain(&self.by_git).map(|(place, program)| (place.clone(), *program));
            Found { all, protected: Protected::new(named) }
        })
    }
}

/// What the names of the table come to in a folder, relative to it, shallow ones first, and what links at such names lead
/// to. It is looked for among a bounded number of entries: what is deeper is known by its name when somebody writes it.
fn existing(root: &Path) -> (Vec<PathBuf>, Named) {
    let (mut found, mut linked, mut entries) = (Vec::new(), Named::new(), 0);
    let mut open = VecDeque::from([PathBuf::new()]);
    let mut protected = VecDeque::new();
    while let Some(folder) = open.pop_front() {
        for (inside, kind) in listed(root, &folder, limits::PLACES_ENTRIES_MAX, &mut entries) {
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
        for (inside, kind) in listed(root, &folder, limits::PLACES_LINKS_ENTRIES_MAX, &mut entries) {
            follow(root, &inside, kind, &mut linked);
            if kind.is_dir() {
                protected.push_back(inside);
            }
        }
    }
    found.truncate(limits::PROTECTED_PLACES_MAX);
    (found, linked)
}

/// The entries of a folder in order, as long as not too many were listed.
fn listed(root: &Path, folder: &Path, max: usize, count: &mut usize) -> Vec<(PathBuf, fs::FileType)> {
    let Ok(listed) = fs::read_dir(root.join(folder)) else { return Vec::new() };
    let listed = listed.take(max.saturating_sub(*count)).flatten();
    let mut all: Vec<_> =
        listed.filter_map(|entry| Some((folder.join(entry.file_name()), entry.file_type().ok()?))).collect();
    *count += all.len();
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

/// The places in a work tree that its repository's settings name: folders of hooks, further settings, and programs that
/// git starts, such as filters and drivers; and what links among its hooks lead to. Relative to the folder.
fn named(root: &Path) -> Named {
    let Some(Repository { top, common, files }) = repository_of(root) else { return Named::new() };
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
    let hooks = fs::read_dir(common.join("hooks")).into_iter().flatten().flatten();
    let hooks = hooks.filter(|hook| hook.file_type().is_ok_and(|kind| kind.is_symlink()));
    places.extend(hooks.take(limits::PROTECTED_PLACES_MAX).map(|hook| hook.path()));
    let inside =
        places.iter().flat_map(|place| way(root, place)).filter(|place| protected_by(place).is_none());
    inside.take(limits::PROTECTED_PLACES_MAX).map(|place| (place, "Git")).collect()
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

/// The files of a work tree among the words of a value: a program, and what it is given.
fn programs(top: &Path, value: &str) -> Vec<PathBuf> {
    let quotes = ['"', '\'', '!', ';', '(', ')', '&', '|'];
    let words =
        value.split(|c: char| c.is_whitespace() || quotes.contains(&c)).filter(|word| !word.is_empty());
    let places = words.map(|word| lexical(&top.join(word)));
    places.filter(|place| place.symlink_metadata().is_ok_and(|found| !found.is_dir())).collect()
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
