//! The entries of a transcript, made from events. Everything the chat prints is an entry, and what the chat leaves out.

use std::collections::HashMap;

use posse_protocol::{
    AgentId, Brief, CallId, Effect, Event, EventKind, Question, Reply, Report, Sender, words::counted,
};
use posse_terminal::TextLine;
use posse_view::{OpenCall, words};

use crate::limits::{ENTRY_BYTES_MAX, TRANSCRIPT_ENTRIES_MAX};
use crate::transcript::aside;

/// One thing that happened, as it is shown.
#[derive(Debug)]
pub(super) struct TranscriptEntry {
    /// Whose, where there are several agents.
    pub(super) who: Option<String>,
    pub(super) what: EntryContent,
    /// Whether all of it is shown.
    pub(super) open: bool,
}

/// The kinds of entry.
#[derive(Debug)]
pub(super) enum EntryContent {
    /// The task of a sub-agent.
    Task(String),
    /// What somebody said to it.
    Told { from: Sender, text: String },
    /// What it said.
    Words(String),
    /// What it thought.
    Thought(String),
    /// A call, with its result once there is one.
    Call { call: OpenCall, arguments: String, result: Option<CallResult> },
    /// What it asks a person.
    Asks(Box<Question>),
    /// One line.
    Note(TextLine),
    /// How it ended, or came to rest.
    Report(Box<Report>),
}

/// What came of a call.
#[derive(Debug)]
pub(super) struct CallResult {
    pub(super) ok: bool,
    pub(super) text: String,
    pub(super) duration_ms: u64,
    pub(super) effects: Vec<Effect>,
}

/// All entries of one agent, or of a whole session.
#[derive(Debug, Default)]
pub(super) struct TranscriptEntries {
    pub(super) list: Vec<TranscriptEntry>,
    /// How many more there were than are kept.
    pub(super) left_out: usize,
    names: HashMap<AgentId, String>,
    /// Whether names stand before what sub-agents did: not where it is about one of them.
    named: bool,
    calls: HashMap<(AgentId, CallId), usize>,
    arguments: HashMap<(AgentId, CallId), String>,
    questions: HashMap<(AgentId, CallId), String>,
    /// What each agent was asked to do, until it was told so.
    tasks: HashMap<AgentId, String>,
}

impl TranscriptEntries {
    /// For one agent, or for all of them.
    pub(super) fn new(named: bool) -> Self {
        Self { named, ..Self::default() }
    }

    fn push(&mut self, agent: AgentId, what: EntryContent) {
        if self.list.len() >= TRANSCRIPT_ENTRIES_MAX {
            self.left_out += 1;
            return;
        }
        let who = self.names.get(&agent).filter(|_| self.named).cloned();
        self.list.push(TranscriptEntry { who, what, open: false });
    }

    /// Takes in an event.
    pub(super) fn add(&mut self, event: &Event) {
        let agent = event.agent;
        match &event.kind {
            EventKind::AgentAdmitted { name, title, brief, .. } => {
                self.names.insert(agent, name.clone());
                self.push(agent, EntryContent::Task(task(title, brief.as_deref())));
                self.tasks.extend(brief.as_ref().map(|brief| (agent, brief.words.clone())));
            }
            EventKind::AgentStarted { model, model_id, .. } => {
                let id = if model_id.is_empty() { String::new() } else { format!(" ({model_id})") };
                self.note(agent, &format!("· works on {model}{id}"));
            }
            // Its first message is its task, which stands there already.
            EventKind::Told { from: Sender::Parent, text, .. }
                if self.tasks.remove(&agent).is_some_and(|task| task.trim() == text.trim()) => {}
            EventKind::Told { from, text, attachments, .. } => {
                let text = bounded(&words::said_and_shown(text, attachments));
                self.push(agent, EntryContent::Told { from: *from, text });
            }
            EventKind::Replied { reply, .. } => self.replied(agent, reply),
            EventKind::CutShort { text, .. } => {
                self.words(agent, text);
                self.note(agent, "… stopped here");
            }
            EventKind::Retrying { attempt, attempts_max, reason, .. } => {
                let of = if *attempts_max > 0 { format!(" of {attempts_max}") } else { String::new() };
                self.note(agent, &format!("· {reason} · try {}{of}", attempt.saturating_add(1)));
            }
            EventKind::Changed { changes, .. } => {
                let paths = changes.iter().map(|change| change.path.as_str()).collect::<Vec<_>>().join(", ");
                self.note(agent, &format!("· changed {}: {paths}", counted(changes.len() as u64, "file")));
            }
            EventKind::PersonNeeded { question } => {
                self.questions.insert((agent, question.call.clone()), question.what.clone());
                self.push(agent, EntryContent::Asks(Box::new(question.clone())));
            }
            EventKind::AgentRested { report: Some(report) } | EventKind::AgentSettled { report } => {
                self.push(agent, EntryContent::Report(Box::new(report.clone())));
            }
            EventKind::ToolStarted { .. } | EventKind::ToolFinished { .. } => self.call(event),
            kind => {
                let asked = match kind {
                    EventKind::PersonAnswered { call, .. } => self.questions.remove(&(agent, call.clone())),
                    _ => None,
                };
                if let Some(line) = aside(kind, "", asked.as_deref()) {
                    self.push(agent, EntryContent::Note(line));
                }
            }
        }
    }

