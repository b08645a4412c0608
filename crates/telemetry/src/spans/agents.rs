//! Agents: one span from each start to the next rest, end or interruption.

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::span::Link;
use posse_protocol::{AgentId, CallId, Event, EventKind, Report, SpanId, Usage};
use serde_json::Value;

use super::SessionSpans;
use crate::attributes::{number, real, text};
use crate::open_span::{OpenSpan, link};
use crate::{content, names};

#[derive(Default)]
pub(super) struct AgentSpans {
    pub(super) name: String,
    role: String,
    depth: u32,
    title: String,
    parent: Option<AgentId>,
    /// The call of its parent that asked for it.
    asked_by: Option<CallId>,
    /// The span of that call, and in which run of the session that was.
    asked_in: Option<(SpanId, u32)>,
    continues: Option<AgentId>,
    pub(super) model: String,
    pub(super) model_id: String,
    /// The worker that runs it; none if it runs at home.
    worker: Option<String>,
    /// How often it has begun.
    stretches: u32,
    pub(super) open: Option<OpenSpan>,
    /// Whether its process ended while it worked.
    interrupted: bool,
    /// The last span that it had.
    last: Option<SpanId>,
    queued: Option<OpenSpan>,
    pub(super) turn: Option<OpenSpan>,
    /// For its next model call.
    pub(super) links: Vec<Link>,
    /// What its next model call is told, where content is told.
    pub(super) news: Vec<Value>,
    totals: Totals,
}

/// What an agent has used since it began.
#[derive(Default)]
struct Totals {
    usage: Usage,
    cost_usd: Option<f64>,
    turns: u64,
    tool_calls: u64,
}

impl AgentSpans {
    pub(super) fn take_open(&mut self) -> Vec<OpenSpan> {
        [self.turn.take(), self.queued.take(), self.open.take()].into_iter().flatten().collect()
    }

    pub(super) fn interrupt(&mut self) {
        self.interrupted |= self.open.is_some();
    }

    pub(super) fn used(&mut self, usage: Usage, cost_usd: Option<f64>) {
        self.totals.usage.add(usage);
        self.totals.turns += 1;
        if let Some(cost) = cost_usd {
            *self.totals.cost_usd.get_or_insert(0.0) += cost;
        }
    }

    pub(super) fn answered_call(&mut self) {
        self.totals.tool_calls += 1;
    }
}

impl SessionSpans {
    pub(super) fn of_agent(&mut self, event: &Event) -> &mut AgentSpans {
        self.agents.entry(event.agent).or_insert_with(|| AgentSpans {
            name: if event.parent.is_none() { "main".to_owned() } else { event.agent.to_string() },
            parent: event.parent,
            ..AgentSpans::default()
        })
    }

    /// The span under which something of an agent belongs.
    pub(super) fn span_of(&self, agent: AgentId) -> Option<SpanId> {
        let open = self.agents.get(&agent).and_then(|agent| agent.open.as_ref());
        open.or(self.root.as_ref()).map(|span| span.id)
    }

    /// The span under which an agent belongs: the call that asked for it, also when that has ended. After a resume it is
    /// whoever asked, or the session.
    fn above(&self, agent: AgentId) -> Option<SpanId> {
        let spans = self.agents.get(&agent);
        let asked = spans.and_then(|spans| spans.asked_in).filter(|(_, run)| *run == self.run);
        let parent = spans.and_then(|spans| spans.parent).and_then(|parent| self.span_to_come(parent));
        asked.map(|(call, _)| call).or(parent).or(self.root.as_ref().map(|root| root.id))
    }

    /// The span of an agent that works, or of one that was interrupted and is about to go on.
    fn span_to_come(&self, agent: AgentId) -> Option<SpanId> {
        let spans = self.agents.get(&agent)?;
        let coming = || spans.interrupted.then(|| self.stretch(agent, spans.stretches));
        spans.open.as_ref().map(|open| open.id).or_else(coming)
    }

    fn stretch(&self, agent: AgentId, number: u32) -> SpanId {
        SpanId::named(self.session, names::INVOKE_AGENT, &[&agent.bytes(), &number.to_le_bytes()])
    }

    pub(super) fn agent(&mut self, event: &Event) {
        let content = self.content;
        match &event.kind {
            EventKind::AgentAdmitted { .. } => self.admitted(event),
            EventKind::AgentQueued { reason, .. } => self.queued(event, &content::word(reason)),
            EventKind::AgentStarted { role, depth, model, model_id, system, .. } => {
                let agent = self.of_agent(event);
                (agent.role, agent.depth) = (role.clone(), *depth);
                (agent.model, agent.model_id) = (model.clone(), model_id.clone());
                let system = content.then(|| text(names::SYSTEM, content::system(system)));
                self.begin(event, system);
            }
            EventKind::AgentResumed { model, model_id, .. } => {
                let agent = self.of_agent(event);
                if !model_id.is_empty() {
                    (agent.model, agent.model_id) = (model.clone(), model_id.clone());
                }
                self.begin(event, None);
            }
            EventKind::AgentWoken { .. } => self.begin(event, None),
            EventKind::SettingsChanged { model, model_id, .. } => {
                let agent = self.of_agent(event);
                (agent.model, agent.model_id) = (model.clone(), model_id.clone());
            }
            EventKind::Told { text, .. } if content => {
                let news = content::told(text);
                content::push(&mut self.of_agent(event).news, news);
            }
            EventKind::Compacted { bytes_before, bytes_after, .. } => {
                let sizes = vec![
                    number(names::BYTES_BEFORE, *bytes_before),
                    number(names::BYTES_AFTER, *bytes_after),
                ];
                if let Some(open) = &mut self.of_agent(event).open {
                    open.moment(names::COMPACTED, event.at_ms, sizes);
                }
            }
            EventKind::AgentPlaced { worker, epoch, .. } => {
                let agent = self.of_agent(event);
                agent.worker = Some(worker.clone());
                if let Some(open) = &mut agent.open {
                    open.set(text(names::WORKER, worker));
                    if *epoch > 1 {
                        open.moment(names::MOVED, event.at_ms, vec![text(names::WORKER, worker)]);
                    }
                }
            }
            EventKind::ReportsDelivered { agents } => self.delivered(event, agents),
            EventKind::AgentRested { report } => self.ended(event, report.as_ref()),
            EventKind::AgentSettled { report } => self.ended(event, Some(report)),
            _ => {}
        }
    }

