//! Notes that outlive their session.

use posse_protocol::*;
use posse_store::{NewEvent, Store, limits};

use crate::fixture::*;
use crate::hostile::*;

/// A call of the main agent of session `n` that makes a note, some seconds after the start.
pub(crate) fn note(n: u128, seconds: u64, scope: NoteScope, text: &str) -> NewEvent {
    let kind = noting(vec![NewNote { scope, kind: "note".into(), text: text.into() }]);
    NewEvent { at_ms: START_MS + seconds * 1_000, ..event(n, kind) }
}

fn noting(notes: Vec<NewNote>) -> EventKind {
    EventKind::ToolFinished {
        call: CallId("c1".into()),
        tool: "remember".into(),
        ok: true,
        text: "noted".into(),
        attachments: Vec::new(),
        effects: notes.into_iter().map(Effect::Noted).collect(),
        duration_ms: 1,
    }
}

/// Session 1 is in the project /code/1, session 2 in /code/2.
fn two_projects() -> Record {
    let record = record();
    record.put(start(1));
    record.put(start(2));
    record
}

impl Record {
    fn recalled(&self, query: &str, n: u128) -> Vec<String> {
        texts(self.store.recall(query, &format!("/code/{n}"), 50).unwrap())
    }

    /// The full-text index says what the table says.
    fn check_memory_index(&self) {
        let connection = rusqlite::Connection::open(&self.path).unwrap();
        connection
            .execute_batch("INSERT INTO memory_words (memory_words, rank) VALUES ('integrity-check', 1)")
            .unwrap();
        assert_eq!(Store::health(&self.path).unwrap().problem, None);
    }
}

fn texts(notes: Vec<Note>) -> Vec<String> {
    notes.into_iter().map(|note| note.text).collect()
}

#[test]
fn a_note_tells_who_when_and_where() {
    let record = two_projects();
    record.put(vec![
        below(1, 1, 3, admitted("explore-1", 1, "look")),
        below(
            1,
            1,
            3,
            noting(vec![NewNote {
                scope: NoteScope::Project,
                kind: NewNote::SUB_AGENT_RESULT.into(),
                text: "  The tests need a running database.\n".into(),
            }]),
        ),
    ]);
    let expected = Note {
        id: 1,
        scope: NoteScope::Project,
        project: "/code/1".into(),
        kind: "sub_agent_result".into(),
        text: "The tests need a running database.".into(),
        agent: "explore-1".into(),
        role: "explore".into(),
        session: session(1),
        at_ms: START_MS + 1_000,
    };
    assert_eq!(record.store.notes(None, 10).unwrap(), std::slice::from_ref(&expected));
    assert_eq!(record.store.note(1).unwrap(), Some(expected));
    assert_eq!(record.rows("SELECT seq FROM memory"), ["4"]);
}

#[test]
fn notes_of_a_project_stay_there_and_those_of_the_person_are_found_everywhere() {
    let record = two_projects();
    record.put(vec![
        note(1, 1, NoteScope::Project, "deploy with make ship"),
        note(2, 2, NoteScope::Project, "deploy by hand"),
        note(1, 3, NoteScope::User, "never deploy on Fridays"),
    ]);
    let store = &record.store;
    for query in ["deploy", ""] {
        let mut first = record.recalled(query, 1);
        first.sort_unstable();
        assert_eq!(first, ["deploy with make ship", "never deploy on Fridays"], "{query:?}");
        let mut second = record.recalled(query, 2);
        second.sort_unstable();
        assert_eq!(second, ["deploy by hand", "never deploy on Fridays"], "{query:?}");
        assert_eq!(record.recalled(query, 3), ["never deploy on Fridays"], "{query:?}");
    }
    assert_eq!(
        texts(store.notes(None, 10).unwrap()),
        ["never deploy on Fridays", "deploy by hand", "deploy with make ship"]
    );
    assert_eq!(texts(store.notes(Some("/code/2"), 1).unwrap()), ["never deploy on Fridays"]);
    let counts = ["/code/1", "/code/2", "/code/3"].map(|project| store.note_count(project).unwrap());
    assert_eq!((counts, store.user_note_count().unwrap()), ([1, 1, 0], 1));
}

