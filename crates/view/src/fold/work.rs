//! What an agent does between its start and its end: turns, calls, questions.

use posse_protocol::limits::CALL_PATHS_MAX;
use posse_protocol::{AgentId, CallId, Effect, Event, EventKind, Question};

use super::{Folded, short};
use crate::agent::todo_items;
use crate::text::cut;
use crate::{Activity, AgentView, OpenCall, OpenQuestion, SessionView, branches, limits};
use posse_protocol::AgentState;

impl SessionView {
    pub(super) fn work(&mut self, event: &Event) -> Folded {
        let Some(agent) = self.agents.get_mut(event.agent) else { return Folded::default() };
        match &event.kind {
            EventKind::AgentQueued { reason, at } => {
                agent.queue(event.at_ms, Activity::Queued { reason: *reason, at: at.as_deref().map(short) });
            }
            EventKind::AgentPlaced { worker, epoch, .. } => agent.place(worker, *epoch),
            EventKind::CheckedOut { branch, base: _ } => branches::checked_out(agent, branch),
            EventKind::TurnStarted { turn, purpose: _ } => {
                agent.turn = *turn;
                agent.doing = Activity::WaitingForModel;
                let more = agent.used_turn();
                self.spread(event.agent, more);
            }
            EventKind::Retrying { attempt, attempts_max, delay_ms, reason } => {
                agent.retries = agent.retries.saturating_add(1);
                let (attempt, attempts_max, delay_ms) = (*attempt, *attempts_max, *delay_ms);
                agent.doing = Activity::Retrying { attempt, attempts_max, delay_ms, reason: short(reason) };
            }
            EventKind::Replied { reply, cost_usd, .. } => {
                agent.rests = reply.calls.is_empty();
                if agent.rests && agent.open_children > 0 {
                    agent.doing = Activity::WaitingForSubAgents;
                }
                let more = agent.used_reply(reply.usage, *cost_usd);
                self.spread(event.agent, more);
            }
            EventKind::ModelFailed { error, .. } => {
                agent.error = Some(cut(&error.message, limits::MESSAGE_CHARS_MAX));
            }
            EventKind::ToolStarted { call, tool, title, repeatable: _, kind, paths } => {
                agent.doing = Activity::Calling { title: short(title) };
                agent.calls.retain(|open| open.call != *call);
                agent.calls.push(OpenCall {
                    call: call.clone(),
                    tool: short(tool),
                    title: short(title),
                    kind: *kind,
                    paths: paths.iter().take(CALL_PATHS_MAX).map(|path| short(path)).collect(),
                    started_at_ms: event.at_ms,
                });
            }
            EventKind::ToolFinished { call, effects, .. } => {
                let call = agent.finish_call(call, effects);
                let more = agent.used_tool();
                self.spread(event.agent, more);
                return Folded { call, question: None };
            }
            EventKind::PersonNeeded { question } => self.ask(event, question),
            EventKind::PersonAnswered { call, answer: _ } => {
                let question = self.answer(event.agent, call, event.at_ms);
                return Folded { call: None, question };
            }
            _ => {}
        }
        Folded::default()
    }

    /// A call waits until a person answers; the clocks of the agent and of all above it stand still.
    fn ask(&mut self, event: &Event, question: &Question) {
        // The same call can be asked about again after an interruption.
        self.answer(event.agent, &question.call, event.at_ms);
        let Some(agent) = self.agents.get_mut(event.agent) else { return };
        if agent.state == AgentState::Running {
            agent.state = AgentState::NeedsPerson;
        }
        agent.doing = match question.asks {
            Some(_) => Activity::AskingQuestion { question: short(&question.what) },
            None => Activity::AskingPerson { tool: short(&question.tool), what: short(&question.what) },
        };
        agent.asks.push(event.seq);
        agent.clock.ask(event.at_ms);
        self.agents.change_above(event.agent, |above| above.clock.ask(event.at_ms));
        let (seq, agent, asked_at_ms) = (event.seq, event.agent, event.at_ms);
        self.questions.open(OpenQuestion { seq, agent, asked_at_ms, question: question.clone() });
    }

    /// Closes the question about a call, if there is one.
    fn answer(&mut self, id: AgentId, call: &CallId, at_ms: u64) -> Option<OpenQuestion> {
        let asks = &self.agents.get(id)?.asks;
        let about = |seq: &&_| self.questions.get(**seq).is_some_and(|open| open.question.call == *call);
        let seq = *asks.iter().find(about)?;
        let agent = self.agents.get_mut(id)?;
        agent.asks.retain(|other| *other != seq);
        if agent.asks.is_empty() && agent.state == AgentState::NeedsPerson {
            agent.state = AgentState::Running;
            agent.doing = Activity::GoingOn;
        }
        self.close_question(id, seq, at_ms)
    }
}

impl AgentView {
    /// It has to wait: before it begins, or before it goes on where it was interrupted. Nothing that has ended waits.
    fn queue(&mut self, at_ms: u64, doing: Activity) {
        if self.has_ended() || !matches!(self.state, AgentState::Pending | AgentState::Interrupted) {
            return;
        }
        self.state = AgentState::Queued;
        self.doing = doing;
        self.interrupted_at_ms = None;
        if self.started_at_ms.is_none() {
            self.queued_at_ms = Some(at_ms);
        }
    }

    /// A call has its result. One that was refused never began.
    fn finish_call(&mut self, call: &CallId, effects: &[Effect]) -> Option<OpenCall> {
        for effect in effects {
            match effect {
                Effect::Todo { text } => self.todo = todo_items(text),
                Effect::Denied(_) => self.denied_calls = self.denied_calls.saturating_add(1),
                _ => {}
            }
        }
        let place = self.calls.iter().position(|open| open.call == *call)?;
        Some(self.calls.remove(place))
    }
}
