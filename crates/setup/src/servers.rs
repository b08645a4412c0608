//! The servers whose tools agents of a session may call: gathered from the configuration, `.mcp.json` and agent files. Those of
//! a project count only if the person has trusted that very content. A mistake is told and stops nothing else.

mod change;
mod search;
mod wants;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use posse_engine::roles::{LoadedRoles, load_roles, project_role_places};
use posse_mcp::ServerEntry;
use posse_protocol::RoleOrigin;
use posse_roles::Team;
use serde_json::Value;

pub use change::{
    NewServer, NewServerTarget, ServerFileChoice, ServerFileError, add_server, remove_server_from,
};
pub(crate) use search::ServerSearch;
pub(crate) use wants::{agent_file_wants, configured_wants, shared_file_wants};

use crate::config::{Config, Trusted, closest_file};
use crate::error::{ConfigError, PrepareError};
use crate::limits::SERVERS_FILE_BYTES_MAX;
use crate::paths::Paths;
use crate::roles::own_role_places;
use crate::surroundings::{ShownPath, Surroundings};
use crate::warning::SetupWarning;

/// The file in which a project shares its servers with every program.
pub const SERVERS_FILE: &str = ".mcp.json";

/// A server as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundServer {
    /// Its name.
    pub name: String,
    /// The file.
    pub file: ShownPath,
    /// What kind of file that is.
    pub place: ServerPlace,
    /// How it is reached and what it may do, where that can be understood.
    pub entry: Option<ServerEntry>,
    /// Whether it counts.
    pub standing: ServerStanding,
}

/// Where a server is written down, in the order in which they count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ServerPlace {
    /// The person's own configuration.
    Own,
    /// The project's configuration.
    Project,
    /// The project's `.mcp.json`.
    Shared,
    /// An agent file of the person's own.
    OwnAgent,
    /// An agent file of the project.
    ProjectAgent,
}

impl ServerPlace {
    /// Whether it is the person's own.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Own | Self::OwnAgent)
    }
}

/// Whether a server counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerStanding {
    /// Sessions have it.
    Counts,
    /// Nobody has trusted its file as it is.
    NotTrusted,
    /// It says so itself, or the person does.
    Disabled,
    /// Another one of this name counts.
    Replaced {
        /// The file of the other.
        by: ShownPath,
    },
    /// There is a mistake in it.
    Faulty {
        /// What is wrong, in one line.
        why: String,
    },
    /// It is about a server of this name, and there is none here.
    Unused,
}

/// Something wrong in a file with servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerFault {
    /// The file.
    pub file: ShownPath,
    /// What is wrong, in one line.
    pub fault: String,
}

/// All that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServersFound {
    /// The servers, in the order in which they count.
    pub servers: Vec<FoundServer>,
    /// Mistakes.
    pub faults: Vec<ServerFault>,
}

/// What one agent file says of servers.
#[derive(Clone, Debug)]
pub(crate) struct AgentFileServers {
    pub(crate) file: ShownPath,
    pub(crate) own: bool,
    pub(crate) trusted: bool,
    pub(crate) servers: Result<Value, &'static str>,
}

impl ServersFound {
    /// The servers that sessions have.
    pub fn entries(&self) -> Vec<ServerEntry> {
        let counting = self.servers.iter().filter(|server| server.standing == ServerStanding::Counts);
        counting.filter_map(|server| server.entry.clone()).collect()
    }

