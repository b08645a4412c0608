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
        assert!(matches!(error, StoreError::TooNew { found: 7, known: 2, .. }), "{error:?}");
        assert!(
            error.to_string().contains("written by a newer posse (its format is 7, this one knows up to 2)")
        );
    }
    assert_eq!(rows(&Connection::open(&record.path).unwrap(), "PRAGMA user_version"), ["7"]);
}

/// A record of the first format, as the first Posse left it.
const FIRST_FORMAT: &str = include_str!("../../src/migrations/0001_record.sql");

#[test]
fn a_record_of_the_first_format_is_migrated_with_all_that_is_in_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("posse.db");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(FIRST_FORMAT).unwrap();
    old.pragma_update(None, "user_version", 1).unwrap();
    old.pragma_update(None, "application_id", 0x504f_5353).unwrap();
    let (id, child) = (session(1), agent(2));
    old.execute_batch(&format!(
        "INSERT INTO sessions (id, started_at_ms, last_at_ms, last_seq, workspace, version)
           VALUES ('{id}', 5, 9, 1, '/w', '0.1.0');
         INSERT INTO events (session_id, seq, agent_id, at_ms, type, body)
           VALUES ('{id}', 1, '{id}', 5, 'session_started',
                   '{{\"type\":\"session_started\",\"workspace\":\"/w\",\"version\":\"0.1.0\"}}');
         INSERT INTO agents (session_id, id, parent_id, role, depth, status, model, model_id, system_prompt_id,
           budget_turns, started_at_ms, last_at_ms, ended_at_ms, duration_ms, turns, retries, compactions, tool_calls,
           input_tokens, output_tokens, cost_usd, error, message_id)
         VALUES ('{id}', '{id}', NULL, 'main', 0, 'completed', 'local', 'coder', 'p', 40, 5, 9, 9, 4, 3, 1, 2, 7,
                 100, 20, 0.5, 'oops', 11),
                ('{id}', '{child}', '{id}', 'explore', 1, 'running', 'local', 'coder', 'p', NULL, 6, 7, NULL, NULL, 1, 0,
                 0, 0, NULL, NULL, NULL, NULL, NULL);"
    ))
    .unwrap();
    drop(old);
    let store = Store::open(&path, |_| ()).unwrap();
    let found = rows(
        &Connection::open(&path).unwrap(),
        "SELECT name, role, depth, status, model, model_id, system_prompt_id, budget_turns, started_at_ms, last_at_ms,
                ended_at_ms, duration_ms, turns, retries, compactions, tool_calls, input_tokens, output_tokens,
                cost_usd, error, message_id, title, requested_model, context_mode, continues_id, queued_at_ms,
                delivered_at_ms FROM agents ORDER BY rowid",
    );
    let expected = [
        "main|main|0|completed|local|coder|p|40|5|9|9|4|3|1|2|7|100|20|0.5|oops|11|-|-|-|-|-|-",
        "explore|explore|1|running|local|coder|p|-|6|7|-|-|1|0|0|0|-|-|-|-|-|-|-|-|-|-|-",
    ];
    assert_eq!(found, expected);
    // It goes on where it was.
    assert_eq!(wait(store.append(vec![event(1, turn(4))])).unwrap().0, 2);
    assert_eq!(store.agents(id).unwrap()[0].turns, 4);
    let health = Store::health(&path).unwrap();
    assert_eq!((health.schema_version, health.problem), (2, None));
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
        schema_current: 2,
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
        Health { exists: true, bytes, schema_version: 2, journal_mode: "wal".into(), ..nothing }
    );
    assert!(Store::health(record.dir.path()).unwrap_err().to_string().contains("directory"));
}
