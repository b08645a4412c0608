//! Promise C2 with real parts: worker processes are killed at moments that seeds choose while their agents work, the broker is killed
//! and loses its data, home is killed and resumed. The work is the same as without all that.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Child;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use posse_testkit::nats::NatsServer;
use posse_testkit::{Captured, FakeModel, Fixture, Turn, asker};
use serde_json::{Value, json};

use super::broker::{HOME_USER, credentials, joins, worker};
use super::far::REPORT;
use crate::killed::chance;
use crate::posse::{Person, eventually};

/// Kills of workers on every run, and when soaking.
const KILLS: usize = 50;
const KILLS_SOAKING: usize = 500;
const WORKERS: usize = 3;
/// Agents for each ten kills: enough that there is always work left.
const AGENTS_PER_TEN: usize = 12;
/// An agent that lost so many workers is left alone: it may lose five.
const LOST_MAX: u64 = 2;
/// The longest time from the moment that an agent has a worker to the kill of that worker.
const MOMENT_MS_MAX: u64 = 900;
/// What the moments follow from.
const SEED: u64 = 19;
const PATIENCE: Duration = Duration::from_secs(300);

/// What everybody does, by what the conversation holds.
fn script(request: &Captured, agents: usize) -> Turn {
    let request = request.json();
    let turn =
        request["messages"].as_array().unwrap().iter().filter(|one| one["role"] == "assistant").count();
    let name = asker(&request);
    let shell = |command: String| Turn::call("shell", json!({ "command": command }));
    match (name.as_str(), turn) {
        ("main", 0) => (1..=agents).fold(Turn::empty(), |turn, part| {
            let prompt = format!("write part {part}");
            let start = json!({"action": "start", "role": "implementer", "prompt": prompt, "on": "anywhere"});
            turn.and_call("agent", start)
        }),
        ("main", 1) => Turn::call("agent", json!({"action": "wait"})),
        ("main", _) => Turn::text("all done"),
        (_, 0) => Turn::call("write_file", json!({"path": format!("{name}.txt"), "content": "1\n"})),
        (_, 1) => shell(format!("echo 2 >> {name}.txt; mkdir -p sub; echo x > sub/x.txt")),
        (_, 2) => shell(format!("echo 3 >> {name}.txt; rm -f main.py")),
        (_, 3) => shell(format!("echo 4 >> {name}.txt; mv sub/x.txt sub/y.txt")),
        _ => Turn::text(REPORT),
    }
}

/// A person, a broker and workers.
struct Place {
    person: Person,
    server: NatsServer,
    far: tempfile::TempDir,
    joins: Vec<PathBuf>,
    workers: Vec<Child>,
}

/// A home at work, and what it says.
struct Home {
    child: Child,
    said: Receiver<Value>,
}

/// What home has said so far.
#[derive(Default)]
struct Heard {
    /// Which worker has an agent, for the how manyth time that agent is given to one, and since when.
    has: HashMap<String, (String, u64, Instant)>,
    settled: BTreeMap<String, usize>,
    failed: Vec<Value>,
}

impl Heard {
    fn take_in(&mut self, event: &Value) {
        let agent = event["agent"].as_str().unwrap_or_default().to_owned();
        match event["type"].as_str() {
            Some("agent_placed") => {
                let worker = event["worker"].as_str().unwrap().to_owned();
                self.has.insert(agent, (worker, event["epoch"].as_u64().unwrap(), Instant::now()));
            }
            Some("agent_settled") => {
                self.has.remove(&agent);
                if event["report"]["ending"]["status"] != "completed" {
                    self.failed.push(event.clone());
                }
                *self.settled.entry(agent).or_default() += 1;
            }
            _ => {}
        }
    }

    /// A worker that has had an agent for so long, and none that was lost too often already.
    fn due(&self, moment: Duration) -> Option<String> {
        let is_left_alone =
            |worker: &String| self.has.values().any(|(other, epoch, _)| other == worker && *epoch > LOST_MAX);
        let due =
            self.has.values().find(|(worker, _, since)| since.elapsed() >= moment && !is_left_alone(worker));
        due.map(|(worker, _, _)| worker.clone())
    }
}

