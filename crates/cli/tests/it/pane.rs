//! A person at a shell in a real tmux, who starts `posse` there and presses keys.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use posse_testkit::processes_with;

use crate::posse::Person;

/// What the shell says when it waits.
const SHELL: &str = "shell> ";
/// What the composer says while nothing is written and there is no session.
pub(crate) const READY: &str = "say what to do; / lists commands, ? helps";
/// For machines that do much else.
const PATIENCE: Duration = Duration::from_secs(60);

/// A window of tmux with a shell in it, in the person's project and with their environment.
pub(crate) struct Pane<'a> {
    person: &'a Person,
    /// How the shell is started.
    shell: String,
}

impl<'a> Pane<'a> {
    pub(crate) fn open(person: &'a Person, columns: u16, rows: u16) -> Self {
        Self::with(person, columns, rows, &[])
    }

    /// With more variables in the environment.
    pub(crate) fn with(person: &'a Person, columns: u16, rows: u16, env: &[(&str, &str)]) -> Self {
        let variables = env.iter().map(|(name, value)| format!("{name}='{value}' ")).collect::<String>();
        let shell = format!("exec env {variables} PS1='{SHELL}' bash --norc --noprofile --noediting -i");
        let pane = Self { person, shell: shell.clone() };
        let [x, y] = [columns, rows].map(|size| size.to_string());
        // The limit counts for windows that are made after it was set.
        let options = [
            "set-option",
            "-g",
            "history-limit",
            "100000",
            ";",
            "set-option",
            "-g",
            "set-clipboard",
            "on",
            ";",
        ];
        let session = ["new-session", "-d", "-x", &x, "-y", &y, &shell];
        pane.tmux(&[&options[..], &session].concat());
        pane.prepare(columns, rows);
        pane
    }

    fn prepare(&self, columns: u16, rows: u16) {
        self.tmux(&["set-option", "window-size", "manual"]);
        self.resize(columns, rows);
        self.tmux(&["pipe-pane", &format!("exec cat >> '{}'", self.raw_file().display())]);
        self.shows(SHELL);
    }

    /// Closes the window while its program runs, and opens another one.
    pub(crate) fn is_closed_and_another_opened(&self) {
        let (columns, rows) = (self.value("pane_width"), self.value("pane_height"));
        let old = self.value("window_id");
        self.tmux(&["new-window", &self.shell]);
        self.tmux(&["kill-window", "-t", &old]);
        self.prepare(columns.parse().unwrap(), rows.parse().unwrap());
    }

    /// The same with the chat open and ready.
    pub(crate) fn chat(person: &'a Person) -> Self {
        let pane = Self::open(person, 80, 24);
        pane.starts("");
        pane.shows(READY);
        pane
    }

    /// Starts `posse` from the shell.
    pub(crate) fn starts(&self, arguments: &str) {
        self.says(&format!("{} {arguments}", env!("CARGO_BIN_EXE_posse")));
    }

    fn raw_file(&self) -> PathBuf {
        self.person.data_dir().with_file_name("raw")
    }

