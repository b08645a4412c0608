//! Decides by an agent's grant which tools it is offered and which calls may run.

use posse_protocol::{Approval, Files, Grant, NameRules, Network, Shell, ToolSpec};

use crate::pattern::matches;

/// The answer to "may this call run?".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may.
    Allow,
    /// A person must say so; the text is what to ask.
    Ask(String),
    /// It may not; the text says why, to a model.
    Deny(String),
}

/// Whether a tool is shown to the model at all.
pub fn offers(grant: &Grant, tool: &ToolSpec) -> bool {
    !matches!(decide(grant, tool), Decision::Deny(_))
}

/// Whether a call of a tool may run under a grant.
pub fn decide(grant: &Grant, tool: &ToolSpec) -> Decision {
    let name = &tool.name;
    if !passes(&grant.tools, name) {
        return Decision::Deny(format!("this agent may not use {name}"));
    }
    if grant.files < tool.needs.files {
        return Decision::Deny(match tool.needs.files {
            Files::Write => format!("this agent may not write files, so {name} is not available to it"),
            _ => format!("this agent may not read files, so {name} is not available to it"),
        });
    }
    if grant.shell < tool.needs.shell {
        let has = match grant.shell {
            Shell::None => "has no shell",
            Shell::Inspect => "may only inspect",
            Shell::Verify => "may only verify",
            Shell::Full => "has a full shell",
        };
        return Decision::Deny(format!("this agent {has}, so {name} is not available to it"));
    }
    if tool.needs.network && grant.network == Network::None {
        return Decision::Deny(format!("this agent has no network, so {name} is not available to it"));
    }
    let plans = grant.approval == Approval::Plan;
    if plans && (tool.needs.files == Files::Write || tool.needs.shell > Shell::Inspect || tool.needs.network)
    {
        return Decision::Deny(format!(
            "in plan mode nothing is written or reached outside, so {name} is not available"
        ));
    }
    Decision::Allow
}

/// The level at which an agent's commands run: in plan mode nothing is written.
pub fn shell_level(grant: &Grant) -> Shell {
    match grant.approval {
        Approval::Plan => grant.shell.min(Shell::Inspect),
        _ => grant.shell,
    }
}

/// Whether the fetch tool may reach a host. Hosts are compared without regard to case or a final dot.
pub fn reaches(network: &Network, host: &str) -> bool {
    let host = host.trim_end_matches('.');
    match network {
        Network::None => false,
        Network::Full => true,
        Network::Hosts(hosts) => hosts.iter().any(|h| h.trim_end_matches('.').eq_ignore_ascii_case(host)),
    }
}

/// Whether an agent with this grant may delegate to a role.
pub fn delegates_to(grant: &Grant, role: &str) -> bool {
    passes(&grant.delegates, role)
}

/// Whether a name is allowed by rules.
pub fn passes(rules: &NameRules, name: &str) -> bool {
    let allowed = rules.allow.iter().all(|layer| layer.iter().any(|p| matches(p, name)));
    allowed && !rules.deny.iter().any(|p| matches(p, name))
}
