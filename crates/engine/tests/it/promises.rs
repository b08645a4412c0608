//! Promises T2 to T4, with the real engine: fan-out is bounded, slots come back, and starting answers.

use std::collections::{BTreeMap, HashMap};
use std::net::TcpListener;
use std::process::{Child, Command};
use std::time::Duration;

use posse_engine::Limits;
use posse_protocol::{AgentId, Budget, Ending, EventKind, StopReason, Update, Usage};
use posse_testkit::{Captured, Turn, asker};
use serde_json::{Value, json};

use crate::check::{Ran, finish};
use crate::crew::{REPORT, Stage, last_text, turn_of};

/// Tokens of every reply, its request included, where tokens are counted.
const REPLY_TOKENS: u64 = 1_000;
/// How long a start may take.
const START_MS_MAX: u64 = 2_000;

fn used() -> Usage {
    Usage { input_tokens: Some(REPLY_TOKENS - 50), output_tokens: Some(50), ..Usage::default() }
}

fn text(request: &Value) -> bool {
    last_text(request).contains("You have to stop here")
}

/// The most sub-agents that were there at the same time, queued ones not counted; and that each settled once.
fn live_peak(ran: &Ran) -> u64 {
    let main = ran.events().next().unwrap().agent;
    let (mut live, mut peak) = (0_u64, 0);
    let mut settled: HashMap<AgentId, u32> = HashMap::new();
    for event in ran.events().filter(|event| event.agent != main) {
        match &event.kind {
            EventKind::AgentStarted { .. } => live += 1,
            EventKind::AgentSettled { report } => {
                // Those that never began were never among the live.
                live -= u64::from(report.receipt.turns > 0);
                *settled.entry(event.agent).or_default() += 1;
            }
            _ => {}
        }
        peak = peak.max(live);
    }
    assert!(settled.values().all(|times| *times == 1), "nobody settles twice");
    assert_eq!(settled.len(), ran.agents().len(), "everybody settles");
    peak
}

/// A model that starts two agents in every reply, and says so differently each time.
fn delegates(request: &Captured) -> Turn {
    let request = request.json();
    let (who, turn) = (asker(&request), turn_of(&request));
    let start = |n: u32| json!({"action": "start", "prompt": format!("{who} wants part {n} of turn {turn}")});
    Turn::call("agent", start(1)).and_call("agent", start(2)).usage(used())
}

#[tokio::test]
async fn a_model_that_always_delegates_stops_at_its_limits() {
    let wide = Limits { depth_max: 3, running_max: 8, agents_max: 200, ..Limits::default() };
    let tokens =
        |tokens: u64, turns: u32| Budget { tokens: Some(tokens), turns: Some(turns), ..Budget::UNLIMITED };
    // What is to stop it, the limits, the budget.
    let cases = [
        ("depth", Limits { depth_max: 1, ..wide }, tokens(60_000, 6)),
        ("agents", Limits { agents_max: 15, ..wide }, tokens(400_000, 10)),
        ("tokens", wide, tokens(40_500, 100)),
        ("few tokens", wide, tokens(3_999, 100)),
        ("queue", Limits { running_max: 1, queued_max: 1, ..wide }, tokens(60_000, 10)),
    ];
    let mut stopped = 0;
    for (what, limits, budget) in cases {
        let mut stage = Stage::by_rule(delegates).await;
        (stage.delegation.limits, stage.budget) = (limits, budget);
        stage.delegation.sub_agents.max_turns = 10;
        let ran = stage.run("delegate").await;
        let live = live_peak(&ran);
        let admitted = ran.events().filter_map(|event| match &event.kind {
            EventKind::AgentAdmitted { depth, .. } => Some(*depth),
            _ => None,
        });
        let depths = admitted.collect::<Vec<_>>();
        assert!(depths.len() <= limits.agents_max, "{what}: {} agents", depths.len());
        assert!(depths.iter().all(|depth| *depth <= limits.depth_max), "{what}: {depths:?}");
        // Every request the server saw counts, also those whose agents were stopped meanwhile.
        let (spent, all) = (stage.model.calls() as u64 * REPLY_TOKENS, budget.tokens.unwrap());
        assert!(spent <= all + (live + 1) * REPLY_TOKENS, "{what}: {spent} of {all} tokens with {live} live");
        assert!(stage.model.running_peak() <= limits.running_max + 1, "{what}");
        stopped += 1;
    }
    assert_eq!(stopped, 5);
}

