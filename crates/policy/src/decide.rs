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

/// The tools with which agents look for tools from outside and call them. Rights are about those, so these need none of their own.
const WAYS_OUTSIDE: [&str; 3] = ["tools_find", "tool_call", "mcp_read"];

/// Whether a call of a tool may run under a grant.
pub fn decide(grant: &Grant, tool: &ToolSpec) -> Decision {
    let name = &tool.name;
    if WAYS_OUTSIDE.contains(&name.as_str()) {
        let denied = grant.tools.deny.iter().any(|pattern| matches(pattern, name));
        return match reaches_outside(grant) && !denied {
            _ if grant.approval == Approval::Plan => Decision::Deny(in_plan_mode(name)),
            true => Decision::Allow,
            false => Decision::Deny(format!(
                "this agent may use no tools of servers, so {name} is not available to it; a role that only reads has to name \
                 them in its tools"
            )),
        };
    }
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

/// Whether an agent may use a tool from outside. Nobody knows what one does, so an agent that may not change files uses one only
/// where its rights name it.
pub fn decide_outside(grant: &Grant, name: &str) -> Decision {
    if !passes(&grant.tools, name) {
        return Decision::Deny(format!("this agent may not use {name}"));
    }
    if grant.approval == Approval::Plan {
        return Decision::Deny(format!(
            "in plan mode nothing outside is reached, so {name} is not available"
        ));
    }
    let named = grant.tools.allow.iter().flatten().any(|pattern| pattern.starts_with("mcp_"));
    if grant.files < Files::Write && !named {
        return Decision::Deny(format!(
            "this agent may only read, and nobody knows what a tool of a server changes, so {name} is not available to it \
             unless its role names it in its tools"
        ));
    }
    Decision::Allow
}

fn in_plan_mode(name: &str) -> String {
    format!("in plan mode nothing outside is reached, so {name} is not available")
}

/// Whether there could be a tool from outside that an agent may use.
fn reaches_outside(grant: &Grant) -> bool {
    let any = "mcp__any__any";
    let of_servers = |pattern: &String| pattern.starts_with("mcp_") || matches(pattern, any);
    let allowed = grant.tools.allow.iter().all(|layer| layer.iter().any(of_servers));
    let named = grant.tools.allow.iter().flatten().any(|pattern| pattern.starts_with("mcp_"));
    let denied = grant.tools.deny.iter().any(|pattern| matches(pattern, any));
    allowed && !denied && (named || grant.files == Files::Write)
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
