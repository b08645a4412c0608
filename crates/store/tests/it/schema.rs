//! Formats, migrations and what the database itself forbids.

use posse_store::{Health, Store, StoreError};
use rusqlite::Connection;

use crate::fixture::*;

#[test]
fn a_newer_record_is_refused_and_left_alone() {
    let record = record();
    drop(record.store);
    Connection::open(&record.path).unwrap().pragma_update(None, "user_version", 7).unwrap();
    for error in [Store::open(&record.path, |_| ()).err().unwrap(), Store::health(&record.path).unwrap_err()]
    {
        assert!(matches!(error, StoreError::TooNew { found: 7, known: 1, .. }), "{error:?}");
        assert!(
            error.to_string().contains("written by a newer posse (its format is 7, this one knows up to 1)")
        );
    }
    assert_eq!(rows(&Connection::open(&record.path).unwrap(), "PRAGMA user_version"), ["7"]);
}

#[test]
fn a_database_of_another_program_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("posse.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = Store::open(&path, |_| ()).err().unwrap();
    assert_eq!(
        error.to_string(),
        format!("{} is a database of another program; use another --data-dir", path.display())
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn many_can_open_a_new_record_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("posse.db");
    std::thread::scope(|scope| {
        for n in 1..=8 {
            let path = &path;
            scope.spawn(move || {
                let store = Store::open(path, |_| ()).unwrap();
                wait(store.append(whole_session(n))).unwrap();
            });
        }
    });
    assert_eq!(Store::open(&path, |_| ()).unwrap().sessions(100).unwrap().len(), 8);
}

#[test]
fn events_cannot_be_changed_but_a_session_can_go() {
    let record = record();
    record.put(whole_session(1));
    record.put(whole_session(2));
    let other = Connection::open(&record.path).unwrap();
    other.pragma_update(None, "foreign_keys", true).unwrap();
    let same = session(1);
    let cases = [
        ("UPDATE events SET body = '{}' WHERE seq = 3".to_owned(), "events are append-only"),
        (
            "DELETE FROM events WHERE seq = 12".to_owned(),
            "events are append-only; delete the whole session instead",
        ),
        (insert("INSERT", &same.to_string(), 14), "the event is not the next of its session"),
        (insert("INSERT OR REPLACE", &same.to_string(), 12), "the event is not the next of its session"),
        (insert("INSERT", "nobody", 1), "the event is not the next of its session"),
    ];
    assert_eq!(cases.len(), 5);
    for (sql, reason) in cases {
        assert_eq!(other.execute_batch(&sql).unwrap_err().to_string(), reason, "{sql}");
    }
    other.execute("DELETE FROM sessions WHERE id = ?1", [same.to_string()]).unwrap();
    let left = record.rows(
        "SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM agents), (SELECT count(*) FROM messages),
                (SELECT count(*) FROM tool_calls), (SELECT count(*) FROM sessions)",
    );
    assert_eq!(left, ["12|1|1|1|1"]);
    assert_eq!(record.put(vec![event(2, turn(3))]), 13);
}

fn insert(verb: &str, session: &str, seq: u32) -> String {
    format!(
        "{verb} INTO events (session_id, seq, agent_id, at_ms, type, body) VALUES ('{session}', {seq}, 'a', 0, 't', '{{}}')"
    )
}

#[test]
fn health_tells_what_is_there_without_changing_it() {
    let record = record();
    let missing = record.dir.path().join("other.db");
    let nothing = Health {
        exists: false,
        bytes: 0,
        schema_version: 0,
        schema_current: 1,
        journal_mode: String::new(),
        problem: None,
    };
    assert_eq!(Store::health(&missing).unwrap(), nothing);
    assert!(!missing.exists());
    record.put(whole_session(1));
    drop(record.store);
    let health = Store::health(&record.path).unwrap();
    let bytes = std::fs::metadata(&record.path).unwrap().len();
    assert_eq!(
        health,
        Health { exists: true, bytes, schema_version: 1, journal_mode: "wal".into(), ..nothing }
    );
    assert!(Store::health(record.dir.path()).unwrap_err().to_string().contains("directory"));
}
