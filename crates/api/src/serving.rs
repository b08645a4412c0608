//! Answers one kind of call: turns a request into the call, has it carried out, and writes its answer or its error.

use std::sync::Arc;

use axum::extract::Request;

use crate::call::{Call, Verb, perform};
use crate::exchange::{Answering, failed, json, read_body, read_json, read_query, subject};
use crate::failure::{CallError, CallErrorKind};
use crate::shared::Shared;

/// Answers one kind of call.
pub(crate) fn serve<C: Call>(shared: Arc<Shared>, request: Request) -> Answering {
    Box::pin(async move {
        match answer::<C>(&shared, request).await {
            Ok(answer) => json(&answer),
            Err(error) => failed(error),
        }
    })
}

async fn answer<C: Call>(shared: &Shared, request: Request) -> Result<C::Answer, CallError> {
    let busy = |_| CallError::new(CallErrorKind::TooMany, "Too many calls at once; try again.");
    let place = Arc::clone(&shared.calls).try_acquire_owned().map_err(busy)?;
    let (mut parts, body) = request.into_parts();
    let of = subject::<C::Of>(&mut parts).await?;
    let call: C = match C::VERB {
        Verb::Get => read_query(&parts)?,
        Verb::Post => read_json(&read_body(&parts.headers, body, C::BODY_BYTES_MAX).await?)?,
    };
    let engine = shared.engine.clone();
    // What has begun is done to its end, also if the client has gone: nothing is left half-done.
    let performing = tokio::spawn(async move {
        let _place = place;
        perform(call, of, engine).await
    });
    performing.await.unwrap_or_else(|_| {
        Err(CallError::new(CallErrorKind::Internal, "A fault in Posse ended this call before it was done."))
    })
}
