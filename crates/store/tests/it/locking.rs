//! Other programs that hold the file.

use posse_protocol::Seq;
use posse_store::{StoreError, limits};
use rusqlite::Connection;

use crate::fixture::*;

#[test]
fn a_locked_record_cannot_be_opened_and_says_so() {
    let record = record();
    record.put(start(1));
    drop(record.store);
    let holder = Connection::open(&record.path).unwrap();
    holder.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
    let error = quiet(&record.path).err().expect("it is locked");
    assert!(matches!(error, StoreError::Locked { .. }), "{error:?}");
    let begin = format!("the record {} is locked by another program; close", record.path.display());
    assert!(error.to_string().starts_with(&begin), "{error}");
    drop(holder);
    let store = quiet(&record.path).unwrap();
    assert_eq!(wait(store.append(vec![event(1, turn(1))])).unwrap(), Seq(3));
}

#[test]
fn a_commit_waits_for_others_fails_when_they_never_end_and_works_again() {
    let record = record();
    record.put(start(1));
    let holder = Connection::open(&record.path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    // Whether the writer takes them together or one after the other, each waits once.
    let acks = [record.store.append(vec![event(1, turn(1))]), record.store.append(vec![event(1, turn(2))])];
    // Readers do not care.
    assert_eq!(record.store.events_after(session(1), Seq(0), 10).unwrap().len(), 2);
    for ack in acks {
        assert!(matches!(wait(ack), Err(StoreError::Locked { .. })));
    }
    let late = record.store.append(vec![event(1, turn(3))]);
    std::thread::sleep(std::time::Duration::from_millis(limits::COMMIT_WAIT_MS_MAX / 20));
    holder.execute_batch("COMMIT").unwrap();
    assert_eq!(wait(late).unwrap(), Seq(3), "a short wait is no error");
}

#[test]
fn a_long_reader_does_not_hold_up_the_writer() {
    let record = record();
    record.put(start(1));
    let reader = Connection::open(&record.path).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    assert_eq!(rows(&reader, "SELECT count(*) FROM events"), ["2"]);
    assert_eq!(record.put(vec![event(1, turn(1))]), 3);
    assert_eq!(rows(&reader, "SELECT count(*) FROM events"), ["2"], "the reader's view stays as it was");
}