#[test]
fn any_word_finds_best_first_and_newest_first_among_equals() {
    let record = two_projects();
    record.put(vec![
        note(1, 1, NoteScope::Project, "the migration locks tables"),
        note(1, 2, NoteScope::Project, "the migration needs hours"),
        note(1, 4, NoteScope::Project, "the linter knows nothing"),
        note(1, 3, NoteScope::Project, "le café crème est là"),
        note(1, 5, NoteScope::Project, "東京 is where the server stands"),
    ]);
    let cases: [(&str, &[&str]); 11] = [
        ("migration", &["the migration needs hours", "the migration locks tables"]),
        ("migrat", &["the migration needs hours", "the migration locks tables"]),
        ("MIGRATION", &["the migration needs hours", "the migration locks tables"]),
        ("how does the locks migration", &["the migration locks tables"]),
        ("linter?", &["the linter knows nothing"]),
        ("cafe", &["le café crème est là"]),
        ("CAFE\u{301}", &["le café crème est là"]),
        ("東京", &["東京 is where the server stands"]),
        ("zebra linter", &["the linter knows nothing"]),
        // Short words are found as they are only: this is no beginning of "server".
        ("se", &[]),
        ("zebra", &[]),
    ];
    for (query, expected) in cases {
        let found = record.recalled(query, 1);
        let best: Vec<&str> = found.iter().map(String::as_str).take(expected.len().max(1)).collect();
        assert_eq!(best, expected, "{query:?} found {found:?}");
    }
    assert_eq!(record.store.recall("migration", "/code/1", 1).unwrap().len(), 1);
    assert_eq!(texts(record.store.recall("", "/code/1", 1).unwrap()), ["東京 is where the server stands"]);
}

#[test]
fn the_same_text_is_kept_once_with_its_newest_date() {
    let record = two_projects();
    record.put(vec![
        note(1, 9, NoteScope::Project, "one"),
        note(2, 2, NoteScope::Project, "one"),
        note(1, 3, NoteScope::User, "one"),
        note(1, 4, NoteScope::Project, "two"),
        // Later on record, with a clock that goes wrong.
        note(1, 5, NoteScope::Project, " one "),
        // The person's notes are the same in every project.
        note(2, 6, NoteScope::User, "one"),
        note(1, 10, NoteScope::Project, "two"),
    ]);
    let kept = record.rows(
        "SELECT id, scope, project, text, (at_ms - 1767323045678) / 1000, seq FROM memory ORDER BY at_ms DESC",
    );
    let expected = [
        "4|project|/code/1|two|10|7",
        "1|project|/code/1|one|9|6",
        "3|user|/code/2|one|6|4",
        "2|project|/code/2|one|2|3",
    ];
    assert_eq!(kept, expected);
    record.check_memory_index();
}

#[test]
fn a_forgotten_note_is_gone_and_its_number_with_it() {
    let record = two_projects();
    record.put(vec![
        note(1, 1, NoteScope::Project, "keep this"),
        note(1, 2, NoteScope::Project, "forget this"),
    ]);
    let store = &record.store;
    assert!(store.forget(2).unwrap());
    for unknown in [2, 0, 99, u64::MAX] {
        assert!(!store.forget(unknown).unwrap(), "{unknown}");
        assert_eq!(store.note(unknown).unwrap(), None, "{unknown}");
    }
    assert_eq!(record.recalled("this", 1), ["keep this"]);
    assert_eq!(record.recalled("forget", 1), [""; 0]);
    record.check_memory_index();
    // The event stays; the number is not given again; it may be learnt anew.
    record.put(vec![note(1, 3, NoteScope::Project, "forget this")]);
    assert_eq!(record.rows("SELECT id FROM memory ORDER BY id"), ["1", "3"]);
    assert_eq!(record.recalled("forget", 1), ["forget this"]);
}