const CHILDREN: usize = 1_000;
const STARTS_PER_REPLY: usize = 50;

/// What an agent with this number is asked for, besides the prompt.
fn task(n: usize) -> Value {
    let mut start = json!({"action": "start", "role": "general", "prompt": format!("work {n}")});
    let (limit, most) = match n % 10 {
        6 => ("max_time_ms", 60),
        7 => ("max_turns", 1),
        8 => ("token_budget", 1_000),
        _ => return start,
    };
    start[limit] = json!(most);
    start
}

/// How the model treats it, and so how it ends.
fn fate(n: usize, request: &Value, sleep: &str) -> Turn {
    if text(request) {
        return Turn::text(REPORT);
    }
    match n % 10 {
        0 => Turn::text(REPORT),
        1 => Turn::status(500),
        2 => Turn::text("this never comes to its end").cut_after(1),
        3 => Turn::empty(),
        4 => Turn::text("I will not do that").stop(StopReason::Refusal),
        5 => Turn::call("shell", json!({"command": sleep})),
        6 => Turn::text(REPORT).delay(Duration::from_millis(400)),
        7 | 8 => Turn::call("read_file", json!({"path": "a.txt"})).usage(used()),
        _ => Turn::text("ok"),
    }
}

/// What the main agent does in its turns: starts them all, stops the sleepers, waits.
fn leads(turn: usize) -> Turn {
    let calls = |arguments: Vec<Value>| {
        let mut all = arguments.into_iter();
        let first = Turn::call("agent", all.next().unwrap());
        all.fold(first, |turn, one| turn.and_call("agent", one))
    };
    let starts = CHILDREN / STARTS_PER_REPLY;
    let sleepers = (1..=CHILDREN).filter(|n| n % 10 == 5).collect::<Vec<_>>();
    let batches = sleepers.chunks(STARTS_PER_REPLY).collect::<Vec<_>>();
    if turn < starts {
        let from = turn * STARTS_PER_REPLY;
        return calls((from + 1..=from + STARTS_PER_REPLY).map(task).collect());
    }
    match batches.get(turn - starts) {
        Some(batch) => {
            let stop = |n: &usize| json!({"action": "cancel", "agents": [format!("general-{n}")]});
            calls(batch.iter().map(stop).collect())
        }
        None if turn == starts + batches.len() => calls(vec![json!({"action": "wait"})]),
        None => Turn::text("That was all of them."),
    }
}

fn processes_with(words: &str) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.filter(|line| String::from_utf8_lossy(line).replace('\0', " ").contains(words)).count()
}

#[tokio::test]
async fn a_thousand_children_of_every_ending_give_their_slots_back() {
    let sleep = format!("sleep 3141{}", std::process::id());
    let slept = sleep.clone();
    let mut stage = Stage::by_rule(move |request| {
        let request = request.json();
        match asker(&request).strip_prefix("general-") {
            Some(number) => fate(number.parse().unwrap(), &request, &slept),
            None => leads(turn_of(&request)),
        }
    })
    .await;
    stage.model.capture(false);
    stage.delegation.limits = Limits { running_max: 8, ..Limits::default() };
    let session = stage.start("start a thousand");
    let id = session.id;
    let ran = finish(session).await;
    assert_eq!(ran.report.ending, Ending::Completed);
    // The server still counts requests that were given up, so it is no measure of this.
    assert!(live_peak(&ran) <= 8, "no more than eight at a time");

    let names = ran.agents().into_iter().map(|(name, id)| (id, name)).collect::<HashMap<_, _>>();
    let mut endings: BTreeMap<(usize, String), usize> = BTreeMap::new();
    for event in ran.events() {
        let EventKind::AgentSettled { report } = &event.kind else { continue };
        let Some(name) = names.get(&event.agent) else { continue };
        let number = name.strip_prefix("general-").unwrap().parse::<usize>().unwrap();
        *endings.entry((number % 10, report.ending.word().to_string())).or_default() += 1;
    }
    let words = [
        "completed",
        "failed",
        "failed",
        "failed",
        "refused",
        "cancelled",
        "timed_out",
        "out_of_turns",
        "out_of_tokens",
        "completed",
    ];
    let wanted =
        words.iter().enumerate().map(|(kind, word)| ((kind, word.to_string()), CHILDREN / 10)).collect();
    assert_eq!(endings, wanted);
    let rows = stage.engine.agents(id).unwrap();
    let open =
        rows.iter().filter(|row| ["running", "queued", "pending", "waiting"].contains(&row.status.word()));
    assert_eq!((rows.len(), open.count()), (CHILDREN + 1, 0));
    assert_eq!(ran.deliveries().len(), CHILDREN);
    assert!(ran.deliveries().values().all(|times| *times == 1), "each report is told once");
    assert_eq!(processes_with(&sleep), 0, "nothing is left running");
}

