//! A confined command gains nothing and reaches nobody outside (promise X3).

use posse_sandbox::Level;

use crate::confined_said;

const PYTHON: &str = "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\n\
     def call(*args):\n r = libc.syscall(*args)\n print('did' if r >= 0 else 'refused', os.strerror(ctypes.get_errno()))\n";

/// System calls by number, as this machine has them, with arguments.
fn calls() -> Vec<(&'static str, String)> {
    let by_number =
        |name, number: libc::c_long, arguments: &str| (name, format!("call({number}, {arguments})"));
    vec![
        by_number("ptrace a process", libc::SYS_ptrace, "16, os.getppid(), 0, 0"),
        by_number("ptrace itself", libc::SYS_ptrace, "0, 0, 0, 0"),
        by_number("read another's memory", libc::SYS_process_vm_readv, "1, 0, 0, 0, 0, 0"),
        by_number("write another's memory", libc::SYS_process_vm_writev, "1, 0, 0, 0, 0, 0"),
        by_number("new user namespace", libc::SYS_unshare, "0x10000000"),
        by_number("new mount namespace", libc::SYS_unshare, "0x20000"),
        by_number("new network namespace", libc::SYS_unshare, "0x40000000"),
        by_number("clone into a user namespace", libc::SYS_clone, "0x10000011, 0, 0, 0, 0"),
        by_number("clone3", libc::SYS_clone3, "0, 0"),
        by_number("join a namespace", libc::SYS_setns, "0, 0"),
        by_number("mount", libc::SYS_mount, "b'none', b'/tmp', b'tmpfs', 0, 0"),
        by_number("unmount", libc::SYS_umount2, "b'/tmp', 2"),
        by_number("remount", libc::SYS_mount, "b'none', b'/', b'', 0x1020, 0"),
        by_number("move a mount", libc::SYS_move_mount, "0, b'/', 0, b'/tmp', 0"),
        by_number("open a tree", libc::SYS_open_tree, "-100, b'/', 1"),
        by_number("new file system", libc::SYS_fsopen, "b'tmpfs', 0"),
        by_number("mount attributes", libc::SYS_mount_setattr, "-100, b'/', 0, 0, 0"),
        by_number("pivot_root", libc::SYS_pivot_root, "b'/', b'/tmp'"),
        by_number("chroot", libc::SYS_chroot, "b'/tmp'"),
        by_number("keyctl", libc::SYS_keyctl, "0, -3, 1"),
        by_number("add_key", libc::SYS_add_key, "b'user', b'x', b'y', 1, -3"),
        by_number("request_key", libc::SYS_request_key, "b'user', b'x', 0, -3"),
        by_number("bpf", libc::SYS_bpf, "0, 0, 0"),
        by_number("perf", libc::SYS_perf_event_open, "0, 0, -1, -1, 0"),
        by_number("userfaultfd", libc::SYS_userfaultfd, "1"),
        by_number("io_uring", libc::SYS_io_uring_setup, "8, ctypes.create_string_buffer(120)"),
        by_number("load a module", libc::SYS_finit_module, "0, b'', 0"),
        by_number("kexec", libc::SYS_kexec_load, "0, 0, 0, 0"),
        by_number("reboot", libc::SYS_reboot, "0xfee1dead, 672274793, 0, 0"),
        by_number("swap", libc::SYS_swapoff, "b'/swap'"),
        by_number("acct", libc::SYS_acct, "b'/tmp/x'"),
        by_number("open by handle", libc::SYS_open_by_handle_at, "0, 0, 0"),
        by_number("read the kernel's log", libc::SYS_syslog, "3, ctypes.create_string_buffer(99), 99"),
        by_number("type into a terminal", libc::SYS_ioctl, "0, 0x5412, b'x'"),
        by_number(
            "type into a terminal, high bits set",
            libc::SYS_ioctl,
            "0, ctypes.c_ulong(0xf00005412), b'x'",
        ),
        by_number("raw packets", libc::SYS_socket, "17, 3, 0"),
        by_number("raw internet", libc::SYS_socket, "2, 3, 1"),
        by_number("virtual machine sockets", libc::SYS_socket, "40, 1, 0"),
        by_number("kernel crypto", libc::SYS_socket, "38, 5, 0"),
        by_number("netlink other than routes", libc::SYS_socket, "16, 3, 9"),
        by_number("set the clock", libc::SYS_clock_settime, "0, b'x' * 16"),
        by_number("set the host name", libc::SYS_sethostname, "b'x', 1"),
        by_number("become somebody else", libc::SYS_setuid, "12345"),
        by_number("make a device", libc::SYS_mknodat, "-100, b'/tmp/device', 0o20666, 0x103"),
        #[cfg(target_arch = "x86_64")]
        by_number("x32 numbers", 0x4000_0000 + 157, "0, 0, 0, 0, 0"),
    ]
}

