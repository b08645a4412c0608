//! Sessions that delegate, against a fake model that knows who asks: each agent has a script of its own.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use posse_engine::Limits;
use posse_engine::models::Models;
use posse_engine::{
    ApprovalSettings, Delegation, Engine, KnowledgeSettings, Session, SessionRequest, SubAgents,
};
use posse_mcp::{ServerEntry, Servers};
use posse_model::{Governors, Model, ModelConfig, Protocol};
use posse_protocol::{AgentId, Budget, Event, EventKind, Grant, Network, Report};
use posse_roles::{Roles, Team};
use posse_surface::Surface;
use posse_testkit::{Captured, FakeModel, Fixture, Turn, asker};
use posse_tools::{OutsideTools, ToolSettings};
use serde_json::{Value, json};

use crate::check::{Ran, finish};

type Scripts = Arc<Mutex<HashMap<String, VecDeque<Turn>>>>;

/// A workspace, a record, and a model whose replies depend on the agent that asks.
pub(crate) struct Stage {
    pub(crate) model: FakeModel,
    pub(crate) files: Fixture,
    pub(crate) data: tempfile::TempDir,
    pub(crate) engine: Engine,
    pub(crate) delegation: Delegation,
    pub(crate) grant: Grant,
    pub(crate) approvals: ApprovalSettings,
    pub(crate) knowledge: KnowledgeSettings,
    pub(crate) tools: ToolSettings,
    pub(crate) budget: Budget,
    pub(crate) max_concurrent: usize,
    /// Models beside the main one.
    pub(crate) others: Vec<ModelConfig>,
    /// Servers of tools.
    pub(crate) servers: Vec<ServerEntry>,
}

pub(crate) const REPORT: &str = "SUMMARY: I looked at it and it is fine.\nCHANGES: None.\nEVIDENCE: a.txt:1\nRISKS: None.\nBLOCKERS: None.";

impl Stage {
    /// Each agent's turns by its name; `*` stands for all agents that have none of their own, each of which gets the
    /// turns from the first one on.
    pub(crate) async fn new<const N: usize>(scripts: [(&str, Vec<Turn>); N]) -> Self {
        let scripts = scripts.into_iter().map(|(who, turns)| (who.to_string(), turns.into())).collect();
        let scripts: Scripts = Arc::new(Mutex::new(scripts));
        Self::by_rule(move |request| next_turn(&scripts, request)).await
    }

    pub(crate) async fn by_rule(rule: impl Fn(&Captured) -> Turn + Send + Sync + 'static) -> Self {
        let model = FakeModel::by_rule(rule).await;
        let data = tempfile::tempdir().unwrap();
        let engine = Engine::open(data.path()).unwrap();
        let delegation = Delegation {
            surface: Surface::Agent,
            roles: Roles::builtin(Team::Without),
            limits: Limits::default(),
            sub_agents: SubAgents::default(),
            coordinator: false,
            team: false,
            trusted_files: BTreeSet::new(),
        };
        Self {
            model,
            files: Fixture::new().file("a.txt", "alpha\n").file("b.txt", "beta\n"),
            data,
            engine,
            delegation,
            grant: Grant { network: Network::None, ..Grant::full() },
            approvals: ApprovalSettings::default(),
            knowledge: KnowledgeSettings::default(),
            tools: ToolSettings::default(),
            budget: Budget { turns: Some(100), ..Budget::UNLIMITED },
            max_concurrent: 16,
            others: Vec::new(),
            servers: Vec::new(),
        }
    }

    pub(crate) fn surface(mut self, surface: Surface) -> Self {
        self.delegation.surface = surface;
        if surface == Surface::Delegate {
            self.delegation.roles = Roles::builtin(Team::With);
        }
        self
    }

    pub(crate) fn config(&self, name: &str) -> ModelConfig {
        let mut config = ModelConfig::new(name, "fake-model", Protocol::Chat, self.model.base_url());
        (config.retry.base_ms, config.retry.cap_ms) = (1, 5);
        (config.timeouts.first_byte_ms, config.timeouts.idle_ms) = (1500, 1500);
        config.max_concurrent = self.max_concurrent;
        config
    }

    pub(crate) fn start(&self, prompt: &str) -> Session {
        self.engine.start(self.request(prompt)).unwrap()
    }

