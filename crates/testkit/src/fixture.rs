//! Small real repositories in temporary folders.

use std::fs;
use std::path::Path;
// Tests may start git; the product does so in `workspace` only.
#[allow(clippy::disallowed_types)]
use std::process::Command;

use tempfile::TempDir;

/// A folder with files, and git if asked; gone when dropped.
pub struct Fixture {
    folder: TempDir,
}

impl Default for Fixture {
    fn default() -> Self {
        Self::new()
    }
}

impl Fixture {
    /// An empty folder.
    ///
    /// # Panics
    /// If the temporary folder cannot be made.
    pub fn new() -> Self {
        Self { folder: TempDir::with_prefix("posse-fixture-").expect("a temporary folder") }
    }

    /// With this file; folders on the way are made.
    ///
    /// # Panics
    /// If the file cannot be written.
    #[must_use]
    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let full = self.folder.path().join(path);
        fs::create_dir_all(full.parent().expect("a path within the fixture")).expect("a folder");
        fs::write(full, content).expect("a file");
        self
    }

    /// As a git repository with everything so far in one commit.
    ///
    /// # Panics
    /// If git is not there or fails.
    #[must_use]
    pub fn git(self) -> Self {
        self.run_git(&["init", "--quiet", "--initial-branch=main"]);
        self.run_git(&["add", "--all"]);
        self.run_git(&["commit", "--quiet", "--allow-empty", "--message=fixture"]);
        self
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// What a file holds now.
    ///
    /// # Panics
    /// If it cannot be read as text.
    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.folder.path().join(path)).expect("a text file of the fixture")
    }

    /// Runs git in the fixture, away from the person's own settings, and returns what it printed.
    ///
    /// # Panics
    /// If it fails.
    #[allow(clippy::disallowed_types)]
    pub fn run_git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false"])
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_AUTHOR_NAME", "Fixture")
            .env("GIT_AUTHOR_EMAIL", "fixture@example.invalid")
            .env("GIT_COMMITTER_NAME", "Fixture")
            .env("GIT_COMMITTER_EMAIL", "fixture@example.invalid")
            .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
            .output()
            .expect("git on the path");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}