    fn note(&mut self, agent: AgentId, text: &str) {
        self.push(agent, EntryContent::Note(TextLine::of(&bounded(text), posse_terminal::Ink::Quiet)));
    }

    fn words(&mut self, agent: AgentId, text: &str) {
        if !text.trim().is_empty() {
            self.push(agent, EntryContent::Words(bounded(text)));
        }
    }

    fn replied(&mut self, agent: AgentId, reply: &Reply) {
        let thought: Vec<_> = reply.reasoning.iter().map(|piece| piece.text.trim()).collect();
        let thought = thought.join("\n");
        if !thought.trim().is_empty() {
            self.push(agent, EntryContent::Thought(bounded(thought.trim())));
        }
        self.words(agent, &reply.text);
        for call in &reply.calls {
            if self.arguments.len() < TRANSCRIPT_ENTRIES_MAX {
                self.arguments.insert((agent, call.id.clone()), bounded(&call.arguments));
            }
        }
    }

    fn call(&mut self, event: &Event) {
        let agent = event.agent;
        match &event.kind {
            EventKind::ToolStarted { call, tool, title, kind, paths, .. } => {
                let arguments = self.arguments.remove(&(agent, call.clone())).unwrap_or_default();
                self.calls.insert((agent, call.clone()), self.list.len());
                let call = OpenCall {
                    call: call.clone(),
                    tool: tool.clone(),
                    title: title.clone(),
                    kind: *kind,
                    paths: paths.clone(),
                    started_at_ms: event.at_ms,
                };
                self.push(agent, EntryContent::Call { call, arguments, result: None });
            }
            EventKind::ToolFinished { call, tool, ok, text, duration_ms, effects, .. } => {
                let result = CallResult {
                    ok: *ok,
                    text: bounded(text),
                    duration_ms: *duration_ms,
                    effects: effects.clone(),
                };
                let at = self.calls.remove(&(agent, call.clone()));
                if let Some(EntryContent::Call { result: open, .. }) =
                    at.and_then(|at| self.list.get_mut(at)).map(|entry| &mut entry.what)
                {
                    *open = Some(result);
                    return;
                }
                // It was refused before it began.
                let arguments = self.arguments.remove(&(agent, call.clone())).unwrap_or_default();
                let call = OpenCall {
                    call: call.clone(),
                    tool: tool.clone(),
                    title: tool.clone(),
                    kind: posse_protocol::CallKind::Other,
                    paths: Vec::new(),
                    started_at_ms: event.at_ms,
                };
                self.push(agent, EntryContent::Call { call, arguments, result: Some(result) });
            }
            _ => {}
        }
    }
}

/// What a sub-agent is asked to do.
fn task(title: &str, brief: Option<&Brief>) -> String {
    let Some(brief) = brief else { return title.to_owned() };
    let mut text = format!("{title}\n{}", brief.words.trim());
    for (name, list) in [("files", &brief.context_files), ("must exist at the end", &brief.deliverables)] {
        if !list.is_empty() {
            text.push_str(&format!("\n{name}: {}", list.join(", ")));
        }
    }
    bounded(&text)
}

/// The beginning of a text, and how much more there is.
fn bounded(text: &str) -> String {
    let end = text.floor_char_boundary(ENTRY_BYTES_MAX);
    match text.len() - end {
        0 => text.to_owned(),
        more => format!("{}\n… {} more", &text[..end], counted(more as u64, "byte")),
    }
}
