//! The one writer: takes what waits, commits it, and only then publishes and keeps promises. It must not know what
//! the events mean.

use std::path::PathBuf;

use posse_protocol::{Event, Seq};
use rusqlite::{Connection, TransactionBehavior};

use crate::log::WalLog;
use crate::queue::{Queue, Waiting, WriterStep};
use crate::{StoreError, project};

/// Owns the only connection that writes; lives on its own thread until the queue is closed and empty.
pub(crate) struct Writer<F> {
    connection: Connection,
    path: PathBuf,
    log: WalLog,
    on_commit: F,
}

/// Breaks the promises that are left when the writer ends, however it ends.
struct Abandon<'a>(&'a Queue);

impl Drop for Abandon<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl<F: Fn(Event)> Writer<F> {
    pub(crate) fn new(mut connection: Connection, path: PathBuf, on_commit: F) -> Result<Self, StoreError> {
        let log = WalLog::watch(&mut connection, &path).map_err(|e| StoreError::from_sql(&path, e))?;
        Ok(Self { connection, path, log, on_commit })
    }

    /// Works until the queue is closed and empty.
    pub(crate) fn run(&mut self, queue: &Queue) {
        let _abandon = Abandon(queue);
        loop {
            match queue.take() {
                WriterStep::Commit(waiting) => self.write(waiting),
                WriterStep::Work(job) => job(&mut self.connection),
                WriterStep::End => return,
            }
            self.log.tend(&self.connection);
        }
    }

    /// One transaction for all. If it fails, one for each, so that one bad batch fails alone.
    fn write(&mut self, mut waiting: Vec<Waiting>) {
        match self.commit(&waiting) {
            Ok(places) => {
                for (Waiting { batch, promise }, seqs) in waiting.into_iter().zip(places) {
                    batch.publish(&seqs, &self.on_commit);
                    promise.keep(Ok(seqs.last().copied().unwrap_or_default()));
                }
            }
            // Whoever holds the lock holds it for each of them: waiting once is enough.
            Err(StoreError::Locked { path }) => {
                for Waiting { promise, .. } in waiting {
                    promise.keep(Err(StoreError::Locked { path: path.clone() }));
                }
            }
            Err(error) => match waiting.pop() {
                Some(only) if waiting.is_empty() => only.promise.keep(Err(error)),
                last => waiting.into_iter().chain(last).for_each(|one| self.write(vec![one])),
            },
        }
    }

    fn commit(&mut self, waiting: &[Waiting]) -> Result<Vec<Vec<Seq>>, StoreError> {
        let path = &self.path;
        let sql = |e| StoreError::from_sql(path, e);
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let places = project::record(&transaction, path, waiting)?;
        transaction.commit().map_err(sql)?;
        Ok(places)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use posse_protocol::EventKind;

    use super::*;
    use crate::connection::open_writer;
    use crate::queue::{Ack, Batch};
    use crate::{Durability, NewEvent};

    fn told(text_bytes: usize) -> NewEvent {
        let text = "x".repeat(text_bytes);
        event(EventKind::told(posse_protocol::Sender::Person, text))
    }

    fn event(kind: EventKind) -> NewEvent {
        let id = "00000000-0000-7000-8000-000000000001";
        NewEvent { session: id.parse().unwrap(), agent: id.parse().unwrap(), parent: None, at_ms: 0, kind }
    }

    fn start() -> Vec<NewEvent> {
        vec![
            event(EventKind::SessionStarted {
                workspace: "/w".into(),
                version: "0".into(),
                sandboxed: true,
                project: "/w".into(),
                surface: String::new(),
                coordinator: false,
                team: false,
                traceparent: None,
            }),
            event(EventKind::AgentStarted {
                role: "main".into(),
                depth: 0,
                model: "m".into(),
                model_id: "m-1".into(),
                budget: posse_protocol::Budget::UNLIMITED,
                grant: posse_protocol::Grant::none(),
                system: "s".into(),
                checkout: None,
            }),
        ]
    }

    /// SQLite's own page limit makes a full disk that every machine has; `tests/it/disk.rs` fills a real one.
    #[test]
    fn a_full_disk_fails_what_does_not_fit_and_passes_when_there_is_room() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("posse.db");
        let published = Rc::new(Cell::new(0));
        let counter = Rc::clone(&published);
        let on_commit = move |_| counter.set(counter.get() + 1);
        let mut writer =
            Writer::new(open_writer(&path, Durability::Process).unwrap(), path, on_commit).unwrap();
        let mut write = |batches: Vec<Vec<NewEvent>>, pages_max: u32| {
            writer.connection.pragma_update(None, "max_page_count", pages_max).unwrap();
            let (waiting, acks): (Vec<Waiting>, Vec<Ack>) = batches
                .into_iter()
                .map(|events| {
                    let (promise, ack) = Ack::pair(None);
                    (Waiting { batch: Batch::prepare(events).unwrap(), promise }, ack)
                })
                .unzip();
            writer.write(waiting);
            acks.into_iter()
                .map(Ack::now)
                .map(|outcome| outcome.map_err(|e| e.to_string()))
                .collect::<Vec<_>>()
        };
        assert_eq!(write(vec![start()], 1_000_000), [Ok(Seq(2))]);
        let outcomes = write(vec![vec![told(10)], vec![told(2_000_000)], vec![told(10)]], 100);
        assert_eq!(outcomes[0], Ok(Seq(3)));
        let error = outcomes[1].as_ref().unwrap_err();
        assert!(error.ends_with("is full; make room and try again"), "{error}");
        assert_eq!(outcomes[2], Ok(Seq(4)));
        assert_eq!(published.get(), 4);
        assert_eq!(write(vec![vec![told(2_000_000)]], 1_000_000), [Ok(Seq(5))]);
        assert_eq!(published.get(), 5);
    }
}
