//! Formats, migrations and what the database itself forbids.

use std::path::Path;

use posse_protocol::{AgentId, Seq};
use posse_store::{Health, Store, StoreError};
use rusqlite::Connection;

use crate::fixture::*;

#[test]
fn a_newer_record_is_refused_and_left_alone() {
    let record = record();
    drop(record.store);
    Connection::open(&record.path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    for error in [quiet(&record.path).err().unwrap(), Store::health(&record.path).unwrap_err()] {
        assert!(matches!(error, StoreError::TooNew { found: 99, known: CURRENT, .. }), "{error:?}");
        let words = format!("written by a newer posse (its format is 99, this one knows up to {CURRENT})");
        assert!(error.to_string().contains(&words), "{error}");
    }
    assert_eq!(rows(&Connection::open(&record.path).unwrap(), "PRAGMA user_version"), ["99"]);
}

/// What leads from each format to the next, but for the last step: a record of every earlier format is made of them.
const STEPS: [&str; 9] = [
    include_str!("../../src/migrations/0001_record.sql"),
    include_str!("../../src/migrations/0002_tree.sql"),
    include_str!("../../src/migrations/0003_recovery.sql"),
    include_str!("../../src/migrations/0004_memory_and_search.sql"),
    include_str!("../../src/migrations/0005_costs.sql"),
    include_str!("../../src/migrations/0006_messages.sql"),
    include_str!("../../src/migrations/0007_warnings.sql"),
    include_str!("../../src/migrations/0008_one_integer.sql"),
    include_str!("../../src/migrations/0009_figures.sql"),
];

/// The format that this Posse writes.
const CURRENT: i64 = STEPS.len() as i64 + 1;

fn merged(from: AgentId, conflicts: &str) -> String {
    format!(r#"{{"type":"merged","from":"{from}","branch":"b","changes":[],"conflicts":[{conflicts}]}}"#)
}

/// The last format in which all tables are written as they are read.
const WRITTEN_AS_READ: usize = 8;

/// A record as the Posse of that time left it: a session that was being worked on. What was there before views were has
/// come through the steps since.
fn old_record(path: &Path, format: usize) -> Connection {
    let old = oldest_record(path, format.min(WRITTEN_AS_READ));
    for (step, number) in STEPS[..format].iter().zip(1_i64..).skip(WRITTEN_AS_READ) {
        old.execute_batch(step).unwrap();
        old.pragma_update(None, "user_version", number).unwrap();
    }
    old
}

fn oldest_record(path: &Path, format: usize) -> Connection {
    let old = Connection::open(path).unwrap();
    old.execute_batch(&STEPS[..format].concat()).unwrap();
    old.pragma_update(None, "user_version", i64::try_from(format).unwrap()).unwrap();
    old.pragma_update(None, "application_id", 0x504f_5353).unwrap();
    let (id, child) = (session(1), agent(2));
    let (number, one) = if format < 8 { ("", "") } else { (", number", ", 1") };
    old.execute_batch(&format!(
        "INSERT INTO sessions (id, started_at_ms, last_at_ms, last_seq, workspace, version{number})
           VALUES ('{id}', 5, 9, 0, '/w', '0.1.0'{one})"
    ))
    .unwrap();
    let bodies = [
        (id.to_string(), r#"{"type":"session_started","workspace":"/w","version":"0.1.0"}"#.to_owned()),
        (child.to_string(), r#"{"type":"checkpointed","turn":3,"commit":"abc"}"#.to_owned()),
        (child.to_string(), r#"{"type":"changed","turn":3,"changes":[]}"#.to_owned()),
        (id.to_string(), merged(child, "")),
        (id.to_string(), merged(child, r#"{"path":"a","text":"b"}"#)),
        (
            id.to_string(),
            r#"{"type":"undone","what":"w","events":[3,5],"changes":[],"conflicts":[]}"#.to_owned(),
        ),
        (
            id.to_string(),
            r#"{"type":"undone","what":"w","events":[6],"changes":[],"conflicts":[]}"#.to_owned(),
        ),
        // Damage that JSON functions stumble over.
        (id.to_string(), "{".to_owned()),
        (id.to_string(), "x".to_owned()),
    ];
    let types = "session_started checkpointed changed merged merged undone undone checkpointed merged";
    for (seq, ((who, body), kind)) in (1_i64..).zip(bodies.iter().zip(types.split(' '))) {
        old.execute("UPDATE sessions SET last_seq = ?1", [seq]).unwrap();
        let insert = if format < 8 {
            "INSERT INTO events (session_id, seq, agent_id, at_ms, type, body) VALUES (?1, ?2, ?3, 5, ?4, ?5)"
        } else {
            "INSERT INTO event_rows (id, agent_id, at_ms, type, body)
             SELECT (number << 32) + ?2, ?3, 5, ?4, ?5 FROM sessions WHERE id = ?1"
        };
        old.execute(insert, (id.to_string(), seq, who, kind, body)).unwrap();
    }
    // They were called messages before that was a view.
    let prompts = if format < 6 { "messages" } else { "prompts" };
    let (name, names) = if format == 1 { ("", ["", ""]) } else { ("name, ", ["'main', ", "'explore', "]) };
    old.execute_batch(&format!(
        "INSERT INTO agents (session_id, id, parent_id, {name}role, depth, status, model, model_id, system_prompt_id,
           budget_turns, started_at_ms, last_at_ms, ended_at_ms, duration_ms, turns, retries, compactions, tool_calls,
           input_tokens, output_tokens, cost_usd, error, message_id)
         VALUES ('{id}', '{id}', NULL, {}'main', 0, 'completed', 'local', 'coder', 'p', 40, 5, 9, 9, 4, 3, 1, 2, 7,
                 100, 20, 0.5, 'oops', 11),
                ('{id}', '{child}', '{id}', {}'explore', 1, 'running', 'local', 'coder', 'p', NULL, 6, 7, NULL, NULL, 1, 0,
                 0, 0, NULL, NULL, NULL, NULL, NULL);
         INSERT INTO {prompts} (session_id, agent_id, seq, started_at, completed_at, agent_role, agent_depth, model_id,
           system_prompt_id, request_type, request_content, status)
         VALUES ('{id}', '{child}', 1, 'then', 'later', 'explore', 1, 'm', 'p', 'delegation', 'look', 'timed_out');
         INSERT INTO {prompts} (id, session_id, agent_id, seq, started_at, agent_role, agent_depth, model_id,
           system_prompt_id, request_type, request_content, metadata_json, iteration_count, prompt_tokens,
           completion_tokens, total_tokens, context_token_count)
         VALUES (11, '{id}', '{id}', 2, '', 'main', 0, 'coder', 'p', 'prompt', 'go', '{{\"warnings\":[\"a\",\"b\"]}}', 3,
           100, 20, 120, 60);
         INSERT INTO tool_calls (session_id, agent_id, call_id, started_seq, tool) VALUES ('{id}', '{child}', 'c', 3, 'shell');",
        names[0], names[1]
    ))
    .unwrap();
    old
}

/// Every event with all that is known of it.
const EVENTS: &str =
    "SELECT session_id, seq, agent_id, parent_id, at_ms, type, body FROM events ORDER BY session_id, seq";

#[test]
fn a_record_of_every_earlier_format_is_migrated_with_all_that_is_in_it() {
    let mut ran = 0;
    for format in 1..=STEPS.len() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("posse.db");
        let before = rows(&old_record(&path, format), EVENTS);
        assert_eq!(before.len(), 9);
        let store = quiet(&path).unwrap();
        let look = Connection::open(&path).unwrap();
        let found = rows(
            &look,
            "SELECT name, role, depth, status, model, model_id, system_prompt_id, budget_turns, started_at_ms, last_at_ms,
                    ended_at_ms, duration_ms, turns, retries, compactions, tool_calls, input_tokens, output_tokens,
                    cost_usd, error, message_id, title, requested_model, context_mode, continues_id, queued_at_ms,
                    delivered_at_ms, interrupted_at_ms FROM agents ORDER BY rowid",
        );
        let expected = [
            "main|main|0|completed|local|coder|p|40|5|9|9|4|3|1|2|7|100|20|0.5|oops|11|-|-|-|-|-|-|-",
            "explore|explore|1|running|local|coder|p|-|6|7|-|-|1|0|0|0|-|-|-|-|-|-|-|-|-|-|-|-",
        ];
        assert_eq!(found, expected, "from {format}");
        let calls = "SELECT id, session_id, agent_id, call_id, tool, started_seq, finished_seq, repeatable FROM tool_calls";
        assert_eq!(rows(&look, calls), [format!("1|{}|{}|c|shell|3|-|-", session(1), agent(2))]);
        let unknown =
            "SELECT cost_unknown FROM agents UNION ALL SELECT cost_unknown || ' in all' FROM sessions";
        let expected = if format < 5 { ["0", "1", "1 in all"] } else { ["0", "0", "0 in all"] };
        assert_eq!(rows(&look, unknown), expected, "from {format}");
        // Those of older records are counted by the step that makes the column.
        let expected = if format < 7 { ["2", "0"] } else { ["0", "0"] };
        assert_eq!(rows(&look, "SELECT warnings FROM agents ORDER BY rowid"), expected, "from {format}");
        // A prompt of then is a message, by the words of now, and so is the call that was made under it.
        let messages =
            "SELECT parent_message_id, request_type, request_content, status FROM messages ORDER BY id";
        let expected = if format < 6 {
            vec!["-|delegation|look|timeout", "-|prompt|go|running", "1|tool_call|shell |cancelled"]
        } else {
            vec!["-|delegation|look|timed_out", "-|prompt|go|running"]
        };
        assert_eq!(rows(&look, messages), expected, "from {format}");
        if format < 3 {
            // What the events tell about what is new in the third.
            let counts = "SELECT undone, merges, merge_conflicts FROM agents ORDER BY rowid";
            assert_eq!(rows(&look, counts), ["0|0|0", "1|2|1"], "from {format}");
            let checkpoints = rows(&look, "SELECT seq, agent_id, turn, commit_id, at_ms FROM checkpoints");
            assert_eq!(checkpoints, [format!("2|{}|3|abc|5", agent(2))], "from {format}");
            assert_eq!(rows(&look, "SELECT project, surface FROM sessions"), ["/w|"]);
        }
        // Each event is what and where it was, damaged or not.
        assert_eq!(rows(&look, EVENTS), before, "from {format}");
        assert_eq!(rows(&look, "SELECT number, last_seq FROM sessions"), ["1|9"], "from {format}");
        // It is read, and goes on where it was.
        let page = store.events_after(session(1), Seq(0), 100).unwrap();
        assert_eq!(page.len(), 7, "up to the first damaged event, from {format}");
        assert_eq!(wait(store.append(vec![event(1, turn(4))])).unwrap().0, 10);
        assert_eq!(store.agents(session(1)).unwrap()[0].turns, 4);
        let health = Store::health(&path).unwrap();
        assert_eq!((health.schema_version, health.problem), (CURRENT, None));
        ran += 1;
    }
    assert_eq!(ran, CURRENT - 1);
}

#[test]
fn what_was_counted_under_a_prompt_of_an_older_record_stays_and_goes_on() {
    let mut ran = 0;
    for format in 1..=STEPS.len() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("posse.db");
        drop(old_record(&path, format));
        let store = quiet(&path).unwrap();
        let counted = || {
            let sql = "SELECT id, iteration_count, prompt_tokens, completion_tokens, total_tokens, context_token_count
                       FROM prompts WHERE id >= 11 ORDER BY id";
            rows(&Connection::open(&path).unwrap(), sql)
        };
        assert_eq!(counted(), ["11|3|100|20|120|60"], "from {format}");
        wait(store.append(vec![event(1, turn(4)), event(1, replied(usage(70, 7)))])).unwrap();
        assert_eq!(counted(), ["11|4|170|27|197|70"], "from {format}");
        // The next prompt begins with nothing, and takes nothing from the one before.
        wait(store.append(vec![event(1, told("and now?")), event(1, turn(5))])).unwrap();
        assert_eq!(counted(), ["11|4|170|27|197|70", "12|1|-|-|-|-"], "from {format}");
        ran += 1;
    }
    assert_eq!(ran, CURRENT - 1);
}

#[test]
fn sessions_of_an_older_record_keep_their_events_apart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("posse.db");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(&STEPS[..7].concat()).unwrap();
    old.execute_batch("PRAGMA user_version = 7; PRAGMA application_id = 0x504f5353").unwrap();
    let insert = "INSERT INTO events (session_id, seq, agent_id, parent_id, at_ms, type, body, blob_bytes)
                  VALUES (?1, ?2, ?1, 'p', ?2, 'mailed', ?3, ?2 * 10)";
    // One that began later may have the smaller id; one has no events at all.
    let sessions = [(3, 10, 5), (1, 20, 7), (2, 30, 0), (4, 40, 1)];
    for (n, started, last) in sessions {
        let row = "INSERT INTO sessions (id, started_at_ms, last_at_ms, last_seq, workspace, version)
                   VALUES (?1, ?2, ?2, ?3, '/w', '0')";
        old.execute(row, (session(n).to_string(), started, last)).unwrap();
        for seq in 1..=last {
            old.execute(insert, (session(n).to_string(), seq, format!("{n} {seq}"))).unwrap();
        }
    }
    let all = "SELECT session_id, seq, agent_id, parent_id, at_ms, type, body, blob_bytes FROM events ORDER BY 1, 2";
    let before = rows(&old, all);
    assert_eq!(before.len(), 13);
    drop(old);
    drop(quiet(&path).unwrap());
    let look = Connection::open(&path).unwrap();
    assert_eq!(rows(&look, all), before);
    let numbers = "SELECT number FROM sessions ORDER BY started_at_ms";
    assert_eq!(rows(&look, numbers), ["1", "2", "3", "4"]);
    for (n, _, last) in sessions {
        let of_one = format!("SELECT count(*), max(seq) FROM events WHERE session_id = '{}'", session(n));
        let last_seq = if last == 0 { "-".to_owned() } else { last.to_string() };
        assert_eq!(rows(&look, &of_one), [format!("{last}|{last_seq}")]);
    }
    assert_eq!(rows(&look, "PRAGMA integrity_check"), ["ok"]);
}

#[test]
fn a_database_of_another_program_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("posse.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
    let before = std::fs::read(&path).unwrap();
    let error = quiet(&path).err().unwrap();
    assert_eq!(
        error.to_string(),
        format!("{} is a database of another program; use another --data-dir", path.display())
    );
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

/// The columns that a record of agents' messages is expected to have, by whoever asks it.
#[test]
fn messages_have_every_column_that_people_ask_for() {
    let wanted = "id session_id parent_message_id started_at completed_at duration_ms agent_role agent_depth model_id
        system_prompt_id request_type request_content context_mode context_token_count response_content response_summary
        tool_calls_json files_modified_json prompt_tokens completion_tokens total_tokens iteration_count max_iterations
        max_duration_ms bailout_reason status error_message metadata_json";
    let there = record().rows("SELECT name FROM pragma_table_info('messages')");
    let wanted: Vec<&str> = wanted.split_whitespace().collect();
    assert_eq!(
        (wanted.len(), &there[..28]),
        (28, &wanted.iter().map(ToString::to_string).collect::<Vec<_>>()[..])
    );
}

#[test]
fn many_can_open_a_new_record_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("posse.db");
    std::thread::scope(|scope| {
        for n in 1..=8 {
            let path = &path;
            scope.spawn(move || {
                let store = quiet(path).unwrap();
                wait(store.append(whole_session(n))).unwrap();
            });
        }
    });
    assert_eq!(quiet(&path).unwrap().sessions(100).unwrap().len(), 8);
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
        (insert("INSERT", &same.to_string(), 13), "events are put on record by Posse alone"),
        (insert("INSERT OR REPLACE", &same.to_string(), 12), "events are put on record by Posse alone"),
        // Nor behind the back of the view.
        (format!("UPDATE event_rows SET body = '{{}}' WHERE {SEQ} = 3"), "events are append-only"),
        (
            format!("DELETE FROM event_rows WHERE {SEQ} = 12"),
            "events are append-only; delete the whole session instead",
        ),
        (
            "INSERT INTO event_rows SELECT * FROM event_rows WHERE id & 4294967295 = 12".to_owned(),
            "UNIQUE constraint failed: event_rows.id",
        ),
        (
            "UPDATE sessions SET number = number + 7".to_owned(),
            "the number of a session is in the keys of its events",
        ),
    ];
    assert_eq!(cases.len(), 8);
    for (sql, reason) in cases {
        assert_eq!(other.execute_batch(&sql).unwrap_err().to_string(), reason, "{sql}");
    }
    other.execute("DELETE FROM sessions WHERE id = ?1", [same.to_string()]).unwrap();
    let left = record.rows(
        "SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM agents), (SELECT count(*) FROM messages),
                (SELECT count(*) FROM tool_calls), (SELECT count(*) FROM sessions)",
    );
    assert_eq!(left, ["12|1|2|1|1"]);
    assert_eq!(record.put(vec![event(2, turn(3))]), 13);
}

/// Whatever another program does to the rows: no event comes after a gap, and none in the place of another.
#[test]
fn nothing_is_added_to_a_session_whose_events_do_not_end_where_its_row_says() {
    let key = "(SELECT number << 32 FROM sessions)";
    let event_row = |seq: u32| {
        format!(
            "INSERT INTO event_rows (id, agent_id, at_ms, type, body) VALUES ({key} + {seq}, 'a', 0, 't', '{{}}')"
        )
    };
    let cases = [
        (event_row(13), "has 13 events on record, but its row says 12"),
        (event_row(20), "has 20 events on record, but its row says 12"),
        ("UPDATE sessions SET last_seq = 13".to_owned(), "has 12 events on record, but its row says 13"),
        ("UPDATE sessions SET last_seq = 3".to_owned(), "has 12 events on record, but its row says 3"),
        (
            format!("DROP TRIGGER event_rows_never_go; DELETE FROM event_rows WHERE {SEQ} > 11"),
            "has 11 events on record, but its row says 12",
        ),
        (
            "DROP TRIGGER event_rows_never_go; DELETE FROM event_rows".to_owned(),
            "has 0 events on record, but its row says 12",
        ),
    ];
    assert_eq!(cases.len(), 6);
    for (sql, reason) in cases {
        let record = record();
        record.put(whole_session(1));
        Connection::open(&record.path).unwrap().execute_batch(&sql).unwrap();
        let refused = record.refused(vec![event(1, turn(3))]);
        assert!(refused.contains(reason), "{sql}: {refused}");
        // Other sessions are not concerned.
        assert_eq!(record.put(whole_session(2)), 12, "{sql}");
    }
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
        schema_current: CURRENT,
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
        Health { exists: true, bytes, schema_version: CURRENT, journal_mode: "wal".into(), ..nothing }
    );
    assert!(Store::health(record.dir.path()).unwrap_err().to_string().contains("directory"));
}
