//! An editor that speaks the protocol with the real program, and keeps every line that it hears.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::posse::{Person, Ran};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// An editor with `posse acp` inside.
pub(crate) struct Editor {
    child: Child,
    typing: Option<ChildStdin>,
    lines: Receiver<String>,
    /// Everything that came, in order.
    pub(crate) heard: Vec<Value>,
    last_id: i64,
    /// The methods of requests, by their ids.
    asked: HashMap<i64, String>,
    unstable: bool,
}

impl Editor {
    /// Starts the program and nothing more.
    pub(crate) fn start(person: &Person, args: &[&str]) -> Self {
        Self::of(person.command(&[&["acp"], args].concat()))
    }

    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (typing, said) = (child.stdin.take(), child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(said).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let (heard, asked) = (Vec::new(), HashMap::new());
        Self { child, typing, lines, heard, last_id: 0, asked, unstable: false }
    }

    /// An editor that knows these things.
    pub(crate) fn open(person: &Person, args: &[&str], capabilities: Value) -> Self {
        let mut editor = Self::start(person, args);
        editor.unstable = capabilities.get("subagents").is_some();
        let said =
            editor.call("initialize", json!({"protocolVersion": 1, "clientCapabilities": capabilities}));
        assert_eq!(said["protocolVersion"], 1, "{said}");
        editor
    }

