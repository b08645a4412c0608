//! A home with a session and workers beside it, in one process: real files, git, SQLite and sandbox; only the model is faked, and
//! what carries letters may be made worse.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use posse_cluster::{
    BlobShelves, CarryFaults, Fleet, FleetParts, FleetWorker, HomeCourier, LabelName, LeaseTimes, LocalHub,
    OwnerSecret, Seal, WorkerCourier, WorkerName, WorkerParts, serve,
};
use posse_engine::models::Models;
use posse_engine::remote::Workers;
use posse_engine::{
    ApprovalSettings, Delegation, Engine, KnowledgeSettings, Limits, Session, SessionRequest, SubAgents,
};
use posse_model::{Governors, Model, ModelConfig, Protocol};
use posse_protocol::{AgentId, Budget, Event, EventKind, Grant, Network, Report, Update};
use posse_roles::{Roles, Team};
use posse_surface::Surface;
use posse_testkit::{Captured, FakeModel, Fixture, Turn, asker};
use posse_tools::ToolSettings;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

pub(crate) const REPORT: &str =
    "SUMMARY: It is done.\nCHANGES: None.\nEVIDENCE: None.\nRISKS: None.\nBLOCKERS: None.";

/// The secret of everybody here.
pub(crate) fn seal() -> Seal {
    Seal::new("me".parse().unwrap(), OwnerSecret::new(&[7; 32]).unwrap())
}

pub(crate) struct Stage {
    pub(crate) model: FakeModel,
    pub(crate) files: Fixture,
    pub(crate) data: tempfile::TempDir,
    pub(crate) hub: LocalHub,
    pub(crate) times: LeaseTimes,
    pub(crate) models_at_home: bool,
    pub(crate) delegation: Delegation,
    pub(crate) approvals: ApprovalSettings,
    pub(crate) grant: Grant,
    workers: Mutex<Vec<StagedWorker>>,
}

/// A worker that serves.
pub(crate) struct StagedWorker {
    runtime: Option<tokio::runtime::Runtime>,
    /// Tells it to take nothing new and to end.
    pub(crate) drain: CancellationToken,
}

