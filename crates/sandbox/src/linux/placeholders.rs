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
//! Other commands may run meanwhile: see `folder` for how what they can write is touched.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fs, io,
    os::{fd::OwnedFd, unix::fs::MetadataExt},
    path::{Component, Path, PathBuf},
};

use rustix::{fs::FileType, io::Errno};

use super::{
    FailedStep, NamedStep,
    folder::{Folder, Slot},
    lock::Lock,
    plan::Plan,
    replaced::{self, FileId},
};
use crate::{Level, limits};

/// What is guarded in a workspace, and the placeholders for it. Dropping it removes those nobody needs any more.
pub(crate) struct Placeholders {
    /// To be mounted read-only: folders, files, and links themselves.
    pub(crate) guarded: Vec<PathBuf>,
    /// Folders above them, to be mounted as they are: a mount cannot be renamed, and so nothing be put in its place.
    pub(crate) pinned: Vec<PathBuf>,
    /// All that must stay what it was when it was found, or its cover is gone.
    pub(crate) found: Vec<(PathBuf, FileId)>,
    folder: Folder,
    made: Vec<PathBuf>,
    /// The first socket that was made.
    socket: Option<OwnedFd>,
    lock: Option<Lock>,
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        drop(self.remove());
    }
}

impl Placeholders {
    /// Removes those that nobody needs any more. What is returned is to be dropped when there is time: some disks make us
    /// wait when a folder's room is given back, which happens when its last holder lets go.
    pub(crate) fn remove(&mut self) -> Vec<OwnedFd> {
        let Some(mut lock) = self.lock.take().filter(Lock::alone) else { return Vec::new() };
        self.made.extend(lock.noted());
        self.made.sort();
        self.made.dedup();
        let slots: Vec<(&PathBuf, Slot<'_>)> =
            self.made.iter().filter_map(|path| Some((path, self.folder.slot(path).ok()?))).collect();
        let held: Vec<OwnedFd> = slots.iter().filter_map(|(_, slot)| slot.hold().ok()).collect();
        // The innermost first.
        slots.iter().rev().for_each(|(path, slot)| slot.remove_placeholder(content(path)));
        lock.remove();
        held
    }

    pub(crate) fn make(plan: &Plan) -> Result<Self, FailedStep> {
        let (guarded, pinned, found, made) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        // A program of ours has no workspace, and nothing is guarded for it.
        let top = if plan.bare { Path::new("/") } else { plan.workspace() };
        let folder = Folder::open(top).step_at("opening", top)?;
        let mut all = Self { guarded, pinned, found, folder, made, socket: None, lock: None };
        if plan.bare {
            return Ok(all);
        }
        all.find_hidden(plan);
        if plan.level != Level::Full {
            return Ok(all);
        }
        let mut lock = Lock::shared(&all.folder)?;
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

    /// Takes over what somebody who was killed has left in a workspace, to be dropped.
    pub(crate) fn left_in(workspace: &Path) -> Result<Self, FailedStep> {
        let (guarded, pinned, found) = (Vec::new(), Vec::new(), Vec::new());
        let folder = Folder::open(workspace).step_at("opening", workspace)?;
        let lock = Some(Lock::shared(&folder)?);
        let names = crate::protected_names().iter().map(|name| workspace.join(name.path));
        let is_left = |path: &PathBuf| folder.slot(path).is_ok_and(|slot| slot.is_placeholder(content(path)));
        let above = [workspace.join(".git")];
        let made = names.chain(above).filter(is_left).collect();
        Ok(Self { guarded, pinned, found, folder, made, socket: None, lock })
    }

    /// The workspace.
    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    fn guard_all(&mut self, plan: &Plan) -> Result<(), FailedStep> {
        let protected = plan.protected.iter().map(|(name, _)| plan.workspace().join(name));
        // What is hidden must not be made by the command either.
        let others = plan.read_only.iter().chain(&plan.hidden).map(PathBuf::from);
        for path in protected.chain(others) {
            self.guard(plan, &path).step_at("guarding", &path)?;
        }
        let covered = plan.covered.iter().take(limits::COVERS_MAX).map(PathBuf::from);
        covered.for_each(|path| self.cover(plan, path));
        Ok(())
    }

    /// What is hidden must stay so, even where nothing can be written.
    fn find_hidden(&mut self, plan: &Plan) {
        let hidden = plan.hidden.iter().filter_map(|path| Path::new(path).canonicalize().ok());
        let inside = hidden.filter(|path| path.starts_with(plan.workspace()) && path != plan.workspace());
        let found = inside.filter_map(|path| Some((self.folder.slot(&path).ok()?.look().ok()?, path)));
        self.found = found.map(|(is, path)| (path, replaced::of(&is))).collect();
    }

    /// Guards what is there, as it is there: if it is a link, or there is one on the way, it is left to its name.
    fn cover(&mut self, plan: &Plan, path: PathBuf) {
        let found = self.folder.slot(&path).and_then(|slot| slot.look());
        let Ok(found) = found else { return };
        if FileType::from_raw_mode(found.st_mode) != FileType::Symlink && writable(plan, &path) {
            self.found.push((path.clone(), replaced::of(&found)));
            self.guarded.push(path);
        }
    }

    /// Goes down to a path by hand, guarding every link on the way, and what it comes to in the end.
    fn guard(&mut self, plan: &Plan, path: &Path) -> io::Result<()> {
        let workspace = plan.workspace();
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
            let inside = self.folder.holds(&at);
            let found = match self.look(&at) {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let kind = if rest.is_empty() { kind_of(plan, &at) } else { Kind::Folder };
                    return if inside && writable(plan, &at) { self.place(at, kind) } else { Ok(()) };
                }
                Err(_) if !inside => return Ok(()),
                Err(error) => return Err(error),
            };
            // Where the command may not write anyway, it may be replaced.
            if inside && writable(plan, &at) {
                self.found.push((at.clone(), found.identity));
            }
            if let Some(target) = found.link {
                links += 1;
                if links > limits::LINKS_MAX {
                    return Err(Errno::LOOP.into());
                }
                if inside {
                    self.guarded.push(at.clone());
                }
                at.pop();
                rest = words(&target).into_iter().chain(rest).collect();
            } else if inside {
                let ours = self.folder.slot(&at)?.is_placeholder(content(&at));
                if ours {
                    self.made.push(at.clone());
                }
                if ours || rest.is_empty() || !found.is_folder {
                    self.guarded.push(at);
                    return Ok(());
                }
                self.pinned.push(at.clone());
            }
        }
        Ok(())
    }

