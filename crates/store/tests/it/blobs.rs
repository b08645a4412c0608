//! Large texts are kept once, and nobody who reads events notices.

use posse_protocol::*;
use posse_store::{StoreError, limits};
use rusqlite::Connection;

use crate::fixture::*;

fn large(seed: &str) -> String {
    seed.repeat(limits::EVENT_WHOLE_BYTES_MAX / seed.len() + 1)
}

fn finished(text: String) -> EventKind {
    EventKind::ToolFinished {
        call: CallId("c".into()),
        tool: "read".into(),
        ok: true,
        text,
        attachments: Vec::new(),
        effects: vec![],
        duration_ms: 1,
    }
}

fn called(arguments: &str) -> EventKind {
    let calls = vec![ToolCall { id: CallId("c".into()), name: "t".into(), arguments: arguments.into() }];
    EventKind::Replied { turn: 1, reply: Reply { calls, ..Reply::default() }, duration_ms: 1, cost_usd: None }
}

/// The events of session 1 after its start.
fn read(record: &Record) -> Vec<EventKind> {
    record.store.events_after(session(1), Seq(2), 100).unwrap().into_iter().map(|e| e.kind).collect()
}

#[test]
fn events_of_every_size_are_read_as_they_were_written() {
    let record = record();
    record.put(start(1));
    let least = limits::BLOB_BYTES_MIN;
    let odd = "nul \0, quote \", \u{202e}bidi, \u{feff}, \r\n, 😀, \u{1b}[3m ";
    let forged = r#"{"$blob":"0000"}"#;
    let many = EventKind::AgentSettled {
        report: Report {
            warnings: vec![large("report "), "short".into(), large("warning ")],
            ..Report::new(Ending::Completed, large("report "), Receipt::default())
        },
    };
    let cases = [
        (told(&"x".repeat(least - 1)), 0),
        (told(&"x".repeat(limits::EVENT_WHOLE_BYTES_MAX - 42)), 0),
        (told(&"x".repeat(limits::EVENT_WHOLE_BYTES_MAX)), 1),
        (finished("x".repeat(least - 1)), 0),
        (finished(large(odd)), 1),
        // Many small texts are no large one.
        (EventKind::ReportsDelivered { agents: (1..1_000).map(agent).collect() }, 0),
        (told(&large(forged)), 1),
        // The same text once more.
        (called(&large(forged)), 0),
        (many, 2),
    ];
    assert_eq!(cases.len(), 9);
    let mut blobs = 0;
    for (kind, new) in &cases {
        record.put(vec![event(1, kind.clone())]);
        let rows = record.rows("SELECT count(*) FROM blobs");
        let now: usize = rows[0].parse().unwrap();
        assert_eq!(now - blobs, *new, "{:.300}", format!("{kind:?}"));
        blobs = now;
    }
    let kinds: Vec<_> = cases.into_iter().map(|(kind, _)| kind).collect();
    assert!(read(&record) == kinds, "not what was written");
    // Those who follow a session see whole events, too.
    let seen: Vec<_> = record.seen.lock().unwrap().iter().skip(2).map(|e| e.kind.clone()).collect();
    assert!(seen == kinds, "not what was published");
}

#[test]
fn a_thousand_agents_of_one_role_share_their_prompt() {
    let record = record();
    record.put(start(1));
    let EventKind::AgentStarted { role, depth, model, model_id, budget, grant, checkout, .. } =
        agent_started("explore", 1)
    else {
        panic!("not a start");
    };
    let system = large("You are careful. ");
    let prompt_bytes = system.len();
    let started = EventKind::AgentStarted { role, depth, model, model_id, budget, grant, system, checkout };
    record.put((2..1_002).map(|n| below(1, 1, n, started.clone())).collect());
    let kept = record.rows("SELECT count(*), sum(bytes) FROM blobs");
    assert_eq!(kept, [format!("1|{prompt_bytes}")]);
    assert_eq!(record.rows("SELECT count(*) FROM event_blobs"), ["1000"]);
    // The hash is the name that the agents' prompt has in the tables.
    let named = "SELECT count(*) FROM agents JOIN blobs ON hash = system_prompt_id AND content LIKE 'You are careful.%'";
    assert_eq!(record.rows(named), ["1000"]);
    assert!(read(&record).iter().all(|kind| *kind == started));
}

