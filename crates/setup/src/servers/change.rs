//! Adds and removes servers: in the person's own configuration, or in the project's `.mcp.json`.

use std::path::{Path, PathBuf};

use posse_mcp::{EntryOrigin, entries_in, is_reference, read_entries, tool_name};
use posse_workspace::{Expect, Permit, Workspace};
use serde_json::{Map, Value};

use super::{SERVERS_FILE, shared_file};
use crate::config::{RuleFileError, ServerFile, WrittenValue, remove_server, save_server};
use crate::error::ConfigError;
use crate::limits::SERVERS_FILE_BYTES_MAX;
use crate::paths::Paths;
use crate::surroundings::{ShownPath, Surroundings};

/// A server to be written down.
pub struct NewServer {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub target: NewServerTarget,
    /// Variables of a program, or headers for an address. They may be secrets.
    pub values: Vec<(String, String)>,
}

/// How a new server is reached.
pub enum NewServerTarget {
    /// A program and its arguments.
    Command(Vec<String>),
    /// An address.
    Url(String),
}

/// Which file is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerFileChoice {
    /// The person's own configuration.
    Own,
    /// The project's `.mcp.json`.
    Project,
}

/// Why a server was not added or removed. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum ServerFileError {
    /// The person's own file cannot be changed.
    #[error(transparent)]
    Own(#[from] RuleFileError),
    /// The project's file cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The project's file cannot be written, or is not understood.
    #[error("{path} was not changed: {why}")]
    Shared {
        /// The file.
        path: ShownPath,
        /// Why.
        why: String,
    },
    /// It could not be used.
    #[error("it was not added: {why}")]
    Wrong {
        /// Why.
        why: String,
    },
    /// There is one of this name.
    #[error("{path} has a server {name:?} already; remove it first: posse mcp remove {name:?}{flag}")]
    Exists {
        /// The file.
        path: ShownPath,
        /// The name.
        name: String,
        /// What to type besides.
        flag: &'static str,
    },
}

impl NewServer {
    /// Whether it has a value that is more than the name of a variable.
    pub fn has_literals(&self) -> bool {
        self.values.iter().any(|(_, value)| !is_reference(value))
    }

    fn section(&self) -> ServerFile {
        let mut section = ServerFile::default();
        let values = self.values.iter().map(|(name, value)| (name.clone(), WrittenValue(value.clone())));
        match &self.target {
            NewServerTarget::Command(words) => {
                section.command = words.first().cloned();
                section.args = words.iter().skip(1).cloned().collect();
                section.env = values.collect();
            }
            NewServerTarget::Url(url) => {
                section.url = Some(url.clone());
                section.headers = values.collect();
            }
        }
        section
    }

    /// The same for `.mcp.json`.
    fn as_json(&self) -> Value {
        let mut entry = match self.section().as_json() {
            Value::Object(entry) => entry,
            _ => Map::new(),
        };
        entry.retain(|_, value| match value {
            Value::Array(all) => !all.is_empty(),
            Value::Object(all) => !all.is_empty(),
            _ => true,
        });
        if entry.contains_key("url") {
            entry.shift_insert(0, "type".to_owned(), "http".into());
        }
        Value::Object(entry)
    }

    /// Whether it could be used. Variables may be set later.
    fn check(&self) -> Result<(), ServerFileError> {
        let one = Map::from_iter([(self.name.clone(), self.as_json())]);
        let origin = EntryOrigin::Person(PathBuf::new());
        let read = read_entries(&one, &origin, |name| Some(format!("${{{name}}}")));
        read.mistakes.into_iter().next().map_or(Ok(()), |why| Err(ServerFileError::Wrong { why }))
    }
}

/// Writes a server down, and gives back where.
pub fn add_server(
    paths: &Paths,
    folder: &Path,
    server: &NewServer,
    choice: ServerFileChoice,
) -> Result<ShownPath, ServerFileError> {
    server.check()?;
    match choice {
        ServerFileChoice::Own => {
            let path = paths.shown(&paths.config);
            if server.has_literals() {
                make_private(path.path()).map_err(|source| ConfigError::Unwritable {
                    path: path.clone(),
                    source: source.into(),
                })?;
            }
            match save_server(paths, &server.name, &server.section())? {
                true => Ok(path),
                false => Err(ServerFileError::Exists { path, name: server.name.clone(), flag: "" }),
            }
        }
        ServerFileChoice::Project => {
            let (path, done) = change_shared(folder, paths.surroundings(), |servers| {
                let exists = servers.keys().any(|known| tool_name(known, "") == tool_name(&server.name, ""));
                if !exists {
                    servers.insert(server.name.clone(), server.as_json());
                }
                !exists
            })?;
            let flag = " --project";
            if done {
                Ok(path)
            } else {
                Err(ServerFileError::Exists { path, name: server.name.clone(), flag })
            }
        }
    }
}

/// Removes a server, and gives back from where; none if the file has none of this name.
pub fn remove_server_from(
    paths: &Paths,
    folder: &Path,
    name: &str,
    choice: ServerFileChoice,
) -> Result<Option<ShownPath>, ServerFileError> {
    let (path, done) = match choice {
        ServerFileChoice::Own => (paths.shown(&paths.config), remove_server(paths, name)?),
        ServerFileChoice::Project => change_shared(folder, paths.surroundings(), |servers| {
            let before = servers.len();
            servers.retain(|known, _| known != name);
            servers.len() < before
        })?,
    };
    Ok(done.then_some(path))
}

/// Changes the servers of the project's file, or of a new one; `edit` says whether there is something to write.
fn change_shared(
    folder: &Path,
    surroundings: &Surroundings,
    edit: impl FnOnce(&mut Map<String, Value>) -> bool,
) -> Result<(ShownPath, bool), ServerFileError> {
    let found = shared_file(folder, surroundings)?;
    let path = found
        .as_ref()
        .map_or_else(|| surroundings.shown(&folder.join(SERVERS_FILE)), |(path, _)| path.clone());
    let wrong = |why: String| ServerFileError::Shared { path: path.clone(), why };
    let at = path.path().parent().unwrap_or(folder);
    let project =
        Workspace::open(at).map_err(|error| wrong(error.to_string()))?.permitting(Permit::Everything);
    let place = project.resolve(SERVERS_FILE).map_err(|error| wrong(error.to_string()))?;
    let (text, expect) = match found {
        Some(_) => {
            let read =
                project.read(&place, SERVERS_FILE_BYTES_MAX).map_err(|error| wrong(error.to_string()))?;
            let text = String::from_utf8(read.0).map_err(|_| wrong("it is no text".to_owned()))?;
            (text, Expect::Unchanged(read.1))
        }
        None => ("{}".to_owned(), Expect::Absent),
    };
    let mut servers = entries_in(&text).map_err(wrong)?;
    if !edit(&mut servers) {
        return Ok((path, false));
    }
    let mut whole: Value = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .map_err(|error| wrong(error.to_string()))?;
    let key = if whole.get("servers").is_some() && whole.get("mcpServers").is_none() {
        "servers"
    } else {
        "mcpServers"
    };
    whole[key] = Value::Object(servers);
    let text = serde_json::to_string_pretty(&whole).map_err(|error| wrong(error.to_string()))?;
    let written = project.write_atomic(&place, format!("{text}\n").as_bytes(), expect);
    written.map_err(|error| wrong(error.to_string()))?;
    Ok((path, true))
}

/// Lets nobody else read a file that is there.
fn make_private(path: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    if path.exists() {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}
