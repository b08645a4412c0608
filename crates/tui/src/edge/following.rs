//! Follows a session: what is on record first, then what happens.

use std::sync::Arc;
use std::time::Duration;

use posse_api::{CallError, Following, Handle};
use posse_engine::Engine;
use posse_protocol::{Event, Seq, SessionId, Update};
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::chat::ChatInput;
use crate::effect::ChatOutcome;
use crate::limits::{EVENTS_AT_ONCE, GONE_PAUSE_MS, GONE_TRIES_MAX, RECONNECT_PAUSE_MS, RECONNECTS_MAX};

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

/// Where updates of a session come from.
pub(super) trait UpdateSource {
    /// A connection.
    type Updates;
    /// Connects: gives what happened after an event, and what happens.
    async fn connect(&self, after: Seq) -> Result<Self::Updates, CallError>;
    /// The next update; none if the session has ended.
    async fn next(updates: &mut Self::Updates) -> Result<Option<Update>, CallError>;
    /// Whether nobody runs the session any more.
    async fn is_gone(&self) -> bool;
    /// Some of the events that are on record after one.
    async fn recorded(&self, after: Seq) -> Vec<Event>;
    /// Waits a moment before the next try.
    async fn pause(&self);
}

/// A session that is followed by its handle.
pub(super) struct FollowedSession {
    pub(super) engine: Option<Engine>,
    pub(super) handle: Handle,
    pub(super) session: SessionId,
}

impl UpdateSource for FollowedSession {
    type Updates = Following;

    async fn connect(&self, after: Seq) -> Result<Following, CallError> {
        self.handle.follow(self.session, after).await
    }

    async fn next(updates: &mut Following) -> Result<Option<Update>, CallError> {
        updates.next().await
    }

    /// A process that was killed closes its connections a moment before the kernel frees its lock.
    async fn is_gone(&self) -> bool {
        let (Some(engine), session) = (&self.engine, self.session) else { return true };
        for _ in 0..GONE_TRIES_MAX {
            if engine
                .read(move |engine| Ok(engine.process_of(session)))
                .await
                .is_ok_and(|process| process.is_none())
            {
                return true;
            }
            sleep(Duration::from_millis(GONE_PAUSE_MS)).await;
        }
        false
    }

    async fn recorded(&self, after: Seq) -> Vec<Event> {
        let (Some(engine), session) = (&self.engine, self.session) else { return Vec::new() };
        let read = engine.read(move |engine| engine.events_after(session, after, EVENTS_AT_ONCE)).await;
        read.unwrap_or_default()
    }

    async fn pause(&self) {
        sleep(Duration::from_millis(RECONNECT_PAUSE_MS)).await;
    }
}

/// Passes on what happens until the session ends or its process is gone. A connection that breaks while the process is there,
/// because the chat was suspended for a while say, is made again.
pub(super) async fn follow(source: impl UpdateSource, mut after: Seq, inputs: Arc<mpsc::Sender<ChatInput>>) {
    let mut tries = 0;
    let lost = loop {
        let before = after;
        match pass_on(&source, &mut after, &inputs).await {
            Ok(Passed::ToTheEnd) => break None,
            Ok(Passed::ToNobody) => return,
            Err(_) if source.is_gone().await => {
                pass_on_recorded(&source, after, &inputs).await;
                break Some("the session's process is gone.".to_owned());
            }
            Err(error) if tries == RECONNECTS_MAX => {
                break Some(format!("the session's process does not answer ({error})."));
            }
            Err(_) => {
                tries = if after > before { 0 } else { tries + 1 };
                source.pause().await;
            }
        }
    };
    let _ = inputs.send(ChatInput::Outcome(ChatOutcome::SessionOver { lost })).await;
}

/// How far updates were passed on.
enum Passed {
    ToTheEnd,
    /// The chat has ended.
    ToNobody,
}

async fn pass_on<S: UpdateSource>(
    source: &S,
    after: &mut Seq,
    inputs: &mpsc::Sender<ChatInput>,
) -> Result<Passed, CallError> {
    let mut updates = source.connect(*after).await?;
    while let Some(update) = S::next(&mut updates).await? {
        if let Update::Event(event) = &update {
            *after = event.seq;
        }
        if inputs.send(ChatInput::Update(update)).await.is_err() {
            return Ok(Passed::ToNobody);
        }
    }
    Ok(Passed::ToTheEnd)
}

