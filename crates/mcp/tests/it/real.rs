//! Servers that people have, configured as their own README says, in the sandbox.

use std::path::{Path, PathBuf};
use std::process::Command;

use posse_mcp::{EntryOrigin, read_servers};
use posse_tools::OutsideTools;
use serde_json::json;

use crate::{World, call};

#[tokio::test]
async fn a_server_from_npm_works_as_its_readme_says() {
    let config = r#"{"mcpServers": {"everything": {
        "command": "npx", "args": ["-y", "@modelcontextprotocol/server-everything"]
    }}}"#;
    let entries = read_servers(config, &EntryOrigin::Person("x".into()), |_| None).unwrap().servers;
    let world = World::new();
    let servers = world.begun(entries);
    let said = call(&servers, "mcp__everything__echo", json!({"message": "hello"})).await;
    assert!(said.ok && said.text.contains("hello"), "{said:?}");
    servers.end().await;
}

#[tokio::test]
async fn a_server_from_pypi_works_as_its_readme_says() {
    let fetch = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/python-parts");
    let fetched = Command::new(fetch).output().unwrap();
    let programs = PathBuf::from(String::from_utf8(fetched.stdout).unwrap().trim());
    // Where uvx is not in a folder of the system, its entry says where it is.
    let config = r#"{"mcpServers": {"time": {
        "command": "uvx", "args": ["mcp-server-time"], "env": {"PATH": "${PROGRAMS}:/usr/local/bin:/usr/bin:/bin"}
    }}}"#;
    let variable = |_: &str| Some(programs.display().to_string());
    let mut entries = read_servers(config, &EntryOrigin::Person("x".into()), variable).unwrap().servers;
    entries[0].confinement.readable = vec![programs.parent().unwrap().to_owned()];
    let world = World::new();
    let servers = world.begun(entries);
    let said = call(&servers, "mcp__time__get_current_time", json!({"timezone": "UTC"})).await;
    assert!(said.ok && said.text.contains("UTC"), "{said:?}");
    servers.end().await;
}
