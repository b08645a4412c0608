//! Decides on which machine an agent runs: what the task says counts first, then its role, then the configuration.

use posse_protocol::{ANYWHERE, AgentId, HOME, Role, Task};

use crate::agents::offer::strange_file;
use crate::agents::sub_agents::Delegation;
use crate::crew::Crew;
use crate::remote::WantedPlace;

/// The worker or the label of workers that an agent is to run on; none if it runs here. The error is for the model that asked.
pub(super) fn place_of(
    crew: &Crew,
    delegation: &Delegation,
    parent: AgentId,
    task: &Task,
    role: &Role,
    model: &str,
) -> Result<Option<String>, String> {
    // A stranger's file has no say in where code goes.
    let of_role = role.on.as_ref().filter(|_| strange_file(delegation, role).is_none());
    let asked = task.on.as_ref().or(of_role).or(delegation.sub_agents.on.as_ref());
    let Some(on) = asked.map(|on| on.trim()).filter(|on| !on.is_empty() && *on != HOME) else {
        return Ok(None);
    };
    let anywhere = on == ANYWHERE;
    let placed = cannot_travel(crew, parent).map_or_else(
        || match &crew.workers {
            Some(workers) => workers.place(&WantedPlace { on, model }),
            None => Err(format!("There are no workers, so nothing can run on {on}; leave `on` out.")),
        },
        |why| Err(format!("It cannot run on {on}: {why}.")),
    );
    match placed {
        Ok(true) => Ok(Some(on.to_string())),
        Ok(false) => Ok(None),
        Err(_) if anywhere => Ok(None),
        Err(why) => Err(why),
    }
}

/// Why no agent of this one can run on a worker, if so.
fn cannot_travel(crew: &Crew, parent: AgentId) -> Option<&'static str> {
    if crew.hooks.is_some() {
        return Some("this session has hooks, which look at calls here and do not travel");
    }
    if !crew.tools.sandbox.on {
        return Some("this session has no sandbox");
    }
    (!crew.site(parent).is_repository())
        .then_some("the folder is no git repository, and its files travel by git")
}
