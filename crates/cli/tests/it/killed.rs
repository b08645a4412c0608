//! Promise D1: whatever `posse` has shown is on record, whenever it is killed, and the session goes on from there to the
//! same end. A real process with twenty sub-agents at work is killed with SIGKILL at moments that seeds choose.
//!
//! `POSSE_SOAK=1` kills as often as promised for soaking; `POSSE_SEED=17` replays one kill.
#![allow(clippy::print_stdout, reason = "how quickly it goes on is told, not asserted")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use posse_testkit::{Captured, FakeModel, Fixture, Turn, asker, processes_with};
use serde_json::{Value, json};

use crate::posse::{Person, Ran, eventually};

/// Kills on every run, and when soaking; each of two tests makes half of them.
const KILLS: usize = 50;
const KILLS_SOAKING: usize = 500;
/// Kills at the same time, in each of two tests.
const LANES: usize = 3;
/// Below the main agent: leaders, and workers of each.
const LEADERS: u64 = 5;
const WORKERS: u64 = 3;
/// How much later than the line that was waited for a kill comes at most, and how late replies are.
const DELAY_MS_MAX: u64 = 12;

const REPORT: &str = "SUMMARY: I looked at it and it is fine.\nCHANGES: None.\nEVIDENCE: main.py:1\nRISKS: None.\nBLOCKERS: None.";

/// A number that follows from a seed and a place.
pub(crate) fn chance(seed: u64, place: &str) -> u64 {
    let mut state = seed ^ 0x9E37_79B9_7F4A_7C15;
    for byte in place.bytes() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        state ^= state >> 29;
    }
    state.wrapping_mul(0x94D0_49BB_1331_11EB) >> 17
}

fn starts(names: impl Iterator<Item = String>) -> Turn {
    names.fold(Turn::empty(), |turn, name| {
        let start =
            json!({"description": "a part", "prompt": format!("Do the part {name}"), "name": name, "type": "general"});
        turn.and_call("agent", start)
    })
}

/// What an agent does in its nth turn. Nothing but the conversation decides.
fn turn(name: &str, nth: usize, mark: &str) -> Turn {
    let (kind, number) = name.split_once('-').unwrap_or((name, ""));
    match (kind, nth) {
        ("main", 0) => starts((1..=LEADERS).map(|leader| format!("leader-{leader}"))),
        ("main", 1) => Turn::call("read_file", json!({"path": "main.py"})),
        ("main", _) => Turn::text("All parts are done."),
        ("leader", 0) => Turn::call("grep", json!({"pattern": "print"})),
        ("leader", 1) => starts((1..=WORKERS).map(|worker| format!("worker-{number}-{worker}"))),
        ("worker", 0) if number == "1-1" || number == "2-1" => {
            Turn::call("shell", json!({"command": format!("sleep 0.1; : {mark}")}))
        }
        ("worker", 0) if number == "3-1" => {
            Turn::call("write_file", json!({"path": "new.txt", "content": "written\n"}))
        }
        ("worker", 0 | 1) => {
            Turn::call("read_file", json!({"path": if nth == 0 { "main.py" } else { "b.txt" }}))
        }
        _ => Turn::text(REPORT),
    }
}

fn reply(request: &Captured, seed: u64, mark: &str) -> Turn {
    let request = request.json();
    let name = asker(&request);
    let messages = request["messages"].as_array().unwrap();
    let nth = messages.iter().filter(|message| message["role"] == "assistant").count();
    let delay_ms = chance(seed, &format!("{name} {nth}")) % DELAY_MS_MAX;
    turn(&name, nth, mark).delay(Duration::from_millis(delay_ms))
}

/// A machine on which the run of one seed takes place.
struct Killed {
    person: Person,
    mark: String,
}

impl Killed {
    fn new(seed: u64) -> Self {
        let mark = format!("posse-killed-{}-{seed}", std::process::id());
        let marked = mark.clone();
        let model = FakeModel::by_rule_blocking(move |request| reply(request, seed, &marked));
        model.capture(false);
        let project = Fixture::new().file("main.py", "print('hi')\n").file("b.txt", "beta\n");
        let person = Person::with_model(model, project);
        person.configure_more("[sub_agents]\nmax_depth = 2\n");
        Self { person, mark }
    }

