//! Tries user namespaces, Landlock and seccomp in forked children. See `support`.
//!
//! Code in a forked child of a threaded process may only make system calls: no allocation, no locks. All it needs is
//! prepared before the fork, and what it finds comes back as two numbers through a pipe.

use std::{io::Read, os::fd::AsRawFd, ptr};

use super::{Finding, Support};

/// A step that failed, and the system's error number.
type FailedStep = (usize, i32);

/// Has every way of confinement tried.
pub(super) fn support() -> Support {
    Support {
        user_namespaces: user_namespaces(),
        processes: processes(),
        network: network(),
        landlock: landlock(),
        seccomp: seccomp(),
        overlay: overlay(),
        cgroup: cgroup(),
    }
}

/// What it takes to be somebody in a new user namespace, as text made ready before the fork.
struct Entry {
    uid_map: String,
    gid_map: String,
}

/// The steps of entering; others are counted after them.
const ENTERING: [&str; 5] =
    ["unshare", "writing setgroups", "writing uid_map", "writing gid_map", "parting mounts"];

impl Entry {
    fn new() -> Self {
        // SAFETY: neither call has preconditions.
        let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
        Self { uid_map: format!("0 {uid} 1"), gid_map: format!("0 {gid} 1") }
    }

    /// Enters new namespaces: user, mount, and those asked for.
    fn enter(&self, others: libc::c_int) -> Result<(), FailedStep> {
        let flags = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | others;
        // SAFETY: the forked child is single-threaded and ends right after; nothing else sees its namespaces.
        succeeded(0, unsafe { libc::unshare(flags) }.into())?;
        write_file(1, c"/proc/self/setgroups", b"deny")?;
        write_file(2, c"/proc/self/uid_map", self.uid_map.as_bytes())?;
        write_file(3, c"/proc/self/gid_map", self.gid_map.as_bytes())?;
        mount(4, c"none", c"/", libc::MS_REC | libc::MS_PRIVATE, None)
    }
}

fn mount(
    step: usize,
    kind: &std::ffi::CStr,
    at: &std::ffi::CStr,
    flags: libc::c_ulong,
    options: Option<&std::ffi::CStr>,
) -> Result<(), FailedStep> {
    let options = options.map_or(ptr::null(), |options| options.as_ptr().cast());
    // SAFETY: all pointers are valid C strings, or null where that is allowed.
    let mounted = unsafe { libc::mount(kind.as_ptr(), at.as_ptr(), kind.as_ptr(), flags, options) };
    succeeded(step, mounted.into())
}

fn steps(others: &[&'static str]) -> Vec<&'static str> {
    [ENTERING.as_slice(), others].concat()
}

fn user_namespaces() -> Finding {
    let entry = Entry::new();
    let found = "a user namespace with its own mounts was made";
    finding(in_child(|| entry.enter(0)), &steps(&[]), found.into())
}

fn processes() -> Finding {
    let entry = Entry::new();
    let attempt = || {
        entry.enter(libc::CLONE_NEWPID)?;
        // SAFETY: as in `in_child`: the child makes one system call and leaves by `_exit`.
        let child = unsafe { libc::fork() };
        succeeded(5, child.into())?;
        if child == 0 {
            let errno = mount(6, c"proc", c"/proc", 0, None).err().map_or(0, |(_, errno)| errno);
            // SAFETY: does not return.
            unsafe { libc::_exit(errno) }
        }
        let mut status = 0;
        // SAFETY: `child` is our own unreaped child, and the status a valid place.
        succeeded(5, unsafe { libc::waitpid(child, &raw mut status, 0) }.into())?;
        if status == 0 { Ok(()) } else { Err((6, libc::WEXITSTATUS(status))) }
    };
    let found = "a process namespace with its own /proc was made";
    finding(in_child(attempt), &steps(&["forking", "mounting /proc"]), found.into())
}

fn network() -> Finding {
    let entry = Entry::new();
    let attempt = || entry.enter(libc::CLONE_NEWNET);
    finding(in_child(attempt), &steps(&[]), "a network namespace was made".into())
}

fn overlay() -> Finding {
    let entry = Entry::new();
    let attempt = || {
        entry.enter(0)?;
        mount(5, c"tmpfs", c"/tmp", 0, None)?;
        for folder in [c"/tmp/lower", c"/tmp/upper", c"/tmp/work", c"/tmp/view"] {
            // SAFETY: the path is a valid C string.
            succeeded(6, unsafe { libc::mkdir(folder.as_ptr(), 0o700) }.into())?;
        }
        let options = c"lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work,userxattr";
        mount(7, c"overlay", c"/tmp/view", 0, Some(options))
    };
    let others = ["mounting a tmpfs", "making folders", "mounting an overlay"];
    finding(in_child(attempt), &steps(&others), "a throw-away view was made".into())
}

fn cgroup() -> Finding {
    match crate::linux::cgroup::Cgroup::make(&crate::ResourceLimits::default()) {
        Ok(_) => Finding { usable: true, reason: "one with limits was made and removed".into() },
        Err(error) => {
            let reason = format!(
                "making one with limits failed: {error}; limits hold for each process, and Posse watches over the rest"
            );
            Finding { usable: false, reason }
        }
    }
}

fn landlock() -> Finding {
    const VERSION_FLAG: libc::c_uint = 1;
    const ACCESS_FS_WRITE_FILE: u64 = 1 << 1;
    // SAFETY: with this flag the kernel takes a null pointer and size 0, and only returns a number.
    let abi =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<u64>(), 0, VERSION_FLAG) };
    let steps =
        ["making a ruleset", "giving up new privileges", "restricting", "checking that a write is denied"];
    let attempt = || {
        let handled: u64 = ACCESS_FS_WRITE_FILE;
        // SAFETY: `handled` is the first field of the ruleset attributes and its size is given.
        let ruleset = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, &raw const handled, 8, 0) };
        succeeded(0, ruleset)?;
        no_new_privileges(1)?;
        // SAFETY: the ruleset is an open descriptor of this child.
        succeeded(2, unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) })?;
        // SAFETY: the path is a valid C string.
        let opened = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
        if opened >= 0 { Err((3, 0)) } else { Ok(()) }
    };
    finding(in_child(attempt), &steps, format!("ABI {abi}; a write was denied as asked"))
}

