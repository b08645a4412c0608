//! A small session: a main agent with a to-do list, and agents at work, asking, and done.

use posse_protocol::{
    AgentId, Branch, Brief, Budget, CallId, CallKind, ContextMode, Effect, Ending, Event, EventKind,
    FileChange, Grant, Isolation, Purpose, Question, Reasoning, ReasoningOrigin, Receipt, Reply, Report,
    Sender, Seq, SessionId, ToolCall, Usage,
};
use posse_view::SessionView;

/// When everything begins, in milliseconds.
pub(crate) const BEGUN_AT: u64 = 1_000_000;

pub(crate) fn id(n: u32) -> AgentId {
    format!("00000000-0000-7000-8000-{n:012}").parse().unwrap()
}

pub(crate) fn session() -> SessionId {
    "00000000-0000-7000-8000-000000000099".parse().unwrap()
}

/// A session that is being written. Agent 1 is the main agent.
#[derive(Default)]
pub(crate) struct WrittenSession {
    pub(crate) events: Vec<Event>,
    parents: std::collections::HashMap<u32, u32>,
    now_ms: u64,
}

impl WrittenSession {
    pub(crate) fn wait(&mut self, ms: u64) {
        self.now_ms += ms;
    }

    pub(crate) fn add(&mut self, n: u32, kind: EventKind) {
        let parent = self.parents.get(&n).map(|parent| id(*parent));
        let seq = Seq(self.events.len() as u64 + 1);
        let at_ms = BEGUN_AT + self.now_ms;
        self.events.push(Event { seq, session: session(), agent: id(n), parent, at_ms, kind });
    }

    pub(crate) fn admit(&mut self, n: u32, parent: u32, name: &str, title: &str) {
        self.parents.insert(n, parent);
        let brief = Brief {
            call: None,
            grant: Grant::none(),
            budget: Budget::UNLIMITED,
            model: "small".to_owned(),
            max_output_tokens: None,
            words: format!("Please {title}.\nSay what you found."),
            system_prompt: None,
            context_files: vec!["src/lib.rs".to_owned()],
            deliverables: Vec::new(),
            isolation: Isolation::Shared,
            branch: None,
            on: None,
        };
        let kind = EventKind::AgentAdmitted {
            name: name.to_owned(),
            role: name.split('-').next().unwrap().to_owned(),
            depth: 1,
            title: title.to_owned(),
            requested_model: None,
            context: ContextMode::Fresh,
            continues: None,
            brief: Some(Box::new(brief)),
        };
        self.add(n, kind);
    }

    pub(crate) fn start(&mut self, n: u32, model: &str) {
        let kind = EventKind::AgentStarted {
            role: if n == 1 { "main".to_owned() } else { self.role(n) },
            depth: u32::from(n > 1),
            model: model.to_owned(),
            model_id: format!("{model}-2026"),
            budget: Budget { turns: Some(50), ..Budget::UNLIMITED },
            grant: Grant::none(),
            system: "a long prompt".to_owned(),
            checkout: None,
        };
        self.add(n, kind);
    }

    /// The role that it was admitted with.
    fn role(&self, n: u32) -> String {
        let role = self.events.iter().find_map(|event| match &event.kind {
            EventKind::AgentAdmitted { role, .. } if event.agent == id(n) => Some(role.clone()),
            _ => None,
        });
        role.unwrap_or_default()
    }

    pub(crate) fn turn(&mut self, n: u32, turn: u32) {
        self.add(n, EventKind::TurnStarted { turn, purpose: Purpose::Work });
    }

    pub(crate) fn reply(&mut self, n: u32, turn: u32, thought: &str, text: &str, calls: &[(&str, &str)]) {
        let thought = Reasoning { text: thought.to_owned(), origin: ReasoningOrigin::Chat, opaque: None };
        let call = |(name, arguments): &(&str, &str)| ToolCall {
            id: CallId(format!("{n}-{turn}-{name}")),
            name: (*name).to_owned(),
            arguments: (*arguments).to_owned(),
        };
        let reply = Reply {
            text: text.to_owned(),
            reasoning: vec![thought],
            calls: calls.iter().map(call).collect(),
            usage: Usage { input_tokens: Some(1200), output_tokens: Some(34), ..Usage::default() },
            ..Reply::default()
        };
        self.add(n, EventKind::Replied { turn, reply, duration_ms: 900, cost_usd: Some(0.0123) });
    }

