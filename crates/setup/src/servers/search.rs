//! Puts servers of many files together: which of two of one name counts, and what the person says of those of others.

use posse_mcp::limits::SERVERS_MAX;
use posse_mcp::{EntryOrigin, entries_in, read_entries, tool_name};
use posse_protocol::visible::one_line;
use serde_json::{Map, Value};

use super::{AgentFileServers, FoundServer, ServerFault, ServerPlace, ServerStanding, ServersFound};
use crate::config::{ConfiguredServers, ServerFile};
use crate::limits::{FAULT_COLUMNS_MAX, FAULTS_MAX};
use crate::surroundings::{ShownPath, Surroundings};

pub(crate) struct ServerSearch<'a> {
    person: &'a Surroundings,
    found: ServersFound,
}

/// A file with servers.
#[derive(Clone, Copy)]
struct ServersPlace<'a> {
    file: &'a ShownPath,
    place: ServerPlace,
    counts: bool,
}

impl FoundServer {
    /// Whether tools of a server with this name would have the same names.
    pub(super) fn is_called(&self, name: &str) -> bool {
        tool_name(&self.name, "") == tool_name(name, "")
    }

    /// Whether no other one can have its name.
    fn has_name(&self) -> bool {
        use ServerStanding::{Counts, Disabled, Faulty};
        matches!(self.standing, Counts | Disabled | Faulty { .. })
    }
}

impl<'a> ServerSearch<'a> {
    pub(crate) fn new(person: &'a Surroundings) -> Self {
        Self { person, found: ServersFound::default() }
    }

    /// The servers of a configuration file.
    pub(crate) fn configured(&mut self, file: &ConfiguredServers) {
        let place = if file.own { ServerPlace::Own } else { ServerPlace::Project };
        let at = ServersPlace { file: &file.file, place, counts: file.trusted };
        for (name, server) in file.servers.iter().filter(|(_, server)| server.is_whole()) {
            self.add(at, name, &server.as_json());
            if let Some(mut added) = self.found.servers.pop() {
                self.narrow(&mut added, server, file);
                self.found.servers.push(added);
            }
        }
    }

    /// The servers of a project's `.mcp.json`.
    pub(crate) fn shared(&mut self, file: &ShownPath, text: &str, trusted: bool) {
        let at = ServersPlace { file, place: ServerPlace::Shared, counts: trusted };
        match entries_in(text) {
            Ok(servers) => servers.iter().for_each(|(name, server)| self.add(at, name, server)),
            Err(why) => self.fault(file, why),
        }
    }

    /// The servers that an agent file describes.
    pub(crate) fn agent(&mut self, agent: &AgentFileServers) {
        let place = if agent.own { ServerPlace::OwnAgent } else { ServerPlace::ProjectAgent };
        let at = ServersPlace { file: &agent.file, place, counts: agent.trusted };
        match &agent.servers {
            Ok(Value::Object(servers)) => {
                servers.iter().for_each(|(name, server)| self.add(at, name, server));
            }
            Ok(Value::Array(items)) => {
                let servers = items.iter().filter_map(Value::as_object).flatten();
                servers.for_each(|(name, server)| self.add(at, name, server));
            }
            // One name is a short list.
            Ok(Value::String(_)) => {}
            Ok(_) => self.fault(&agent.file, "its mcpServers are neither servers by name nor a list"),
            Err(why) => self.fault(&agent.file, *why),
        }
    }

    /// Says that something is wrong in a file.
    pub(crate) fn fault(&mut self, file: &ShownPath, fault: impl AsRef<str>) {
        if self.found.faults.len() < FAULTS_MAX {
            let fault = one_line(fault.as_ref(), FAULT_COLUMNS_MAX);
            self.found.faults.push(ServerFault { file: file.clone(), fault });
        }
    }

    fn add(&mut self, at: ServersPlace<'_>, name: &str, written: &Value) {
        let ServersPlace { file, place, counts } = at;
        let path = file.path().to_path_buf();
        let origin = if place.is_own() { EntryOrigin::Person(path) } else { EntryOrigin::Project(path) };
        let mut written = written.clone();
        let disabled = written.as_object_mut().and_then(|entry| entry.remove("disabled"));
        let one = Map::from_iter([(name.to_owned(), written)]);
        let mut read = read_entries(&one, &origin, |name| self.person.text(name).map(str::to_owned));
        let (entry, mistake) = (read.servers.pop(), read.mistakes.pop());
        let standing = match mistake {
            _ if !counts => ServerStanding::NotTrusted,
            _ if disabled == Some(Value::Bool(true)) => ServerStanding::Disabled,
            Some(why) => {
                self.fault(file, &why);
                ServerStanding::Faulty { why }
            }
            None => ServerStanding::Counts,
        };
        let name = one_line(name, FAULT_COLUMNS_MAX);
        self.found.servers.push(FoundServer { name, file: file.clone(), place, entry, standing });
    }

