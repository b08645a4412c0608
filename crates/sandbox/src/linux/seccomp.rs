//! The system calls a confined command is refused: those that reach into other processes, change mounts or namespaces,
//! load code into the kernel, or are new ways around the others. Everything else passes; the view and Landlock say what
//! can be done with it.

use libc::{c_long, sock_filter};

use super::{FailedStep, NamedStep};

/// Refused as not permitted.
const REFUSED: &[c_long] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    SYS_OPEN_TREE_ATTR,
    libc::SYS_setns,
    // Keys of the kernel, which no namespace parts.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Code and insight into the kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_syslog,
    libc::SYS_fanotify_init,
    // The machine.
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie,
    // Files by number, past every path.
    libc::SYS_open_by_handle_at,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// Newer than the C library's list; the same number everywhere.
const SYS_OPEN_TREE_ATTR: c_long = 467;
const SYS_FCHMODAT2: c_long = 452;

/// Answered as if the kernel did not have them, so that programs fall back to what can be looked into.
const ABSENT: &[c_long] = &[
    libc::SYS_clone3,
    libc::SYS_openat2,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Answered as by a disk that does not have it; the usual libraries then write instead. Room that is taken without writing
/// would be gone before anybody notices, and nobody could say whose it is (watchdog.rs).
const UNSUPPORTED: &[c_long] = &[libc::SYS_fallocate];

/// Sets a file's mode, and which argument that is. A file whose user or group is taken on by whoever runs it is no danger
/// in here, but it would stay in the workspace, where others may run it.
const MODES: &[(c_long, u32)] = &[
    (libc::SYS_fchmod, 1),
    (libc::SYS_fchmodat, 2),
    (SYS_FCHMODAT2, 2),
    (libc::SYS_mknodat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_chmod, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_creat, 1),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_mknod, 1),
];
/// The same if it makes a file, and which argument says that; the mode comes after it.
const OPENS: &[(c_long, u32)] = &[
    (libc::SYS_openat, 2),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_open, 1),
];
const SET_ID: u32 = libc::S_ISUID | libc::S_ISGID;
/// The second is the one bit by which an unnamed file differs from an opened folder.
const MAKES: u32 = (libc::O_CREAT | libc::O_TMPFILE & !libc::O_DIRECTORY).cast_unsigned();

const NAMESPACES: u32 = (libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP) as u32
    | CLONE_NEWTIME;
/// Shares a bit with the exit signal of `clone`, for which no signal has it.
const CLONE_NEWTIME: u32 = 0x80;

/// Typing into a terminal as if it were the person.
const TERMINAL_INPUT: [u32; 2] = [libc::TIOCSTI as u32, libc::TIOCLINUX as u32];

/// Make or remove names by a request to a file system, past every call that names something: subvolumes and snapshots of
/// btrfs and bcachefs, copies of ocfs2.
const NAMES_BY_REQUEST: [u32; 9] = [
    0x5000_9401,
    0x5000_940e,
    0x5000_940f,
    0x5000_9417,
    0x5000_9418,
    0x5000_943f,
    0x4020_bc10,
    0x4020_bc11,
    0x4018_6f04,
];

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xC000_00B7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: u32 = 0;

/// Where the kernel puts the number, the architecture and the low half of an argument.
const NUMBER_AT: u32 = 0;
const ARCHITECTURE_AT: u32 = 4;
pub(super) const fn argument_at(index: u32) -> u32 {
    16 + 8 * index
}

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
pub(super) const fn error(number: i32) -> u32 {
    libc::SECCOMP_RET_ERRNO | number.cast_unsigned()
}

fn statement(code: u32, operand: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k: operand }
}

pub(super) fn load(offset: u32) -> sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

/// The call's number, with which every filter begins.
pub(super) fn load_number() -> sock_filter {
    load(NUMBER_AT)
}

pub(super) fn answer(verdict: u32) -> sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, verdict)
}

/// Goes on with the next if the test holds, else leaves out `skip`.
pub(super) fn unless(test: u32, operand: u32, skip: usize) -> sock_filter {
    // Rules are a few statements long; one that is not would fail its own test.
    let jf = u8::try_from(skip).unwrap_or(u8::MAX);
    sock_filter { code: (libc::BPF_JMP | test | libc::BPF_K) as u16, jt: 0, jf, k: operand }
}

/// For one call: what its other statements say, else it is allowed.
pub(super) fn rule(number: c_long, body: &[sock_filter]) -> Vec<sock_filter> {
    let mut rule = vec![unless(libc::BPF_JEQ, number as u32, body.len())];
    rule.extend_from_slice(body);
    rule
}

/// Which sockets may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SocketRule {
    /// Those that programs usually make.
    Usual,
    /// None at all: what is in the folders that are shown cannot be talked to either.
    None,
}

