//! Makes the mounts of a view: a new root in which everything is read-only, and the view's covers on top.
//!
//! The old root stays reachable through one descriptor until the end, as the source of what is shown, and is then
//! unmounted as a whole. No link is followed on either side: whoever changes files meanwhile changes no mount.

use std::{
    cell::RefCell,
    fs,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
        unix::fs::{PermissionsExt, symlink},
    },
    path::Path,
};

use rustix::{
    fs::{
        AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, StatxAttributes, StatxFlags, chmodat, fstat,
        open, openat, openat2, statat, statx,
    },
    io,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags,
        UnmountFlags, fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount_change,
        move_mount, open_tree, unmount,
    },
    process::{fchdir, pivot_root},
};

use super::{
    FailedStep, NamedStep,
    listener::mount_of,
    plan::Plan,
    view::{Cover, FileView},
};
use crate::limits;

/// The new root, while it is being built.
struct Root {
    old: OwnedFd,
    tmp_bytes: u64,
    overlays: bool,
    views: usize,
    /// The mounts that hold nothing but what the command puts there, by number.
    own: RefCell<Vec<u64>>,
}

/// Where private data lives that the command does not see: below its own /dev, which is mounted last.
const SCRATCH: &str = DEVICES;
const DEVICES: &str = "/dev";
const EMPTY_FILE: &str = "/dev/empty";

/// What builds and tests write to, for a view that cannot be thrown away.
const BUILD_FOLDERS: &[&str] = &[
    "target",
    "build",
    "dist",
    "out",
    ".next",
    ".nuxt",
    "coverage",
    "node_modules/.cache",
    "node_modules/.vite",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".nox",
    "__pycache__",
    ".gradle",
    "bin",
    "obj",
];

/// What tells tools to write elsewhere.
const BUILD_ENV: &[(&str, &str)] = &[
    ("CARGO_TARGET_DIR", "/tmp/target"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("PYTEST_ADDOPTS", "-p no:cacheprovider"),
    ("GOCACHE", "/tmp/go-cache"),
];

/// Makes all mounts of a view and leaves the old root behind. Returns the numbers of those in which no socket leads to
/// anybody else.
pub(crate) fn build(view: &mut FileView, plan: &Plan) -> Result<Vec<u64>, FailedStep> {
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .step("parting its mounts from the system's")?;
    let old =
        open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).step("opening /")?;
    let (tmp_bytes, overlays) = (plan.limits.tmp_bytes, !plan.without_overlay);
    let mut root = Root { old, tmp_bytes, overlays, views: 0, own: RefCell::default() };
    if plan.bare {
        root.begin_empty().step("mounting an empty root")?;
        view.links.iter().try_for_each(|(at, says)| symlink(says, at)).step("making links")?;
    } else {
        change_root().step("mounting a read-only root")?;
        root.empty(Path::new(SCRATCH), 0o755)?;
        fs::write(EMPTY_FILE, "").step("making an empty file")?;
        fs::set_permissions(EMPTY_FILE, fs::Permissions::from_mode(0o444)).step("making an empty file")?;
    }
    for cover in view.covers.clone() {
        root.cover(&cover, view)?;
    }
    if plan.bare {
        root.make_target(Path::new(&plan.cwd), true).step_at("making", plan.cwd.as_ref())?;
    }
    for path in &view.kept_in_run {
        root.keep(path)?;
    }
    if plan.bare {
        root.plain_devices()?;
    } else {
        root.processes().step("mounting a /proc of its own")?;
        root.devices()?;
    }
    seal(Path::new(DEVICES)).step_at("sealing", Path::new(DEVICES))?;
    for path in &view.sealed {
        seal(path).step_at("sealing", path)?;
    }
    fchdir(&root.old).and_then(|()| unmount(".", UnmountFlags::DETACH)).step("leaving the old root")?;
    std::env::set_current_dir("/").step("entering the new root")?;
    Ok(root.own.take())
}

