//! Follows a session: what is on record first, then what happens.

use std::sync::Arc;

use posse_api::Handle;
use posse_engine::Engine;
use posse_protocol::{Seq, SessionId};
use tokio::sync::mpsc;

use crate::chat::ChatInput;
use crate::effect::ChatOutcome;
use crate::limits::EVENTS_AT_ONCE;

/// The session that the chat has open, and how it is commanded while somebody runs it.
#[derive(Clone)]
pub(super) struct OpenHandle {
    pub(super) session: SessionId,
    pub(super) handle: Option<Handle>,
}

/// Passes on what is on record, and returns the last event's number.
pub(super) async fn replay(
    engine: &Engine,
    session: SessionId,
    inputs: &mpsc::Sender<ChatInput>,
) -> Result<Seq, String> {
    let mut after = Seq(0);
    loop {
        let read = engine.read(move |engine| engine.events_after(session, after, EVENTS_AT_ONCE)).await;
        let events = read.map_err(|error| error.to_string())?;
        let Some(last) = events.last() else { break };
        after = last.seq;
        for event in events {
            if inputs.send(ChatInput::Recorded(Box::new(event))).await.is_err() {
                return Ok(after);
            }
        }
    }
    let _ = inputs.send(ChatInput::Outcome(ChatOutcome::CaughtUp)).await;
    Ok(after)
}

/// Passes on what happens until the session ends or its process is gone.
pub(super) async fn follow(
    handle: Handle,
    session: SessionId,
    after: Seq,
    inputs: Arc<mpsc::Sender<ChatInput>>,
) {
    let mut lost = None;
    match handle.follow(session, after).await {
        Err(error) => lost = Some(error.to_string()),
        Ok(mut updates) => loop {
            match updates.next().await {
                Ok(Some(update)) => {
                    if inputs.send(ChatInput::Update(update)).await.is_err() {
                        return;
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    lost = Some(format!("the session's process is gone ({error})."));
                    break;
                }
            }
        },
    }
    let _ = inputs.send(ChatInput::Outcome(ChatOutcome::SessionOver { lost })).await;
}
