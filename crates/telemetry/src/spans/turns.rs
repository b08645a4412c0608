//! Model calls.

use posse_protocol::{Event, EventKind, SpanId, StopReason};
use serde_json::Value;

use super::SessionSpans;
use crate::attributes::{number, real, text, texts};
use crate::open_span::OpenSpan;
use crate::provider::provider;
use crate::{content, names};

impl SessionSpans {
    pub(super) fn turn(&mut self, event: &Event) {
        let content = self.content;
        match &event.kind {
            EventKind::TurnStarted { turn, purpose } => {
                self.turn_began(event, *turn, &content::word(purpose), event.at_ms);
            }
            EventKind::Retrying { attempt, delay_ms, .. } => {
                let about =
                    vec![number(names::ATTEMPT, u64::from(*attempt)), number(names::DELAY, *delay_ms)];
                if let Some(turn) = &mut self.of_agent(event).turn {
                    turn.moment(names::RETRY, event.at_ms, about);
                }
            }
            EventKind::Replied { .. } => self.replied(event),
            EventKind::ModelFailed { error, .. } => {
                let kind = content::word(&error.kind);
                let message = if content { &error.message } else { &kind };
                self.turn_failed(event, &kind, message);
            }
            EventKind::CutShort { .. } => self.turn_failed(event, "cut_short", "stopped before its end"),
            _ => {}
        }
    }

    fn turn_began(&mut self, event: &Event, turn: u32, purpose: &str, began_ms: u64) {
        let (session, above) = (self.session, self.span_of(event.agent));
        let id = SpanId::named(session, names::CHAT, &[&event.seq.0.to_le_bytes()]);
        let agent = self.of_agent(event);
        let name = format!("{} {}", names::CHAT, agent.model_id);
        let mut span = OpenSpan::new(id, above, name, began_ms).client().with([
            text(names::OPERATION, names::CHAT),
            text(names::PROVIDER, provider(&agent.model, &agent.model_id)),
            text(names::REQUEST_MODEL, &agent.model_id),
            text(names::CONVERSATION, session.to_string()),
            text(names::AGENT_NAME, &agent.name),
            number(names::TURN, u64::from(turn)),
            text(names::PURPOSE, purpose),
        ]);
        span.links.append(&mut agent.links);
        let news = std::mem::take(&mut agent.news);
        if !news.is_empty() {
            span.add([text(names::INPUT_MESSAGES, Value::Array(news).to_string())]);
        }
        let left = agent.turn.replace(span);
        left.into_iter().for_each(|span| self.end(span, event.at_ms));
    }

    fn turn_failed(&mut self, event: &Event, kind: &str, message: &str) {
        if let Some(mut turn) = self.of_agent(event).turn.take() {
            turn.fail(kind, message);
            self.end(turn, event.at_ms);
        }
    }

    fn replied(&mut self, event: &Event) {
        let EventKind::Replied { turn, reply, cost_usd, duration_ms } = &event.kind else { return };
        if self.of_agent(event).turn.is_none() {
            // The turn began in a process that is gone; the request was made again.
            self.turn_began(event, *turn, "work", event.at_ms.saturating_sub(*duration_ms));
        }
        let agent = self.of_agent(event);
        agent.used(reply.usage, *cost_usd);
        let Some(mut turn) = agent.turn.take() else { return };
        if !reply.model.is_empty() {
            turn.add([text(names::RESPONSE_MODEL, &reply.model)]);
        }
        turn.add([texts(names::FINISH_REASONS, &[finish_reason(&reply.stop)])]);
        turn.add(content::usage(&reply.usage));
        turn.add(cost_usd.map(|cost| real(names::COST, cost)));
        if self.content {
            turn.add([text(names::OUTPUT_MESSAGES, content::reply(reply, finish_reason(&reply.stop)))]);
            for call in &reply.calls {
                self.arguments.insert((event.agent, call.id.clone()), call.arguments.clone());
            }
        }
        self.end(turn, event.at_ms);
    }
}

/// In the words of the conventions.
fn finish_reason(stop: &StopReason) -> &str {
    match stop {
        StopReason::EndTurn => "stop",
        StopReason::ToolCalls => "tool_call",
        StopReason::MaxTokens => "length",
        StopReason::Refusal => "content_filter",
        StopReason::Other(word) => word,
    }
}
