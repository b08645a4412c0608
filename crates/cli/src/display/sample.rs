//! Events of a small session with sub-agents, for the tests of what is shown of one.

use posse_protocol::{
    AgentId, Answer, Budget, CallId, CallKind, ContextMode, Ending, Event, EventKind, FileChange, Grant,
    Progress, ProgressKind, Purpose, Question, QueueReason, Receipt, Reply, Report, Sender, Seq, TestRun,
    TestsSeen, Usage,
};
use posse_view::SessionView;

/// When everything begins.
pub(crate) const STARTED_AT: u64 = 1_000_000;

pub(crate) fn id(n: u32) -> AgentId {
    format!("00000000-0000-7000-8000-{n:012}").parse().unwrap()
}

/// An event of agent `n`, whose parent is `parent`; 0 is none. It has no number yet.
pub(crate) fn event(n: u32, parent: u32, kind: EventKind) -> Event {
    let session = "00000000-0000-7000-8000-000000000099".parse().unwrap();
    let parent = (parent > 0).then(|| id(parent));
    Event { seq: Seq(1), session, agent: id(n), parent, at_ms: STARTED_AT, kind }
}

/// The same events, numbered.
pub(crate) fn numbered(mut events: Vec<Event>) -> Vec<Event> {
    for (event, number) in events.iter_mut().zip(1..) {
        event.seq = Seq(number);
    }
    events
}

/// What there is to show after these events.
pub(crate) fn view(events: Vec<Event>) -> SessionView {
    let mut view = SessionView::default();
    for event in numbered(events) {
        view.fold(&event).unwrap();
    }
    view
}

pub(crate) fn admitted(name: &str, depth: u32, title: &str) -> EventKind {
    EventKind::AgentAdmitted {
        name: name.to_string(),
        role: "explore".to_string(),
        depth,
        title: title.to_string(),
        requested_model: None,
        context: ContextMode::Fresh,
        continues: None,
        brief: None,
    }
}

pub(crate) fn queued() -> EventKind {
    EventKind::AgentQueued { reason: QueueReason::RunningCap, at: None }
}

pub(crate) fn started(depth: u32, turns: Option<u32>) -> EventKind {
    EventKind::AgentStarted {
        role: "explore".to_string(),
        depth,
        model: "fake".to_string(),
        model_id: "fake-model".to_string(),
        budget: Budget { turns, ..Budget::UNLIMITED },
        grant: Grant::none(),
        system: String::new(),
        checkout: None,
    }
}

pub(crate) fn asks(command: &str) -> EventKind {
    EventKind::PersonNeeded {
        question: Question {
            call: CallId("c".to_string()),
            tool: "shell".to_string(),
            what: command.to_string(),
            asks: None,
            real_path: None,
            preview: None,
            leaves: false,
            written: Vec::new(),
            written_more: 0,
            writing: Vec::new(),
            why: "in mode ask, running a command asks first".to_string(),
            pattern: format!("shell({command})"),
        },
    }
}

pub(crate) fn allowed() -> EventKind {
    EventKind::PersonAnswered { call: CallId("c".to_string()), answer: Answer::Once }
}

pub(crate) fn told(from: Sender, text: &str) -> EventKind {
    EventKind::told(from, text.to_string())
}

pub(crate) fn turn(turn: u32) -> EventKind {
    EventKind::TurnStarted { turn, purpose: Purpose::Work }
}

pub(crate) fn replied(text: &str, tokens: u64) -> EventKind {
    let usage = Usage { input_tokens: Some(tokens), ..Usage::default() };
    let reply = Reply { text: text.to_string(), usage, ..Reply::default() };
    EventKind::Replied { turn: 1, reply, duration_ms: 5, cost_usd: None }
}

pub(crate) fn tool_started(call: &str, title: &str) -> EventKind {
    EventKind::ToolStarted {
        call: CallId(call.to_string()),
        tool: "grep".to_string(),
        title: title.to_string(),
        repeatable: true,
        kind: CallKind::Other,
        paths: Vec::new(),
    }
}

pub(crate) fn tool_finished(call: &str, text: &str) -> EventKind {
    EventKind::ToolFinished {
        call: CallId(call.to_string()),
        tool: "grep".to_string(),
        ok: true,
        text: text.to_string(),
        attachments: Vec::new(),
        effects: Vec::new(),
        duration_ms: 20,
    }
}

pub(crate) fn report(ending: Ending, text: &str) -> Report {
    let files = vec![FileChange {
        path: "tests/auth.rs".to_string(),
        created: true,
        lines_added: 82,
        lines_removed: 0,
    }];
    let receipt = Receipt {
        turns: 6,
        tool_calls: 8,
        duration_ms: 34_200,
        files,
        tests: Some(TestsSeen {
            command: "cargo test".to_string(),
            exit_code: Some(101),
            counts: Some(TestRun { run: 5, passed: 4 }),
            ..TestsSeen::default()
        }),
        ..Receipt::default()
    };
    Report::new(ending, text, receipt)
}

pub(crate) fn progress(n: u32, kind: ProgressKind) -> Progress {
    Progress { agent: id(n), kind }
}