/// Passes on what was recorded and not heard of.
async fn pass_on_recorded(source: &impl UpdateSource, mut after: Seq, inputs: &mpsc::Sender<ChatInput>) {
    loop {
        let events = source.recorded(after).await;
        let Some(last) = events.last() else { return };
        after = last.seq;
        for event in events {
            if inputs.send(ChatInput::Update(Update::Event(event.into()))).await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;

    use posse_api::CallErrorKind;
    use posse_protocol::{AgentId, EventKind, Progress, ProgressKind};

    use super::*;

    type Script = VecDeque<Result<Option<Update>, CallError>>;

    /// Connections that give this, each from where it was asked to.
    struct Scripted {
        connections: Mutex<VecDeque<Script>>,
        asked: Mutex<Vec<u64>>,
        gone: bool,
    }

    impl UpdateSource for &Scripted {
        type Updates = Script;

        async fn connect(&self, after: Seq) -> Result<Script, CallError> {
            self.asked.lock().unwrap().push(after.0);
            let next = self.connections.lock().unwrap().pop_front();
            next.ok_or_else(broken)
        }

        async fn next(updates: &mut Script) -> Result<Option<Update>, CallError> {
            updates.pop_front().unwrap_or(Ok(None))
        }

        async fn is_gone(&self) -> bool {
            self.gone
        }

        async fn recorded(&self, after: Seq) -> Vec<Event> {
            if after < Seq(7) { vec![event(after.0 + 1)] } else { Vec::new() }
        }

        async fn pause(&self) {}
    }

    const NOBODY: &str = "00000000-0000-7000-8000-000000000001";

    fn nobody() -> AgentId {
        NOBODY.parse().unwrap()
    }

    fn broken() -> CallError {
        CallError { kind: CallErrorKind::Unreachable, message: "broken".to_owned() }
    }

    fn event(seq: u64) -> Event {
        let kind = EventKind::TurnStarted { turn: 1, purpose: Default::default() };
        let session = NOBODY.parse().unwrap();
        Event { seq: Seq(seq), session, agent: nobody(), parent: None, at_ms: 0, kind }
    }

    fn happens(seq: u64) -> Result<Option<Update>, CallError> {
        Ok(Some(Update::Event(event(seq).into())))
    }

    fn text() -> Result<Option<Update>, CallError> {
        let kind = ProgressKind::Text("x".to_owned());
        Ok(Some(Update::Progress(Progress { agent: nobody(), kind })))
    }

    /// The numbers of the events that came, where connections began, and why it is over.
    async fn followed(connections: Vec<Script>, gone: bool) -> (Vec<u64>, Vec<u64>, Option<String>) {
        let source = Scripted { connections: Mutex::new(connections.into()), asked: Mutex::default(), gone };
        let (inputs, mut heard) = mpsc::channel(100);
        follow(&source, Seq(3), Arc::new(inputs)).await;
        let (mut events, mut over) = (Vec::new(), None);
        while let Some(input) = heard.recv().await {
            match input {
                ChatInput::Update(Update::Event(event)) => events.push(event.seq.0),
                ChatInput::Outcome(ChatOutcome::SessionOver { lost }) => over = lost,
                _ => {}
            }
        }
        (events, source.asked.into_inner().unwrap(), over)
    }

    #[tokio::test]
    async fn a_broken_connection_is_made_again_where_it_broke() {
        let first = Script::from([happens(4), happens(5), text(), Err(broken())]);
        let second = Script::from([Err(broken())]);
        let third = Script::from([happens(6), Ok(None)]);
        let came = followed(vec![first, second, third], false).await;
        assert_eq!(came, (vec![4, 5, 6], vec![3, 5, 5], None));
    }

    #[tokio::test]
    async fn a_process_that_is_gone_or_silent_for_long_is_told() {
        let first = || vec![Script::from([happens(4), Err(broken())])];
        let gone = followed(first(), true).await;
        assert_eq!(gone, (vec![4, 5, 6, 7], vec![3], Some("the session's process is gone.".to_owned())));
        let (events, asked, over) = followed(first(), false).await;
        assert_eq!((events, asked.len()), (vec![4], RECONNECTS_MAX + 2));
        assert_eq!(over.unwrap(), "the session's process does not answer (broken).");
    }
}
