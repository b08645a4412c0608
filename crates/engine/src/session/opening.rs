//! Opens a session: its lock, and what all its agents share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_delegate::Tree;
use posse_policy::Rules;
use posse_protocol::{
    AgentId, Grant, Progress, ProgressKind, Seq, SessionId, SessionTrace, TraceParent, Update,
};
use posse_store::Store;
use posse_tools::{Jobs, OutsidePlace, ToolSettings};
use posse_workspace::{Hides, Workspace, WorkspaceError};

use crate::agents::session_parts::SessionParts;
use crate::agents::tool_lists::ToolLists;
use crate::changes::checkouts::{CHECKPOINTS, Checkouts, kept};
use crate::changes::hidden::hides;
use crate::changes::history::OnLook;
use crate::changes::site::Site;
use crate::crew::Crew;
use crate::error::EngineError;
use crate::hooks::runner::HookRunner;
use crate::hooks::session_hooks::SessionHooks;
use crate::knowledge::library::SessionLibrary;
use crate::knowledge::skill_drafts::SkillDrafts;
use crate::knowledge::skill_files::SkillHomes;
use crate::project::project_of;
use crate::record::bus::Updates;
use crate::record::channel::UpdateSender;
use crate::record::session_lock::SessionLock;
use crate::remote::Home;
use crate::rights::approvals::Approvals;
use crate::session::process_parts::ProcessParts;
use crate::session::request::{KnowledgeSettings, SessionRequest};
use crate::session::starter::start_agent;

/// A session that is being opened: which one, and where what follows it begins.
pub(crate) struct Opening {
    pub(crate) id: SessionId,
    pub(crate) agent: AgentId,
    /// The last event that is on record already.
    pub(crate) after: Seq,
    /// The span within which somebody asked for it first.
    pub(crate) began_within: Option<TraceParent>,
    /// The home of its only agent, where this is a worker.
    pub(crate) home: Option<Arc<Home>>,
}

impl Opening {
    /// Makes sure that nobody else is at work on a session.
    pub(crate) fn lock(process: &ProcessParts, id: SessionId) -> Result<SessionLock, EngineError> {
        let alive = SessionLock::take(&process.processes, id).map_err(EngineError::DataDir)?;
        alive.ok_or_else(|| EngineError::Busy(format!("The session {id} is at work in another process.")))
    }

    /// Puts together what all its agents share.
    pub(crate) fn open(
        &self,
        process: &ProcessParts,
        request: SessionRequest,
        grant: &Grant,
        alive: SessionLock,
    ) -> Result<(Arc<Crew>, Updates), EngineError> {
        let mut request = request;
        if let Some(delegation) = &mut request.delegation {
            let most = delegation.surface.running_max().unwrap_or(usize::MAX);
            delegation.limits.running_max = delegation.limits.running_max.min(most);
        }
        let mut tools = request.tools;
        // What Posse keeps is no business of an agent, wherever it is.
        tools.sandbox.hidden.push(process.data_dir.clone());
        let ConfinedTools { mut tools, workspace, hides } =
            ConfinedTools::of(tools, &request.approvals.rules, &request.workspace)?;
        workspace.clear_placeholders();
        let (sender, live) = process.bus.open(self.id);
        let updates = Updates::new(self.id, process.store.clone(), Some(live), self.after, false);
        let trace = self.trace(request.traceparent.as_ref(), request.watcher.is_some());
        if let Some(watcher) = &request.watcher {
            let all = Updates::new(self.id, process.store.clone(), process.bus.reader(self.id), Seq(0), true);
            watcher.watch(self.id, self.after, all);
        }
        let limits = request.delegation.as_ref().map(|delegation| delegation.limits).unwrap_or_default();
        let tree = Tree::new(limits, self.agent, grant.clone(), request.budget);
        self.warn_of(tools.sandbox.on);
        let project = project_of(&request.workspace);
        let notes = if request.knowledge.memory { notes(&process.store, &project) } else { 0 };
        let library =
            self.library(process, &request.knowledge, (&request.workspace, &project), hides.as_ref());
        // Scripts of skills are run by commands, which see nothing of a home otherwise.
        tools.sandbox.readable.extend(library.places());
        let folder = request.workspace.display().to_string();
        let on_look = keeping(self.agent, sender.clone());
        let (checkpoints, linked) = (self.checkpoints(process), tools.sandbox.linked.clone());
        let hooks = request.hooks.map(|settings| HookRunner::new(settings, tools.sandbox.clone()));
        let hooks = hooks.and_then(|runner| SessionHooks::new(runner, self.id, &process.data_dir));
        if let Some(outside) = &request.outside {
            outside.begin(OutsidePlace { workspace: workspace.clone(), sandbox: tools.sandbox.clone() });
        }
        let checkouts = Checkouts::new(process.processes.clone(), self.id);
        let parts = SessionParts {
            alive,
            session: self.id,
            main: self.agent,
            store: process.store.clone(),
            updates: sender,
            site: Arc::new(Site::shared(folder, workspace, &checkpoints, on_look, linked)),
            checkouts: Arc::new(checkouts.hiding(tools.sandbox.denied.clone())),
            approvals: Approvals::new(request.approvals),
            jobs: Jobs::default(),
            process_slots: process.slots.clone(),
            tools,
            stays: request.stay,
            prompt_budget: request.budget,
            models: request.models.governed_by(&process.governors),
            project: request
                .project
                .filter(|notes| !hides.as_ref().is_some_and(|hides| hides.holds(Path::new(&notes.name)))),
            project_path: project,
            delegation: request.delegation,
            library: Some(Arc::new(library)),
            memory: request.knowledge.memory,
            notes,
            trusted: request.knowledge.trusted,
            hooks: hooks.map(Arc::new),
            outside: request.outside,
            traceparent: request.traceparent,
            trace,
            workers: request.workers,
            home: self.home.clone(),
            tool_lists: ToolLists::default(),
        };
        Ok((Crew::new(parts, tree, start_agent), updates))
    }

