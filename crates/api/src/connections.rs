//! Serves one connection after another, whatever it runs over: how many, how long, how large.

use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::sync::CancellationToken;

use crate::exchange::PROBLEM;
use crate::failure::{CallError, CallErrorKind, ProblemDocument};
use crate::limits::{BUFFER_BYTES_MAX, CLOSING_MS_MAX, HEADERS_MAX, STALLED_MS_MAX};
use crate::patience::Patient;

/// Serves one connection until either side ends.
pub(crate) async fn converse<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    router: Router,
    head_ms_max: u64,
    place: OwnedSemaphorePermit,
    stop: CancellationToken,
) {
    let stream = Patient::new(stream, Duration::from_millis(STALLED_MS_MAX));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(head_ms_max))
        .max_headers(HEADERS_MAX)
        .max_buf_size(BUFFER_BYTES_MAX);
    let serving = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut serving = std::pin::pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = stop.cancelled() => {
            serving.as_mut().graceful_shutdown();
            let closing = Duration::from_millis(CLOSING_MS_MAX);
            tokio::time::timeout(closing, serving).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
    drop(place);
}

/// What one connection too many is told.
pub(crate) fn too_many(connections_max: usize) -> String {
    let message = format!("{connections_max} others are connected already; try again.");
    let problem = ProblemDocument::from(CallError::new(CallErrorKind::TooMany, message));
    let status = CallErrorKind::TooMany.status();
    let body = serde_json::to_string(&problem).unwrap_or_default();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {PROBLEM}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}
