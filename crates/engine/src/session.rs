//! One session: what it needs to start, and the handle that follows and steers it.

use std::path::PathBuf;
use std::sync::{Arc, Weak};

use posse_delegate::Tree;
use posse_protocol::{
    AgentId, Answer, Budget, CallId, EventKind, Grant, Isolation, Report, Role, RoleOrigin, Sender, Seq,
    SessionId, Update,
};
use posse_tools::{Jobs, ToolSettings, Toolbox};
use posse_workspace::Workspace;
use tokio::sync::oneshot;

use crate::approvals::{Approvals, Asking, Taken};
use crate::bus::Updates;
use crate::checkouts::Checkouts;
use crate::crew::{Common, Crew};
use crate::delegation::Delegation;
use crate::driver::Driver;
use crate::engine::{CHECKOUTS, CHECKPOINTS, Engine};
use crate::error::EngineError;
use crate::jobs::Background;
use crate::journal::Journal;
use crate::launch::{self, Launch};
use crate::model_choice::Models;
use crate::project::ProjectContext;
use crate::prompt::MainPrompt;
use crate::site::Site;

/// What a session is started with.
pub struct SessionRequest {
    /// The folder to work in.
    pub workspace: PathBuf,
    /// What the person wants.
    pub prompt: String,
    /// Who does it, and whom sub-agents may use.
    pub models: Models,
    /// What it may do.
    pub grant: Grant,
    /// What it may spend.
    pub budget: Budget,
    /// How its tools behave.
    pub tools: ToolSettings,
    /// The project's notes for agents.
    pub project: Option<ProjectContext>,
    /// How it delegates; not at all where `None`.
    pub delegation: Option<Delegation>,
    /// What is asked, and whether somebody answers.
    pub asking: Asking,
}

/// A running session. Dropping it does not stop it; `cancel` does.
pub struct Session {
    /// Its id on record.
    pub id: SessionId,
    /// Its main agent.
    pub agent: AgentId,
    updates: Updates,
    /// Its agents, as long as one of them runs: their channel closes with them.
    crew: Weak<Crew>,
    report: oneshot::Receiver<Report>,
}

impl Session {
    pub(crate) fn start(engine: &Engine, request: SessionRequest) -> Result<Self, EngineError> {
        let mut tools = request.tools;
        // What Posse keeps is no business of an agent, wherever it is.
        tools.sandbox.hidden.push(engine.data_dir.clone());
        let workspace = Workspace::open(&request.workspace)?.hiding(&tools.sandbox.hidden);
        let (id, agent) = (Engine::new_session_id(), Engine::new_agent_id());
        let sender = engine.bus.open(id);
        let updates = Updates::new(id, engine.store.clone(), Some(sender.subscribe()), Seq(0), false);
        let limits = request.delegation.as_ref().map(|delegation| delegation.limits).unwrap_or_default();
        let tree = Tree::new(limits, agent, request.grant.clone(), request.budget);
        if !tools.sandbox.on {
            tracing::warn!(session = %id, "the sandbox is off: commands run with all rights of the person");
        }
        let folder = request.workspace.display().to_string();
        let common = Common {
            session: id,
            main: agent,
            store: engine.store.clone(),
            updates: sender,
            site: Arc::new(Site::shared(folder, workspace, &engine.data_dir.join(CHECKPOINTS))),
            checkouts: Checkouts::new(engine.data_dir.join(CHECKOUTS), id),
            approvals: Approvals::new(request.asking),
            jobs: Jobs::default(),
            background: Background::default(),
            tools,
            models: request.models,
            project: request.project,
            delegation: request.delegation,
        };
        let crew = Crew::new(common, tree);
        let driver =
            Driver::new(Arc::clone(&crew), main(&crew, request.grant, request.budget, request.prompt));
        let (weak, (told, report)) = (Arc::downgrade(&crew), oneshot::channel());
        drop(crew);
        let (open, agents) = (engine.bus.closing(id), weak.clone());
        tokio::spawn(async move {
            match tokio::spawn(driver.run()).await {
                Ok(report) => {
                    drop(open);
                    let _ = told.send(report);
                }
                // A fault in Posse: nobody below may go on without it.
                Err(_) => {
                    if let Some(crew) = agents.upgrade() {
                        crew.stop_below(agent).await;
                        crew.background.stop_all(&crew).await;
                    }
                }
            }
        });
        Ok(Self { id, agent, updates, crew: weak, report })
    }

