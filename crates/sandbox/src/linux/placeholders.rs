//! Finds what in a workspace is to be guarded, and makes placeholders for guarded names that are not there yet.
//!
//! A mount needs something to be mounted on, so a missing name gets a placeholder in the workspace while commands run,
//! which each command sees as read-only: an empty folder for a folder, so that a person can put something into it meanwhile;
//! for a file a socket that nobody listens on, which takes no room on the disk, never makes a reader wait, and is nothing
//! that git would add. The sockets are links to one, because making a new one takes the disk ten times as long. In `.git`
//! itself a file says what its absence says. Placeholders are known by their mode, which nobody else uses for such a thing, and by being as
//! empty as they were made: only such are ever removed, whoever left them behind.
//!
//! While a command runs its supervisor holds a share of the workspace's lock. Whoever is alone with it afterwards was the
//! last one, and removes the placeholders of all.
//!
//! Repositories deeper in the workspace are not guarded: a command can make them, and must be able to remove them again,
//! which a mount in them would prevent. Whoever runs git in such a folder trusts what was done there.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fs::{self, Permissions},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt},
    },
    path::{Component, Path, PathBuf},
    thread,
};

use rustix::{
    fs::{CWD, FileType, Mode, OFlags, mknodat, open},
    io::Errno,
};

use super::{
    Failed, Step,
    lock::Lock,
    plan::Plan,
    replaced::{self, Identity},
};
use crate::{Level, limits};

const FOLDER_MODE: u32 = 0o1755;
const FILE_MODE: u32 = 0o1644;
const SOCKET_MODE: u32 = 0o1444;

/// What is guarded in a workspace, and the placeholders for it. Dropping it removes those nobody needs any more.
pub(crate) struct Placeholders {
    /// To be mounted read-only: folders, files, and links themselves.
    pub(crate) guarded: Vec<PathBuf>,
    /// Folders above them, to be mounted as they are: a mount cannot be renamed, and so nothing be put in its place.
    pub(crate) pinned: Vec<PathBuf>,
    /// All that must stay what it was when it was found, or its cover is gone.
    pub(crate) found: Vec<(PathBuf, Identity)>,
    made: Vec<PathBuf>,
    /// The first socket that was made.
    socket: Option<PathBuf>,
    lock: Option<Lock>,
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        let Some(mut lock) = self.lock.take().filter(Lock::alone) else { return };
        self.made.extend(lock.noted());
        self.made.sort();
        self.made.dedup();
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let held: Vec<_> =
            self.made.iter().filter_map(|path| open(path, flags, Mode::empty()).ok()).collect();
        // The innermost first.
        self.made.iter().rev().for_each(|path| remove(path));
        lock.remove();
        // Some disks make us wait when a folder's room is given back, which happens when its last holder lets go. All at
        // once, they wait only once.
        thread::scope(|scope| {
            for one in held {
                let _ = thread::Builder::new().spawn_scoped(scope, move || drop(one));
            }
        });
    }
}

impl Placeholders {
    pub(crate) fn make(plan: &Plan) -> Result<Self, Failed> {
        let (guarded, pinned, found, made) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut all = Self { guarded, pinned, found, made, socket: None, lock: None };
        all.find_hidden(plan);
        if plan.level != Level::Full {
            return Ok(all);
        }
        let mut lock = Lock::shared(plan.workspace())?;
        let guarded = all.guard_all(plan);
        let noted = lock.note(&all.made).step("noting placeholders down");
        all.lock = Some(lock);
        guarded.and(noted)?;
        for list in [&mut all.guarded, &mut all.pinned] {
            list.sort();
            list.dedup();
        }
        all.found.sort();
        all.found.dedup();
        Ok(all)
    }

    fn guard_all(&mut self, plan: &Plan) -> Result<(), Failed> {
        let protected = plan.protected.iter().map(|(name, _)| plan.workspace().join(name));
        // What is hidden must not be made by the command either.
        let others = plan.read_only.iter().chain(&plan.hidden).map(PathBuf::from);
        for path in protected.chain(others) {
            self.guard(plan, &path).step_at("guarding", &path)?;
        }
        Ok(())
    }

