//! Long sessions: they are read completely, and one damaged row costs one event.
//!
//! `POSSE_SOAK=1` makes them as long as promised: 10,000 turns, 64 MB.

use std::time::{Duration, Instant};

use posse_protocol::*;
use posse_store::{NewEvent, StoreError, limits};
use rusqlite::Connection;

use crate::fixture::*;

/// One turn that reads a file; contents differ, so that each is kept.
fn read_turn(n: u32, bytes: usize) -> Vec<NewEvent> {
    let text = format!("line {n}\n").repeat(bytes / 10);
    let finished = EventKind::ToolFinished {
        call: CallId(format!("c{n}")),
        tool: "read".into(),
        ok: true,
        text,
        attachments: Vec::new(),
        effects: vec![],
        duration_ms: 1,
    };
    [turn(n), replied(usage(10, 1)), tool_started(&format!("c{n}")), finished]
        .map(|kind| event(1, kind))
        .to_vec()
}

#[test]
fn a_long_session_is_read_completely_around_one_damaged_row() {
    let (turns, bytes) = if soak() { (10_000, 64 * 1024 * 1024) } else { (400, 4 * 1024 * 1024) };
    let record = record();
    record.put(start(1));
    for n in 1..=turns {
        // Every tenth is large enough to be kept apart; together they have the bytes asked for.
        let size = if n % 10 == 0 { bytes / turns * 5 } else { bytes / turns * 5 / 9 };
        drop(record.store.append(read_turn(n, size as usize)));
        if n % 100 == 0 {
            record.store.flush().unwrap();
        }
    }
    let total = 2 + u64::from(turns) * 4;
    let damaged = total / 2;
    Connection::open(&record.path)
        .unwrap()
        .execute_batch(&format!(
            "DROP TRIGGER event_rows_never_change; UPDATE event_rows SET body = '[' WHERE {SEQ} = {damaged}"
        ))
        .unwrap();
    let (mut after, mut read, mut bytes_read, mut lost) = (Seq(0), 0, 0, Vec::new());
    loop {
        match record.store.events_after(session(1), after, usize::MAX) {
            Ok(page) if page.is_empty() => break,
            Ok(page) => {
                read += page.len() as u64;
                bytes_read += page.iter().map(|e| size_of(&e.kind)).sum::<usize>();
                after = page.last().unwrap().seq;
            }
            Err(StoreError::DamagedEvent { seq, .. }) => {
                lost.push(seq.0);
                after = seq;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!((read, lost), (total - 1, vec![damaged]));
    assert!(bytes_read > bytes as usize * 8 / 10, "only {bytes_read} bytes of tool output");
    let row = record.store.find_session("last").unwrap();
    assert_eq!((row.turns, row.usage), (u64::from(turns), usage(u64::from(turns) * 10, u64::from(turns))));
}

fn size_of(kind: &EventKind) -> usize {
    match kind {
        EventKind::ToolFinished { text, .. } => text.len(),
        _ => 0,
    }
}

#[test]
fn a_tree_of_a_thousand_agents_is_listed_with_every_agent() {
    const AGENTS: u128 = 1_000;
    let record = record();
    record.put(start(1));
    let mut events = Vec::new();
    for id in 2..=AGENTS {
        let parent = id / 3 + 1;
        events.push(below(1, parent, id, admitted(&format!("a-{id}"), 1, "t")));
        events.push(below(1, parent, id, agent_started("explore", 1)));
        events.push(below(1, parent, id, turn(1)));
    }
    record.put(events);
    let agents = record.store.agents(session(1)).unwrap();
    assert_eq!(agents.len(), AGENTS as usize);
    assert_eq!(agents.iter().map(|agent| agent.turns).sum::<u64>(), AGENTS as u64 - 1);
}

/// What commits leave in the write-ahead log goes into the database in time, even if the writer never rests.
#[test]
fn the_log_does_not_grow_without_end() {
    // Just small enough to be kept whole, which is fastest to write.
    const TEXT_BYTES: usize = 7_900;
    let record = record();
    record.put(start(1));
    let log_bytes = |pages: i32| u64::try_from(pages).unwrap() * 4_120;
    let step = log_bytes(limits::LOG_PAGES_STEP);
    let wanted = if soak() { log_bytes(limits::LOG_PAGES_MAX) * 3 / 2 } else { step * 3 / 2 };
    let batches = usize::try_from(wanted).unwrap() / (TEXT_BYTES * 100);
    for n in 0..batches {
        let finished = EventKind::ToolFinished {
            call: CallId(format!("c{n}")),
            tool: "read".into(),
            ok: true,
            text: "x".repeat(TEXT_BYTES),
            attachments: Vec::new(),
            effects: vec![],
            duration_ms: 1,
        };
        record.put(vec![event(1, finished); 100]);
    }
    let bytes = |ending: &str| std::fs::metadata(record.path.with_extension(ending)).unwrap().len();
    // It is done beside the writer, so it may take a moment; only a hang reaches the limit.
    let give_up = Instant::now() + Duration::from_secs(60);
    while bytes("db") < step / 2 {
        assert!(Instant::now() < give_up, "only {} bytes are in the database", bytes("db"));
        std::thread::sleep(Duration::from_millis(5));
    }
    // The commit that goes over the limit is one of a hundred events.
    let over = 100 * 4 * 4_120;
    assert!(
        bytes("db-wal") < log_bytes(limits::LOG_PAGES_MAX) + over,
        "{} bytes are in the log",
        bytes("db-wal")
    );
    assert_eq!(record.store.find_session("last").unwrap().last_seq, Seq(2 + batches as u64 * 100));
}