/// Everything as it is, but read-only, as this process's root.
fn change_root() -> io::Result<()> {
    let all = open_tree(CWD, "/", clone_flags() | OpenTreeFlags::AT_RECURSIVE)?;
    set_attributes(all.as_fd(), libc::MOUNT_ATTR_RDONLY, true)?;
    // Attached at a place that is not looked at from here on.
    move_mount(&all, "", CWD, "/proc", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
    fchdir(&all)?;
    pivot_root(".", ".")
}

fn clone_flags() -> OpenTreeFlags {
    OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC
}

/// Adds attributes, and always those that no mount of ours is without.
fn set_attributes(mount: BorrowedFd<'_>, add: u64, below_too: bool) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: add | libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    change_attributes(mount, &attributes, below_too)
}

fn change_attributes(mount: BorrowedFd<'_>, to: &libc::mount_attr, below_too: bool) -> io::Result<()> {
    let flags = libc::AT_EMPTY_PATH | if below_too { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the descriptor is open, the path empty, and the attributes are given with their size.
    let changed = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags,
            &raw const *to,
            size_of::<libc::mount_attr>(),
        )
    };
    if changed == -1 {
        let number = std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO);
        return Err(io::Errno::from_raw_os_error(number));
    }
    Ok(())
}

/// Opens what is at a path, itself: no link is followed, neither on the way nor at the end.
fn locate(root: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    let relative = path.strip_prefix("/").unwrap_or(path);
    let relative = if relative.as_os_str().is_empty() { Path::new(".") } else { relative };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(root, relative, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS)
}

fn here(path: &Path) -> io::Result<OwnedFd> {
    let root = open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    locate(root, path)
}

fn attach(mount: &OwnedFd, at: &Path) -> io::Result<()> {
    let at = here(at)?;
    let both = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(mount, "", at, "", both)
}

/// Makes read-only, in a confinement that is built, what is at a path now, unless it is covered.
pub(crate) fn cover_again(path: &Path) -> io::Result<()> {
    let at = here(path)?;
    let found = statx(&at, "", AtFlags::EMPTY_PATH, StatxFlags::empty())?;
    if found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) {
        return Ok(());
    }
    let flags = clone_flags() | OpenTreeFlags::AT_EMPTY_PATH | OpenTreeFlags::AT_RECURSIVE;
    let source = open_tree(&at, "", flags)?;
    set_attributes(source.as_fd(), libc::MOUNT_ATTR_RDONLY, true)?;
    let both = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(source, "", at, "", both)
}

fn seal(path: &Path) -> io::Result<()> {
    set_attributes(here(path)?.as_fd(), libc::MOUNT_ATTR_RDONLY, false)
}

