//! A thousand sub-agents in one process: do all settle, how much memory do they take, how much of what raw clients reach
//! do they reach, and what does a fork of a long conversation cost?
//!
//! The sessions run in a process of their own, which is this program again, so that neither the server nor the raw
//! clients count as memory of Posse.

use std::collections::VecDeque;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use bytes::Bytes;
use posse_engine::Limits;
use posse_engine::models::Models;
use posse_engine::{Delegation, Engine, Session, SessionRequest, SubAgents};
use posse_model::{Governors, Model, ModelConfig, Protocol};
use posse_protocol::{Budget, Ending, EventKind, Grant, Network, Update};
use posse_roles::{Roles, Team};
use posse_surface::Surface;
use posse_testkit::{Captured, FakeModel, Turn};
use posse_tools::ToolSettings;
use serde_json::json;

use crate::{ResultLine, median};

pub(crate) const AGENTS: usize = 1_000;
/// The last of them is the report.
const TURNS: usize = 5;
pub(crate) const AT_ONCE: usize = 200;
pub(crate) const STARTS_PER_REPLY: usize = 50;
const ROUNDS: usize = 5;
const MEMORY_MB_MAX: f64 = 300.0;
const RATIO_MIN: f64 = 0.45;
const CPU_US_MAX: f64 = 270.0;
/// The name of the threads that raw clients run on.
const RAW_CLIENTS: &str = "raw-client";
const FORKS: usize = 100;
/// Replies of the conversation that is forked, and bytes of each: 1 MB in all.
const LONG_REPLIES: usize = 16;
const LONG_REPLY_BYTES: usize = 64 * 1024;
const FORK_KB_MAX: f64 = 50.0;
pub(crate) const REPORT: &str = "SUMMARY: I read four parts of the notes and found nothing odd in them.\nCHANGES: None.\n\
    EVIDENCE: notes.txt:1-20\nRISKS: None.\nBLOCKERS: None.";

/// The modes in which this program runs the sessions it measures.
pub(crate) const SESSION: &str = "crew-session";
pub(crate) const FORK_SESSION: &str = "fork-session";

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).thread_name(RAW_CLIENTS).enable_all().build()?;
    let recording = CrewServer::start(crew_turn, true);
    let mut settled = run(SESSION, &recording.base_url)?.number("settled")?;
    let conversations = Arc::new(conversations(recording.take()));
    ensure!(conversations.len() == AGENTS, "{} agents sent requests", conversations.len());

    let server = CrewServer::start(crew_turn, false);
    let (mut ratios, mut rates) = (Vec::new(), [Vec::new(), Vec::new()]);
    let (mut peaks, mut cpu_us, mut raw_us) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let session = run(SESSION, &server.base_url)?;
        settled = settled.min(session.number("settled")?);
        peaks.push(session.number("peak_kb")? / 1024.0);
        cpu_us.push(session.number("cpu_us")? / (AGENTS * TURNS) as f64);
        let posse = rate(&server.take())?;
        let before_us = raw_cpu_us();
        // On the threads that are counted, not on this one.
        let (base_url, requests) = (server.base_url.clone(), Arc::clone(&conversations));
        runtime.block_on(runtime.spawn(async move { raw(&base_url, &requests).await }))??;
        raw_us.push((raw_cpu_us() - before_us) / (AGENTS * TURNS) as f64);
        let raw = rate(&server.take())?;
        ratios.push(posse / raw);
        rates[0].push(posse);
        rates[1].push(raw);
    }
    let fork_kb = fork_kb()?;
    let (peak, ratio) = (peaks.iter().copied().fold(0.0, f64::max), median(ratios));
    let (cpu_us, raw_us) = (median(cpu_us), median(raw_us));
    let [posse, raw] = rates.map(median);
    Ok(vec![
        line(
            &format!("of {AGENTS} sub-agents of {TURNS} turns, settled"),
            settled.to_string(),
            "–",
            AGENTS.to_string(),
            settled == AGENTS as f64,
        ),
        line(
            &format!("turns per second of {AGENTS} sub-agents, {AT_ONCE} at once, ratio to raw clients"),
            format!("{ratio:.2} ({posse:.0}/s)"),
            &format!("1 ({raw:.0}/s)"),
            format!("≥ {RATIO_MIN:.2}"),
            ratio >= RATIO_MIN,
        ),
        line(
            "CPU time of a turn of theirs, starting and ending them included",
            format!("{cpu_us:.0} µs"),
            &format!("{raw_us:.0} µs (raw clients)"),
            format!("≤ {CPU_US_MAX:.0} µs"),
            cpu_us <= CPU_US_MAX,
        ),
        line(
            "their peak memory",
            format!("{peak:.0} MB"),
            "–",
            format!("< {MEMORY_MB_MAX} MB"),
            peak < MEMORY_MB_MAX,
        ),
        line(
            &format!("memory of one of {FORKS} forks of a conversation of 1 MB"),
            format!("{fork_kb:.1} KB"),
            "–",
            format!("< {FORK_KB_MAX} KB"),
            fork_kb < FORK_KB_MAX,
        ),
    ])
}

