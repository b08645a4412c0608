//! Reads what a request says, and writes what comes of it.

use std::pin::Pin;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts as _, RawPathParams};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::call::Subject;
use crate::failure::{CallError, CallErrorKind, ProblemDocument};
use crate::limits::BODY_MS_MAX;

const JSON: &str = "application/json";
pub(crate) const PROBLEM: &str = "application/problem+json";

/// A response that is on its way.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Response> + Send>>;

/// What a request is about.
pub(crate) async fn subject<S: Subject>(parts: &mut Parts) -> Result<S, CallError> {
    let found = RawPathParams::from_request_parts(parts, &()).await;
    let bad = |_| CallError::new(CallErrorKind::BadRequest, "The path is not text.");
    let params = found.map_err(bad)?;
    S::from_path(params.iter().next().map(|(_, value)| value))
}

pub(crate) fn read_query<T: DeserializeOwned>(parts: &Parts) -> Result<T, CallError> {
    let query = parts.uri.query().unwrap_or_default();
    let bad = |error| {
        CallError::new(CallErrorKind::BadRequest, format!("The query string is not understood: {error}."))
    };
    serde_urlencoded::from_str(query).map_err(bad)
}

/// The body of a request. Where it is `always_json`, one without anything in it has to say so, too: a form of another site
/// cannot.
pub(crate) async fn read_body(
    headers: &HeaderMap,
    body: Body,
    bytes_max: usize,
    always_json: bool,
) -> Result<axum::body::Bytes, CallError> {
    let too_large =
        || CallError::new(CallErrorKind::TooLarge, format!("The request has more than {bytes_max} bytes."));
    let size = http_body::Body::size_hint(&body);
    if size.lower() > bytes_max as u64 {
        return Err(too_large());
    }
    let empty = size.exact() == Some(0);
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if (always_json || !empty)
        && !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(JSON)
    {
        return Err(CallError::new(CallErrorKind::BadRequest, format!("The body has to be {JSON}.")));
    }
    let reading = to_bytes(body, bytes_max);
    match tokio::time::timeout(Duration::from_millis(BODY_MS_MAX), reading).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if over_limit(&error) => Err(too_large()),
        Ok(Err(_)) => Err(CallError::new(CallErrorKind::BadRequest, "The body of the request broke off.")),
        Err(_) => Err(CallError::new(CallErrorKind::TooSlow, "The body of the request came too slowly.")),
    }
}

/// Whether a body was longer than it may be, rather than broken.
fn over_limit(error: &axum::Error) -> bool {
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = source {
        if error.to_string().contains("length limit") {
            return true;
        }
        source = error.source();
    }
    false
}

/// Reads a call; no body at all is one without fields.
pub(crate) fn read_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CallError> {
    let bytes = if bytes.is_empty() { b"{}" } else { bytes };
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let bad = |error: &dyn std::fmt::Display| {
        CallError::new(CallErrorKind::BadRequest, format!("The body is not understood: {error}."))
    };
    let call = serde_path_to_error::deserialize(&mut reader).map_err(|error| bad(&error))?;
    reader.end().map_err(|error| bad(&error))?;
    Ok(call)
}

/// An error as a response.
pub(crate) fn failed(error: CallError) -> Response {
    written(PROBLEM, error.kind.status(), &ProblemDocument::from(error))
}

pub(crate) fn json(value: &impl Serialize) -> Response {
    written(JSON, StatusCode::OK, value)
}

fn written(media_type: &'static str, status: StatusCode, value: &impl Serialize) -> Response {
    let (status, bytes) = match serde_json::to_vec(value) {
        Ok(bytes) => (status, bytes),
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written as JSON");
            (StatusCode::INTERNAL_SERVER_ERROR, Vec::new())
        }
    };
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