/// Has the first folder of ours copied to where writes go, by setting the mode it has. If its group, say, is nobody in
/// here, that does not work, and no write to anything in it would.
fn try_copying(view: &OwnedFd) -> io::Result<()> {
    let me = rustix::process::geteuid().as_raw();
    let root = openat(view, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    for entry in Dir::read_from(&root)?.take(limits::COPY_TRIES_MAX).flatten() {
        let name = entry.file_name();
        if !entry.file_type().is_dir() || matches!(name.to_bytes(), b"." | b"..") {
            continue;
        }
        let found = statat(&root, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if found.st_uid == me {
            return chmodat(&root, name, Mode::from_raw_mode(found.st_mode), AtFlags::empty());
        }
    }
    Ok(())
}

impl Root {
    /// Nothing at all, as this process's root.
    fn begin_empty(&self) -> io::Result<()> {
        let all = self.tmpfs(0o755)?;
        // Attached at a place that is not looked at from here on.
        move_mount(&all, "", CWD, "/proc", MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?;
        fchdir(&all)?;
        pivot_root(".", ".")
    }

    fn cover(&mut self, cover: &Cover, view: &mut FileView) -> Result<(), FailedStep> {
        match cover {
            Cover::Empty(path) => self.empty(path, if path.ends_with("tmp") { 0o1777 } else { 0o755 }),
            Cover::Writable(path) => self.show(path, 0),
            Cover::ReadOnly(path) => self.show(path, libc::MOUNT_ATTR_RDONLY),
            Cover::Apart(path) => match self.throw_away(path) {
                Ok(()) => seal(path).step_at("mounting read-only", path),
                Err(_) => self.show(path, libc::MOUNT_ATTR_RDONLY),
            },
            Cover::Nothing(path) => self.nothing(path).step_at("hiding", path),
            Cover::ThrowAway(path) => match self.throw_away(path) {
                Ok(()) => Ok(()),
                Err(_) => {
                    view.writable.retain(|writable| writable != path);
                    self.show(path, libc::MOUNT_ATTR_RDONLY)
                }
            },
            Cover::Verify(path) => match self.throw_away(path) {
                Ok(()) => {
                    view.writable.push(path.clone());
                    Ok(())
                }
                Err(error) => self.build_folders(path, &error, view),
            },
        }
    }

    /// An empty private folder.
    fn empty(&self, path: &Path, mode: u32) -> Result<(), FailedStep> {
        self.make_target(path, true).step_at("making", path)?;
        self.tmpfs(mode).and_then(|made| attach(&made, path)).step_at("mounting a private folder at", path)
    }

    fn tmpfs(&self, mode: u32) -> io::Result<OwnedFd> {
        let made = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(&made, "size", self.tmp_bytes.to_string())?;
        fsconfig_set_string(&made, "mode", format!("{mode:o}"))?;
        fsconfig_create(&made)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        let made = fsmount(&made, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        self.own.borrow_mut().extend(mount_of(&made));
        Ok(made)
    }

    /// What the old root has at a path, with all that is mounted below, ready to be attached.
    fn old(&self, path: &Path) -> io::Result<OwnedFd> {
        let found = locate(&self.old, path)?;
        let flags = clone_flags() | OpenTreeFlags::AT_EMPTY_PATH | OpenTreeFlags::AT_RECURSIVE;
        open_tree(found, "", flags)
    }

    fn show(&self, path: &Path, attributes: u64) -> Result<(), FailedStep> {
        let step = if attributes == 0 { "mounting" } else { "mounting read-only" };
        let source = self.old(path).step_at(step, path)?;
        set_attributes(source.as_fd(), attributes, true).step_at(step, path)?;
        let folder = fstat(&source).is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_dir());
        self.make_target(path, folder).step_at("making", path)?;
        attach(&source, path).step_at(step, path)
    }

    /// Sees to it that there is something to mount on. Only in private folders can anything be missing.
    fn make_target(&self, path: &Path, folder: bool) -> std::io::Result<()> {
        if path.symlink_metadata().is_ok() {
            return Ok(());
        }
        if folder {
            return fs::create_dir_all(path);
        }
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, "")
    }

    fn nothing(&self, path: &Path) -> io::Result<()> {
        let flags = clone_flags() | OpenTreeFlags::AT_EMPTY_PATH;
        let empty = open_tree(here(Path::new(EMPTY_FILE))?, "", flags)?;
        set_attributes(empty.as_fd(), libc::MOUNT_ATTR_RDONLY, false)?;
        match attach(&empty, path) {
            // It is out of sight already, or gone since it was found.
            Err(io::Errno::NOENT | io::Errno::NOTDIR) => Ok(()),
            other => other,
        }
    }

    /// A view of a folder in which what is written goes elsewhere.
    fn throw_away(&mut self, path: &Path) -> std::io::Result<()> {
        if !self.overlays {
            return Err(std::io::Error::other("it was not asked for"));
        }
        let source = self.old(path)?;
        let found = fstat(&source)?;
        if found.st_uid != rustix::process::geteuid().as_raw() {
            return Err(std::io::Error::other("the folder belongs to another user"));
        }
        let mode = found.st_mode & 0o777;
        let aside = Path::new(SCRATCH).join(format!("view{}", self.views));
        self.views += 1;
        let [lower, upper, work] = ["lower", "upper", "work"].map(|name| aside.join(name));
        for folder in [&lower, &upper, &work] {
            fs::create_dir_all(folder)?;
        }
        fs::set_permissions(&upper, fs::Permissions::from_mode(mode))?;
        set_attributes(source.as_fd(), libc::MOUNT_ATTR_RDONLY, true)?;
        attach(&source, &lower)?;
        let made = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(&made, "lowerdir", &lower)?;
        fsconfig_set_string(&made, "upperdir", &upper)?;
        fsconfig_set_string(&made, "workdir", &work)?;
        fsconfig_set_flag(&made, "userxattr")?;
        fsconfig_create(&made)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        let made = fsmount(&made, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        try_copying(&made)?;
        self.make_target(path, true)?;
        // A socket that is shown by an overlay is not the one below it.
        self.own.borrow_mut().extend(mount_of(&made));
        Ok(attach(&made, path)?)
    }

    /// The workspace read-only, with private folders where builds write.
    fn build_folders(
        &self,
        workspace: &Path,
        why: &std::io::Error,
        view: &mut FileView,
    ) -> Result<(), FailedStep> {
        self.show(workspace, libc::MOUNT_ATTR_RDONLY)?;
        for name in BUILD_FOLDERS {
            let path = workspace.join(name);
            if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                self.empty(&path, 0o755)?;
                view.writable.push(path);
            }
        }
        view.env.extend(BUILD_ENV.iter().map(|(name, value)| (*name, (*value).into())));
        view.notes.push(format!(
            "verify: a throw-away view is not to be had here ({why}); \
             the workspace was read-only, with private build folders"
        ));
        Ok(())
    }

    /// Keeps a file of /run that was hidden with it.
    fn keep(&self, path: &Path) -> Result<(), FailedStep> {
        if path.symlink_metadata().is_ok() { Ok(()) } else { self.show(path, libc::MOUNT_ATTR_RDONLY) }
    }

    /// The processes of its own namespace. Read-only as well: for a command that runs as root the kernel's settings in
    /// there are only files.
    fn processes(&self) -> io::Result<()> {
        let made = fsopen("proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_create(&made)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
            | MountAttrFlags::MOUNT_ATTR_NODEV
            | MountAttrFlags::MOUNT_ATTR_NOEXEC
            | MountAttrFlags::MOUNT_ATTR_RDONLY;
        let made = fsmount(&made, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        attach(&made, Path::new("/proc"))
    }

    /// The few devices that every program may expect.
    fn plain_devices(&self) -> Result<(), FailedStep> {
        let step = "mounting a /dev of its own";
        let folder = Path::new(DEVICES);
        self.empty(folder, 0o755)?;
        for name in ["null", "zero", "full", "random", "urandom"] {
            let path = folder.join(name);
            fs::write(&path, "").step(step)?;
            let device = self.old(&path).step_at("finding", &path)?;
            attach(&device, &path).step_at("mounting", &path)?;
        }
        Ok(())
    }

    /// The same, and no terminal of anybody.
    fn devices(&self) -> Result<(), FailedStep> {
        self.plain_devices()?;
        let (step, folder) = ("mounting a /dev of its own", Path::new(DEVICES));
        let links = [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")];
        for (name, which) in links {
            symlink(format!("/proc/self/fd{which}"), folder.join(name)).step(step)?;
        }
        symlink("pts/ptmx", "/dev/ptmx").step(step)?;
        self.terminals().step("mounting terminals of its own")?;
        self.empty(Path::new("/dev/shm"), 0o1777)
    }

    fn terminals(&self) -> std::io::Result<()> {
        fs::create_dir("/dev/pts")?;
        let made = fsopen("devpts", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(&made, "ptmxmode", "0666")?;
        fsconfig_set_string(&made, "mode", "0620")?;
        fsconfig_create(&made)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let made = fsmount(&made, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        Ok(attach(&made, Path::new("/dev/pts"))?)
    }
}
