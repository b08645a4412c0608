//! What an agent is offered: its own tools, those to delegate with, and the roles it may start.

use std::sync::Arc;

use posse_protocol::{AgentId, Grant, NameRules, Role, RoleOrigin, ToolSpec};
use posse_surface::{Offer, RoleOffer, Surface};
use posse_tools::{Knowledge, ToolSettings, Toolbox};
use posse_workspace::Workspace;

use crate::agents::session_parts::SessionParts;
use crate::agents::sub_agents::Delegation;
use crate::agents::tool_lists::ToolListKey;
use crate::models::choice::PricedModel;
use crate::rights::shell_rights::{self, may_start};

/// The tools of an agent. Where everything is a command, rights by name are checked on the command.
pub(crate) fn toolbox(
    parts: &SessionParts,
    workspace: &Workspace,
    grant: &Grant,
    owner: AgentId,
    role: &Role,
    depth: u32,
    model: &PricedModel,
) -> Toolbox {
    toolbox_knowing(parts, workspace, grant, owner, parts.knowledge(role, depth), model)
}

/// The same with a say in what it knows of what outlives the session.
pub(crate) fn toolbox_knowing(
    parts: &SessionParts,
    workspace: &Workspace,
    grant: &Grant,
    owner: AgentId,
    mut knowledge: Knowledge,
    model: &PricedModel,
) -> Toolbox {
    let mut grant = grant.clone();
    let commands = parts.delegation.as_ref().is_some_and(|delegation| delegation.surface == Surface::Shell);
    if commands {
        grant.tools = NameRules::default();
    }
    if commands {
        // There, tools are commands, and rights by name are checked on those.
        knowledge.outside = None;
    }
    let config = model.model.config();
    let (images, documents) = (config.images, config.takes_documents());
    let settings = ToolSettings { images, documents, ..parts.tools.clone() };
    let toolbox = Toolbox::new(workspace, grant, settings, owner, parts.jobs.clone(), knowledge);
    if model.is_lean() && !commands { toolbox.offering_few() } else { toolbox }
}

/// The roles an agent may delegate to; none at the depth limit.
pub(crate) fn roles_for<'a>(delegation: &'a Delegation, grant: &Grant, depth: u32) -> Vec<&'a Role> {
    if depth >= delegation.limits.depth_max {
        return Vec::new();
    }
    let by_command = delegation.surface == Surface::Shell;
    delegation.roles.iter().filter(|role| may_start(grant, &role.name, by_command)).collect()
}

/// The tools that an agent is offered. Agents that may do the same share them: they are large, and there are many.
pub(crate) fn shared_offer(
    parts: &SessionParts,
    toolbox: &Toolbox,
    roles: &[&Role],
    grant: &Grant,
) -> Arc<[ToolSpec]> {
    let few = toolbox.offers_few().then_some("(few)");
    let (images, documents) = toolbox.shows();
    let shows = [images.then_some("(images)"), documents.then_some("(documents)")];
    let marks = few.into_iter().chain(shows.into_iter().flatten());
    let own = toolbox.specs().iter().map(|tool| tool.name.as_str()).chain(marks);
    let by_command = parts.delegation.as_ref().is_some_and(|delegation| delegation.surface == Surface::Shell);
    let denied = if by_command { shell_rights::denied(&grant.tools) } else { Vec::new() };
    let names = roles.iter().map(|role| role.name.clone()).collect();
    let key: ToolListKey = (own.map(str::to_string).collect(), names, denied);
    parts.tool_lists.get_or_make(key, || offered(parts, toolbox, roles, grant))
}

/// The tools a model is offered: its own, and those to delegate with.
pub(crate) fn offered(
    parts: &SessionParts,
    toolbox: &Toolbox,
    roles: &[&Role],
    grant: &Grant,
) -> Vec<ToolSpec> {
    let Some(delegation) = &parts.delegation else { return toolbox.specs().to_vec() };
    let own = toolbox.specs();
    let surface = delegation.surface;
    let ours = with_offer(parts, delegation, own, roles, grant, |offer| match toolbox.offers_few() {
        true => surface.lean_tools(offer),
        false => surface.tools(offer),
    });
    if delegation.surface == Surface::Shell {
        return ours;
    }
    own.iter().cloned().chain(ours).collect()
}

/// The tools that the main agent is offered.
pub(crate) fn main_offer(parts: &SessionParts, toolbox: &Toolbox, grant: &Grant) -> Vec<ToolSpec> {
    let delegation = parts.delegation.as_ref();
    let roles = delegation.map(|d| roles_for(d, grant, 0)).unwrap_or_default();
    let mut offered = offered(parts, toolbox, &roles, grant);
    if delegation.is_some_and(|d| d.coordinator) {
        offered.retain(|tool| !toolbox.specs().contains(tool));
    }
    offered
}

/// What an agent is offered, for whoever puts it into words.
pub(crate) fn with_offer<T>(
    parts: &SessionParts,
    delegation: &Delegation,
    tools: &[ToolSpec],
    roles: &[&Role],
    grant: &Grant,
    say: impl FnOnce(&Offer<'_>) -> T,
) -> T {
    let by_command = delegation.surface == Surface::Shell;
    let offers = roles.iter().map(|role| RoleOffer { name: &role.name, description: &role.description });
    let models = parts.models.names();
    let places = parts.workers.as_ref().map(|workers| workers.places()).unwrap_or_default();
    let uses = roles.iter().filter(|_| by_command).map(|role| shell_rights::uses(role));
    say(&Offer {
        roles: &offers.collect::<Vec<_>>(),
        may_delegate: !roles.is_empty(),
        team: delegation.team,
        merges: parts.site.is_repository(),
        models: &models,
        endpoints: &parts.models.endpoints(),
        places: &places,
        shell_tools: tools,
        denied: &shell_rights::denied(&grant.tools),
        uses: &uses.collect::<Vec<_>>(),
    })
}

/// The project's file that a role comes from, if the person has not trusted it as it is.
pub(crate) fn strange_file(delegation: &Delegation, role: &Role) -> Option<String> {
    match &role.origin {
        RoleOrigin::Project(path) if !delegation.trusted_files.contains(path) => Some(path.clone()),
        _ => None,
    }
}
