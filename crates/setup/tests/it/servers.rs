//! Servers of all files: which count, which wait for trust, and what is told.

use std::time::Duration;

use posse_mcp::{ServerEntry, ServerReach, WorkspaceAccess};
use posse_setup::{
    Paths, ServerStanding, ServersFound, SessionPlan, SetupWarning, Trusted, Wishes, servers_in, trust_items,
};

use crate::world::{TWO_MODELS, World};

/// What a session would have, and what is told before it.
async fn session(world: &World, paths: &Paths) -> (Vec<ServerEntry>, Vec<String>) {
    let folder = world.project();
    let plan = SessionPlan::read(paths, &folder, Wishes::default()).unwrap();
    let terms = plan.terms(plan.choose_model().await.unwrap()).unwrap();
    (terms.servers.clone(), terms.warnings.iter().map(ToString::to_string).collect())
}

fn trust_all(world: &World) {
    let paths = world.paths();
    let mut trusted = Trusted::load(&paths).unwrap();
    for item in trust_items(&paths, &world.project()).unwrap() {
        trusted.add(&item.path, &item.text).unwrap();
    }
}

fn standings(found: &ServersFound) -> Vec<(&str, &ServerStanding)> {
    found.servers.iter().map(|server| (server.name.as_str(), &server.standing)).collect()
}

#[tokio::test]
async fn the_persons_own_servers_with_what_they_may_do() {
    let world = World::new(&format!(
        "{TWO_MODELS}
[mcp.github]
command = \"npx\"
args = [\"-y\", \"server\", \"${{WHERE:-here}}\"]
env = {{ GITHUB_TOKEN = \"${{MY_TOKEN}}\", PORT = 3000 }}
network = false
workspace = \"write\"
readable = [\"~/notes\"]
tools = [\"list_*\"]
timeout = \"5m\"
description = \"issues\"
sandbox = false

[mcp.web]
url = \"https://host.example/mcp\"
headers = {{ Authorization = \"Bearer ${{MY_TOKEN}}\" }}

[mcp.old]
command = \"old\"
disabled = true
"
    ));
    let surroundings = world.surroundings().with_variable("MY_TOKEN", "s3cret");
    let paths = Paths::find(surroundings, None, None).unwrap();
    let (servers, warnings) = session(&world, &paths).await;
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(servers.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(), ["github", "web"]);
    let github = &servers[0];
    let ServerReach::Program { arguments, env, .. } = &github.reach else { panic!("a program") };
    assert_eq!(arguments, &["-y", "server", "here"]);
    let env = env.iter().map(|(name, value)| (name.as_str(), value.expose())).collect::<Vec<_>>();
    assert_eq!(env, [("GITHUB_TOKEN", "s3cret"), ("PORT", "3000")]);
    assert_eq!((github.confinement.network, github.confinement.sandbox), (false, false));
    assert_eq!(github.confinement.workspace, WorkspaceAccess::Write);
    assert_eq!(github.confinement.readable, [world.path("home/notes")]);
    assert_eq!(
        (github.tools.as_slice(), github.timeout),
        (&["list_*".to_owned()][..], Duration::from_secs(300))
    );
    let shown = format!("{servers:?} {:?}", servers.iter().map(ServerEntry::shown).collect::<Vec<_>>());
    assert!(shown.contains("${WHERE:-here}") && !shown.contains("s3cret"), "{shown}");
    // A misspelt key is an error with its line, as everywhere in that file.
    world.write("home/.config/posse/config.toml", "[mcp.x]\ncomand = \"x\"\n");
    let error = servers_in(&paths, &world.project()).unwrap_err().to_string();
    assert!(error.contains("did you mean `command`?"), "{error}");
}

#[tokio::test]
async fn a_projects_servers_wait_for_trust_of_that_very_content() {
    let world = World::new(TWO_MODELS);
    let file = r#"{"mcpServers": {
        "files": {"command": "npx", "args": ["-y", "files"], "env": {"KEY": "${AWS_SECRET}"}},
        "later": {"command": "x", "args": ["${NOT_SET}"]}
    }}"#;
    world.write("project/.mcp.json", file);
    world.write("project/.posse/config.toml", "[mcp.local]\ncommand = \"local\"\nreadable = [\"~/.aws\"]\n");
    world.write(
        "project/.posse/agents/a.md",
        "---\nname: a\ndescription: d\ntools: read_file\nmcpServers:\n  db: {command: db-server}\n---\nprompt\n",
    );
    let paths = world.paths();
    let (servers, warnings) = session(&world, &paths).await;
    assert_eq!(servers, []);
    let told = |words: &str| warnings.iter().filter(|one| one.contains(words)).count();
    assert_eq!((told("wants to set mcp.\"local\""), told("(files, later, db)")), (1, 1), "{warnings:?}");

    let items = trust_items(&paths, &world.project()).unwrap();
    let wants = items.iter().flat_map(|item| item.wants.clone()).collect::<Vec<_>>();
    let expected = [
        "the server \"local\" runs in the sandbox, with the network, reading the project: local".to_owned(),
        format!("the server \"local\" reads {}", world.path("home/.aws").display()),
        "the server \"files\" runs in the sandbox, with the network, reading the project, given KEY: npx -y files"
            .to_owned(),
        "the server \"files\" gets your variables AWS_SECRET".to_owned(),
        "the server \"later\" runs in the sandbox, with the network, reading the project: x ${NOT_SET}"
            .to_owned(),
        "the server \"later\" gets your variables NOT_SET".to_owned(),
        "the server \"db\" runs in the sandbox, with the network, reading the project: db-server".to_owned(),
    ];
    assert_eq!(wants, expected);

    trust_all(&world);
    let surroundings = world.surroundings().with_variable("AWS_SECRET", "s3cret");
    let paths = Paths::find(surroundings, None, None).unwrap();
    let (servers, warnings) = session(&world, &paths).await;
    let names = servers.iter().map(|one| one.name.as_str()).collect::<Vec<_>>();
    assert_eq!(names, ["local", "files", "db"]);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].ends_with(".mcp.json: the server \"later\" is left out: the variable NOT_SET is not set")
    );

    world.write("project/.mcp.json", &file.replace("npx", "evil"));
    let (servers, warnings) = session(&world, &paths).await;
    assert_eq!(servers.len(), 2);
    assert!(warnings.iter().any(|one| one.contains("posse trust (files, later)")), "{warnings:?}");
}

#[tokio::test]
async fn one_of_two_with_one_name_counts() {
    let world = World::new(&format!("{TWO_MODELS}[mcp.\"my server\"]\ncommand = \"own\"\n"));
    world.write(
        "project/.mcp.json",
        r#"{"mcpServers": {"my_server": {"command": "theirs"}, "b": {"command": "b"}}}"#,
    );
    world.write(
        "project/.posse/agents/a.md",
        "---\nname: a\ndescription: d\nmcpServers:\n  - b: {command: other}\n  - nowhere\n  - my server\n---\nprompt\n",
    );
    trust_all(&world);
    let paths = world.paths();
    let (servers, warnings) = session(&world, &paths).await;
    let shown = servers.iter().map(ServerEntry::shown).collect::<Vec<_>>();
    assert_eq!(shown, ["own", "b"]);
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].ends_with("a.md: it names the server \"nowhere\", which no file describes"));
    assert!(warnings[1].starts_with("the server \"my_server\" is in ~/.config/posse/config.toml and in "));
    assert!(warnings[1].ends_with("the one in ~/.config/posse/config.toml counts"));
    assert!(warnings[2].contains(".mcp.json and in ") && warnings[2].contains("a.md; the one in"));
}

#[tokio::test]
async fn the_person_has_the_last_word_about_servers_of_others() {
    let world = World::new(&format!(
        "{TWO_MODELS}[mcp.a]\nworkspace = \"none\"\n[mcp.b]\ndisabled = true\n[mcp.elsewhere]\nnetwork = false\n"
    ));
    world.write(
        "project/.mcp.json",
        r#"{"mcpServers": {"a": {"command": "a"}, "b": {"command": "b"}, "c": {"command": "c", "disabled": true}}}"#,
    );
    let text =
        "[mcp.a]\nworkspace = \"write\"\nnetwork = false\nsandbox = false\n[mcp.none]\nnetwork = false\n";
    world.write("project/.posse/config.toml", text);
    trust_all(&world);
    let paths = world.paths();
    let (servers, warnings) = session(&world, &paths).await;
    assert_eq!(servers.len(), 1);
    let confinement = &servers[0].confinement;
    assert_eq!((confinement.workspace, confinement.network), (WorkspaceAccess::None, false));
    assert!(confinement.sandbox);
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings[0].contains("the server \"a\": its sandbox = false counts only in your own configuration")
    );
    assert!(warnings[1].contains("the server \"none\" is left out"));
    let found = servers_in(&paths, &world.project()).unwrap();
    use ServerStanding::{Counts, Disabled, Unused};
    let expected = [("a", &Counts), ("b", &Disabled), ("c", &Disabled), ("elsewhere", &Unused)];
    assert_eq!(standings(&found), expected);
}

