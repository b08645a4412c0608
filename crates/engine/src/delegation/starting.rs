//! From a task to an agent that can run: role, model, rights and budget are settled, the tree admits it, and what it begins
//! with is put together. Starting never waits for the record, the model or another agent.

use std::sync::Arc;

use posse_delegate::{Admission, Request};
use posse_policy::delegates_to;
use posse_protocol::{
    AgentId, Brief, Budget, CallId, ContextMode, EventKind, Files, Isolation, QueueReason, Role, Sender, Task,
};
use posse_roles::INHERIT;
use posse_surface::Surface;
use posse_tools::{Knowledge, Toolbox};

use crate::agents::context::{self, Snapshot};
use crate::agents::conversation::Conversation;
use crate::agents::finished::Continuation;
use crate::agents::offer::{roles_for, shared_offer, strange_file, toolbox_knowing};
use crate::agents::start::{AgentIdentity, AgentStart, FirstTask, StartedAgent};
use crate::agents::sub_agent::SubAgent;
use crate::agents::sub_agents::Delegation;
use crate::crew::Crew;
use crate::delegation::placing;
use crate::models::choice::PricedModel;
use crate::record::journal::Journal;
use crate::record::new_agent_id;
use crate::rights::shell_rights::may_start;

/// What a sub-agent is told that has no role, unless the configuration or the task say otherwise.
const FOCUSED: &str = include_str!("../../prompts/focused.md").trim_ascii_end();

/// Who wants an agent started.
pub(crate) struct Delegator {
    pub(crate) id: AgentId,
    /// With which of its calls.
    pub(crate) call: Option<CallId>,
    pub(crate) model: PricedModel,
    /// Its conversation, where the task wants to know of it.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
}

/// A task with everything settled that does not depend on the tree.
struct WantedAgent {
    id: AgentId,
    parent: AgentId,
    call: Option<CallId>,
    task: Task,
    role: Role,
    model: PricedModel,
    continues: Option<AgentId>,
    isolation: Isolation,
    /// The worker or the label of workers that it runs on.
    on: Option<String>,
}

/// Starts a sub-agent. The error is for the model that asked: what is wrong, and what to do.
pub(crate) fn start(
    crew: &Arc<Crew>,
    asker: Delegator,
    task: Task,
    continues: Option<(AgentId, Continuation)>,
) -> Result<StartedAgent, String> {
    let delegation = crew.delegation.as_ref().ok_or("Delegation is off in this session.")?;
    let Delegator { id: parent, call, model: own, snapshot } = asker;
    let (role, model) = match &continues {
        Some((_, kept)) => (kept.role.clone(), kept.conversation.model.clone()),
        None => {
            let role = role_of(crew, delegation, parent, &task)?;
            let by_command = delegation.surface == Surface::Shell;
            let grant = crew.tree(|tree| tree.node(parent).map(|node| node.grant.clone()));
            // Whether it may delegate to the role is for the tree to say; names of commands are not its business.
            if grant.is_some_and(|grant| {
                delegates_to(&grant, &role.name) && !may_start(&grant, &role.name, by_command)
            }) {
                return Err(format!("You may not start the role {}.", role.name));
            }
            let model = model_of(crew, delegation, &task, &role, own)?;
            (role, model)
        }
    };
    let (continues, kept) = continues.unzip();
    let on = match &kept {
        Some(kept) => kept.on.clone(),
        None => placing::place_of(crew, delegation, parent, &task, &role, model.name())?,
    };
    let isolation = match &kept {
        Some(kept) => kept.isolation,
        // What is elsewhere is in nobody's way; and nobody shares files with an agent that is.
        None if on.is_some() || crew.is_elsewhere(parent) => Isolation::Worktree,
        None => task.isolation.or(role.isolation).unwrap_or(delegation.sub_agents.isolation),
    };
    let id = new_agent_id();
    let wanted = WantedAgent { id, parent, call, task, role, model, continues, isolation, on };
    // Nothing is waited for between this and `make_ready`: whoever asks may go away at any moment.
    let admission = crew.admit(wanted.request(crew, delegation)).map_err(|refusal| refusal.to_string())?;
    let started = wanted.started(&admission);
    let toolbox = wanted.toolbox(crew, &admission);
    let (words, kept) = match kept {
        Some(kept) => (wanted.task.prompt.clone(), kept),
        None => wanted.beginning(crew, delegation, &admission, &toolbox, snapshot.as_deref()),
    };
    let (words, context_files) = wanted.with_files(crew, words);
    let journal = wanted.admitted(crew, delegation, &admission, (&words, &kept), &context_files);
    let Continuation { role, conversation, isolation, branch, on } = kept;
    let Task { title, deliverables, .. } = wanted.task;
    crew.make_ready(AgentStart {
        who: AgentIdentity { id, name: admission.name, title, depth: admission.depth, role },
        grant: admission.grant,
        budget: admission.budget,
        toolbox,
        conversation,
        task: FirstTask { told: Some((Sender::Parent, words.into())), context_files, deliverables },
        forked: Vec::new(),
        mail: Vec::new(),
        isolation,
        branch,
        on,
        placed: None,
        journal,
        resumed: false,
        interrupted: None,
    });
    Ok(started)
}

