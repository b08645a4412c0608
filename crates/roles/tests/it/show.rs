//! A parsed file in one line, so that a case can be compared as a whole.

use std::collections::BTreeSet;

use posse_protocol::{Approval, Files, NameRules, Network, Role, RoleOrigin, Shell};
use posse_roles::{Parsed, Warning};

/// Everything that is not the default, in a fixed order.
pub(crate) fn show(parsed: &Parsed) -> String {
    let mut parts = match &parsed.role {
        Ok(role) => of_role(role),
        Err(error) => vec![format!("ERROR {} {}", error.line(), clipped(&error.to_string()))],
    };
    parts.extend(
        parsed.warnings.iter().map(|warning| format!("!{} {}", warning.line, clipped(&warning.text))),
    );
    if !parsed.not_used.is_empty() {
        let word = |warning: &Warning| warning.text.split('"').nth(1).unwrap_or("?").to_string();
        parts.push(format!("unused {}", parsed.not_used.iter().map(word).collect::<Vec<_>>().join(",")));
    }
    parts.join(" | ")
}

fn of_role(role: &Role) -> Vec<String> {
    let grant = &role.grant;
    let mut parts = vec![
        role.name.clone(),
        format!("{} {} {}", files(grant.files), shell(grant.shell), network(&grant.network)),
        rules(&grant.tools),
        format!("to {}", rules(&grant.delegates)),
    ];
    let mut add = |name: &str, value: Option<String>| {
        parts.extend(value.map(|value| format!("{name} {value}")));
    };
    add("model", role.model.clone());
    add("turns", role.budget.turns.map(|n| n.to_string()));
    add("tokens", role.budget.tokens.map(|n| n.to_string()));
    add("ms", role.budget.time_ms.map(|n| n.to_string()));
    add("usd", role.budget.cost_usd.map(|n| n.to_string()));
    add("out", role.max_output_tokens.map(|n| n.to_string()));
    add("aliases", (!role.aliases.is_empty()).then(|| role.aliases.join(",")));
    add("single", role.single.then(String::new));
    add("by task", role.tools_listed_by_task.then(String::new));
    let layer = |layer: &BTreeSet<String>| layer.iter().cloned().collect::<Vec<_>>().join(",");
    let roots = grant.writes.roots.iter().map(layer).collect::<Vec<_>>();
    add("roots", (!roots.is_empty()).then(|| roots.join(" and ")));
    add("except", (!grant.writes.except.is_empty()).then(|| format!("[{}]", layer(&grant.writes.except))));
    add(
        "approval",
        (grant.approval != Approval::Full).then(|| format!("{:?}", grant.approval).to_lowercase()),
    );
    add("isolation", role.isolation.map(|isolation| format!("{isolation:?}").to_lowercase()));
    add("on", role.on.clone());
    add("notes", role.inherit_context_file.map(|b| b.to_string()));
    add("memory", role.inherit_memory.map(|b| b.to_string()));
    add("d", Some(clipped(&role.description)));
    add("p", Some(clipped(&role.prompt)));
    assert!(matches!(role.origin, RoleOrigin::BuiltIn | RoleOrigin::User(_)));
    parts
}

fn files(files: Files) -> &'static str {
    match files {
        Files::None => "none",
        Files::Read => "read",
        Files::Write => "write",
    }
}

fn shell(shell: Shell) -> &'static str {
    match shell {
        Shell::None => "none",
        Shell::Inspect => "inspect",
        Shell::Verify => "verify",
        Shell::Full => "full",
    }
}

fn network(network: &Network) -> String {
    match network {
        Network::None => "none".to_string(),
        Network::Full => "full".to_string(),
        Network::Hosts(hosts) => hosts.iter().cloned().collect::<Vec<_>>().join("+"),
    }
}

/// `all`, `nothing`, or the names; denied ones after a minus.
pub(crate) fn rules(rules: &NameRules) -> String {
    let layers = rules.allow.iter().map(|layer| layer.iter().cloned().collect::<Vec<_>>().join(","));
    let allowed = match layers.collect::<Vec<_>>().join(" and ") {
        text if rules.allow.is_empty() => format!("all{text}"),
        text if text.is_empty() => "nothing".to_string(),
        text => text,
    };
    let denied = rules.deny.iter().map(|name| format!(" -{name}")).collect::<String>();
    format!("{allowed}{denied}")
}

/// At most 70 characters, in one line.
fn clipped(text: &str) -> String {
    let line = text.replace('\n', "⏎").replace('\t', "⇥");
    match line.chars().count() {
        0..=70 => line,
        _ => format!("{}…{}", take(&line, 0, 45), take(&line, line.chars().count() - 24, 24)),
    }
}

fn take(text: &str, from: usize, count: usize) -> String {
    text.chars().skip(from).take(count).collect()
}
