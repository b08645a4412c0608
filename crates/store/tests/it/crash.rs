//! What is left when the process dies. The files as they are at some moment are exactly what kill -9 leaves behind,
//! so a copy of them is opened in place of the original.

use std::fs;
use std::path::{Path, PathBuf};

use posse_protocol::Seq;
use posse_store::Store;

use crate::fixture::*;

/// Copies the database and the log beside it, of which only the first `log_bytes` are kept.
fn remains(path: &Path, to: &Path, log_bytes: usize) -> PathBuf {
    let copy = to.join("posse.db");
    fs::copy(path, &copy).unwrap();
    let log = fs::read(path.with_extension("db-wal")).unwrap();
    fs::write(to.join("posse.db-wal"), &log[..log_bytes.min(log.len())]).unwrap();
    copy
}

/// Opens what is left, checks that it is whole in itself, and says how many events it holds.
fn recovered(path: &Path, seed: u64) -> u64 {
    let store = quiet(path).unwrap();
    assert_eq!(Store::health(path).unwrap().problem, None, "seed {seed}");
    let events = store.events_after(session(1), Seq(0), 1_000).unwrap();
    let count = events.len() as u64;
    assert!(events.iter().map(|e| e.seq.0).eq(1..=count), "a gap, seed {seed}");
    if let Some(row) = store.sessions(1).unwrap().pop() {
        let turns = count.saturating_sub(2);
        assert_eq!((row.last_seq.0, row.turns), (count, turns), "tables disagree, seed {seed}");
        assert_eq!(wait(store.append(vec![event(1, turn(0))])).unwrap(), Seq(count + 1), "seed {seed}");
    }
    count
}

#[test]
fn what_was_acknowledged_outlives_the_process() {
    const TURNS: u32 = 25;
    let record = record();
    record.put(start(1));
    for n in 1..=TURNS {
        let acknowledged = record.put(vec![event(1, turn(n))]);
        let dir = tempfile::tempdir().unwrap();
        let copy = remains(&record.path, dir.path(), usize::MAX);
        assert_eq!(recovered(&copy, u64::from(n)), acknowledged);
    }
}

#[test]
fn a_torn_log_leaves_a_beginning_without_gaps() {
    const CASES: u64 = 60;
    let record = record();
    record.put(start(1));
    for n in 1..=40 {
        record.put(vec![event(1, turn(n))]);
    }
    let log_bytes = fs::metadata(record.path.with_extension("db-wal")).unwrap().len();
    let mut counts = std::collections::BTreeSet::new();
    for seed in 0..CASES {
        // Spread over the whole log, and never at the same place within a frame.
        let torn_at = log_bytes * seed / CASES + seed * 37 % 4_096;
        let dir = tempfile::tempdir().unwrap();
        let copy = remains(&record.path, dir.path(), usize::try_from(torn_at).unwrap());
        counts.insert(recovered(&copy, seed));
    }
    assert!(counts.len() > 20, "the log was torn at {} different events only", counts.len());
}
