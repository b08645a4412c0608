//! Answers one kind of call: turns a request into the call, has it carried out, and writes its answer or its error.

use std::sync::Arc;

use axum::extract::Request;

use crate::call::{Call, Subject as _, Verb, perform};
use crate::exchange::{Answering, failed, json, read_body, read_json, read_query, subject};
use crate::failure::{CallError, CallErrorKind};
use crate::handle::Handle;
use crate::hub::Hub;
use crate::shared::Shared;

/// Answers one kind of call that an engine carries out: that of this process, or that of the process that runs the session.
pub(crate) fn serve<C: Call>(shared: Arc<Shared>, request: Request) -> Answering {
    Box::pin(async move {
        let (engine, elsewhere) = (shared.engine.clone(), C::IN_ITS_PROCESS && shared.hub.is_some());
        let carry_out = move |of: C::Of, call: C| async move {
            match of.session().filter(|_| elsewhere) {
                Some(session) => Handle::of(&engine, session).await?.call(of, call).await,
                None => perform(call, of, engine).await,
            }
        };
        answered(answer(&shared, request, carry_out).await)
    })
}

/// Answers one kind of call that only `posse serve` can.
pub(crate) fn serve_on_hub<C: Call<Arc<Hub>>>(shared: Arc<Shared>, request: Request) -> Answering {
    Box::pin(async move {
        let hub = match shared.hub() {
            Ok(hub) => Arc::clone(hub),
            Err(error) => return failed(error),
        };
        let carry_out = move |of, call: C| perform(call, of, hub);
        answered(answer(&shared, request, carry_out).await)
    })
}

fn answered(answer: Result<impl serde::Serialize, CallError>) -> axum::response::Response {
    match answer {
        Ok(answer) => json(&answer),
        Err(error) => failed(error),
    }
}

async fn answer<On, C: Call<On>, Done>(
    shared: &Shared,
    request: Request,
    carry_out: impl FnOnce(C::Of, C) -> Done,
) -> Result<C::Answer, CallError>
where
    Done: Future<Output = Result<C::Answer, CallError>> + Send + 'static,
{
    let busy = |_| CallError::new(CallErrorKind::TooMany, "Too many calls at once; try again.");
    let place = Arc::clone(&shared.calls).try_acquire_owned().map_err(busy)?;
    let (mut parts, body) = request.into_parts();
    let of = subject::<C::Of>(&mut parts).await?;
    let call: C = match C::VERB {
        Verb::Get => read_query(&parts)?,
        Verb::Post => {
            let always_json = shared.hub.is_some();
            read_json(&read_body(&parts.headers, body, C::BODY_BYTES_MAX, always_json).await?)?
        }
    };
    let done = carry_out(of, call);
    // What has begun is done to its end, also if the client has gone: nothing is left half-done.
    let performing = tokio::spawn(async move {
        let _place = place;
        done.await
    });
    performing.await.unwrap_or_else(|error| Err(CallError::internal(error)))
}