    fn admitted(&mut self, event: &Event) {
        let EventKind::AgentAdmitted { name, role, depth, title, continues, brief, .. } = &event.kind else {
            return;
        };
        let asked_by = brief.as_ref().and_then(|brief| brief.call.clone());
        let (mut asked_in, run) = (None, self.run);
        if let Some(asked) = event.parent.zip(asked_by.clone())
            && let Some(call) = self.calls.get_mut(&asked)
        {
            asked_in = Some((call.id, run));
            call.name = format!("{} {name}", call.name);
            call.add([
                text(names::TRANSFER_MODE, names::RETURN_TO_CALLER),
                text(names::TRANSFER_TARGET, name),
            ]);
        }
        let agent = self.of_agent(event);
        (agent.name, agent.role, agent.title) = (name.clone(), role.clone(), title.clone());
        (agent.depth, agent.continues) = (*depth, *continues);
        (agent.asked_by, agent.asked_in) = (asked_by, asked_in);
    }

    fn queued(&mut self, event: &Event, reason: &str) {
        let (session, above) = (self.session, self.above(event.agent));
        let agent = self.of_agent(event);
        let id = SpanId::named(session, names::WAIT_IN_QUEUE, &[&event.seq.0.to_le_bytes()]);
        let name = format!("{} {}", names::WAIT_IN_QUEUE, agent.name);
        let span = OpenSpan::new(id, above, name, event.at_ms).with([text(names::REASON, reason)]);
        agent.queued.get_or_insert(span);
    }

    fn begin(&mut self, event: &Event, more: Option<KeyValue>) {
        let (session, trace, content) = (self.session, self.trace.trace, self.content);
        let before = self.of_agent(event).continues.take();
        let before = before.and_then(|before| self.agents.get(&before)?.last);
        let above = self.above(event.agent);
        let stretches = self.of_agent(event).stretches;
        let id = self.stretch(event.agent, stretches);
        let agent = self.of_agent(event);
        let name = format!("{} {}", names::INVOKE_AGENT, agent.name);
        let mut span = OpenSpan::new(id, above, name, event.at_ms).with([
            text(names::OPERATION, names::INVOKE_AGENT),
            text(names::AGENT_NAME, &agent.name),
            text(names::CONVERSATION, session.to_string()),
            text(names::REQUEST_MODEL, &agent.model_id),
            text(names::AGENT_ID, event.agent.to_string()),
            text(names::ROLE, &agent.role),
            number(names::DEPTH, u64::from(agent.depth)),
        ]);
        span.add(agent.worker.as_ref().map(|worker| text(names::WORKER, worker)));
        span.add(more);
        if content && !agent.title.is_empty() {
            span.add([text(names::AGENT_DESCRIPTION, &agent.title)]);
        }
        span.links.extend(agent.last.map(|last| link(trace, last, names::RESUMED)));
        span.links.extend(before.map(|before| link(trace, before, names::CONTINUES)));
        (agent.stretches, agent.interrupted) = (stretches + 1, false);
        (agent.last, agent.totals) = (Some(id), Totals::default());
        let left = agent.take_open();
        agent.open = Some(span);
        left.into_iter().for_each(|span| self.end(span, event.at_ms));
    }

    /// Reports that were not waited for: the model call that reads them is linked to the agents that wrote them.
    fn delivered(&mut self, event: &Event, agents: &[AgentId]) {
        let trace = self.trace.trace;
        let waited = |spans: &AgentSpans| {
            let call = spans.asked_by.clone();
            call.is_some_and(|call| self.calls.contains_key(&(event.agent, call)))
        };
        let links: Vec<Link> = agents
            .iter()
            .filter_map(|agent| self.agents.get(agent).filter(|spans| !waited(spans))?.last)
            .map(|span| link(trace, span, names::REPORTED))
            .collect();
        self.of_agent(event).links.extend(links);
    }

    fn ended(&mut self, event: &Event, report: Option<&Report>) {
        let content = self.content;
        let agent = self.of_agent(event);
        let Some(mut span) = agent.open.take() else { return };
        let (totals, left) = (std::mem::take(&mut agent.totals), agent.take_open());
        span.add(content::usage(&totals.usage));
        span.add(totals.cost_usd.map(|cost| real(names::COST, cost)));
        span.add([number(names::TURNS, totals.turns), number(names::TOOL_CALLS, totals.tool_calls)]);
        if let Some(report) = report {
            span.add([
                text(names::ENDING, report.ending.word()),
                number(names::WARNINGS, report.warnings.len() as u64),
            ]);
            if content {
                span.add([text(names::REPORT, &report.text)]);
            }
            if let Some(message) = report.ending.error_message() {
                // What a model or a server said is content.
                let message = if content { message } else { report.ending.in_a_word().to_owned() };
                span.fail(report.ending.word(), &message);
            }
        }
        left.into_iter().for_each(|span| self.end(span, event.at_ms));
        self.end(span, event.at_ms);
    }
}