#[test]
fn notes_outlive_their_session() {
    let record = two_projects();
    record.put(vec![note(1, 1, NoteScope::Project, "still here")]);
    record.store.delete_session(session(1)).unwrap();
    assert!(record.store.agents(session(1)).unwrap().is_empty());
    let found = record.store.recall("here", "/code/1", 10).unwrap();
    assert_eq!((found.len(), found[0].session, found[0].agent.as_str()), (1, session(1), "main"));
    let path = record.path.clone();
    drop(record.store);
    let again = open(&path, &record.seen);
    assert_eq!(again.recall("here", "/code/1", 10).unwrap(), found);
    assert!(again.forget(found[0].id).unwrap());
}

#[test]
fn notes_are_kept_together_with_their_event_or_not_at_all() {
    let record = two_projects();
    let stranger = NewEvent { agent: agent(77), ..event(1, turn(1)) };
    record.refused(vec![note(1, 1, NoteScope::Project, "half a batch"), stranger]);
    assert_eq!(record.store.notes(None, 10).unwrap(), []);
    assert_eq!(record.recalled("batch", 1), [""; 0]);
}

#[test]
fn what_is_too_much_is_cut() {
    let record = two_projects();
    let odd =
        |kind: &str, text: &str| NewNote { scope: NoteScope::Project, kind: kind.into(), text: text.into() };
    let long = format!("x{}", "ä".repeat(limits::NOTE_BYTES_MAX));
    record.put(vec![event(1, noting(vec![odd("k", " \n "), odd("", "plain"), odd(&long, &long)]))]);
    let notes = record.store.notes(None, 10).unwrap();
    assert_eq!(notes.len(), 2, "nothing is no note");
    assert_eq!(notes[1].kind, "note");
    assert_eq!(notes[0].kind.chars().count(), limits::NOTE_KIND_CHARS_MAX);
    assert_eq!(notes[0].text.len(), limits::NOTE_BYTES_MAX - 1, "cut between two letters");
    assert!(long.starts_with(&notes[0].text));
}

#[test]
fn a_full_memory_loses_its_oldest_notes() {
    let record = two_projects();
    record.put(vec![note(2, 0, NoteScope::Project, "elsewhere"), note(1, 0, NoteScope::User, "everywhere")]);
    let many = limits::NOTES_IN_SCOPE_MAX as u64 + 3;
    let notes =
        (1..=many).map(|n| note(1, n, NoteScope::Project, &format!("note number{n}x of many"))).collect();
    record.put(notes);
    assert_eq!(record.store.note_count("/code/1").unwrap(), limits::NOTES_IN_SCOPE_MAX);
    assert_eq!(record.recalled("number3x", 1), [""; 0], "the oldest three are gone");
    assert_eq!(record.recalled("number4x elsewhere everywhere", 1).len(), 2);
    assert_eq!(record.recalled("elsewhere", 2), ["elsewhere"]);
    assert_eq!(record.recalled("many", 1).len(), 50);
    let all = record.store.recall("many", "/code/1", usize::MAX).unwrap();
    assert_eq!(all.len(), limits::NOTES_RECALLED_MAX);
    record.check_memory_index();
}

#[test]
fn no_query_is_an_error() {
    let record = two_projects();
    record.put(vec![
        note(1, 1, NoteScope::Project, "plain words OR near \"quotes\" 🦀 end"),
        note(2, 2, NoteScope::Project, "not yours: plain words"),
    ]);
    let mut ran = 0;
    for query in hostile_queries() {
        let found = record.store.recall(&query, "/code/1", 10);
        let found = texts(found.unwrap_or_else(|e| panic!("{query:?}: {e}")));
        assert!(!found.iter().any(|text| text.starts_with("not yours")), "{query:?} found {found:?}");
        ran += 1;
    }
    assert_eq!(ran, HOSTILE_QUERIES);
    record.check_memory_index();
}
