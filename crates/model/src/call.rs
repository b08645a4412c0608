//! One call: attempts, the waiting between them, and the endpoint's governor around each.

use std::time::Duration;

use posse_protocol::{ModelError, Reply};

use crate::attempt::{Failed, attempt};
use crate::live::Live;
use crate::{ModelConfig, Signal, Transcript, limits, retry};

pub(crate) async fn call(
    live: &Live,
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
        if let Some(error) = give_up(&failed, attempts, config.retry.attempts_max, delay_ms, resent) {
            return Err(error);
        }
        let mut reason = failed.fault.message;
        if failed.output {
            resent = true;
            reason.push_str(" The part that had arrived is dropped, and the request is sent once more.");
        }
        on(Signal::Retrying { attempt: attempts, delay_ms, reason });
        tokio::time::sleep(Duration::from_millis(delay_ms)).await;
    }
}

/// The error to return, unless the request is to be sent again.
///
/// A reply that was cut after its first words is asked for once more, whatever had arrived: nobody acts on a reply before it
/// is complete, so nothing is done twice. Only once, because each time costs the tokens of a whole request.
fn give_up(
    failed: &Failed,
    attempts: u32,
    attempts_max: u32,
    delay_ms: u64,
    resent: bool,
) -> Option<ModelError> {
    let fault = &failed.fault;
    let mut error =
        ModelError { kind: fault.kind, message: fault.message.clone(), partial: failed.partial.clone() };
    if !fault.retryable {
        return Some(error);
    }
    if failed.output && resent {
        error.message.push_str(" The request had been sent once more already, so it was given up.");
        return Some(error);
    }
    if attempts >= attempts_max {
        let times = if attempts == 1 { "1 attempt".to_owned() } else { format!("{attempts} attempts") };
        error.message.push_str(&format!(" Gave up after {times}."));
        return Some(error);
    }
    if delay_ms > limits::RETRY_AFTER_MAX_MS {
        error.message.push_str(&format!(
            " It asks to wait {} s, longer than the {} s that Posse waits. Try again later.",
            delay_ms / 1_000,
            limits::RETRY_AFTER_MAX_MS / 1_000
        ));
        return Some(error);
    }
    None
}
