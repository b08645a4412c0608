//! A session in a line or two.

use std::time::Duration;

use posse_engine::models::Models;
use posse_engine::{ApprovalSettings, Engine, KnowledgeSettings, Session, SessionRequest};
use posse_model::{Governors, Model, ModelConfig, Protocol};
use posse_protocol::{Budget, Event, EventKind, Grant, Network, Report, Update};
use posse_testkit::{FakeModel, Fixture, Turn};
use posse_tools::ToolSettings;

/// A workspace, a model and a data directory.
pub(crate) struct World {
    pub(crate) model: FakeModel,
    pub(crate) files: Fixture,
    pub(crate) data: tempfile::TempDir,
    pub(crate) engine: Engine,
    pub(crate) protocol: Protocol,
    pub(crate) budget: Budget,
    pub(crate) grant: Grant,
    pub(crate) context_window: Option<u64>,
}

impl World {
    pub(crate) async fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self::of(FakeModel::with(turns).await)
    }

    pub(crate) fn of(model: FakeModel) -> Self {
        let data = tempfile::tempdir().unwrap();
        let engine = Engine::open(data.path()).unwrap();
        let grant = Grant { network: Network::None, ..Grant::full() };
        let budget = Budget { turns: Some(1000), ..Budget::UNLIMITED };
        let files = Fixture::new().file("a.txt", "alpha\n").file("b.txt", "beta\n");
        Self { model, files, data, engine, protocol: Protocol::Chat, budget, grant, context_window: None }
    }

    pub(crate) fn start(&self, prompt: &str) -> Session {
        self.engine.start(self.request(prompt)).unwrap()
    }

    pub(crate) fn request(&self, prompt: &str) -> SessionRequest {
        let mut config = ModelConfig::new("fake", "fake-model", self.protocol, self.model.base_url());
        (config.retry.base_ms, config.retry.cap_ms) = (1, 5);
        (config.timeouts.first_byte_ms, config.timeouts.idle_ms) = (1500, 1500);
        config.context_window = self.context_window;
        SessionRequest {
            workspace: self.files.path().to_path_buf(),
            prompt: prompt.to_string(),
            attachments: Vec::new(),
            models: Models::new(Model::new(config, &Governors::default()).unwrap(), None),
            grant: self.grant.clone(),
            budget: self.budget,
            stay: false,
            tools: ToolSettings::default(),
            project: None,
            delegation: None,
            approvals: ApprovalSettings::default(),
            knowledge: KnowledgeSettings::default(),
            hooks: None,
            outside: None,
            workers: None,
            traceparent: None,
            watcher: None,
        }
    }

    /// Runs a session to its end.
    pub(crate) async fn run(&self, prompt: &str) -> Ran {
        finish(self.start(prompt)).await
    }
}

/// A session that is over.
pub(crate) struct Ran {
    pub(crate) updates: Vec<Update>,
    pub(crate) report: Report,
}

impl Ran {
    pub(crate) fn events(&self) -> impl Iterator<Item = &Event> {
        self.updates.iter().filter_map(|update| match update {
            Update::Event(event) => Some(event.as_ref()),
            Update::Progress(_) => None,
        })
    }

    /// `ok text` of every answered call, in the order they were answered.
    pub(crate) fn results(&self) -> Vec<(bool, &str)> {
        let result = |event: &'_ Event| match &event.kind {
            EventKind::ToolFinished { ok, .. } => Some(*ok),
            _ => None,
        };
        self.events()
            .filter(|event| result(event).is_some())
            .map(|event| match &event.kind {
                EventKind::ToolFinished { ok, text, .. } => (*ok, text.as_str()),
                _ => (false, ""),
            })
            .collect()
    }
}

/// Follows a session to its end; one that hangs fails the test.
pub(crate) async fn finish(mut session: Session) -> Ran {
    let run = async {
        let mut updates = Vec::new();
        while let Some(update) = session.next().await {
            updates.push(update);
        }
        Ran { updates, report: session.report().await.unwrap() }
    };
    tokio::time::timeout(Duration::from_secs(100), run).await.expect("the session hangs")
}
