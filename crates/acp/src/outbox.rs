//! What waits to be read by the client. A client that reads slowly gets the same text in fewer pieces; one that does not read
//! makes its sessions wait here, and the engine, which waits for nobody, serves them from the record later.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol_schema::v1::{
    CLIENT_METHOD_NAMES, ContentBlock, ContentChunk, JsonRpcMessage, Notification, SessionNotification,
    SessionUpdate,
};
use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;

use crate::limits::{MERGE_LOOKBACK_MAX, MERGED_BYTES_MAX, QUEUE_BYTES_MAX, WRITE_BYTES_MAX};

/// Messages on their way to the client.
#[derive(Default)]
pub(crate) struct Outbox {
    waiting: Mutex<Waiting>,
    /// Something was put in, or nothing more will be.
    news: Notify,
    /// Something was taken out.
    room: Notify,
}

#[derive(Default)]
struct Waiting {
    queue: VecDeque<Out>,
    bytes: usize,
    /// Nothing more is put in.
    closed: bool,
    /// Nobody reads any more: everything is thrown away.
    gone: bool,
}

enum Out {
    /// A whole line.
    Line(Vec<u8>),
    /// Something about a session, which the next may be joined with.
    Update { session: Arc<str>, update: Box<SessionUpdate>, bytes: usize },
}

impl Out {
    fn bytes(&self) -> usize {
        match self {
            Self::Line(line) => line.len(),
            Self::Update { bytes, .. } => *bytes,
        }
    }

    fn line(self) -> Vec<u8> {
        match self {
            Self::Line(line) => line,
            Self::Update { session, update, .. } => line(&JsonRpcMessage::wrap(Notification {
                method: CLIENT_METHOD_NAMES.session_update.into(),
                params: Some(SessionNotification::new(session.to_string(), *update)),
            })),
        }
    }
}

/// A message as a line.
fn line(message: &impl Serialize) -> Vec<u8> {
    // Our own types: the keys of all maps in them are texts.
    let mut line = serde_json::to_vec(message).unwrap_or_default();
    line.push(b'\n');
    line
}

impl Outbox {
    /// Says something at once: an answer, or a request of ours.
    pub(crate) fn send(&self, message: &impl Serialize) {
        self.lock().push(Out::Line(line(message)));
        self.news.notify_one();
    }

    /// Says something about a session as soon as there is room for it.
    pub(crate) async fn update(&self, session: &Arc<str>, update: SessionUpdate) {
        self.roomy().await;
        self.lock().add(session, update);
        self.news.notify_one();
    }

    /// Waits until there is room.
    pub(crate) async fn roomy(&self) {
        loop {
            let room = self.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            let has_room = {
                let waiting = self.lock();
                waiting.gone || waiting.bytes < QUEUE_BYTES_MAX
            };
            if has_room {
                return;
            }
            room.await;
        }
    }

    /// Lets the writer end when everything is written.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.news.notify_one();
    }

    /// Writes everything until it is closed, or nobody reads any more.
    pub(crate) async fn write_all(&self, mut to: impl AsyncWrite + Unpin) {
        loop {
            let news = self.news.notified();
            let Some(bytes) = self.take() else { return };
            if bytes.is_empty() {
                news.await;
                continue;
            }
            self.room.notify_waiters();
            let written = match to.write_all(&bytes).await {
                Ok(()) => to.flush().await,
                failed => failed,
            };
            if written.is_err() {
                return self.abandon();
            }
        }
    }

    /// Throws away what waits and what comes: nobody reads any more.
    pub(crate) fn abandon(&self) {
        let mut waiting = self.lock();
        (waiting.gone, waiting.bytes) = (true, 0);
        waiting.queue.clear();
        drop(waiting);
        self.room.notify_waiters();
    }

    /// The next lines; none at the end.
    fn take(&self) -> Option<Vec<u8>> {
        let mut waiting = self.lock();
        let mut bytes = Vec::new();
        while bytes.len() < WRITE_BYTES_MAX
            && let Some(out) = waiting.queue.pop_front()
        {
            waiting.bytes = waiting.bytes.saturating_sub(out.bytes());
            bytes.extend(out.line());
        }
        (!bytes.is_empty() || !waiting.closed).then_some(bytes)
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn push(&mut self, out: Out) {
        if !self.gone && !self.closed {
            self.bytes += out.bytes();
            self.queue.push_back(out);
        }
    }

    fn add(&mut self, session: &Arc<str>, update: SessionUpdate) {
        // What a session says stays in its order; an answer or a question is never overtaken.
        let of_session = |out: &&mut Out| match out {
            Out::Line(_) => true,
            Out::Update { session: other, .. } => other == session,
        };
        let last = self.queue.iter_mut().rev().take(MERGE_LOOKBACK_MAX).find(of_session);
        let update = match last {
            Some(Out::Update { update: waiting, bytes, .. }) => match join(waiting, update) {
                Ok(more) => {
                    (*bytes, self.bytes) = (*bytes + more, self.bytes + more);
                    return;
                }
                Err(update) => *update,
            },
            _ => update,
        };
        let bytes = size(&update);
        self.push(Out::Update { session: Arc::clone(session), update: Box::new(update), bytes });
    }
}

