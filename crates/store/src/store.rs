//! The handle that everyone holds: it queues what is to be written and answers queries. It must not know SQL.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use posse_protocol::{AgentId, Event, EventKind, Seq, SessionId};

use crate::queue::{Ack, Batch, Queue};
use crate::read::Readers;
use crate::writer::Writer;
use crate::{AgentRow, Health, SessionRow, StoreError, connection, health};

/// Something that happened and is to go on record. Its place in the session is given by the store.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEvent {
    /// The session.
    pub session: SessionId,
    /// The agent it happened to.
    pub agent: AgentId,
    /// That agent's parent; none for the main agent.
    pub parent: Option<AgentId>,
    /// Milliseconds since 1970, UTC.
    pub at_ms: u64,
    /// What happened.
    pub kind: EventKind,
}

/// The record. Clones share one writer; when the last one is dropped, what is queued is written and the writer ends.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

/// Owned by all clones of a [`Store`] together.
struct Shared {
    path: PathBuf,
    /// Filled by every clone, emptied by the writer thread, closed when the last clone goes.
    queue: Arc<Queue>,
    readers: Readers,
    /// Joined when the last clone goes; it holds the queue, but never a `Shared`.
    writer: Option<JoinHandle<()>>,
}

impl Store {
    /// Opens the database file, making or migrating it as needed, and starts its writer.
    ///
    /// `on_commit` is called on the writer's thread for each event once it is on record, in order. It should be
    /// quick, and must not own a `Store`: the record would never close.
    pub fn open(path: &Path, on_commit: impl Fn(Event) + Send + 'static) -> Result<Self, StoreError> {
        let connection = connection::open_writer(path)?;
        let queue = Arc::new(Queue::default());
        let mut writer = Writer::new(connection, path.to_path_buf(), on_commit);
        let source = Arc::clone(&queue);
        let thread = thread::Builder::new()
            .name("posse-store".to_owned())
            .spawn(move || writer.run(&source))
            .map_err(|source| StoreError::Io {
                what: "start the writer of",
                path: path.to_path_buf(),
                source,
            })?;
        let shared =
            Shared { path: path.to_path_buf(), queue, readers: Readers::new(path), writer: Some(thread) };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Queues events to be written together, all or none, after everything queued before. Never blocks.
    ///
    /// The first event of a session must be its start; an agent's first is its admission, or its start where it was
    /// not admitted.
    /// What waits while a commit runs goes into one transaction. When too much waits, the batch is refused.
    /// The returned [`Ack`] tells the place of the last event once all are on record, and `Seq(0)` if there are none;
    /// dropping it does not take the events back.
    pub fn append(&self, events: Vec<NewEvent>) -> Ack {
        let (promise, ack) = Ack::pair();
        match Batch::prepare(events) {
            Ok(batch) if batch.is_empty() => promise.keep(Ok(Seq(0))),
            Ok(batch) => self.shared.queue.push(batch, promise),
            Err(error) => promise.keep(Err(error)),
        }
        ack
    }

    /// The events of a session after a place, in order: at most `limit`, and fewer where they are large. None means
    /// that there are no more yet.
    ///
    /// A damaged event ends the page before it; as the first of a page it is the error
    /// [`StoreError::DamagedEvent`], and reading can go on after it.
    pub fn events_after(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Event>, StoreError> {
        self.shared.readers.with(|reader| reader.events_after(session, after, limit))
    }

    /// The sessions on record, newest first.
    pub fn sessions(&self, limit: usize) -> Result<Vec<SessionRow>, StoreError> {
        self.shared.readers.with(|reader| reader.sessions(limit))
    }

    /// The session with this id, the only one whose id begins so, or, for the word `last`, the newest.
    pub fn find_session(&self, wanted: &str) -> Result<SessionRow, StoreError> {
        self.shared.readers.with(|reader| reader.find_session(wanted))
    }

    /// The agents of a session, in the order they came into being: parents before their children.
    pub fn agents(&self, session: SessionId) -> Result<Vec<AgentRow>, StoreError> {
        self.shared.readers.with(|reader| reader.agents(session))
    }

    /// Looks at a database without changing it. A missing file is an answer, not an error.
    pub fn health(path: &Path) -> Result<Health, StoreError> {
        health::examine(path)
    }

    /// Where the database is.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.queue.close();
        let Some(writer) = self.writer.take() else { return };
        // A callback may briefly have held the last clone; the writer cannot wait for itself.
        if writer.thread().id() != thread::current().id() && writer.join().is_err() {
            tracing::error!(path = %self.path.display(), "the record's writer panicked");
        }
    }
}
