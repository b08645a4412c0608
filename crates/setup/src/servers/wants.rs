//! What servers of a project's files would be allowed, for whoever decides about trust.

use std::collections::BTreeMap;

use posse_engine::roles::RoleServers;
use posse_mcp::{EntryOrigin, entries_in, read_entries};
use serde_json::{Map, Value};

use crate::config::ServerFile;
use crate::surroundings::{ShownPath, Surroundings};

/// A project's `.mcp.json`.
pub(crate) fn shared_file_wants(text: &str, file: &ShownPath, person: &Surroundings) -> Vec<String> {
    entries_in(text).map_or_else(|_| Vec::new(), |servers| servers_want(&servers, file, person))
}

/// An agent file.
pub(crate) fn agent_file_wants(
    servers: &RoleServers,
    file: &ShownPath,
    person: &Surroundings,
) -> Vec<String> {
    match &servers.servers {
        Ok(Value::Object(servers)) => servers_want(servers, file, person),
        Ok(Value::Array(items)) => {
            let described = items.iter().filter_map(Value::as_object);
            described.flat_map(|servers| servers_want(servers, file, person)).collect()
        }
        _ => Vec::new(),
    }
}

/// The servers of a configuration file.
pub(crate) fn configured_wants(
    servers: &BTreeMap<String, ServerFile>,
    file: &ShownPath,
    person: &Surroundings,
) -> Vec<String> {
    let of_one = |(name, server): (&String, &ServerFile)| {
        if !server.is_whole() {
            let sets = server.sets().join(", ");
            return vec![format!("it says what the server {name:?} of other files may do: {sets}")];
        }
        let one = Map::from_iter([(name.clone(), server.as_json())]);
        let mut read = read(&one, file, person);
        let mut wants = left_out(read.mistakes);
        for entry in &mut read.servers {
            let mistakes = server.narrow(entry, false, person);
            wants.extend(entry.wants());
            wants.extend(mistakes.iter().map(|mistake| format!("the server {name:?}: {mistake}")));
        }
        wants
    };
    servers.iter().flat_map(of_one).collect()
}

fn servers_want(servers: &Map<String, Value>, file: &ShownPath, person: &Surroundings) -> Vec<String> {
    let read = read(servers, file, person);
    let wants = read.servers.iter().flat_map(posse_mcp::ServerEntry::wants);
    wants.chain(left_out(read.mistakes)).collect()
}

/// Variables that are not set yet may be later: what is trusted must be known before.
fn read(servers: &Map<String, Value>, file: &ShownPath, person: &Surroundings) -> posse_mcp::ServersRead {
    let origin = EntryOrigin::Project(file.path().to_path_buf());
    read_entries(servers, &origin, |name| {
        Some(person.text(name).map_or_else(|| format!("${{{name}}}"), str::to_owned))
    })
}

fn left_out(mistakes: Vec<String>) -> Vec<String> {
    mistakes.into_iter().map(|mistake| format!("{mistake}; it may run when that is put right")).collect()
}