    /// Lets a section say what a server may do.
    fn narrow(&mut self, server: &mut FoundServer, section: &ServerFile, from: &ConfiguredServers) {
        if let Some(entry) = &mut server.entry {
            for mistake in section.narrow(entry, from.own, self.person) {
                self.fault(&from.file, format!("the server {:?}: {mistake}", server.name));
            }
        }
        match (&server.standing, section.disabled) {
            (ServerStanding::Counts | ServerStanding::Faulty { .. }, Some(true)) => {
                server.standing = ServerStanding::Disabled;
            }
            (ServerStanding::Disabled, Some(false)) if server.entry.is_some() => {
                server.standing = ServerStanding::Counts;
            }
            _ => {}
        }
    }

    /// Decides which of them count.
    pub(crate) fn settled(
        mut self,
        configured: &[ConfiguredServers],
        agents: &[AgentFileServers],
    ) -> ServersFound {
        // The person's own file has the last word.
        for file in configured.iter().rev().filter(|file| file.trusted) {
            for (name, section) in file.servers.iter().filter(|(_, section)| !section.is_whole()) {
                self.narrow_others(file, name, section);
            }
        }
        self.replace();
        let counting = self.found.servers.iter_mut().filter(|one| one.standing == ServerStanding::Counts);
        if let Some(first) = counting.skip(SERVERS_MAX).map(too_many).last() {
            self.fault(&first, format!("more than {SERVERS_MAX} servers: the others are left out"));
        }
        agents.iter().filter(|file| file.trusted).for_each(|file| self.check_names(file));
        self.found
    }

    /// A section that does not say how a server is reached is about those of other files.
    fn narrow_others(&mut self, from: &ConfiguredServers, name: &str, section: &ServerFile) {
        let mut servers = std::mem::take(&mut self.found.servers);
        let mut meant = false;
        for server in servers.iter_mut().filter(|server| server.is_called(name)) {
            if from.own || !server.place.is_own() {
                meant = true;
                self.narrow(server, section, from);
            }
        }
        self.found.servers = servers;
        if !meant && from.own {
            let (file, place) = (from.file.clone(), ServerPlace::Own);
            let (name, standing) = (name.to_owned(), ServerStanding::Unused);
            self.found.servers.push(FoundServer { name, file, place, entry: None, standing });
        } else if !meant {
            let why = "it has neither a command nor a url, and no other file has a server of this name";
            self.fault(&from.file, format!("the server {name:?} is left out: {why}"));
        }
    }

    /// Of several with one name the first counts.
    fn replace(&mut self) {
        for at in 0..self.found.servers.len() {
            let (before, rest) = self.found.servers.split_at_mut(at);
            let Some(server) = rest.first_mut().filter(|server| server.has_name()) else { continue };
            if let Some(other) = before.iter().find(|one| one.has_name() && one.is_called(&server.name)) {
                server.standing = ServerStanding::Replaced { by: other.file.clone() };
            }
        }
    }

    /// Looks for names of servers that are nowhere.
    fn check_names(&mut self, agent: &AgentFileServers) {
        let items = match &agent.servers {
            Ok(Value::Array(items)) => items.as_slice(),
            Ok(one @ Value::String(_)) => std::slice::from_ref(one),
            _ => return,
        };
        for name in items.iter().filter_map(Value::as_str) {
            if !self.found.servers.iter().any(|server| server.is_called(name)) {
                let name = one_line(name, FAULT_COLUMNS_MAX);
                self.fault(&agent.file, format!("it names the server {name:?}, which no file describes"));
            }
        }
    }
}

/// Leaves a server out, and gives back its file.
fn too_many(server: &mut FoundServer) -> ShownPath {
    server.standing = ServerStanding::Faulty { why: format!("there are more than {SERVERS_MAX} servers") };
    server.file.clone()
}
