//! The filter that has the kernel ask: which calls, and with which flags. A second one beside the refusals of `seccomp.rs`,
//! which go before it.

use std::os::fd::{FromRawFd, OwnedFd};

use libc::sock_filter;

use super::{
    super::{
        FailedStep,
        seccomp::{self, answer, argument_at, error, rule, unless},
    },
    calls::{CALLS, Does, UNKNOWN_FROM, WRITES},
};
use crate::Level;

const ASK: u32 = libc::SECCOMP_RET_USER_NOTIF;

/// What is asked at a level. Where nothing of what a command changes remains, only who it connects to.
fn program(level: Level) -> Vec<sock_filter> {
    let mut all = vec![seccomp::load_number()];
    all.extend([unless(libc::BPF_JGE, UNKNOWN_FROM as u32, 1), answer(error(libc::ENOSYS))]);
    all.extend(rule(libc::SYS_connect, &[answer(ASK)]));
    if level == Level::Full {
        all.extend(rule(libc::SYS_bind, &[answer(ASK)]));
        // Whoever makes files for another has to know.
        all.extend(rule(libc::SYS_umask, &[answer(ASK)]));
        for call in CALLS {
            match call.does {
                Does::Opens(flags) => {
                    let body = [
                        seccomp::load(argument_at(flags as u32)),
                        unless(libc::BPF_JSET, WRITES.cast_unsigned(), 1),
                        answer(ASK),
                        answer(libc::SECCOMP_RET_ALLOW),
                    ];
                    all.extend(rule(call.number, &body));
                }
                _ => all.extend(rule(call.number, &[answer(ASK)])),
            }
        }
    }
    all.push(answer(libc::SECCOMP_RET_ALLOW));
    all
}

/// Without a listener there are no Unix sockets that could be connected.
fn without() -> Vec<sock_filter> {
    let body = [
        seccomp::load(argument_at(0)),
        unless(libc::BPF_JEQ, libc::AF_UNIX.cast_unsigned(), 1),
        answer(error(libc::EACCES)),
        answer(libc::SECCOMP_RET_ALLOW),
    ];
    let mut all = vec![seccomp::load_number()];
    all.extend(rule(libc::SYS_socket, &body));
    all.push(answer(libc::SECCOMP_RET_ALLOW));
    all
}

/// Installs the filter for this process and all it starts; the listener is to be handed to process 1. None where the kernel
/// has none for us, as within another that listens.
pub(crate) fn install(level: Level) -> Result<Option<OwnedFd>, FailedStep> {
    // A caller that is being answered is then interrupted by nothing but its end. Since Linux 5.19.
    let patient = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let asked = program(level);
    for flags in [patient, libc::SECCOMP_FILTER_FLAG_NEW_LISTENER] {
        if let Ok(listener) = seccomp::apply(&asked, flags) {
            // SAFETY: the kernel has just made it for this process.
            return Ok(Some(unsafe { OwnedFd::from_raw_fd(listener) }));
        }
    }
    seccomp::apply(&without(), 0).map(|_| None)
}
