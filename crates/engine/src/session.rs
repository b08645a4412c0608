//! One session: what it needs to start, and the handle that follows and steers it.

pub(crate) mod process_parts;
pub(crate) mod replay;
pub(crate) mod resume;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use posse_delegate::Tree;
use posse_protocol::{
    AgentId, Answer, Budget, CallId, EventKind, Grant, Isolation, Progress, ProgressKind, Report, ReportForm,
    Role, RoleOrigin, Sender, Seq, SessionId, ToolSpec, Update,
};
use posse_store::{RoleRecord, Store, StoreError};
use posse_tools::{Jobs, ToolSettings, Toolbox};
use posse_workspace::Workspace;
use tokio::sync::{broadcast, oneshot};
use tokio_util::sync::CancellationToken;

use crate::agents::prompt::MainPrompt;
use crate::agents::sub_agents::Delegation;
use crate::changes::checkouts::{CHECKPOINTS, Checkouts};
use crate::changes::hidden::hides;
use crate::changes::history::OnLook;
use crate::changes::site::Site;
use crate::crew::background::Background;
use crate::crew::{Common, Crew};
use crate::delegation::starting::{self, Launch};
use crate::driver::Driver;
use crate::error::EngineError;
use crate::knowledge::library::SessionLibrary;
use crate::knowledge::skill_drafts::SkillDrafts;
use crate::knowledge::skill_files::{SkillFolder, SkillHomes};
use crate::limits::{AHEAD_AFTER_MS, LET_GO_MS_MAX};
use crate::models::choice::Models;
use crate::project::{ProjectContext, project_of};
use crate::record::bus::Updates;
use crate::record::journal::Journal;
use crate::record::reading::read_events;
use crate::record::session_lock::Alive;
use crate::record::{new_agent_id, new_session_id};
use crate::rights::approvals::{Approvals, Asking, Taken};
use crate::session::process_parts::ProcessParts;

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
    /// What outlives the session.
    pub lasting: Lasting,
}

/// What agents have of what outlives a session. The default is nothing.
#[derive(Clone, Debug, Default)]
pub struct Lasting {
    /// Whether they read and make notes.
    pub memory: bool,
    /// Folders with skills; of two skills with one key the first counts.
    pub skills: Vec<SkillFolder>,
    /// Where skills of the person are written.
    pub own_skills: Option<PathBuf>,
    /// Whether the person trusts the repository. Where they do not, notes for all projects ask.
    pub trusted: bool,
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
    /// Cancelled when somebody else can go on with it.
    free: CancellationToken,
    report: oneshot::Receiver<Report>,
}

impl Session {
    pub(crate) fn start(process: &ProcessParts, request: SessionRequest) -> Result<Self, EngineError> {
        let (id, agent) = (new_session_id(), new_agent_id());
        let opening = Opening { id, agent, after: Seq(0) };
        let SessionRequest { grant, budget, prompt, .. } = &request;
        let (grant, budget, prompt) = (grant.clone(), *budget, prompt.clone());
        let (crew, updates) = opening.open(process, request, &grant, Opening::lock(process, id)?)?;
        let launch = main(&crew, grant, budget, prompt);
        Ok(Self::drive(process, crew, launch, updates))
    }