    /// Every byte that programs wrote to the terminal.
    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.raw_file()).unwrap_or_default()).into_owned()
    }

    /// Runs a command of tmux and returns what it prints.
    pub(crate) fn tmux(&self, arguments: &[&str]) -> String {
        let output = self.tmux_command(arguments).output().expect("tmux is installed");
        let problem = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {problem}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn tmux_command(&self, arguments: &[&str]) -> Command {
        let template = self.person.command(&[]);
        let mut command = Command::new("tmux");
        command
            .args(["-u", "-L", "pane", "-f", "/dev/null"])
            .args(arguments)
            .current_dir(self.person.project.path())
            .env_clear()
            .envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .envs([("LC_ALL", "C.UTF-8"), ("SHELL", "/bin/sh")])
            .env("TMUX_TMPDIR", self.person.data_dir().parent().unwrap());
        command
    }

    /// One value of tmux about the pane.
    pub(crate) fn value(&self, name: &str) -> String {
        self.tmux(&["display-message", "-p", &format!("#{{{name}}}")]).trim_end().to_owned()
    }

    /// Presses keys by their names.
    pub(crate) fn keys(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys"], keys].concat());
    }

    /// Types a text.
    pub(crate) fn types(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
    }

    /// Types a text, and Enter once it is to be seen: what is typed quickly is not a paste.
    pub(crate) fn says(&self, text: &str) {
        self.types(text);
        self.keys(&["Enter"]);
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let [x, y] = [columns, rows].map(|size| size.to_string());
        self.tmux(&["resize-window", "-x", &x, "-y", &y]);
        assert_eq!(self.value("pane_width") + " " + &self.value("pane_height"), format!("{columns} {rows}"));
    }

    /// What is in sight.
    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// What is in sight and all that has scrolled away, with the rows of one line joined.
    pub(crate) fn whole(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-J", "-S", "-"])
    }

    /// Waits until something is in sight or has scrolled away.
    pub(crate) fn shows(&self, what: &str) {
        self.until(what, || self.whole().contains(what));
    }

    /// Waits until something is not in sight any more.
    pub(crate) fn hides(&self, what: &str) {
        self.until(&format!("no {what}"), || !self.screen().contains(what));
    }

    /// Runs a command in the shell and waits for its end.
    pub(crate) fn runs(&self, command: &str) {
        // The answer is not what was typed.
        let number = self.whole().matches("ended: ").count();
        self.says(&format!("{command}; echo 'ended': {number}"));
        self.shows(&format!("ended: {number}"));
        self.is_at_the_shell();
    }

    /// Takes away what was shown before.
    pub(crate) fn clears(&self) {
        self.is_at_the_shell();
        self.says("clear");
        self.until("an empty screen", || self.screen().trim() == SHELL.trim());
        self.tmux(&["clear-history"]);
    }

    /// Waits until the shell waits.
    pub(crate) fn is_at_the_shell(&self) {
        self.until("the shell", || {
            self.value("pane_current_command") == "bash"
                && self
                    .screen()
                    .trim_end()
                    .lines()
                    .next_back()
                    .is_some_and(|line| line.trim_end() == SHELL.trim_end())
        });
    }

    /// Waits until something holds.
    pub(crate) fn until(&self, what: &str, mut holds: impl FnMut() -> bool) {
        let since = Instant::now();
        while !holds() {
            let too_long = since.elapsed() > PATIENCE;
            assert!(
                !too_long,
                "{what:?} did not come to pass:\n{}\n{:?}",
                self.whole(),
                processes(self.person)
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Pane<'_> {
    fn drop(&mut self) {
        let _ = self.tmux_command(&["kill-server"]).output();
        for process in sessions_of(self.person) {
            kill(process, "KILL");
        }
    }
}

/// The processes of this program in the person's world, with their arguments.
fn processes(person: &Person) -> Vec<(u32, String)> {
    let world = format!("POSSE_HOME={}", person.data_dir().display());
    let of_world = |id: &u32| {
        let variables = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&variables).split('\0').any(|one| one == world)
    };
    let all = processes_with(env!("CARGO_BIN_EXE_posse")).into_iter().filter(of_world);
    all.map(|id| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        (id, String::from_utf8_lossy(&line).replace('\0', " "))
    })
    .collect()
}

/// The background processes of sessions.
pub(crate) fn sessions_of(person: &Person) -> Vec<u32> {
    let all = processes(person).into_iter();
    all.filter(|(_, line)| line.contains("--in-background")).map(|(id, _)| id).collect()
}

/// Sends a signal by name.
pub(crate) fn kill(process: u32, signal: &str) {
    let _ = Command::new("kill").args([&format!("-{signal}"), &process.to_string()]).output();
}
