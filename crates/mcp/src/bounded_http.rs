//! HTTP to a server, with a bound on everything that it sends. rmcp's own client reads a JSON body to its end, however long.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::stream::BoxStream;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use reqwest::{Client, Response, StatusCode, redirect};
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Error as SseError, Sse, SseStream};

use crate::limits;

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: &str = "mcp-session-id";

/// The client.
#[derive(Clone, Debug)]
pub(crate) struct BoundedHttp(Client);

type HttpError = StreamableHttpError<reqwest::Error>;

impl BoundedHttp {
    pub(crate) fn new() -> Result<Self, String> {
        // Fails if another part of the program was first, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("posse/", env!("CARGO_PKG_VERSION")))
            // Tokens go nowhere else than to where they were meant to go.
            .redirect(redirect::Policy::custom(|attempt| {
                let origin = |url: &reqwest::Url| url.origin();
                let same =
                    attempt.previous().last().is_some_and(|from| origin(from) == origin(attempt.url()));
                if same && attempt.previous().len() <= limits::REDIRECTS_MAX {
                    attempt.follow()
                } else {
                    attempt.stop()
                }
            }))
            .connect_timeout(Duration::from_millis(limits::CONNECT_MS))
            .pool_max_idle_per_host(0)
            .build();
        client.map(Self).map_err(|error| format!("no web client could be made: {error}"))
    }
}

impl StreamableHttpClient for BoundedHttp {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let mut request = self.0.post(&*uri).header(ACCEPT, format!("{EVENTS}, {JSON}"));
        if let Some(token) = auth_header {
            request = request.bearer_auth(token);
        }
        for (name, value) in custom_headers {
            request = request.header(name, value);
        }
        let in_session = session_id.is_some();
        if let Some(session) = session_id {
            request = request.header(SESSION, &*session);
        }
        let response = request.json(&message).send().await.map_err(HttpError::Client)?;
        let (status, kind) = (response.status(), content_type(&response));
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if !status.is_success() {
            return failed(response, &message, in_session).await;
        }
        let session = response.headers().get(SESSION).and_then(|id| id.to_str().ok()).map(str::to_owned);
        if kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(events(response), session));
        }
        let answers = matches!(message, ClientJsonRpcMessage::Request(_));
        if !kind.starts_with(JSON) {
            let empty = body(response, 1).await.is_ok_and(|body| body.is_empty());
            return match empty && !answers {
                true => Ok(StreamableHttpPostResponse::Accepted),
                false => Err(HttpError::UnexpectedContentType(Some(kind))),
            };
        }
        let body = body(response, limits::MESSAGE_BYTES_MAX).await?;
        match serde_json::from_slice(&body) {
            Ok(answer) => Ok(StreamableHttpPostResponse::Json(answer, session)),
            Err(_) if !answers => Ok(StreamableHttpPostResponse::Accepted),
            Err(error) => Err(unexpected(format!("it is no message of the protocol: {error}"))),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        self.0.delete_session(uri, session_id, auth_header, custom_headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpError> {
        let (client, max) = (&self.0, limits::MESSAGE_BYTES_MAX);
        client
            .get_stream_with_max_sse_event_size(
                uri,
                session_id,
                last_event_id,
                auth_header,
                custom_headers,
                max,
            )
            .await
    }
}

fn unexpected(what: String) -> HttpError {
    HttpError::UnexpectedServerResponse(what.into())
}

fn content_type(response: &Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.unwrap_or_default().to_ascii_lowercase()
}

/// What an answer that is no success means.
async fn failed(
    response: Response,
    message: &ClientJsonRpcMessage,
    in_session: bool,
) -> Result<StreamableHttpPostResponse, HttpError> {
    let status = response.status();
    if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
        let asked = response.headers().get(WWW_AUTHENTICATE).and_then(|asked| asked.to_str().ok());
        return Err(match asked {
            Some(asked) => HttpError::AuthRequired(AuthRequiredError::new(asked.to_owned())),
            None => unexpected(format!("HTTP {status}")),
        });
    }
    if status == StatusCode::NOT_FOUND && in_session {
        return Err(HttpError::SessionExpired);
    }
    let body = body(response, limits::ERROR_BYTES_MAX).await.unwrap_or_default();
    let told = serde_json::from_slice::<ServerJsonRpcMessage>(&body).ok();
    // A server of the older era knows nothing of discovery, and says so in its own way.
    if let ClientJsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
        && status.is_client_error()
        && !in_session
    {
        let error = match told {
            Some(ServerJsonRpcMessage::Error(error)) => error.error,
            _ => ErrorData::invalid_request(format!("HTTP {status}"), None),
        };
        let answer = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    match told {
        Some(error @ ServerJsonRpcMessage::Error(_)) => Ok(StreamableHttpPostResponse::Json(error, None)),
        _ => Err(unexpected(format!("HTTP {status}"))),
    }
}

/// A body, if it is not too long.
async fn body(mut response: Response, bytes_max: usize) -> Result<Vec<u8>, HttpError> {
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(HttpError::Client)? {
        if body.len() + chunk.len() > bytes_max {
            return Err(unexpected(format!("it sent more than {} KiB at once", bytes_max >> 10)));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The events of an answer, each of bounded length.
fn events(response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
    // An event ends with an empty line; what is longer than a message may be is none.
    let state = (response, 0_usize, 0_u8);
    let bytes = futures::stream::try_unfold(state, |(mut response, mut length, mut last)| async move {
        let Some(chunk) = response.chunk().await.map_err(std::io::Error::other)? else { return Ok(None) };
        for byte in chunk.iter().filter(|byte| **byte != b'\r') {
            length = if *byte == b'\n' && last == b'\n' { 0 } else { length + 1 };
            last = *byte;
        }
        if length > limits::MESSAGE_BYTES_MAX {
            return Err(std::io::Error::other(format!(
                "it sent more than {} MiB at once",
                limits::MESSAGE_BYTES_MAX >> 20
            )));
        }
        Ok(Some((chunk, (response, length, last))))
    });
    Box::pin(SseStream::from_bytes_stream(Box::pin(bytes)))
}
