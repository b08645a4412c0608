//! Tool calls, the questions about them, hooks and background commands.

use posse_protocol::{AgentId, Answer, CallId, Event, EventKind, Question, SpanId};

use super::SessionSpans;
use crate::attributes::{signed, text};
use crate::open_span::{OpenSpan, link};
use crate::{content, names};

impl SessionSpans {
    pub(super) fn called(&mut self, event: &Event) {
        match &event.kind {
            EventKind::ToolStarted { call, tool, .. } => self.call_began(event, call, tool, event.at_ms),
            EventKind::ToolFinished { call, tool, ok, text: result, duration_ms, .. } => {
                // One that was refused, or answered at once, has no beginning on record.
                self.call_began(event, call, tool, event.at_ms.saturating_sub(*duration_ms));
                let Some(mut span) = self.calls.remove(&(event.agent, call.clone())) else { return };
                if !ok {
                    span.fail("tool_failed", if self.content { result } else { "the call failed" });
                }
                let content = self.content;
                let agent = self.of_agent(event);
                agent.answered_call();
                if content {
                    span.add([text(names::TOOL_RESULT, result)]);
                    content::push(&mut agent.news, content::result(call, result));
                }
                self.end(span, event.at_ms);
            }
            _ => {}
        }
    }

    /// Begins the span of a call, unless it has begun.
    fn call_began(&mut self, event: &Event, call: &CallId, tool: &str, at_ms: u64) {
        let key = (event.agent, call.clone());
        if self.calls.contains_key(&key) {
            return;
        }
        let (first, above) = (SpanId::of_call(self.session, event.agent, call), self.span_of(event.agent));
        let again = self.interrupted.remove(&key);
        let id = if again { self.again(event, call) } else { first };
        let mut span = OpenSpan::new(id, above, format!("{} {tool}", names::EXECUTE_TOOL), at_ms).with([
            text(names::OPERATION, names::EXECUTE_TOOL),
            text(names::TOOL_NAME, tool),
            text(names::TOOL_TYPE, names::FUNCTION),
            text(names::TOOL_CALL, &call.0),
            text(names::CONVERSATION, self.session.to_string()),
            text(names::AGENT_NAME, &self.of_agent(event).name),
        ]);
        if again {
            span.links.push(link(self.trace.trace, first, names::RESUMED));
        }
        span.add(self.arguments.remove(&key).map(|arguments| text(names::TOOL_ARGUMENTS, arguments)));
        self.calls.insert(key, span);
    }

    /// The id of the next span of a call that was interrupted.
    fn again(&self, event: &Event, call: &CallId) -> SpanId {
        let parts: [&[u8]; 3] = [&event.agent.bytes(), call.0.as_bytes(), &event.seq.0.to_le_bytes()];
        SpanId::named(self.session, "execute_tool again", &parts)
    }

    pub(super) fn asked(&mut self, event: &Event, question: &Question) {
        self.call_began(event, &question.call, &question.tool, event.at_ms);
        let key = (event.agent, question.call.clone());
        let above = self.above_call(&key);
        let id = SpanId::named(self.session, names::WAIT_FOR_PERSON, &[&event.seq.0.to_le_bytes()]);
        let reason = if question.asks.is_some() { "question" } else { "permission" };
        let mut span = OpenSpan::new(id, above, names::WAIT_FOR_PERSON, event.at_ms)
            .with([text(names::REASON, reason), text(names::TOOL_NAME, &question.tool)]);
        if self.content {
            span.add([text(names::QUESTION, &question.what)]);
        }
        let left = self.asked.insert(key, span);
        left.into_iter().for_each(|span| self.end(span, event.at_ms));
    }

    pub(super) fn answered(&mut self, event: &Event, call: &CallId, answer: &Answer) {
        if let Some(mut span) = self.asked.remove(&(event.agent, call.clone())) {
            let word = match answer {
                Answer::Once => "once",
                Answer::Session => "session",
                Answer::Pattern { .. } => "pattern",
                Answer::No { .. } => "no",
                Answer::Said { .. } => "said",
                Answer::Nobody => "nobody",
                Answer::Withdrawn => "withdrawn",
            };
            span.add([text(names::ANSWER, word)]);
            self.end(span, event.at_ms);
        }
    }

    fn above_call(&self, key: &(AgentId, CallId)) -> Option<SpanId> {
        self.calls.get(key).map(|call| call.id).or_else(|| self.span_of(key.0))
    }

    pub(super) fn hooked(&mut self, event: &Event) {
        let EventKind::HookRan { hook, hook_event, call, duration_ms, exit_code, decision, .. } = &event.kind
        else {
            return;
        };
        let above = match call {
            Some(call) => self.above_call(&(event.agent, call.clone())),
            None => self.span_of(event.agent),
        };
        let id = SpanId::named(self.session, names::RUN_HOOK, &[&event.seq.0.to_le_bytes()]);
        let name = format!("{} {hook_event}", names::RUN_HOOK);
        let mut span = OpenSpan::new(id, above, name, event.at_ms.saturating_sub(*duration_ms))
            .with([text(names::HOOK_EVENT, hook_event), text(names::DECISION, content::word(decision))]);
        span.add(exit_code.map(|code| signed(names::EXIT_CODE, i64::from(code))));
        if self.content {
            span.add([text(names::COMMAND, hook)]);
        }
        self.end(span, event.at_ms);
    }

    pub(super) fn background_began(&mut self, event: &Event, name: &str, command: &str) {
        let above = self.span_of(event.agent);
        let id = SpanId::named(self.session, names::BACKGROUND_COMMAND, &[&event.seq.0.to_le_bytes()]);
        let title = format!("{} {name}", names::BACKGROUND_COMMAND);
        let mut span = OpenSpan::new(id, above, title, event.at_ms);
        if self.content {
            span.add([text(names::COMMAND, command)]);
        }
        let left = self.background.insert(name.to_owned(), span);
        left.into_iter().for_each(|span| self.end(span, event.at_ms));
    }

    pub(super) fn background_ended(&mut self, at_ms: u64, name: &str, exit_code: Option<i32>) {
        if let Some(mut span) = self.background.remove(name) {
            span.add(exit_code.map(|code| signed(names::EXIT_CODE, i64::from(code))));
            if exit_code.is_some_and(|code| code != 0) {
                span.fail("exit_code", "it ended with an error");
            }
            self.end(span, at_ms);
        }
    }
}
