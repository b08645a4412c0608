//! Order, gaps, acknowledgement and publication.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use posse_protocol::{Event, Seq};
use posse_store::{Durability, Store, StoreError, limits};

use crate::fixture::*;

/// Long enough for any machine; only a hang reaches it.
const HANG: Duration = Duration::from_secs(60);

#[test]
fn eight_appenders_leave_no_gap_and_keep_their_order() {
    const APPENDERS: u32 = 8;
    const BATCHES: u32 = 50;
    let record = record();
    record.put(start(1));
    thread::scope(|scope| {
        for appender in 0..APPENDERS {
            let store = record.store.clone();
            scope.spawn(move || {
                let acks: Vec<_> = (0..BATCHES)
                    .map(|n| {
                        let number = appender * BATCHES + n;
                        store.append(vec![event(1, turn(number)), event(1, turn(number))])
                    })
                    .collect();
                let places: Vec<Seq> = acks.into_iter().map(|ack| wait(ack).unwrap()).collect();
                assert!(places.is_sorted_by(|a, b| a < b), "acks of one appender: {places:?}");
            });
        }
    });
    let events = record.store.events_after(session(1), Seq(0), usize::MAX).unwrap();
    let total = u64::from(2 + APPENDERS * BATCHES * 2);
    assert_eq!(events.iter().map(|e| e.seq.0).collect::<Vec<_>>(), (1..=total).collect::<Vec<_>>());
    assert_eq!(*record.seen.lock().unwrap(), events, "published in the order of the record");
    // The two events of a batch stand side by side.
    assert!(events[2..].chunks(2).all(|pair| pair[0].kind == pair[1].kind));
    assert_eq!(record.rows("SELECT turns, last_seq FROM sessions"), [format!("800|{total}")]);
}

#[test]
fn an_event_is_on_record_before_it_is_published_and_published_before_it_is_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("posse.db");
    let other = path.clone();
    let (sender, found) = mpsc::channel();
    let store = Store::open(&path, Durability::Process, move |event: Event| {
        let reader = rusqlite::Connection::open(&other).unwrap();
        let sql = format!("SELECT type, seq FROM events WHERE seq = {}", event.seq.0);
        sender.send(rows(&reader, &sql)).unwrap();
    })
    .unwrap();
    assert_eq!(wait(store.append(start(1))).unwrap(), Seq(2));
    let found: Vec<_> = found.try_iter().collect();
    assert_eq!(found, [vec!["session_started|1".to_owned()], vec!["agent_started|2".to_owned()]]);
}

/// A record whose writer stands still inside a commit's publication until told to go on.
struct Held {
    store: Store,
    go_on: mpsc::Sender<()>,
    seen: Arc<Mutex<Vec<Event>>>,
    _dir: tempfile::TempDir,
}

fn held_after_start() -> Held {
    let dir = tempfile::tempdir().unwrap();
    let seen: Arc<Mutex<Vec<Event>>> = Arc::default();
    let (reached, at_hold) = mpsc::channel();
    let (go_on, wait_here) = mpsc::channel();
    let published = Arc::clone(&seen);
    let store = Store::open(&dir.path().join("posse.db"), Durability::Process, move |event: Event| {
        let first = event.seq == Seq(1);
        published.lock().unwrap().push(event);
        if first {
            reached.send(()).unwrap();
            wait_here.recv_timeout(HANG).unwrap();
        }
    })
    .unwrap();
    drop(store.append(start(1)));
    at_hold.recv_timeout(HANG).unwrap();
    Held { store, go_on, seen, _dir: dir }
}

#[test]
fn a_bad_batch_fails_alone_among_those_committed_together() {
    let held = held_after_start();
    // All five wait while the writer stands still, and so go into one transaction.
    let acks = [
        held.store.append(vec![event(1, turn(1))]),
        held.store.append(vec![event(1, turn(2)), event(99, turn(2))]),
        held.store.append(vec![event(1, turn(3))]),
        held.store.append(start(1)),
        held.store.append(vec![event(1, turn(4))]),
    ];
    held.go_on.send(()).unwrap();
    let outcomes = acks.map(|ack| wait(ack).map_err(|e| e.to_string()));
    let expected = [
        Ok(Seq(3)),
        Err(format!("session {} is not on record: its first event must be its start", session(99))),
        Ok(Seq(4)),
        Err(format!("session {} is on record already", session(1))),
        Ok(Seq(5)),
    ];
    assert_eq!(outcomes, expected);
    let seen: Vec<_> = held.seen.lock().unwrap().iter().map(|e| e.kind.clone()).collect();
    assert_eq!(seen[2..], [turn(1), turn(3), turn(4)], "nothing of the bad batch was published");
}

