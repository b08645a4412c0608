//! A record in a temporary folder, and events to put into it.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use posse_protocol::*;
use posse_store::{Ack, Durability, NewEvent, Store, StoreError};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use tempfile::TempDir;
use uuid::Uuid;

/// When every test begins: 2026-01-02T03:04:05.678Z.
pub(crate) const START_MS: u64 = 1_767_323_045_678;

/// The place of an event, from the key of its row.
pub(crate) const SEQ: &str = "(id & 4294967295)";

pub(crate) struct Record {
    pub(crate) store: Store,
    pub(crate) path: PathBuf,
    /// What was published, in order.
    pub(crate) seen: Arc<Mutex<Vec<Event>>>,
    // After the store: the folder goes last.
    pub(crate) dir: TempDir,
}

pub(crate) fn record() -> Record {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("posse.db");
    let seen: Arc<Mutex<Vec<Event>>> = Arc::default();
    let store = open(&path, &seen);
    Record { store, path, seen, dir }
}

pub(crate) fn open(path: &std::path::Path, seen: &Arc<Mutex<Vec<Event>>>) -> Store {
    let seen = Arc::clone(seen);
    Store::open(path, Durability::Process, move |event| seen.lock().unwrap().push(event)).unwrap()
}

/// Opens a record whose events nobody follows.
pub(crate) fn quiet(path: &std::path::Path) -> Result<Store, StoreError> {
    Store::open(path, Durability::Process, |_| ())
}

impl Record {
    /// Appends and waits; the outcome must be a place.
    pub(crate) fn put(&self, events: Vec<NewEvent>) -> u64 {
        wait(self.store.append(events)).unwrap().0
    }

    /// Appends and waits; the outcome must be an error, whose words are returned.
    pub(crate) fn refused(&self, events: Vec<NewEvent>) -> String {
        wait(self.store.append(events)).unwrap_err().to_string()
    }

    /// The rows of a query: columns joined by `|`, NULL as `-`.
    pub(crate) fn rows(&self, sql: &str) -> Vec<String> {
        rows(&Connection::open(&self.path).unwrap(), sql)
    }
}

pub(crate) fn rows(connection: &Connection, sql: &str) -> Vec<String> {
    let mut statement = connection.prepare(sql).unwrap();
    let columns = statement.column_count();
    let show = |value: ValueRef<'_>| match value {
        ValueRef::Null => "-".to_owned(),
        ValueRef::Integer(n) => n.to_string(),
        ValueRef::Real(n) => n.to_string(),
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into_owned(),
    };
    statement
        .query_map([], |row| {
            let cells: Result<Vec<_>, _> = (0..columns).map(|i| row.get_ref(i).map(show)).collect();
            Ok(cells?.join("|"))
        })
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

pub(crate) fn wait(ack: Ack) -> Result<Seq, StoreError> {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(ack)
}

/// Whether as much is to be run as promised, instead of a part that takes seconds.
pub(crate) fn soak() -> bool {
    std::env::var_os("POSSE_SOAK").is_some()
}

pub(crate) fn session(n: u128) -> SessionId {
    Uuid::from_u128(n).into()
}

pub(crate) fn agent(n: u128) -> AgentId {
    Uuid::from_u128(n).into()
}

/// An event of session `n` and of its main agent, which is number `n` too, one second after the start.
pub(crate) fn event(n: u128, kind: EventKind) -> NewEvent {
    NewEvent { session: session(n), agent: agent(n), parent: None, at_ms: START_MS + 1_000, kind }
}

/// The first two events of session `n`.
pub(crate) fn start(n: u128) -> Vec<NewEvent> {
    let begun = EventKind::SessionStarted {
        workspace: format!("/code/{n}"),
        version: "0.1.0".into(),
        sandboxed: true,
        project: format!("/code/{n}"),
        surface: "posse".into(),
        coordinator: false,
        team: false,
        traceparent: None,
    };
    [begun, agent_started("main", 0)].map(|kind| NewEvent { at_ms: START_MS, ..event(n, kind) }).to_vec()
}

pub(crate) fn agent_started(role: &str, depth: u32) -> EventKind {
    EventKind::AgentStarted {
        role: role.into(),
        depth,
        model: "local".into(),
        model_id: "coder-1.5b".into(),
        budget: Budget { turns: Some(40), tokens: None, time_ms: Some(60_000), cost_usd: Some(0.5) },
        grant: Grant::none(),
        system: "You are a test.".into(),
        checkout: None,
    }
}

pub(crate) fn told(text: &str) -> EventKind {
    EventKind::told(Sender::Person, text)
}

pub(crate) fn turn(turn: u32) -> EventKind {
    EventKind::TurnStarted { turn, purpose: Purpose::Work }
}

pub(crate) fn replied(usage: Usage) -> EventKind {
    replied_at(usage, None)
}

pub(crate) fn replied_at(usage: Usage, cost_usd: Option<f64>) -> EventKind {
    EventKind::Replied {
        turn: 1,
        reply: Reply { text: "hm".into(), usage, ..Reply::default() },
        duration_ms: 12,
        cost_usd,
    }
}

