//! Process 1 of a confinement: makes the namespaces and the view, starts the command, reaps, answers its calls, and ends
//! with it.
//!
//! When process 1 ends, the kernel ends every process of its namespace, however far it has forked away.

use std::{
    io::{PipeReader, Read},
    mem::MaybeUninit,
    os::{
        fd::{FromRawFd, OwnedFd},
        unix::net::UnixStream,
    },
    ptr,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, Signal, WaitOptions, WaitStatus, set_parent_process_death_signal, wait},
    thread::{CapabilitySet, UnshareFlags, unshare_unsafe},
};

use super::{
    FailedStep, NamedStep, bare,
    cgroup::Cgroup,
    handing::take_over,
    last_steps,
    listener::Watch,
    mounts,
    placeholders::Placeholders,
    plan::{Plan, PlanMessage},
    privileges,
    view::FileView,
};
use crate::limits;

/// Sets everything up and runs the command. Returns the exit code of process 1, which nobody reads.
pub(crate) fn run(
    line: &UnixStream,
    plan: &Plan,
    placeholders: &Placeholders,
    who: UserIds,
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
        Ok(begun) => {
            tend(line, begun);
            0
        }
        Err(FailedStep { step, reason }) => {
            PlanMessage::Failed(step, reason).tell(line);
            1
        }
    }
}

/// Lives no longer than its supervisor, which may have died before this was asked for: then its pipe is empty.
fn bind_to(mut supervisor: PipeReader) -> Result<(), FailedStep> {
    let step = "binding its life to its supervisor's";
    set_parent_process_death_signal(Some(Signal::KILL)).step(step)?;
    supervisor.read_exact(&mut [0]).step(step)
}

/// A command that runs, and what process 1 needs for it.
struct Begun {
    command: Pid,
    signals: OwnedFd,
    watch: Watch,
}

fn begin(
    line: &UnixStream,
    plan: &Plan,
    placeholders: &Placeholders,
    who: UserIds,
    in_cgroup: bool,
) -> Result<Begun, FailedStep> {
    who.map()?;
    let mut view = if plan.bare { bare::view(plan)? } else { FileView::new(plan, placeholders)? };
    unshare_rest(plan.network)?;
    if !plan.network && !plan.bare {
        loopback_up().step("starting the loopback network")?;
    }
    let own_mounts = mounts::build(&mut view, plan)?;
    view.notes.drain(..).for_each(|note| PlanMessage::Note(note).tell(line));
    // Nobody in there may look into this process; a program that is run afterwards can be looked into again.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .step("hiding its memory")?;
    let signals = block_signals().step("blocking signals")?;
    let (mut ran, held) = UnixStream::pair().step("making a pair of sockets")?;
    // SAFETY: this process has one thread; the child goes on to exec or `_exit`.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        unblock_signals();
        last_steps::run(line, &held, plan, &view, in_cgroup);
    }
    let command = Pid::from_raw(pid.max(0)).ok_or_else(std::io::Error::last_os_error).step("forking")?;
    drop(held);
    // To look into those who make calls, even where they hide; they are in the same namespace and below this process.
    privileges::keep_only(CapabilitySet::SYS_PTRACE)?;
    let listener = take_over(&ran).pop();
    // Its end is closed by exec, or by its death, of which it will have told the reason.
    let _ = ran.read(&mut [0]);
    PlanMessage::Started.tell(line);
    super::release_streams();
    let watch = Watch::new(plan, &view.writable, own_mounts, listener, command);
    Ok(Begun { command, signals, watch })
}

/// Who this is outside, where it has a name.
#[derive(Clone, Copy)]
pub(crate) struct UserIds {
    uid: u32,
    gid: u32,
}

impl UserIds {
    /// To be asked outside of the namespace.
    pub(crate) fn of_this_process() -> Self {
        let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
        Self { uid: uid.as_raw(), gid: gid.as_raw() }
    }

    /// Maps this user and group to themselves, and nobody else.
    fn map(self) -> Result<(), FailedStep> {
        let Self { uid, gid } = self;
        std::fs::write("/proc/self/setgroups", "deny").step("writing setgroups")?;
        std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")).step("writing uid_map")?;
        std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")).step("writing gid_map")
    }
}

