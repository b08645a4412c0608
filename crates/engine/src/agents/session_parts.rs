//! What all agents of one session share: its folder, models, tools, rights and settings.

use std::sync::Arc;

use posse_delegate::Endpoint;
use posse_policy::passes;
use posse_protocol::{AgentId, Budget, Grant, Role, SessionId, SessionTrace, TraceParent};
use posse_store::Store;
use posse_tools::{Jobs, Knowledge, Library, OutsideTools, ToolSettings};

use crate::agents::process_slots::ProcessSlots;
use crate::agents::sub_agents::{Delegation, RecordDetail};
use crate::agents::tool_lists::ToolLists;
use crate::changes::checkouts::Checkouts;
use crate::changes::site::Site;
use crate::hooks::session_hooks::SessionHooks;
use crate::models::choice::{Models, PricedModel};
use crate::project::ProjectContext;
use crate::record::channel::UpdateSender;
use crate::record::journal::Journal;
use crate::record::session_lock::SessionLock;
use crate::remote::{Home, Workers};
use crate::rights::approvals::Approvals;

/// The role that looks after skills.
const SKILL_ROLE: &str = "skill";
/// The tool that finds notes.
const RECALL: &str = "recall";

/// Nobody changes it while the session runs.
pub(crate) struct SessionParts {
    /// Says that the session is at work, as long as it is. The first that goes: who waits for it need not wait for the rest.
    pub(crate) alive: SessionLock,
    pub(crate) session: SessionId,
    pub(crate) main: AgentId,
    pub(crate) store: Store,
    pub(crate) updates: UpdateSender,
    /// The session's folder.
    pub(crate) site: Arc<Site>,
    /// Where agents that work apart have theirs.
    pub(crate) checkouts: Arc<Checkouts>,
    pub(crate) approvals: Approvals,
    /// Commands that run beside the agents.
    pub(crate) jobs: Jobs,
    /// What limits the agents of all sessions of the process.
    pub(crate) process_slots: ProcessSlots,
    pub(crate) tools: ToolSettings,
    pub(crate) models: Models,
    /// Whether the main agent rests after its answer and waits for the next prompt.
    pub(crate) stays: bool,
    /// What each prompt may spend, on top of what was spent before.
    pub(crate) prompt_budget: Budget,
    pub(crate) project: Option<ProjectContext>,
    /// The project that notes are about.
    pub(crate) project_path: String,
    pub(crate) delegation: Option<Delegation>,
    /// What outlives the session: notes and skills.
    pub(crate) library: Option<Arc<dyn Library>>,
    /// Whether agents read and make notes.
    pub(crate) memory: bool,
    /// Notes of earlier sessions that agents here can find.
    pub(crate) notes: usize,
    /// Whether the person trusts the repository.
    pub(crate) trusted: bool,
    /// Its hooks; none where nothing could ever run.
    pub(crate) hooks: Option<Arc<SessionHooks>>,
    /// Tools from outside, if there are any.
    pub(crate) outside: Option<Arc<dyn OutsideTools>>,
    /// The span of whoever asked for the session now.
    pub(crate) traceparent: Option<TraceParent>,
    /// Its trace, where somebody keeps one.
    pub(crate) trace: Option<SessionTrace>,
    /// The workers that agents can run on; none where all run here.
    pub(crate) workers: Option<Arc<dyn Workers>>,
    /// The home of the only agent, where this is a worker.
    pub(crate) home: Option<Arc<Home>>,
    /// The tools that agents with the same rights are offered.
    pub(crate) tool_lists: ToolLists,
}

impl SessionParts {
    /// What an agent has of what outlives the session.
    pub(crate) fn knowledge(&self, role: &Role, depth: u32) -> Knowledge {
        if self.home.is_some() {
            return Knowledge { sub_agent: true, ..Knowledge::default() };
        }
        let inherits = self.delegation.as_ref().is_none_or(|delegation| delegation.sub_agents.inherit_memory);
        Knowledge {
            library: self.library.clone(),
            memory: self.memory && (depth == 0 || role.inherit_memory.unwrap_or(inherits)),
            sub_agent: depth > 0,
            trusted: self.trusted,
            writes_skills: role.name == SKILL_ROLE,
            outside: self.outside.clone(),
        }
    }

    /// How many notes of earlier sessions an agent can find.
    pub(crate) fn notes_for(&self, role: &Role, depth: u32, grant: &Grant) -> usize {
        let finds = self.knowledge(role, depth).memory && passes(&grant.tools, RECALL);
        if finds { self.notes } else { 0 }
    }

    /// Whose turn an agent waits for: that of its model, unless the model is a worker's own.
    pub(crate) fn endpoint(&self, model: &PricedModel, on: Option<&str>) -> Endpoint {
        match (on, &self.workers) {
            (Some(on), Some(workers)) if !workers.models_at_home(on) => {
                Endpoint { name: on.to_string(), agents_max: None }
            }
            _ => model.endpoint(),
        }
    }

    /// Whether an agent at a depth rests after its answer instead of ending.
    pub(crate) fn stays_at(&self, depth: u32) -> bool {
        self.stays && depth == 0
    }

    /// The longest report at a depth that is told as it is, in bytes, if longer ones are summed up.
    pub(crate) fn sum_up_over(&self, depth: u32) -> Option<usize> {
        match &self.home {
            Some(home) => home.sum_up_over,
            None => self.delegation.as_ref().filter(|_| depth > 0).and_then(Delegation::sum_up_over),
        }
    }

    /// How the events of the main agent are recorded.
    pub(crate) fn main_journal(&self) -> Journal {
        self.journal(self.main, None)
    }

    /// How events of an agent are recorded, all of them.
    pub(crate) fn journal(&self, agent: AgentId, parent: Option<AgentId>) -> Journal {
        let journal = Journal::new(self.store.clone(), self.session, agent, parent);
        match &self.home {
            Some(home) => journal.for_home(Arc::clone(&home.noted)),
            None => journal,
        }
    }

    /// How the events of a sub-agent are recorded: all of them, or only its beginning and its end.
    /// One on a worker needs all of them, for the next worker.
    pub(crate) fn sub_agent_journal(
        &self,
        delegation: &Delegation,
        id: AgentId,
        parent: AgentId,
        is_elsewhere: bool,
    ) -> Journal {
        let journal = self.journal(id, Some(parent));
        match delegation.sub_agents.record {
            RecordDetail::Result if !is_elsewhere => journal.without_steps(),
            _ => journal,
        }
    }
}