    /// Runs it until so many events are shown and a moment is over, then kills it. Gives back what it had shown, and
    /// whether it still ran.
    fn run_and_kill(&self, lines: usize, later: Duration) -> (Vec<Value>, bool) {
        let path = self.person.data_dir().with_file_name("shown.jsonl");
        let mut command = self.person.command(&["run", "--json", "--surface", "task", "Do all parts"]);
        let mut child = command.stdout(Stdio::from(File::create(&path).unwrap())).spawn().unwrap();
        eventually("so many events", || shown(&path).len() >= lines || child.try_wait().unwrap().is_some());
        std::thread::sleep(later);
        child.kill().unwrap();
        let killed = child.wait().unwrap().code().is_none();
        (shown(&path), killed)
    }

    fn events(&self) -> Vec<Value> {
        let exported = self.person.posse(&["sessions", "export", "--format", "jsonl"]);
        assert_eq!(exported.code, Some(0), "{exported:#?}");
        exported.events()
    }

    /// Goes on. Also tells how long it took until something was shown.
    fn resume(&self) -> Duration {
        let since = Instant::now();
        let mut child = self.person.spawn(&["resume", "--json", "--surface", "task"]);
        let mut first = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut first).unwrap();
        let took = since.elapsed();
        for line in out.lines() {
            serde_json::from_str::<Value>(&line.unwrap()).unwrap();
        }
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        took
    }
}

/// The events that were shown; a line that was cut by the kill is none.
fn shown(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What SQLite itself finds wrong with the database, and with the places of events.
fn sound(person: &Person) {
    let code = "import sqlite3, sys\n\
        c = sqlite3.connect(sys.argv[1], timeout=30)\n\
        print(c.execute('PRAGMA integrity_check').fetchall())\n\
        print(c.execute('SELECT count(*) FROM (SELECT max(seq) AS last, count(*) AS all_ FROM events GROUP BY session_id) \
        WHERE last <> all_').fetchall())";
    let database = person.data_dir().join("posse.db");
    let out = Command::new("python3").args(["-c", code]).arg(database).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&out.stdout), "[('ok',)]\n[(0,)]\n", "{out:?}");
}

/// What is shown is on record, unchanged, once; and the record has no gaps.
fn acknowledged(shown: &[Value], events: &[Value]) {
    let places = events.iter().map(|event| event["seq"].as_u64().unwrap()).collect::<Vec<_>>();
    assert_eq!(places, (1..=events.len() as u64).collect::<Vec<_>>(), "places in the record");
    assert!(events.len() >= shown.len(), "{} shown, {} on record", shown.len(), events.len());
    for (nth, event) in shown.iter().enumerate() {
        assert_eq!(*event, events[nth], "event {nth} was shown, and is not on record like that");
    }
}

/// Who there is: by name, the parent's name, role, ending and words.
fn tree(events: &[Value]) -> BTreeMap<String, [String; 4]> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let mut names = BTreeMap::new();
    for event in events.iter().filter(|event| event["type"] == "agent_admitted") {
        names.insert(text(&event["agent"]), text(&event["name"]));
    }
    let name = |id: &Value| names.get(&text(id)).cloned().unwrap_or_else(|| "main".to_string());
    let mut tree = BTreeMap::new();
    for event in events {
        let agent: &mut [String; 4] = tree.entry(name(&event["agent"])).or_default();
        if !event["parent"].is_null() {
            agent[0] = name(&event["parent"]);
        }
        match event["type"].as_str().unwrap() {
            "agent_started" => agent[1] = text(&event["role"]),
            "agent_settled" => {
                agent[2].push_str(&event["report"]["ending"].to_string());
                agent[3] = text(&event["report"]["text"]);
            }
            _ => {}
        }
    }
    tree
}