    pub(crate) fn request(&self, prompt: &str) -> SessionRequest {
        let governors = Governors::default();
        let model = |config: ModelConfig| Model::new(config, &governors).unwrap();
        let mut models = Models::new(model(self.config("fake")), None);
        for other in &self.others {
            models.add(model(other.clone()), None);
        }
        SessionRequest {
            workspace: self.files.path().to_path_buf(),
            prompt: prompt.to_string(),
            attachments: Vec::new(),
            models,
            grant: self.grant.clone(),
            budget: self.budget,
            stay: false,
            tools: self.tools.clone(),
            project: None,
            delegation: Some(self.delegation.clone()),
            approvals: self.approvals.clone(),
            knowledge: self.knowledge.clone(),
            hooks: None,
            outside: self.outside(),
            workers: None,
            traceparent: None,
            watcher: None,
        }
    }

    fn outside(&self) -> Option<Arc<dyn OutsideTools>> {
        if self.servers.is_empty() {
            return None;
        }
        Some(Arc::new(Servers::new(self.servers.clone(), self.data.path().join("mcp"))))
    }

    pub(crate) async fn run(&self, prompt: &str) -> Ran {
        finish(self.start(prompt)).await
    }

    /// The requests of one agent, in order.
    pub(crate) fn requests_of(&self, name: &str) -> Vec<Captured> {
        self.model.requests().into_iter().filter(|request| asker(&request.json()) == name).collect()
    }
}

fn next_turn(scripts: &Scripts, request: &Captured) -> Turn {
    let request = request.json();
    let name = asker(&request);
    let mut scripts = scripts.lock().unwrap();
    if let Some(turns) = scripts.get_mut(&name) {
        return turns
            .pop_front()
            .unwrap_or_else(|| Turn::text(format!("{name} has no more turns in its script")));
    }
    let any = scripts.get("*").unwrap_or_else(|| panic!("no script for {name}"));
    any.get(turn_of(&request)).or(any.back()).cloned().unwrap()
}

/// How often the model has replied in this conversation.
pub(crate) fn turn_of(request: &Value) -> usize {
    request["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "assistant").count()
}

/// What the newest message of a request says.
pub(crate) fn last_text(request: &Value) -> String {
    let last = request["messages"].as_array().unwrap().last().unwrap();
    last["content"].as_str().unwrap_or_default().to_string()
}

/// The start of an agent on the default surface.
pub(crate) fn start(role: &str, prompt: &str) -> Value {
    json!({"action": "start", "role": role, "prompt": prompt})
}

impl Ran {
    /// Ids of agents by name.
    pub(crate) fn agents(&self) -> HashMap<String, AgentId> {
        let admitted = self.events().filter_map(|event| match &event.kind {
            EventKind::AgentAdmitted { name, .. } => Some((name.clone(), event.agent)),
            _ => None,
        });
        admitted.collect()
    }

    /// The events of one agent, by name.
    pub(crate) fn of(&self, name: &str) -> Vec<&Event> {
        let main = self.events().next().unwrap().agent;
        let id = self.agents().get(name).copied().unwrap_or(main);
        self.events().filter(|event| event.agent == id).collect()
    }

    /// The report of one agent, by name.
    pub(crate) fn report_of(&self, name: &str) -> &Report {
        let settled = self.of(name).into_iter().filter_map(|event| match &event.kind {
            EventKind::AgentSettled { report } => Some(report),
            _ => None,
        });
        let reports = settled.collect::<Vec<_>>();
        assert_eq!(reports.len(), 1, "{name} settles exactly once");
        reports[0]
    }

    /// Results of an agent's calls, by name.
    pub(crate) fn results_of(&self, name: &str) -> Vec<(bool, String)> {
        let finished = self.of(name).into_iter().filter_map(|event| match &event.kind {
            EventKind::ToolFinished { ok, text, .. } => Some((*ok, text.clone())),
            _ => None,
        });
        finished.collect()
    }

    /// How often each agent's report was delivered.
    pub(crate) fn deliveries(&self) -> HashMap<AgentId, usize> {
        let mut counts = HashMap::new();
        for event in self.events() {
            if let EventKind::ReportsDelivered { agents } = &event.kind {
                for agent in agents {
                    *counts.entry(*agent).or_insert(0) += 1;
                }
            }
        }
        counts
    }
}
