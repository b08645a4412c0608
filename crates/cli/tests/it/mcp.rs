//! Servers from the command line: added, listed, tried, trusted and removed. Values of variables appear nowhere.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use posse_testkit::{Fixture, Turn};
use serde_json::{Value, json};

use crate::posse::{Person, Ran};

/// A server that says what it is, has one tool and one prompt, and knows where it runs.
const SERVER: &str = r#"
import json, os, sys
for line in sys.stdin:
    call = json.loads(line)
    if "id" not in call:
        continue
    method = call["method"]
    if method == "initialize":
        result = {"protocolVersion": call["params"]["protocolVersion"], "capabilities": {"tools": {}, "prompts": {}},
                  "serverInfo": {"name": "tester", "version": "7"}}
    elif method == "tools/list":
        result = {"tools": [{"name": "list_files", "description": "Given TOKEN: %s, POSSE_HOME: %s" % ("TOKEN" in os.environ, "POSSE_HOME" in os.environ),
                             "inputSchema": {"type": "object"}}]}
    elif method == "tools/call":
        result = {"content": [{"type": "text", "text": "It has " + str(len(os.environ["TOKEN"])) + " characters."}]}
    elif method == "prompts/list":
        result = {"prompts": [{"name": "greet", "description": "Greets", "arguments": [{"name": "who", "required": True}]}]}
    else:
        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32601, "message": "no"}}), flush=True)
        continue
    print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}), flush=True)
"#;

fn config(person: &Person) -> String {
    std::fs::read_to_string(person.config()).unwrap()
}