    /// What is hidden must stay so, even where nothing can be written.
    fn find_hidden(&mut self, plan: &Plan) {
        let hidden = plan.hidden.iter().filter_map(|path| Path::new(path).canonicalize().ok());
        let inside = hidden.filter(|path| path.starts_with(plan.workspace()) && path != plan.workspace());
        self.found = inside.filter_map(|path| replaced::identity(&path).ok().map(|is| (path, is))).collect();
    }

    /// Goes down to a path by hand, guarding every link on the way, and what it comes to in the end.
    fn guard(&mut self, plan: &Plan, path: &Path) -> io::Result<()> {
        let workspace = plan.workspace();
        let inside = |path: &Path| path.starts_with(workspace) && path != workspace;
        let mut at = workspace.to_owned();
        let mut rest: VecDeque<OsString> = words(path.strip_prefix(workspace).unwrap_or(path));
        let mut links = 0;
        while let Some(word) = rest.pop_front() {
            if word == ".." {
                at.pop();
                continue;
            }
            if word == "/" {
                at = "/".into();
                continue;
            }
            at.push(word);
            let found = match at.symlink_metadata() {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let kind = if rest.is_empty() { kind_of(plan, &at) } else { Kind::Folder };
                    return if inside(&at) && writable(plan, &at) { self.place(at, kind) } else { Ok(()) };
                }
                Err(_) if !inside(&at) => return Ok(()),
                Err(error) => return Err(error),
            };
            // Where the command may not write anyway, it may be replaced.
            if inside(&at) && writable(plan, &at) {
                self.found.push((at.clone(), replaced::of(&found)));
            }
            if found.is_symlink() {
                links += 1;
                if links > limits::LINKS_MAX {
                    return Err(Errno::LOOP.into());
                }
                if inside(&at) {
                    self.guarded.push(at.clone());
                }
                let target = words(&fs::read_link(&at)?);
                at.pop();
                rest = target.into_iter().chain(rest).collect();
            } else if inside(&at) {
                let ours = is_placeholder(&at);
                if ours {
                    self.made.push(at.clone());
                }
                if ours || rest.is_empty() || !found.is_dir() {
                    self.guarded.push(at);
                    return Ok(());
                }
                self.pinned.push(at.clone());
            }
        }
        Ok(())
    }

    fn place(&mut self, path: PathBuf, kind: Kind) -> io::Result<()> {
        let made = although_forbidden(&path, || match kind {
            Kind::Folder => make_folder(&path),
            Kind::FileOfGit => make_file(&path),
            Kind::File => self.place_socket(&path),
        });
        match made {
            Ok(()) => self.made.push(path.clone()),
            // Another supervisor's command needs it too, or somebody made the real thing just now.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.made.extend(is_placeholder(&path).then(|| path.clone()));
            }
            Err(error) if cannot_appear(&path, &error) => return Ok(()),
            Err(error) => return Err(error),
        }
        self.found.push((path.clone(), replaced::identity(&path)?));
        self.guarded.push(path);
        Ok(())
    }

    fn place_socket(&mut self, path: &Path) -> io::Result<()> {
        let linked = self.socket.as_ref().map(|first| fs::hard_link(first, path));
        let made = match linked {
            Some(Err(error)) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            Some(Ok(())) => return Ok(()),
            // The first one, or one that cannot be linked, because another supervisor has just removed it.
            Some(Err(_)) | None => make_socket(path),
        };
        match made {
            Ok(()) => self.socket = Some(path.to_owned()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // Not every file system has sockets.
            Err(_) => return make_folder(path),
        }
        Ok(())
    }
}

fn words(path: &Path) -> VecDeque<OsString> {
    let word = |part: Component<'_>| match part {
        Component::CurDir | Component::Prefix(_) => None,
        Component::RootDir => Some("/".into()),
        Component::ParentDir => Some("..".into()),
        Component::Normal(name) => Some(name.to_owned()),
    };
    path.components().filter_map(word).collect()
}

