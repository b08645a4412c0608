//! Whether the system gives this process what it takes to begin: a few threads and open files. What is refused later ends
//! the program with a plain word too, and not with a panic of a library.

use std::fs::File;
use std::sync::mpsc;
use std::thread;

use anyhow::{Context as _, anyhow};

use crate::exit::Exit;
use crate::limits::{FILES_MIN, STACK_BYTES};
use crate::output;

/// Threads that every command may need at a time, beside those that agents run on.
const THREADS_BESIDE: usize = 6;
/// How libraries begin when they cannot have a thread or a file.
const REFUSALS: [&str; 4] = [
    "OS can't spawn worker thread",
    "failed to spawn thread",
    "failed to create UnixStream",
    "Too many open files",
];

/// Tries to have them all at once, and lets go of them.
pub(crate) fn look(workers: usize) -> anyhow::Result<()> {
    let threads_min = workers + THREADS_BESIDE;
    let files = (0..FILES_MIN).map(|_| File::open("/dev/null")).collect::<Result<Vec<_>, _>>();
    let files = files.with_context(|| {
        format!("fewer than {FILES_MIN} files can be opened at a time; raise the limit (ulimit -n)")
    });
    if cfg!(unix) {
        files?;
    }
    let (hold, held) = mpsc::channel::<()>();
    let held = std::sync::Arc::new(std::sync::Mutex::new(held));
    let mut threads = Vec::new();
    let mut refused = None;
    for _ in 0..threads_min {
        let held = std::sync::Arc::clone(&held);
        let wait = move || drop(held.lock().map(|held| held.recv()));
        match thread::Builder::new().stack_size(STACK_BYTES).spawn(wait) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                refused = Some(error);
                break;
            }
        }
    }
    drop(hold);
    threads.into_iter().for_each(|thread| drop(thread.join()));
    match refused {
        None => Ok(()),
        Some(error) => Err(anyhow!(error).context(format!(
            "fewer than {threads_min} threads can be started; end other programs, or raise the limit (ulimit -u, \
             ulimit -v, or that of the container)"
        ))),
    }
}

/// From here on a thread or file that a library cannot have ends the program with that as the reason.
pub(crate) fn end_plainly_when_refused() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let text = panic.payload_as_str().unwrap_or_default();
        if !REFUSALS.iter().any(|refusal| text.contains(refusal)) {
            return usual(panic);
        }
        output::complain(&anyhow!(
            "the system refuses what it takes to go on: {text}; what is on record stays, see: posse sessions list"
        ));
        std::process::exit(Exit::Failed.code().into());
    }));
}
