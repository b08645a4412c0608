//! Sends requests to a collector.

use std::error::Error as _;
use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER};
use reqwest::{Client, Response, StatusCode, redirect, retry};

use crate::limits::{TRIES_MAX, TRY_AGAIN_MS, TRY_AGAIN_MS_MAX};
use crate::settings::Collector;

/// Why a request was not taken, in words.
pub(crate) struct NotTaken {
    pub(crate) why: String,
    /// How long to wait before it is worth trying again; none where it is not.
    again: Option<Duration>,
    /// What was answered, if somebody was there.
    answered: Option<StatusCode>,
}

impl NotTaken {
    /// Nothing could be sent at all.
    pub(crate) fn never(why: &str) -> Self {
        Self { why: why.to_owned(), again: None, answered: None }
    }

    /// Whether it does not know such requests.
    pub(crate) fn is_unknown_there(&self) -> bool {
        let unknown = [StatusCode::NOT_FOUND, StatusCode::METHOD_NOT_ALLOWED, StatusCode::NOT_IMPLEMENTED];
        self.answered.is_some_and(|status| unknown.contains(&status))
    }
}

/// How long a collector is waited for that does not take a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// Until it is there.
    Much,
    /// Only if it is there and says that it is busy.
    Some,
}

/// Makes the client that all requests share.
pub(crate) fn client() -> Result<Client, String> {
    // Fails if the process has chosen a provider before: that one serves as well.
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = Client::builder()
        .user_agent(concat!("posse/", env!("CARGO_PKG_VERSION")))
        // Keys go nowhere else than to where they were meant to go.
        .redirect(redirect::Policy::none())
        .retry(retry::never());
    client.build().map_err(|error| format!("no client could be made: {error}"))
}

/// Sends a request until it is taken, or there is no hope.
pub(crate) async fn send(
    client: &Client,
    collector: &Collector,
    body: Vec<u8>,
    patience: Patience,
) -> Result<(), NotTaken> {
    let body = bytes::Bytes::from(if collector.gzip { zipped(&body) } else { body });
    let mut tries = 1;
    loop {
        let failed = match once(client, collector, body.clone()).await {
            Ok(()) => return Ok(()),
            Err(failed) => failed,
        };
        let wait = tries < TRIES_MAX && (failed.answered.is_some() || patience == Patience::Much);
        let Some(pause) = failed.again.filter(|_| wait) else { return Err(failed) };
        let doubled = Duration::from_millis(TRY_AGAIN_MS << (tries - 1));
        tokio::time::sleep(pause.max(doubled).min(Duration::from_millis(TRY_AGAIN_MS_MAX))).await;
        tries += 1;
    }
}

async fn once(client: &Client, collector: &Collector, body: bytes::Bytes) -> Result<(), NotTaken> {
    let mut request = client
        .post(collector.url.clone())
        .headers(collector.headers.clone())
        .header(CONTENT_TYPE, "application/x-protobuf")
        .timeout(collector.deadline)
        .body(body);
    if collector.gzip {
        request = request.header(CONTENT_ENCODING, "gzip");
    }
    let response = request.send().await.map_err(|error| unreachable(&error))?;
    let status = response.status();
    if status.is_success() {
        // What it says of single spans is not read: nothing could be done about it.
        return Ok(());
    }
    let passing = matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    );
    let again = passing.then(|| asked_pause(&response));
    Err(NotTaken { why: format!("it answers {status}"), again, answered: Some(status) })
}

fn asked_pause(response: &Response) -> Duration {
    let seconds = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    Duration::from_secs(seconds.unwrap_or(0))
}

/// What went wrong on the way. The innermost cause is the one that tells; the address is told besides.
fn unreachable(error: &reqwest::Error) -> NotTaken {
    let mut cause = error.source();
    let mut why =
        if error.is_timeout() { "it does not answer".to_owned() } else { "no connection".to_owned() };
    while let Some(inner) = cause.filter(|_| !error.is_timeout()) {
        why = inner.to_string();
        cause = inner.source();
    }
    NotTaken { why, again: Some(Duration::ZERO), answered: None }
}

fn zipped(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory does not fail.
    let written = encoder.write_all(body).and_then(|()| encoder.finish());
    written.unwrap_or_default()
}
