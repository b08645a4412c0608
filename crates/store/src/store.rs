//! The handle that everyone holds: it queues what is to be written and answers queries. It must not know SQL.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use posse_protocol::{Event, Seq, SessionId};
use rusqlite::Connection;

use crate::queue::{Ack, Batch, Queue};
use crate::read::{Reader, Readers};
use crate::writer::Writer;
use crate::{
    AgentRow, Durability, Health, NewEvent, SessionRow, StoreError, connection, delete, health, unrecorded,
};

/// The record. Clones share one writer; when the last one is dropped, what is queued is written and the writer ends.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

/// Owned by all clones of a [`Store`] together.
struct Shared {
    /// None where nothing is recorded.
    record: Option<Record>,
    /// Filled by every clone, emptied by the writer thread, closed when the last clone goes.
    queue: Arc<Queue>,
    /// Joined when the last clone goes; it holds the queue, but never a `Shared`.
    writer: Option<JoinHandle<()>>,
}

/// The database, for those who ask.
struct Record {
    path: PathBuf,
    readers: Readers,
}

impl Store {
    /// Opens the database file, making or migrating it as needed, and starts its writer. A commit counts as done when
    /// it is as durable as asked for.
    ///
    /// `on_commit` is called on the writer's thread for each event once it is on record, in order. It should be
    /// quick, and must not own a `Store`: the record would never close.
    pub fn open(
        path: &Path,
        durability: Durability,
        on_commit: impl Fn(Event) + Send + 'static,
    ) -> Result<Self, StoreError> {
        let connection = connection::open_writer(path, durability)?;
        let mut writer = Writer::new(connection, path.to_path_buf(), on_commit)?;
        let record = Record { path: path.to_path_buf(), readers: Readers::new(path) };
        Self::start(Some(record), move |queue| writer.run(queue))
    }

    /// A store that gives places and publishes, and keeps nothing: to measure what recording costs. Questions are
    /// answered with [`StoreError::Unrecorded`].
    pub fn unrecorded(on_commit: impl Fn(Event) + Send + 'static) -> Result<Self, StoreError> {
        Self::start(None, move |queue| unrecorded::run(queue, on_commit))
    }

    fn start(record: Option<Record>, run: impl FnOnce(&Queue) + Send + 'static) -> Result<Self, StoreError> {
        let queue = Arc::new(Queue::default());
        let source = Arc::clone(&queue);
        let spawned = thread::Builder::new().name("posse-store".to_owned()).spawn(move || run(&source));
        let path = record.as_ref().map(|record| record.path.clone()).unwrap_or_default();
        let thread =
            spawned.map_err(|source| StoreError::Io { what: "start the writer of", path, source })?;
        Ok(Self { shared: Arc::new(Shared { record, queue, writer: Some(thread) }) })
    }

    /// Queues events to be written together, all or none, after everything queued before. Never blocks.
    ///
    /// The first event of a session must be its start; an agent's first is its admission, or its start where it was
    /// not admitted.
    /// What waits while a commit runs goes into one transaction. When too much waits, the batch is refused.
    /// The returned [`Ack`] tells the place of the last event once all are on record, and `Seq(0)` if there are none;
    /// dropping it does not take the events back.
    pub fn append(&self, events: Vec<NewEvent>) -> Ack {
        let (promise, ack) = Ack::pair(Some(Arc::clone(&self.shared.queue)));
        let prepared = match self.shared.record {
            Some(_) => Batch::prepare(events),
            None => Ok(Batch::unwritten(events)),
        };
        match prepared {
            Ok(batch) if batch.is_empty() => promise.keep(Ok(Seq(0))),
            Ok(batch) => self.shared.queue.push(batch, promise),
            Err(error) => promise.keep(Err(error)),
        }
        ack
    }

    /// Waits until everything that was appended before is on record, or could not be.
    pub fn flush(&self) -> Result<(), StoreError> {
        if self.shared.record.is_none() { Ok(()) } else { self.work(|_| Ok(())) }
    }

    /// Does something on the writer's connection, after everything queued before, and waits until it is done.
    ///
    /// A job that writes begins an immediate transaction, which waits for other processes as long as a commit does,
    /// and keeps it short: everything that is appended meanwhile waits for it.
    pub(crate) fn work<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        if self.shared.record.is_none() {
            return Err(StoreError::Unrecorded);
        }
        let (sender, outcome) = mpsc::sync_channel(1);
        self.shared.queue.push_job(Box::new(move |connection| {
            // Nobody has to wait for it.
            let _ = sender.send(job(connection));
        }));
        outcome.recv().unwrap_or(Err(StoreError::Closed))
    }

    /// Asks something on a connection that cannot write.
    pub(crate) fn ask<T>(
        &self,
        question: impl FnOnce(&Reader<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.shared.record.as_ref().ok_or(StoreError::Unrecorded)?.readers.with(question)
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
        self.ask(|reader| reader.events_after(session, after, limit))
    }

    /// The sessions on record, newest first.
    pub fn sessions(&self, limit: usize) -> Result<Vec<SessionRow>, StoreError> {
        self.ask(|reader| reader.sessions(limit))
    }

    /// Sessions in which nothing has happened since a moment, oldest first. None in which something runs.
    pub fn sessions_before(&self, at_ms: u64, limit: usize) -> Result<Vec<SessionRow>, StoreError> {
        self.ask(|reader| reader.sessions_before(at_ms, limit))
    }

    /// The sessions in which something runs as far as the record tells, newest first. The process that ran it may be
    /// gone.
    pub fn unfinished(&self) -> Result<Vec<SessionRow>, StoreError> {
        self.ask(|reader| reader.unfinished())
    }

    /// Forgets a session and everything about it but the notes that were made in it. It may not be running: what
    /// happens in it afterwards is refused.
    pub fn delete_session(&self, session: SessionId) -> Result<(), StoreError> {
        let path = self.path().to_path_buf();
        self.work(move |connection| {
            let deleted = delete::session(connection, session).map_err(|e| StoreError::from_sql(&path, e))?;
            if deleted { Ok(()) } else { Err(StoreError::NoSession { wanted: session.to_string() }) }
        })
    }

    /// The session with this id, the only one whose id begins so, or, for the word `last`, the newest.
    pub fn find_session(&self, wanted: &str) -> Result<SessionRow, StoreError> {
        self.ask(|reader| reader.find_session(wanted))
    }

    /// Whether something of a kind, by its name in the `type` column, happened in a session.
    pub fn has_event(&self, session: SessionId, kind: &str) -> Result<bool, StoreError> {
        self.ask(|reader| reader.has_event(session, kind))
    }

    /// The agents of a session, in the order they came into being: parents before their children.
    pub fn agents(&self, session: SessionId) -> Result<Vec<AgentRow>, StoreError> {
        self.ask(|reader| reader.agents(session))
    }

    /// Looks at a database without changing it. A missing file is an answer, not an error.
    pub fn health(path: &Path) -> Result<Health, StoreError> {
        health::examine(path)
    }

    /// Where the database is; nowhere if nothing is recorded.
    pub fn path(&self) -> &Path {
        self.shared.record.as_ref().map(|record| record.path.as_path()).unwrap_or(Path::new(""))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // The last connection to go moves the log into the database; one that cannot write could not.
        self.record = None;
        self.queue.close();
        let Some(writer) = self.writer.take() else { return };
        // A callback may briefly have held the last clone; the writer cannot wait for itself.
        if writer.thread().id() != thread::current().id() && writer.join().is_err() {
            tracing::error!("the record's writer panicked");
        }
    }
}
