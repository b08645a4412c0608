//! Starts child processes from one thread that lives as long as the process.
//!
//! The kernel ties "kill me when my parent dies" to the parent's *thread*. A runtime's threads come and go, so a child
//! started from one of them could be killed in the middle of its work. Hence one thread that never ends.

#![allow(clippy::disallowed_types)] // this is the crate the ban points to

use std::{
    io,
    os::unix::net::UnixStream,
    sync::{OnceLock, mpsc},
    thread,
};

use tokio::{process::Command, runtime::Handle, sync::oneshot};

use crate::group::RunningChild;

struct CommandHandle {
    command: Command,
    leash: Option<UnixStream>,
    runtime: Handle,
    reply: oneshot::Sender<io::Result<RunningChild>>,
}

/// Starts `command`, held by its group or by the leash. If the caller goes away meanwhile, it is ended at once.
pub(crate) async fn spawn(command: Command, leash: Option<UnixStream>) -> io::Result<RunningChild> {
    let (reply, answer) = oneshot::channel();
    let gone = || io::Error::other("the thread that starts processes is gone");
    let job = CommandHandle { command, leash, runtime: Handle::current(), reply };
    thread_of_spawner()?.send(job).map_err(|_| gone())?;
    answer.await.map_err(|_| gone())?
}

fn thread_of_spawner() -> io::Result<mpsc::Sender<CommandHandle>> {
    static SPAWNER: OnceLock<mpsc::Sender<CommandHandle>> = OnceLock::new();
    if let Some(jobs) = SPAWNER.get() {
        return Ok(jobs.clone());
    }
    let (jobs, inbox) = mpsc::channel();
    thread::Builder::new().name("posse-spawner".into()).spawn(move || serve(&inbox))?;
    // Of two first callers one wins; the other's thread ends with its channel.
    Ok(SPAWNER.get_or_init(|| jobs).clone())
}

fn serve(inbox: &mpsc::Receiver<CommandHandle>) {
    while let Ok(mut job) = inbox.recv() {
        let _in_runtime = job.runtime.enter();
        // If nobody waits for it any more it is dropped, here or in the channel, and ends with all its group.
        let started = job.command.spawn().and_then(|child| RunningChild::new(child, job.leash));
        let _ = job.reply.send(started);
    }
}