/// Every report is told once, and no call has two answers.
fn nothing_twice(events: &[Value], agents: usize) {
    let (mut told, mut answered) = (BTreeSet::new(), BTreeSet::new());
    for event in events {
        let key = |call: &Value| (event["agent"].to_string(), call.to_string());
        match event["type"].as_str().unwrap() {
            "reports_delivered" => {
                for agent in event["agents"].as_array().unwrap() {
                    assert!(told.insert(agent.to_string()), "told twice: {event}");
                }
            }
            "replied" => {
                let calls = event["reply"]["calls"].as_array().cloned().unwrap_or_default();
                answered.retain(|answered| !calls.iter().any(|call| *answered == key(&call["id"])));
            }
            "tool_finished" => assert!(answered.insert(key(&event["call"])), "answered twice: {event}"),
            _ => {}
        }
    }
    assert_eq!(told.len(), agents, "every report is told");
}

/// One kill. False if the session was over before it came.
fn kill(seed: u64, lines: usize, wanted: &BTreeMap<String, [String; 4]>, slowest_ms: &AtomicU64) -> bool {
    let world = Killed::new(seed);
    let at = 1 + (chance(seed, "line") as usize) % lines;
    let later = Duration::from_millis(chance(seed, "later") % DELAY_MS_MAX);
    let (shown, killed) = world.run_and_kill(at, later);
    eventually("all commands are gone", || processes_with(&world.mark).is_empty());
    if !killed {
        return false;
    }
    sound(&world.person);
    let tasks = world.person.posse(&["tasks", "--json"]).events();
    let states = tasks.iter().map(|agent| agent["status"].as_str().unwrap()).collect::<BTreeSet<_>>();
    assert!(states.iter().all(|state| ["interrupted", "completed"].contains(state)), "{states:?}");
    let before = world.events();
    acknowledged(&shown, &before);
    // Its end may be on record and not shown yet.
    if before.iter().any(|event| event["type"] == "agent_settled" && event["parent"].is_null()) {
        return false;
    }
    let took = world.resume();
    slowest_ms.fetch_max(took.as_millis() as u64, Ordering::Relaxed);
    let after = world.events();
    acknowledged(&before, &after);
    assert_eq!(tree(&after), *wanted, "the same tree in the end");
    nothing_twice(&after, wanted.len() - 1);
    sound(&world.person);
    true
}

/// The run without a kill: what comes of it, and how many events are shown.
fn whole() -> (BTreeMap<String, [String; 4]>, usize) {
    let world = Killed::new(0);
    let ran = world.person.posse(&["run", "--json", "--surface", "task", "Do all parts"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let events = ran.events();
    let tree = tree(&events);
    let refused = events.iter().filter(|event| event["ok"] == false).collect::<Vec<_>>();
    assert_eq!(tree.len() as u64, 1 + LEADERS + LEADERS * WORKERS, "{refused:#?}");
    nothing_twice(&events, tree.len() - 1);
    (tree, events.len())
}

/// Kills with every second seed, so that two tests share them.
fn kills(first: u64) {
    let ((wanted, lines), slowest_ms) = (whole(), AtomicU64::new(0));
    if let Ok(seed) = std::env::var("POSSE_SEED") {
        assert!(kill(seed.parse().unwrap(), lines, &wanted, &slowest_ms), "it was over before the kill");
        return;
    }
    let kills = if std::env::var_os("POSSE_SOAK").is_some() { KILLS_SOAKING } else { KILLS } / 2;
    let (next, hit) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| {
                while (hit.load(Ordering::Relaxed) as usize) < kills {
                    let nth = next.fetch_add(1, Ordering::Relaxed);
                    assert!(nth <= 2 * kills as u64, "too many kills come too late");
                    let seed = first + 2 * nth;
                    let one = std::panic::AssertUnwindSafe(|| kill(seed, lines, &wanted, &slowest_ms));
                    let killed = std::panic::catch_unwind(one)
                        .unwrap_or_else(|_| panic!("POSSE_SEED={seed} replays it"));
                    hit.fetch_add(u64::from(killed), Ordering::Relaxed);
                }
            });
        }
    });
    let hit = hit.load(Ordering::Relaxed) as usize;
    assert!(hit >= kills, "only {hit} of {kills} kills hit a session at work");
    println!("{hit} kills; at most {} ms until a resumed session showed something", slowest_ms.into_inner());
}

#[test]
fn a_killed_session_has_lost_nothing_it_had_shown_and_goes_on_to_the_same_end() {
    kills(1);
}

#[test]
fn so_it_is_with_the_other_seeds() {
    kills(2);
}
