//! One connection from its first line to its last.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use posse_api::{BoundedLine, BoundedLines};
use posse_setup::{Paths, Wishes};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Semaphore;

use crate::dispatch;
use crate::host::AcpHost;
use crate::limits::{FLUSH_MS_MAX, LEAVE_MS_MAX, LINE_BYTES_MAX, REQUESTS_MAX};
use crate::rpc::{BadMessage, Incoming, read};

/// What a connection begins with.
pub struct AcpStart {
    /// Where the person's files are.
    pub paths: Arc<Paths>,
    /// What counts for every session, unless the client says otherwise.
    pub wishes: Wishes,
    /// The version of Posse.
    pub version: String,
}

/// Serves the program that started this process, over standard input and output.
pub async fn serve_stdio(start: AcpStart, stop: impl Future<Output = ()>) -> io::Result<()> {
    serve(start, tokio::io::stdin(), tokio::io::stdout(), stop).await
}

/// Serves a client until it closes its side, or until `stop` is done. Sessions at work are then left to be resumed, and everything
/// is on record.
pub async fn serve(
    start: AcpStart,
    input: impl AsyncRead + Unpin,
    output: impl AsyncWrite + Unpin + Send + 'static,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let host = Arc::new(AcpHost::new(start.paths, start.wishes, start.version));
    let client = Arc::clone(&host.client);
    let writing = tokio::spawn(async move { client.outbox.write_all(output).await });
    let read = tokio::select! {
        read = read_all(&host, input) => read,
        () = stop => Ok(()),
    };
    leave(&host).await;
    host.client.outbox.close();
    let _ = tokio::time::timeout(Duration::from_millis(FLUSH_MS_MAX), writing).await;
    if let Some(listening) = host.take_listening() {
        listening.close().await;
    }
    if let Some(engine) = host.opened_engine() {
        engine.leave();
    }
    read
}

/// Takes in everything that the client says.
async fn read_all(host: &Arc<AcpHost>, input: impl AsyncRead + Unpin) -> io::Result<()> {
    let mut lines = BoundedLines::new(input, LINE_BYTES_MAX);
    let places = Arc::new(Semaphore::new(REQUESTS_MAX));
    while let Some(line) = lines.next().await? {
        let message = match line {
            BoundedLine::Whole(line) => read(&line),
            BoundedLine::TooLong => {
                let why = format!("a line has at most {LINE_BYTES_MAX} bytes; this one was passed over");
                Err(BadMessage::not_json(why))
            }
        };
        match message {
            Ok(None) => {}
            Ok(Some(Incoming::Request { id, method, params })) => {
                // A client that does not read its answers gets no more of them.
                host.client.outbox.roomy().await;
                let Ok(place) = Arc::clone(&places).acquire_owned().await else { return Ok(()) };
                dispatch::request(host, id, &method, params, place).await;
            }
            Ok(Some(Incoming::Notification { method, params })) => {
                dispatch::notification(host, &method, params);
            }
            Ok(Some(Incoming::Response { id, outcome })) => host.client.take_answer(&id, outcome),
            Err(bad) => {
                host.client.outbox.roomy().await;
                host.client.answer(bad.id, Err(bad.error));
            }
        }
    }
    Ok(())
}

/// Lets go of all sessions: those that rest end, those at work can be resumed.
async fn leave(host: &AcpHost) {
    let live = host.all().iter().filter_map(|session| session.live()).collect::<Vec<_>>();
    live.iter().for_each(|live| live.leave.cancel());
    let over = async {
        for live in &live {
            live.over.cancelled().await;
        }
    };
    // What waits for somebody who does not read must not hold up the end.
    let abandon = async {
        tokio::time::sleep(Duration::from_millis(FLUSH_MS_MAX)).await;
        host.client.outbox.abandon();
        std::future::pending::<()>().await;
    };
    let patience = tokio::time::sleep(Duration::from_millis(LEAVE_MS_MAX));
    tokio::select! {
        () = over => {}
        () = abandon => {}
        () = patience => tracing::warn!("a session did not end in time; the next process finds it interrupted"),
    }
}