/// Joins an update with one that waits. Gives back how many bytes came in, or the update if the two do not go together.
fn join(waiting: &mut SessionUpdate, update: SessionUpdate) -> Result<usize, Box<SessionUpdate>> {
    match (waiting, update) {
        (SessionUpdate::AgentMessageChunk(waiting), SessionUpdate::AgentMessageChunk(more)) => {
            join_texts(waiting, more).map_err(|more| Box::new(SessionUpdate::AgentMessageChunk(*more)))
        }
        (SessionUpdate::AgentThoughtChunk(waiting), SessionUpdate::AgentThoughtChunk(more)) => {
            join_texts(waiting, more).map_err(|more| Box::new(SessionUpdate::AgentThoughtChunk(*more)))
        }
        (SessionUpdate::ToolCallUpdate(waiting), SessionUpdate::ToolCallUpdate(more))
            if waiting.tool_call_id == more.tool_call_id =>
        {
            let (old, new) = (&mut waiting.fields, more.fields);
            old.kind = new.kind.or(old.kind);
            old.status = new.status.or(old.status);
            old.title = new.title.or(old.title.take());
            old.name = new.name.or(old.name.take());
            old.content = new.content.or(old.content.take());
            old.locations = new.locations.or(old.locations.take());
            old.raw_input = new.raw_input.or(old.raw_input.take());
            old.raw_output = new.raw_output.or(old.raw_output.take());
            // What is replaced is about as long as what replaces it.
            Ok(0)
        }
        (waiting @ SessionUpdate::UsageUpdate(_), update @ SessionUpdate::UsageUpdate(_)) => {
            *waiting = update;
            Ok(0)
        }
        (waiting @ SessionUpdate::Plan(_), update @ SessionUpdate::Plan(_)) => {
            *waiting = update;
            Ok(0)
        }
        (_, update) => Err(Box::new(update)),
    }
}

fn join_texts(waiting: &mut ContentChunk, more: ContentChunk) -> Result<usize, Box<ContentChunk>> {
    if waiting.message_id != more.message_id {
        return Err(Box::new(more));
    }
    match (&mut waiting.content, more.content) {
        (ContentBlock::Text(text), ContentBlock::Text(more)) if text.text.len() < MERGED_BYTES_MAX => {
            text.text.push_str(&more.text);
            Ok(more.text.len())
        }
        (_, content) => Err(Box::new(ContentChunk::new(content).message_id(waiting.message_id.clone()))),
    }
}

/// About how many bytes an update has.
fn size(update: &SessionUpdate) -> usize {
    match update {
        SessionUpdate::AgentMessageChunk(chunk) | SessionUpdate::AgentThoughtChunk(chunk) => {
            match &chunk.content {
                ContentBlock::Text(text) => text.text.len() + 256,
                _ => serde_json::to_vec(chunk).map_or(0, |json| json.len()),
            }
        }
        update => serde_json::to_vec(update).map_or(0, |json| json.len()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use agent_client_protocol_schema::v1::{ToolCallUpdate, ToolCallUpdateFields};
    use serde_json::{Value, json};
    use tokio::io::AsyncReadExt as _;

    use super::*;

    fn text(text: &str, message: &str) -> SessionUpdate {
        let chunk = ContentChunk::new(ContentBlock::from(text)).message_id(message);
        SessionUpdate::AgentMessageChunk(chunk)
    }

    /// Everything that waits, as it is written.
    async fn written(outbox: &Outbox) -> Vec<Value> {
        let mut bytes = Vec::new();
        outbox.close();
        outbox.write_all(&mut bytes).await;
        let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
    }

    #[tokio::test]
    async fn what_waits_is_joined_and_stays_in_order() {
        let (outbox, one, two) = (Outbox::default(), Arc::from("1"), Arc::from("2"));
        outbox.update(&one, text("He", "m1")).await;
        outbox.update(&two, text("other", "m1")).await;
        outbox.update(&one, text("llo", "m1")).await;
        outbox.update(&one, text("new", "m2")).await;
        outbox.send(&json!({"id": 1}));
        outbox.update(&one, text("er", "m2")).await;
        for title in ["a", "b"] {
            let fields = ToolCallUpdateFields::new().title(title);
            outbox.update(&two, SessionUpdate::ToolCallUpdate(ToolCallUpdate::new("c", fields))).await;
        }
        let told = written(&outbox).await.into_iter().map(|line| {
            let update = &line["params"]["update"];
            let text = update["content"]["text"].as_str().or(update["title"].as_str()).unwrap_or("-");
            format!("{} {text}", line["params"]["sessionId"].as_str().unwrap_or("answer"))
        });
        let want = ["1 Hello", "2 other", "1 new", "answer -", "1 er", "2 b"];
        assert_eq!(told.collect::<Vec<_>>(), want, "an answer is never overtaken");
    }

    #[tokio::test]
    async fn who_says_too_much_waits_until_it_is_read_or_nobody_reads() {
        let (outbox, session) = (Arc::new(Outbox::default()), Arc::<str>::from("1"));
        let large = "x".repeat(MERGED_BYTES_MAX);
        let mut said = 0;
        let talk = |outbox: Arc<Outbox>| {
            let (session, large) = (Arc::clone(&session), large.clone());
            async move {
                let told = outbox.update(&session, text(&large, "m"));
                tokio::time::timeout(Duration::from_millis(50), told).await.is_ok()
            }
        };
        while talk(Arc::clone(&outbox)).await {
            said += 1;
        }
        assert!((60..=64).contains(&said), "{said} of 64 KiB are waiting");
        // Reading makes room.
        let (mut reads, writes) = tokio::io::duplex(1 << 16);
        let writer = Arc::clone(&outbox);
        let writing = tokio::spawn(async move { writer.write_all(writes).await });
        let mut bytes = vec![0; 1 << 20];
        reads.read_exact(&mut bytes).await.unwrap();
        assert!(talk(Arc::clone(&outbox)).await);
        while talk(Arc::clone(&outbox)).await {}
        // A reader that goes frees everybody.
        drop(reads);
        writing.await.unwrap();
        assert!(talk(Arc::clone(&outbox)).await);
        assert_eq!(outbox.lock().bytes, 0);
    }
}