#[test]
fn too_much_waiting_is_refused_and_passes() {
    let held = held_after_start();
    let full = held.store.append(vec![event(1, turn(1)); limits::QUEUE_EVENTS_MAX]);
    let over = held.store.append(vec![event(1, turn(2))]);
    assert_eq!(
        wait(over).unwrap_err().to_string(),
        "the record cannot keep up: 20000 events wait to be written; wait for some of them first"
    );
    held.go_on.send(()).unwrap();
    assert_eq!(wait(full).unwrap(), Seq(20_002));
    assert_eq!(wait(held.store.append(vec![event(1, turn(2))])).unwrap(), Seq(20_003));
}

#[test]
fn dropping_the_last_clone_writes_what_waits() {
    let record = record();
    let clone = record.store.clone();
    drop(record.store);
    let acks = [clone.append(start(1)), clone.append(vec![event(1, turn(1))])];
    drop(clone);
    // No waiting: the drop itself has written everything.
    assert_eq!(acks.map(|ack| wait(ack).unwrap()), [Seq(2), Seq(3)]);
    let store = open(&record.path, &record.seen);
    assert_eq!(store.events_after(session(1), Seq(0), 10).unwrap().len(), 3);
    drop(store);
    drop(record.dir);
}

#[test]
fn a_reopened_record_goes_on_where_it_was() {
    let record = record();
    record.put(whole_session(1));
    let before = record.store.events_after(session(1), Seq(0), 100).unwrap();
    drop(record.store);
    let store = open(&record.path, &Arc::default());
    assert_eq!(store.events_after(session(1), Seq(0), 100).unwrap(), before);
    assert_eq!(wait(store.append(vec![event(1, told("again"))])).unwrap(), Seq(13));
}

#[test]
fn two_stores_on_one_file_share_one_session_without_gaps() {
    const EACH: u32 = 100;
    let record = record();
    record.put(start(1));
    let second = open(&record.path, &Arc::default());
    thread::scope(|scope| {
        for store in [&record.store, &second] {
            scope.spawn(move || {
                for n in 0..EACH {
                    wait(store.append(vec![event(1, turn(n))])).unwrap();
                }
            });
        }
    });
    let total = u64::from(2 + 2 * EACH);
    let places: Vec<u64> =
        second.events_after(session(1), Seq(0), 1_000).unwrap().iter().map(|e| e.seq.0).collect();
    assert_eq!(places, (1..=total).collect::<Vec<_>>());
    // Each published only its own, in order.
    let seen: Vec<u64> = record.seen.lock().unwrap().iter().map(|e| e.seq.0).collect();
    assert!(seen.is_sorted() && seen.len() == 2 + EACH as usize, "{seen:?}");
}

#[test]
fn a_callback_that_panics_closes_the_record_instead_of_hanging_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("posse.db"), Durability::Process, |event| {
        assert_ne!(event.seq, Seq(1), "this panic is part of the test");
    })
    .unwrap();
    assert!(matches!(wait(store.append(start(1))), Err(StoreError::Closed)));
    assert!(matches!(wait(store.append(vec![event(1, turn(1))])), Err(StoreError::Closed)));
    // What was committed is still there to be read.
    assert_eq!(store.events_after(session(1), Seq(0), 10).unwrap().len(), 2);
}

#[test]
fn events_that_cannot_be_recorded_are_refused_with_the_reason() {
    let record = record();
    record.put(start(1));
    let stranger = posse_store::NewEvent { agent: agent(7), ..event(1, turn(1)) };
    let huge = told(&"x".repeat(limits::EVENT_BYTES_MAX));
    let cases = [
        (
            vec![event(2, turn(1))],
            format!("session {} is not on record: its first event must be its start", session(2)),
        ),
        (
            vec![stranger],
            format!(
                "agent {} is not on record: its admission or its start must come before its other events",
                agent(7)
            ),
        ),
        (start(1), format!("session {} is on record already", session(1))),
        (vec![event(1, huge)], "an event of type told has 33554473 bytes; the limit is 33554432".to_owned()),
    ];
    assert_eq!(cases.len(), 4);
    for (events, reason) in cases {
        assert_eq!(record.refused(events), reason);
    }
    assert_eq!(record.put(vec![]), 0, "nothing to record is nothing refused");
    assert_eq!(record.put(vec![event(1, turn(1))]), 3);
}