fn program(which: SocketRule) -> Vec<sock_filter> {
    let mut all = vec![
        load(ARCHITECTURE_AT),
        unless(libc::BPF_JEQ, ARCHITECTURE, 1),
        statement(libc::BPF_JMP | libc::BPF_JA, 1),
        answer(libc::SECCOMP_RET_KILL_PROCESS),
        load(NUMBER_AT),
    ];
    if cfg!(target_arch = "x86_64") {
        // The same calls under other numbers (x32).
        all.extend([unless(libc::BPF_JGE, 0x4000_0000, 1), answer(error(libc::ENOSYS))]);
    }
    REFUSED.iter().for_each(|number| all.extend(rule(*number, &[answer(error(libc::EPERM))])));
    ABSENT.iter().for_each(|number| all.extend(rule(*number, &[answer(error(libc::ENOSYS))])));
    UNSUPPORTED.iter().for_each(|number| all.extend(rule(*number, &[answer(error(libc::EOPNOTSUPP))])));
    for (number, flags) in [(libc::SYS_clone, NAMESPACES & !CLONE_NEWTIME), (libc::SYS_unshare, NAMESPACES)] {
        let body = [
            load(argument_at(0)),
            unless(libc::BPF_JSET, flags, 1),
            answer(error(libc::EPERM)),
            answer(ALLOW),
        ];
        all.extend(rule(number, &body));
    }
    let refuse_set_id = |mode| {
        [
            load(argument_at(mode)),
            unless(libc::BPF_JSET, SET_ID, 1),
            answer(error(libc::EPERM)),
            answer(ALLOW),
        ]
    };
    MODES.iter().for_each(|(number, mode)| all.extend(rule(*number, &refuse_set_id(*mode))));
    for (number, flags) in OPENS {
        let mode = refuse_set_id(flags + 1);
        let mut body = vec![load(argument_at(*flags)), unless(libc::BPF_JSET, MAKES, mode.len())];
        body.extend(mode);
        body.push(answer(ALLOW));
        all.extend(rule(*number, &body));
    }
    let mut body = vec![load(argument_at(1))];
    TERMINAL_INPUT.iter().chain(&NAMES_BY_REQUEST).for_each(|request| {
        body.extend([unless(libc::BPF_JEQ, *request, 1), answer(error(libc::EPERM))]);
    });
    body.push(answer(ALLOW));
    all.extend(rule(libc::SYS_ioctl, &body));
    match which {
        SocketRule::Usual => {
            all.extend(rule(libc::SYS_socket, &sockets()));
            all.extend(rule(libc::SYS_socketpair, &only_connected()));
        }
        SocketRule::None => all.extend(rule(libc::SYS_socket, &[answer(error(libc::EACCES))])),
    }
    all.push(answer(ALLOW));
    all
}

/// Local, internet, and of netlink only what asks for routes and addresses.
fn sockets() -> Vec<sock_filter> {
    let mut body = vec![load(argument_at(0))];
    for family in [libc::AF_INET, libc::AF_INET6] {
        body.extend([unless(libc::BPF_JEQ, family.cast_unsigned(), 1), answer(ALLOW)]);
    }
    let local = only_connected();
    body.push(unless(libc::BPF_JEQ, libc::AF_UNIX.cast_unsigned(), local.len()));
    body.extend(local);
    body.extend([
        unless(libc::BPF_JEQ, libc::AF_NETLINK.cast_unsigned(), 3),
        load(argument_at(2)),
        unless(libc::BPF_JEQ, libc::NETLINK_ROUTE.cast_unsigned(), 1),
        answer(ALLOW),
        answer(error(libc::EAFNOSUPPORT)),
    ]);
    body
}

/// Local sockets have to be connected to be of use. Datagrams can be sent to any name by calls whose names are in memory,
/// where no filter sees them.
fn only_connected() -> Vec<sock_filter> {
    /// The rest of the argument are flags.
    const KIND: u32 = 0xf;
    let mut body = vec![load(argument_at(1)), statement(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, KIND)];
    for kind in [libc::SOCK_STREAM, libc::SOCK_SEQPACKET] {
        body.extend([unless(libc::BPF_JEQ, kind.cast_unsigned(), 1), answer(ALLOW)]);
    }
    body.push(answer(error(libc::EACCES)));
    body
}

/// Installs the refusals for this process and all it starts.
pub(crate) fn install(which: SocketRule) -> Result<(), FailedStep> {
    if ARCHITECTURE == 0 {
        return Err(FailedStep::new(
            "writing a system call filter",
            "there is none for this kind of machine yet",
        ));
    }
    apply(&program(which), 0).map(|_| ())
}

/// Installs a filter. What it gives is a listener if the flags ask for one.
pub(super) fn apply(filter: &[sock_filter], flags: libc::c_ulong) -> Result<libc::c_int, FailedStep> {
    let length = u16::try_from(filter.len()).step("writing a system call filter")?;
    let filter = libc::sock_fprog { len: length, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program points to a live array of the stated length, which the kernel only reads.
    let installed =
        unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const filter) };
    match installed {
        -1 => Err(std::io::Error::last_os_error()).step("installing a system call filter (seccomp)"),
        listener => Ok(listener as libc::c_int),
    }
}
