//! `posse serve` as it is typed: the link, its secret, how it ends, and sessions that begin through it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command};

use posse_testkit::Turn;
use serde_json::{Value, json};

use crate::posse::{Person, eventually, signal, text};

/// A server that ends with the test, whatever happens.
struct Server {
    child: Child,
    address: String,
    token: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// From the link that it prints.
    fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut link = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut link).unwrap();
        let (address, token) = link.trim().split_once("/#token=").unwrap_or_else(|| panic!("{link}"));
        let address = address.trim_start_matches("http://").to_owned();
        Self { child, address, token: token.to_owned() }
    }

    fn ask(&self, method: &str, path: &str, token: &str, body: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        )
        .unwrap();
        let mut all = String::new();
        stream.read_to_string(&mut all).unwrap();
        let (head, body) = all.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }

    fn get(&self, path: &str) -> Value {
        let (status, answer) = self.ask("GET", path, &self.token, "");
        assert_eq!(status, 200, "{path} {answer}");
        answer
    }
}

/// Every file below a folder that holds a text.
fn holding(folder: &Path, wanted: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(holding(&entry, wanted));
        } else if let Ok(bytes) = std::fs::read(&entry)
            && bytes.windows(wanted.len()).any(|some| some == wanted.as_bytes())
        {
            found.push(entry.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    found
}

#[test]
fn a_session_begins_in_the_page_is_on_record_and_outlives_the_server() {
    let person = Person::new([Turn::text("Hello from here.")]);
    let mut command = person.command(&["serve"]);
    command.env("POSSE_LOG", "trace");
    let server = Server::start(command);
    assert_eq!(server.token.len(), 64);
    let start = json!({"folder": text(person.project.path()), "prompt": "Say hello.", "approval": "ask"});
    let (status, begun) = server.ask("POST", "/api/sessions", &server.token, &start.to_string());
    assert_eq!(status, 200, "{begun}");
    let id = begun["session"].as_str().unwrap().to_owned();
    eventually("the answer is on record", || {
        let page = server.get(&format!("/api/sessions/{id}/record?after=0&limit=1000"));
        let events = page["events"].as_array().unwrap();
        let said = |kind: &str, part: &str| {
            events.iter().any(|event| event["type"] == kind && event.to_string().contains(part))
        };
        said("told", "Say hello.") && said("agent_rested", "Hello from here.")
    });
    let view = server.get(&format!("/api/sessions/{id}/view"));
    assert_eq!(view["running"], true);
    assert_eq!(server.ask("GET", "/api/sessions", &"0".repeat(64), "").0, 401);
    // The secret is in its own file and nowhere else: not in the record, in logs, or on a command line.
    let secret_file = holding(&person.data_dir(), &server.token);
    assert_eq!(secret_file.len(), 1, "{secret_file:?}");
    assert!(secret_file[0].ends_with(".token"), "{secret_file:?}");
    let file = person.data_dir().join("serve").join(&secret_file[0]);
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(posse_testkit::processes_with(&server.token), [0; 0], "no process has it on its command line");
    signal(&server.child, "INT");
    eventually("its secret goes with it", || !file.exists());
    // The session goes on without it.
    person.posse(&["sessions", "list"]).says("Say hello");
    let closed = person.posse(&["stop", &id]);
    assert_eq!(closed.code, Some(0), "{closed:?}");
}

#[test]
fn the_browser_is_opened_without_the_secret_on_a_command_line() {
    let person = Person::new([]);
    let tools = tempfile::tempdir().unwrap();
    let heard = tools.path().join("heard");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > {0}.part\ncat \"$1\" >> {0}.part\nmv {0}.part {0}\n",
        heard.display()
    );
    let opener = tools.path().join("xdg-open");
    std::fs::write(&opener, script).unwrap();
    std::fs::set_permissions(&opener, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = person.command(&["serve", "--open"]);
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env(
        "PATH",
        std::env::join_paths([tools.path().to_path_buf()].into_iter().chain(std::env::split_paths(&path)))
            .unwrap(),
    );
    let server = Server::start(command);
    eventually("the browser is opened", || heard.exists());
    let heard = std::fs::read_to_string(heard).unwrap();
    let (arguments, page) = heard.split_once('\n').unwrap();
    assert!(!arguments.contains(&server.token), "{arguments}");
    assert!(page.contains(&format!("http://{}/#token={}", server.address, server.token)), "{page}");
    assert_eq!(server.get("/api/sessions")["sessions"], json!([]));
}

#[test]
fn it_starts_without_a_model_and_says_what_is_missing() {
    let person = Person::new([]);
    person.configure("");
    let server = Server::start(person.command(&["serve"]));
    let found = server.get("/api/server");
    assert!(
        found["model"].is_null() && found["problem"].as_str().unwrap().contains("no model found"),
        "{found}"
    );
    let start = json!({"folder": text(person.project.path()), "prompt": "Go."});
    let (status, said) = server.ask("POST", "/api/sessions", &server.token, &start.to_string());
    assert_eq!((status, said["kind"].as_str()), (422, Some("refused")));
    assert!(said["detail"].as_str().unwrap().contains("no model found"), "{said}");
}

#[test]
fn what_cannot_be_served_is_explained() {
    let person = Person::new([]);
    let server = Server::start(person.command(&["serve"]));
    let port = server.address.rsplit(':').next().unwrap();
    let project = text(person.project.path());
    for (args, says) in [
        (vec!["serve", "--port", port], "cannot listen there"),
        (vec!["serve", "-C", "/no/such/folder"], "cannot open the folder"),
        (vec!["serve", "--folder", "/no/such/folder"], "is not a folder"),
        (vec!["serve", "--token-file", "token"], "where agents could read it"),
        (
            vec!["serve", "--listen", "127.0.0.1:0", "--certificate", "/nothing", "--key", "/nothing"],
            "cannot be used for TLS",
        ),
        (vec!["serve", "--certificate", "x", "--key", "y"], "--listen"),
        (vec!["serve", "--port", "7", "--listen", "127.0.0.1:7"], "cannot be used with"),
    ] {
        let ran = person.posse(&args);
        assert!(ran.code.is_some_and(|code| code != 0), "{ran:?}");
        ran.says(says);
    }
    assert!(!person.project.path().join("token").exists(), "{project}");
    let kept = tempfile::tempdir().unwrap();
    let file = text(&kept.path().join("token"));
    let first = Server::start(person.command(&["serve", "--token-file", &file]));
    let token = first.token.clone();
    drop(first);
    assert_eq!(
        Server::start(person.command(&["serve", "--token-file", &file])).token,
        token,
        "a bookmark stays valid"
    );
}