impl StagedWorker {
    /// Ends it as a power cut would: nothing of it is told any more.
    pub(crate) fn kill(mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

type Scripts = Arc<Mutex<HashMap<String, VecDeque<Turn>>>>;

impl Stage {
    /// Each agent's turns by its name.
    pub(crate) async fn new<const N: usize>(scripts: [(&str, Vec<Turn>); N]) -> Self {
        let scripts: Scripts = Arc::new(Mutex::new(
            scripts.into_iter().map(|(who, turns)| (who.to_string(), turns.into())).collect(),
        ));
        Self::by_rule(move |request| next_turn(&scripts, request), None).await
    }

    pub(crate) async fn by_rule(
        rule: impl Fn(&Captured) -> Turn + Send + Sync + 'static,
        faults: Option<Arc<dyn CarryFaults>>,
    ) -> Self {
        let data = tempfile::tempdir().unwrap();
        let shelves = BlobShelves::new(data.path().join("shelves"), 1 << 30);
        Self {
            model: FakeModel::by_rule(rule).await,
            files: Fixture::new().file("a.txt", "alpha\n").file("sub/b.txt", "beta\n").git(),
            hub: LocalHub::new(shelves, faults),
            // Long enough for a busy machine; where workers are lost, tests choose a shorter one.
            times: LeaseTimes::for_lease(4_000),
            models_at_home: true,
            delegation: Delegation {
                surface: Surface::Agent,
                roles: Roles::builtin(Team::Without),
                limits: Limits::default(),
                sub_agents: SubAgents { on: Some("anywhere".to_owned()), ..SubAgents::default() },
                coordinator: false,
                team: false,
                trusted_files: BTreeSet::new(),
            },
            approvals: ApprovalSettings::default(),
            grant: Grant { network: Network::None, ..Grant::full() },
            data,
            workers: Mutex::default(),
        }
    }

    fn config(&self) -> ModelConfig {
        let mut config = ModelConfig::new("fake", "fake-model", Protocol::Chat, self.model.base_url());
        (config.retry.base_ms, config.retry.cap_ms) = (1, 5);
        config.max_concurrent = 64;
        config
    }

    pub(crate) fn models(&self) -> Models {
        Models::new(Model::new(self.config(), &Governors::default()).unwrap(), None)
    }

    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.data.path().join(name)
    }

    /// Another worker, with a runtime of its own, so that it can be ended at any moment.
    pub(crate) fn worker(&self, name: &str, labels: &[&str]) -> StagedWorker {
        let ceiling = Grant { network: Network::None, ..Grant::full() };
        self.worker_within(name, labels, ceiling, 4)
    }

    pub(crate) fn worker_within(
        &self,
        name: &str,
        labels: &[&str],
        ceiling: Grant,
        capacity: usize,
    ) -> StagedWorker {
        let courier = Arc::new(self.hub.worker(name.parse().unwrap()));
        self.worker_over(|| async { courier as Arc<dyn WorkerCourier> }, name, labels, (ceiling, capacity))
    }

    /// The same over another courier, which is made in the worker's own runtime.
    pub(crate) fn worker_over<F: Future<Output = Arc<dyn WorkerCourier>> + Send + 'static>(
        &self,
        courier: impl FnOnce() -> F + Send + 'static,
        name: &str,
        labels: &[&str],
        (ceiling, capacity): (Grant, usize),
    ) -> StagedWorker {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let folder = self.folder(name);
        let own: WorkerName = name.parse().unwrap();
        let labels = labels.iter().map(|label| label.parse().unwrap()).collect();
        let (times, models) = (self.times, (!self.models_at_home).then(|| self.models()));
        let drain = CancellationToken::new();
        let drained = drain.clone();
        runtime.spawn(async move {
            let parts = WorkerParts {
                courier: courier().await,
                seal: seal(),
                name: own,
                labels,
                capacity,
                times,
                engine: Engine::open(&folder.join("data")).unwrap(),
                folder: folder.join("repositories"),
                folder_bytes: 1 << 30,
                models,
                tools: ToolSettings::default(),
                ceiling,
                about: serde_json::from_str("null").unwrap(),
                drained: folder.join("drained"),
            };
            serve(parts, drained, CancellationToken::new()).await;
        });
        StagedWorker { runtime: Some(runtime), drain }
    }

    /// The same, which serves until the stage ends.
    pub(crate) fn with_worker(self, name: &str, labels: &[&str]) -> Self {
        let worker = self.worker(name, labels);
        self.workers.lock().unwrap().push(worker);
        self
    }

    pub(crate) fn fleet(&self, home: &str) -> Arc<dyn Workers> {
        self.fleet_over(Arc::new(self.hub.home(home.parse().unwrap())))
    }

    pub(crate) fn fleet_over(&self, courier: Arc<dyn HomeCourier>) -> Arc<dyn Workers> {
        let known = |name: &str, labels: &[&str]| FleetWorker {
            name: name.parse().unwrap(),
            labels: labels.iter().map(|label| label.parse().unwrap()).collect::<BTreeSet<LabelName>>(),
            models_at_home: self.models_at_home,
        };
        Arc::new(Fleet::new(FleetParts {
            couriers: vec![courier],
            seal: seal(),
            times: self.times,
            workers: vec![known("one", &["gpu"]), known("two", &["big"])],
            open: false,
            models_at_home: self.models_at_home,
            folder: self.folder("passing"),
        }))
    }

