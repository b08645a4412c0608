//! What home, the broker and workers take for each running agent: measured with real workers at several sizes, and with workers that
//! only pretend to run agents at sizes that need more than one machine. Where both were measured, they show how good the pretence is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use posse_testkit::Turn;

use super::home::{HomePlan, HomeProcess, RunFigures};
use super::model::{WorkModel, read, repository, start, wait};
use super::transport::Transport;
use crate::ResultLine;

/// Agents of one worker: fewer than a repository has checkouts for.
const PER_WORKER: usize = 50;
/// Agents of one session: fewer than may run in one.
const PER_SESSION: usize = 800;
const STARTS_PER_REPLY: usize = 50;
const BEGIN_S_MAX: u64 = 1_800;
/// How late the model answers while agents are started, and while they only wait.
const STARTING_MS: u64 = 30_000;
const WAITING_MS: u64 = 3_600_000;
/// Turns of all agents together while they work: the machine that measures is not to be full.
const TURNS_PER_S: u64 = 250;
/// Until all have noticed a change of that.
const SETTLES_S: u64 = 4;
/// How long they are looked at.
const WINDOW_S: u64 = 20;

/// How many agents there are.
pub(super) struct PlanSizes {
    pub(super) real: Vec<usize>,
    pub(super) simulated: Vec<usize>,
}

/// What one part took in a while.
#[derive(Default)]
struct Part {
    cpu_ms: f64,
    mb: f64,
}

/// What all took in a while.
struct Rates {
    seconds: f64,
    turns: f64,
    home: Part,
    broker: Part,
    workers: Part,
    writer_ms: f64,
    commits: f64,
    letters: f64,
}

struct Measured {
    agents: f64,
    simulated: bool,
    working: Rates,
    waiting: Rates,
    idle_mb: [f64; 3],
}

/// Prints the plan, and says what home takes for an agent.
pub(super) fn measure(sizes: &PlanSizes, transport: &Transport) -> anyhow::Result<Vec<ResultLine>> {
    let mut all = Vec::new();
    for (agents, simulated) in
        sizes.real.iter().map(|size| (*size, false)).chain(sizes.simulated.iter().map(|size| (*size, true)))
    {
        let measured = measure_one(agents, simulated, transport)?;
        eprintln!("  {agents} agents are measured");
        all.push(measured);
    }
    print_home(&all);
    print_others(&all);
    let Some(last) = all.last() else { return Ok(Vec::new()) };
    print_limits(last);
    let Measured { agents, working, waiting, .. } = last;
    Ok(vec![ResultLine {
        what: format!("what home takes for one of {agents:.0} agents on workers: memory, CPU time of a turn"),
        measured: format!(
            "{:.0} KB, {:.2} ms",
            last.kb_per_agent(0, &working.home),
            working.home.cpu_ms / working.turns
        ),
        floor: format!("{:.2} ms a second while it waits", waiting.home.cpu_ms / waiting.seconds / agents),
        promise: "–".into(),
        holds: true,
    }])
}

impl Measured {
    fn kb_per_agent(&self, part: usize, now: &Part) -> f64 {
        (now.mb - self.idle_mb[part]) * 1024.0 / self.agents
    }

    fn name(&self) -> String {
        format!("{:.0}{}", self.agents, if self.simulated { ", simulated" } else { "" })
    }
}

