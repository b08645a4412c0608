//! A chat that is driven by bytes of a keyboard and by events, and what it shows.

use std::collections::HashMap;

use posse_protocol::{
    AgentId, Answer, Approval, Budget, CallId, CallKind, ContextMode, Ending, Event, EventKind, Grant,
    MailId, Progress, ProgressKind, Purpose, Question, Receipt, Reply, Report, Sender, Seq, SessionId,
    Update, Usage,
};
use posse_setup::ModelSummary;
use posse_terminal::{KeyReader, Region};
use posse_tui::{Chat, ChatEffect, ChatFacts, ChatInput, ChatOutcome, region};

pub(crate) const START_MS: u64 = 1_000_000;
pub(crate) const ESC: &str = "\x1b";
pub(crate) const CTRL_C: &str = "\x03";
pub(crate) const CTRL_Q: &str = "\x11";
pub(crate) const CTRL_R: &str = "\x12";
pub(crate) const ENTER: &str = "\r";
pub(crate) const TAB: &str = "\t";
pub(crate) const SHIFT_TAB: &str = "\x1b[Z";
pub(crate) const UP: &str = "\x1b[A";
pub(crate) const DOWN: &str = "\x1b[B";
pub(crate) const ALT_UP: &str = "\x1b[1;3A";
pub(crate) const DELETE: &str = "\x1b[3~";

pub(crate) fn session() -> SessionId {
    "00000000-0000-7000-8000-000000000099".parse().unwrap()
}

pub(crate) fn id(n: u32) -> AgentId {
    format!("00000000-0000-7000-8000-{n:012}").parse().unwrap()
}

/// A chat and what has come of it. Agent 1 is the main agent.
pub(crate) struct ChatStage {
    pub(crate) chat: Chat,
    pub(crate) now_ms: u64,
    reader: KeyReader,
    seq: u64,
    parents: HashMap<u32, u32>,
}

impl ChatStage {
    /// An empty chat on a usual screen.
    pub(crate) fn new() -> Self {
        Self::sized(80, 24)
    }

    pub(crate) fn sized(columns: u16, rows: u16) -> Self {
        let (chat, parents) = (Chat::new(columns, rows, START_MS), HashMap::new());
        let mut stage = Self { chat, now_ms: START_MS, reader: KeyReader::new(), seq: 0, parents };
        stage.input(ChatInput::Facts(Box::new(facts())));
        stage
    }

    /// A chat whose session is at work on its first prompt.
    pub(crate) fn at_work() -> Self {
        Self::new().begun()
    }

    pub(crate) fn begun(mut self) -> Self {
        self.keys("mend the parser\r");
        self.outcome(ChatOutcome::Begun { session: session(), notes: Vec::new() });
        self.event(1, session_started());
        self.event(1, started(0));
        self.event(1, EventKind::told(Sender::Person, "mend the parser".to_owned()));
        self.event(1, turn(1));
        self
    }

    /// A chat whose session has answered and rests.
    pub(crate) fn at_rest() -> Self {
        let mut stage = Self::at_work();
        stage.event(1, replied("Done.", 1200));
        stage.event(1, EventKind::AgentRested { report: Some(report(Ending::Completed, "Done.")) });
        stage
    }

    pub(crate) fn input(&mut self, input: ChatInput) -> Vec<ChatEffect> {
        self.chat.handle(input, self.now_ms)
    }

    /// What a keyboard sends.
    pub(crate) fn keys(&mut self, text: &str) -> Vec<ChatEffect> {
        let mut inputs = self.reader.push(text.as_bytes());
        inputs.extend(self.reader.flush());
        inputs.into_iter().flat_map(|input| self.input(ChatInput::Terminal(input))).collect()
    }

    /// The same, without what only keeps prompts for later.
    pub(crate) fn does(&mut self, text: &str) -> Vec<ChatEffect> {
        let effects = self.keys(text);
        effects.into_iter().filter(|effect| !matches!(effect, ChatEffect::Remember(_))).collect()
    }

    pub(crate) fn paste(&mut self, text: &str) -> Vec<ChatEffect> {
        self.keys(&format!("\x1b[200~{text}\x1b[201~"))
    }

    pub(crate) fn outcome(&mut self, outcome: ChatOutcome) -> Vec<ChatEffect> {
        self.input(ChatInput::Outcome(outcome))
    }

    /// The next event, of agent `n`.
    pub(crate) fn next(&mut self, n: u32, kind: EventKind) -> Event {
        self.seq += 1;
        let parent = self.parents.get(&n).map(|parent| id(*parent));
        let at_ms = self.now_ms;
        Event { seq: Seq(self.seq), session: session(), agent: id(n), parent, at_ms, kind }
    }

    pub(crate) fn event(&mut self, n: u32, kind: EventKind) -> Vec<ChatEffect> {
        let event = self.next(n, kind);
        self.input(ChatInput::Update(Update::Event(event.into())))
    }

    pub(crate) fn recorded(&mut self, n: u32, kind: EventKind) -> Vec<ChatEffect> {
        let event = self.next(n, kind);
        self.input(ChatInput::Recorded(Box::new(event)))
    }

    /// A sub-agent appears.
    pub(crate) fn admit(&mut self, n: u32, parent: u32, name: &str, title: &str) {
        self.parents.insert(n, parent);
        let kind = EventKind::AgentAdmitted {
            name: name.to_owned(),
            role: "explore".to_owned(),
            depth: 1,
            title: title.to_owned(),
            requested_model: None,
            context: ContextMode::Fresh,
            continues: None,
            brief: None,
        };
        self.event(n, kind);
    }

