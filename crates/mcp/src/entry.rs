//! A server as somebody has written it down: how it is reached, and what it may do.

use std::path::PathBuf;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};

use crate::limits;

/// One server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEntry {
    /// Its name, as tools of it are called by: `mcp__NAME__tool`.
    pub name: String,
    /// How it is reached.
    pub reach: ServerReach,
    /// How long it may be silent while it works on a call.
    pub timeout: Duration,
    /// What it is for, in the words of whoever wrote it down.
    pub description: Option<String>,
    /// What a program of this computer may do. Means nothing for one that is reached by its address.
    pub confinement: ServerConfinement,
    /// Where it is written down.
    pub origin: EntryOrigin,
    /// The only tools of it that agents are offered; all of them where nothing is named. Patterns such as `list_*`.
    pub tools: Vec<String>,
    /// Its command line or address as it is written, where variables are not filled in.
    pub(crate) written: Vec<String>,
    /// The variables of the person's that are filled in.
    pub(crate) variables: Vec<String>,
}

/// How a server is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerReach {
    /// A program of this computer, over its standard streams.
    Program {
        /// Its name or path.
        command: String,
        /// Its arguments.
        arguments: Vec<String>,
        /// Variables that it gets.
        env: Vec<(String, SecretValue)>,
    },
    /// An address, over streamable HTTP.
    Address {
        /// `https://…`
        url: String,
        /// Sent with every request.
        headers: Vec<(String, SecretValue)>,
    },
}

/// A value of a variable or a header. It may be a token, so nothing shows it.
#[derive(Clone)]
pub struct SecretValue(SecretString);

impl SecretValue {
    /// Keeps a value.
    pub fn new(value: impl Into<String>) -> Self {
        Self(SecretString::from(value.into()))
    }

    /// The value, for whoever hands it over.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl std::fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

impl PartialEq for SecretValue {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for SecretValue {}

/// What a program may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfinement {
    /// Whether it is confined at all. Only the person's own file may say no.
    pub sandbox: bool,
    /// Whether it reaches the network.
    pub network: bool,
    /// What it may do in the workspace.
    pub workspace: WorkspaceAccess,
    /// What of hidden places it may read. Absolute.
    pub readable: Vec<PathBuf>,
}

impl Default for ServerConfinement {
    fn default() -> Self {
        Self { sandbox: true, network: true, workspace: WorkspaceAccess::Read, readable: Vec::new() }
    }
}

/// What a program may do in the workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkspaceAccess {
    /// It does not see it.
    None,
    /// It reads it.
    Read,
    /// It changes files, but for what other programs act on by themselves.
    Write,
}

/// Where a server is written down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryOrigin {
    /// In a file of the person's own.
    Person(PathBuf),
    /// In a file of the project.
    Project(PathBuf),
}

impl EntryOrigin {
    /// The file.
    pub fn path(&self) -> &PathBuf {
        match self {
            Self::Person(path) | Self::Project(path) => path,
        }
    }
}

impl ServerEntry {
    /// A server with nothing said besides.
    pub fn new(name: impl Into<String>, reach: ServerReach, origin: EntryOrigin) -> Self {
        let written = match &reach {
            ServerReach::Program { command, arguments, .. } => {
                std::iter::once(command).chain(arguments).cloned().collect()
            }
            ServerReach::Address { url, .. } => vec![url.clone()],
        };
        Self {
            name: name.into(),
            reach,
            written,
            variables: Vec::new(),
            timeout: Duration::from_millis(limits::CALL_IDLE_MS),
            description: None,
            confinement: ServerConfinement::default(),
            origin,
            tools: Vec::new(),
        }
    }

    /// The command line or the address, as it may be shown: as it is written, so without values of variables, without what
    /// follows `--token` and the like, and without passwords of addresses.
    pub fn shown(&self) -> String {
        shown_words(&self.written).join(" ")
    }

    /// The variables of the person's environment that are filled in where it is written.
    pub fn variables(&self) -> &[String] {
        &self.variables
    }

    /// The names of its variables or headers.
    pub fn value_names(&self) -> impl Iterator<Item = &str> {
        self.values().map(|(name, _)| name.as_str())
    }

    /// Its variables or headers.
    pub(crate) fn values(&self) -> impl Iterator<Item = &(String, SecretValue)> {
        match &self.reach {
            ServerReach::Program { env, .. } => env.iter(),
            ServerReach::Address { headers, .. } => headers.iter(),
        }
    }

    /// A text of the server without the values that it was given: they may be tokens, and what it says goes on record.
    pub(crate) fn without_values(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in self.values() {
            let value = value.expose();
            // A header says first of what kind its token is.
            let token = value.split_once(' ').map_or(value, |(_, token)| token.trim());
            for secret in [value, token].into_iter().filter(|secret| secret.len() >= limits::SECRET_BYTES_MIN)
            {
                text = text.replace(secret, &format!("[{name}]"));
            }
        }
        text
    }

