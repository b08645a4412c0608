//! A main agent with two sub-agents, ann and bob, who do not get on until they are let: for tests of what becomes of
//! sub-agents whose session ends under them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use posse_testkit::{Captured, FakeModel, Fixture, Turn, asker};
use serde_json::json;

use crate::posse::Person;

/// What a sub-agent says in the end.
pub(crate) const REPORT: &str = "SUMMARY: I did what I was asked to do, and the tests pass.\nCHANGES: None.\nEVIDENCE: None.\nRISKS: None.\nBLOCKERS: None.";

/// A person whose agents wait until they may go on.
pub(crate) struct Crew {
    pub(crate) person: Person,
    may_go_on: Arc<AtomicBool>,
}

impl Crew {
    /// Ann runs a command that does not end, bob's model does not answer, main rests.
    pub(crate) fn new() -> Self {
        let may_go_on = Arc::new(AtomicBool::new(false));
        let gate = Arc::clone(&may_go_on);
        let model = FakeModel::by_rule_blocking(move |request| answer(request, gate.load(Ordering::SeqCst)));
        let person = Person::with_model(model, Fixture::new().file("main.py", "print('hi')\n").git());
        // A server on this machine would get one agent at a time.
        let config = std::fs::read_to_string(person.config()).unwrap();
        person.configure(&config.replace("price =", "max_concurrent = 8\nprice ="));
        Self { person, may_go_on }
    }

    /// From now on everybody gets on.
    pub(crate) fn let_go_on(&self) {
        self.may_go_on.store(true, Ordering::SeqCst);
    }

    /// Whether ann is in the middle of her command and bob of his turn.
    pub(crate) fn at_work(&self) -> bool {
        let asked = |name: &str| self.person.model.requests().iter().any(|r| asker(&r.json()) == name);
        self.person.project.path().join("ann-began").exists() && asked("bob")
    }
}

fn answer(request: &Captured, may_go_on: bool) -> Turn {
    let request = request.json();
    let messages = request["messages"].as_array().map_or(0, Vec::len);
    let start = |name: &str| json!({"action": "start", "name": name, "role": "general", "prompt": "Do it."});
    match (asker(&request).as_str(), messages) {
        ("ann", 2) if !may_go_on => Turn::call("shell", json!({"command": "touch ann-began; sleep 60"})),
        ("bob", _) if !may_go_on => Turn::text(REPORT).stall_after(0),
        ("ann" | "bob", _) => Turn::text(REPORT),
        (_, 2) => Turn::call("agent", start("ann")).and_call("agent", start("bob")),
        // Main, as often as it is told something.
        _ => {
            let text = request.to_string();
            let reports = ["ann", "bob"]
                .iter()
                .filter(|name| text.contains(&format!("report from=\\\"{name}")))
                .count();
            if reports == 2 { Turn::text("All is done.") } else { Turn::text("They are at it.") }
        }
    }
}
