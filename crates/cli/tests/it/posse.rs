//! Runs the binary in a world of its own: an empty environment, a data directory and a configuration that are
//! thrown away, and a fake model.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use posse_testkit::{FakeModel, Fixture, Turn};
use serde_json::Value;

/// One person's machine.
pub(crate) struct Person {
    pub(crate) home: tempfile::TempDir,
    pub(crate) model: FakeModel,
    pub(crate) project: Fixture,
}

impl Person {
    /// A machine whose model will answer with these turns, and a project with one file.
    pub(crate) fn new(turns: impl IntoIterator<Item = Turn>) -> Self {
        Self::with_project(turns, Fixture::new().file("main.py", "print('hi')\n").git())
    }

    pub(crate) fn with_project(turns: impl IntoIterator<Item = Turn>, project: Fixture) -> Self {
        let model = FakeModel::start_blocking();
        for turn in turns {
            model.push(turn);
        }
        Self::with_model(model, project)
    }

    pub(crate) fn with_model(model: FakeModel, project: Fixture) -> Self {
        let person = Self { home: tempfile::tempdir().unwrap(), model, project };
        let endpoint = person.model.base_url();
        person.configure(&format!(
            "[models.fake]\nendpoint = \"{endpoint}\"\nmodel = \"fake-model\"\n\
             price = {{ input = 1.0, output = 2.0 }}\n"
        ));
        person
    }

    /// Replaces the user's configuration file.
    pub(crate) fn configure(&self, toml: &str) {
        std::fs::write(self.config(), toml).unwrap();
    }

    /// Adds to the configuration that is there.
    pub(crate) fn configure_more(&self, toml: &str) {
        let there = std::fs::read_to_string(self.config()).unwrap();
        self.configure(&format!("{there}\n{toml}"));
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.home.path().join("config.toml")
    }

    pub(crate) fn data_dir(&self) -> PathBuf {
        self.home.path().join("data")
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_posse"));
        command
            .args(args)
            .current_dir(self.project.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home.path())
            .env("POSSE_HOME", self.data_dir())
            .env("POSSE_CONFIG", self.config())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs it to its end.
    pub(crate) fn posse(&self, args: &[&str]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }

    pub(crate) fn posse_with_stdin(&self, args: &[&str], stdin: &[u8]) -> Ran {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().unwrap();
        // The other side may close before it has read everything; that is what some tests are about.
        let _ = child.stdin.take().unwrap().write_all(stdin);
        Ran::from(child.wait_with_output().unwrap())
    }

    pub(crate) fn spawn(&self, args: &[&str]) -> Child {
        self.command(args).spawn().unwrap()
    }

    /// The project's file.
    pub(crate) fn file(&self, path: &str) -> String {
        self.project.read(path)
    }
}

/// What a run printed and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    /// Standard output as one JSON value a line.
    pub(crate) fn events(&self) -> Vec<Value> {
        self.stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}")))
            .collect()
    }

    pub(crate) fn says(&self, part: &str) {
        assert!(self.stderr.contains(part) || self.stdout.contains(part), "{part:?} is not in {self:#?}");
    }
}

/// Sends a signal by name.
pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("sh").args(["-c", &format!("kill -{name} {}", child.id())]).status().unwrap();
    assert!(status.success());
}

/// Waits until something holds, at most a generous while.
pub(crate) fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let since = std::time::Instant::now();
    while !holds() {
        assert!(since.elapsed().as_secs() < 30, "{what} did not come to pass");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// A file's path in a folder, as text.
pub(crate) fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The addresses that a process listens at for others on the network.
pub(crate) fn ports_of(process: &Child) -> Vec<String> {
    let folder = PathBuf::from(format!("/proc/{}", process.id()));
    let open = std::fs::read_dir(folder.join("fd")).unwrap();
    let links = open.filter_map(|entry| std::fs::read_link(entry.unwrap().path()).ok());
    let own: Vec<String> = links.filter_map(|to| to.to_str().map(str::to_owned)).collect();
    let listens = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_own = own.contains(&format!("socket:[{}]", fields.get(9)?));
        (is_own && fields[3] == "0A").then(|| fields[1].to_owned())
    };
    let tables = ["net/tcp", "net/tcp6"].map(|table| std::fs::read_to_string(folder.join(table)).unwrap());
    tables.iter().flat_map(|table| table.lines()).filter_map(listens).collect()
}