    /// The next update; `None` once the session is over and all its events were given out.
    pub async fn next(&mut self) -> Option<Update> {
        self.updates.next().await
    }

    /// Stops the session: what runs is stopped, and the end is recorded as cancelled.
    pub fn cancel(&self) {
        self.canceller()();
    }

    /// Stops the session from elsewhere.
    pub fn canceller(&self) -> impl FnOnce() + Send + use<> {
        let (crew, agent) = (self.crew.clone(), self.agent);
        move || {
            if let Some(crew) = crew.upgrade() {
                crew.cancel(agent);
            }
        }
    }

    /// Stops one agent, by name, with all below it. False if there is none at work.
    pub fn stop(&self, name: &str) -> bool {
        let Some(crew) = self.crew.upgrade() else { return false };
        let found = crew.tree(|tree| tree.find_peer(name));
        found.is_some_and(|id| crew.cancel(id) > 0)
    }

    /// Says something to one agent, by name; at its next turn, or at once. False if there is none at work.
    pub fn tell(&self, name: &str, text: &str, interrupt: bool) -> bool {
        let Some(crew) = self.crew.upgrade() else { return false };
        let found = crew.tree(|tree| tree.find_peer(name));
        found.is_some_and(|id| crew.tell(id, Sender::Person, text.to_string(), interrupt))
    }

    /// Answers a question of an agent.
    pub fn answer(&self, agent: AgentId, call: &CallId, answer: Answer) -> Taken {
        self.crew.upgrade().map_or(Taken::NotOpen, |crew| crew.approvals.answer(agent, call, answer))
    }

    /// Waits for the end. `None` only if the driver itself broke, which is a defect.
    pub async fn report(self) -> Option<Report> {
        self.report.await.ok()
    }
}

/// The main agent of a session.
fn main(crew: &Arc<Crew>, grant: Grant, budget: Budget, prompt: String) -> Launch {
    let delegation = crew.delegation.as_ref();
    let model = crew.models.main().clone();
    let system =
        MainPrompt { workspace: &crew.site.folder, project: crew.project.as_ref(), delegation }.to_string();
    // A coordinator has nothing of its own; what it may do is what it can give away.
    let own = if delegation.is_some_and(|d| d.coordinator) { Grant::none() } else { grant.clone() };
    let toolbox: Toolbox = launch::toolbox(crew, &own, crew.main);
    let roles = delegation.map(|d| launch::roles_for(d, &grant, 0)).unwrap_or_default();
    let mut offered = launch::offered(crew, &toolbox, &roles);
    if delegation.is_some_and(|d| d.coordinator) {
        offered.retain(|tool| !toolbox.specs().contains(tool));
    }
    let tools: Arc<[_]> = offered.into();
    let empty = model.model.transcript(&system, &tools);
    let mut journal = Journal::new(crew.store.clone(), crew.session, crew.main, None);
    journal.note(EventKind::SessionStarted {
        workspace: crew.site.folder.clone(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        sandboxed: crew.tools.sandbox.on,
    });
    let role = Role {
        name: "main".to_string(),
        description: String::new(),
        aliases: Vec::new(),
        prompt: String::new(),
        grant: grant.clone(),
        model: None,
        budget,
        max_output_tokens: None,
        tools_listed_by_task: false,
        single: false,
        inherit_context_file: None,
        isolation: None,
        origin: RoleOrigin::BuiltIn,
    };
    Launch {
        id: crew.main,
        name: "main".to_string(),
        title: String::new(),
        depth: 0,
        role,
        model,
        grant,
        budget,
        system,
        toolbox,
        tools,
        transcript: empty.clone(),
        empty,
        known: Vec::new(),
        told: (Sender::Person, prompt),
        context_files: Vec::new(),
        deliverables: Vec::new(),
        isolation: Isolation::Shared,
        branch: None,
        journal,
    }
}
