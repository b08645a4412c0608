//! Tests of the tools with real files, processes and sockets.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, clippy::disallowed_types)]

mod arguments;
mod edit;
mod gate;
mod hard;
mod library;
mod memory;
mod pictures;
mod read;
mod schema;
mod search;
mod shell;
mod skills;
mod test_counts;
mod web;
mod write;

use std::{collections::BTreeSet, fs, path::PathBuf};

use posse_protocol::{AgentId, CallId, Effect, FileChange, Grant, Network, ToolCall, ToolOutcome};
use posse_tools::{Jobs, Knowledge, ToolSettings, Toolbox};
use posse_workspace::Workspace;
use serde_json::{Value, json};

/// Everything is allowed.
fn full() -> Grant {
    Grant::full()
}

/// Everything, and these hosts.
fn with_hosts(hosts: &[&str]) -> Grant {
    let hosts: BTreeSet<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    Grant { network: Network::Hosts(hosts), ..full() }
}

/// Whoever the tools are for.
fn owner() -> AgentId {
    "0198c5a4-0000-7000-8000-000000000001".parse().unwrap()
}

fn call_of(name: &str, arguments: impl Into<String>) -> ToolCall {
    ToolCall { id: CallId("1".into()), name: name.into(), arguments: arguments.into() }
}

/// A workspace and one agent's tools in it, with something outside that must stay as it is.
struct Desk {
    outer: tempfile::TempDir,
    tools: Toolbox,
}

impl Desk {
    fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, full(), ToolSettings::default())
    }

    fn with(files: &[(&str, &str)], grant: Grant, settings: ToolSettings) -> Self {
        Self::knowing(files, grant, settings, Knowledge::default())
    }

    fn knowing(files: &[(&str, &str)], grant: Grant, settings: ToolSettings, knowledge: Knowledge) -> Self {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("project");
        fs::create_dir(&root).unwrap();
        fs::write(outer.path().join("secret"), "secret").unwrap();
        let workspace = Workspace::open(&root).unwrap();
        let tools = Toolbox::new(&workspace, grant, settings, owner(), Jobs::default(), knowledge);
        let desk = Self { outer, tools };
        files.iter().for_each(|(path, content)| desk.put(path, content));
        desk
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn at(&self, path: &str) -> PathBuf {
        self.outer.path().join("project").join(path)
    }

    fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.at(path)).unwrap()
    }

    /// One call in a turn of its own.
    async fn call(&self, name: &str, arguments: Value) -> ToolOutcome {
        self.tools.next_turn();
        match self.tools.prepare(&call_of(name, arguments.to_string())) {
            Ok(prepared) => prepared.run().await,
            Err(refused) => refused,
        }
    }

    /// The text of a call that must work.
    async fn good(&self, name: &str, arguments: Value) -> String {
        let outcome = self.call(name, arguments).await;
        assert!(outcome.ok, "{}", outcome.text);
        outcome.text
    }

    /// The text of a call that must not work.
    async fn bad(&self, name: &str, arguments: Value) -> String {
        let outcome = self.call(name, arguments).await;
        assert!(!outcome.ok, "{}", outcome.text);
        outcome.text
    }

    async fn read(&self, path: &str) -> String {
        self.good("read_file", json!({"path": path})).await
    }
}

fn changed(path: &str, created: bool, lines_added: u32, lines_removed: u32) -> Vec<Effect> {
    vec![Effect::File(FileChange { path: path.into(), created, lines_added, lines_removed })]
}

fn fifo(path: &std::path::Path) {
    let path = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path.as_c_str(),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o666),
        0,
    )
    .unwrap();
}
