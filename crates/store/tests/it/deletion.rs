//! Forgetting whole sessions.

use std::fs;
use std::path::{Path, PathBuf};

use posse_protocol::Seq;
use rusqlite::Connection;

use crate::fixture::*;

#[test]
fn a_deleted_session_is_gone_from_every_table() {
    let record = record();
    record.put(whole_session(1));
    record.put(tree_session(11));
    let tables = record.rows(
        "SELECT t.name FROM sqlite_schema t, pragma_table_info(t.name) c
         WHERE t.type IN ('table', 'view') AND c.name = 'session_id' AND t.name <> 'memory' ORDER BY 1",
    );
    assert!(tables.len() >= 9, "{tables:?}");
    let left = |n| -> Vec<String> {
        let count = |table: &String| {
            let sql = format!("SELECT count(*) FROM {table} WHERE session_id = '{}'", session(n));
            record.rows(&sql).remove(0)
        };
        tables.iter().map(count).collect()
    };
    let others = left(1);
    assert!(left(11).iter().any(|count| count != "0"));
    let events = || record.rows("SELECT count(*) FROM event_rows").remove(0);
    assert_eq!(events(), "29");
    record.store.delete_session(session(11)).unwrap();
    // Its rows have no session beside their key: none is left that nobody would see.
    assert_eq!(events(), "12");
    assert!(left(11).iter().all(|count| count == "0"), "{tables:?} {:?}", left(11));
    assert_eq!(left(1), others);
    assert_eq!(record.store.events_after(session(11), Seq(0), 10).unwrap(), []);
    let gone = record.store.delete_session(session(11)).unwrap_err().to_string();
    assert!(gone.starts_with("no session is called"), "{gone}");
    let late = record.refused(vec![event(11, turn(9))]);
    assert!(late.contains("is not on record"), "{late}");
    // The id is free again.
    assert_eq!(record.put(start(11)), 2);
}

#[test]
fn a_deletion_comes_after_what_was_appended_before_it() {
    let record = record();
    let acks: Vec<_> = (1..=50).map(|n| record.store.append(start(n))).collect();
    record.store.delete_session(session(50)).unwrap();
    assert!(acks.into_iter().all(|ack| wait(ack).is_ok()));
    assert_eq!(record.store.sessions(100).unwrap().len(), 49);
}

/// The log beside a database.
fn log_of(path: &Path) -> PathBuf {
    path.with_extension("db-wal")
}

/// How often a text is in the database's files.
fn traces(path: &Path, text: &str) -> usize {
    let read = |path: &Path| fs::read(path).unwrap_or_default();
    let count = |bytes: Vec<u8>| bytes.windows(text.len()).filter(|part| *part == text.as_bytes()).count();
    count(read(path)) + count(read(&log_of(path)))
}

#[test]
fn what_was_deleted_is_in_no_file_after_tidying() {
    let record = record();
    record.put(whole_session(1));
    for n in [11, 21] {
        record.put(tree_session(n));
        // Small and large, in events, in texts that are kept once, in prompts and in the search index.
        let words: Vec<_> = (0..200).map(|i| event(n, told(&format!("qxzsecret{n} {i}")))).collect();
        record.put(words);
        record.put(vec![event(n, told(&format!("qxzsecret{n} ").repeat(100_000)))]);
    }
    record.store.search("qxzsecret21", 1).unwrap();
    assert!(traces(&record.path, "qxzsecret21") > 100_000);
    let bytes = || fs::metadata(&record.path).unwrap().len();
    record.store.tidy().unwrap();
    let before = bytes();
    assert!(traces(&record.path, "xzsecret21") > 100_000, "what is on record stays");
    record.store.delete_session(session(21)).unwrap();
    record.store.tidy().unwrap();
    // The index keeps only the end of a word whose beginning is that of the word before.
    for text in ["qxzsecret21", "xzsecret21"] {
        assert_eq!(traces(&record.path, text), 0, "{text}");
    }
    assert!(traces(&record.path, "qxzsecret11") > 100_000);
    assert!(bytes() < before * 3 / 4, "{} of {before} bytes", bytes());
    assert_eq!(fs::metadata(log_of(&record.path)).map_or(0, |file| file.len()), 0);
    // The record goes on as before.
    assert_eq!(record.rows("PRAGMA integrity_check"), ["ok"]);
    assert_eq!(record.store.search("qxzsecret21", 10).unwrap(), []);
    assert_eq!(record.put(vec![event(1, turn(3))]), 13);
}

#[test]
fn a_small_deletion_leaves_the_file_its_size_but_no_text() {
    let record = record();
    record.put(whole_session(1));
    record.put(start(2));
    record.put(vec![event(2, told("qxzsecret"))]);
    record.store.tidy().unwrap();
    let before = fs::metadata(&record.path).unwrap().len();
    assert!(traces(&record.path, "qxzsecret") > 0);
    record.store.delete_session(session(2)).unwrap();
    record.store.tidy().unwrap();
    assert_eq!(traces(&record.path, "qxzsecret"), 0);
    assert_eq!(fs::metadata(&record.path).unwrap().len(), before);
}

#[test]
fn tidying_gives_way_to_whoever_uses_the_database() {
    let record = record();
    record.put(whole_session(1));
    let reader = Connection::open(&record.path).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM events").unwrap();
    record.put(start(2));
    record.store.tidy().unwrap();
    assert_eq!(record.put(vec![event(2, turn(1))]), 3);
    reader.execute_batch("COMMIT; BEGIN IMMEDIATE").unwrap();
    record.store.tidy().unwrap();
    reader.execute_batch("COMMIT").unwrap();
    assert_eq!(record.put(vec![event(2, turn(2))]), 4);
}