    /// What the person should know before a session.
    pub(crate) fn warnings(&self) -> Vec<SetupWarning> {
        let fault = |one: &ServerFault| SetupWarning::ServerFault {
            path: one.file.clone(),
            fault: one.fault.clone(),
        };
        let mut warnings = self.faults.iter().map(fault).collect::<Vec<_>>();
        for server in &self.servers {
            let ServerStanding::Replaced { by } = &server.standing else { continue };
            let other = self.servers.iter().find(|other| other.file == *by && other.is_called(&server.name));
            let reach = |server: &FoundServer| server.entry.as_ref().map(|entry| entry.reach.clone());
            let told = other.is_some_and(|other| {
                other.standing == ServerStanding::Counts && reach(other) != reach(server)
            });
            if told {
                let (name, left_out, counts) = (server.name.clone(), server.file.clone(), by.clone());
                warnings.push(SetupWarning::ServerTwice { name, counts, left_out });
            }
        }
        // What a project's configuration wants is told with its other settings.
        let asleep = |server: &&FoundServer| {
            server.standing == ServerStanding::NotTrusted && server.place != ServerPlace::Project
        };
        let asleep = self.servers.iter().filter(asleep).collect::<Vec<_>>();
        if let Some(first) = asleep.first() {
            let files = asleep.iter().map(|server| server.file.path()).collect::<BTreeSet<_>>();
            let servers = asleep.iter().map(|server| server.name.clone()).collect();
            let (path, more) = (first.file.clone(), files.len() - 1);
            warnings.push(SetupWarning::ServersNotTrusted { path, more, servers });
        }
        warnings
    }
}

/// All servers that somebody who works in a folder, links resolved, has or could have.
pub fn servers_in(paths: &Paths, folder: &Path) -> Result<ServersFound, PrepareError> {
    let (config, trusted) = (Config::load(paths, folder)?, Trusted::load(paths)?);
    let places = own_role_places(paths).into_iter().chain(project_role_places(folder)).collect::<Vec<_>>();
    let loaded = load_roles(Team::Without, &places);
    let holds = |(path, text): &&(String, String)| trusted.holds(Path::new(path), text);
    let files = loaded.project_files.iter().filter(holds).map(|(path, _)| path.clone()).collect();
    let agents = agent_file_servers(&loaded, &files, paths.surroundings());
    Ok(find_servers(paths, folder, &config, &trusted, &agents))
}

/// The same, where all that is read already. A file of the project that cannot be read is a mistake like any other.
pub(crate) fn find_servers(
    paths: &Paths,
    folder: &Path,
    config: &Config,
    trusted: &Trusted,
    agents: &[AgentFileServers],
) -> ServersFound {
    let person = paths.surroundings();
    let mut search = ServerSearch::new(person);
    config.servers.iter().for_each(|file| search.configured(file));
    match shared_file(folder, person) {
        Ok(Some((file, text))) => search.shared(&file, &text, trusted.holds(file.path(), &text)),
        Ok(None) => {}
        Err(error) => search.fault(&person.shown(&folder.join(SERVERS_FILE)), error.to_string()),
    }
    agents.iter().filter(|file| file.own).for_each(|file| search.agent(file));
    agents.iter().filter(|file| !file.own).for_each(|file| search.agent(file));
    search.settled(&config.servers, agents)
}

/// What agent files say of servers. `trusted` are the project's that were trusted.
pub(crate) fn agent_file_servers(
    loaded: &LoadedRoles,
    trusted: &BTreeSet<String>,
    surroundings: &Surroundings,
) -> Vec<AgentFileServers> {
    let of_file = |servers: &posse_engine::roles::RoleServers| {
        let (path, own) = match &servers.origin {
            RoleOrigin::User(path) => (path, true),
            RoleOrigin::Project(path) => (path, false),
            RoleOrigin::BuiltIn => return None,
        };
        Some(AgentFileServers {
            file: surroundings.shown(Path::new(path)),
            own,
            trusted: own || trusted.contains(path),
            servers: servers.servers.clone(),
        })
    };
    loaded.servers.iter().filter_map(of_file).collect()
}

/// The project's `.mcp.json`, the closest one up to the top of the repository.
pub(crate) fn shared_file(
    folder: &Path,
    surroundings: &Surroundings,
) -> Result<Option<(ShownPath, String)>, ConfigError> {
    closest_file(folder, SERVERS_FILE, SERVERS_FILE_BYTES_MAX, surroundings)
}

/// Where what servers keep from one session to the next is.
pub fn servers_folder(paths: &Paths) -> PathBuf {
    paths.data_dir.join("mcp")
}
