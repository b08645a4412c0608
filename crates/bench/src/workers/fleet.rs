//! Worker processes with many agents each, beside the same agents in one process: do all settle, how many turns a second, and what
//! do they take of processors and memory?

use std::time::{Duration, Instant};

use anyhow::ensure;
use posse_testkit::Turn;
use serde_json::json;

use super::home::{HomePlan, HomeProcess, RunFigures};
use super::model::{WorkModel, read, repository, start, wait};
use super::transport::Transport;
use crate::crew::REPORT;
use crate::{ResultLine, median};

const STARTS_PER_REPLY: usize = 50;
/// Three that read, one that writes, and the report.
const TURNS: usize = 5;
const LATE: Duration = Duration::from_millis(500);
const RATE_MIN: f64 = 0.7;
const CPU_MAX: f64 = 3.0;
const WORKER_MB_MAX: f64 = 40.0;

/// How large it is.
#[derive(Clone, Copy)]
pub(super) struct FleetSize {
    pub(super) workers: usize,
    /// On each worker, in all.
    pub(super) agents: usize,
    /// On each worker, at the same time.
    pub(super) running: usize,
    pub(super) rounds: usize,
}

impl FleetSize {
    fn all(self) -> usize {
        self.workers * self.agents
    }
}

/// What one run took.
struct Ran {
    settled: f64,
    turns_per_s: f64,
    cpu_ms_per_turn: f64,
    idle_mb: Vec<f64>,
    before: RunFigures,
    after: RunFigures,
}

pub(super) fn measure(size: FleetSize, transport: &Transport) -> anyhow::Result<Vec<ResultLine>> {
    let (mut settled, mut rates, mut rate_ratios) = (f64::INFINITY, [Vec::new(), Vec::new()], Vec::new());
    let (mut cpus, mut cpu_ratios) = ([Vec::new(), Vec::new()], Vec::new());
    let (mut idle, mut grown) = (Vec::new(), Vec::new());
    for _ in 0..size.rounds {
        let late = [Some(transport.clone()), None].map(|transport| run(size, transport, LATE));
        let at_once = [Some(transport.clone()), None].map(|transport| run(size, transport, Duration::ZERO));
        let ([workers, one], [quick_workers, quick_one]) = (late, at_once);
        let (workers, one, quick_workers, quick_one) = (workers?, one?, quick_workers?, quick_one?);
        for ran in [&workers, &one, &quick_workers, &quick_one] {
            settled = settled.min(ran.settled);
            tell(size, ran);
        }
        rate_ratios.push(workers.turns_per_s / one.turns_per_s);
        rates[0].push(workers.turns_per_s);
        rates[1].push(one.turns_per_s);
        cpu_ratios.push(quick_workers.cpu_ms_per_turn / quick_one.cpu_ms_per_turn);
        cpus[0].push(quick_workers.cpu_ms_per_turn);
        cpus[1].push(quick_one.cpu_ms_per_turn);
        let peaks = workers.after.numbers("workers_peak_mb");
        grown.extend(
            peaks.iter().zip(&workers.idle_mb).map(|(peak, idle)| (peak - idle) / size.running as f64),
        );
        idle.extend(workers.idle_mb);
    }
    let [workers_rate, one_rate] = rates.map(median);
    let [workers_cpu, one_cpu] = cpus.map(median);
    let (rate, cpu, idle_mb) =
        (median(rate_ratios), median(cpu_ratios), idle.iter().copied().fold(0.0, f64::max));
    let FleetSize { workers, agents, running, .. } = size;
    let over = transport.name();
    Ok(vec![
        ResultLine {
            what: format!("of {workers} × {agents} sub-agents on worker processes over {over}, settled"),
            measured: settled.to_string(),
            floor: "–".into(),
            promise: size.all().to_string(),
            holds: settled == size.all() as f64,
        },
        ResultLine {
            what: format!("turns per second with a model that answers after 500 ms, {running} running on each worker"),
            measured: format!("{rate:.2} ({workers_rate:.0}/s)"),
            floor: format!("1 ({one_rate:.0}/s in one process, each in a worktree)"),
            promise: format!("≥ {RATE_MIN:.2}"),
            holds: rate >= RATE_MIN,
        },
        ResultLine {
            what: "CPU time of a turn of all processes together, git included, with a model that answers at once".into(),
            measured: format!("{cpu:.2} ({workers_cpu:.2} ms)"),
            floor: format!("1 ({one_cpu:.2} ms in one process, each in a worktree)"),
            promise: format!("≤ {CPU_MAX:.0}"),
            holds: cpu <= CPU_MAX,
        },
        ResultLine {
            what: "memory of a worker process without agents, and how much more at its peak for each that runs".into(),
            measured: format!("{idle_mb:.1} MB, {:.2} MB", median(grown)),
            floor: "–".into(),
            promise: format!("< {WORKER_MB_MAX} MB"),
            holds: idle_mb < WORKER_MB_MAX,
        },
    ])
}