    pub(crate) fn begin_call(&mut self, n: u32, turn: u32, tool: &str, title: &str, kind: CallKind) {
        let call = CallId(format!("{n}-{turn}-{tool}"));
        let (tool, title) = (tool.to_owned(), title.to_owned());
        self.add(n, EventKind::ToolStarted { call, tool, title, repeatable: true, kind, paths: Vec::new() });
    }

    pub(crate) fn end_call(&mut self, n: u32, turn: u32, tool: &str, text: &str, effects: Vec<Effect>) {
        let call = CallId(format!("{n}-{turn}-{tool}"));
        let (tool, text) = (tool.to_owned(), text.to_owned());
        let attachments = Vec::new();
        self.add(
            n,
            EventKind::ToolFinished { call, tool, ok: true, text, attachments, effects, duration_ms: 1500 },
        );
    }

    pub(crate) fn view(&self) -> SessionView {
        let mut view = SessionView::default();
        for event in &self.events {
            view.fold(event).unwrap();
        }
        view
    }
}

/// A main agent with a to-do list and three agents: one done on a branch, one at work, and one below it that asks.
pub(crate) fn written() -> WrittenSession {
    let mut to = WrittenSession::default();
    to.add(
        1,
        EventKind::SessionStarted {
            workspace: "/work/shop".to_owned(),
            version: "1".to_owned(),
            sandboxed: true,
            project: "/work/shop".to_owned(),
            surface: "posse".to_owned(),
            coordinator: false,
            team: false,
            traceparent: None,
        },
    );
    to.start(1, "large");
    to.add(1, EventKind::told(Sender::Person, "Make the basket remember what is in it."));
    to.turn(1, 1);
    let todo = "[x] find where the basket lives\n[>] keep it in the store\n[ ] test it";
    to.reply(1, 1, "First I look.\nThen I plan.", "I will **split** this up.", &[("todo", "{\"items\":3}")]);
    to.begin_call(1, 1, "todo", "3 items", CallKind::Think);
    to.end_call(1, 1, "todo", "kept", vec![Effect::Todo { text: todo.to_owned() }]);
    to.admit(2, 1, "coder-1", "keep the basket in the store");
    to.start(2, "small");
    to.turn(2, 1);
    to.reply(2, 1, "", "", &[("edit_file", "{\"path\":\"src/basket.rs\"}")]);
    to.begin_call(2, 1, "edit_file", "edit src/basket.rs", CallKind::Edit);
    to.end_call(2, 1, "edit_file", "changed 12 lines\nof one file", Vec::new());
    to.wait(20_000);
    settle(&mut to, 2);
    to.admit(3, 1, "explore-1", "find all call sites of Basket::new");
    to.start(3, "small");
    to.turn(3, 1);
    to.reply(3, 1, "Where are they?", "I look for them.", &[("shell", "{\"command\":\"rg Basket::new\"}")]);
    to.begin_call(3, 1, "shell", "rg Basket::new", CallKind::Run);
    to.admit(4, 3, "review-1", "read the tests");
    to.start(4, "small");
    to.turn(4, 1);
    let mut question = Question::new(CallId("4-1-shell".to_owned()), "shell", "cargo test");
    question.why = "in mode ask, running a command asks first".to_owned();
    to.add(4, EventKind::PersonNeeded { question });
    to
}

fn settle(to: &mut WrittenSession, n: u32) {
    let file =
        FileChange { path: "src/basket.rs".to_owned(), created: false, lines_added: 12, lines_removed: 2 };
    let receipt = Receipt {
        turns: 1,
        tool_calls: 1,
        usage: Usage { input_tokens: Some(1200), output_tokens: Some(34), ..Usage::default() },
        cost_usd: Some(0.0123),
        duration_ms: 20_000,
        files: vec![file],
        branch: Some(Branch {
            name: "posse/coder-1".to_owned(),
            base: "a".to_owned(),
            tip: "b".to_owned(),
            diff: String::new(),
        }),
        ..Receipt::default()
    };
    let mut report = Report::new(Ending::Completed, "The basket is *kept*.\n\n- all tests pass", receipt);
    report.warnings.push("it says that tests pass, and ran none".to_owned());
    to.add(n, EventKind::AgentSettled { report });
}

/// A session with many agents.
pub(crate) fn fleet(agents: u32) -> WrittenSession {
    let mut to = written();
    for n in 5..5 + agents {
        to.admit(n, if n % 3 == 0 { n - 1 } else { 1 }, &format!("coder-{n}"), &format!("part {n}"));
        to.start(n, "small");
    }
    to
}
