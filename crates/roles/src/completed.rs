//! A file that leaves something out of a role that is known keeps that role's. What it says itself can narrow what the
//! known role may do, never widen it; whom it may delegate to is the file's to say.

use posse_policy::meet;
use posse_protocol::{Budget, Grant, NameRules, Role};

use crate::builtin::{Team, builtin};
use crate::error::RoleError;
use crate::given::Given;
use crate::keys::{FieldKey, RIGHTS};
use crate::name::folded;
use crate::registry::Roles;
use crate::warning::Warning;

impl Roles {
    /// Fills in what a file without a prompt leaves out of a role that is known. None where the known one is not among
    /// these; an error where there is nothing to fill in from. Says what is missing for good.
    pub fn completed(&self, role: Role, given: &Given) -> Result<(Option<Role>, Vec<Warning>), RoleError> {
        if given.prompt {
            return Ok((Some(role), given.missing.clone()));
        }
        let name = folded(&role.name);
        let of_that_name = self.iter().find(|known| folded(&known.name) == name);
        if let Some(known) = of_that_name {
            return Ok((Some(over(known, role, given)), Vec::new()));
        }
        if given.has(FieldKey::Description) {
            return Ok((Some(role), given.missing.clone()));
        }
        if builtin(Team::With).any(|known| folded(&known.name) == name) {
            return Ok((None, Vec::new()));
        }
        match self.find(&role.name) {
            Ok(known) => Ok((Some(over(known, role, given)), Vec::new())),
            Err(unknown) => Err(RoleError::NothingToChange { name: unknown.wanted, likely: unknown.likely }),
        }
    }
}

/// A known role with what a file says of it.
pub(crate) fn over(known: &Role, said: Role, given: &Given) -> Role {
    let rights = given.closed || RIGHTS.iter().any(|key| given.has(*key));
    let grant = if rights { meet(&known.grant, &said.grant) } else { known.grant.clone() };
    let delegates = delegates(&known.grant, &said.grant, given);
    let budget = Budget {
        turns: said.budget.turns.or(known.budget.turns),
        tokens: said.budget.tokens.or(known.budget.tokens),
        time_ms: said.budget.time_ms.or(known.budget.time_ms),
        cost_usd: said.budget.cost_usd.or(known.budget.cost_usd),
    };
    Role {
        name: known.name.clone(),
        display_name: said.display_name.or_else(|| known.display_name.clone()),
        description: if given.has(FieldKey::Description) {
            said.description
        } else {
            known.description.clone()
        },
        aliases: if given.has(FieldKey::Aliases) { said.aliases } else { known.aliases.clone() },
        prompt: if given.prompt { said.prompt } else { known.prompt.clone() },
        grant: Grant { delegates, ..grant },
        model: if given.has(FieldKey::Model) { said.model } else { known.model.clone() },
        budget,
        max_output_tokens: said.max_output_tokens.or(known.max_output_tokens),
        tools_listed_by_task: said.tools_listed_by_task || known.tools_listed_by_task,
        single: said.single || known.single,
        inherit_context_file: said.inherit_context_file.or(known.inherit_context_file),
        inherit_memory: said.inherit_memory.or(known.inherit_memory),
        isolation: said.isolation.or(known.isolation),
        on: said.on.or_else(|| known.on.clone()),
        report: if given.has(FieldKey::Report) { said.report } else { known.report },
        origin: said.origin,
    }
}

/// Whom it may delegate to: those that are named; the known role's where nothing is said, or no more than that it may.
fn delegates(known: &Grant, said: &Grant, given: &Given) -> NameRules {
    let nothing = NameRules::nothing();
    let said_no_more = said.delegates != nothing && known.delegates != nothing;
    let is_said =
        given.has(FieldKey::DelegatesTo) || given.has(FieldKey::CanDelegate) && !said_no_more || given.closed;
    if is_said { said.delegates.clone() } else { known.delegates.clone() }
}
