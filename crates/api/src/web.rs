//! `posse serve`: the table of routes and the page over TCP, for browsers and programs. Closed by default: every request
//! passes the guard, and everything that holds data needs the token.

mod addresses;
mod assets;
mod certificate;
mod guard;
mod tls;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use crate::web::addresses::Listen;
pub use crate::web::tls::{TlsError, TlsFiles};

use crate::connections::{converse, too_many};
use crate::exchange::failed;
use crate::failure::{CallError, CallErrorKind};
use crate::hub::{Hub, HubStart};
use crate::limits::{
    ACCEPT_PAUSE_MS, CLOSING_MS_MAX, HANDSHAKE_MS_MAX, WEB_CONNECTIONS_MAX, WEB_HEAD_MS_MAX,
};
use crate::openapi;
use crate::routes::ROUTES;
use crate::server::router;
use crate::shared::Shared;
use crate::token::AccessToken;
use crate::web::addresses::{bind, names, with_port};
use crate::web::guard::{Guard, RequestTarget};

/// What the page and its answers may do in a browser: nothing but load from here.
const HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

/// What a server is started with.
pub struct WebStart {
    /// What it serves.
    pub hub: HubStart,
    /// Where it listens.
    pub listen: Listen,
    /// TLS; needed for an address that others can reach.
    pub tls: Option<TlsFiles>,
    /// Other names that it may be asked by, without port.
    pub allowed_hosts: Vec<String>,
    /// What lets somebody in.
    pub token: AccessToken,
    /// Other routes behind the same guard, which look after the size of what they are sent.
    pub others: Option<Router>,
}

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address cannot be used.
    #[error("cannot listen there: {0}")]
    Address(#[from] io::Error),
    /// TLS cannot be had.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Others could read along.
    #[error("an address that others can reach is served with TLS only")]
    Plain,
}

/// A server that runs. Dropping it ends it.
pub struct Serving {
    /// Where it is, without the token: `http://127.0.0.1:7007/`.
    pub address: String,
    /// The port.
    pub port: u16,
    /// SHA-256 of its certificate, where it has one.
    pub fingerprint: Option<String>,
    stop: CancellationToken,
    accepting: Vec<JoinHandle<()>>,
    connections: TaskTracker,
}

impl Serving {
    /// The link that opens the page. The token is behind `#`, which no browser sends to anybody.
    pub fn link(&self, token: &AccessToken) -> String {
        format!("{}#token={}", self.address, token.reveal())
    }