/// How long each start took, in milliseconds.
fn starts(ran: &Ran) -> Vec<u64> {
    let finished = ran.of("main").into_iter().filter_map(|event| match &event.kind {
        EventKind::ToolFinished { tool, ok, duration_ms, text, .. } if tool == "agent" => {
            assert!(*ok, "{text}");
            Some(*duration_ms)
        }
        _ => None,
    });
    finished.collect()
}

/// Main starts agents, 50 in a reply, and is stopped once they are there.
async fn start_and_stop(stage: &Stage, count: usize) -> Vec<u64> {
    let mut session = stage.start("start them");
    let (mut updates, mut answered) = (Vec::new(), 0);
    let run = async {
        while let Some(update) = session.next().await {
            if let Update::Event(event) = &update {
                answered += usize::from(matches!(event.kind, EventKind::ToolFinished { .. }));
            }
            updates.push(update);
            if answered == count {
                session.cancel();
            }
        }
        session.report().await.unwrap()
    };
    let report = tokio::time::timeout(Duration::from_secs(60), run).await.expect("the session hangs");
    starts(&Ran { updates, report })
}

fn batch(prompt: &str, more: &Value) -> Turn {
    let one = |n: usize| {
        let mut start = json!({"action": "start", "prompt": format!("{prompt} {n}")});
        start.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        start
    };
    (2..=STARTS_PER_REPLY).fold(Turn::call("agent", one(1)), |turn, n| turn.and_call("agent", one(n)))
}

/// A main agent that starts so many and then has nothing to do; its children's model takes long.
fn loads(request: &Captured, batches: usize, more: &Value) -> Turn {
    let request = request.json();
    if asker(&request) != "main" {
        return Turn::text(REPORT).delay(Duration::from_secs(30));
    }
    match turn_of(&request) {
        turn if turn < batches => batch(&format!("turn {turn}"), more),
        _ => Turn::text("They are on it."),
    }
}

#[tokio::test]
async fn starting_answers_under_full_load() {
    let mut stage = Stage::by_rule(|request| loads(request, 4, &json!({}))).await;
    stage.delegation.limits = Limits { running_max: 8, ..Limits::default() };
    let took = start_and_stop(&stage, 200).await;
    assert_eq!(took.len(), 200);
    assert!(took.iter().all(|ms| *ms <= START_MS_MAX), "{took:?}");
}

#[tokio::test]
async fn starting_answers_with_a_dead_model() {
    // It takes connections and never says a word.
    let dead = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let mut stage = Stage::by_rule(|request| loads(request, 1, &json!({"model": "dead"}))).await;
    let mut config = stage.config("dead");
    config.base_url = format!("http://{}/v1", dead.local_addr().unwrap());
    config.timeouts.first_byte_ms = 60_000;
    stage.others.push(config);
    let took = start_and_stop(&stage, STARTS_PER_REPLY).await;
    assert_eq!(took.len(), STARTS_PER_REPLY);
    assert!(took.iter().all(|ms| *ms <= START_MS_MAX), "{took:?}");
}

/// Another program that holds the database for three seconds; `held` is there once it does.
fn hold(stage: &Stage) -> Child {
    let program = format!(
        "import sqlite3, time\nc = sqlite3.connect('{}', timeout=5, isolation_level=None)\n\
         c.execute('begin exclusive')\nopen('{}', 'w')\ntime.sleep(3)",
        stage.data.path().join("posse.db").display(),
        stage.files.path().join("held").display()
    );
    Command::new("python3").args(["-c", &program]).spawn().unwrap()
}

#[tokio::test]
async fn starting_answers_with_a_slow_store() {
    let stage = Stage::by_rule(|request| loads(request, 1, &json!({}))).await;
    let mut holder = hold(&stage);
    while !stage.files.path().join("held").exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let took = start_and_stop(&stage, STARTS_PER_REPLY).await;
    assert!(holder.wait().unwrap().success(), "the database was held all the time");
    assert_eq!(took.len(), STARTS_PER_REPLY);
    assert!(took.iter().all(|ms| *ms <= START_MS_MAX), "{took:?}");
}
