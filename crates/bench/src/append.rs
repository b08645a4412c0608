//! What the record costs a turn in CPU time, without the rest of a session: whole lives of sub-agents are appended as
//! their drivers append them, by one agent and by many at once.
//!
//! The floor, taken in turn with it, is bare SQLite that inserts the same bytes into one table, in transactions of the
//! same size. It knows no agents, no prompts and no calls, and publishes nothing.

use std::path::Path;

use anyhow::Context as _;
use posse_protocol::*;
use posse_store::{Durability, NewEvent, Store};
use rusqlite::{Connection, TransactionBehavior};

use crate::{ResultLine, median};

/// The last of them is the report.
const TURNS: u32 = 5;
/// How many agents work at once, where it is many.
const AT_ONCE: usize = 200;
/// How many of their turns come within the time in which the writer gathers, about as many as in `crew`.
const TURNS_PER_COMMIT: usize = 16;
const AGENTS: usize = 1_000;
const ROUNDS: usize = 7;
const SYSTEM_PROMPT_BYTES: usize = 9_000;
/// How many ticks of the clock in `/proc` there are in a second, on every Linux.
const TICKS_PER_SECOND: f64 = 100.0;

/// What goes into one transaction.
type Commit = Vec<Vec<NewEvent>>;

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let cases = [
        ("one agent after the other, a turn in a commit", 1, 1),
        ("200 agents at once, 16 turns in a commit", AT_ONCE, TURNS_PER_COMMIT),
    ];
    cases.into_iter().map(|(what, at_once, turns)| case(what, &lives(at_once, turns)?)).collect()
}

fn case(what: &str, commits: &[Commit]) -> anyhow::Result<ResultLine> {
    let bodies = commits.iter().map(bodies).collect::<Result<Vec<_>, _>>()?;
    let (mut ours, mut floors, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        // Made beforehand: a driver hands over what it has.
        let events = commits.to_vec();
        let mine = turn_us(|path| append(path, events))?;
        let floor = turn_us(|path| insert(path, &bodies))?;
        ours.push(mine);
        floors.push(floor);
        ratios.push(mine / floor);
    }
    let ratio = median(ratios);
    Ok(ResultLine {
        what: format!("CPU time of the record a turn, {what}"),
        measured: format!("{:.0} µs, {ratio:.1} times bare SQLite", median(ours)),
        floor: format!("{:.0} µs", median(floors)),
        promise: "–".into(),
        holds: true,
    })
}

/// The CPU time of a turn, system calls included.
fn turn_us(work: impl FnOnce(&Path) -> anyhow::Result<()>) -> anyhow::Result<f64> {
    let place = tempfile::tempdir()?;
    let before = cpu_seconds()?;
    work(&place.path().join("posse.db"))?;
    Ok((cpu_seconds()? - before) * 1e6 / (AGENTS as f64 * f64::from(TURNS)))
}

/// What all threads of this process have used, those that have ended included.
fn cpu_seconds() -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let (_, after_name) = stat.rsplit_once(')').context("no name")?;
    let ticks = after_name.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? / TICKS_PER_SECOND)
}

fn append(path: &Path, commits: Vec<Commit>) -> anyhow::Result<()> {
    let store = Store::open(path, Durability::Process, drop)?;
    for commit in commits {
        for batch in commit {
            drop(store.append(batch));
        }
        store.flush()?;
    }
    Ok(())
}

fn insert(path: &Path, commits: &[Vec<String>]) -> anyhow::Result<()> {
    let mut connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.execute_batch("CREATE TABLE events (id INTEGER PRIMARY KEY, body TEXT NOT NULL)")?;
    for commit in commits {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        for body in commit {
            transaction.prepare_cached("INSERT INTO events (body) VALUES (?1)")?.execute((body,))?;
        }
        transaction.commit()?;
    }
    Ok(())
}

fn bodies(commit: &Commit) -> anyhow::Result<Vec<String>> {
    commit.iter().flatten().map(|event| Ok(serde_json::to_string(&event.kind)?)).collect()
}