fn writable(plan: &Plan, path: &Path) -> bool {
    plan.writable.iter().any(|writable| path.starts_with(writable))
}

/// What a missing name is to be.
enum Kind {
    Folder,
    File,
    FileOfGit,
}

fn kind_of(plan: &Plan, path: &Path) -> Kind {
    let name = path.strip_prefix(plan.workspace()).unwrap_or(path);
    let file = plan.protected.iter().any(|(known, folder)| Path::new(known) == name && !folder);
    // What else is hidden or read-only tells by its name what it is going to be.
    let file = file || plan.hidden.iter().any(|hidden| path == hidden) && path.extension().is_some();
    match (file, name.starts_with(".git")) {
        (true, true) => Kind::FileOfGit,
        (true, false) => Kind::File,
        (false, _) => Kind::Folder,
    }
}

/// What a file's absence says: git's common folder is this one; there are no settings.
fn content(path: &Path) -> &'static [u8] {
    if path.file_name().is_some_and(|name| name == "commondir") { b".\n" } else { b"" }
}

/// Runs without a mask for modes, so that a placeholder has its own, by which others know it, from its first moment.
fn unmasked<T>(make: impl FnOnce() -> T) -> T {
    let usual = rustix::process::umask(Mode::empty());
    let made = make();
    rustix::process::umask(usual);
    made
}

fn make_folder(path: &Path) -> io::Result<()> {
    unmasked(|| fs::DirBuilder::new().mode(FOLDER_MODE).create(path))
}

fn make_socket(path: &Path) -> io::Result<()> {
    let mode = Mode::from_raw_mode(SOCKET_MODE);
    Ok(unmasked(|| mknodat(CWD, path, FileType::Socket, mode, 0))?)
}

/// Whole from its first moment, because git may be looking.
fn make_file(path: &Path) -> io::Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".posse-{}", std::process::id()));
    fs::write(&aside, content(path))?;
    let placed = fs::set_permissions(&aside, Permissions::from_mode(FILE_MODE))
        .and_then(|()| fs::hard_link(&aside, path));
    fs::remove_file(&aside)?;
    placed
}

/// Whether a name cannot be made by the command either: the file system is read-only, or the folder is somebody else's.
fn cannot_appear(path: &Path, error: &io::Error) -> bool {
    let me = rustix::process::geteuid().as_raw();
    let of_others =
        path.parent().and_then(|parent| parent.metadata().ok()).is_some_and(|parent| parent.uid() != me);
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => true,
        io::ErrorKind::PermissionDenied => of_others,
        _ => false,
    }
}

fn is_placeholder(path: &Path) -> bool {
    let Ok(found) = path.symlink_metadata() else { return false };
    let mode = found.mode() & 0o7777;
    if found.file_type().is_socket() {
        mode == SOCKET_MODE
    } else if found.is_dir() {
        mode == FOLDER_MODE && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
    } else {
        let expected = content(path);
        found.is_file()
            && mode == FILE_MODE
            && found.len() == expected.len() as u64
            && fs::read(path).is_ok_and(|bytes| bytes == expected)
    }
}

fn remove(path: &Path) {
    if is_placeholder(path) {
        // A folder only if it is still empty; the kernel sees to that.
        let remove = || if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
        let _ = although_forbidden(path, remove);
    }
}

/// Changes what is in a folder. Where the mode of a folder of our own forbids that, it gives way for the moment: a command
/// may have set it, and it could set it back.
fn although_forbidden<T>(path: &Path, mut change: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let first = change();
    let (Err(error), Some(parent)) = (&first, path.parent()) else { return first };
    if error.kind() != io::ErrorKind::PermissionDenied {
        return first;
    }
    let held =
        open(parent, OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let same = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    let usual = same.metadata()?;
    if usual.uid() != rustix::process::geteuid().as_raw() {
        return first;
    }
    fs::set_permissions(&same, Permissions::from_mode(usual.mode() & 0o7777 | 0o700))?;
    let changed = change();
    fs::set_permissions(&same, Permissions::from_mode(usual.mode() & 0o7777))?;
    changed
}
