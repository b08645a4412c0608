//! Process 1 of a confinement: makes the namespaces and the view, starts the command, reaps, and ends with it.
//!
//! When process 1 ends, the kernel ends every process of its namespace, however far it has forked away.

use std::{
    io::{PipeReader, Read},
    mem::MaybeUninit,
    os::unix::net::UnixStream,
    ptr,
    time::{Duration, Instant},
};

use rustix::{
    process::{Pid, Signal, WaitOptions, WaitStatus, set_parent_process_death_signal, wait},
    thread::{UnshareFlags, unshare_unsafe},
};

use super::{
    Failed, Step,
    cgroup::Cgroup,
    last_steps, mounts,
    placeholders::Placeholders,
    plan::{Message, Plan},
    privileges,
    view::View,
};
use crate::limits;

/// Sets everything up and runs the command. Returns the exit code of process 1, which nobody reads.
pub(crate) fn run(
    line: &UnixStream,
    plan: &Plan,
    placeholders: &Placeholders,
    who: Identity,
    cgroup: Option<&Cgroup>,
    supervisor: PipeReader,
) -> i32 {
    let begun = bind_to(supervisor).and_then(|()| {
        // Best effort, as the whole cgroup is: limits on each process hold without it.
        let in_cgroup = cgroup.is_some_and(|cgroup| cgroup.enter().is_ok());
        privileges::first_to_go();
        begin(line, plan, placeholders, who, in_cgroup)
    });
    match begun {
        Ok(command) => {
            tend(line, command);
            0
        }
        Err(Failed { step, reason }) => {
            Message::Failed(step, reason).tell(line);
            1
        }
    }
}

/// Lives no longer than its supervisor, which may have died before this was asked for: then its pipe is empty.
fn bind_to(mut supervisor: PipeReader) -> Result<(), Failed> {
    let step = "binding its life to its supervisor's";
    set_parent_process_death_signal(Some(Signal::KILL)).step(step)?;
    supervisor.read_exact(&mut [0]).step(step)
}

fn begin(
    line: &UnixStream,
    plan: &Plan,
    placeholders: &Placeholders,
    who: Identity,
    in_cgroup: bool,
) -> Result<Pid, Failed> {
    who.map()?;
    let mut view = View::new(plan, placeholders)?;
    unshare_rest(plan.network)?;
    if !plan.network {
        loopback_up().step("starting the loopback network")?;
    }
    mounts::build(&mut view, plan)?;
    view.notes.drain(..).for_each(|note| Message::Note(note).tell(line));
    // Nobody in there may look into this process; a program that is run afterwards can be looked into again.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .step("hiding its memory")?;
    block_signals().step("blocking signals")?;
    let (mut ran, held) = std::io::pipe().step("making a pipe")?;
    // SAFETY: this process has one thread; the child goes on to exec or `_exit`.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        unblock_signals();
        last_steps::run(line, plan, &view, in_cgroup);
    }
    let command = Pid::from_raw(pid.max(0)).ok_or_else(std::io::Error::last_os_error).step("forking")?;
    drop(held);
    privileges::drop_all()?;
    // Its end of the pipe is closed by exec, or by its death, of which it will have told the reason.
    let _ = ran.read(&mut [0]);
    Message::Started.tell(line);
    super::release_streams();
    Ok(command)
}

/// Who this is outside, where it has a name.
#[derive(Clone, Copy)]
pub(crate) struct Identity {
    uid: u32,
    gid: u32,
}

impl Identity {
    /// To be asked outside of the namespace.
    pub(crate) fn of_this_process() -> Self {
        let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
        Self { uid: uid.as_raw(), gid: gid.as_raw() }
    }

    /// Maps this user and group to themselves, and nobody else.
    fn map(self) -> Result<(), Failed> {
        let Self { uid, gid } = self;
        std::fs::write("/proc/self/setgroups", "deny").step("writing setgroups")?;
        std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")).step("writing uid_map")?;
        std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")).step("writing gid_map")
    }
}

fn unshare_rest(network: bool) -> Result<(), Failed> {
    let always = UnshareFlags::NEWIPC | UnshareFlags::NEWUTS | UnshareFlags::NEWCGROUP;
    let flags = if network { always } else { always | UnshareFlags::NEWNET };
    // SAFETY: this process has one thread, and none of these flags changes its files or memory.
    unsafe { unshare_unsafe(flags) }.step("making network, IPC, host name and cgroup namespaces")
}

fn loopback_up() -> std::io::Result<()> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    use std::os::fd::AsRawFd;
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    // SAFETY: all zeros is a valid request.
    let mut request: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = libc::c_char::from_ne_bytes([*from]);
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request is a whole `ifreq` with a terminated name.
    match unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) } {
        -1 => Err(std::io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// The signals that process 1 waits for.
fn signals() -> libc::sigset_t {
    // SAFETY: a set is plain data, filled in by the first call.
    unsafe {
        let mut set = MaybeUninit::zeroed().assume_init();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigaddset(&raw mut set, libc::SIGTERM);
        set
    }
}

fn block_signals() -> std::io::Result<()> {
    // SAFETY: the set is valid, and the old one is not asked for.
    match unsafe { libc::sigprocmask(libc::SIG_BLOCK, &signals(), ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// What is blocked stays so through exec, so the command must not start with it.
fn unblock_signals() {
    // SAFETY: the set is valid, and the old one is not asked for. It cannot fail with valid arguments.
    unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &signals(), ptr::null_mut()) };
}

/// Reaps until the command has ended and the rest has had a moment to write what it had to write.
fn tend(line: &UnixStream, command: Pid) {
    let mut rest_until = None;
    loop {
        match reap(line, command) {
            Reaped::Nobody => return,
            Reaped::Command => {
                let moment = Duration::from_millis(limits::DRAIN_MS);
                rest_until.get_or_insert_with(|| Instant::now() + moment);
                continue;
            }
            Reaped::Waiting => {}
        }
        let patience = match rest_until {
            Some(end) => end.saturating_duration_since(Instant::now()),
            None => Duration::from_secs(3600),
        };
        if patience.is_zero() {
            return;
        }
        if next_signal(patience) == libc::SIGTERM {
            // SAFETY: to every process that this one can see, but not to itself.
            unsafe { libc::kill(-1, libc::SIGTERM) };
        }
    }
}

enum Reaped {
    /// The command; its end was told.
    Command,
    /// Nobody yet.
    Waiting,
    /// There is nobody left.
    Nobody,
}

fn reap(line: &UnixStream, command: Pid) -> Reaped {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((pid, status))) if pid == command => {
                tell_end(line, status);
                return Reaped::Command;
            }
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return Reaped::Waiting,
            Err(_) => return Reaped::Nobody,
        }
    }
}

fn tell_end(line: &UnixStream, status: WaitStatus) {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Message::Code(code).tell(line),
        (None, Some(signal)) => Message::Signal(signal).tell(line),
        (None, None) => {}
    }
}

fn next_signal(patience: Duration) -> libc::c_int {
    let limit =
        libc::timespec { tv_sec: patience.as_secs().cast_signed(), tv_nsec: patience.subsec_nanos().into() };
    // SAFETY: set and limit are valid; details of the signal are not asked for.
    unsafe { libc::sigtimedwait(&signals(), ptr::null_mut(), &raw const limit) }
}