/// The lives of all agents of a session, so many side by side, so many batches in a commit.
fn lives(at_once: usize, per_commit: usize) -> anyhow::Result<Vec<Commit>> {
    let main = id(0).parse()?;
    let session = id(0).parse()?;
    let event = |agent, parent, kind| NewEvent { session, agent, parent, at_ms: 1_767_323_045_678, kind };
    let begin = vec![event(main, None, session_started()), event(main, None, started(0))];
    let mut commits = vec![vec![begin]];
    let agents = (1..=AGENTS).map(|n| Ok(id(n).parse()?)).collect::<anyhow::Result<Vec<AgentId>>>()?;
    for group in agents.chunks(at_once) {
        let steps = (0..=TURNS + 1).flat_map(|step| mixed(group, step).map(move |agent| (agent, step)));
        let batches = steps.map(|(agent, step)| {
            life(step).into_iter().map(|kind| event(agent, Some(main), kind)).collect::<Vec<_>>()
        });
        let batches = batches.collect::<Vec<_>>();
        commits.extend(batches.chunks(per_commit).map(<[_]>::to_vec));
    }
    Ok(commits)
}

/// Agents in another order at each step: they do not keep pace with each other.
fn mixed(agents: &[AgentId], step: u32) -> impl Iterator<Item = AgentId> {
    // A prime that is no divisor of their number, and a power of it, reach each of them once.
    let stride = 7_usize.pow(step);
    (0..agents.len()).filter_map(move |n| agents.get(n * stride % agents.len()).copied())
}

/// One id after the other, as they are made.
fn id(n: usize) -> String {
    format!("019b0000-0000-7000-8000-{n:012x}")
}

/// What an agent hands to the record at once.
fn life(step: u32) -> Vec<EventKind> {
    let turn_started = |turn| EventKind::TurnStarted { turn, purpose: Purpose::Work };
    match step {
        0 => vec![admitted()],
        1 => {
            let told = EventKind::told(Sender::Parent, "Read the notes, part 7.".repeat(4));
            vec![started(1), told, turn_started(1)]
        }
        step if step <= TURNS => {
            let turn = step - 1;
            let call = CallId(format!("call_0123456789abcdef{turn}"));
            let (tool, title) = ("read_file".to_owned(), "notes.txt:1-20".to_owned());
            let text = (1..=20).map(|n| format!("{n:>6}\tline {n} of the notes\n")).collect();
            vec![
                replied(turn, Some(call.clone())),
                EventKind::ToolStarted {
                    call: call.clone(),
                    tool: tool.clone(),
                    title,
                    repeatable: true,
                    kind: CallKind::Other,
                    paths: Vec::new(),
                },
                EventKind::ToolFinished {
                    call,
                    tool,
                    ok: true,
                    text,
                    attachments: Vec::new(),
                    effects: vec![],
                    duration_ms: 1,
                },
                turn_started(step),
            ]
        }
        _ => {
            let usage = used(u64::from(TURNS));
            let receipt = Receipt { turns: TURNS, tool_calls: TURNS - 1, usage, ..Receipt::default() };
            let report = Report::new(Ending::Completed, crate::crew::REPORT, receipt);
            vec![replied(TURNS, None), EventKind::AgentSettled { report }]
        }
    }
}

fn used(turns: u64) -> Usage {
    Usage {
        input_tokens: Some(turns * 1_000),
        output_tokens: Some(turns * 50),
        cached_tokens: Some(turns * 800),
        ..Usage::default()
    }
}

fn replied(turn: u32, call: Option<CallId>) -> EventKind {
    let text = "Reading the next part of the notes to see how they go on. ".repeat(3);
    let arguments = r#"{"path":"notes.txt","start_line":1,"end_line":20}"#;
    let calls = call.map(|id| ToolCall { id, name: "read_file".into(), arguments: arguments.into() });
    let reply = Reply {
        text,
        calls: calls.into_iter().collect(),
        usage: used(1),
        model: "fake-model".into(),
        ..Reply::default()
    };
    EventKind::Replied { turn, reply, duration_ms: 12, cost_usd: None }
}

fn session_started() -> EventKind {
    EventKind::SessionStarted {
        workspace: "/work".into(),
        version: "0.1.0".into(),
        sandboxed: true,
        project: "/work".into(),
        surface: "agent".into(),
        coordinator: false,
        team: false,
        traceparent: None,
    }
}

fn admitted() -> EventKind {
    EventKind::AgentAdmitted {
        name: "explore-1".into(),
        role: "explore".into(),
        depth: 1,
        title: "Read the notes".into(),
        requested_model: None,
        context: ContextMode::Fresh,
        continues: None,
        brief: None,
    }
}

fn started(depth: u32) -> EventKind {
    EventKind::AgentStarted {
        role: "explore".into(),
        depth,
        model: "fake".into(),
        model_id: "fake-model".into(),
        budget: Budget::UNLIMITED,
        grant: Grant::full(),
        system: "You are one of many. ".repeat(SYSTEM_PROMPT_BYTES / 21),
        checkout: None,
    }
}
