//! Searching what was said in past sessions.

use posse_protocol::*;
use posse_store::{Hit, HitKind, Store, limits};
use rusqlite::Connection;

use crate::fixture::*;
use crate::hostile::*;

fn reply(text: &str) -> EventKind {
    let reply = Reply { text: text.into(), ..Reply::default() };
    EventKind::Replied { turn: 1, reply, duration_ms: 1, cost_usd: None }
}

fn tool(title: &str) -> EventKind {
    let (call, tool, title) = (CallId("c1".into()), "grep".into(), title.into());
    EventKind::ToolStarted { call, tool, title, repeatable: true, kind: CallKind::Other, paths: Vec::new() }
}

fn reported(text: &str) -> EventKind {
    let (ending, receipt) = (Ending::Completed, Receipt::default());
    EventKind::AgentSettled { report: Report::new(ending, text, receipt) }
}

impl Record {
    /// What is found: session's last digit, place, kind.
    fn found(&self, query: &str) -> Vec<String> {
        let hits = self.store.search(query, 100).unwrap_or_else(|e| panic!("{query:?}: {e}"));
        let show = |hit: Hit| {
            let id = hit.session.to_string();
            format!("{} {} {}", &id[id.len() - 1..], hit.seq.0, hit.what.word())
        };
        hits.into_iter().map(show).collect()
    }

    /// The full-text index says what the table says.
    fn check_search_index(&self) {
        Connection::open(&self.path)
            .unwrap()
            .execute_batch("INSERT INTO search_words (search_words, rank) VALUES ('integrity-check', 1)")
            .unwrap();
        assert_eq!(Store::health(&self.path).unwrap().problem, None);
    }
}

fn nothing() -> [String; 0] {
    []
}

#[test]
fn what_was_said_is_found_with_its_place() {
    let record = record();
    record.put(start(1));
    record.put(vec![
        event(1, told("Please mend\nthe flaky login test")),
        event(1, reply("I look at the sessions.")),
        event(1, tool("grep cookie")),
        event(1, tool_finished("c1", true)),
        below(1, 1, 2, admitted("explore-1", 1, "find the clock")),
        below(1, 1, 2, said(Sender::Parent, "where is the clock read?")),
        below(1, 1, 2, reported("The clock is read in time.rs")),
        event(1, said(Sender::Reports, "explore-1: unfindable")),
        event(1, said(Sender::Posse, "unfindable reminder")),
    ]);
    let cases: [(&str, &[&str]); 8] = [
        ("flaky", &["1 3 prompt"]),
        ("login tes", &["1 3 prompt"]),
        ("session", &["1 4 reply"]),
        ("cookie", &["1 5 tool"]),
        ("clock", &["1 9 report", "1 8 prompt"]),
        ("CLOCK where", &["1 8 prompt"]),
        ("12345", &[]),
        ("unfindable", &[]),
    ];
    for (query, expected) in cases {
        let mut found = record.found(query);
        let mut expected = expected.to_vec();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{query:?}");
    }
    let hit = record.store.search("flaky", 10).unwrap().remove(0);
    let expected = Hit {
        session: session(1),
        seq: Seq(3),
        agent_name: "main".into(),
        what: HitKind::Prompt,
        at_ms: START_MS + 1_000,
        title: Some("mend".into()),
        snippet: "Please mend the \u{2}flaky\u{3} login test".into(),
    };
    assert_eq!(hit, expected);
    assert_eq!(record.store.search("clock where", 10).unwrap()[0].agent_name, "explore-1");
    record.check_search_index();
}

#[test]
fn all_words_must_be_there_unless_nothing_has_them_all() {
    let record = record();
    record.put(start(1));
    record.put(vec![
        event(1, told("the parser is slow")),
        event(1, told("the printer is slow")),
        event(1, told("something else")),
    ]);
    assert_eq!(record.found("slow parser"), ["1 3 prompt"]);
    assert_eq!(record.found("slow").len(), 2);
    assert_eq!(record.found("parser elephant"), ["1 3 prompt"]);
    assert_eq!(record.found("elephant"), nothing());
    assert_eq!(record.found(" \"' "), nothing());
    assert_eq!(record.store.search("slow", 1).unwrap().len(), 1);
    assert_eq!(record.store.search("slow", 0).unwrap().len(), 0);
}

