//! A real tmux. The test writes to the terminal of its pane, as a program in it would.

use std::fs::File;
use std::io::Write as _;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::emulator::Emulator;

pub(crate) struct Tmux {
    server: String,
    pane: File,
    /// How many marks were written.
    marks: u32,
}

impl Tmux {
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        static SERVERS: AtomicU32 = AtomicU32::new(0);
        let number = SERVERS.fetch_add(1, Ordering::Relaxed);
        let server = format!("posse-terminal-{}-{number}", std::process::id());
        let [x, y] = [columns, rows].map(|size| size.to_string());
        tmux(&server, &["new-session", "-d", "-x", &x, "-y", &y, "exec cat"]);
        tmux(&server, &["set-option", "-g", "history-limit", "1000000"]);
        // The limit counts for windows that are made after it was set.
        tmux(&server, &["new-window", "-k", "-t", ":0", "exec cat"]);
        tmux(&server, &["set-option", "window-size", "manual"]);
        tmux(&server, &["resize-window", "-x", &x, "-y", &y]);
        let path = tmux(&server, &["display-message", "-p", "#{pane_tty}"]);
        let pane = File::options().write(true).open(path.trim()).unwrap();
        Self { server, pane, marks: 0 }
    }

    /// Waits until everything that was written is on the screen: the title of the pane is set behind it.
    fn settle(&mut self) {
        self.marks += 1;
        let mark = format!("mark {}", self.marks);
        write!(self.pane, "\x1b]2;{mark}\x1b\\").unwrap();
        while tmux(&self.server, &["display-message", "-p", "#{pane_title}"]).trim() != mark {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Emulator for Tmux {
    fn write(&mut self, bytes: &[u8]) {
        self.pane.write_all(bytes).unwrap();
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        self.settle();
        let [x, y] = [columns, rows].map(|size| size.to_string());
        tmux(&self.server, &["resize-window", "-x", &x, "-y", &y]);
        let size = tmux(&self.server, &["display-message", "-p", "#{pane_width} #{pane_height}"]);
        assert_eq!(size.trim(), format!("{columns} {rows}"));
    }

    fn lines(&mut self) -> Vec<String> {
        self.settle();
        let all = tmux(&self.server, &["capture-pane", "-p", "-J", "-S", "-"]);
        all.lines().map(str::to_owned).collect()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = Command::new("tmux").args(["-L", &self.server, "kill-server"]).output();
    }
}

/// Runs a command of tmux and returns what it prints.
fn tmux(server: &str, arguments: &[&str]) -> String {
    let output = Command::new("tmux")
        .args(["-u", "-L", server, "-f", "/dev/null"])
        .args(arguments)
        .env_remove("TMUX")
        .output()
        .expect("tmux is installed");
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {problem}");
    String::from_utf8(output.stdout).unwrap()
}