impl WantedAgent {
    fn toolbox(&self, crew: &Crew, admission: &Admission) -> Toolbox {
        let (site, Self { id, role, model, .. }) = (crew.site(self.id), self);
        let knowledge = match &self.on {
            // Notes, skills and servers are at home.
            Some(_) => Knowledge { sub_agent: true, ..Knowledge::default() },
            None => crew.knowledge(role, admission.depth),
        };
        toolbox_knowing(crew, &site.workspace, &admission.grant, *id, knowledge, model)
    }

    fn request(&self, crew: &Crew, delegation: &Delegation) -> Request {
        Request {
            id: self.id,
            parent: self.parent,
            name: self.task.name.clone(),
            role: self.role.name.clone(),
            title: self.task.title.clone(),
            role_grant: self.role.grant.clone(),
            untrusted_file: is_strange(delegation, &self.role),
            background: true,
            allowed_tools: self.task.allowed_tools.clone(),
            budget: budget(delegation, &self.task, &self.role),
            endpoint: crew.endpoint(&self.model, self.on.as_deref()),
            continues: self.continues,
        }
    }

    /// Its way into the record, with its admission on the way there.
    fn admitted(
        &self,
        crew: &Crew,
        delegation: &Delegation,
        admission: &Admission,
        (words, kept): (&str, &Continuation),
        context_files: &[String],
    ) -> Journal {
        let mut journal = crew.sub_agent_journal(delegation, self.id, self.parent, self.on.is_some());
        journal.note(EventKind::AgentAdmitted {
            name: admission.name.clone(),
            role: self.role.name.clone(),
            depth: admission.depth,
            title: self.task.title.clone(),
            requested_model: self.task.model.clone().or_else(|| asked_model(&self.role)),
            context: self.task.context,
            continues: self.continues,
            brief: Some(Box::new(Brief {
                call: self.call.clone(),
                grant: admission.grant.clone(),
                budget: admission.budget,
                model: self.model.name().to_string(),
                max_output_tokens: max_output_tokens(&self.task, &self.role, delegation),
                words: words.to_string(),
                system_prompt: own_words(delegation, &self.task),
                context_files: context_files.to_vec(),
                deliverables: self.task.deliverables.clone(),
                isolation: self.isolation,
                branch: kept.branch.clone(),
                on: self.on.clone(),
            })),
        });
        if let Some(reason) = admission.queued {
            let at = (reason == QueueReason::Endpoint).then(|| self.model.model.config().host());
            journal.note(EventKind::AgentQueued { reason, at });
        }
        journal.send();
        journal
    }

    fn started(&self, admission: &Admission) -> StartedAgent {
        StartedAgent {
            id: self.id,
            name: admission.name.clone(),
            role: self.role.name.clone(),
            queued: admission.queued.is_some(),
            ahead: admission.ahead,
            budget: admission.budget,
            model: self.model.name().to_string(),
        }
    }

    /// The words, and the files whose contents go with them. Nobody hands on what they may not read.
    fn with_files(&self, crew: &Crew, words: String) -> (String, Vec<String>) {
        let files = self.task.context_files.clone();
        if files.is_empty() || may_read(crew, self.parent) {
            return (words, files);
        }
        let names = files.join(", ");
        (
            format!("{words}\n\nNot included: {names} (whoever gave you this task may not read files)"),
            Vec::new(),
        )
    }

    /// What a new agent begins with: a fork of its parent's conversation, or one of its own; and the first words in it.
    fn beginning(
        &self,
        crew: &Crew,
        delegation: &Delegation,
        admission: &Admission,
        toolbox: &Toolbox,
        snapshot: Option<&Snapshot>,
    ) -> (String, Continuation) {
        let Self { task, role, model, isolation, .. } = self;
        let sub_agent = SubAgent {
            name: &admission.name,
            role,
            parent: &crew.name(self.parent),
            depth: admission.depth,
            budget: &admission.budget,
            grant: &admission.grant,
            isolation: *isolation,
            folder: &crew.site(self.parent).folder,
            on: self.on.as_deref(),
        };
        let begins = |words: String, conversation: Conversation| {
            let (role, isolation, on) = (role.clone(), *isolation, self.on.clone());
            (words, Continuation { role, conversation, isolation, branch: None, on })
        };
        let told = match (snapshot, task.context) {
            // The parent's last request byte for byte, tools included; role and task come after it.
            (Some(snapshot), ContextMode::Fork) => {
                let (state, task) = (context::state(snapshot), context::first_words(task, ""));
                let words = sub_agent.prompt(crew, delegation, |prompt| prompt.forked(&state, &task));
                return begins(words, snapshot.conversation.clone().with_model(model));
            }
            (Some(snapshot), ContextMode::Summary) => context::digest(snapshot),
            (Some(snapshot), ContextMode::Selective) => context::turns(snapshot, &task.context_turns),
            _ => String::new(),
        };
        let system = sub_agent.prompt(crew, delegation, |prompt| prompt.to_string());
        let roles = roles_for(delegation, &admission.grant, admission.depth);
        let tools = shared_offer(crew, toolbox, &roles, &admission.grant);
        let max = max_output_tokens(task, role, delegation);
        let conversation = Conversation::new(model.clone(), system, tools, max);
        begins(context::first_words(task, &told), conversation)
    }
}