    pub(crate) fn request(&self, prompt: &str, workers: Arc<dyn Workers>) -> SessionRequest {
        SessionRequest {
            workspace: self.files.path().to_path_buf(),
            prompt: prompt.to_string(),
            attachments: Vec::new(),
            models: self.models(),
            grant: self.grant.clone(),
            budget: Budget { turns: Some(100), ..Budget::UNLIMITED },
            stay: false,
            tools: ToolSettings::default(),
            project: None,
            delegation: Some(self.delegation.clone()),
            approvals: self.approvals.clone(),
            knowledge: KnowledgeSettings::default(),
            hooks: None,
            outside: None,
            workers: Some(workers),
            traceparent: None,
            watcher: None,
        }
    }

    pub(crate) async fn run(&self, prompt: &str) -> Ran {
        let engine = Engine::open(&self.folder("home")).unwrap();
        finish(engine.start(self.request(prompt, self.fleet("home"))).unwrap()).await
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for worker in self.workers.get_mut().unwrap().drain(..) {
            worker.kill();
        }
    }
}

fn next_turn(scripts: &Scripts, request: &Captured) -> Turn {
    let request = request.json();
    let name = asker(&request);
    let mut scripts = scripts.lock().unwrap();
    let turns = scripts.get_mut(&name).unwrap_or_else(|| panic!("no script for {name}"));
    // By what the conversation holds, not by how often was asked: a call that is made again gets the same reply.
    let turn =
        request["messages"].as_array().unwrap().iter().filter(|one| one["role"] == "assistant").count();
    turns.get(turn).cloned().unwrap_or_else(|| Turn::text(format!("{name} has no turn {turn}")))
}

/// What a session came to.
pub(crate) struct Ran {
    pub(crate) events: Vec<Event>,
    pub(crate) report: Report,
}

pub(crate) async fn finish(mut session: Session) -> Ran {
    let mut events = Vec::new();
    while let Some(update) = session.next().await {
        if let Update::Event(event) = update {
            events.push(Event::clone(&event));
        }
    }
    Ran { events, report: session.report().await.expect("a report") }
}

impl Ran {
    pub(crate) fn agent(&self, name: &str) -> AgentId {
        let named = |event: &&Event| matches!(&event.kind, EventKind::AgentAdmitted { name: admitted, .. } if admitted == name);
        self.events.iter().find(named).unwrap_or_else(|| panic!("no agent {name}")).agent
    }

    /// The agent that continues another.
    pub(crate) fn continues(&self, other: AgentId) -> AgentId {
        let continues = |event: &&Event| matches!(&event.kind, EventKind::AgentAdmitted { continues, .. } if *continues == Some(other));
        self.events.iter().find(continues).expect("it is followed up").agent
    }

    pub(crate) fn of(&self, name: &str) -> Vec<&EventKind> {
        self.events_of(self.agent(name))
    }

    pub(crate) fn events_of(&self, id: AgentId) -> Vec<&EventKind> {
        self.events.iter().filter(|event| event.agent == id).map(|event| &event.kind).collect()
    }

    pub(crate) fn report_of(&self, name: &str) -> Report {
        self.report_by(self.agent(name))
    }

    pub(crate) fn report_by(&self, id: AgentId) -> Report {
        let settled = self.events_of(id).into_iter().filter_map(|kind| match kind {
            EventKind::AgentSettled { report } => Some(report.clone()),
            _ => None,
        });
        let reports = settled.collect::<Vec<_>>();
        assert_eq!(reports.len(), 1, "it settles once");
        reports.into_iter().next().unwrap()
    }

    pub(crate) fn workers_of(&self, name: &str) -> Vec<String> {
        let placed = self.of(name).into_iter().filter_map(|kind| match kind {
            EventKind::AgentPlaced { worker, .. } => Some(worker.clone()),
            _ => None,
        });
        placed.collect()
    }
}

/// The start of an agent on the default surface.
pub(crate) fn start(role: &str, prompt: &str) -> Value {
    json!({"action": "start", "role": role, "prompt": prompt})
}

/// What a file holds on a branch.
pub(crate) fn on_branch(files: &Fixture, branch: &str, path: &str) -> String {
    files.run_git(&["show", &format!("{branch}:{path}")])
}
