//! Following a session step by step, and short forms for what scripts and assertions say again and again.

use std::time::Duration;

use posse_engine::Session;
use posse_protocol::{AgentId, Ending, Event, EventKind, Progress, Question, Sender, Update};
use posse_testkit::Turn;
use serde_json::{Value, json};

use crate::check::{Ran, finish};

/// A session whose updates are kept while a test waits for one of them.
pub(crate) struct Followed {
    pub(crate) session: Session,
    updates: Vec<Update>,
}

impl Followed {
    pub(crate) fn new(session: Session) -> Self {
        Self { session, updates: Vec::new() }
    }

    /// Waits until as many events as wanted are of the kind.
    pub(crate) async fn until(&mut self, wanted: usize, fits: impl Fn(&Event) -> bool) {
        let count = |updates: &[Update]| {
            updates.iter().filter(|update| matches!(update, Update::Event(event) if fits(event))).count()
        };
        while count(&self.updates) < wanted {
            self.step().await;
        }
    }

    /// The same, and answers what is asked meanwhile.
    pub(crate) async fn until_answering(
        &mut self,
        wanted: usize,
        fits: impl Fn(&Event) -> bool,
        answer: impl Fn(&Event, &Question),
    ) {
        let count = |updates: &[Update]| {
            updates.iter().filter(|update| matches!(update, Update::Event(event) if fits(event))).count()
        };
        while count(&self.updates) < wanted {
            self.step().await;
            if let Some(Update::Event(event)) = self.updates.last()
                && let EventKind::PersonNeeded { question } = &event.kind
            {
                answer(event, question);
            }
        }
    }

    /// Waits until some text of a reply is shown.
    pub(crate) async fn until_shown(&mut self, fits: impl Fn(&Progress) -> bool) {
        while !matches!(self.updates.last(), Some(Update::Progress(progress)) if fits(progress)) {
            self.step().await;
        }
    }

    async fn step(&mut self) {
        let next = tokio::time::timeout(Duration::from_secs(20), self.session.next()).await;
        let last = &self.updates[self.updates.len().saturating_sub(5)..];
        let next = next.unwrap_or_else(|_| panic!("the session hangs after {last:#?}"));
        self.updates.push(next.expect("the session goes on"));
    }

    pub(crate) async fn finish(mut self) -> Ran {
        let Ran { updates, report } = finish(self.session).await;
        self.updates.extend(updates);
        Ran { updates: self.updates, report }
    }
}

impl Ran {
    /// What an agent was told by one kind of sender, in order.
    pub(crate) fn told(&self, name: &str, by: Sender) -> Vec<String> {
        let told = self.of(name).into_iter().filter_map(|event| match &event.kind {
            EventKind::Told { from, text, .. } if *from == by => Some(text.clone()),
            _ => None,
        });
        told.collect()
    }

    /// How each sub-agent ended, in the order in which they did. One that ends twice is there twice.
    pub(crate) fn endings(&self) -> Vec<(AgentId, Ending)> {
        let settled = self.events().filter_map(|event| match &event.kind {
            EventKind::AgentSettled { report } if event.parent.is_some() => {
                Some((event.agent, report.ending.clone()))
            }
            _ => None,
        });
        settled.collect()
    }

    /// How long the nth call of an agent took; for hangs, not for speed.
    pub(crate) fn took_ms(&self, name: &str, nth: usize) -> u64 {
        let took = self.of(name).into_iter().filter_map(|event| match event.kind {
            EventKind::ToolFinished { duration_ms, .. } => Some(duration_ms),
            _ => None,
        });
        took.collect::<Vec<_>>()[nth]
    }

    /// How an agent ended, in one word.
    pub(crate) fn ended(&self, name: &str) -> &'static str {
        self.report_of(name).ending.word()
    }
}

/// The names of the tools that a request offers.
pub(crate) fn offered(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_string()).collect()
}

/// A start on the default surface, under a name.
pub(crate) fn named(name: &str, role: &str, prompt: &str) -> Value {
    json!({"action": "start", "name": name, "role": role, "prompt": prompt})
}

pub(crate) fn wait() -> Turn {
    Turn::call("agent", json!({"action": "wait"}))
}

pub(crate) fn message(name: &str, text: &str) -> Turn {
    Turn::call("agent", json!({"action": "message", "agent": name, "message": text}))
}

pub(crate) fn cancel(name: &str) -> Turn {
    Turn::call("agent", json!({"action": "cancel", "agent": name}))
}

pub(crate) fn sh(command: &str) -> Turn {
    Turn::call("shell", json!({"command": command}))
}

/// Says that it is at work, by a file, and is for long.
pub(crate) fn busy(file: &str) -> Turn {
    sh(&format!("touch {file}; exec sleep 30"))
}

/// Waits for a file.
pub(crate) fn until_file(file: &str) -> Turn {
    sh(&format!("until [ -e {file} ]; do sleep 0.02; done"))
}

/// Fails with the whole text if a part is missing.
#[track_caller]
pub(crate) fn holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}