fn print_home(all: &[Measured]) {
    println!(
        "| agents on workers | home's memory | … per agent | waiting: CPU of home | letters/s | commits/s | working: turns/s | CPU of home | … per turn | \
         of it the record's writer | letters per turn | commits/s |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    );
    for one in all {
        let Measured { working, waiting, .. } = one;
        println!(
            "| {} | {:.0} MB | {:.0} KB | {:.2}% | {:.1} | {:.1} | {:.0} | {:.0}% | {:.2} ms | {:.2} ms | {:.2} | {:.0} |",
            one.name(),
            working.home.mb,
            one.kb_per_agent(0, &working.home),
            waiting.home.cpu_ms / waiting.seconds / 10.0,
            waiting.letters / waiting.seconds,
            waiting.commits / waiting.seconds,
            working.turns / working.seconds,
            working.home.cpu_ms / working.seconds / 10.0,
            working.home.cpu_ms / working.turns,
            working.writer_ms / working.turns,
            working.letters / working.turns,
            working.commits / working.seconds,
        );
    }
}

fn print_others(all: &[Measured]) {
    println!(
        "\n| agents on workers | broker: memory | CPU per turn | CPU while all wait | workers: memory per agent | CPU per turn | CPU while all wait |\n\
         |---|---|---|---|---|---|---|"
    );
    for one in all {
        let Measured { working, waiting, .. } = one;
        let per_turn = |part: &Part| part.cpu_ms / working.turns;
        let percent = |part: &Part| part.cpu_ms / waiting.seconds / 10.0;
        let workers = match one.simulated {
            true => "– | – | –".to_owned(),
            false => format!(
                "{:.0} KB | {:.2} ms | {:.2}%",
                one.kb_per_agent(2, &working.workers),
                per_turn(&working.workers),
                percent(&waiting.workers)
            ),
        };
        println!(
            "| {} | {:.0} MB | {:.2} ms | {:.2}% | {workers} |",
            one.name(),
            working.broker.mb,
            per_turn(&working.broker),
            percent(&waiting.broker),
        );
    }
}

/// What so many agents need when they work faster, and where that ends.
fn print_limits(last: &Measured) {
    let Measured { agents, working, waiting, .. } = last;
    let cpu_ms = working.home.cpu_ms / working.turns;
    let writer_ms = working.writer_ms / working.turns;
    let waiting_cores = waiting.home.cpu_ms / waiting.seconds / 1000.0;
    println!(
        "\n| {agents:.0} agents | turns/s | processors of home | of it the record's writer |\n|---|---|---|---|"
    );
    for (what, every_s) in [
        ("all wait", 0.0),
        ("a turn each minute", 60.0),
        ("a turn each 30 s", 30.0),
        ("a turn each 10 s", 10.0),
    ] {
        let turns = if every_s == 0.0 { 0.0 } else { agents / every_s };
        println!(
            "| {what} | {turns:.0} | {:.2} | {:.2} |",
            waiting_cores + turns * cpu_ms / 1000.0,
            turns * writer_ms / 1000.0
        );
    }
    println!(
        "\nOne processor of home is used up at {:.0} turns/s; the one thread that writes the record at {:.0} turns/s.\n",
        1000.0 / cpu_ms,
        1000.0 / writer_ms
    );
}

fn measure_one(agents: usize, simulated: bool, transport: &Transport) -> anyhow::Result<Measured> {
    let (place, files) = (tempfile::tempdir()?, repository(20));
    let late_ms = Arc::new(AtomicU64::new(STARTING_MS));
    let sessions = agents.div_ceil(PER_SESSION);
    let each = agents / sessions;
    let model = {
        let late_ms = Arc::clone(&late_ms);
        WorkModel::start(move |agent, turn| rule(agent, turn, each, late_ms.load(Ordering::Relaxed)))
    };
    let mut home = HomeProcess::start(&HomePlan {
        base_url: model.base_url.clone(),
        place: place.path().to_owned(),
        repository: files.path().to_owned(),
        transport: Some(transport.clone()),
        workers: agents.div_ceil(PER_WORKER),
        running: PER_WORKER,
        sessions,
        at_once: each,
        steps: false,
        simulated,
    })?;
    std::thread::sleep(Duration::from_secs(1));
    let idle = home.figures()?;
    let idle_mb = [idle.number("home_mb"), idle.number("broker_mb"), idle.sum("workers_mb")];
    home.ask("begin")?;
    let begun = Instant::now();
    while model.begun() < each * sessions {
        ensure!(begun.elapsed().as_secs() < BEGIN_S_MAX, "{} of {agents} have begun", model.begun());
        std::thread::sleep(Duration::from_millis(100));
    }
    let working_ms = (agents as u64 * 1_000 / TURNS_PER_S).max(1_000);
    late_ms.store(working_ms, Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(STARTING_MS + 1_000));
    let working = within(&mut home, &model)?;
    late_ms.store(WAITING_MS, Ordering::Relaxed);
    std::thread::sleep(Duration::from_secs(SETTLES_S));
    let waiting = within(&mut home, &model)?;
    Ok(Measured { agents: (each * sessions) as f64, simulated, working, waiting, idle_mb })
}

fn within(home: &mut HomeProcess, model: &WorkModel) -> anyhow::Result<Rates> {
    let before = home.figures()?;
    drop(model.take());
    std::thread::sleep(Duration::from_secs(WINDOW_S));
    let turns = model.take().len() as f64;
    let after = home.figures()?;
    let grown = |name: &str| after.number(name) - before.number(name);
    let letters = |figures: &RunFigures| figures.number("letters_up") + figures.number("letters_down");
    Ok(Rates {
        seconds: grown("at_us") / 1e6,
        turns,
        home: Part { cpu_ms: grown("home_cpu_ms"), mb: after.number("home_mb") },
        broker: Part { cpu_ms: grown("broker_cpu_ms"), mb: after.number("broker_mb") },
        workers: Part {
            cpu_ms: after.sum("workers_cpu_ms") - before.sum("workers_cpu_ms"),
            mb: after.sum("workers_mb"),
        },
        writer_ms: grown("writer_cpu_ms"),
        commits: grown("commits"),
        letters: letters(&after) - letters(&before),
    })
}

/// The main agent starts them all and waits; each of them reads for as long as it is let.
fn rule(agent: &str, turn: usize, all: usize, late_ms: u64) -> Turn {
    let replies = all.div_ceil(STARTS_PER_REPLY);
    match (agent, turn) {
        ("main", turn) if turn < replies => {
            let first = turn * STARTS_PER_REPLY;
            let last = all.min(first + STARTS_PER_REPLY);
            (first + 1..last)
                .fold(Turn::call("agent", start(first)), |turn, n| turn.and_call("agent", start(n)))
        }
        ("main", _) => wait(),
        (_, turn) => read(turn).delay(Duration::from_millis(late_ms)),
    }
}
