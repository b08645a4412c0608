//! `docs/database.md` is true: its queries run, and it names every table and column.

use std::path::Path;

use posse_protocol::{EventKind, NoteScope};
use posse_store::NewEvent;

use crate::fixture::*;
use crate::memory::note;

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/database.md");
    std::fs::read_to_string(path).unwrap()
}

/// A session that stopped in the middle of a call, after a large prompt.
fn stopped_session(n: u128) -> Vec<NewEvent> {
    let stopped = EventKind::SessionInterrupted { agents: vec![agent(n)], detached: false };
    let checkpoint = EventKind::Checkpointed { turn: 1, commit: "abc".into() };
    let work = [
        told(&"fix it ".repeat(2_000)),
        turn(1),
        replied(usage(10, 1)),
        checkpoint,
        tool_started("c1"),
        stopped,
    ];
    let mut events = start(n);
    events.extend(work.map(|kind| event(n, kind)));
    events
}

#[test]
fn every_query_of_the_page_runs() {
    let record = record();
    record.put(whole_session(1));
    record.put(tree_session(11));
    record.put(stopped_session(21));
    record.put(vec![note(1, 1, NoteScope::Project, "the test needs a build first")]);
    record.store.search("test", 1).unwrap();
    let page = page();
    let blocks: Vec<&str> =
        page.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert_eq!(blocks.len(), 21);
    for sql in blocks {
        assert!(!record.rows(sql).is_empty(), "nothing found by\n{sql}");
    }
}

#[test]
fn the_query_of_the_tree_adds_up_subtrees() {
    let record = record();
    record.put(tree_session(1));
    let page = page();
    let sql = page.split("```sql\n").find(|block| block.contains("sums.cost_usd")).unwrap();
    let tree = record.rows(sql.split("```").next().unwrap());
    let expected = [
        "main|-|completed|-|100|0.75|1",
        "  explore-1|find it|out_of_turns|100|100|0.5|1",
        "    explore-2|look deeper|cancelled|-|-|0.25|0",
    ];
    assert_eq!(tree, expected);
}

#[test]
fn the_page_names_every_column() {
    let record = record();
    let columns = record.rows(
        "SELECT t.name, c.name FROM pragma_table_list t, pragma_table_info(t.name) c
         WHERE t.schema = 'main' AND t.type IN ('table', 'virtual', 'view') AND t.name NOT LIKE 'sqlite_%'
           AND t.name <> 'messages'
         ORDER BY t.name, c.cid",
    );
    assert!(columns.len() > 80, "{}", columns.len());
    let page = page();
    for column in columns {
        let (table, name) = column.split_once('|').unwrap();
        let section =
            page.split(&format!("## `{table}`")).nth(1).unwrap_or_else(|| panic!("no section {table}"));
        let section = section.split("\n## ").next().unwrap();
        assert!(section.contains(&format!("`{name}`")), "{table}.{name} is not described");
    }
}
