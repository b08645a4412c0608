//! The five designs, played by the binary: one script each, of what agents call and what they are told.

mod commands;
mod delegation_plan;
mod everywhere;
mod fork_and_return;
mod local_models;
mod open_sessions;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use posse_testkit::{FakeModel, Fixture, Turn, asker};
use serde_json::Value;

use crate::posse::{Person, Ran};

/// What agents without a script say.
const REPORT: &str =
    "SUMMARY: I looked at it and it is fine.\nCHANGES: None.\nEVIDENCE: None.\nRISKS: None.\nBLOCKERS: None.";

/// A call, and what its result must hold.
type Row = (Turn, &'static [&'static str]);

/// What is played: each agent's turns, by its name. Who has none left reports, and main is done.
struct Play {
    person: Person,
    turns: Arc<Mutex<HashMap<String, VecDeque<Turn>>>>,
    /// Rows by agent, as they are checked against the results.
    expected: Vec<(&'static str, Vec<&'static [&'static str]>)>,
}

impl Play {
    fn new(scripts: Vec<(&'static str, Vec<Row>)>) -> Self {
        Self::in_project(Fixture::new().file("main.py", "print('hi')\n").git(), scripts)
    }

    fn in_project(project: Fixture, scripts: Vec<(&'static str, Vec<Row>)>) -> Self {
        let mut turns: HashMap<String, VecDeque<Turn>> = HashMap::new();
        let mut expected = Vec::new();
        for (agent, rows) in scripts {
            let (calls, wanted) = rows.into_iter().unzip::<_, _, Vec<_>, Vec<_>>();
            turns.insert(agent.to_string(), calls.into());
            expected.push((agent, wanted));
        }
        let turns = Arc::new(Mutex::new(turns));
        let script = Arc::clone(&turns);
        let model = FakeModel::by_rule_blocking(move |request| {
            let name = asker(&request.json());
            let next = script.lock().unwrap().get_mut(&name).and_then(VecDeque::pop_front);
            next.unwrap_or_else(|| Turn::text(if name == "main" { "done" } else { REPORT }))
        });
        let person = Person::with_model(model, project);
        // A server on this machine would get one agent at a time.
        let config = std::fs::read_to_string(person.config()).unwrap();
        person.configure(&config.replace("price =", "max_concurrent = 8\nprice ="));
        Self { person, turns, expected }
    }

    /// Main's first reply, with several calls, and what each of their results must hold.
    fn first(mut self, reply: Turn, wanted: &[&'static [&'static str]]) -> Self {
        self.person.model.push(reply);
        if !self.expected.iter().any(|(agent, _)| *agent == "main") {
            self.expected.push(("main", Vec::new()));
        }
        let main = self.expected.iter_mut().find(|(agent, _)| *agent == "main");
        main.into_iter().for_each(|(_, rows)| drop(rows.splice(0..0, wanted.iter().copied())));
        self
    }

    /// What an agent says after its calls, in place of the usual report.
    fn saying(self, agent: &str, words: &[String]) -> Self {
        let words = words.iter().map(Turn::text);
        self.turns.lock().unwrap().entry(agent.to_string()).or_default().extend(words);
        self
    }

    fn settings(self, toml: &str) -> Self {
        self.person.configure_more(toml);
        self
    }

    /// A role of the person's own.
    fn role(self, name: &str, front: &str) -> Self {
        let agents = self.person.config().with_file_name("agents");
        std::fs::create_dir_all(&agents).unwrap();
        let text = format!("---\nname: {name}\ndescription: Does it.\n{front}\n---\nDo it.\n");
        std::fs::write(agents.join(format!("{name}.md")), text).unwrap();
        self
    }

    /// Runs it, and holds what every agent was told against its rows.
    fn run(self, args: &[&str]) -> Played {
        let ran = self.person.posse(&[&["run"], args, &["go"]].concat());
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        let played = Played { person: self.person, ran };
        for (agent, rows) in self.expected {
            let results = played.results_of(agent);
            assert_eq!(results.len(), rows.len(), "{agent}: {results:#?}\n{:#?}", played.ran);
            for (nth, (wanted, told)) in rows.iter().zip(&results).enumerate() {
                for part in *wanted {
                    assert!(told.contains(part), "{agent}, result {nth}: {part:?} is not in\n{told}");
                }
            }
        }
        played
    }
}

/// What came of it.
struct Played {
    person: Person,
    ran: Ran,
}

impl Played {
    fn requests_of(&self, agent: &str) -> Vec<Value> {
        let all = self.person.model.requests();
        all.iter().map(|request| request.json()).filter(|request| asker(request) == agent).collect()
    }

    /// What an agent was told of its calls, in order.
    fn results_of(&self, agent: &str) -> Vec<String> {
        let Some(last) = self.requests_of(agent).pop() else {
            panic!("{agent} asked nothing: {:#?}", self.ran)
        };
        let results = last["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
        results.map(|message| message["content"].as_str().unwrap().to_string()).collect()
    }

    /// The first request of an agent.
    fn first_of(&self, agent: &str) -> Value {
        self.requests_of(agent).into_iter().next().unwrap_or_else(|| panic!("{agent}: {:#?}", self.ran))
    }

    /// The system prompt of an agent.
    fn system_of(&self, agent: &str) -> String {
        self.first_of(agent)["messages"][0]["content"].as_str().unwrap().to_string()
    }

    /// The names of the tools that an agent is offered.
    fn tools_of(&self, agent: &str) -> Vec<String> {
        let request = self.first_of(agent);
        let tools = request["tools"].as_array().unwrap().iter();
        tools.map(|tool| tool["function"]["name"].as_str().unwrap().to_string()).collect()
    }

    /// What `tasks --json` tells of each agent.
    fn agents(&self) -> BTreeMap<String, Value> {
        crate::scripted::agents(&self.person, "last")
    }
}

/// Holds that a text has all these parts.
fn holds(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in\n{text}");
    }
}

/// Holds that a list has all of these and none of those.
fn offers(tools: &[String], there: &[&str], missing: &[&str]) {
    assert!(there.iter().all(|name| tools.iter().any(|tool| tool == name)), "{there:?}: {tools:?}");
    assert!(!missing.iter().any(|name| tools.iter().any(|tool| tool == name)), "{missing:?}: {tools:?}");
}