fn line(what: &str, measured: String, floor: &str, promise: String, holds: bool) -> ResultLine {
    ResultLine { what: what.into(), measured, floor: floor.into(), promise, holds }
}

/// CPU time of the raw clients so far.
fn raw_cpu_us() -> f64 {
    let is_theirs = |task: &std::path::Path| {
        std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == RAW_CLIENTS)
    };
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten().map(|task| task.path());
    let used = tasks.filter(|task| is_theirs(task)).filter_map(|task| {
        let text = std::fs::read_to_string(task.join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    used.sum::<f64>() / 1000.0
}

fn fork_kb() -> anyhow::Result<f64> {
    let server = CrewServer::start(fork_turn, false);
    Ok(run(FORK_SESSION, &server.base_url)?.number("grown_kb")? / FORKS as f64)
}

/// What a process that ran a session said of it, `name value` on each line.
struct Said(String);

impl Said {
    fn number(&self, name: &str) -> anyhow::Result<f64> {
        let value = self.0.lines().find_map(|line| line.strip_prefix(name)).context("a figure is missing")?;
        Ok(value.trim().parse()?)
    }
}

fn run(mode: &str, base_url: &str) -> anyhow::Result<Said> {
    let output =
        Command::new(std::env::current_exe()?).args([mode, base_url]).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{mode} failed");
    Ok(Said(String::from_utf8(output.stdout)?))
}

/// A request of a sub-agent.
struct Arrival {
    at: Instant,
    turn: usize,
    /// What tells one agent from another, and its request; empty where they are not kept.
    agent: String,
    body: Bytes,
}

/// A fake model that answers by rule and notes the requests of sub-agents.
pub(crate) struct CrewServer {
    pub(crate) base_url: String,
    pub(crate) model: FakeModel,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
}

impl CrewServer {
    pub(crate) fn start(rule: fn(&str, usize) -> Turn, keep: bool) -> Self {
        let arrivals = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&arrivals);
        let answer = move |request: &Captured| {
            let body = String::from_utf8_lossy(&request.body);
            let (agent, turn) = (asker(&body), body.matches("\"role\":\"assistant\"").count());
            if agent != "main"
                && let Ok(mut arrivals) = noted.lock()
            {
                let kept = if keep { Bytes::copy_from_slice(&request.body) } else { Bytes::new() };
                arrivals.push(Arrival { at: Instant::now(), turn, agent: agent.to_string(), body: kept });
            }
            rule(agent, turn)
        };
        let model = FakeModel::by_rule_blocking(answer);
        model.capture(false);
        Self { base_url: model.base_url(), model, arrivals }
    }

    fn take(&self) -> Vec<Arrival> {
        self.arrivals.lock().map(|mut arrivals| std::mem::take(&mut *arrivals)).unwrap_or_default()
    }
}

/// Who sends a request. Quicker than reading it all, because the server shares the cores with those it measures.
pub(crate) fn asker(body: &str) -> &str {
    let name = body.split_once(" sub-agent of ").and_then(|(before, _)| before.rsplit_once("You are "));
    name.and_then(|(_, name)| name.split(',').next()).unwrap_or("main")
}

/// The main agent starts them all and waits; each of them reads a part of a file per turn and then reports.
fn crew_turn(agent: &str, turn: usize) -> Turn {
    let starts = AGENTS / STARTS_PER_REPLY;
    match (agent, turn) {
        ("main", turn) if turn < starts => start(STARTS_PER_REPLY, turn, "fresh"),
        ("main", turn) if turn == starts => Turn::call("agent", json!({"action": "wait"})),
        ("main", _) => Turn::text("They are all done."),
        (_, turn) if turn + 1 < TURNS => {
            let lines = json!({"path": "notes.txt", "start_line": turn * 20 + 1, "end_line": turn * 20 + 20});
            Turn::text("Reading the next part of the notes to see how they go on. ".repeat(3))
                .and_call("read_file", lines)
        }
        _ => Turn::text(REPORT),
    }
}

/// The main agent talks a lot, then forks: once to take the only slot, then so many that wait.
fn fork_turn(agent: &str, turn: usize) -> Turn {
    let waiting = FORKS / STARTS_PER_REPLY;
    match (agent, turn) {
        ("main", turn) if turn < LONG_REPLIES => {
            let words = format!("{turn} words ").repeat(LONG_REPLY_BYTES / 8);
            let lines = json!({"path": "notes.txt", "start_line": turn + 1, "end_line": turn + 2});
            Turn::text(words).and_call("read_file", lines)
        }
        ("main", turn) if turn == LONG_REPLIES => start(1, turn, "fork"),
        ("main", turn) if turn <= LONG_REPLIES + waiting => start(STARTS_PER_REPLY, turn, "fork"),
        ("main", _) => Turn::text("They are on it."),
        _ => Turn::text(REPORT).delay(Duration::from_secs(60)),
    }
}

pub(crate) fn start(count: usize, turn: usize, context: &str) -> Turn {
    let one = |n: usize| {
        let prompt = format!("Read the notes, for part {n} of turn {turn}.");
        json!({"action": "start", "role": "explore", "context": context, "prompt": prompt})
    };
    (1..count).fold(Turn::call("agent", one(0)), |turn, n| turn.and_call("agent", one(n)))
}

/// The requests of each agent, in order.
fn conversations(arrivals: Vec<Arrival>) -> Vec<Vec<Bytes>> {
    let mut by_agent = std::collections::BTreeMap::<String, Vec<(usize, Bytes)>>::new();
    for Arrival { turn, agent, body, .. } in arrivals {
        by_agent.entry(agent).or_default().push((turn, body));
    }
    let in_order = |mut requests: Vec<(usize, Bytes)>| {
        requests.sort_by_key(|(turn, _)| *turn);
        requests.into_iter().map(|(_, body)| body).collect()
    };
    by_agent.into_values().map(in_order).collect()
}

/// Requests per second, from the first to the last.
fn rate(arrivals: &[Arrival]) -> anyhow::Result<f64> {
    ensure!(arrivals.len() == AGENTS * TURNS, "{} requests came", arrivals.len());
    let first = arrivals.iter().map(|one| one.at).min().context("none")?;
    let last = arrivals.iter().map(|one| one.at).max().context("none")?;
    Ok(arrivals.len() as f64 / (last - first).as_secs_f64())
}

/// The floor: so many clients at once, each sending the requests of one agent after the other.
async fn raw(base_url: &str, conversations: &[Vec<Bytes>]) -> anyhow::Result<()> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().tcp_nodelay(true).no_proxy().build()?;
    let left = Arc::new(Mutex::new(conversations.iter().cloned().collect::<VecDeque<_>>()));
    let mut clients = tokio::task::JoinSet::new();
    for _ in 0..AT_ONCE {
        let (client, left, url) = (client.clone(), Arc::clone(&left), format!("{base_url}/chat/completions"));
        clients.spawn(async move {
            while let Some(bodies) = left.lock().ok().and_then(|mut left| left.pop_front()) {
                for body in bodies {
                    let request = client.post(&url).header("content-type", "application/json").body(body);
                    let mut response = request.send().await?;
                    while response.chunk().await?.is_some() {}
                }
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = clients.join_next().await {
        ended??;
    }
    Ok(())
}

/// Runs the session of a thousand and prints how it went.
#[tokio::main(worker_threads = 2)]
pub(crate) async fn session(base_url: &str) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let mut session = begin(place.path(), base_url, AT_ONCE)?;
    let mut settled = 0;
    while let Some(update) = session.next().await {
        if let Update::Event(event) = update
            && let EventKind::AgentSettled { report } = &event.kind
        {
            settled += usize::from(event.parent.is_some() && report.ending == Ending::Completed);
        }
    }
    let report = session.report().await.context("no report")?;
    ensure!(report.ending == Ending::Completed, "the session ended as {}", report.ending);
    println!(
        "settled {settled}\npeak_kb {}\ncpu_us {}",
        memory_kb("VmHWM:")?,
        cpu_us(std::path::Path::new("/proc/self"))?
    );
    Ok(())
}

/// Runs the session of forks and prints how much memory they took.
#[tokio::main(worker_threads = 2)]
pub(crate) async fn forks(base_url: &str) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let mut session = begin(place.path(), base_url, 1)?;
    let (mut started, mut before) = (0, 0.0);
    while let Some(update) = session.next().await {
        let Update::Event(event) = update else { continue };
        let EventKind::ToolFinished { tool, ok, text, .. } = &event.kind else { continue };
        if tool != "agent" {
            continue;
        }
        ensure!(*ok, "{text}");
        started += 1;
        if started == 1 {
            before = memory_kb("VmRSS:")?;
        }
        if started == FORKS + 1 {
            println!("grown_kb {}", memory_kb("VmRSS:")? - before);
            session.cancel();
        }
    }
    ensure!(started == FORKS + 1, "{started} forks were started");
    Ok(())
}

pub(crate) fn begin(place: &std::path::Path, base_url: &str, at_once: usize) -> anyhow::Result<Session> {
    let work = place.join("work");
    std::fs::create_dir(&work)?;
    let notes = (1..=1000).map(|n| format!("line {n} of the notes\n")).collect::<String>();
    std::fs::write(work.join("notes.txt"), notes)?;
    let mut config = ModelConfig::new("fake", "fake-model", Protocol::Chat, base_url);
    config.max_concurrent = AT_ONCE;
    let delegation = Delegation {
        surface: Surface::Agent,
        roles: Roles::builtin(Team::Without),
        limits: Limits { running_max: at_once, ..Limits::default() },
        sub_agents: SubAgents::default(),
        coordinator: false,
        team: false,
        trusted_files: std::collections::BTreeSet::new(),
    };
    Ok(Engine::open(&place.join("data"))?.start(SessionRequest {
        workspace: work,
        prompt: "Have the notes read.".into(),
        attachments: Vec::new(),
        models: Models::new(Model::new(config, &Governors::default())?, None),
        grant: Grant { network: Network::None, ..Grant::full() },
        budget: Budget::UNLIMITED,
        stay: false,
        tools: ToolSettings::default(),
        project: None,
        delegation: Some(delegation),
        approvals: posse_engine::ApprovalSettings::default(),
        knowledge: posse_engine::KnowledgeSettings::default(),
        hooks: None,
        outside: None,
        workers: None,
        traceparent: None,
        watcher: None,
    })?)
}

/// What a process has used of the processors so far, in the kernel and outside. The kernel counts it in ticks of 10 ms.
pub(crate) fn cpu_us(process: &std::path::Path) -> anyhow::Result<f64> {
    const TICK_US: f64 = 10_000.0;
    let stat = std::fs::read_to_string(process.join("stat"))?;
    // The name of the program, in brackets, may hold anything; the times are the 12th and 13th field behind it.
    let (_, fields) = stat.rsplit_once(')').context("no name in the figures of a process")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<f64>);
    Ok(ticks.sum::<Result<f64, _>>()? * TICK_US)
}

fn memory_kb(what: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let Some(line) = status.lines().find_map(|line| line.strip_prefix(what)) else { bail!("no {what}") };
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}
