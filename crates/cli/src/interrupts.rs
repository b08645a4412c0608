//! Ctrl-C and the requests to end that a system sends. They are watched on a task of their own, so that they work
//! even while the display waits for a reader that does not read.

use tokio::sync::mpsc;

use crate::exit::Exit;

/// The first signal cancels and is told, the second ends the program at once.
pub(crate) fn watch(cancel: impl FnOnce() + Send + 'static) -> std::io::Result<mpsc::Receiver<()>> {
    let mut signals = Signals::new()?;
    let (told, stopping) = mpsc::channel(1);
    tokio::spawn(async move {
        signals.next().await;
        cancel();
        let _ = told.try_send(());
        signals.next().await;
        std::process::exit(Exit::Cancelled.code().into());
    });
    Ok(stopping)
}

#[cfg(unix)]
struct Signals([tokio::signal::unix::Signal; 3]);

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        ]))
    }

    async fn next(&mut self) {
        let Self([interrupt, terminate, hangup]) = self;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
