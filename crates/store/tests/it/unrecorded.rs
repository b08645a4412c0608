//! A store that keeps nothing.

use std::sync::{Arc, Mutex};

use posse_protocol::{Event, Seq};
use posse_store::{Store, StoreError};

use crate::fixture::*;

#[test]
fn places_are_given_and_events_published_but_nothing_is_kept() {
    let seen: Arc<Mutex<Vec<Event>>> = Arc::default();
    let published = Arc::clone(&seen);
    let store = Store::unrecorded(move |event| published.lock().unwrap().push(event)).unwrap();
    assert_eq!(wait(store.append(start(1))).unwrap(), Seq(2));
    assert_eq!(wait(store.append(start(2))).unwrap(), Seq(2));
    assert_eq!(wait(store.append(vec![event(1, turn(1))])).unwrap(), Seq(3));
    let places: Vec<_> = seen.lock().unwrap().iter().map(|e| (e.session, e.seq.0)).collect();
    assert_eq!(places, [(session(1), 1), (session(1), 2), (session(2), 1), (session(2), 2), (session(1), 3)]);
    store.flush().unwrap();
    let outcomes = [
        store.events_after(session(1), Seq(0), 10).err(),
        store.sessions(10).err(),
        store.find_session("last").err(),
        store.agents(session(1)).err(),
        store.unfinished().err(),
        store.sessions_before(0, 1).err(),
        store.delete_session(session(1)).err(),
    ];
    assert_eq!(outcomes.len(), 7);
    for outcome in outcomes {
        assert!(matches!(outcome, Some(StoreError::Unrecorded)), "{outcome:?}");
    }
    assert_eq!(store.path(), std::path::Path::new(""));
}