fn unshare_rest(network: bool) -> Result<(), FailedStep> {
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

/// Blocks them; they are to be read from a descriptor.
fn block_signals() -> std::io::Result<OwnedFd> {
    // SAFETY: the set is valid, the old one is not asked for, and a new descriptor is owned by nobody else.
    unsafe {
        if libc::sigprocmask(libc::SIG_BLOCK, &signals(), ptr::null_mut()) != 0 {
            return Err(std::io::Error::last_os_error());
        }
        match libc::signalfd(-1, &signals(), libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(std::io::Error::last_os_error()),
            made => Ok(OwnedFd::from_raw_fd(made)),
        }
    }
}

/// What is blocked stays so through exec, so the command must not start with it.
fn unblock_signals() {
    // SAFETY: the set is valid, and the old one is not asked for. It cannot fail with valid arguments.
    unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &signals(), ptr::null_mut()) };
}

/// Reaps until the command has ended and the rest has had a moment to write what it had to write. Answers calls meanwhile.
fn tend(line: &UnixStream, Begun { command, signals, mut watch }: Begun) {
    let mut rest_until = None;
    let mut look = true;
    loop {
        if look {
            match reap(line, command) {
                Reaped::Nobody => break,
                Reaped::Command => {
                    let moment = Duration::from_millis(limits::DRAIN_MS);
                    rest_until.get_or_insert_with(|| Instant::now() + moment);
                    continue;
                }
                Reaped::Waiting => {}
            }
        }
        let patience = rest_until.map(|end: Instant| end.saturating_duration_since(Instant::now()));
        if patience.is_some_and(|patience| patience.is_zero()) {
            break;
        }
        let came = next(&signals, &mut watch, line, patience);
        look = came.is_some();
        if came == Some(libc::SIGTERM) {
            // SAFETY: to every process that this one can see, but not to itself.
            unsafe { libc::kill(-1, libc::SIGTERM) };
            // There may be no time for it later: on a busy machine this process is killed before all others have ended.
            watch.tell(line);
        }
    }
    watch.end(line);
}

/// Waits for a signal, a call or the end of patience. Calls are answered here; a signal is returned.
fn next(
    signals: &OwnedFd,
    watch: &mut Watch,
    line: &UnixStream,
    patience: Option<Duration>,
) -> Option<libc::c_int> {
    // What was touched is told when the command comes to rest, so that it is known even if it is killed.
    let rest = watch.has_news().then_some(Duration::from_millis(limits::TOUCHED_REST_MS));
    let patience = [patience, rest].into_iter().flatten().min();
    let limit = patience.and_then(|patience| Timespec::try_from(patience).ok());
    let calls = watch.waits();
    let mut all = vec![PollFd::new(signals, PollFlags::IN)];
    all.extend(calls.iter().map(|calls| PollFd::new(calls, PollFlags::IN)));
    let ready = poll(&mut all, limit.as_ref());
    let [of_signals, of_calls] = [0, 1].map(|at| all.get(at).map_or(PollFlags::empty(), PollFd::revents));
    drop(all);
    if ready == Ok(0) {
        watch.tell(line);
    } else if of_calls.contains(PollFlags::IN) {
        watch.serve(line);
    } else if !of_calls.is_empty() {
        watch.nobody_left();
    }
    if of_signals.is_empty() { None } else { signal_from(signals) }
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
        (Some(code), _) => PlanMessage::Code(code).tell(line),
        (None, Some(signal)) => PlanMessage::Signal(signal).tell(line),
        (None, None) => {}
    }
}

fn signal_from(signals: &OwnedFd) -> Option<libc::c_int> {
    let mut told = [0; size_of::<libc::signalfd_siginfo>()];
    let read = rustix::io::read(signals, &mut told[..]).ok()?;
    let number = told.first_chunk().filter(|_| read == told.len())?;
    libc::c_int::try_from(u32::from_ne_bytes(*number)).ok()
}
