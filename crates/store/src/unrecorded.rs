//! A writer that gives places and publishes, and keeps nothing: what recording costs is measured against it. It must
//! not know the database.

use std::collections::HashMap;

use posse_protocol::{Event, Seq, SessionId};

use crate::queue::{Queue, Waiting, WriterStep};

/// Works until the queue is closed and empty.
pub(crate) fn run(queue: &Queue, on_commit: impl Fn(Event)) {
    let mut last: HashMap<SessionId, u64> = HashMap::new();
    loop {
        let waiting = match queue.take() {
            WriterStep::Commit(waiting) => waiting,
            // Whoever asked is told by its end being dropped.
            WriterStep::Work(_) => continue,
            WriterStep::End => return,
        };
        for Waiting { batch, promise } in waiting {
            let mut next = |session| {
                let last = last.entry(session).or_default();
                *last += 1;
                Seq(*last)
            };
            let seqs: Vec<Seq> = batch.events.iter().map(|one| next(one.event.session)).collect();
            batch.publish(&seqs, &on_commit);
            promise.keep(Ok(seqs.last().copied().unwrap_or_default()));
        }
    }
}