#[test]
fn the_best_comes_first_and_words_before_calls() {
    let record = record();
    record.put(start(1));
    record.put(start(2));
    let at = |n, seconds, kind| posse_store::NewEvent { at_ms: START_MS + seconds, ..event(n, kind) };
    record.put(vec![
        at(1, 10, told("about the cache")),
        at(2, 30, told("about the cache")),
        at(1, 20, told("about the cache")),
        at(1, 40, tool("read cache files")),
        at(1, 50, told("a cache is mentioned here among very many other words that all say something else")),
    ]);
    let expected = ["2 3 prompt", "1 4 prompt", "1 3 prompt", "1 5 tool", "1 6 prompt"];
    assert_eq!(record.found("cache"), expected);
}

#[test]
fn nothing_is_indexed_before_somebody_searches_and_later_events_are_found() {
    let record = record();
    record.put(start(1));
    record.put(vec![event(1, told("first words"))]);
    assert_eq!(record.rows("SELECT count(*) FROM search"), ["0"]);
    assert_eq!(record.found("words"), ["1 3 prompt"]);
    record.put(vec![event(1, turn(1))]);
    record.put(vec![event(1, reply("second words"))]);
    record.put(start(2));
    record.put(vec![event(2, told("words of another"))]);
    let mut found = record.found("words");
    found.sort_unstable();
    assert_eq!(found, ["1 3 prompt", "1 5 reply", "2 3 prompt"]);
    assert_eq!(record.found("words").len(), 3, "searching twice indexes nothing twice");
    record.check_search_index();
}

#[test]
fn a_report_that_is_the_last_reply_is_found_once() {
    let record = record();
    record.put(start(1));
    record.put(vec![
        event(1, reply("All tests pass.")),
        below(1, 1, 2, admitted("explore-1", 1, "look")),
        below(1, 1, 2, reported("All tests pass.")),
    ]);
    assert_eq!(record.found("pass").len(), 2, "another agent's reply is not its report");
    record.put(vec![event(1, reported("All tests pass."))]);
    let mut found = record.found("pass");
    found.sort_unstable();
    assert_eq!(found, ["1 5 report", "1 6 report"]);
    record.check_search_index();
}

#[test]
fn a_deleted_session_is_not_found_and_what_comes_later_is() {
    let record = record();
    for n in 1..=3 {
        record.put(start(n));
        record.put(vec![event(n, told("common words")), event(n, reply("common answer"))]);
    }
    assert_eq!(record.found("common").len(), 6);
    // The newest rows go, so that their rowids are given again.
    record.store.delete_session(session(3)).unwrap();
    assert_eq!(record.found("common").len(), 4);
    let left = record.rows("SELECT (SELECT count(*) FROM search), (SELECT count(*) FROM search_progress)");
    assert_eq!(left, ["4|2"]);
    record.check_search_index();
    record.put(start(4));
    record.put(vec![event(4, told("common again"))]);
    record.put(vec![event(2, told("common at last"))]);
    assert_eq!(record.found("again"), ["4 3 prompt"]);
    assert_eq!(record.found("last"), ["2 5 prompt"]);
    // The same session may come back.
    record.put(start(3));
    record.put(vec![event(3, told("common return"))]);
    assert_eq!(record.found("return"), ["3 3 prompt"]);
    record.check_search_index();
}

/// Whoever deletes with another program forgets to turn foreign keys on.
#[test]
fn a_session_deleted_by_another_program_is_not_found() {
    let record = record();
    record.put(start(1));
    record.put(vec![event(1, told("some words"))]);
    assert_eq!(record.found("words").len(), 1);
    Connection::open(&record.path)
        .unwrap()
        .execute_batch("PRAGMA foreign_keys = OFF; DELETE FROM sessions")
        .unwrap();
    assert_eq!(record.found("words"), nothing());
}

