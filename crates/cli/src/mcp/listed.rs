//! `posse mcp list`.

use posse_mcp::{ServerConfinement, ServerEntry, ServerReach, WorkspaceAccess};
use posse_setup::{FoundServer, Paths, ServerPlace, ServerStanding, servers_in};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::limits::{SERVER_COMMAND_COLUMNS_MAX, SERVER_FACTS_COLUMNS_MAX};
use crate::output::{self, Style, one_line};
use crate::surroundings::real_folder;

pub(super) fn list(paths: &Paths, json: bool) -> anyhow::Result<Exit> {
    let found = servers_in(paths, &real_folder()?)?;
    if json {
        found.servers.iter().map(as_json).try_for_each(|line| output::print_json(&line))?;
        return Ok(Exit::Completed);
    }
    let style = Style::for_stdout();
    let mut text = String::new();
    for server in &found.servers {
        let shown = server.entry.as_ref().map(ServerEntry::shown).unwrap_or_default();
        text.push_str(&format!(
            "{}  {}\n",
            style.bold(&server.name),
            one_line(&shown, SERVER_COMMAND_COLUMNS_MAX)
        ));
        let mut facts = vec![server.file.to_string()];
        facts.extend(standing(server));
        facts.extend(server.entry.iter().flat_map(limits_of));
        text.push_str(&format!(
            "    {}\n",
            style.dim(&one_line(&facts.join("; "), SERVER_FACTS_COLUMNS_MAX))
        ));
    }
    for fault in &found.faults {
        text.push_str(&style.yellow(&format!("{}: {}", fault.file, fault.fault)));
        text.push('\n');
    }
    if found.servers.is_empty() && found.faults.is_empty() {
        text =
            "No servers yet. Add one: posse mcp add NAME -- COMMAND, or posse mcp add NAME URL\n".to_owned();
    }
    output::print(&text)?;
    Ok(Exit::Completed)
}

/// Why it does not run; none if it does.
pub(super) fn standing(server: &FoundServer) -> Option<String> {
    Some(match &server.standing {
        ServerStanding::Counts => return None,
        ServerStanding::NotTrusted => "does not run before posse trust".to_owned(),
        ServerStanding::Disabled => "disabled".to_owned(),
        ServerStanding::Replaced { by } => format!("left out: the one in {by} counts"),
        ServerStanding::Faulty { why } => why.clone(),
        ServerStanding::Unused => "about a server of this name, and there is none here".to_owned(),
    })
}

/// What differs from what every server may do.
fn limits_of(entry: &ServerEntry) -> Vec<String> {
    let ServerConfinement { sandbox, network, workspace, readable } = &entry.confinement;
    let is_program = matches!(entry.reach, ServerReach::Program { .. });
    let names = entry.value_names().collect::<Vec<_>>().join(", ");
    let places = readable.iter().map(|path| crate::surroundings::shown(path)).collect::<Vec<_>>().join(", ");
    let facts = [
        (!names.is_empty(), format!("gets {names}")),
        (is_program && !sandbox, "not in the sandbox".to_owned()),
        (is_program && !network, "no network".to_owned()),
        (is_program && *workspace != WorkspaceAccess::Read, format!("workspace: {}", word(*workspace))),
        (is_program && !places.is_empty(), format!("reads {places}")),
        (!entry.tools.is_empty(), format!("tools: {}", entry.tools.join(", "))),
    ];
    facts.into_iter().filter(|(told, _)| *told).map(|(_, fact)| fact).collect()
}

fn word(workspace: WorkspaceAccess) -> &'static str {
    match workspace {
        WorkspaceAccess::None => "none",
        WorkspaceAccess::Read => "read",
        WorkspaceAccess::Write => "write",
    }
}

fn as_json(server: &FoundServer) -> Value {
    let place = match server.place {
        ServerPlace::Own => "own_configuration",
        ServerPlace::Project => "project_configuration",
        ServerPlace::Shared => "mcp_json",
        ServerPlace::OwnAgent | ServerPlace::ProjectAgent => "agent_file",
    };
    let mut line = json!({
        "name": server.name,
        "file": server.file.path(),
        "place": place,
        "own": server.place.is_own(),
        "runs": server.standing == ServerStanding::Counts,
        "trusted": server.standing != ServerStanding::NotTrusted,
        "why_not": standing(server),
    });
    if let (Some(entry), Some(line)) = (&server.entry, line.as_object_mut()) {
        let confinement = &entry.confinement;
        let key = if matches!(entry.reach, ServerReach::Program { .. }) { "command" } else { "url" };
        line.insert(key.to_owned(), entry.shown().into());
        line.insert("gets".to_owned(), entry.value_names().collect());
        line.insert("sandbox".to_owned(), confinement.sandbox.into());
        line.insert("network".to_owned(), confinement.network.into());
        line.insert("workspace".to_owned(), word(confinement.workspace).into());
        line.insert("readable".to_owned(), json!(confinement.readable));
        line.insert("tools".to_owned(), json!(entry.tools));
        line.insert("timeout_ms".to_owned(), json!(entry.timeout.as_millis()));
        line.insert("description".to_owned(), json!(entry.description));
    }
    line
}
