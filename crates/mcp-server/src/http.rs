//! Serves clients over HTTP (streamable HTTP): a route for a server that guards it. Requests of the newest revision stand
//! alone; older ones belong to a session of the transport, of which there are not too many.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse as _, Response};
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::limits;
use crate::listening::{LISTEN, carry_tasks};

/// Where it is served.
pub const HTTP_PATH: &str = "/mcp";
/// Names the session of the transport that a request belongs to.
const SESSION_HEADER: &str = "mcp-session-id";
/// Names the method of a request of the newest revision.
const METHOD_HEADER: &str = "mcp-method";

/// Who looks at the host and the origin of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostCheck {
    /// Whoever has the routes: every request was checked before it comes here.
    Before,
    /// The routes themselves: only this machine's names, and no page of another site.
    Here,
}

/// The routes. What is waited for ends with `closing`.
pub fn http_routes<S>(service: S, check: HostCheck, closing: CancellationToken) -> Router
where
    S: ServerHandler + Clone,
{
    let mut config = StreamableHttpServerConfig::default()
        .with_max_request_body_bytes(limits::MESSAGE_BYTES_MAX)
        .with_cancellation_token(closing);
    config = match check {
        HostCheck::Before => config.disable_allowed_hosts().disable_allowed_origins(),
        HostCheck::Here => {
            config.with_allowed_origins(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"])
        }
    };
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(Duration::from_millis(limits::HTTP_SESSION_IDLE_MS));
    let sessions = Arc::new(sessions);
    let served = StreamableHttpService::new(move || Ok(service.clone()), Arc::clone(&sessions), config);
    let bounded = move |request: Request, next: Next| bounded(Arc::clone(&sessions), request, next);
    Router::new().route_service(HTTP_PATH, served).layer(from_fn(bounded))
}

/// Lets a request through that is whole in time, not too large, and not one session too many.
async fn bounded(sessions: Arc<LocalSessionManager>, request: Request, next: Next) -> Response {
    let begins = !request.headers().contains_key(SESSION_HEADER);
    if begins && sessions.sessions.read().await.len() >= limits::HTTP_SESSIONS_MAX {
        let text = "Too many sessions at once. End one with DELETE, or use protocol version 2026-07-28, which has none.";
        let mut response = (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
        return response;
    }
    let (mut parts, body) = request.into_parts();
    let reading = to_bytes(body, limits::MESSAGE_BYTES_MAX);
    let bytes = match tokio::time::timeout(Duration::from_millis(limits::BODY_MS_MAX), reading).await {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            return (StatusCode::PAYLOAD_TOO_LARGE, "The request is too large, or broke off.")
                .into_response();
        }
        Err(_) => return (StatusCode::REQUEST_TIMEOUT, "The request took too long.").into_response(),
    };
    let listens = parts.headers.get(METHOD_HEADER).is_some_and(|method| method == LISTEN);
    let message = serde_json::from_slice::<Value>(&bytes).ok().filter(|_| listens);
    let body = match message {
        // What the library would drop is carried past it.
        Some(mut message) => {
            carry_tasks(&mut message);
            parts.headers.remove(header::CONTENT_LENGTH);
            Body::from(message.to_string())
        }
        None => Body::from(bytes),
    };
    next.run(Request::from_parts(parts, body)).await
}
