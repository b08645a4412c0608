//! Events of small sessions, numbered as they come, and the fixtures.

use std::path::PathBuf;

use posse_protocol::{
    AgentId, Answer, Branch, Budget, CallId, CallKind, ContextMode, Effect, Ending, Event, EventKind,
    FileChange, Grant, Purpose, Question, QueueReason, Receipt, Reply, Report, Sender, Seq, ToolCall, Usage,
};
use posse_view::SessionView;

/// When everything begins.
pub(crate) const START_MS: u64 = 1_000_000;

pub(crate) fn id(n: u32) -> AgentId {
    format!("00000000-0000-7000-8000-{n:012}").parse().unwrap()
}

/// A session that is being written. Agent 1 is the main agent; others are children of whoever admits them.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventScript {
    pub(crate) events: Vec<Event>,
    parents: std::collections::HashMap<u32, u32>,
    now_ms: u64,
}

impl EventScript {
    pub(crate) fn new() -> Self {
        Self { now_ms: START_MS, ..Self::default() }
    }

    pub(crate) fn wait(&mut self, ms: u64) -> &mut Self {
        self.now_ms += ms;
        self
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.now_ms
    }

    pub(crate) fn add(&mut self, n: u32, kind: EventKind) -> &mut Self {
        let session = "00000000-0000-7000-8000-000000000099".parse().unwrap();
        let parent = self.parents.get(&n).map(|parent| id(*parent));
        let seq = Seq(self.events.len() as u64 + 1);
        self.events.push(Event { seq, session, agent: id(n), parent, at_ms: self.now_ms, kind });
        self
    }

    pub(crate) fn admit(&mut self, n: u32, parent: u32, name: &str, depth: u32) -> &mut Self {
        self.parents.insert(n, parent);
        self.add(
            n,
            EventKind::AgentAdmitted {
                name: name.to_owned(),
                role: "coder".to_owned(),
                depth,
                title: format!("task of {name}"),
                requested_model: None,
                context: ContextMode::Fresh,
                continues: None,
                brief: None,
            },
        )
    }

    pub(crate) fn view(&self) -> SessionView {
        folded(SessionView::default(), &self.events)
    }
}

/// A view after these events, too.
pub(crate) fn folded(mut view: SessionView, events: &[Event]) -> SessionView {
    for event in events {
        view.fold(event).unwrap();
    }
    view
}

pub(crate) fn started(depth: u32) -> EventKind {
    EventKind::AgentStarted {
        role: "coder".to_owned(),
        depth,
        model: "large".to_owned(),
        model_id: "large-2026".to_owned(),
        budget: Budget { turns: Some(50), ..Budget::UNLIMITED },
        grant: Grant::none(),
        system: "a long prompt".to_owned(),
        checkout: None,
    }
}

pub(crate) fn resumed(elapsed_ms: u64) -> EventKind {
    EventKind::AgentResumed {
        model: "other".to_owned(),
        model_id: String::new(),
        elapsed_ms,
        budget: Budget::UNLIMITED,
        grant: Grant::none(),
    }
}

pub(crate) fn turn(turn: u32) -> EventKind {
    EventKind::TurnStarted { turn, purpose: Purpose::Work }
}

pub(crate) fn replied(text: &str, tokens: u64, cost_usd: Option<f64>, calls: bool) -> EventKind {
    let usage = Usage { input_tokens: Some(tokens), output_tokens: Some(1), ..Usage::default() };
    let call = ToolCall { id: CallId("c".to_owned()), name: "shell".to_owned(), arguments: "{}".to_owned() };
    let calls = if calls { vec![call] } else { Vec::new() };
    let reply = Reply { text: text.to_owned(), usage, calls, ..Reply::default() };
    EventKind::Replied { turn: 1, reply, duration_ms: 5, cost_usd }
}

pub(crate) fn tool_started(call: &str, title: &str) -> EventKind {
    let (tool, title) = ("shell".to_owned(), title.to_owned());
    EventKind::ToolStarted {
        call: CallId(call.to_owned()),
        tool,
        title,
        repeatable: false,
        kind: CallKind::Other,
        paths: Vec::new(),
    }
}

pub(crate) fn tool_finished(call: &str, text: &str, effects: Vec<Effect>) -> EventKind {
    let (call, tool, text) = (CallId(call.to_owned()), "shell".to_owned(), text.to_owned());
    EventKind::ToolFinished { call, tool, ok: true, text, attachments: Vec::new(), effects, duration_ms: 20 }
}

pub(crate) fn asks(call: &str) -> EventKind {
    EventKind::PersonNeeded {
        question: Question {
            call: CallId(call.to_owned()),
            tool: "shell".to_owned(),
            what: format!("rm {call}"),
            asks: None,
            real_path: None,
            preview: None,
            leaves: false,
            written: Vec::new(),
            written_more: 0,
            writing: Vec::new(),
            why: "in mode ask, running a command asks first".to_owned(),
            pattern: format!("shell(rm {call})"),
        },
    }
}

pub(crate) fn allowed(call: &str) -> EventKind {
    EventKind::PersonAnswered { call: CallId(call.to_owned()), answer: Answer::Once }
}

pub(crate) fn told(from: Sender, text: &str) -> EventKind {
    EventKind::told(from, text.to_owned())
}

pub(crate) fn queued() -> EventKind {
    EventKind::AgentQueued { reason: QueueReason::RunningCap, at: None }
}

pub(crate) fn placed(worker: &str, epoch: u64) -> EventKind {
    EventKind::AgentPlaced { worker: worker.to_owned(), epoch, run: String::new(), lease_ms: 0 }
}

pub(crate) fn interrupted(agents: &[u32]) -> EventKind {
    EventKind::SessionInterrupted { agents: agents.iter().map(|n| id(*n)).collect(), detached: false }
}

pub(crate) fn settled(ending: Ending, receipt: Receipt) -> EventKind {
    EventKind::AgentSettled { report: Report::new(ending, "It is done.", receipt) }
}

/// A receipt that knows of one changed file, on a branch or in the folder.
pub(crate) fn receipt(path: &str, branch: Option<&str>) -> Receipt {
    let file = FileChange { path: path.to_owned(), created: false, lines_added: 1, lines_removed: 0 };
    let branch = branch.map(|name| Branch {
        name: name.to_owned(),
        base: "a".to_owned(),
        tip: "b".to_owned(),
        diff: String::new(),
    });
    Receipt { files: vec![file], branch, duration_ms: 700, ..Receipt::default() }
}

/// The fixtures: name and events, in the order of their names.
pub(crate) fn fixtures() -> Vec<(String, Vec<Event>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let text = std::fs::read_to_string(&path).unwrap();
            let events = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            found.push((path.file_stem().unwrap().to_str().unwrap().to_owned(), events));
        }
    }
    found.sort_by(|(one, _): &(String, Vec<Event>), (other, _)| one.cmp(other));
    assert!(found.len() >= 9, "only {} fixtures found", found.len());
    found
}

pub(crate) fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}
