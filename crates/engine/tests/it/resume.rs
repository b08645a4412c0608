//! Sessions that go on from their record. A crash is a record that ends: the events up to some point are put into a new
//! database, which is then resumed. The model answers by what it is told, so a run without a crash is the measure.
//!
//! `POSSE_SOAK=1` crashes as often as promised for soaking; `POSSE_SEED=17` runs one random session.

mod again;
mod crashing;
mod detached;
mod every_step;
mod every_step_outside;
mod narrowed;
mod open_sessions;
mod outcome;
mod play;
mod random;
mod words;

use std::sync::OnceLock;

use posse_engine::{Engine, Session};
use posse_protocol::{Event, Seq, SessionId};
use posse_store::{Durability, NewEvent, Store};

use crate::check::{Ran, finish};
use play::Play;

/// A database without anything in it: making the tables again and again takes long.
static EMPTY: OnceLock<Vec<u8>> = OnceLock::new();

fn empty() -> Vec<u8> {
    let data = tempfile::tempdir().unwrap();
    let path = posse_store::prepare_data_dir(data.path()).unwrap();
    drop(Store::open(&path, Durability::Process, |_| {}).unwrap());
    std::fs::read(path).unwrap()
}

/// The record of a crash: the first events of a session in a database of their own.
struct Crashed {
    session: SessionId,
    engine: Engine,
    data: tempfile::TempDir,
}

impl Crashed {
    fn after(events: &[Event]) -> Self {
        let data = tempfile::tempdir().unwrap();
        {
            let path = posse_store::prepare_data_dir(data.path()).unwrap();
            std::fs::write(&path, EMPTY.get_or_init(empty)).unwrap();
            let store = Store::open(&path, Durability::Process, |_| {}).unwrap();
            let new = |event: &Event| NewEvent {
                session: event.session,
                agent: event.agent,
                parent: event.parent,
                at_ms: event.at_ms,
                kind: event.kind.clone(),
            };
            drop(store.append(events.iter().map(new).collect()));
            store.flush().unwrap();
        }
        let engine = Engine::open(data.path()).unwrap();
        Self { session: events[0].session, engine, data }
    }

    async fn resume(&self, play: &Play, prompt: &str) -> Session {
        self.engine.resume(self.session, play.request(prompt)).await.unwrap()
    }

    /// Goes on to the end.
    async fn run(&self, play: &Play) -> Ran {
        finish(self.resume(play, "").await).await
    }

    fn events(&self) -> Vec<Event> {
        self.engine.events_after(self.session, Seq(0), 10_000).unwrap()
    }
}