pub(crate) fn usage(input: u64, output: u64) -> Usage {
    Usage { input_tokens: Some(input), output_tokens: Some(output), ..Usage::default() }
}

pub(crate) fn tool_started(call: &str) -> EventKind {
    let (tool, title) = ("grep".into(), "grep TODO".into());
    EventKind::ToolStarted {
        call: CallId(call.into()),
        tool,
        title,
        repeatable: true,
        kind: CallKind::Other,
        paths: Vec::new(),
    }
}

pub(crate) fn tool_finished(call: &str, ok: bool) -> EventKind {
    EventKind::ToolFinished {
        call: CallId(call.into()),
        tool: "grep".into(),
        ok,
        text: "12345".into(),
        attachments: Vec::new(),
        effects: vec![],
        duration_ms: 7,
    }
}

pub(crate) fn settled(ending: Ending) -> EventKind {
    let files = vec![FileChange { path: "a.rs".into(), created: true, lines_added: 3, lines_removed: 0 }];
    // What else it used is what its events tell.
    settled_with(ending, Receipt { cost_usd: Some(0.25), duration_ms: 900, files, ..Receipt::default() })
}

pub(crate) fn settled_with(ending: Ending, receipt: Receipt) -> EventKind {
    EventKind::AgentSettled { report: Report::new(ending, "All done.\n\nDetails.", receipt) }
}

pub(crate) fn admitted(name: &str, depth: u32, title: &str) -> EventKind {
    EventKind::AgentAdmitted {
        name: name.into(),
        role: "explore".into(),
        depth,
        title: title.into(),
        requested_model: Some("small".into()),
        context: ContextMode::Fork,
        continues: None,
        brief: None,
    }
}

pub(crate) fn compacted() -> EventKind {
    EventKind::Compacted {
        summary: "short".into(),
        bytes_before: 9_000,
        bytes_after: 100,
        opening: "go on from here".into(),
        kept: 2,
    }
}

pub(crate) fn asks(what: &str) -> EventKind {
    let (call, tool, what) = (CallId("c".into()), "shell".into(), what.into());
    let question = Question {
        call,
        tool,
        what,
        asks: None,
        real_path: None,
        preview: None,
        leaves: false,
        written: Vec::new(),
        written_more: 0,
        writing: Vec::new(),
        why: "it asks first".into(),
        pattern: "shell".into(),
    };
    EventKind::PersonNeeded { question }
}

pub(crate) fn answered() -> EventKind {
    EventKind::PersonAnswered { call: CallId("c".into()), answer: Answer::Once }
}

pub(crate) fn said(from: Sender, text: &str) -> EventKind {
    EventKind::told(from, text)
}

/// An event of an agent of session `n`, under another agent.
pub(crate) fn below(n: u128, parent: u128, id: u128, kind: EventKind) -> NewEvent {
    NewEvent { agent: agent(id), parent: Some(agent(parent)), ..event(n, kind) }
}

/// A session whose main agent delegates: every kind of event that only such a session has.
pub(crate) fn tree_session(n: u128) -> Vec<NewEvent> {
    let (first, second) = (n + 1, n + 2);
    let mut events = start(n);
    events.extend([
        event(n, told("fix both")),
        below(n, n, first, admitted("explore-1", 1, "find it")),
        below(n, n, first, EventKind::AgentQueued { reason: QueueReason::RunningCap, at: None }),
        below(n, n, first, agent_started("explore", 1)),
        below(n, n, first, said(Sender::Parent, "look for it")),
        below(n, n, first, turn(1)),
        below(n, n, first, replied(usage(70, 30))),
        below(n, first, second, admitted("explore-2", 2, "look deeper")),
        below(n, first, second, settled(Ending::Cancelled)),
        below(n, n, first, asks("really")),
        below(n, n, first, answered()),
        below(n, n, first, settled(Ending::OutOfTurns)),
        event(n, EventKind::ReportsDelivered { agents: vec![agent(first)] }),
        event(n, said(Sender::Reports, "explore-1: all done")),
        event(n, settled(Ending::Completed)),
    ]);
    events
}

/// One event of every kind that a session without sub-agents has, in an order in which they happen, for session `n`.
pub(crate) fn whole_session(n: u128) -> Vec<NewEvent> {
    let error = ModelError::new(ModelErrorKind::Overloaded, "the model is overloaded");
    let mut events = start(n);
    let rest = [
        told("fix the test"),
        turn(1),
        EventKind::Retrying { attempt: 1, attempts_max: 6, delay_ms: 5, reason: "529".into() },
        replied(usage(100, 20)),
        tool_started("c1"),
        tool_finished("c1", true),
        compacted(),
        turn(2),
        EventKind::ModelFailed { turn: 2, error },
        settled(Ending::Completed),
    ];
    events.extend(rest.map(|kind| event(n, kind)));
    events
}
