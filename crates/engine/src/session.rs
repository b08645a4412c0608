//! One session: what it needs to start, and the handle that follows and steers it.

use std::path::PathBuf;

use posse_agent::{Agent, Settings};
use posse_model::Model;
use posse_protocol::{AgentId, Budget, EventKind, Grant, Prices, Report, SessionId, Update};
use posse_tools::{ToolSettings, Toolbox};
use posse_workspace::Workspace;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::bus::Updates;
use crate::driver::Driver;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::journal::Journal;
use crate::project::ProjectContext;
use crate::prompt::MainPrompt;

/// What a session is started with.
pub struct SessionRequest {
    /// The folder to work in.
    pub workspace: PathBuf,
    /// What the person wants.
    pub prompt: String,
    /// Who does it.
    pub model: Model,
    /// What that costs, if known.
    pub prices: Option<Prices>,
    /// What it may do.
    pub grant: Grant,
    /// What it may spend.
    pub budget: Budget,
    /// How its tools behave.
    pub tools: ToolSettings,
    /// The project's notes for agents.
    pub project: Option<ProjectContext>,
}

/// A running session. Dropping it does not stop it; `cancel` does.
pub struct Session {
    /// Its id on record.
    pub id: SessionId,
    /// Its main agent.
    pub agent: AgentId,
    updates: Updates,
    cancel: CancellationToken,
    report: oneshot::Receiver<Report>,
}

impl Session {
    pub(crate) fn start(engine: &Engine, request: SessionRequest) -> Result<Self, EngineError> {
        let workspace = Workspace::open(&request.workspace)?;
        let toolbox = Toolbox::new(workspace, request.grant.clone(), request.tools);
        let system = MainPrompt {
            workspace: &request.workspace.display().to_string(),
            project: request.project.as_ref(),
        }
        .to_string();
        let (id, agent_id) = (Engine::new_session_id(), Engine::new_agent_id());
        let sender = engine.bus.open(id);
        let updates =
            Updates::new(id, engine.store.clone(), Some(sender.subscribe()), posse_protocol::Seq(0), false);

        let mut journal = Journal::new(engine.store.clone(), id, agent_id, None);
        let config = request.model.config();
        journal.note(EventKind::SessionStarted {
            workspace: request.workspace.display().to_string(),
            version: env!("CARGO_PKG_VERSION").to_string(),
        });
        journal.note(EventKind::AgentStarted {
            role: "main".to_string(),
            depth: 0,
            model: config.name.clone(),
            model_id: config.model.clone(),
            budget: request.budget,
            grant: request.grant,
            system: system.clone(),
        });

        let transcript = request.model.transcript(&system, toolbox.specs());
        let agent = Agent::new(Settings {
            budget: request.budget,
            prices: request.prices,
            context_window: config.context_window,
            fixed_bytes: transcript.bytes(),
        });
        let cancel = CancellationToken::new();
        let driver =
            Driver::new(agent, agent_id, request.model, transcript, toolbox, journal, sender, cancel.clone());
        let (told, report) = oneshot::channel();
        let (open, prompt) = (engine.bus.closing(id), request.prompt);
        tokio::spawn(async move {
            let report = driver.run(prompt).await;
            drop(open);
            let _ = told.send(report);
        });
        Ok(Self { id, agent: agent_id, updates, cancel, report })
    }

    /// The next update; `None` once the session is over and all its events were given out.
    pub async fn next(&mut self) -> Option<Update> {
        self.updates.next().await
    }

    /// Stops the session: what runs is stopped, and the end is recorded as cancelled.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Stops the session from elsewhere.
    pub fn canceller(&self) -> impl FnOnce() + Send + use<> {
        let cancel = self.cancel.clone();
        move || cancel.cancel()
    }

    /// Waits for the end. `None` only if the driver itself broke, which is a defect.
    pub async fn report(self) -> Option<Report> {
        self.report.await.ok()
    }
}