#[test]
fn a_damaged_text_is_a_damaged_event_and_nothing_more() {
    let damages = [
        ("DELETE FROM blobs WHERE content LIKE 'bad%'", "is missing"),
        ("UPDATE blobs SET content = content || 'x' WHERE content LIKE 'bad%'", "was altered"),
        ("DROP TABLE blobs", "no such table"),
    ];
    assert_eq!(damages.len(), 3);
    for (sql, reason) in damages {
        let record = record();
        record.put(start(1));
        record.put(vec![event(1, told("before")), event(1, told(&large("bad "))), event(1, told("after"))]);
        // Whoever has its own connection is not bound by foreign keys.
        Connection::open(&record.path)
            .unwrap()
            .execute_batch(&format!("PRAGMA foreign_keys = OFF; {sql}"))
            .unwrap();
        let page = |after| record.store.events_after(session(1), Seq(after), 100);
        assert_eq!(page(2).unwrap().len(), 1, "the page ends before the damage");
        match page(3).unwrap_err() {
            StoreError::DamagedEvent { seq: Seq(4), detail, .. } => {
                assert!(detail.contains(reason), "{detail}")
            }
            other => panic!("{other}"),
        }
        assert_eq!(page(4).unwrap().len(), 1);
    }
}

#[test]
fn a_text_goes_with_the_last_session_that_refers_to_it() {
    let record = record();
    let shared = large("shared ");
    for n in 1..=3 {
        record.put(start(n));
        record.put(vec![event(n, told(&shared)), event(n, told(&large(&format!("only of {n} "))))]);
    }
    let counts = "SELECT (SELECT count(*) FROM blobs), (SELECT count(*) FROM event_blobs)";
    assert_eq!(record.rows(counts), ["4|6"]);
    record.store.delete_session(session(1)).unwrap();
    assert_eq!(record.rows(counts), ["3|4"]);
    // By hand it goes the same way.
    let other = Connection::open(&record.path).unwrap();
    other.pragma_update(None, "foreign_keys", true).unwrap();
    other.execute("DELETE FROM sessions WHERE id = ?1", [session(2).to_string()]).unwrap();
    assert_eq!(record.rows(counts), ["2|2"]);
    let page = record.store.events_after(session(3), Seq(2), 10).unwrap();
    assert_eq!(page[0].kind, told(&shared));
    record.store.delete_session(session(3)).unwrap();
    assert_eq!(record.rows(counts), ["0|0"]);
    record.put(start(4));
    record.put(vec![event(4, told(&shared))]);
    assert_eq!(record.rows(counts), ["1|1"], "what was forgotten can be kept again");
}

/// An image that is shown and read again is one text on record, and comes back with every event.
#[test]
fn images_are_kept_once() {
    let record = record();
    record.put(start(1));
    let (name, media_type, data) = ("shot.png".to_string(), MediaType::Png, large("base64").into());
    let image = Attachment { name, media_type, bytes: 6_000, width: 40, height: 30, data };
    let (from, text, attachments) = (Sender::Person, "look".to_string(), vec![image.clone(), image]);
    let said = Words { text: text.clone(), attachments: attachments.clone() };
    let EventKind::ToolFinished { call, tool, ok, effects, duration_ms, .. } = finished(String::new()) else {
        panic!("it is one")
    };
    let events = [
        EventKind::mailed(from, said.clone()),
        EventKind::told(from, said),
        EventKind::ToolFinished { call, tool, ok, text, attachments, effects, duration_ms },
    ];
    for kind in &events {
        record.put(vec![event(1, kind.clone())]);
    }
    assert_eq!(read(&record), events);
    assert_eq!(record.rows("SELECT count(*) FROM blobs"), ["1"]);
    assert_eq!(record.store.search("base64", 10).unwrap(), [], "what is shown is not text");
}
