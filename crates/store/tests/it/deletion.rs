//! Forgetting whole sessions.

use posse_protocol::Seq;

use crate::fixture::*;

#[test]
fn a_deleted_session_is_gone_from_every_table() {
    let record = record();
    record.put(whole_session(1));
    record.put(tree_session(11));
    let tables = record.rows(
        "SELECT t.name FROM sqlite_schema t, pragma_table_info(t.name) c
         WHERE t.type = 'table' AND c.name = 'session_id' AND t.name <> 'memory' ORDER BY 1",
    );
    assert!(tables.len() >= 6, "{tables:?}");
    let left = |n| -> Vec<String> {
        let count = |table: &String| {
            let sql = format!("SELECT count(*) FROM {table} WHERE session_id = '{}'", session(n));
            record.rows(&sql).remove(0)
        };
        tables.iter().map(count).collect()
    };
    let others = left(1);
    assert!(left(11).iter().any(|count| count != "0"));
    record.store.delete_session(session(11)).unwrap();
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
