//! Gives the terminal to a program that the person asked for, such as an editor, and waits until they have left it. It has the
//! person's rights; no agent can start it. What the terminal's modes are before and after is the caller's to say.

#![allow(clippy::disallowed_types)] // this is the crate the ban points to

use std::io;
use std::path::Path;
use std::process::ExitStatus;

use crate::PersonCommand;

/// Runs a command on our terminal, in a folder, with the person's environment and these variables beside it, and waits for its
/// end. Ctrl-C and Ctrl-\ are for the command alone until then, in the whole process. Gives back its code as a shell has it: 128
/// and the number of the signal for one that a signal ended.
pub fn on_terminal(
    command: &PersonCommand,
    folder: &Path,
    variables: &[(String, String)],
) -> io::Result<i32> {
    let mut process = command.process(folder);
    process.envs(variables.iter().cloned());
    let _ignored = signals::Ignored::here(&mut process)?;
    Ok(code_of(process.spawn()?.wait()?))
}

#[cfg(unix)]
fn code_of(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default())
}

#[cfg(not(unix))]
fn code_of(status: ExitStatus) -> i32 {
    status.code().unwrap_or(-1)
}

#[cfg(unix)]
mod signals {
    //! The signals that a terminal sends to everybody who shares it.

    use std::io;
    use std::mem::MaybeUninit;
    use std::os::unix::process::CommandExt as _;
    use std::process::Command;

    const SENT_BY_KEYS: [libc::c_int; 2] = [libc::SIGINT, libc::SIGQUIT];

    /// While it lives, this process ignores what the keys of a terminal send. What was there before comes back when it goes.
    pub(super) struct Ignored(Vec<(libc::c_int, libc::sigaction)>);

    impl Ignored {
        /// Ignores them here, and not in the process that is about to be started.
        pub(super) fn here(child: &mut Command) -> io::Result<Self> {
            let mut before = Self(Vec::new());
            for signal in SENT_BY_KEYS {
                before.0.push((signal, replaced(signal, libc::SIG_IGN)?));
            }
            // SAFETY: between fork and exec this makes two system calls, and touches no memory of others.
            unsafe {
                child.pre_exec(|| {
                    for signal in SENT_BY_KEYS {
                        replaced(signal, libc::SIG_DFL)?;
                    }
                    Ok(())
                });
            }
            Ok(before)
        }
    }

    impl Drop for Ignored {
        fn drop(&mut self) {
            for (signal, action) in &self.0 {
                // SAFETY: the action is the one that the system gave for this signal.
                unsafe { libc::sigaction(*signal, action, std::ptr::null_mut()) };
            }
        }
    }

    /// Sets what a signal does, and gives back what it did.
    fn replaced(signal: libc::c_int, handler: libc::sighandler_t) -> io::Result<libc::sigaction> {
        let mut before = MaybeUninit::<libc::sigaction>::zeroed();
        let mut now = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: an action of zeros is valid: no flags, an empty mask. Both pointers are to values that live until the call is
        // over, and the system fills in `before` where it succeeds.
        unsafe {
            (*now.as_mut_ptr()).sa_sigaction = handler;
            if libc::sigaction(signal, now.as_ptr(), before.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(before.assume_init())
        }
    }
}

#[cfg(not(unix))]
mod signals {
    //! Where there is nothing to ignore.

    pub(super) struct Ignored;

    impl Ignored {
        pub(super) fn here(_: &mut std::process::Command) -> std::io::Result<Self> {
            Ok(Self)
        }
    }
}