fn seccomp() -> Finding {
    let steps = ["giving up new privileges", "installing a filter", "checking that a call is denied"];
    let attempt = || {
        no_new_privileges(0)?;
        let statement = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
        let deny = libc::SECCOMP_RET_ERRNO | libc::EPERM.unsigned_abs();
        let mut filter = [
            statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
            statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_getppid as u32),
            statement(libc::BPF_RET | libc::BPF_K, 0, 0, deny),
            statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
        ];
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: the program points to a live array of the stated length.
        let installed =
            unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) };
        succeeded(1, installed)?;
        // SAFETY: getppid has no preconditions; called raw so that the filter's error is seen.
        if unsafe { libc::syscall(libc::SYS_getppid) } == -1 { Ok(()) } else { Err((2, 0)) }
    };
    finding(in_child(attempt), &steps, "a filter was installed and denied a call as asked".into())
}

fn no_new_privileges(step: usize) -> Result<(), FailedStep> {
    // SAFETY: affects only this child.
    succeeded(step, unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())
}

fn write_file(step: usize, path: &std::ffi::CStr, bytes: &[u8]) -> Result<(), FailedStep> {
    // SAFETY: the path is a C string, and the buffer is valid for its length.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        succeeded(step, file.into())?;
        succeeded(step, libc::write(file, bytes.as_ptr().cast(), bytes.len()) as i64)
    }
}

fn succeeded(step: usize, returned: i64) -> Result<(), FailedStep> {
    // SAFETY: errno is a valid thread-local location.
    if returned >= 0 { Ok(()) } else { Err((step, unsafe { *libc::__errno_location() })) }
}

/// Runs `attempt` in a forked child. `None`: the child could not be made, or died without an answer.
fn in_child(attempt: impl FnOnce() -> Result<(), FailedStep>) -> Option<Result<(), FailedStep>> {
    let (mut reader, writer) = std::io::pipe().ok()?;
    // SAFETY: the child makes only system calls and leaves by `_exit`, so no Rust state is touched twice.
    match unsafe { libc::fork() } {
        -1 => None,
        0 => {
            let answer = match attempt() {
                Ok(()) => [0_u8, 0],
                Err((step, errno)) => [step as u8 + 1, errno as u8],
            };
            // SAFETY: the buffer is valid for two bytes; `_exit` does not return.
            unsafe {
                libc::write(writer.as_raw_fd(), answer.as_ptr().cast(), answer.len());
                libc::_exit(0)
            }
        }
        child => {
            drop(writer);
            let mut answer = [0; 2];
            let read = reader.read_exact(&mut answer);
            // SAFETY: `child` is our own unreaped child; the status is not asked for.
            unsafe { libc::waitpid(child, ptr::null_mut(), 0) };
            read.ok()?;
            Some(if answer[0] == 0 { Ok(()) } else { Err((usize::from(answer[0]) - 1, answer[1].into())) })
        }
    }
}

fn finding(tried: Option<Result<(), FailedStep>>, steps: &[&str], found: String) -> Finding {
    let reason = match tried {
        Some(Ok(())) => return Finding { usable: true, reason: found },
        Some(Err((step, 0))) => format!("{} failed", steps[step]),
        Some(Err((step, errno))) => {
            format!("{} failed: {}", steps[step], std::io::Error::from_raw_os_error(errno))
        }
        None => "a child to try it in could not be made, or died".to_owned(),
    };
    Finding { usable: false, reason }
}
