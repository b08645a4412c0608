//! The browser as a process group: started with two pipes, killed as a whole. Knows nothing of what is said over the pipes.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
// Tests may start a browser; the product starts none.
#[allow(clippy::disallowed_types)]
use std::process::Command;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::processes::living_in_group;

/// How long killed processes may take to go.
const GOING_MAX: Duration = Duration::from_secs(20);

const FLAGS: &[&str] = &[
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-proxy-server",
    "--disable-gpu",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-dev-shm-usage",
    // Tabs in the background are as quick as the one in front.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--force-color-profile=srgb",
    "--password-store=basic",
    "--lang=en-US",
    "--window-size=1280,800",
];

/// A running browser; dropping it kills every process of it.
pub(super) struct BrowserProcess {
    child: Child,
    /// Profile, temporary files and log; removed after the processes are gone.
    folder: TempDir,
}

impl BrowserProcess {
    /// Starts it, with the ends of the pipes to write to and to read from.
    ///
    /// The browser expects them as descriptors 3 and 4, which only a shell can give it without unsafe code.
    #[track_caller]
    #[allow(clippy::disallowed_types)]
    pub(super) fn start() -> (Self, ChildStdin, ChildStdout) {
        let folder = TempDir::with_prefix("posse-chromium-").expect("a temporary folder");
        let log = File::create(folder.path().join("log")).expect("a log file");
        let script = "command -v chromium >&2 || { echo 'no chromium on the path; scripts/test installs it' >&2; exit 1; }; \
                      exec chromium \"$@\" 3<&0 4>&1 </dev/null >/dev/null";
        let mut child = Command::new("sh")
            .args(["-c", script, "sh"])
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", folder.path())
            .env("TMPDIR", folder.path())
            .env("LANG", "C.UTF-8")
            .env("TZ", "UTC")
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .process_group(0)
            .spawn()
            .expect("a shell");
        let (to, from) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        (Self { child, folder }, to, from)
    }

    /// Where it writes its complaints.
    pub(super) fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }

    pub(super) fn group(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn members(&self) -> Vec<u32> {
        living_in_group(self.group())
    }
}

impl Drop for BrowserProcess {
    #[allow(clippy::disallowed_types)]
    fn drop(&mut self) {
        // The first process is not waited for before the others are gone: its id names the group.
        let kill = format!("kill -s KILL -- -{}", self.group());
        let until = Instant::now() + GOING_MAX;
        while !self.members().is_empty() && Instant::now() < until {
            Command::new("sh").args(["-c", &kill]).stderr(Stdio::null()).status().ok();
            std::thread::sleep(Duration::from_millis(5));
        }
        self.child.wait().ok();
    }
}
