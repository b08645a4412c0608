//! Listens on the socket of this process and serves whoever connects, in the background: the sessions do not wait for it,
//! and a fault here does not reach them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use posse_engine::Engine;
use tokio::net::UnixListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connections::{converse, too_many};
use crate::failure::{CallError, CallErrorKind};
use crate::limits::{ACCEPT_PAUSE_MS, CLOSING_MS_MAX, CONNECTIONS_MAX, HEAD_MS_MAX, LISTEN_AFTER_MS};
use crate::server::router;
use crate::shared::Shared;
use crate::socket;

/// A server that runs. Dropping it ends it: connections are closed and the socket is removed.
pub struct Listening {
    stop: CancellationToken,
    /// Whether it listens; an error if it cannot.
    state: watch::Receiver<Option<Result<PathBuf, CallError>>>,
    serving: Option<JoinHandle<()>>,
}

/// Begins to listen on the socket of this process, in the background. Needs a runtime.
pub fn listen(engine: &Engine) -> Listening {
    let stop = CancellationToken::new();
    let (tell, state) = watch::channel(None);
    let serving = tokio::spawn(serve(engine.clone(), stop.clone(), tell));
    Listening { stop, state, serving: Some(serving) }
}

impl Listening {
    /// Waits until others can connect. Gives back where.
    pub async fn ready(&mut self) -> Result<PathBuf, CallError> {
        let gone = || CallError::new(CallErrorKind::Internal, "The server has ended.");
        let state = self.state.wait_for(Option::is_some).await.map_err(|_| gone())?;
        state.clone().unwrap_or_else(|| Err(gone()))
    }

    /// Ends it, and waits until calls that are being carried out have their answer, for a short while.
    pub async fn close(mut self) {
        self.stop.cancel();
        if let Some(serving) = self.serving.take() {
            let _ = serving.await;
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop.cancel();
        // The process may end before the server gets to it.
        if let Some(Ok(path)) = &*self.state.borrow() {
            let _ = std::fs::remove_file(path);
        }
    }
}

async fn serve(
    engine: Engine,
    stop: CancellationToken,
    tell: watch::Sender<Option<Result<PathBuf, CallError>>>,
) {
    tokio::select! {
        () = stop.cancelled() => return,
        () = tokio::time::sleep(Duration::from_millis(LISTEN_AFTER_MS)) => {}
    }
    let bound = engine.own_process().map_err(CallError::from).and_then(|own| {
        let path = engine.socket_of(own);
        let failed =
            |error| CallError::new(CallErrorKind::Internal, format!("The socket cannot be made: {error}."));
        Ok((socket::bind(&path).map_err(failed)?, path))
    });
    let (listener, path) = match bound {
        Ok(bound) => bound,
        Err(error) => {
            tracing::warn!(%error, "other processes cannot reach the sessions of this one");
            let _ = tell.send(Some(Err(error)));
            return;
        }
    };
    let _ = tell.send(Some(Ok(path.clone())));
    let connections = TaskTracker::new();
    let shared = Arc::new(Shared::new(engine, None, stop.clone()));
    accept(&listener, &router(&shared), &connections, &stop).await;
    drop(listener);
    remove(&path);
    drop(shared);
    connections.close();
    let _ = tokio::time::timeout(Duration::from_millis(CLOSING_MS_MAX), connections.wait()).await;
}

fn remove(path: &Path) {
    if let Err(error) = std::fs::remove_file(path)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "the socket of this process could not be removed");
    }
}

/// Accepts connections until the server closes.
async fn accept(listener: &UnixListener, router: &Router, all: &TaskTracker, stop: &CancellationToken) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) if socket::is_own(&stream) => match Arc::clone(&places).try_acquire_owned() {
                Ok(place) => {
                    drop(all.spawn(converse(stream, router.clone(), HEAD_MS_MAX, place, stop.clone())))
                }
                // Without waiting for it.
                Err(_) => drop(stream.try_write(too_many(CONNECTIONS_MAX).as_bytes())),
            },
            // Somebody else's: no word to it.
            Ok(_) => tracing::warn!("a process of another user has tried to connect"),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
            }
        }
    }
}