    /// Ends it, and waits a short while for calls that are being carried out.
    pub async fn close(mut self) {
        self.stop.cancel();
        for accepting in self.accepting.drain(..) {
            let _ = accepting.await;
        }
        self.connections.close();
        let _ = tokio::time::timeout(Duration::from_millis(CLOSING_MS_MAX), self.connections.wait()).await;
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Starts a server, in the background. Needs a runtime.
pub async fn serve(start: WebStart) -> Result<Serving, ServeError> {
    let WebStart { hub, listen, tls, allowed_hosts, token, others } = start;
    if tls.is_none() && matches!(listen, Listen::Address(address) if !address.ip().is_loopback()) {
        return Err(ServeError::Plain);
    }
    let names = names(listen, &allowed_hosts);
    let tls = tls.map(|files| tls::prepare(&files, &names)).transpose()?;
    let bound = bind(listen).await?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let hosts = names.iter().map(|name| with_port(name, bound.port)).collect::<Vec<_>>();
    let address = format!("{scheme}://{}/", hosts.first().map_or("", String::as_str));
    let stop = CancellationToken::new();
    let hub = Arc::new(Hub::new(hub));
    let guard = Arc::new(Guard::new(token, hosts, scheme));
    let shared = Arc::new(Shared::new(hub.engine.clone(), Some(Arc::clone(&hub)), stop.clone()));
    let router = guarded(&shared, others, &guard, hub.read_only);
    let connections = TaskTracker::new();
    let places = Arc::new(Semaphore::new(WEB_CONNECTIONS_MAX));
    let accepting = bound.listeners.into_iter().map(|listener| {
        let accepting = Accepting {
            router: router.clone(),
            tls: tls.as_ref().map(|tls| TlsAcceptor::from(Arc::clone(&tls.config))),
            places: Arc::clone(&places),
            connections: connections.clone(),
            stop: stop.clone(),
        };
        tokio::spawn(accepting.accept(listener))
    });
    let accepting = accepting.collect();
    let fingerprint = tls.map(|tls| tls.fingerprint);
    Ok(Serving { address, port: bound.port, fingerprint, stop, accepting, connections })
}

/// The table, other routes and the page behind the guard.
fn guarded(shared: &Arc<Shared>, others: Option<Router>, guard: &Arc<Guard>, read_only: bool) -> Router {
    let guard = Arc::clone(guard);
    let let_in = move |request: Request, next: Next| {
        let guard = Arc::clone(&guard);
        async move {
            let mut response = answer(&guard, read_only, request, next).await;
            let headers = response.headers_mut();
            for (name, value) in HEADERS {
                headers.insert(name, HeaderValue::from_static(value));
            }
            if !headers.contains_key(header::CACHE_CONTROL) {
                headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            }
            response
        }
    };
    // Theirs have no fallback: what nobody knows is answered by the table.
    router(shared).merge(others.unwrap_or_default()).layer(from_fn(let_in))
}

async fn answer(guard: &Guard, read_only: bool, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let asset = assets::find(parts.uri.path());
    let asked = match asset {
        Some((_, true)) => RequestTarget::Page,
        Some((_, false)) => RequestTarget::Asset,
        None => RequestTarget::Data,
    };
    if let Err(error) = guard.check(&parts, asked) {
        return refusal(error);
    }
    let reads = parts.method == Method::GET;
    match asset {
        Some((asset, _)) if reads => return asset.response(&parts.headers),
        Some(_) => {
            return refusal(CallError::new(
                CallErrorKind::WrongMethod,
                "The page is read, and nothing else.",
            ));
        }
        None if parts.uri.path() == openapi::PATH && reads => return openapi::response(),
        None => {}
    }
    if read_only && steers(&parts.method, parts.uri.path()) {
        let message = "This server was started with --read-only: it shows, and steers nothing.";
        return refusal(CallError::new(CallErrorKind::ReadOnly, message));
    }
    next.run(Request::from_parts(parts, body)).await
}

fn refusal(error: CallError) -> Response {
    let unauthorized = error.kind == CallErrorKind::Unauthorized;
    let mut response = failed(error);
    if unauthorized {
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}

/// Whether a request changes something, as far as the table says: what is not known to read is taken for a change.
fn steers(method: &Method, path: &str) -> bool {
    if method == Method::GET || method == Method::HEAD {
        return false;
    }
    let is_at = |route: &str| {
        let (mut wanted, mut asked) = (route.split('/'), path.split('/'));
        loop {
            match (wanted.next(), asked.next()) {
                (None, None) => return true,
                (Some("{session}"), Some(_)) => {}
                (Some(one), Some(other)) if one == other => {}
                _ => return false,
            }
        }
    };
    let reads =
        ROUTES.iter().any(|route| route.verb.method() == *method && !route.steers && is_at(route.path));
    !reads
}

/// What accepts connections at one address.
struct Accepting {
    router: Router,
    tls: Option<TlsAcceptor>,
    places: Arc<Semaphore>,
    connections: TaskTracker,
    stop: CancellationToken,
}

impl Accepting {
    async fn accept(self, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                () = self.stop.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => match Arc::clone(&self.places).try_acquire_owned() {
                    Ok(place) => drop(self.connections.spawn(self.connection(stream, place))),
                    // Without waiting for it; with TLS there are no words before a handshake.
                    Err(_) if self.tls.is_none() => {
                        drop(stream.try_write(too_many(WEB_CONNECTIONS_MAX).as_bytes()));
                    }
                    Err(_) => {}
                },
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await;
                }
            }
        }
    }

    fn connection(&self, stream: TcpStream, place: OwnedSemaphorePermit) -> impl Future<Output = ()> + use<> {
        let (router, tls, stop) = (self.router.clone(), self.tls.clone(), self.stop.clone());
        async move {
            // A frame is small, and somebody waits for it.
            let _ = stream.set_nodelay(true);
            let Some(tls) = tls else {
                return converse(stream, router, WEB_HEAD_MS_MAX, place, stop).await;
            };
            let handshake = tokio::time::timeout(Duration::from_millis(HANDSHAKE_MS_MAX), tls.accept(stream));
            match handshake.await {
                Ok(Ok(stream)) => converse(stream, router, WEB_HEAD_MS_MAX, place, stop).await,
                Ok(Err(error)) => tracing::debug!(%error, "a handshake failed"),
                Err(_) => tracing::debug!("a handshake took too long"),
            }
        }
    }
}
