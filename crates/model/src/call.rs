//! One call: attempts, the waiting between them, and the endpoint's governor around each.

use std::time::Duration;

use posse_protocol::{ModelError, Reply};

use crate::attempt::{FailedAttempt, attempt};
use crate::live::LiveModel;
use crate::{ModelConfig, Signal, Transcript, limits, names, retry};

pub(crate) async fn call(
    live: &LiveModel,
    config: &ModelConfig,
    transcript: &Transcript,
    on: &mut (dyn FnMut(Signal) + Send),
) -> Result<Reply, ModelError> {
    let mut attempts = 0;
    let mut resent = false;
    loop {
        let mut waited = false;
        let queued = || {
            waited = true;
            on(Signal::Queued);
        };
        let mut permit = live.endpoint.enter(config.max_concurrent, queued).await;
        if waited {
            on(Signal::Served);
        }
        attempts += 1;
        let failed = match attempt(live, config, transcript, on).await {
            Ok(reply) => {
                permit.succeeded();
                return Ok(reply);
            }
            Err(failed) => failed,
        };
        let backoff_ms = retry::backoff_ms(&config.retry, attempts - 1, fastrand::f64());
        let delay_ms = backoff_ms.max(failed.fault.retry_after_ms.unwrap_or(0));
        if failed.fault.overloaded {
            permit.slow_down(delay_ms.min(limits::RETRY_AFTER_MAX_MS));
        }
        drop(permit);
        tracing::debug!(model = config.name, attempts, delay_ms, kind = ?failed.fault.kind, "a model call failed");
        let attempts_max = live.attempts_max(&failed.fault, config.retry.attempts_max);
        if let Some(error) = give_up(&failed, attempts, attempts_max, delay_ms, resent) {
            return Err(if failed.fault.names_model {
                names::look_up(live, config, error).await
            } else {
                error
            });
        }
        // A reply that broke off is asked for once more, and no more.
        let attempts_max = if failed.output { attempts + 1 } else { attempts_max };
        resent |= failed.output;
        let reason = failed.fault.brief;
        on(Signal::Retrying { attempt: attempts, attempts_max, delay_ms, reason });
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
    }
}

/// The error to return, unless the request is to be sent again.
///
/// A reply that was cut after its first words is asked for once more, whatever had arrived: nobody acts on a reply before it
/// is complete, so nothing is done twice. Only once, because each time costs the tokens of a whole request.
fn give_up(
    failed: &FailedAttempt,
    attempts: u32,
    attempts_max: u32,
    delay_ms: u64,
    resent: bool,
) -> Option<ModelError> {
    let fault = &failed.fault;
    let mut error = fault.clone().into_error(failed.partial.clone());
    if !fault.is_retryable {
        return Some(error);
    }
    if failed.output && resent {
        error.message.push_str(", twice");
        return Some(error);
    }
    if attempts >= attempts_max {
        if attempts > 1 {
            error.message.push_str(&format!(", after {attempts} tries"));
        }
        return Some(error);
    }
    if delay_ms > limits::RETRY_AFTER_MAX_MS {
        error.message.push_str(&format!(", and asks to wait {} s", delay_ms / 1_000));
        error.advice = format!(
            "try again then: posse resume (Posse itself waits {} s at most)",
            limits::RETRY_AFTER_MAX_MS / 1_000
        );
        return Some(error);
    }
    None
}