    /// Looks at what is at a path, itself.
    fn look(&self, at: &Path) -> io::Result<Found> {
        if self.folder.holds(at) {
            let slot = self.folder.slot(at)?;
            let found = slot.look()?;
            let kind = FileType::from_raw_mode(found.st_mode);
            let link = if kind == FileType::Symlink { Some(slot.link()?) } else { None };
            return Ok(Found { identity: replaced::of(&found), is_folder: kind.is_dir(), link });
        }
        // Around the workspace nothing is made and nothing opened.
        let found = at.symlink_metadata()?;
        let link = if found.is_symlink() { Some(fs::read_link(at)?) } else { None };
        Ok(Found { identity: (found.dev(), found.ino()), is_folder: found.is_dir(), link })
    }

    fn place(&mut self, path: PathBuf, kind: Kind) -> io::Result<()> {
        let slot = self.folder.slot(&path)?;
        let socket = &mut self.socket;
        let made = slot.although_forbidden(|slot| match kind {
            Kind::Folder => slot.make_folder(),
            Kind::FileOfGit => slot.make_file(content(&path)),
            Kind::File => place_socket(socket, slot),
        });
        match made {
            Ok(()) => self.made.push(path.clone()),
            // Another supervisor's command needs it too, or somebody made the real thing just now.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.made.extend(slot.is_placeholder(content(&path)).then(|| path.clone()));
            }
            Err(error) if cannot_appear(&slot, &error) => return Ok(()),
            Err(error) => return Err(error),
        }
        let identity = replaced::of(&slot.look()?);
        self.found.push((path.clone(), identity));
        self.guarded.push(path);
        Ok(())
    }

    /// Makes a placeholder again that somebody outside has removed while the command runs. What is there must be one then.
    pub(crate) fn place_again(&mut self, plan: &Plan, path: &Path) -> io::Result<()> {
        let kind = kind_of(plan, path);
        let (guarded, found) = (self.guarded.len(), self.found.len());
        self.place(path.to_owned(), kind)?;
        self.guarded.truncate(guarded);
        self.found.truncate(found);
        if !self.folder.slot(path)?.is_placeholder(content(path)) {
            return Err(Errno::EXIST.into());
        }
        match &mut self.lock {
            Some(lock) => lock.note(&self.made),
            None => Ok(()),
        }
    }

    /// Whether what is at a path is a placeholder.
    pub(crate) fn is_placeholder(&self, path: &Path) -> bool {
        self.folder.slot(path).is_ok_and(|slot| slot.is_placeholder(content(path)))
    }
}

/// What is at a path.
struct Found {
    identity: FileId,
    is_folder: bool,
    /// Where it leads, if it is a link.
    link: Option<PathBuf>,
}

fn place_socket(first: &mut Option<OwnedFd>, slot: &Slot<'_>) -> io::Result<()> {
    match first.as_ref().map(|first| slot.link_to(first)) {
        Some(Err(error)) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
        Some(Ok(())) => return Ok(()),
        // The first one, or one that cannot be linked, because another supervisor has just removed it.
        Some(Err(_)) | None => {}
    }
    match slot.make_socket() {
        Ok(made) => *first = Some(made),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
        // Not every file system has sockets.
        Err(_) => return slot.make_folder(),
    }
    Ok(())
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
#[derive(Clone, Copy)]
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

/// Whether a name cannot be made by the command either: the file system is read-only, or the folder is somebody else's.
fn cannot_appear(slot: &Slot<'_>, error: &io::Error) -> bool {
    let me = rustix::process::geteuid().as_raw();
    let of_others = rustix::fs::fstat(slot.folder()).is_ok_and(|folder| folder.st_uid != me);
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => true,
        io::ErrorKind::PermissionDenied => of_others,
        _ => false,
    }
}
