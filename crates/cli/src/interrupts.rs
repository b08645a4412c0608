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

/// What asks a process without a terminal to end. That a terminal is closed does not.
#[cfg(unix)]
pub(crate) struct EndSignals {
    signals: Signals,
}

#[cfg(unix)]
impl EndSignals {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self { signals: Signals::new()? })
    }

    pub(crate) async fn next(&mut self) {
        let Signals([interrupt, terminate, hangup]) = &mut self.signals;
        loop {
            tokio::select! {
                _ = interrupt.recv() => return,
                _ = terminate.recv() => return,
                _ = hangup.recv() => {}
            }
        }
    }
}

/// The same where there is only Ctrl-C.
#[cfg(not(unix))]
pub(crate) use Signals as EndSignals;

/// What asks the program to end.
pub(crate) struct Signals(#[cfg(unix)] [tokio::signal::unix::Signal; 3]);

#[cfg(unix)]
impl Signals {
    pub(crate) fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self([
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
            signal(SignalKind::hangup())?,
        ]))
    }

    pub(crate) async fn next(&mut self) {
        let Self([interrupt, terminate, hangup]) = self;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

#[cfg(not(unix))]
impl Signals {
    pub(crate) fn new() -> std::io::Result<Self> {
        Ok(Self())
    }

    pub(crate) async fn next(&mut self) {
        let _ = tokio::signal::ctrl_c().await;
    }
}