    /// Its skills and notes.
    fn library(
        &self,
        process: &ProcessParts,
        knowledge: &KnowledgeSettings,
        (workspace, project): (&Path, &str),
        hides: Option<&Hides>,
    ) -> SessionLibrary {
        let KnowledgeSettings { mut skills, own_skills, .. } = knowledge.clone();
        skills.iter_mut().for_each(|folder| folder.hides = hides.cloned());
        let homes = SkillHomes { workspace: workspace.to_owned(), own: own_skills };
        let (about, drafts) = ((project.to_owned(), self.id), SkillDrafts::of(&process.data_dir));
        SessionLibrary::new(process.store.clone(), about, skills, homes, drafts)
    }

    fn warn_of(&self, sandboxed: bool) {
        if !sandboxed {
            tracing::warn!(session = %self.id, "the sandbox is off: commands run with all rights of the person");
        }
    }

    /// Where what its files were is kept.
    fn checkpoints(&self, process: &ProcessParts) -> PathBuf {
        match self.home {
            // They go with the agent.
            Some(_) => kept(&process.data_dir, self.id),
            None => process.data_dir.join(CHECKPOINTS),
        }
    }

    /// Its trace, where we keep one or whoever asks for it does.
    fn trace(&self, asked_within: Option<&TraceParent>, watched: bool) -> Option<SessionTrace> {
        let sampled = watched || asked_within.is_some_and(|parent| parent.sampled);
        let traced = watched || asked_within.is_some();
        traced.then(|| SessionTrace::of(self.id, self.began_within.as_ref(), sampled))
    }
}

/// A workspace, and how commands run there, as rules want it.
pub(crate) struct ConfinedTools {
    pub(crate) tools: ToolSettings,
    pub(crate) workspace: Workspace,
    /// What rules hide; none if they hide nothing.
    pub(crate) hides: Option<Hides>,
}

impl ConfinedTools {
    /// Opens the workspace without what is hidden in it.
    pub(crate) fn of(mut tools: ToolSettings, rules: &Rules, folder: &Path) -> Result<Self, WorkspaceError> {
        tools.sandbox.denied = rules.hidden();
        let workspace = Workspace::open(folder)?.hiding(&tools.sandbox.hidden);
        let hides = hides(tools.sandbox.denied.clone(), workspace.root());
        let workspace = workspace.hiding_where(hides.clone());
        tools.sandbox.denied_in.push(workspace.root().to_path_buf());
        Ok(Self { tools, workspace, hides })
    }
}

/// Tells whoever looks how many files were looked at before the first command.
fn keeping(agent: AgentId, updates: UpdateSender) -> OnLook {
    Arc::new(move |files| {
        let kind = ProgressKind::Keeping(files as u64);
        // No receiver is fine: nobody is looking.
        updates.send(Update::Progress(Progress { agent, kind }));
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