fn silent_about(ran: &Ran, secret: &str) {
    assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{ran:#?}");
}

#[test]
fn add_list_and_remove_keep_the_rest_of_the_file() {
    let person = Person::new([]);
    let before = format!("# my models\n{}# the end\n", config(&person));
    std::fs::write(person.config(), &before).unwrap();
    std::fs::set_permissions(person.config(), std::fs::Permissions::from_mode(0o644)).unwrap();
    person.posse(&["mcp", "list"]).says("No servers yet. Add one: posse mcp add NAME -- COMMAND");

    let ran = person.posse(&[
        "mcp",
        "add",
        "github",
        "--env",
        "TOKEN=s3cret",
        "--",
        "npx",
        "-y",
        "--token",
        "s3cret",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.says("Added to ");
    silent_about(&ran, "s3cret");
    let mode = std::fs::metadata(person.config()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "a secret is in it");
    let headers = ["--header", "Authorization: Bearer ${MY_TOKEN}"];
    let ran =
        person.posse(&["mcp", "add", "my docs", "https://docs.example/mcp?k=s3cret", headers[0], headers[1]]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(config(&person).starts_with(&before));
    assert!(config(&person).contains("headers = { Authorization = \"Bearer ${MY_TOKEN}\" }"));

    let listed = person.posse(&["mcp", "list"]);
    listed.says("github  npx -y --token …\n");
    listed.says("gets TOKEN");
    listed.says("the variable MY_TOKEN is not set");
    let shown = person.command(&["mcp", "list", "--json"]).env("MY_TOKEN", "s3cret").output().unwrap();
    let shown = Ran::from(shown);
    let lines =
        shown.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["runs"], true);
    assert_eq!(
        (&lines[1]["url"], &lines[1]["gets"][0]),
        (&"https://docs.example/mcp?…".into(), &"Authorization".into())
    );
    for ran in [&listed, &shown, &person.posse(&["config", "show"])] {
        silent_about(ran, "s3cret");
    }

    let again = person.posse(&["mcp", "add", "my_docs", "--", "x"]);
    assert_eq!(again.code, Some(2));
    again.says("has a server \"my_docs\" already; remove it first");
    assert_eq!(person.posse(&["mcp", "remove", "github"]).code, Some(0));
    assert_eq!(person.posse(&["mcp", "remove", "my docs"]).code, Some(0));
    assert_eq!(config(&person), before);
}

#[test]
fn mistakes_say_what_to_do() {
    let person = Person::new([]);
    let said = |args: &[&str], words: &str| {
        let ran = person.posse(args);
        assert_eq!(ran.code, Some(2), "{ran:#?}");
        ran.says(words);
        silent_about(&ran, "s3cret");
    };
    said(&["mcp", "remove", "x"], "there are no servers; add one: posse mcp add NAME -- COMMAND");
    said(&["mcp", "add", "x", "npx"], "a program comes behind --: posse mcp add \"x\" -- npx");
    said(&["mcp", "add", "x", "http://far.example/"], "has to be https://");
    said(&["mcp", "add", "x", "--env", "s3cret", "--", "y"], "--env number 1 is not written NAME=VALUE");
    said(&["mcp", "add", "ü", "--", "y"], "a server's name has letters");
    said(&["mcp", "add", "x"], "required");
    person.posse(&["mcp", "add", "github", "--", "no-such-program-here"]);
    said(&["mcp", "test", "gitub"], "did you mean \"github\"?");
    said(&["mcp", "test", "zzz"], "there are github");
    let ran = person.posse(&["mcp", "test", "github"]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    ran.says("\"github\" in ");
    ran.says("does not work: ");
}

#[test]
fn a_projects_servers_run_after_trust_only() {
    let person = Person::with_project(
        [Turn::text("done"), Turn::text("done")],
        Fixture::new().file("server.py", SERVER).git(),
    );
    let server = person.project.path().join("server.py");
    let server = server.to_str().unwrap();
    let add = ["mcp", "add", "tester", "--project", "--env", "TOKEN=${MY_TOKEN}", "--", "python3", server];
    let ran = person.posse(&add);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.says("posse trust");
    person.posse(&["mcp", "list"]).says("does not run before posse trust");
    person.posse(&["mcp", "test", "tester"]).says("does not run: does not run before posse trust");
    person.posse(&["run", "go"]).says("do not run until you have looked at them: posse trust (tester)");

    let told = person.posse(&["trust", "--show"]);
    told.says("the server \"tester\" runs in the sandbox, with the network, reading the project, given TOKEN: python3 ");
    told.says("the server \"tester\" gets your variables MY_TOKEN");
    assert_eq!(person.posse(&["trust", "--yes"]).code, Some(0));
    let tested = person.command(&["mcp", "test", "tester"]).env("MY_TOKEN", "s3cret").output().unwrap();
    let tested = Ran::from(tested);
    assert_eq!(tested.code, Some(0), "{tested:#?}");
    for part in [
        "tester 7",
        "mcp__tester__list_files",
        "Given TOKEN: True, POSSE_HOME: False",
        "/mcp__tester__greet who",
        "0 resources",
    ] {
        tested.says(part);
    }
    silent_about(&tested, "s3cret");

    person.posse(&["mcp", "remove", "tester"]).says("posse mcp remove tester --project");
    assert_eq!(person.posse(&["mcp", "remove", "tester", "--project"]).code, Some(0));
    assert_eq!(person.file(".mcp.json"), "{\n  \"mcpServers\": {}\n}\n");
    assert!(!person.posse(&["run", "go"]).stderr.contains("tester"));
}

#[test]
fn a_session_calls_a_servers_tool_and_keeps_its_secret() {
    let call = Turn::call("mcp__tester__list_files", json!({}));
    let person =
        Person::with_project([call, Turn::text("done")], Fixture::new().file("server.py", SERVER).git());
    let server = person.project.path().join("server.py");
    let add =
        ["mcp", "add", "tester", "--env", "TOKEN=s3cret-value", "--", "python3", server.to_str().unwrap()];
    assert_eq!(person.posse(&add).code, Some(0));
    // What it has is known from then on, so its few tools are offered by themselves.
    assert_eq!(person.posse(&["mcp", "test", "tester"]).code, Some(0));
    let ran = person.posse(&["run", "--json", "--approval", "full", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let requests = person.model.requests();
    assert!(String::from_utf8_lossy(&requests[0].body).contains("mcp__tester__list_files"));
    assert!(String::from_utf8_lossy(&requests[1].body).contains("It has 12 characters."), "{ran:#?}");
    silent_about(&ran, "s3cret-value");
    assert_eq!(files_with(&person.data_dir(), b"s3cret-value"), Vec::<PathBuf>::new());
    let mode = std::fs::metadata(person.data_dir().join("mcp")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "{mode:o}");
}

/// The files below a folder that hold some bytes.
fn files_with(folder: &Path, bytes: &[u8]) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.flat_map(|path| match path.symlink_metadata().unwrap() {
        of if of.is_dir() => files_with(&path, bytes),
        of if of.is_file()
            && std::fs::read(&path).unwrap().windows(bytes.len()).any(|part| part == bytes) =>
        {
            vec![path]
        }
        _ => Vec::new(),
    });
    found.collect()
}
