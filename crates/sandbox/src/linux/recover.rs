//! Covers again, while a command runs, what somebody outside has put in the place of a covered name.
//!
//! A child of the supervisor enters the confinement and mounts what is there now read-only over itself. Between the loss
//! of a cover and that lie a few hundred microseconds. Whoever listens to the command's calls refuses it the name meanwhile,
//! so another file in its place is the person's again. If it is written in that time, if somebody has
//! it open for writing afterwards, or if it is not a plain file or an empty folder, nobody can tell whose doing it is: then
//! the command is ended, as it is when covering fails. Git's own settings, which git writes several times in a row, may
//! differ in what cannot run anything.

use std::{
    collections::BTreeSet,
    fs::File,
    io,
    os::fd::{AsRawFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FileType, Mode, OFlags, open},
    process::{Pid, WaitOptions, waitpid},
    thread::{LinkNameSpaceType, move_into_link_name_space},
};

use super::{
    mounts,
    placeholders::Placeholders,
    plan::Plan,
    replaced::{CoveredNames, Happened},
};

/// The way into a confinement, opened before anything in there has run.
pub(crate) struct Inside {
    user: OwnedFd,
    mounts: OwnedFd,
}

impl Inside {
    /// To be asked while process 1 still waits to begin.
    pub(crate) fn of(first: Pid) -> io::Result<Self> {
        let space = |name: &str| {
            let path = format!("/proc/{}/ns/{name}", first.as_raw_nonzero());
            open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        };
        Ok(Self { user: space("user")?, mounts: space("mnt")? })
    }

    /// Covers these in there. Each that is not the root of a mount gets one.
    fn cover(&self, paths: &BTreeSet<PathBuf>) -> bool {
        // SAFETY: this process has one thread; the child makes system calls and ends by `_exit`.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let covered = self.enter().is_ok() && paths.iter().all(|path| mounts::cover_again(path).is_ok());
            // SAFETY: ends the process without anything of the parent's being run twice.
            unsafe { libc::_exit(i32::from(!covered)) }
        }
        let Some(pid) = Pid::from_raw(pid.max(0)) else { return false };
        loop {
            match waitpid(Some(pid), WaitOptions::empty()) {
                Err(rustix::io::Errno::INTR) => {}
                Ok(Some((_, status))) => return status.exit_status() == Some(0),
                _ => return false,
            }
        }
    }

    fn enter(&self) -> rustix::io::Result<()> {
        use std::os::fd::AsFd;
        move_into_link_name_space(self.user.as_fd(), Some(LinkNameSpaceType::User))?;
        move_into_link_name_space(self.mounts.as_fd(), Some(LinkNameSpaceType::Mount))
    }
}

/// Covers that are gone and not all made anew yet.
///
/// It goes on round by round, for as long as somebody outside goes on: a machine that is busy may be slower in covering
/// than git is in writing. Between two rounds whoever watches sees to the end of the command.
#[derive(Default)]
pub(crate) struct Lost {
    happened: Happened,
    /// What was covered again in the rounds before.
    renewed: BTreeSet<PathBuf>,
}

impl Lost {
    /// Whether there is something to cover.
    pub(crate) fn is_nothing(&self) -> bool {
        self.happened.is_nothing()
    }

    /// Takes in what has happened, where nothing is known to be lost.
    pub(crate) fn look(&mut self, names: &CoveredNames, placeholders: &Placeholders) {
        if self.is_nothing() {
            self.happened = names.happened(placeholders.folder(), &BTreeSet::new());
        }
    }

    /// The first name that is lost.
    pub(crate) fn first(&self) -> PathBuf {
        self.happened.replaced.iter().chain(&self.happened.doubtful).next().cloned().unwrap_or_default()
    }

    /// Covers again what is lost, once. The error is the name that cannot be protected any longer.
    pub(crate) fn recover(
        &mut self,
        plan: &Plan,
        inside: &Inside,
        names: &mut CoveredNames,
        placeholders: &mut Placeholders,
    ) -> Result<(), PathBuf> {
        let open: BTreeSet<PathBuf> =
            self.happened.replaced.union(&self.happened.doubtful).cloned().collect();
        if let Err(path) = cover(plan, inside, placeholders, &open) {
            // It may have been replaced once more in this moment.
            let since = names.happened(placeholders.folder(), &open);
            if !since.replaced.contains(&path) {
                return Err(path);
            }
            self.happened.replaced.extend(since.replaced);
            self.happened.doubtful.extend(since.doubtful);
            return Ok(());
        }
        // What became a placeholder, one of the supervisors has made: there is nothing in it.
        let harmless = |path: &Path| {
            placeholders.is_placeholder(path) || names.says_the_same(placeholders.folder(), path)
        };
        if let Some(path) = self.happened.doubtful.iter().find(|path| !harmless(path)) {
            return Err(path.clone());
        }
        names.renew(placeholders.folder(), &open).map_err(|_| self.first())?;
        self.renewed.extend(open.iter().cloned());
        // After the look at who writes: whoever has closed a file since is told of here.
        self.happened = names.happened(placeholders.folder(), &open);
        if self.is_nothing() {
            names.read_again(placeholders.folder(), &std::mem::take(&mut self.renewed));
        }
        Ok(())
    }
}

/// Covers these. The error is the first that cannot be, or that somebody still writes.
fn cover(
    plan: &Plan,
    inside: &Inside,
    placeholders: &mut Placeholders,
    open: &BTreeSet<PathBuf>,
) -> Result<(), PathBuf> {
    for path in open {
        make_ready(plan, placeholders, path).map_err(|_| path.clone())?;
    }
    if !inside.cover(open) {
        return Err(open.first().cloned().unwrap_or_default());
    }
    open.iter().try_for_each(|path| must_be_at_rest(placeholders, path).map_err(|_| path.clone()))
}

/// Sees to it that there is something to cover, and that it is something that can be.
fn make_ready(plan: &Plan, placeholders: &mut Placeholders, path: &Path) -> io::Result<()> {
    let hidden = plan.hidden.iter().any(|hidden| path == hidden);
    if hidden || !placeholders.guarded.iter().any(|guarded| guarded == path) {
        return Err(io::ErrorKind::Unsupported.into());
    }
    match placeholders.folder().slot(path)?.look() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => placeholders.place_again(plan, path),
        Err(error) => Err(error),
        Ok(found) if FileType::from_raw_mode(found.st_mode) == FileType::Symlink => {
            Err(io::ErrorKind::Unsupported.into())
        }
        Ok(_) => Ok(()),
    }
}

/// Whether nobody can write any more what is covered now: no one has the file open for that, and a folder is empty.
fn must_be_at_rest(placeholders: &Placeholders, path: &Path) -> io::Result<()> {
    if placeholders.is_placeholder(path) {
        return Ok(());
    }
    let slot = placeholders.folder().slot(path)?;
    match FileType::from_raw_mode(slot.look()?.st_mode) {
        FileType::RegularFile => no_writer(&slot.read()?),
        FileType::Directory if slot.is_empty_folder() => Ok(()),
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// The kernel gives a lease for reading only where nobody writes.
fn no_writer(file: &File) -> io::Result<()> {
    // SAFETY: takes an open descriptor and numbers.
    let lease = |kind: libc::c_int| unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) };
    if lease(libc::F_RDLCK) == -1 {
        let error = io::Error::last_os_error();
        // Not every file system has them; what was written and closed is told by events.
        return if error.raw_os_error() == Some(libc::EAGAIN) { Err(error) } else { Ok(()) };
    }
    lease(libc::F_UNLCK);
    Ok(())
}
