//! `[mcp.NAME]`: a server whose tools agents may call, or what one that is written down elsewhere may do.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use posse_mcp::{ServerEntry, ServerReach, WorkspaceAccess, is_reference, shown_words};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::times::Time;
use crate::limits::SERVER_PATTERNS_MAX;
use crate::surroundings::{ShownPath, Surroundings};

/// What one file says of servers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ConfiguredServers {
    /// The file.
    pub(crate) file: ShownPath,
    /// Whether it is the person's own.
    pub(crate) own: bool,
    /// Whether it counts.
    pub(crate) trusted: bool,
    /// By name.
    pub(crate) servers: BTreeMap<String, ServerFile>,
}

/// `[mcp.NAME]` as it is written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServerFile {
    /// A program of this computer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) command: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) args: Vec<String>,
    /// An address, in place of a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) url: Option<String>,
    /// How long it may be silent while it works on a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timeout: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) network: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) workspace: Option<WorkspaceWord>,
    /// What of hidden places it may read; `~/` is the home folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) readable: Option<Vec<PathBuf>>,
    /// The only tools of it that agents are offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tools: Option<Vec<String>>,
    /// Whether it is confined. Only the person's own file may say no.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sandbox: Option<bool>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) env: BTreeMap<String, WrittenValue>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) headers: BTreeMap<String, WrittenValue>,
}

/// What a program may do in the workspace, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorkspaceWord {
    None,
    Read,
    Write,
}

/// The value of a variable or a header. It may be a token: only names of variables are shown of it.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "TextOrNumber")]
pub(crate) struct WrittenValue(pub(crate) String);

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text")]
enum TextOrNumber {
    Text(String),
    Number(i64),
    Word(bool),
}

impl From<TextOrNumber> for WrittenValue {
    fn from(value: TextOrNumber) -> Self {
        Self(match value {
            TextOrNumber::Text(text) => text,
            TextOrNumber::Number(number) => number.to_string(),
            TextOrNumber::Word(word) => word.to_string(),
        })
    }
}

impl WrittenValue {
    fn shown(&self) -> &str {
        if is_reference(&self.0) { &self.0 } else { "…" }
    }
}

impl fmt::Debug for WrittenValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.shown())
    }
}

impl Serialize for WrittenValue {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.shown())
    }
}

impl ServerFile {
    /// Whether it says how a server is reached. Else it is about one that is written down elsewhere.
    pub(crate) fn is_whole(&self) -> bool {
        let parts = !self.args.is_empty() || !self.env.is_empty() || !self.headers.is_empty();
        self.command.is_some() || self.url.is_some() || parts
    }

    /// How it is reached, in the words of other files with servers.
    pub(crate) fn as_json(&self) -> Value {
        let pairs = |pairs: &BTreeMap<String, WrittenValue>| {
            let pairs = pairs.iter().map(|(name, value)| (name.clone(), Value::from(value.0.clone())));
            Value::Object(pairs.collect::<Map<_, _>>())
        };
        let mut entry = Map::new();
        entry.extend(self.command.iter().map(|command| ("command".to_owned(), command.clone().into())));
        entry.extend(self.url.iter().map(|url| ("url".to_owned(), url.clone().into())));
        entry.insert("args".to_owned(), self.args.clone().into());
        entry.insert("env".to_owned(), pairs(&self.env));
        entry.insert("headers".to_owned(), pairs(&self.headers));
        Value::Object(entry)
    }

    /// Says what a server may do, and gives back what of this is a mistake. `own`: the person says it.
    pub(crate) fn narrow(&self, entry: &mut ServerEntry, own: bool, person: &Surroundings) -> Vec<String> {
        let (mut mistakes, confinement) = (Vec::new(), &mut entry.confinement);
        match self.sandbox {
            Some(false) if !own => mistakes.push(
                "its sandbox = false counts only in your own configuration; it runs in the sandbox"
                    .to_owned(),
            ),
            Some(sandbox) => confinement.sandbox = sandbox,
            None => {}
        }
        confinement.network = self.network.unwrap_or(confinement.network);
        match self.workspace {
            Some(WorkspaceWord::None) => confinement.workspace = WorkspaceAccess::None,
            Some(WorkspaceWord::Read) => confinement.workspace = WorkspaceAccess::Read,
            Some(WorkspaceWord::Write) => confinement.workspace = WorkspaceAccess::Write,
            None => {}
        }
        for path in self.readable.iter().flatten() {
            let whole = person.expanded(path);
            if whole.is_absolute() {
                confinement.readable.push(whole);
            } else {
                mistakes.push(format!("its readable {path:?} is left out: write it like \"~/x\" or \"/x\""));
            }
        }
        if let Some(tools) = &self.tools {
            if tools.is_empty() || tools.len() > SERVER_PATTERNS_MAX {
                let most = SERVER_PATTERNS_MAX;
                mistakes.push(format!("its tools are not 1 to {most} names; disabled = true leaves it out"));
            } else {
                entry.tools.clone_from(tools);
            }
        }
        if let Some(time) = self.timeout {
            entry.timeout = Duration::from_millis(time.0.min(posse_mcp::limits::CALL_IDLE_MS_MAX));
        }
        entry.description = self.description.clone().or(entry.description.take());
        let aside = match &entry.reach {
            ServerReach::Program { .. } => (!self.headers.is_empty()).then_some("headers"),
            ServerReach::Address { .. } if !self.env.is_empty() => Some("env"),
            ServerReach::Address { .. } => (!self.args.is_empty()).then_some("args"),
        };
        mistakes.extend(aside.map(|key| format!("its {key} mean nothing for a server of this kind")));
        mistakes
    }

    /// What it sets of a server that is written down elsewhere.
    pub(crate) fn sets(&self) -> Vec<&'static str> {
        let set = [
            (self.sandbox.is_some(), "sandbox"),
            (self.network.is_some(), "network"),
            (self.workspace.is_some(), "workspace"),
            (self.readable.is_some(), "readable"),
            (self.tools.is_some(), "tools"),
            (self.timeout.is_some(), "timeout"),
            (self.description.is_some(), "description"),
            (self.disabled.is_some(), "disabled"),
        ];
        set.into_iter().filter(|(is_set, _)| *is_set).map(|(_, key)| key).collect()
    }

    /// The same without what may be a secret.
    pub(crate) fn without_secrets(mut self) -> Self {
        let words = self.command.iter().chain(&self.args).cloned().collect::<Vec<_>>();
        let mut shown = shown_words(&words).into_iter();
        self.command = self.command.and_then(|_| shown.next());
        self.args = shown.collect();
        self.url = self.url.and_then(|url| shown_words(&[url]).pop());
        self
    }
}
