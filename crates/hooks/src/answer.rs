//! What a hook's exit code and output mean.

use posse_protocol::clip::{clipped, first_line};
use serde_json::{Map, Value};

use crate::event::HookEvent;
use crate::hook::OnTimeout;
use crate::limits::{SAID_CHARS_MAX, SHOWN_CHARS_MAX};

/// The exit code that says no.
const NO: i32 = 2;

/// How a hook ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookExit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It was stopped after this many milliseconds.
    TimedOut(u64),
    /// The address answered with this status.
    Status(u16),
    /// It could not be run, or could not be reached.
    NotRun(String),
}

/// What a hook says about what is about to happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookVerdict {
    /// It need not be asked.
    Allow,
    /// A person is to be asked.
    Ask,
    /// Somebody else decides; here that is a person.
    Defer,
    /// It must not happen; at the end of a turn: the agent goes on working; after a call: the model is told.
    Deny,
}

/// What one hook has said.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookAnswer {
    /// Its decision.
    pub verdict: Option<HookVerdict>,
    /// Why.
    pub reason: String,
    /// What the model is to know.
    pub context: Vec<String>,
    /// Other arguments for the call.
    pub updated_input: Option<Value>,
    /// Another result of the call.
    pub updated_output: Option<String>,
    /// Set if everything is to stop: for this reason.
    pub stop: Option<String>,
    /// What the person is to know.
    pub message: Option<String>,
    /// A title for the session.
    pub title: Option<String>,
    /// What went wrong with it.
    pub fault: Option<String>,
}

/// Reads what a hook has said.
pub fn read_answer(
    event: HookEvent,
    exit: &HookExit,
    stdout: &str,
    stderr: &str,
    on_timeout: OnTimeout,
) -> HookAnswer {
    let mut answer = HookAnswer::default();
    let said = stdout.trim();
    let is_json = said.starts_with('{');
    if is_json {
        match serde_json::from_str::<Map<String, Value>>(said) {
            Ok(fields) => take(event, &fields, &mut answer),
            Err(error) => answer.fail(format!("its output begins with {{ and is not JSON: {error}")),
        }
    }
    match exit {
        HookExit::Code(0) | HookExit::Status(200..=299) => {
            if !is_json && !said.is_empty() && event.takes_text() && matches!(exit, HookExit::Code(_)) {
                answer.context.push(clipped(said, SAID_CHARS_MAX));
            } else if !is_json && !said.is_empty() && matches!(exit, HookExit::Status(_)) {
                if event.takes_text() {
                    answer.context.push(clipped(said, SAID_CHARS_MAX));
                } else {
                    answer.fail("its response is not a JSON object".to_owned());
                }
            }
        }
        HookExit::Code(NO) if event.can_block() => answer.deny(clipped(stderr.trim(), SAID_CHARS_MAX)),
        HookExit::Code(code) => answer.fail(with_words(format!("it ended with exit code {code}"), stderr)),
        HookExit::Signal(signal) => answer.fail(with_words(format!("signal {signal} ended it"), stderr)),
        HookExit::Status(status) => answer.fail(format!("the address answered with status {status}")),
        HookExit::TimedOut(ms) => {
            answer.fail(format!("it did not end within {ms} ms"));
            if on_timeout == OnTimeout::Deny && event.can_block() {
                answer.deny(format!("a hook did not end within {ms} ms, and counts as a no"));
            }
        }
        HookExit::NotRun(why) => answer.fail(clipped(why, SAID_CHARS_MAX)),
    }
    answer
}

fn with_words(text: String, stderr: &str) -> String {
    match first_line(stderr, SHOWN_CHARS_MAX * 2) {
        line if line.is_empty() => text,
        line => format!("{text}: {line}"),
    }
}

impl HookAnswer {
    fn fail(&mut self, fault: String) {
        self.fault.get_or_insert(fault);
    }

    fn deny(&mut self, reason: String) {
        self.verdict = Some(HookVerdict::Deny);
        if self.reason.is_empty() {
            self.reason = reason;
        }
    }

    fn text(&mut self, fields: &Map<String, Value>, key: &str) -> Option<String> {
        match fields.get(key)? {
            Value::String(text) => Some(clipped(text, SAID_CHARS_MAX)),
            Value::Null => None,
            _ => {
                self.fail(format!("its {key} is not a text"));
                None
            }
        }
    }

    fn object(&mut self, fields: &Map<String, Value>, key: &str) -> Option<Map<String, Value>> {
        match fields.get(key)? {
            Value::Object(object) => Some(object.clone()),
            Value::Null => None,
            _ => {
                self.fail(format!("its {key} is not an object"));
                None
            }
        }
    }
}