fn role_of(crew: &Crew, delegation: &Delegation, parent: AgentId, task: &Task) -> Result<Role, String> {
    let name = task.role.as_deref().unwrap_or(posse_roles::DEFAULT_ROLE);
    let grant = crew.tree(|tree| tree.node(parent).map(|node| node.grant.clone()));
    let may = |role: &Role| grant.as_ref().is_none_or(|grant| delegates_to(grant, &role.name));
    let role = delegation.roles.find_among(name, may).map_err(|unknown| unknown.to_string())?;
    if role.tools_listed_by_task && task.allowed_tools.as_ref().is_none_or(Vec::is_empty) {
        return Err(format!(
            "The role {} has the tools you list and no others: give allowed_tools, such as [\"read_file\", \"grep\"].",
            role.name
        ));
    }
    let prompt = own_words(delegation, task).unwrap_or_else(|| role.prompt.clone());
    Ok(Role { prompt, ..role.clone() })
}

/// Words in place of the role's own. Where there are no roles to name, the configuration's are all there is.
fn own_words(delegation: &Delegation, task: &Task) -> Option<String> {
    let plain = delegation.surface == Surface::Spawn && task.role.is_none();
    let usual = || match delegation.sub_agents.system_prompt {
        None => FOCUSED.to_string(),
        Some(_) => String::new(),
    };
    task.system_prompt.clone().or_else(|| plain.then(usual))
}

/// The task's wish, then the role's, then the configuration's, then the parent's own.
fn model_of(
    crew: &Crew,
    delegation: &Delegation,
    task: &Task,
    role: &Role,
    own: PricedModel,
) -> Result<PricedModel, String> {
    let defaults = &delegation.sub_agents;
    if task.model.is_some() || task.endpoint.is_some() {
        return crew.models.reach(task.model.as_deref(), task.endpoint.as_deref());
    }
    match role.model.as_deref() {
        Some(INHERIT) => return Ok(own),
        Some(wanted) => {
            if let Some(found) = crew.models.for_role(wanted) {
                return Ok(found.clone());
            }
        }
        None => {}
    }
    if task.context != ContextMode::Fork && (defaults.model.is_some() || defaults.endpoint.is_some()) {
        return crew.models.reach(defaults.model.as_deref(), defaults.endpoint.as_deref());
    }
    Ok(own)
}

/// The model that a role's file names.
fn asked_model(role: &Role) -> Option<String> {
    role.model.clone().filter(|model| model != INHERIT)
}

/// The task's wish, then the role's, then the configuration's. A stranger's file only lowers what there would be without it.
fn max_output_tokens(task: &Task, role: &Role, delegation: &Delegation) -> Option<u32> {
    let usual = delegation.sub_agents.max_output_tokens;
    let of_role = role.max_output_tokens.map(|max| match usual {
        Some(usual) if is_strange(delegation, role) => max.min(usual),
        _ => max,
    });
    task.max_output_tokens.or(of_role).or(usual)
}

/// The task's wish, then the role's, then the configuration's. A stranger's file only lowers what there would be without it.
fn budget(delegation: &Delegation, task: &Task, role: &Role) -> Budget {
    let (defaults, strange) = (&delegation.sub_agents, is_strange(delegation, role));
    let held =
        |asked: Option<u64>, usual: u64| asked.map(|asked| if strange { asked.min(usual) } else { asked });
    let turns = held(role.budget.turns.map(u64::from), defaults.max_turns.into());
    let turns = turns.and_then(|turns| u32::try_from(turns).ok());
    let tokens = held(role.budget.tokens, defaults.tokens);
    let time_ms = held(role.budget.time_ms, defaults.time_ms);
    Budget {
        turns: task.budget.turns.or(turns).or(Some(defaults.max_turns)),
        tokens: task.budget.tokens.or(tokens).or(Some(defaults.tokens)),
        time_ms: task.budget.time_ms.or(time_ms).or(Some(defaults.time_ms)),
        cost_usd: task.budget.cost_usd.or(role.budget.cost_usd),
    }
}

fn may_read(crew: &Crew, id: AgentId) -> bool {
    crew.tree(|tree| tree.node(id).is_some_and(|node| node.grant.files >= Files::Read))
}

/// Whether a role comes from a file of the project that nobody has trusted as it is.
fn is_strange(delegation: &Delegation, role: &Role) -> bool {
    strange_file(delegation, role).is_some()
}
