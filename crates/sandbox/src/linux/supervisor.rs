//! The process that confines: this very program, started again under another name.
//!
//! It is given the command's streams and a plan over its line. It stays outside of all namespaces, so that it can make placeholders before the command and remove them after it,
//! whatever became of the command or of the process that asked. It ends everything as soon as its line is cut.

use std::{
    ffi::CStr,
    io::{Read, Write},
    os::{
        fd::{FromRawFd, OwnedFd, RawFd},
        unix::net::UnixStream,
    },
    path::PathBuf,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Pid, PidfdFlags, Signal, WaitOptions, kill_process, pidfd_open, waitpid},
};

use super::{
    FailedStep, NamedStep,
    cgroup::Cgroup,
    handing::take_over,
    inside,
    placeholders::Placeholders,
    plan::{Plan, PlanMessage},
    recover::{Inside, Lost},
    replaced::CoveredNames,
};
use crate::group::TERMINATE;

/// The name under which this program confines instead of doing what it usually does.
pub(crate) const NAME: &str = "posse-confine";

/// Exit code of a set-up that failed; the reason went over the line.
const FAILED: i32 = 125;

unsafe extern "C" {
    /// The name a program was started by; set by the C library before anything of ours runs.
    static program_invocation_name: *const libc::c_char;
}

/// Runs before `main` of every program that this crate is part of, so that none has to call anything.
#[used]
#[unsafe(link_section = ".init_array")]
static ENTRY: extern "C" fn() = confine_if_asked;

/// The entry, for whoever wants to make sure that it is linked.
pub(crate) fn entry() -> extern "C" fn() {
    ENTRY
}

extern "C" fn confine_if_asked() {
    // SAFETY: the C library has set it to a string that lives as long as the process.
    let name = unsafe {
        if program_invocation_name.is_null() {
            return;
        }
        CStr::from_ptr(program_invocation_name)
    };
    if name.to_bytes() == NAME.as_bytes() {
        let code = line_from_arguments().map_or(FAILED, |line| confine(&line));
        // SAFETY: ends the process at once; `main` and what it would need were never begun.
        unsafe { libc::_exit(code) }
    }
}

/// The argument is the number of the line. It is read from the kernel, because not every C library has arguments for us
/// this early.
fn line_from_arguments() -> Option<UnixStream> {
    let words = std::fs::read("/proc/self/cmdline").ok()?;
    let number = std::str::from_utf8(words.split(|byte| *byte == 0).nth(1)?).ok()?;
    let number: RawFd = number.parse().ok().filter(|number| *number > 2)?;
    // SAFETY: asks only whether the number is an open descriptor.
    let open = unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } == 0;
    // SAFETY: it is open, and was handed to this process for this purpose alone.
    open.then(|| unsafe { UnixStream::from_raw_fd(number) })
}

fn confine(mut line: &UnixStream) -> i32 {
    let handed = take_over(line);
    if handed.len() == 1 {
        // There is no command: it is to be closed, which takes the kernel longer than its owner can wait.
        return 0;
    }
    let begun = take_streams(handed)
        .and_then(|()| Plan::read(&mut line).step("reading the plan"))
        .and_then(|plan| supervise(line, &plan));
    match begun {
        Ok(()) => 0,
        Err(FailedStep { step, reason }) => {
            PlanMessage::Failed(step, reason).tell(line);
            FAILED
        }
    }
}

/// Takes the command's streams for its own. Whoever started this may end without ever having a command.
fn take_streams(handed: Vec<OwnedFd>) -> Result<(), FailedStep> {
    let step = "taking the command's streams";
    let handed: [OwnedFd; 3] =
        handed.try_into().map_err(|_| FailedStep::new(step, "they were not handed over"))?;
    let [stdin, stdout, stderr] = &handed;
    rustix::stdio::dup2_stdin(stdin)
        .and_then(|()| rustix::stdio::dup2_stdout(stdout))
        .and_then(|()| rustix::stdio::dup2_stderr(stderr))
        .step(step)
}

fn supervise(line: &UnixStream, plan: &Plan) -> Result<(), FailedStep> {
    let mut placeholders = Placeholders::make(plan)?;
    let names = CoveredNames::watch(placeholders.folder(), &placeholders.found, plan.guard_names)?;
    // A program of ours has its limits, and is not worth the time a group takes.
    let cgroup = if plan.bare { None } else { Cgroup::make(&plan.limits).ok() };
    let started = start_inside(line, plan, &placeholders, cgroup.as_ref());
    let mut covers =
        Covers { plan, names, placeholders: &mut placeholders, inside: None, lost: Lost::default() };
    let started = started.map(|(first, inside)| {
        covers.inside = inside;
        watch(line, &mut covers, first);
    });
    let names = covers.names;
    // From here on nothing of the command is left.
    if let Some(note) = cgroup.as_ref().and_then(Cgroup::note) {
        PlanMessage::Note(note).tell(line);
    }
    let held = placeholders.remove();
    if started.is_ok() {
        // Nobody has to wait for the rest, which takes longer than most commands.
        PlanMessage::Over.tell(line);
    }
    drop((names, held, cgroup));
    started
}