    pub(crate) fn progress(&mut self, n: u32, kind: ProgressKind) {
        self.input(ChatInput::Update(Update::Progress(Progress { agent: id(n), kind })));
    }

    /// A piece of the main agent's reply.
    pub(crate) fn streams(&mut self, text: &str) {
        self.progress(1, ProgressKind::Text(text.to_owned()));
    }

    /// What was printed since this was last asked.
    pub(crate) fn printed(&mut self) -> Vec<String> {
        self.chat.take_printed().iter().map(posse_terminal::TextLine::text).collect()
    }

    pub(crate) fn region(&self) -> Region {
        region(&self.chat)
    }

    /// The rows of the live region.
    pub(crate) fn rows(&self) -> Vec<String> {
        self.region().lines.iter().map(posse_terminal::TextLine::text).collect()
    }

    /// What stands in the composer.
    pub(crate) fn written(&self) -> String {
        let rows = self.rows();
        let row = rows.iter().find_map(|row| row.strip_prefix("› "));
        let row = row.filter(|row| !row.contains("say what to do;"));
        row.map(|row| row.trim().to_owned()).unwrap_or_default()
    }

    pub(crate) fn shows(&self, text: &str) -> bool {
        self.rows().iter().any(|row| row.contains(text))
    }

    pub(crate) fn view(&self) -> String {
        self.chat.full_screen().map(|view| format!("{view:?}")).unwrap_or_default()
    }
}

pub(crate) fn facts() -> ChatFacts {
    let model = |name: &str, context_window| ModelSummary {
        name: name.to_owned(),
        model: None,
        protocol: "chat".to_owned(),
        context_window,
        configured: true,
    };
    ChatFacts {
        folder: "/work/app".to_owned(),
        branch: Some("main".to_owned()),
        model: Some("large".to_owned()),
        approval: Approval::Auto,
        models: vec![model("large", Some(200_000)), model("small", None)],
        skills: vec![("pdf".to_owned(), "reads documents".to_owned())],
        history: vec!["first prompt".to_owned(), "second prompt".to_owned()],
        ..ChatFacts::default()
    }
}

pub(crate) fn session_started() -> EventKind {
    EventKind::SessionStarted {
        workspace: "/work/app".to_owned(),
        version: "0.1.0".to_owned(),
        sandboxed: true,
        project: "/work/app".to_owned(),
        surface: "agent".to_owned(),
        coordinator: false,
        team: false,
        traceparent: None,
    }
}

pub(crate) fn started(depth: u32) -> EventKind {
    EventKind::AgentStarted {
        role: "explore".to_owned(),
        depth,
        model: "large".to_owned(),
        model_id: "large-2026".to_owned(),
        budget: Budget { turns: Some(50), ..Budget::UNLIMITED },
        grant: Grant { approval: Approval::Auto, ..Grant::none() },
        system: String::new(),
        checkout: None,
    }
}

pub(crate) fn turn(turn: u32) -> EventKind {
    EventKind::TurnStarted { turn, purpose: Purpose::Work }
}

pub(crate) fn replied(text: &str, tokens: u64) -> EventKind {
    let usage = Usage { input_tokens: Some(tokens), output_tokens: Some(34), ..Usage::default() };
    let reply = Reply { text: text.to_owned(), usage, ..Reply::default() };
    EventKind::Replied { turn: 1, reply, duration_ms: 5, cost_usd: Some(0.0123) }
}

pub(crate) fn report(ending: Ending, text: &str) -> Report {
    let receipt = Receipt { turns: 3, tool_calls: 2, duration_ms: 34_200, ..Receipt::default() };
    Report::new(ending, text, receipt)
}

pub(crate) fn settled(ending: Ending, text: &str) -> EventKind {
    EventKind::AgentSettled { report: report(ending, text) }
}

pub(crate) fn mailed(number: u64, text: &str, is_prompt: bool) -> EventKind {
    let (id, from, attachments) = (MailId(number), Sender::Person, Vec::new());
    EventKind::Mailed { id, from, text: text.to_owned(), is_prompt, attachments }
}

/// A command that asks first.
pub(crate) fn question(call: &str, command: &str) -> Question {
    let mut question = Question::new(CallId(call.to_owned()), "shell", command);
    question.why = "in mode ask, running a command asks first".to_owned();
    question.pattern = format!("shell({command})");
    question
}

pub(crate) fn asks(question: Question) -> EventKind {
    EventKind::PersonNeeded { question }
}

pub(crate) fn answered(call: &str) -> EventKind {
    EventKind::PersonAnswered { call: CallId(call.to_owned()), answer: Answer::Once }
}

pub(crate) fn tool_started(call: &str, title: &str, kind: CallKind) -> EventKind {
    EventKind::ToolStarted {
        call: CallId(call.to_owned()),
        tool: "shell".to_owned(),
        title: title.to_owned(),
        repeatable: true,
        kind,
        paths: Vec::new(),
    }
}

pub(crate) fn tool_finished(call: &str, text: &str, ok: bool) -> EventKind {
    EventKind::ToolFinished {
        call: CallId(call.to_owned()),
        tool: "shell".to_owned(),
        ok,
        text: text.to_owned(),
        attachments: Vec::new(),
        effects: Vec::new(),
        duration_ms: 20,
    }
}
