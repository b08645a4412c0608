//! HTTP clients: made when first needed, shared by all models of a process. No protocol, no retries.
//!
//! Loading root certificates takes tens of milliseconds, so addresses without TLS get a client that has none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::{Client, Url, redirect, retry};

use crate::endpoint;

/// The clients that have been needed so far.
#[derive(Default)]
pub(crate) struct Clients {
    made: Mutex<HashMap<(Kind, u64), Client>>,
}

/// What a client has to be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    /// This machine: neither proxy nor TLS.
    Loopback,
    /// Plain HTTP elsewhere: proxies, no TLS.
    Plain,
    /// HTTPS: proxies, TLS, root certificates.
    Tls,
}

impl Clients {
    /// The client for an address. Fails only if TLS cannot be set up.
    pub(crate) fn get(&self, url: &Url, connect_ms: u64) -> Result<Client, String> {
        let kind = match url.scheme() {
            "https" => Kind::Tls,
            _ if endpoint::url_is_loopback(url) => Kind::Loopback,
            _ => Kind::Plain,
        };
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = made.get(&(kind, connect_ms)) {
            return Ok(client.clone());
        }
        let client = build(kind, connect_ms)?;
        made.insert((kind, connect_ms), client.clone());
        Ok(client)
    }
}

fn build(kind: Kind, connect_ms: u64) -> Result<Client, String> {
    let mut builder = Client::builder()
        .user_agent(concat!("posse/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_millis(connect_ms))
        .tcp_nodelay(true)
        .redirect(redirect::Policy::none())
        .retry(retry::never());
    if kind == Kind::Loopback {
        builder = builder.no_proxy();
    }
    if kind == Kind::Tls {
        // Fails if the process has chosen a provider before: that one serves as well.
        rustls::crypto::ring::default_provider().install_default().ok();
    } else {
        builder = builder.tls_backend_preconfigured(without_roots()?);
    }
    builder.build().map_err(|error| describe(&error))
}

/// A TLS configuration that trusts nobody, for clients that never use it.
fn without_roots() -> Result<rustls::ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    Ok(config)
}

/// Whether nobody listens there.
pub(crate) fn is_refused(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        let kind = error.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        if kind == Some(std::io::ErrorKind::ConnectionRefused) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// The cause at the bottom of an error: what wraps it are the names of libraries, and the address, which may hold
/// credentials.
pub(crate) fn describe(error: &dyn std::error::Error) -> String {
    let mut root = error;
    while let Some(cause) = root.source() {
        root = cause;
    }
    root.to_string()
}