/// What is covered for a command, and what it takes to cover it again.
struct Covers<'a> {
    plan: &'a Plan,
    names: CoveredNames,
    placeholders: &'a mut Placeholders,
    /// None where there is no way in: then a cover that is lost ends the command.
    inside: Option<Inside>,
    lost: Lost,
}

impl Covers<'_> {
    /// Looks at what has happened, and covers again what has lost its cover. The error is a name for which that failed.
    fn keep(&mut self) -> Result<(), PathBuf> {
        self.lost.look(&self.names, self.placeholders);
        match &self.inside {
            _ if self.lost.is_nothing() => Ok(()),
            Some(inside) => self.lost.recover(self.plan, inside, &mut self.names, self.placeholders),
            None => Err(self.lost.first()),
        }
    }

    /// How long to wait for something to happen.
    fn patience(&self) -> Option<Timespec> {
        if self.lost.is_nothing() { self.names.look_again_after() } else { Some(Timespec::default()) }
    }
}

fn start_inside(
    line: &UnixStream,
    plan: &Plan,
    placeholders: &Placeholders,
    cgroup: Option<&Cgroup>,
) -> Result<(Pid, Option<Inside>), FailedStep> {
    let (wait, mut go) = std::io::pipe().step("making a pipe")?;
    let who = inside::UserIds::of_this_process();
    let flags = libc::CLONE_NEWUSER | libc::CLONE_NEWNS | libc::CLONE_NEWPID | libc::SIGCHLD;
    // SAFETY: without a stack of its own the child is a fork, and this process has one thread.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
    if pid == 0 {
        drop(go);
        // SAFETY: ends the process without anything of the parent's being run twice.
        unsafe { libc::_exit(inside::run(line, plan, placeholders, who, cgroup, wait)) }
    }
    // Less than none would be all processes, for whoever ends it.
    let pid = i32::try_from(pid.max(0)).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(std::io::Error::last_os_error);
    let pid = pid.step("making user, mount and process namespaces")?;
    // The command's streams are not ours to hold open.
    super::release_streams();
    // Before it hides itself.
    let inside = Inside::of(pid).ok();
    let _ = go.write_all(b"g");
    Ok((pid, inside))
}

/// Waits for the end of process 1, passing on what is asked for over the line.
fn watch(line: &UnixStream, covers: &mut Covers<'_>, first: Pid) {
    // Process 1 goes when the line is cut or a cover is lost for good, and also where it cannot be watched.
    let until = until_over(line, covers, first);
    if !matches!(until, Until::Ended) {
        let _ = kill_process(first, Signal::KILL);
    }
    if let Until::Replaced(path) = until {
        let name = path.strip_prefix(covers.plan.workspace()).unwrap_or(&path).display();
        let note = format!(
            "stopped: {name} was replaced from outside while the command ran, \
             so it could not be protected any longer; run it again"
        );
        PlanMessage::Note(note).tell(line);
    }
    while matches!(waitpid(Some(first), WaitOptions::empty()), Err(Errno::INTR)) {}
}

/// What ends a watch.
enum Until {
    /// Process 1 has ended by itself.
    Ended,
    /// The line was cut, or something cannot be watched.
    Cut,
    /// This name is not what was covered any more, and could not be covered again.
    Replaced(PathBuf),
}

fn until_over(mut line: &UnixStream, covers: &mut Covers<'_>, first: Pid) -> Until {
    let Ok(watched) = pidfd_open(first, PidfdFlags::empty()) else { return Until::Cut };
    loop {
        let patience = covers.patience();
        let mut all = vec![PollFd::new(&watched, PollFlags::IN), PollFd::new(line, PollFlags::IN)];
        let watches = covers.names.watches();
        all.extend(watches.iter().map(|watches| PollFd::new(watches, PollFlags::IN)));
        match poll(&mut all, patience.as_ref()) {
            Err(Errno::INTR) => continue,
            Err(_) => return Until::Cut,
            Ok(_) => {}
        }
        let (ended, asked) = (!all[0].revents().is_empty(), !all[1].revents().is_empty());
        if ended {
            return Until::Ended;
        }
        if let Err(path) = covers.keep() {
            return Until::Replaced(path);
        }
        if !asked {
            continue;
        }
        let mut word = [0];
        match line.read(&mut word) {
            Ok(1) if word[0] == TERMINATE => {
                let _ = kill_process(first, Signal::TERM);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            _ => return Until::Cut,
        }
    }
}