#[tokio::test]
async fn mistakes_stop_nothing_else() {
    let world =
        World::new(&format!("{TWO_MODELS}[mcp.x]\nargs = [\"no command\"]\n[mcp.y]\ncommand = \"y\"\n"));
    world.write("project/.mcp.json", "{ no json");
    let paths = world.paths();
    let (servers, warnings) = session(&world, &paths).await;
    assert_eq!(servers.len(), 1);
    assert!(
        warnings[0].ends_with("the server \"x\" is left out: it has neither a \"command\" nor a \"url\"")
    );
    assert!(warnings[1].contains(".mcp.json: it is not valid JSON"), "{warnings:?}");
    // A link that leads out of the project is not followed.
    std::fs::remove_file(world.path("project/.mcp.json")).unwrap();
    world.write("elsewhere.json", r#"{"mcpServers": {"z": {"command": "z"}}}"#);
    std::os::unix::fs::symlink(world.path("elsewhere.json"), world.path("project/.mcp.json")).unwrap();
    let (servers, warnings) = session(&world, &paths).await;
    assert_eq!((servers.len(), warnings.len()), (1, 2), "{warnings:?}");
    // Without tools there are no servers either.
    let wishes = Wishes { no_tools: true, ..Wishes::default() };
    let folder = world.project();
    let plan = SessionPlan::read(&paths, &folder, wishes).unwrap();
    assert_eq!(plan.terms(plan.choose_model().await.unwrap()).unwrap().servers, []);
}

#[tokio::test]
async fn the_configuration_in_force_shows_no_secrets() {
    let world = World::new(&format!(
        "{TWO_MODELS}[mcp.x]\ncommand = \"x\"\nargs = [\"--token\", \"s3cret\"]\nenv = {{ A = \"s3cret\", B = \"${{B}}\" }}\n"
    ));
    let config = posse_setup::Config::load(&world.paths(), &world.project()).unwrap();
    let shown = config.to_toml().unwrap();
    assert!(shown.contains("B = \"${B}\"") && shown.contains("[mcp.x.env]"), "{shown}");
    assert!(!shown.contains("s3cret") && !format!("{config:?}").contains("A: s3cret"), "{shown}");
    let _: Vec<SetupWarning> = config.warnings;
}
