//! Tests with real servers, in the sandbox.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]
#![allow(clippy::disallowed_types)] // these tests start programs that belong to tests

mod bad;
mod calls;
mod confined;
mod conformance;
mod http;
mod offered;
mod real;

use std::path::PathBuf;
use std::time::Duration;

use posse_mcp::{EntryOrigin, SecretValue, ServerEntry, ServerReach, Servers};
use posse_protocol::AgentId;
use posse_tools::{OutsideCall, OutsidePlace, OutsideResult, OutsideTools, Sandbox};
use posse_workspace::Workspace;
use serde_json::Value;

/// A workspace, and where servers are kept.
pub(crate) struct World {
    pub(crate) work: tempfile::TempDir,
    pub(crate) keep: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self { work: tempfile::tempdir().unwrap(), keep: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn place(&self) -> OutsidePlace {
        let mut sandbox = Sandbox::default();
        sandbox.hidden.push(self.keep.path().to_owned());
        OutsidePlace { workspace: Workspace::open(self.work.path()).unwrap(), sandbox }
    }

    /// Servers of a session that has begun.
    pub(crate) fn begun(&self, entries: Vec<ServerEntry>) -> Servers {
        let servers = Servers::new(entries, self.keep.path().to_owned());
        servers.begin(self.place());
        servers
    }
}

/// The test server, behaving like this.
pub(crate) fn server(name: &str, how: &str) -> ServerEntry {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/server.py");
    let reach = ServerReach::Program {
        command: "python3".to_owned(),
        arguments: vec!["-c".to_owned(), std::fs::read_to_string(script).unwrap(), how.to_owned()],
        env: vec![("TOKEN".to_owned(), SecretValue::new("s3cret"))],
    };
    let mut entry = ServerEntry::new(name, reach, EntryOrigin::Person("config.toml".into()));
    entry.timeout = Duration::from_secs(30);
    entry
}

pub(crate) fn agent() -> AgentId {
    "0198c5a4-0000-7000-8000-000000000001".parse().unwrap()
}

/// Calls a tool without anybody to ask.
pub(crate) async fn call(servers: &Servers, name: &str, arguments: Value) -> OutsideResult {
    let name = name.to_owned();
    let call = OutsideCall {
        name,
        arguments,
        agent: agent(),
        judged_unknown: false,
        questions: None,
        traceparent: None,
    };
    servers.call(call).await
}
