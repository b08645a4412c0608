//! A session's events folded into the spans of its trace. Pure, and the same events give the same spans.
//!
//! ```text
//!   session ── invoke_agent main ─┬─ chat MODEL
//!      │                          ├─ execute_tool shell ── wait_for_person
//!      │                          └─ execute_tool agent explore-1 ── invoke_agent explore-1 ─┬─ chat MODEL
//!      │                                                                                     └─ …
//!      └◀── link ── session (resumed) ── invoke_agent main ── …
//! ```

mod agents;
mod calls;
mod turns;

use std::collections::{HashMap, HashSet};

use opentelemetry_proto::tonic::trace::v1::Span;
use posse_protocol::{AgentId, CallId, Event, EventKind, SessionId, SessionTrace, SpanId, TraceParent};

use crate::attributes::{number, text, yes};
use crate::names;
use crate::open_span::{OpenSpan, link};
use crate::spans::agents::AgentSpans;

/// The spans of one session. Keeps what has not ended, and nothing of what has.
pub struct SessionSpans {
    session: SessionId,
    trace: SessionTrace,
    /// Whether texts are told, too: prompts, replies, arguments, results.
    content: bool,
    /// How often it was resumed.
    run: u32,
    root: Option<OpenSpan>,
    agents: HashMap<AgentId, AgentSpans>,
    calls: HashMap<(AgentId, CallId), OpenSpan>,
    /// Calls that were under way when a process ended: the next span of the same call is another one.
    interrupted: HashSet<(AgentId, CallId)>,
    /// What calls are given, until they begin; where content is told.
    arguments: HashMap<(AgentId, CallId), String>,
    /// Questions that are open.
    asked: HashMap<(AgentId, CallId), OpenSpan>,
    /// Commands in the background, by name.
    background: HashMap<String, OpenSpan>,
    last_ms: u64,
    ended: Vec<Span>,
}

impl SessionSpans {
    /// The spans of a session; with `content`, texts are among their attributes.
    pub fn new(session: SessionId, content: bool) -> Self {
        Self {
            session,
            trace: SessionTrace::of(session, None, true),
            content,
            run: 0,
            root: None,
            agents: HashMap::new(),
            calls: HashMap::new(),
            interrupted: HashSet::new(),
            arguments: HashMap::new(),
            asked: HashMap::new(),
            background: HashMap::new(),
            last_ms: 0,
            ended: Vec::new(),
        }
    }

    /// What ended with this event.
    pub fn event(&mut self, event: &Event) -> Vec<Span> {
        // What a person does with a session afterwards is no part of it.
        let afterwards = matches!(
            event.kind,
            EventKind::Undone { .. } | EventKind::Reviewed { .. } | EventKind::SessionNamed { .. }
        );
        if afterwards {
            return Vec::new();
        }
        if let EventKind::SessionResumed { .. } = &event.kind {
            self.end_all(false);
        }
        self.last_ms = self.last_ms.max(event.at_ms);
        self.apply(event);
        std::mem::take(&mut self.ended)
    }

    /// What has not ended yet: it ends with the last event.
    pub fn finish(&mut self) -> Vec<Span> {
        self.end_all(false);
        std::mem::take(&mut self.ended)
    }

    fn apply(&mut self, event: &Event) {
        let at_ms = event.at_ms;
        match &event.kind {
            EventKind::SessionStarted { workspace, version, traceparent, .. } => {
                self.trace = SessionTrace::of(self.session, traceparent.as_ref(), true);
                let parent = traceparent.map(|parent| parent.span);
                self.begin_run(at_ms, parent, version);
                if self.content {
                    self.on_root([text(names::WORKSPACE, workspace)]);
                }
            }
            EventKind::SessionResumed { version, traceparent, .. } => {
                self.resumed(at_ms, version, traceparent.as_ref());
            }
            EventKind::SessionForked { from, .. } => self.forked(*from),
            EventKind::SessionInterrupted { .. } => self.end_all(true),
            EventKind::PersonNeeded { question } => self.asked(event, question),
            EventKind::PersonAnswered { call, answer } => self.answered(event, call, answer),
            EventKind::ToolStarted { .. } | EventKind::ToolFinished { .. } => self.called(event),
            EventKind::HookRan { .. } => self.hooked(event),
            EventKind::BackgroundStarted { name, command } => self.background_began(event, name, command),
            EventKind::BackgroundEnded { name, exit_code, .. } => {
                self.background_ended(at_ms, name, *exit_code);
            }
            EventKind::TurnStarted { .. }
            | EventKind::Retrying { .. }
            | EventKind::Replied { .. }
            | EventKind::ModelFailed { .. }
            | EventKind::CutShort { .. } => self.turn(event),
            _ => self.agent(event),
        }
    }

    fn root_id(&self, session: SessionId, run: u32) -> SpanId {
        SpanId::named(session, names::SESSION, &[&run.to_le_bytes()])
    }

    fn begin_run(&mut self, at_ms: u64, parent: Option<SpanId>, version: &str) {
        let id = self.root_id(self.session, self.run);
        self.root = Some(OpenSpan::new(id, parent, names::SESSION, at_ms).with([
            text(names::CONVERSATION, self.session.to_string()),
            number(names::RUN, u64::from(self.run)),
            text(names::SERVICE_VERSION, version),
        ]));
    }

    fn on_root(
        &mut self,
        attributes: impl IntoIterator<Item = opentelemetry_proto::tonic::common::v1::KeyValue>,
    ) {
        if let Some(root) = &mut self.root {
            root.add(attributes);
        }
    }

    /// A root of its own in the same trace, with links to the one before and to whoever asked for it now.
    fn resumed(&mut self, at_ms: u64, version: &str, asked_within: Option<&TraceParent>) {
        let before = self.root_id(self.session, self.run);
        self.run += 1;
        self.begin_run(at_ms, None, version);
        let trace = self.trace.trace;
        if let Some(root) = &mut self.root {
            root.links.push(link(trace, before, names::RESUMED));
            root.links.extend(asked_within.map(|asked| link(asked.trace, asked.span, names::ASKED_AGAIN)));
        }
    }

    fn forked(&mut self, from: SessionId) {
        let (trace, first) = (SessionTrace::of(from, None, true).trace, self.root_id(from, 0));
        if let Some(root) = &mut self.root
            && root.links.is_empty()
        {
            root.links.push(link(trace, first, names::FORKED));
        }
    }

    fn end(&mut self, span: OpenSpan, at_ms: u64) {
        self.ended.push(span.end(self.trace.trace, at_ms));
    }

    /// Ends whatever is open: the process has ended, or nothing more is on record.
    fn end_all(&mut self, interrupted: bool) {
        let at_ms = self.last_ms;
        let mut open = Vec::new();
        if interrupted {
            self.interrupted.extend(self.calls.keys().cloned());
            self.agents.values_mut().for_each(AgentSpans::interrupt);
        }
        open.extend(self.asked.drain().map(|(_, span)| span));
        open.extend(self.calls.drain().map(|(_, span)| span));
        open.extend(self.background.drain().map(|(_, span)| span));
        open.extend(self.agents.values_mut().flat_map(AgentSpans::take_open));
        // The order of tables is by chance; ids are not.
        open.sort_by_key(|span| (span.began_ms, span.id.0));
        for mut span in open {
            span.add([yes(names::UNFINISHED)]);
            self.end(span, at_ms);
        }
        if let Some(mut root) = self.root.take() {
            if interrupted {
                root.add([yes(names::UNFINISHED)]);
            }
            self.end(root, at_ms);
        }
    }
}
