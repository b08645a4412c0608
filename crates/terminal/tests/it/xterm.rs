//! The terminal of many editors and web pages, xterm.js, in a process of its own.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::emulator::Emulator;

pub(crate) struct Xterm {
    node: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// What was written and not sent yet: xterm.js takes a moment for each piece, however short it is.
    unsent: String,
}

impl Xterm {
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let fetch = crate_folder.join("../../scripts/npm-parts");
        let fetched = Command::new(fetch).arg(crate_folder.join("tests/xterm")).output().unwrap();
        let problem = String::from_utf8_lossy(&fetched.stderr);
        assert!(fetched.status.success(), "xterm.js cannot be fetched: {problem}");
        let mut node = Command::new("node")
            .arg(crate_folder.join("tests/xterm/play.js"))
            .arg(String::from_utf8(fetched.stdout).unwrap().trim())
            .args([columns, rows].map(|size| size.to_string()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node is installed");
        let commands = node.stdin.take().unwrap();
        let answers = BufReader::new(node.stdout.take().unwrap());
        Self { node, commands, answers, unsent: String::new() }
    }

    /// Sends a command, after everything that was written, and waits for its answer.
    fn ask(&mut self, command: &str) -> Vec<String> {
        let unsent = std::mem::take(&mut self.unsent);
        let mut answer = String::new();
        for command in [&format!("write {unsent}"), command] {
            writeln!(self.commands, "{command}").unwrap();
            answer.clear();
            self.answers.read_line(&mut answer).unwrap();
        }
        serde_json::from_str(&answer).expect("a list of lines")
    }
}

impl Emulator for Xterm {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| write!(self.unsent, "{byte:02x}").unwrap());
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        self.ask(&format!("resize {columns} {rows}"));
    }

    fn lines(&mut self) -> Vec<String> {
        self.ask("lines")
    }
}

impl Drop for Xterm {
    fn drop(&mut self) {
        let _ = self.node.kill();
        let _ = self.node.wait();
    }
}