    /// Sets the main agent to work.
    pub(crate) fn drive(process: &ProcessParts, crew: Arc<Crew>, main: Launch, updates: Updates) -> Self {
        let (id, agent) = (crew.session, crew.main);
        let places = [crew.site.workspace.root().to_path_buf(), process.data_dir.clone()];
        // While the model thinks; nobody waits for it.
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(AHEAD_AFTER_MS)).await;
            drop(tokio::task::spawn_blocking(move || clear_leftovers(&places)));
        });
        let driver = Driver::new(Arc::clone(&crew), main);
        let driving = tokio::spawn(driver.run());
        crew.driven_by(driving.abort_handle());
        let (weak, (told, report)) = (Arc::downgrade(&crew), oneshot::channel());
        let free = crew.alive.free();
        let freed = free.clone();
        drop(crew);
        let (open, agents, store) = (process.bus.closing(id), weak.clone(), process.store.clone());
        tokio::spawn(async move {
            match driving.await {
                Ok(report) => {
                    until_free(&freed).await;
                    drop(open);
                    let _ = told.send(report);
                }
                // Let go of; it may have ended right then.
                Err(gone) if gone.is_cancelled() => {
                    if let Ok(Some(report)) =
                        tokio::task::spawn_blocking(move || end_of(&store, id, agent)).await
                    {
                        let _ = told.send(report);
                    }
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
        Self { id, agent, updates, crew: weak, free, report }
    }

    /// Lets go of the session: what runs is stopped where it is, and can be resumed. Gives back how many agents had not
    /// ended; none if it is over already.
    pub async fn detach(&self) -> Result<usize, EngineError> {
        let Some(crew) = self.crew.upgrade() else { return Ok(0) };
        let agents = crew.let_go().await;
        crew.background.stop_all(&crew).await;
        // Who has ended on record has ended, even if nobody else got to know.
        let (store, id) = (crew.store.clone(), crew.session);
        let open = tokio::task::spawn_blocking(move || still_open(&store, id)).await;
        let agents = open.ok().and_then(Result::ok).unwrap_or(agents);
        if !agents.contains(&crew.main) {
            return Ok(0);
        }
        let open = agents.len();
        let mut journal = Journal::new(crew.store.clone(), crew.session, crew.main, None);
        journal.note(EventKind::SessionInterrupted { agents, detached: true });
        journal.durable().await?;
        drop((journal, crew));
        until_free(&self.free).await;
        Ok(open)
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

/// Whoever resumes it now finds it free.
async fn until_free(free: &CancellationToken) {
    let _ = tokio::time::timeout(Duration::from_millis(LET_GO_MS_MAX), free.cancelled()).await;
}

/// The agents of a session that have not ended, once everything that was written is on record.
fn still_open(store: &Store, session: SessionId) -> Result<Vec<AgentId>, StoreError> {
    store.flush()?;
    let agents = store.agents(session)?.into_iter();
    Ok(agents.filter(|agent| agent.ended_at_ms.is_none()).map(|agent| agent.id).collect())
}

/// What the main agent came to, if that is on record.
fn end_of(store: &Store, session: SessionId, main: AgentId) -> Option<Report> {
    if still_open(store, session).ok()?.contains(&main) {
        return None;
    }
    let events = read_events(store, session).ok()?.into_iter().rev();
    let mut own = events.filter(|event| event.agent == main);
    own.find_map(|event| match event.kind {
        EventKind::AgentSettled { report } => Some(report),
        _ => None,
    })
}

/// A session that is being opened: which one, and where what follows it begins.
pub(crate) struct Opening {
    pub(crate) id: SessionId,
    pub(crate) agent: AgentId,
    /// The last event that is on record already.
    pub(crate) after: Seq,
}

impl Opening {
    /// Makes sure that nobody else is at work on a session.
    pub(crate) fn lock(process: &ProcessParts, id: SessionId) -> Result<Alive, EngineError> {
        let alive = Alive::take(&process.data_dir, id).map_err(EngineError::Alive)?;
        alive.ok_or_else(|| EngineError::Nothing(format!("The session {id} is at work in another process.")))
    }

    /// Puts together what all its agents share.
    pub(crate) fn open(
        &self,
        process: &ProcessParts,
        request: SessionRequest,
        grant: &Grant,
        alive: Alive,
    ) -> Result<(Arc<Crew>, Updates), EngineError> {
        let mut request = request;
        if let Some(delegation) = &mut request.delegation {
            let most = delegation.surface.running_max().unwrap_or(usize::MAX);
            delegation.limits.running_max = delegation.limits.running_max.min(most);
        }
        let mut tools = request.tools;
        // What Posse keeps is no business of an agent, wherever it is.
        tools.sandbox.hidden.push(process.data_dir.clone());
        tools.sandbox.denied = request.asking.rules.hidden();
        let workspace = Workspace::open(&request.workspace)?.hiding(&tools.sandbox.hidden);
        let hides = hides(tools.sandbox.denied.clone(), workspace.root());
        let workspace = workspace.hiding_where(hides.clone());
        tools.sandbox.denied_in.push(workspace.root().to_path_buf());
        workspace.clear_placeholders();
        let (sender, live) = process.bus.open(self.id);
        let updates = Updates::new(self.id, process.store.clone(), Some(live), self.after, false);
        let limits = request.delegation.as_ref().map(|delegation| delegation.limits).unwrap_or_default();
        let tree = Tree::new(limits, self.agent, grant.clone(), request.budget);
        if !tools.sandbox.on {
            tracing::warn!(session = %self.id, "the sandbox is off: commands run with all rights of the person");
        }
        let project = project_of(&request.workspace);
        let notes = if request.lasting.memory { notes(&process.store, &project) } else { 0 };
        let Lasting { mut skills, own_skills, .. } = request.lasting.clone();
        skills.iter_mut().for_each(|folder| folder.hides = hides.clone());
        let homes = SkillHomes { workspace: request.workspace.clone(), own: own_skills };
        let (about, drafts) = ((project.clone(), self.id), SkillDrafts::of(&process.data_dir));
        let library = SessionLibrary::new(process.store.clone(), about, skills, homes, drafts);
        // Scripts of skills are run by commands, which see nothing of a home otherwise.
        tools.sandbox.readable.extend(library.places());
        let folder = request.workspace.display().to_string();
        let on_look = keeping(self.agent, sender.clone());
        let (checkpoints, linked) = (process.data_dir.join(CHECKPOINTS), tools.sandbox.linked.clone());
        let common = Common {
            alive,
            session: self.id,
            main: self.agent,
            store: process.store.clone(),
            updates: sender,
            site: Arc::new(Site::shared(folder, workspace, &checkpoints, on_look, linked)),
            checkouts: Checkouts::new(process.data_dir.clone(), self.id).hiding(tools.sandbox.denied.clone()),
            approvals: Approvals::new(request.asking),
            jobs: Jobs::default(),
            background: Background::default(),
            tools,
            models: request.models,
            project: request
                .project
                .filter(|notes| !hides.as_ref().is_some_and(|hides| hides.holds(Path::new(&notes.name)))),
            project_path: project,
            delegation: request.delegation,
            library: Some(Arc::new(library)),
            memory: request.lasting.memory,
            notes,
            trusted: request.lasting.trusted,
        };
        Ok((Crew::new(common, tree), updates))
    }
}

/// Tells whoever looks how many files were looked at before the first command.
fn keeping(agent: AgentId, updates: broadcast::Sender<Update>) -> OnLook {
    Arc::new(move |files| {
        let kind = ProgressKind::Keeping(files as u64);
        // No receiver is fine: nobody is looking.
        let _ = updates.send(Update::Progress(Progress { agent, kind }));
    })
}

/// The main agent of a session.
fn main(crew: &Arc<Crew>, grant: Grant, budget: Budget, prompt: String) -> Launch {
    let delegation = crew.delegation.as_ref();
    let model = crew.models.main().clone();
    let role = main_role(grant.clone(), budget);
    let coordinates = delegation.is_some_and(|delegation| delegation.coordinator);
    let roles = delegation.map(|d| starting::roles_for(d, &grant, 0)).unwrap_or_default();
    let system = MainPrompt {
        lean: model.is_lean(),
        workspace: &crew.site.folder,
        project: crew.project.as_ref(),
        delegation,
        roles: &roles,
        records: &records(crew),
        notes: if coordinates { 0 } else { crew.notes_for(&role, 0, &grant) },
    }
    .to_string();
    let (toolbox, tools) = main_tools(crew, &grant);
    let empty = model.model.transcript(&system, &tools);
    let mut journal = Journal::new(crew.store.clone(), crew.session, crew.main, None);
    journal.note(EventKind::SessionStarted {
        workspace: crew.site.folder.clone(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        sandboxed: crew.tools.sandbox.on,
        project: crew.project_path.clone(),
        surface: delegation.map(|delegation| delegation.surface.to_string()).unwrap_or_default(),
        coordinator: coordinates,
        team: delegation.is_some_and(|delegation| delegation.team),
    });
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
        told: Some((Sender::Person, prompt)),
        mail: Vec::new(),
        context_files: Vec::new(),
        deliverables: Vec::new(),
        isolation: Isolation::Shared,
        branch: None,
        journal,
        resumed: false,
        past: None,
    }
}

/// How each role has fared in this project, where whoever delegates is to know.
fn records(crew: &Crew) -> Vec<RoleRecord> {
    let shown = crew.delegation.as_ref().is_some_and(|delegation| delegation.sub_agents.show_record);
    if !shown {
        return Vec::new();
    }
    crew.store.role_records(&crew.project_path).unwrap_or_else(|error| {
        tracing::warn!(%error, "how roles have fared cannot be read");
        Vec::new()
    })
}

/// How many notes of earlier sessions there are.
fn notes(store: &Store, project: &str) -> usize {
    let counted = store.note_count(project).and_then(|own| Ok(own + store.user_note_count()?));
    counted.unwrap_or_else(|error| {
        tracing::warn!(%error, "notes cannot be counted");
        0
    })
}

/// The tools that the main agent is offered.
pub(crate) fn main_tools(crew: &Arc<Crew>, grant: &Grant) -> (Toolbox, Arc<[ToolSpec]>) {
    let delegation = crew.delegation.as_ref();
    // A coordinator has nothing of its own; what it may do is what it can give away.
    let own = if delegation.is_some_and(|d| d.coordinator) { Grant::none() } else { grant.clone() };
    let role = main_role(grant.clone(), Budget::UNLIMITED);
    let toolbox: Toolbox = starting::toolbox(crew, &own, crew.main, &role, 0, crew.models.main());
    let roles = delegation.map(|d| starting::roles_for(d, grant, 0)).unwrap_or_default();
    let mut offered = starting::offered(crew, &toolbox, &roles, grant);
    if delegation.is_some_and(|d| d.coordinator) {
        offered.retain(|tool| !toolbox.specs().contains(tool));
    }
    (toolbox, offered.into())
}

/// Removes what a killed process has left half-written.
fn clear_leftovers(places: &[PathBuf]) {
    let left: usize = places.iter().map(|place| posse_workspace::clear_leftovers(place)).sum();
    if left > 0 {
        tracing::info!(left, "half-written files of a killed process were removed");
    }
}

/// The role that the main agent has.
pub(crate) fn main_role(grant: Grant, budget: Budget) -> Role {
    Role {
        name: "main".to_string(),
        display_name: None,
        description: String::new(),
        aliases: Vec::new(),
        prompt: String::new(),
        grant,
        model: None,
        budget,
        max_output_tokens: None,
        tools_listed_by_task: false,
        single: false,
        inherit_context_file: None,
        inherit_memory: None,
        isolation: None,
        report: ReportForm::Answer,
        origin: RoleOrigin::BuiltIn,
    }
}