#[test]
fn damaged_events_are_passed_over() {
    let record = record();
    record.put(start(1));
    record.put((0..6).map(|n| event(1, told(&format!("words number{n}")))).collect());
    // Large enough to be kept apart from its event.
    record.put(vec![event(1, told(&"words ".repeat(2_000)))]);
    let vandal = Connection::open(&record.path).unwrap();
    vandal
        .execute_batch(&format!(
            "DROP TRIGGER event_rows_never_change;
             UPDATE event_rows SET body = '{{' WHERE {SEQ} = 4;
             UPDATE event_rows SET body = '{{\"type\":\"turn_started\",\"turn\":1}}' WHERE {SEQ} = 5;
             UPDATE event_rows SET agent_id = 'nobody' WHERE {SEQ} = 7;
             UPDATE blobs SET content = 'other words';"
        ))
        .unwrap();
    assert_eq!(record.found("words"), ["1 8 prompt", "1 6 prompt", "1 3 prompt"]);
    record.put(vec![event(1, told("words later"))]);
    assert_eq!(record.found("later"), ["1 10 prompt"]);
}

#[test]
fn long_sessions_and_long_texts_are_indexed_to_their_end() {
    let record = record();
    record.put(start(1));
    let many = 2 * limits::INDEX_EVENTS_MAX + 7;
    for chunk in (0..many).collect::<Vec<_>>().chunks(200) {
        record.put(chunk.iter().map(|n| event(1, told(&format!("entry unique{n}x")))).collect());
    }
    // Events that are not indexed at the end, and one text of more than a transaction's share after another.
    record.put((0..5).map(|n| event(1, turn(n))).collect());
    let long = |word: &str| format!("{} {word}", "filler ".repeat(limits::INDEXED_TEXT_BYTES_MAX / 7 - 2));
    let texts = 2 * limits::INDEX_BYTES_MAX / limits::INDEXED_TEXT_BYTES_MAX + 1;
    record.put((0..texts).map(|n| event(1, reply(&long(&format!("needle{n}x"))))).collect());
    record
        .put(vec![event(1, reply(&format!("{} beyond", "filler ".repeat(limits::INDEXED_TEXT_BYTES_MAX))))]);
    let edges = [0, limits::INDEX_EVENTS_MAX - 1, limits::INDEX_EVENTS_MAX, many - 1];
    for n in edges {
        assert_eq!(record.found(&format!("unique{n}x")), [format!("1 {} prompt", n + 3)]);
    }
    for n in 0..texts {
        assert_eq!(record.found(&format!("needle{n}x")).len(), 1, "{n} of {texts}");
    }
    assert_eq!(record.found("beyond"), nothing());
    let indexed = record.rows("SELECT count(*), count(DISTINCT seq) FROM search");
    assert_eq!(indexed, [format!("{0}|{0}", many + texts + 1)]);
}

#[test]
fn many_can_search_at_once_while_agents_work() {
    const SEARCHES: usize = 8;
    let record = record();
    for n in 1..=4 {
        record.put(start(n));
        record.put((0..300).map(|i| event(n, told(&format!("shared words {i}")))).collect());
    }
    let other = quiet(&record.path).unwrap();
    std::thread::scope(|scope| {
        let searches: Vec<_> = (0..SEARCHES)
            .map(|n| {
                let store = if n % 2 == 0 { &record.store } else { &other };
                scope.spawn(move || store.search("shared words", usize::MAX).unwrap().len())
            })
            .collect();
        for i in 300..320 {
            record.put(vec![event(1, told(&format!("shared words {i}")))]);
        }
        for found in searches {
            let found = found.join().unwrap();
            assert!(found >= limits::HITS_MAX, "{found}: what was there when it began is found");
        }
    });
    record.store.search("shared", 1).unwrap();
    let indexed = record.rows("SELECT count(*), count(DISTINCT session_id || seq) FROM search");
    assert_eq!(indexed, ["1220|1220"]);
    record.check_search_index();
}

#[test]
fn texts_cannot_forge_marks() {
    let record = record();
    record.put(start(1));
    record.put(vec![event(1, told("\u{2}forged\u{3}\nmark\u{1b}[31m here\0"))]);
    let hit = record.store.search("mark", 10).unwrap().remove(0);
    assert_eq!(hit.snippet, "forged  \u{2}mark\u{3} [31m here");
}

#[test]
fn no_search_is_an_error() {
    let record = record();
    record.put(start(1));
    record.put(vec![event(1, told("plain words OR near \"quotes\" 🦀 end"))]);
    let mut ran = 0;
    for query in hostile_queries() {
        record.found(&query);
        ran += 1;
    }
    assert_eq!(ran, HOSTILE_QUERIES);
    assert_eq!(record.found("plain"), ["1 3 prompt"]);
    record.check_search_index();
}
