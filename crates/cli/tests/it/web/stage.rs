//! A person with a project, a fake model whose agents each have a script, a server for browsers, and a browser.

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use posse_testkit::chromium::{Browser, Page};
use posse_testkit::{Captured, FakeModel, Fixture, Turn, asker, processes_with};
use serde_json::{Value, json};

use crate::posse::{Person, eventually, text};

/// What agents say next, by their names.
type Scripts = Arc<Mutex<HashMap<String, VecDeque<Turn>>>>;

/// Something that the model waits for.
#[derive(Clone)]
pub(super) struct Gate(pub(super) Arc<AtomicBool>);

impl Gate {
    pub(super) fn closed() -> Self {
        Self(Arc::new(AtomicBool::new(false)))
    }

    pub(super) fn open(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Starts a sub-agent and waits for it.
pub(super) fn starts(name: &str, role: &str) -> Turn {
    Turn::call("agent", start(name, role))
}

/// What starts a sub-agent.
pub(super) fn start(name: &str, role: &str) -> Value {
    let prompt = format!("Look after your part, {name}.");
    json!({"action": "start", "name": name, "role": role, "prompt": prompt, "title": format!("the part of {name}"), "background": false})
}

pub(super) fn shell(command: &str) -> Turn {
    Turn::call("shell", json!({"command": command}))
}

/// Everything that a test needs. Dropping it ends all processes of it.
pub(super) struct Stage {
    pub(super) person: Person,
    pub(super) browser: Browser,
    scripts: Scripts,
    server: Child,
    pub(super) port: u16,
    token: String,
}

impl Stage {
    /// A project with a program of one line; `flags` are of `posse serve`.
    pub(super) fn new(flags: &[&str]) -> Self {
        Self::in_project(Fixture::new().file("main.py", "print('hi')\n").git(), flags)
    }

    pub(super) fn in_project(project: Fixture, flags: &[&str]) -> Self {
        let scripts = Scripts::default();
        let also = Arc::clone(&scripts);
        let model = FakeModel::by_rule_blocking(move |request| answer(&also, request));
        let person = Person::with_model(model, project);
        // A server on this machine would get one agent at a time.
        let config = std::fs::read_to_string(person.config()).unwrap();
        person.configure(&config.replace("price =", "max_concurrent = 8\nprice ="));
        person.configure_more("[sub_agents]\nmax_depth = 3\n");
        let (server, port, token) = serve(&person, 0, flags);
        Self { person, browser: Browser::start(), scripts, server, port, token }
    }

    /// What an agent says next, in this order.
    pub(super) fn script(&self, agent: &str, turns: impl IntoIterator<Item = Turn>) {
        self.scripts.lock().unwrap().entry(agent.to_owned()).or_default().extend(turns);
    }

    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// The address of a view, such as `#/new`.
    pub(super) fn at(&self, view: &str) -> String {
        format!("{}{view}", self.address())
    }

    /// A tab in which the link of the server was opened.
    pub(super) fn tab(&self) -> Page {
        let page = self.empty_tab();
        page.open(&self.at(&format!("#token={}", self.token)));
        page.wait_for("document.querySelector('main h1')", "the list of sessions");
        page
    }

    /// A tab in which nothing was opened, of a person who wants nothing to move: what moves is drawn all the time.
    pub(super) fn empty_tab(&self) -> Page {
        let page = self.browser.page();
        let features = json!([{"name": "prefers-reduced-motion", "value": "reduce"}]);
        page.call("Emulation.setEmulatedMedia", json!({"features": features}));
        page
    }

    /// Begins a session as a person does; gives its id.
    pub(super) fn begin(&self, page: &Page, mode: &str, prompt: &str) -> String {
        page.open(&self.at("#/new"));
        page.wait_for("document.querySelector('input[list=folders]')?.value", "the folder");
        page.click(&format!("text={mode}"));
        page.fill("textarea[aria-label=Prompt]", prompt);
        page.click("text=Start");
        page.wait_for("document.querySelector('.tree [role=row]')", "the session");
        page.eval("/^#\\/s\\/([^/]+)/.exec(location.hash)[1]")
    }

    /// Kills the server, as a power cut would.
    pub(super) fn kill_server(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }

    /// Another server, on the same port.
    pub(super) fn serve_again(&mut self, flags: &[&str]) {
        (self.server, self.port, self.token) = serve(&self.person, self.port, flags);
    }

    /// The requests that the model got from an agent, in order.
    pub(super) fn asked(&self, agent: &str) -> Vec<Value> {
        let all = self.person.model.requests();
        all.iter().map(Captured::json).filter(|request| asker(request) == agent).collect()
    }

    /// The next request of an agent after so many.
    pub(super) fn request(&self, agent: &str, before: usize) -> Value {
        eventually(&format!("request {} of {agent}", before + 1), || self.asked(agent).len() > before);
        self.asked(agent).swap_remove(before)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.person.project.path().join(name)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // The server ends first, so that nothing new begins.
        let _ = self.server.kill();
        let _ = self.server.wait();
        let mark = text(&self.person.data_dir());
        eventually("the end of all sessions", || {
            let left = processes_with(&mark);
            for id in &left {
                Command::new("kill").args(["-KILL", &id.to_string()]).stderr(Stdio::null()).status().unwrap();
            }
            left.is_empty()
        });
    }
}

/// The next turn of whoever asks.
fn answer(scripts: &Scripts, request: &Captured) -> Turn {
    let name = asker(&request.json());
    let next = scripts.lock().unwrap().get_mut(&name).and_then(VecDeque::pop_front);
    next.unwrap_or_else(|| {
        let error = format!("{name} has nothing more to say");
        Turn::status_body(400, json!({"error": {"message": error}}))
    })
}

/// Starts a server; where it is and its token.
fn serve(person: &Person, port: u16, flags: &[&str]) -> (Child, u16, String) {
    // Sessions that it starts have the flag, too, and can be found by it.
    let (data, port) = (text(&person.data_dir()), port.to_string());
    let args = [&["--data-dir", &data, "serve", "--json", "--port", &port], flags].concat();
    let mut server = person.command(&args).stderr(Stdio::inherit()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
    let port = u16::try_from(said["port"].as_u64().unwrap()).unwrap();
    let token = std::fs::read_to_string(said["token_file"].as_str().unwrap()).unwrap();
    (server, port, token.trim().to_owned())
}
