//! The process that is measured as home, and the processes of its workers: this program again, in a mode of its own. Whoever started
//! it asks for figures over its standard input.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, ensure};
use posse_cluster::{
    Fleet, FleetParts, FleetWorker, HomeCourier, LeaseTimes, OwnerSecret, Seal, WorkerName, WorkerParts,
    serve,
};
use posse_engine::models::Models;
use posse_engine::remote::Workers;
use posse_engine::{
    ApprovalSettings, Delegation, Engine, KnowledgeSettings, Limits, Session, SessionRequest, SubAgents,
};
use posse_model::{Governors, Model, ModelConfig, Protocol};
use posse_protocol::{Budget, Ending, EventKind, Grant, Network, Update};
use posse_roles::{Roles, Team};
use posse_surface::Surface;
use posse_tools::ToolSettings;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::counting::{Counting, Counts};
use super::processes;
use super::transport::Transport;

/// The modes in which this program is a home, a worker, and a worker that only pretends to run agents.
pub(crate) const HOME: &str = "workers-home";
pub(crate) const WORKER: &str = "workers-worker";
pub(crate) const SIMULATED: &str = "workers-simulated";

/// What a home runs.
#[derive(Clone)]
pub(super) struct HomePlan {
    pub(super) base_url: String,
    pub(super) place: PathBuf,
    pub(super) repository: PathBuf,
    /// How messages travel; without it, all agents are in this one process.
    pub(super) transport: Option<Transport>,
    pub(super) workers: usize,
    /// Agents at the same time on each worker.
    pub(super) running: usize,
    /// Sessions that are begun at once.
    pub(super) sessions: usize,
    /// Agents of each session at the same time.
    pub(super) at_once: usize,
    /// Whether the steps of each agent are noted.
    pub(super) steps: bool,
    /// Whether its workers only pretend to run agents.
    pub(super) simulated: bool,
}

impl HomePlan {
    fn to_text(&self) -> String {
        json!({
            "base_url": self.base_url,
            "place": self.place,
            "repository": self.repository,
            "transport": self.transport.as_ref().map(Transport::text),
            "workers": self.workers,
            "running": self.running,
            "sessions": self.sessions,
            "at_once": self.at_once,
            "steps": self.steps,
            "simulated": self.simulated,
        })
        .to_string()
    }

    fn of_text(text: &str) -> anyhow::Result<Self> {
        let value: Value = serde_json::from_str(text)?;
        let words =
            |name: &str| value[name].as_str().map(str::to_owned).context("a part of the plan is missing");
        let number = |name: &str| usize::try_from(value[name].as_u64().unwrap_or_default());
        Ok(Self {
            base_url: words("base_url")?,
            place: words("place")?.into(),
            repository: words("repository")?.into(),
            transport: value["transport"].as_str().map(Transport::parse).transpose()?,
            workers: number("workers")?,
            running: number("running")?,
            sessions: number("sessions")?,
            at_once: number("at_once")?,
            steps: value["steps"] == true,
            simulated: value["simulated"] == true,
        })
    }
}

/// A home that runs in a process of its own.
pub(super) struct HomeProcess {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    settled: Option<f64>,
}