/// Where it went, for whoever looks closer.
fn tell(size: FleetSize, ran: &Ran) {
    let turns = (size.all() * TURNS) as f64;
    let grown = |name: &str| (ran.after.number(name) - ran.before.number(name)) / turns;
    let sums = |name: &str| (ran.after.sum(name) - ran.before.sum(name)) / turns;
    eprintln!(
        "  {:.1} turns/s, CPU per turn {:.2} ms: broker {:.2}, home {:.2} (itself {:.2}), workers {:.2} (themselves {:.2}); per turn {:.2} letters up, \
         {:.2} down, {:.2} blobs, {:.2} commits; home {:.0} MB, broker {:.0} MB",
        ran.turns_per_s,
        ran.cpu_ms_per_turn,
        grown("broker_cpu_ms"),
        grown("home_cpu_ms"),
        grown("home_own_cpu_ms"),
        sums("workers_cpu_ms"),
        sums("workers_own_cpu_ms"),
        grown("letters_up"),
        grown("letters_down"),
        grown("blobs"),
        grown("commits"),
        ran.after.number("home_peak_mb"),
        ran.after.number("broker_mb"),
    );
}

fn run(size: FleetSize, transport: Option<Transport>, late: Duration) -> anyhow::Result<Ran> {
    let (place, files) = (tempfile::tempdir()?, repository(100));
    let all = size.all();
    let model = WorkModel::start(move |agent, turn| rule(agent, turn, all, late));
    let mut home = HomeProcess::start(&HomePlan {
        base_url: model.base_url.clone(),
        place: place.path().to_owned(),
        repository: files.path().to_owned(),
        transport,
        workers: size.workers,
        running: size.running,
        sessions: 1,
        at_once: size.workers * size.running,
        steps: false,
        simulated: false,
    })?;
    std::thread::sleep(Duration::from_millis(500));
    let before = home.figures()?;
    let begun = Instant::now();
    home.ask("begin")?;
    let settled = home.settled()?;
    let seconds = begun.elapsed().as_secs_f64();
    let after = home.figures()?;
    let asked = model.take().iter().filter(|one| one.agent != "main").count();
    ensure!(asked >= all * TURNS || settled < all as f64, "{asked} requests came");
    let turns = (all * TURNS) as f64;
    Ok(Ran {
        settled,
        turns_per_s: turns / seconds,
        cpu_ms_per_turn: (after.cpu_ms() - before.cpu_ms()) / turns,
        idle_mb: before.numbers("workers_mb"),
        before,
        after,
    })
}

/// The main agent starts them all and waits; each of them reads, writes a file, reads on and reports.
fn rule(agent: &str, turn: usize, all: usize, late: Duration) -> Turn {
    let replies = all.div_ceil(STARTS_PER_REPLY);
    match (agent, turn) {
        ("main", turn) if turn < replies => {
            let first = turn * STARTS_PER_REPLY;
            let last = all.min(first + STARTS_PER_REPLY);
            (first + 1..last)
                .fold(Turn::call("agent", start(first)), |turn, n| turn.and_call("agent", start(n)))
        }
        ("main", turn) if turn == replies => wait(),
        ("main", _) => Turn::text("They are all done."),
        (_, 1) => {
            let file = json!({"path": "found.txt", "content": "What I found in the notes.\n"});
            Turn::call("write_file", file).delay(late)
        }
        (_, turn) if turn + 1 < TURNS => read(turn).delay(late),
        _ => Turn::text(REPORT).delay(late),
    }
}