/// What would leave files that others run as this user.
fn calls_for_set_id() -> Vec<(&'static str, String)> {
    let by_number =
        |name, number: libc::c_long, arguments: &str| (name, format!("call({number}, {arguments})"));
    vec![
        by_number("set-uid by descriptor", libc::SYS_fchmod, "os.open('set-id', 0), 0o4755"),
        by_number("set-uid by path", libc::SYS_fchmodat, "-100, b'set-id', 0o4755"),
        by_number("set-gid by path, with flags", 452, "-100, b'set-id', 0o2755, 0"),
        by_number("make a set-uid file", libc::SYS_openat, "-100, b'new', 0o102, 0o4755"),
        by_number("make an unnamed set-uid file", libc::SYS_openat, "-100, b'.', 0o20200002, 0o4755"),
        by_number("make a set-uid node", libc::SYS_mknodat, "-100, b'new', 0o104755, 0"),
        by_number(
            "make a file in a way that cannot be seen",
            libc::SYS_openat2,
            "-100, b'new', b'x' * 24, 24",
        ),
        #[cfg(target_arch = "x86_64")]
        by_number("set-uid by the old call", libc::SYS_chmod, "b'set-id', 0o4755"),
        #[cfg(target_arch = "x86_64")]
        by_number("make a set-uid file by the old call", libc::SYS_open, "b'new', 0o102, 0o4755"),
        #[cfg(target_arch = "x86_64")]
        by_number("make a set-gid file by the oldest call", libc::SYS_creat, "b'new', 0o2755"),
    ]
}

#[tokio::test]
async fn system_calls_that_reach_out_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let calls = [calls(), calls_for_set_id()].concat();
    let mut script = PYTHON.to_owned();
    calls.iter().for_each(|(_, call)| script.push_str(&format!("{call}\n")));
    std::fs::write(folder.path().join("calls.py"), script).unwrap();
    std::fs::write(folder.path().join("set-id"), "").unwrap();
    let (_, text) = confined_said(Level::Full, folder.path(), "python3 calls.py", |_| {}).await;
    let answers: Vec<&str> = text.lines().collect();
    assert_eq!(answers.len(), calls.len(), "{text}");
    for ((name, _), answer) in calls.iter().zip(answers) {
        assert!(answer.starts_with("refused"), "{name}: {answer}");
    }
}

#[tokio::test]
async fn other_modes_can_be_set() {
    let folder = tempfile::tempdir().unwrap();
    // A mode is only one where a file is made; else it may be anything.
    let script = format!(
        "{PYTHON}call({}, -100, b'.', 0o200000, 0o4755)\ncall({}, -100, b'a', 0o102, 0o644)\n",
        libc::SYS_openat,
        libc::SYS_openat
    );
    std::fs::write(folder.path().join("calls.py"), script).unwrap();
    let line = "python3 calls.py && touch b && chmod 1777 b && chmod 640 b && stat -c %a a b";
    let (_, text) = confined_said(Level::Full, folder.path(), line, |_| {}).await;
    assert_eq!(text, "did Success\ndid Success\n644\n640\n");
}

#[tokio::test]
async fn nobody_outside_is_seen_or_reached() {
    let folder = tempfile::tempdir().unwrap();
    let me = std::process::id();
    let lines = [
        format!("test -e /proc/{me}/environ"),
        format!("cat /proc/{me}/mem"),
        format!("kill -0 {me}"),
        format!("kill -9 {me}"),
        "cat /proc/1/environ | grep .".to_owned(),
        "head -c 1 /proc/1/mem".to_owned(),
        "ls /proc/1/cwd/".to_owned(),
        "ls -l /proc/1/fd/".to_owned(),
        "kill -9 -1; false".to_owned(),
        "cat /dev/tty".to_owned(),
        "sudo -n true".to_owned(),
        "su nobody -s /bin/sh -c true".to_owned(),
        "unshare -Ur true".to_owned(),
        "unshare -m true".to_owned(),
        "nsenter -t 1 -m true".to_owned(),
        "mount -t tmpfs none /tmp".to_owned(),
        "umount -l /proc".to_owned(),
        "chroot /tmp /bin/true".to_owned(),
        "echo 1 > /proc/sysrq-trigger".to_owned(),
        "echo x > /sys/kernel/uevent_helper".to_owned(),
        "mknod /tmp/d c 1 3 && cat /tmp/d".to_owned(),
        "test \"$(ls /proc | grep -c '^[0-9]')\" -gt 8".to_owned(),
    ];
    let mut tried = 0;
    for line in &lines {
        let (exit, text) = confined_said(Level::Full, folder.path(), line, |_| {}).await;
        assert_ne!(exit, posse_sandbox::CommandExit::Code(0), "{line}: {text}");
        tried += 1;
    }
    assert_eq!(tried, 22);
}
