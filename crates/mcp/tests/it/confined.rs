//! What the program of a server may do.

use std::fs;

use posse_mcp::{ServerConfinement, ServerReach, WorkspaceAccess};
use posse_tools::OutsideTools;
use serde_json::json;

use crate::{World, call, server};

#[tokio::test]
async fn a_server_reads_the_workspace_and_writes_its_home_only() {
    let world = World::new();
    fs::write(world.work.path().join("file"), "mine").unwrap();
    let servers = world.begun(vec![server("test", "plain")]);
    let write = |path: String| call(&servers, "mcp__test__write", json!({"path": path}));
    for path in [world.work.path().join("file"), world.work.path().join("new"), world.keep.path().join("x")] {
        let tried = write(path.display().to_string()).await;
        assert!(!tried.ok && tried.text.contains("refused"), "{tried:?}");
    }
    let env = call(&servers, "mcp__test__env", json!({})).await.text;
    let env: serde_json::Value = serde_json::from_str(env.lines().nth(1).unwrap()).unwrap();
    let home = env["HOME"].as_str().unwrap().to_owned();
    assert!(home.starts_with(world.keep.path().canonicalize().unwrap().to_str().unwrap()), "{home}");
    assert_eq!(env["TOKEN"], "[TOKEN]", "it has what its entry names, and says nothing of it to anybody");
    assert!(write(format!("{home}/kept")).await.ok);
    servers.end().await;
    assert_eq!(fs::read_to_string(format!("{home}/kept")).unwrap(), "evil", "kept for the next session");
    assert_eq!(fs::read_to_string(world.work.path().join("file")).unwrap(), "mine");
    assert!(!world.work.path().join("new").exists() && !world.keep.path().join("x").exists());
}

#[tokio::test]
async fn its_entry_narrows_and_widens_that() {
    let world = World::new();
    fs::write(world.work.path().join("file"), "mine").unwrap();
    let path = world.work.path().join("file").display().to_string();
    let with = |name: &str, confinement: ServerConfinement| {
        let mut entry = server(name, "plain");
        entry.confinement = confinement;
        entry
    };
    let blind = ServerConfinement {
        workspace: WorkspaceAccess::None,
        network: false,
        ..ServerConfinement::default()
    };
    let writing = ServerConfinement { workspace: WorkspaceAccess::Write, ..ServerConfinement::default() };
    let servers = world.begun(vec![with("blind", blind), with("writing", writing)]);
    let tried = call(&servers, "mcp__blind__write", json!({"path": path})).await;
    assert!(!tried.ok, "{tried:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    let done = call(&servers, "mcp__writing__write", json!({"path": path})).await;
    assert!(done.ok, "{done:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "evil");
    let hooks = world.work.path().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let hook = call(
        &servers,
        "mcp__writing__write",
        json!({"path": hooks.join("pre-commit").display().to_string()}),
    )
    .await;
    assert!(!hook.ok && !hooks.join("pre-commit").exists(), "{hook:?}");
    servers.end().await;
}

/// Outside the sandbox runs what the person has, and nothing that an agent could have written.
#[tokio::test]
async fn outside_the_sandbox_nothing_of_the_workspace_runs() {
    let world = World::new();
    let ran = world.keep.path().join("ran");
    fs::write(world.work.path().join("server.sh"), format!("touch {}", ran.display())).unwrap();
    let free = ServerConfinement { sandbox: false, ..ServerConfinement::default() };
    let named = |command: &str, arguments: &[&str]| {
        let mut entry = server("test", "plain");
        let arguments = arguments.iter().map(|&word| word.to_owned()).collect();
        entry.reach = ServerReach::Program { command: command.to_owned(), arguments, env: Vec::new() };
        entry.confinement = free.clone();
        entry
    };
    let path = world.work.path().join("server.sh").display().to_string();
    for entry in
        [named("./server.sh", &[]), named("sh", &["server.sh"]), named("sh", &[&path]), named(&path, &[])]
    {
        let servers = world.begun(vec![entry]);
        let tried = call(&servers, "mcp__test__echo", json!({"text": "x"})).await;
        assert!(tried.text.contains("where agents write, so it runs in the sandbox only"), "{tried:?}");
        servers.end().await;
    }
    assert!(!ran.exists());
    // What is the person's own does, away from the workspace.
    let mut own = server("test", "plain");
    own.confinement = free.clone();
    let servers = world.begun(vec![own]);
    let outside = world.keep.path().join("outside");
    let done = call(&servers, "mcp__test__write", json!({"path": outside.display().to_string()})).await;
    assert!(done.ok && outside.exists(), "{done:?}");
    let done = call(&servers, "mcp__test__write", json!({"path": "here"})).await;
    assert!(done.ok && !world.work.path().join("here").exists(), "{done:?}");
    servers.end().await;
}