    /// What trusting it allows, in one line each, the gravest first.
    pub fn wants(&self) -> Vec<String> {
        let (name, shown) = (&self.name, self.shown());
        let named = self.value_names().collect::<Vec<_>>().join(", ");
        let ServerConfinement { network, workspace, readable, sandbox } = &self.confinement;
        let first = match &self.reach {
            ServerReach::Program { .. } => {
                let given = if named.is_empty() { String::new() } else { format!(", given {named}") };
                let confined = if *sandbox { "in the sandbox" } else { "with all your rights" };
                let network = if *network { "with the network" } else { "without network" };
                let workspace = match workspace {
                    WorkspaceAccess::None => "not seeing the project",
                    WorkspaceAccess::Read => "reading the project",
                    WorkspaceAccess::Write => "changing the project",
                };
                format!("the server {name:?} runs {confined}, {network}, {workspace}{given}: {shown}")
            }
            ServerReach::Address { .. } => {
                let given = if named.is_empty() { String::new() } else { format!(" with {named}") };
                format!("agents send what they like to the server {name:?} at {shown}{given}")
            }
        };
        let variables = (!self.variables.is_empty())
            .then(|| format!("the server {name:?} gets your variables {}", self.variables.join(", ")));
        let places = readable.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
        let places = (!places.is_empty()).then(|| format!("the server {name:?} reads {}", places.join(", ")));
        [first].into_iter().chain(variables).chain(places).collect()
    }
}

/// The words of a command line as they are shown: without what follows `--token` and the like.
pub fn shown_words(words: &[String]) -> Vec<String> {
    let mut hidden = false;
    let shown = words.iter().map(|word| {
        let is_value = std::mem::replace(&mut hidden, names_secret(word));
        match is_value && !word.starts_with('-') && !is_reference(word) {
            true => "…".to_owned(),
            false => shown_word(word),
        }
    });
    shown.collect()
}

/// A word of a command line as it is shown. What follows `--token=` or `Authorization:` is not.
fn shown_word(word: &str) -> String {
    match word.split_once(['=', ':']) {
        Some((name, value)) if is_secret(name) && !is_reference(value) => {
            format!("{name}{}…", &word[name.len()..=name.len()])
        }
        _ if word.contains("://") => shown_address(word),
        _ => word.to_owned(),
    }
}

/// Whether a text is the name of a variable and nothing else, such as `${TOKEN}`.
pub fn is_reference(text: &str) -> bool {
    let name = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    name.is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

/// Whether what has this name may be a secret.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "token", "secret", "password", "auth"].iter().any(|part| name.contains(part))
}

/// Whether the next word may be a secret.
fn names_secret(word: &str) -> bool {
    word.starts_with('-') && !word.contains(['=', ':']) && is_secret(word)
}

/// An address without what may be a secret: user, password and query.
fn shown_address(address: &str) -> String {
    // Variables may be anywhere in it.
    let plain = (!address.contains("${")).then(|| reqwest::Url::parse(address).ok()).flatten();
    let Some(mut url) = plain else {
        let address = address.split(['?', '#']).next().unwrap_or_default();
        return match (address.find("://"), address.rfind('@')) {
            (Some(from), Some(to)) if from < to => format!("{}://…{}", &address[..from], &address[to..]),
            _ => address.to_owned(),
        };
    };
    if !url.username().is_empty() || url.password().is_some() {
        let _ = url.set_username("…");
        let _ = url.set_password(None);
    }
    if url.query().is_some() {
        url.set_query(Some("…"));
    }
    url.set_fragment(None);
    url.to_string().replace("%E2%80%A6", "…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_not_shown() {
        let origin = EntryOrigin::Person("config.toml".into());
        let env = vec![("GITHUB_TOKEN".to_owned(), SecretValue::new("ghp_1"))];
        let arguments = [
            "-y",
            "server",
            "--api-key=ghp_2",
            "https://u:ghp_3@host/p?t=ghp_4#ghp_5",
            "--token",
            "ghp_9",
            "--token",
            "${T}",
            "Authorization: Bearer ghp_10",
            "https://u:ghp_11@${HOST}/p?t=ghp_12",
        ];
        let arguments = arguments.map(str::to_owned).to_vec();
        let reach = ServerReach::Program { command: "npx".to_owned(), arguments, env };
        let program = ServerEntry::new("github", reach, origin.clone());
        let headers = vec![("Authorization".to_owned(), SecretValue::new("Bearer ghp_6"))];
        let reach = ServerReach::Address { url: "https://ghp_7@host/mcp?key=ghp_8".to_owned(), headers };
        let address = ServerEntry::new("web", reach, origin);
        assert_eq!(
            program.shown(),
            "npx -y server --api-key=… https://…@host/p?… --token … --token ${T} Authorization:… https://…@${HOST}/p"
        );
        assert_eq!(address.shown(), "https://…@host/mcp?…");
        let all = format!(
            "{:?} {:?} {:?}",
            program.wants(),
            address.wants(),
            program.value_names().collect::<Vec<_>>()
        );
        assert!(all.contains("GITHUB_TOKEN") && !all.contains("ghp_"), "{all}");
    }
}
