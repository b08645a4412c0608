//! A fake model for agents on workers: answers by rule, and notes when which agent asked.

use std::sync::{Arc, Mutex, PoisonError};

use posse_testkit::{Captured, FakeModel, Turn};
use serde_json::{Value, json};

use super::counting::now_us;
use crate::crew::asker;

/// A request that came.
pub(super) struct AskedModel {
    pub(super) at_us: u64,
    pub(super) agent: String,
    pub(super) turn: usize,
}

pub(super) struct WorkModel {
    pub(super) base_url: String,
    asked: Arc<Mutex<Vec<AskedModel>>>,
    _model: FakeModel,
}

impl WorkModel {
    pub(super) fn start(rule: impl Fn(&str, usize) -> Turn + Send + Sync + 'static) -> Self {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&asked);
        let answer = move |request: &Captured| {
            let body = String::from_utf8_lossy(&request.body);
            let (agent, turn) = (asker(&body), body.matches("\"role\":\"assistant\"").count());
            let mut noted = noted.lock().unwrap_or_else(PoisonError::into_inner);
            noted.push(AskedModel { at_us: now_us(), agent: agent.to_owned(), turn });
            rule(agent, turn)
        };
        let model = FakeModel::by_rule_blocking(answer);
        model.capture(false);
        Self { base_url: model.base_url(), asked, _model: model }
    }

    /// All requests since this was asked last.
    pub(super) fn take(&self) -> Vec<AskedModel> {
        std::mem::take(&mut *self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How many sub-agents have asked at least once.
    pub(super) fn begun(&self) -> usize {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.iter().filter(|one| one.agent != "main" && one.turn == 0).count()
    }
}

/// A call that starts an agent with files of its own.
pub(super) fn start(number: usize) -> Value {
    let prompt = format!("Read the notes and write part {number}.");
    json!({"action": "start", "role": "implementer", "isolation": "worktree", "context": "fresh", "prompt": prompt})
}

pub(super) fn wait() -> Turn {
    Turn::call("agent", json!({"action": "wait"}))
}

/// A call that reads twenty lines.
pub(super) fn read(turn: usize) -> Turn {
    let from = turn % 40 * 20;
    let lines = json!({"path": "notes.txt", "start_line": from + 1, "end_line": from + 20});
    Turn::text("Reading the next part of the notes to see how they go on. ".repeat(3))
        .and_call("read_file", lines)
}

/// Files that agents read, and others beside them.
pub(super) fn repository(files: usize) -> posse_testkit::Fixture {
    let notes = (1..=1000).map(|n| format!("line {n} of the notes\n")).collect::<String>();
    let fixture = posse_testkit::Fixture::new().file("notes.txt", notes);
    let more =
        (1..files).map(|n| (format!("folder{}/file{n}.txt", n % 10), format!("file {n}\n").repeat(100)));
    more.fold(fixture, |fixture, (path, text)| fixture.file(&path, text)).git()
}
