//! Files that are not, or no longer, a record.

use std::fs;
use std::path::Path;

use posse_store::{Store, StoreError};

use crate::fixture::*;

fn open_error(path: &Path) -> String {
    match quiet(path) {
        Ok(_) => "opened".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// A seeded generator is enough for bytes that mean nothing.
fn noise(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}

fn filled() -> (tempfile::TempDir, std::path::PathBuf) {
    let record = record();
    for n in 1..=20 {
        record.put(whole_session(n));
    }
    let (path, dir) = (record.path.clone(), record.dir);
    drop(record.store);
    (dir, path)
}

#[test]
fn damaged_files_are_named_as_such_and_left_alone() {
    let truncated = |part: f64| {
        let (_dir, path) = filled();
        let bytes = fs::read(path).unwrap();
        bytes[..(bytes.len() as f64 * part) as usize].to_vec()
    };
    let cases = [
        ("noise of a page", noise(1, 4096)),
        ("noise of many pages", noise(2, 100_000)),
        ("text", b"this is not a database, it only looks like a file\n".repeat(40)),
        ("a third of the record", truncated(0.33)),
        ("nine tenths of the record", truncated(0.9)),
        ("header only", truncated(0.001)),
    ];
    let mut ran = 0;
    for (name, bytes) in cases {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("posse.db");
        fs::write(&path, &bytes).unwrap();
        let error = open_error(&path);
        let begin = format!("the record {} is damaged (", path.display());
        assert!(error.starts_with(&begin) && error.contains("move it aside"), "{name}: {error}");
        assert!(matches!(Store::health(&path), Err(StoreError::Damaged { .. })), "{name}");
        assert!(fs::read(&path).unwrap() == bytes, "{name}: the file was changed");
        ran += 1;
    }
    assert_eq!(ran, 6);
}

#[test]
fn an_empty_file_becomes_a_record() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("posse.db");
    fs::write(&path, b"").unwrap();
    let store = quiet(&path).unwrap();
    assert_eq!(wait(store.append(start(1))).unwrap().0, 2);
}

#[test]
fn paths_that_cannot_be_a_record_say_why() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("folder");
    fs::create_dir(&folder).unwrap();
    let missing = dir.path().join("no/such/posse.db");
    let below_file = dir.path().join("file/posse.db");
    fs::write(dir.path().join("file"), b"").unwrap();
    let cases = [(&folder, "Is a directory"), (&missing, "No such file"), (&below_file, "Not a directory")];
    assert_eq!(cases.len(), 3);
    for (path, reason) in cases {
        let error = open_error(path);
        assert!(error.starts_with(&format!("cannot open {}: {reason}", path.display())), "{error}");
    }
}

#[test]
fn one_damaged_event_does_not_hide_the_others() {
    let record = record();
    record.put(whole_session(1));
    let vandal = rusqlite::Connection::open(&record.path).unwrap();
    vandal
        .execute_batch(&format!(
            "DROP TRIGGER event_rows_never_change; UPDATE event_rows SET body = '{{' WHERE {SEQ} = 4"
        ))
        .unwrap();
    let read = |after| record.store.events_after(session(1), posse_protocol::Seq(after), 100);
    assert_eq!(read(0).unwrap().len(), 3, "the page ends before the damage");
    let error = read(3).unwrap_err().to_string();
    assert!(error.starts_with(&format!("event 4 of session {} cannot be read", session(1))), "{error}");
    assert_eq!(read(4).unwrap().len(), 8);
    assert_eq!(record.put(vec![event(1, turn(3))]), 13);
}

/// Random bytes anywhere in a good file: whatever is noticed is an error, and nothing panics or hangs.
#[test]
fn random_damage_never_panics() {
    const CASES: u64 = 60;
    let (_dir, good) = filled();
    let good = fs::read(good).unwrap();
    let (mut opened, mut refused) = (0, 0);
    for seed in 0..CASES {
        let mut bytes = good.clone();
        let mut places = noise(seed + 100, 64 * 4).into_iter().map(usize::from);
        for _ in 0..32 {
            let place = places.by_ref().take(3).fold(0, |n, byte| n * 256 + byte) % bytes.len();
            bytes[place] ^= 0xff;
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("posse.db");
        fs::write(&path, bytes).unwrap();
        let Ok(store) = quiet(&path) else {
            refused += 1;
            continue;
        };
        opened += 1;
        let _ = wait(store.append(start(500)));
        let _ = store.sessions(100);
        let _ = store.find_session("last");
        let _ = store.agents(session(1));
        let _ = store.events_after(session(1), posse_protocol::Seq(0), 100);
        let _ = Store::health(&path);
    }
    assert_eq!(opened + refused, CASES);
}