impl HomeProcess {
    /// Starts it. Its sessions begin when that is asked for.
    pub(super) fn start(plan: &HomePlan) -> anyhow::Result<Self> {
        std::fs::create_dir_all(&plan.place)?;
        let mut child = Command::new(std::env::current_exe()?)
            .args([HOME, &plan.to_text()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = BufReader::new(child.stdout.take().context("no output")?);
        let mut home = Self { input: child.stdin.take(), child, output, settled: None };
        ensure!(home.line()? == "ready", "a home did not become ready");
        Ok(home)
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        ensure!(self.output.read_line(&mut line)? > 0, "a home has ended too early");
        Ok(line.trim_end().to_owned())
    }

    pub(super) fn ask(&mut self, what: &str) -> anyhow::Result<()> {
        let input = self.input.as_mut().context("no input")?;
        writeln!(input, "{what}")?;
        Ok(input.flush()?)
    }

    fn note(&mut self, line: &str) -> anyhow::Result<()> {
        let settled = line.strip_prefix("settled ").with_context(|| format!("a home said: {line}"))?;
        self.settled = Some(settled.parse()?);
        Ok(())
    }

    /// What it and its workers have taken so far.
    pub(super) fn figures(&mut self) -> anyhow::Result<RunFigures> {
        self.ask("figures")?;
        loop {
            let line = self.line()?;
            match line.strip_prefix("figures ") {
                Some(figures) => return Ok(RunFigures(serde_json::from_str(figures)?)),
                None => self.note(&line)?,
            }
        }
    }

    /// Waits for the end of its sessions, and says how many sub-agents have completed.
    pub(super) fn settled(&mut self) -> anyhow::Result<f64> {
        while self.settled.is_none() {
            let line = self.line()?;
            self.note(&line)?;
        }
        self.settled.context("nothing settled")
    }
}

impl Drop for HomeProcess {
    fn drop(&mut self) {
        // It ends with its input, and its workers with theirs.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// What a home said of itself.
pub(super) struct RunFigures(pub(super) Value);

impl RunFigures {
    pub(super) fn number(&self, name: &str) -> f64 {
        self.0[name].as_f64().unwrap_or(f64::NAN)
    }

    pub(super) fn numbers(&self, name: &str) -> Vec<f64> {
        self.0[name].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
    }

    pub(super) fn sum(&self, name: &str) -> f64 {
        self.numbers(name).iter().sum()
    }

    /// The processor time of home, the broker, the workers and everything that they started.
    pub(super) fn cpu_ms(&self) -> f64 {
        self.number("home_cpu_ms") + self.number("broker_cpu_ms") + self.sum("workers_cpu_ms")
    }
}

pub(super) fn seal() -> anyhow::Result<Seal> {
    let secret = OwnerSecret::new(&[7; 32]).ok().context("no secret")?;
    Ok(Seal::new("bench".parse()?, secret))
}

type Children = Arc<Mutex<Vec<Child>>>;

/// The home itself.
#[tokio::main(worker_threads = 2)]
pub(crate) async fn home(plan: &str) -> anyhow::Result<()> {
    let plan = HomePlan::of_text(plan)?;
    let (children, counts) = (Children::default(), Arc::new(Counts::default()));
    let workers = match &plan.transport {
        Some(transport) => Some(fleet(&plan, transport, &children, &counts).await?),
        None => None,
    };
    let data = plan.place.join("data");
    let engine = Engine::open(&data)?;
    println!("ready");
    let (asks, mut asked) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            let _ = asks.send(line);
        }
    });
    while let Some(line) = asked.recv().await {
        match line.as_str() {
            "begin" => {
                let mut sessions = Vec::new();
                for _ in 0..plan.sessions {
                    sessions.push(engine.start(request(&plan, workers.clone())?)?);
                }
                tokio::spawn(async move {
                    let mut settled = 0;
                    for session in sessions {
                        settled += finish(session).await;
                    }
                    println!("settled {settled}");
                });
            }
            _ => println!("figures {}", figures(&children, &counts, &data)),
        }
    }
    // Nobody listens any more.
    for child in children.lock().unwrap_or_else(PoisonError::into_inner).iter_mut() {
        drop(child.stdin.take());
        let _ = child.kill();
        let _ = child.wait();
    }
    std::process::exit(0);
}

async fn fleet(
    plan: &HomePlan,
    transport: &Transport,
    children: &Children,
    counts: &Arc<Counts>,
) -> anyhow::Result<Arc<dyn Workers>> {
    let names = (1..=plan.workers).map(|n| format!("w{n}").parse());
    let names = names.collect::<Result<Vec<WorkerName>, _>>()?;
    let begin = |name: &WorkerName| {
        let (place, running) = (plan.place.to_string_lossy(), plan.running.to_string());
        let mode = if plan.simulated { SIMULATED } else { WORKER };
        let child = Command::new(std::env::current_exe()?)
            .args([mode, name.as_str(), &place, &running, &transport.text()])
            .stdin(Stdio::piped())
            .spawn()?;
        children.lock().unwrap_or_else(PoisonError::into_inner).push(child);
        Ok(())
    };
    let courier = transport.home(&plan.place, seal()?.owner(), &names, begin).await?;
    let steps = if plan.steps { Some(Arc::new(seal()?)) } else { None };
    let counted = Counting { inner: courier, counts: Arc::clone(counts), steps };
    let known = |name: WorkerName| FleetWorker { name, labels: BTreeSet::new(), models_at_home: true };
    Ok(Arc::new(Fleet::new(FleetParts {
        couriers: vec![Arc::new(counted) as Arc<dyn HomeCourier>],
        seal: seal()?,
        times: LeaseTimes::default(),
        workers: names.into_iter().map(known).collect(),
        open: false,
        models_at_home: true,
        folder: plan.place.join("passing"),
    })))
}

fn request(plan: &HomePlan, workers: Option<Arc<dyn Workers>>) -> anyhow::Result<SessionRequest> {
    let mut config = ModelConfig::new("fake", "fake-model", Protocol::Chat, &plan.base_url);
    // Each session has a governor of its own here.
    config.max_concurrent = plan.at_once.max(1);
    let on = workers.as_ref().map(|_| posse_protocol::ANYWHERE.to_owned());
    let delegation = Delegation {
        surface: Surface::Agent,
        roles: Roles::builtin(Team::Without),
        limits: Limits { running_max: plan.at_once, queued_max: 10_000, ..Limits::default() },
        sub_agents: SubAgents {
            on,
            max_turns: 100_000,
            tokens: u64::MAX,
            time_ms: u64::MAX,
            ..SubAgents::default()
        },
        coordinator: false,
        team: false,
        trusted_files: BTreeSet::new(),
    };
    Ok(SessionRequest {
        workspace: plan.repository.clone(),
        prompt: "Have the work done.".into(),
        attachments: Vec::new(),
        models: Models::new(Model::new(config, &Governors::default())?, None),
        grant: Grant { network: Network::None, ..Grant::full() },
        budget: Budget::UNLIMITED,
        stay: false,
        tools: ToolSettings::default(),
        project: None,
        delegation: Some(delegation),
        approvals: ApprovalSettings::default(),
        knowledge: KnowledgeSettings::default(),
        hooks: None,
        outside: None,
        workers,
        traceparent: None,
        watcher: None,
    })
}

async fn finish(mut session: Session) -> usize {
    let mut settled = 0;
    while let Some(update) = session.next().await {
        let Update::Event(event) = update else { continue };
        match &event.kind {
            EventKind::AgentSettled { report } if event.parent.is_some() => match report.ending {
                Ending::Completed => settled += 1,
                _ => eprintln!("an agent ended as {}: {:?}", report.ending, report.notes),
            },
            EventKind::ToolFinished { ok: false, tool, text, .. } => eprintln!("{tool} failed: {text}"),
            _ => {}
        }
    }
    settled
}

fn figures(children: &Children, counts: &Counts, data: &Path) -> Value {
    let workers: Vec<u32> =
        children.lock().unwrap_or_else(PoisonError::into_inner).iter().map(Child::id).collect();
    let own = std::process::id();
    let memory = |id: &u32, what: &str| processes::memory_mb(*id, what).unwrap_or(f64::NAN);
    let broker = processes::broker();
    let mut figures = counts.json();
    let more = json!({
        "at_us": super::counting::now_us(),
        "home_cpu_ms": processes::cpu_ms(own, &workers),
        "broker_cpu_ms": broker.map_or(0.0, |id| processes::cpu_ms(id, &[])),
        "broker_mb": broker.map_or(0.0, |id| memory(&id, "VmRSS:")),
        "home_own_cpu_ms": processes::own_cpu_ms(own),
        "writer_cpu_ms": processes::thread_cpu_ms(own, "posse-store"),
        "home_mb": memory(&own, "VmRSS:"),
        "home_peak_mb": memory(&own, "VmHWM:"),
        "commits": processes::commits(data).unwrap_or_default(),
        "workers_cpu_ms": workers.iter().map(|id| processes::cpu_ms(*id, &[])).collect::<Vec<_>>(),
        "workers_own_cpu_ms": workers.iter().map(|id| processes::own_cpu_ms(*id)).collect::<Vec<_>>(),
        "workers_mb": workers.iter().map(|id| memory(id, "VmRSS:")).collect::<Vec<_>>(),
        "workers_peak_mb": workers.iter().map(|id| memory(id, "VmHWM:")).collect::<Vec<_>>(),
    });
    if let (Some(figures), Value::Object(more)) = (figures.as_object_mut(), more) {
        figures.extend(more);
    }
    figures
}

/// A worker: serves until its input ends.
#[tokio::main(worker_threads = 2)]
pub(crate) async fn worker(name: &str, place: &str, running: &str, transport: &str) -> anyhow::Result<()> {
    let (name, place) = (name.parse::<WorkerName>()?, Path::new(place));
    let courier = Transport::parse(transport)?.worker(place, seal()?.owner(), &name).await?;
    let folder = place.join(name.as_str());
    let (drain, now) = (CancellationToken::new(), CancellationToken::new());
    let parts = WorkerParts {
        courier,
        seal: seal()?,
        name,
        labels: BTreeSet::new(),
        capacity: running.parse()?,
        times: LeaseTimes::default(),
        engine: Engine::open(&folder.join("data"))?,
        folder: folder.join("repositories"),
        folder_bytes: 20 << 30,
        models: None,
        tools: ToolSettings::default(),
        ceiling: Grant { network: Network::None, ..Grant::full() },
        about: serde_json::from_str("null")?,
        drained: folder.join("drained"),
    };
    ends_with_its_input();
    serve(parts, drain, now).await;
    Ok(())
}

/// From now on this process lasts as long as whoever started it.
pub(super) fn ends_with_its_input() {
    std::thread::spawn(|| {
        std::io::stdin().lock().lines().for_each(drop);
        std::process::exit(0);
    });
}