/// Takes in an object that a hook has written.
fn take(event: HookEvent, fields: &Map<String, Value>, answer: &mut HookAnswer) {
    if fields.get("continue") == Some(&Value::Bool(false)) {
        answer.stop = Some(answer.text(fields, "stopReason").unwrap_or_default());
    }
    answer.message = answer.text(fields, "systemMessage");
    answer.reason = answer.text(fields, "reason").unwrap_or_default();
    match fields.get("decision") {
        None | Some(Value::Null) => {}
        Some(Value::String(word)) => take_decision(event, word, answer),
        Some(Value::Object(decision)) if event == HookEvent::PermissionRequest => {
            take_permission(decision, answer);
        }
        Some(_) => answer.fail("its decision is not a text".to_owned()),
    }
    if let Some(specific) = answer.object(fields, "hookSpecificOutput") {
        match specific.get("hookEventName").and_then(Value::as_str) {
            Some(name) if name != event.name() => {
                let name = clipped(name, SHOWN_CHARS_MAX);
                answer.fail(format!("its hookSpecificOutput is for {name:?}, and this was {event}"));
            }
            _ => take_specific(event, &specific, answer),
        }
    }
}

fn take_decision(event: HookEvent, word: &str, answer: &mut HookAnswer) {
    match word {
        "block" | "deny" if event.can_block() || event == HookEvent::PermissionRequest => {
            answer.verdict = Some(HookVerdict::Deny);
        }
        "approve" | "allow" if matches!(event, HookEvent::PreToolUse | HookEvent::PermissionRequest) => {
            answer.verdict = Some(HookVerdict::Allow);
        }
        "approve" | "allow" => {}
        word => {
            let word = clipped(word, SHOWN_CHARS_MAX);
            answer.fail(format!("its decision {word:?} means nothing for {event}"));
        }
    }
}

fn take_specific(event: HookEvent, fields: &Map<String, Value>, answer: &mut HookAnswer) {
    let context = answer.text(fields, "additionalContext").filter(|text| !text.trim().is_empty());
    answer.context.extend(context);
    match event {
        HookEvent::PreToolUse => {
            answer.verdict = match answer.text(fields, "permissionDecision").as_deref() {
                Some("allow") => Some(HookVerdict::Allow),
                Some("ask") => Some(HookVerdict::Ask),
                Some("defer") => Some(HookVerdict::Defer),
                Some("deny") => Some(HookVerdict::Deny),
                Some(word) => {
                    let word = clipped(word, SHOWN_CHARS_MAX);
                    answer
                        .fail(format!("its permissionDecision {word:?} is none of allow, deny, ask, defer"));
                    answer.verdict
                }
                None => answer.verdict,
            };
            if let Some(reason) = answer.text(fields, "permissionDecisionReason") {
                answer.reason = reason;
            }
            answer.updated_input = answer.object(fields, "updatedInput").map(Value::Object);
        }
        HookEvent::PermissionRequest => {
            if let Some(decision) = answer.object(fields, "decision") {
                take_permission(&decision, answer);
            }
        }
        HookEvent::PostToolUse => {
            answer.updated_output = match fields.get("updatedToolOutput") {
                None | Some(Value::Null) => None,
                Some(Value::String(text)) => Some(clipped(text, SAID_CHARS_MAX)),
                Some(other) => Some(clipped(&other.to_string(), SAID_CHARS_MAX)),
            };
        }
        HookEvent::UserPromptSubmit => answer.title = answer.text(fields, "sessionTitle"),
        _ => {}
    }
}

fn take_permission(decision: &Map<String, Value>, answer: &mut HookAnswer) {
    match answer.text(decision, "behavior").as_deref() {
        Some("allow") => answer.verdict = Some(HookVerdict::Allow),
        Some("deny") => answer.verdict = Some(HookVerdict::Deny),
        Some(word) => {
            let word = clipped(word, SHOWN_CHARS_MAX);
            answer.fail(format!("its behavior {word:?} is neither allow nor deny"));
        }
        None => answer.fail("its decision has no behavior".to_owned()),
    }
    if let Some(message) = answer.text(decision, "message") {
        answer.reason = message;
    }
    answer.updated_input = answer.object(decision, "updatedInput").map(Value::Object);
    if decision.get("interrupt") == Some(&Value::Bool(true)) && answer.verdict == Some(HookVerdict::Deny) {
        answer.stop = Some(answer.reason.clone());
    }
}
