//! The main agent of a session: its role, its tools, and what it starts from.

use std::sync::Arc;

use posse_protocol::{
    Budget, EventKind, Grant, Isolation, ReportForm, Role, RoleOrigin, Sender, ToolSpec, Words,
};
use posse_store::RoleRecord;
use posse_tools::Toolbox;

use crate::agents::conversation::Conversation;
use crate::agents::offer::{main_offer, roles_for, toolbox};
use crate::agents::prompt::MainPrompt;
use crate::agents::start::{AgentIdentity, AgentStart, FirstTask};
use crate::crew::Crew;

/// The main agent of a session.
pub(super) fn main_agent(crew: &Arc<Crew>, grant: Grant, budget: Budget, prompt: Words) -> AgentStart {
    let delegation = crew.delegation.as_ref();
    let model = crew.models.main().clone();
    let role = main_role(grant.clone(), budget);
    let coordinates = delegation.is_some_and(|delegation| delegation.coordinator);
    let roles = delegation.map(|d| roles_for(d, &grant, 0)).unwrap_or_default();
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
    let conversation = Conversation::new(model, system, tools, None);
    let mut journal = crew.main_journal();
    journal.note(EventKind::SessionStarted {
        workspace: crew.site.folder.clone(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        sandboxed: crew.tools.sandbox.on,
        project: crew.project_path.clone(),
        surface: delegation.map(|delegation| delegation.surface.to_string()).unwrap_or_default(),
        coordinator: coordinates,
        team: delegation.is_some_and(|delegation| delegation.team),
        traceparent: crew.traceparent,
    });
    AgentStart {
        who: AgentIdentity { id: crew.main, name: "main".to_string(), title: String::new(), depth: 0, role },
        grant,
        budget,
        toolbox,
        conversation,
        task: FirstTask { told: Some((Sender::Person, prompt)), ..FirstTask::default() },
        forked: Vec::new(),
        mail: Vec::new(),
        isolation: Isolation::Shared,
        branch: None,
        on: None,
        placed: None,
        journal,
        resumed: false,
        interrupted: None,
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

/// The tools that the main agent is offered.
pub(crate) fn main_tools(crew: &Arc<Crew>, grant: &Grant) -> (Toolbox, Arc<[ToolSpec]>) {
    let delegation = crew.delegation.as_ref();
    // A coordinator has nothing of its own; what it may do is what it can give away.
    let own = if delegation.is_some_and(|d| d.coordinator) { Grant::none() } else { grant.clone() };
    let role = main_role(grant.clone(), Budget::UNLIMITED);
    let toolbox: Toolbox = toolbox(crew, &crew.site.workspace, &own, crew.main, &role, 0, crew.models.main());
    let offered = main_offer(crew, &toolbox, grant).into();
    (toolbox, offered)
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
        on: None,
        report: ReportForm::Answer,
        origin: RoleOrigin::BuiltIn,
    }
}
