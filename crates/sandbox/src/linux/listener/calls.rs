//! The system calls by which a command names something in order to change it, and where each has its names. Plain data.

use libc::{c_int, c_long};

/// One of them.
pub(crate) struct WatchedCall {
    pub(crate) number: c_long,
    pub(crate) does: Does,
    /// In the order of its arguments.
    pub(crate) names: &'static [NameArgument],
}

/// What it does with what it names.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Does {
    /// Opens it; this argument says how.
    Opens(usize),
    /// Opens it for writing, empty, whether or not it was there.
    Empties,
    /// Makes it, if nothing has the name.
    Makes,
    /// Makes a link by that name, if nothing has it; the link's own text is this argument.
    Points(usize),
    /// Empties or removes it, if it is there.
    Changes,
    /// Gives it other permissions, owners, times or attributes, if it is there. What it holds stays.
    Marks,
    /// Gives the first the name of the second; this argument says how, if there is one.
    Renames(Option<usize>),
    /// Makes the second another name of the first.
    Links,
}

/// Where a name is among the arguments.
pub(crate) enum NameArgument {
    /// A path, the folder that it starts in if it is relative, and what is done with a link at its end.
    Path { folder: Option<usize>, path: usize, end: LinkEnd },
    /// An open descriptor.
    Descriptor(usize),
}

/// Whether a link at the end of a path is followed.
#[derive(Clone, Copy)]
pub(crate) enum LinkEnd {
    Followed,
    Itself,
    /// Unless this argument has this bit.
    FollowedUnless(usize, c_int),
    /// If this argument has this bit.
    FollowedIf(usize, c_int),
}

use Does::{Changes, Links, Makes, Marks, Opens, Points, Renames};
use LinkEnd::{Followed, FollowedIf, FollowedUnless, Itself};

/// Newer than the C library's list; the same numbers everywhere.
const SYS_FCHMODAT2: c_long = 452;
const SYS_SETXATTRAT: c_long = 463;
const SYS_REMOVEXATTRAT: c_long = 466;
const SYS_FILE_SETATTR: c_long = 469;

const fn at(folder: usize, path: usize, end: LinkEnd) -> NameArgument {
    NameArgument::Path { folder: Some(folder), path, end }
}

const fn here(path: usize, end: LinkEnd) -> NameArgument {
    NameArgument::Path { folder: None, path, end }
}

const fn call(number: c_long, does: Does, names: &'static [NameArgument]) -> WatchedCall {
    WatchedCall { number, does, names }
}

const NOFOLLOW: c_int = libc::AT_SYMLINK_NOFOLLOW;

/// All of them. Those that act on a descriptor that was opened for writing are not among them: its opening was.
pub(crate) const CALLS: &[WatchedCall] = &[
    call(libc::SYS_openat, Opens(2), &[at(0, 1, FollowedUnless(2, libc::O_NOFOLLOW))]),
    call(libc::SYS_truncate, Changes, &[here(0, Followed)]),
    call(libc::SYS_unlinkat, Changes, &[at(0, 1, Itself)]),
    call(libc::SYS_renameat2, Renames(Some(4)), &[at(0, 1, Itself), at(2, 3, Itself)]),
    call(libc::SYS_linkat, Links, &[at(0, 1, FollowedIf(4, libc::AT_SYMLINK_FOLLOW)), at(2, 3, Itself)]),
    call(libc::SYS_symlinkat, Points(0), &[at(1, 2, Itself)]),
    call(libc::SYS_mkdirat, Makes, &[at(0, 1, Itself)]),
    call(libc::SYS_mknodat, Makes, &[at(0, 1, Itself)]),
    call(libc::SYS_fchmod, Marks, &[NameArgument::Descriptor(0)]),
    call(libc::SYS_fchmodat, Marks, &[at(0, 1, Followed)]),
    call(SYS_FCHMODAT2, Marks, &[at(0, 1, FollowedUnless(3, NOFOLLOW))]),
    call(libc::SYS_fchown, Marks, &[NameArgument::Descriptor(0)]),
    call(libc::SYS_fchownat, Marks, &[at(0, 1, FollowedUnless(4, NOFOLLOW))]),
    call(libc::SYS_utimensat, Marks, &[at(0, 1, FollowedUnless(3, NOFOLLOW))]),
    call(libc::SYS_setxattr, Marks, &[here(0, Followed)]),
    call(libc::SYS_lsetxattr, Marks, &[here(0, Itself)]),
    call(libc::SYS_fsetxattr, Marks, &[NameArgument::Descriptor(0)]),
    call(libc::SYS_removexattr, Marks, &[here(0, Followed)]),
    call(libc::SYS_lremovexattr, Marks, &[here(0, Itself)]),
    call(libc::SYS_fremovexattr, Marks, &[NameArgument::Descriptor(0)]),
    call(SYS_SETXATTRAT, Marks, &[at(0, 1, FollowedUnless(2, NOFOLLOW))]),
    call(SYS_REMOVEXATTRAT, Marks, &[at(0, 1, FollowedUnless(2, NOFOLLOW))]),
    call(SYS_FILE_SETATTR, Marks, &[at(0, 1, FollowedUnless(4, NOFOLLOW))]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_open, Opens(1), &[here(0, FollowedUnless(1, libc::O_NOFOLLOW))]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_creat, Does::Empties, &[here(0, Followed)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_unlink, Changes, &[here(0, Itself)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rmdir, Changes, &[here(0, Itself)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_rename, Renames(None), &[here(0, Itself), here(1, Itself)]),
    call(libc::SYS_renameat, Renames(None), &[at(0, 1, Itself), at(2, 3, Itself)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_link, Links, &[here(0, Itself), here(1, Itself)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_symlink, Points(0), &[here(1, Itself)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_mkdir, Makes, &[here(0, Itself)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_mknod, Makes, &[here(0, Itself)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_chmod, Marks, &[here(0, Followed)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_chown, Marks, &[here(0, Followed)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_lchown, Marks, &[here(0, Itself)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_utime, Marks, &[here(0, Followed)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_utimes, Marks, &[here(0, Followed)]),
    #[cfg(target_arch = "x86_64")]
    call(libc::SYS_futimesat, Marks, &[at(0, 1, Followed)]),
];

/// The flags of an open that can change something.
pub(crate) const WRITES: c_int = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;

/// The first number that this was not written for. What a newer kernel has there could be a new way to name something.
pub(crate) const UNKNOWN_FROM: c_long = 470;