    /// A new session in the person's project.
    pub(crate) fn session(&mut self, person: &Person) -> String {
        let opened = self.call("session/new", json!({"cwd": person.project.path(), "mcpServers": []}));
        opened["sessionId"].as_str().unwrap().to_owned()
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let typing = self.typing.as_mut().unwrap();
        typing.write_all(bytes).unwrap();
        typing.flush().unwrap();
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request. Gives back its id.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> i64 {
        self.last_id += 1;
        let id = self.last_id;
        self.asked.insert(id, method.to_owned());
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Sends a request and waits for its result.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let answer = self.answer(id);
        answer.get("result").unwrap_or_else(|| panic!("{method}: {answer}")).clone()
    }

    /// Sends a request and waits for its error.
    pub(crate) fn refused(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let answer = self.answer(id);
        answer.get("error").unwrap_or_else(|| panic!("{method}: {answer}")).clone()
    }

    /// The answer to a request, which may have come already.
    pub(crate) fn answer(&mut self, id: i64) -> Value {
        self.until(&format!("an answer to {id}"), |said| said.get("method").is_none() && said["id"] == id)
    }

    pub(crate) fn prompt(&mut self, session: &str, text: &str) -> i64 {
        let prompt = json!([{"type": "text", "text": text}]);
        self.ask("session/prompt", json!({"sessionId": session, "prompt": prompt}))
    }

    /// Prompts and waits for the reason for which it stopped.
    pub(crate) fn says(&mut self, session: &str, text: &str) -> String {
        let id = self.prompt(session, text);
        self.stopped(id)
    }

    pub(crate) fn stopped(&mut self, id: i64) -> String {
        let answer = self.answer(id);
        answer["result"]["stopReason"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// The first message that fits, from all that came.
    pub(crate) fn until(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(found) = self.heard.iter().find(|said| fits(said)) {
            return found.clone();
        }
        let since = Instant::now();
        loop {
            match self.lines.recv_timeout(PATIENCE.saturating_sub(since.elapsed())) {
                Ok(line) => {
                    let said: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
                    self.heard.push(said.clone());
                    if fits(&said) {
                        return said;
                    }
                }
                Err(RecvTimeoutError::Timeout) => panic!("no {what} in {}", self.story()),
                Err(RecvTimeoutError::Disconnected) => panic!("it ended without {what}: {}", self.story()),
            }
        }
    }

    /// An update of a session, by its kind.
    pub(crate) fn update(&mut self, session: &str, kind: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let fits = |said: &Value| {
            let update = &said["params"]["update"];
            said["params"]["sessionId"] == session && update["sessionUpdate"] == kind && fits(update)
        };
        self.until(&format!("{kind} of {session}"), fits)["params"]["update"].clone()
    }

    /// A request of the agent, by its method.
    pub(crate) fn asks(&mut self, method: &str) -> Value {
        self.until(method, |said| said["method"] == method)
    }

    /// Answers a request of the agent.
    pub(crate) fn reply(&mut self, request: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    /// Chooses an option of a permission request.
    pub(crate) fn choose(&mut self, request: &Value, option: &str) {
        self.reply(request, json!({"outcome": {"outcome": "selected", "optionId": option}}));
    }

    /// All updates of a session so far, in order.
    pub(crate) fn updates<'a>(&'a self, session: &'a str) -> impl Iterator<Item = &'a Value> {
        let of_session = move |said: &&Value| said["params"]["sessionId"] == session;
        let updates = self.heard.iter().filter(|said| said["method"] == "session/update").filter(of_session);
        updates.map(|said| &said["params"]["update"])
    }

    /// What was said in a session, pieces joined.
    pub(crate) fn text(&self, session: &str, kind: &str) -> String {
        let of_kind = |update: &&Value| update["sessionUpdate"] == kind;
        let pieces = self.updates(session).filter(of_kind);
        pieces.filter_map(|update| update["content"]["text"].as_str()).collect()
    }

    fn story(&self) -> String {
        self.heard
            .iter()
            .map(|said| format!("{}\n", said.to_string().chars().take(600).collect::<String>()))
            .collect()
    }

    /// Closes its side, waits for the end, and checks every line against the published schema. Gives back how it ended.
    pub(crate) fn close(mut self) -> Option<i32> {
        drop(self.typing.take());
        let since = Instant::now();
        while let Ok(line) = self.lines.recv_timeout(PATIENCE.saturating_sub(since.elapsed())) {
            self.heard.push(serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line}: {e}")));
        }
        let code = self.child.wait().unwrap().code();
        self.validate();
        code
    }

    pub(crate) fn process(&self) -> &Child {
        &self.child
    }

    fn validate(&self) {
        let parts = parts();
        let name = if self.unstable { "schema.unstable.json" } else { "schema.json" };
        let schema = parts.schema.join(name);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../acp/tests/schema/validate.py");
        let mut python = Command::new(&parts.python)
            .arg(script)
            .arg(schema)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = String::new();
        for message in &self.heard {
            let (part, kind) = self.typed(message);
            lines.push_str(&format!("{}\n", json!({"message": message, "part": part, "type": kind})));
        }
        let mut input = python.stdin.take().unwrap();
        let writing = std::thread::spawn(move || input.write_all(lines.as_bytes()));
        let ran = Ran::from(python.wait_with_output().unwrap());
        writing.join().unwrap().unwrap();
        assert_eq!(ran.code, Some(0), "{}", ran.stdout);
        assert!(ran.stdout.ends_with(&format!("checked {}\n", self.heard.len())), "{}", ran.stdout);
    }

    /// The part of a message that has a type of its own, and that type.
    fn typed(&self, message: &Value) -> (Value, Option<&'static str>) {
        let id = message["id"].as_i64();
        match (message["method"].as_str(), id.and_then(|id| self.asked.get(&id))) {
            (Some(method), _) => (message["params"].clone(), Some(asked_type(method))),
            (None, Some(method)) if message.get("result").is_some() => {
                (message["result"].clone(), Some(answered_type(method)))
            }
            _ => (message["error"].clone(), Some("Error")),
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn asked_type(method: &str) -> &'static str {
    match method {
        "session/update" => "SessionNotification",
        "session/request_permission" => "RequestPermissionRequest",
        "elicitation/create" => "CreateElicitationRequest",
        "fs/read_text_file" => "ReadTextFileRequest",
        "$/cancel_request" => "CancelRequestNotification",
        other => panic!("posse calls {other}"),
    }
}

fn answered_type(method: &str) -> &'static str {
    match method {
        "initialize" => "InitializeResponse",
        "authenticate" => "AuthenticateResponse",
        "session/new" => "NewSessionResponse",
        "session/load" => "LoadSessionResponse",
        "session/resume" => "ResumeSessionResponse",
        "session/list" => "ListSessionsResponse",
        "session/close" => "CloseSessionResponse",
        "session/delete" => "DeleteSessionResponse",
        "session/set_mode" => "SetSessionModeResponse",
        "session/set_config_option" => "SetSessionConfigOptionResponse",
        "session/prompt" => "PromptResponse",
        other => panic!("a result of {other}"),
    }
}

/// What tests need from package registries.
pub(crate) struct Parts {
    pub(crate) python: PathBuf,
    pub(crate) schema: PathBuf,
}

pub(crate) fn parts() -> Parts {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let fetched = |script: &str, args: &[&str]| {
        let output =
            Command::new(root.join("scripts").join(script)).current_dir(&root).args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
    };
    let npm = fetched("npm-parts", &["crates/acp/tests/schema"]);
    Parts {
        python: fetched("python-parts", &[]).join("python"),
        schema: npm.join("node_modules/@agentclientprotocol/sdk/schema/v1"),
    }
}