impl Place {
    fn new(agents: usize) -> Self {
        let model = FakeModel::by_rule_blocking(move |request| script(request, agents));
        let person = Person::with_model(model, Fixture::new().file("main.py", "print('hi')\n").git());
        let server = NatsServer::start(&format!("authorization {{ users: [ {HOME_USER} ] }}"));
        let mut configuration = std::fs::read_to_string(person.config()).unwrap();
        configuration.push_str("max_concurrent = 20\n");
        person.configure(&configuration);
        person.configure_more(&format!("[cluster]\nlease = \"3s\"\nnats = {:?}\n", server.url()));
        credentials(&person);
        let far = tempfile::tempdir().unwrap();
        let names: Vec<String> = (0..WORKERS).map(|number| format!("w{number}")).collect();
        let joins = joins(&person, &server, far.path(), &names);
        let mut place = Self { person, server, far, joins, workers: Vec::new() };
        place.server.restart();
        place.workers = (0..WORKERS).map(|number| place.begin(number)).collect();
        place
    }

    /// A worker's process: the machine is the same, and what a former process left is there.
    fn begin(&self, number: usize) -> Child {
        let home = self.far.path().join(format!("home{number}"));
        std::fs::create_dir_all(&home).unwrap();
        worker(&home, &self.joins[number])
    }

    fn home(&self, args: &[&str]) -> Home {
        let mut child = self.person.spawn(args);
        let out = BufReader::new(child.stdout.take().unwrap());
        let (sender, said) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let _ = sender.send(serde_json::from_str(&line).unwrap_or_default());
            }
        });
        Home { child, said }
    }

    /// Kills a worker that has an agent, at a moment of its work, and starts it again. False if home ended before.
    fn kill_one(&mut self, home: &mut Home, heard: &mut Heard, kill: usize) -> bool {
        let moment = Duration::from_millis(chance(SEED, &kill.to_string()) % MOMENT_MS_MAX);
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < PATIENCE, "no worker has an agent: {}", self.server.log());
            while let Ok(event) = home.said.try_recv() {
                heard.take_in(&event);
            }
            if let Some(worker) = heard.due(moment) {
                let number: usize = worker.trim_start_matches('w').parse().unwrap();
                heard.has.retain(|_, (other, _, _)| *other != worker);
                self.workers[number].kill().unwrap();
                self.workers[number].wait().unwrap();
                self.workers[number] = self.begin(number);
                return true;
            }
            if home.child.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// What each agent's branch holds, without what workers left that had lost their agents.
    fn trees(&self) -> Vec<String> {
        let project = &self.person.project;
        let refs = project.run_git(&["for-each-ref", "--format=%(refname)", "refs/heads/posse"]);
        let own = refs.lines().filter(|name| !name.contains(".epoch"));
        let mut trees: Vec<String> = own.map(|name| project.run_git(&["ls-tree", "-r", name])).collect();
        trees.sort();
        trees
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for worker in &mut self.workers {
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

/// Runs a session to its end, with so many kills of workers. Half-way the broker is killed, then robbed, then home is killed.
fn play(agents: usize, kills: usize) -> (Vec<String>, BTreeMap<String, usize>) {
    let mut place = Place::new(agents);
    let mut home = place.home(&["run", "--json", "go"]);
    let mut heard = Heard::default();
    for kill in 1..=kills {
        assert!(place.kill_one(&mut home, &mut heard, kill), "the session has ended after {kill} kills");
        if kill == kills / 4 {
            place.server.restart();
        }
        if kill == kills / 2 {
            place.server.kill();
            place.server.wipe();
            place.server.restart();
        }
        if kill == kills * 3 / 4 {
            home.child.kill().unwrap();
            home.child.wait().unwrap();
            while let Ok(event) = home.said.recv() {
                heard.take_in(&event);
            }
            home = place.home(&["resume", "--json"]);
        }
    }
    while let Ok(event) = home.said.recv_timeout(PATIENCE) {
        heard.take_in(&event);
    }
    let mut code = None;
    eventually("the end of home", || {
        code = home.child.try_wait().unwrap();
        code.is_some()
    });
    assert_eq!(code.unwrap().code(), Some(0), "{}", place.server.log());
    assert_eq!(heard.failed, Vec::<Value>::new());
    (place.trees(), heard.settled)
}

#[test]
fn workers_broker_and_home_are_killed_and_the_work_is_the_same() {
    let kills = std::env::var("POSSE_SOAK").map_or(KILLS, |_| KILLS_SOAKING);
    let agents = kills * AGENTS_PER_TEN / 10;
    let (wanted, _) = play(agents, 0);
    assert_eq!(wanted.len(), agents, "a branch of each");
    let (came, settled) = play(agents, kills);
    assert_eq!(came, wanted);
    assert_eq!(settled.len(), agents + 1, "with the main agent");
    assert!(settled.values().all(|times| *times == 1), "each settles once: {settled:?}");
}
