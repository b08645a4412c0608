//! One hardened call of git: the program that was settled on, in the sandbox, with an environment of our own and the few
//! folders that this call needs.
//!
//! A repository's own configuration can name programs: monitors, hooks, pagers, diff drivers, filters. The settings
//! here go above it, through the environment so that no name in it can be read as something else. Filters and drivers
//! have names of their own choosing, so they are listed first (listing runs nothing) and switched off one by one.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use posse_sandbox::{
    Command, CommandExit, CommandOutcome, OutputLimits, Program, SandboxError, SandboxProfile,
};
use tokio::sync::{OnceCell, RwLock, RwLockReadGuard};

use super::{GitError, GitFailure, program};
use crate::{WorkspaceError, limits};

/// Settings that stand above a repository's own.
const SETTINGS: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", ""),
    ("core.sshCommand", "false"),
    ("core.gitProxy", ""),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.alternateRefsCommand", "false"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("diff.ignoreSubmodules", "all"),
    ("submodule.recurse", "false"),
    ("commit.gpgSign", "false"),
    ("tag.gpgSign", "false"),
    ("log.showSignature", "false"),
    ("gpg.program", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("init.templateDir", ""),
    ("protocol.allow", "never"),
    ("protocol.ext.allow", "never"),
    ("safe.bareRepository", "explicit"),
    ("core.autocrlf", "false"),
    ("core.safecrlf", "false"),
    ("core.eol", "lf"),
    ("core.sparseCheckout", "false"),
    ("core.splitIndex", "false"),
    ("core.untrackedCache", "false"),
    // One wait for the disk for many objects, not one for each.
    ("core.fsyncMethod", "batch"),
    ("checkout.workers", "1"),
    ("merge.conflictStyle", "merge"),
    ("status.showUntrackedFiles", "all"),
    ("uploadpack.packObjectsHook", ""),
];

/// Whether git is known to obey our settings.
static NEW_ENOUGH: OnceCell<()> = OnceCell::const_new();

/// An older git ignores some of the settings above: it is not called at all.
async fn must_be_new_enough() -> Result<(), WorkspaceError> {
    let call = ["version"];
    let command = Git::at(Path::new("/")).command(&call)?;
    let said = text_of(call[0], posse_sandbox::run(command).await.map_err(not_run)?)?;
    let (major, minor, _) = version_of(&said);
    if (major, minor) >= limits::GIT_VERSION_MIN {
        Ok(())
    } else {
        Err(GitError::TooOld { major, minor }.into())
    }
}

/// The numbers in what git says of its version, the third with its dot if there is one.
pub(crate) fn version_of(said: &str) -> (u32, u32, String) {
    let version = said.trim_start_matches("git version ");
    let mut numbers = version.split(['.', ' ', '-']).map(|part| part.parse::<u32>());
    let mut next = || numbers.next().and_then(Result::ok);
    let (major, minor) = (next().unwrap_or(0), next().unwrap_or(0));
    (major, minor, next().map_or(String::new(), |patch| format!(".{patch}")))
}

/// Held by everything that goes on although nobody waits for it any more.
static GOING_ON: RwLock<()> = RwLock::const_new(());

/// For work that goes on when nobody waits for it any more.
pub(crate) async fn going_on() -> RwLockReadGuard<'static, ()> {
    GOING_ON.read().await
}

/// Waits until nothing goes on that nobody waits for.
pub(crate) async fn settled() {
    drop(GOING_ON.write().await);
}

/// Where and how git is called.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    folder: PathBuf,
    variables: Vec<(String, String)>,
    settings: Vec<(String, String)>,
    stdin: Option<Vec<u8>>,
    time_ms: u64,
    output: OutputLimits,
    /// What it sees, what of that it may write, and what of that it may not.
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    kept: Vec<PathBuf>,
}

impl Git {
    /// What stands before every call.
    pub(super) const WORDS: [&str; 3] = ["--no-pager", "--no-replace-objects", "--literal-pathspecs"];

    /// Finds its repository by itself, from a folder. It sees nothing of it yet.
    pub(crate) fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            variables: Vec::new(),
            settings: Vec::new(),
            stdin: None,
            time_ms: limits::GIT_TIME_MS_MAX,
            output: OutputLimits { head_bytes: limits::GIT_OUTPUT_BYTES_MAX, tail_bytes: 0 },
            readable: Vec::new(),
            writable: Vec::new(),
            kept: Vec::new(),
        }
    }

    /// Run from another folder.
    pub(crate) fn from(mut self, folder: &Path) -> Self {
        folder.clone_into(&mut self.folder);
        self
    }

    /// Sees a folder or file and all in it. Absolute, and no link: one in its place makes the call fail.
    pub(crate) fn sees(mut self, path: &Path) -> Self {
        self.readable.push(path.to_owned());
        self
    }

    /// The same, and may write it.
    pub(crate) fn writes(mut self, path: &Path) -> Self {
        self.writable.push(path.to_owned());
        self
    }

    /// An exception of what it may write, if it is there.
    pub(crate) fn keeps(mut self, path: &Path) -> Self {
        self.kept.push(path.to_owned());
        self
    }

    /// With settings above all others.
    pub(crate) fn settings(mut self, more: &[(String, String)]) -> Self {
        self.settings.extend_from_slice(more);
        self
    }

    /// With a variable of git's own, such as `GIT_DIR`.
    pub(crate) fn variable(mut self, name: &str, value: &Path) -> Result<Self, WorkspaceError> {
        let value = value.to_str().ok_or(GitError::UnusableName)?;
        self.variables.push((name.to_owned(), value.to_owned()));
        Ok(self)
    }

    /// With something to read.
    pub(crate) fn stdin(mut self, bytes: Vec<u8>) -> Self {
        self.stdin = Some(bytes);
        self
    }

    /// What it is to read, for whoever passes that on in pieces.
    pub(super) fn take_stdin(&mut self) -> Vec<u8> {
        self.stdin.take().unwrap_or_default()
    }

    /// How much of what it says is kept.
    pub(super) fn output_bytes_max(&self) -> usize {
        self.output.head_bytes + self.output.tail_bytes
    }

    /// For work on a whole tree: more time, and more to say.
    pub(crate) fn large(mut self) -> Self {
        let side_bytes = limits::GIT_LARGE_OUTPUT_BYTES_MAX / 2;
        self.output = OutputLimits { head_bytes: side_bytes, tail_bytes: side_bytes };
        self.time_ms = limits::GIT_LARGE_TIME_MS_MAX;
        self
    }

    /// With another deadline.
    pub(crate) fn time_ms_max(mut self, time_ms: u64) -> Self {
        self.time_ms = time_ms;
        self
    }

    pub(crate) async fn run(self, arguments: &[&str]) -> Result<CommandOutcome, WorkspaceError> {
        let command = self.prepared(arguments).await?;
        posse_sandbox::run(command).await.map_err(not_run)
    }

    /// The command of this call, for a git that is known to obey.
    pub(super) async fn prepared(self, arguments: &[&str]) -> Result<Command, WorkspaceError> {
        NEW_ENOUGH.get_or_try_init(must_be_new_enough).await?;
        self.command(arguments)
    }

    /// The command of a shell that calls it.
    pub(super) async fn prepared_as(
        self,
        shell: &Program,
        words: &[String],
    ) -> Result<Command, WorkspaceError> {
        NEW_ENOUGH.get_or_try_init(must_be_new_enough).await?;
        let deadline = Duration::from_millis(self.time_ms);
        let command = Command::program(shell, words, &self.folder, deadline);
        Ok(self.confined(command))
    }

    fn command(self, arguments: &[&str]) -> Result<Command, WorkspaceError> {
        let program = program::used().program.as_ref().map_err(Clone::clone)?;
        let deadline = Duration::from_millis(self.time_ms);
        let words = Self::WORDS.iter().chain(arguments);
        let command = Command::program(program, words, &self.folder, deadline);
        Ok(self.confined(command))
    }

    fn confined(self, mut command: Command) -> Command {
        command.output = self.output;
        command.env = environment(&self.settings);
        command.env.extend(self.variables);
        command.stdin = self.stdin;
        if program::used().confined {
            let mut profile = SandboxProfile::bare(self.readable, self.writable);
            profile.read_only = self.kept;
            command.confinement = Some(profile);
        }
        command
    }

    /// Runs to its end even if nobody waits for it any more: git leaves locks behind when it is killed, and those
    /// would be in the person's own repository.
    pub(crate) async fn run_through(self, arguments: &[&str]) -> Result<String, WorkspaceError> {
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        let going = going_on().await;
        let running = tokio::spawn(async move {
            let _going = going;
            let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
            self.text(&words).await
        });
        running.await.map_err(|_| WorkspaceError::Stopped)?
    }

    pub(crate) async fn text(self, arguments: &[&str]) -> Result<String, WorkspaceError> {
        text_of(arguments[0], self.run(arguments).await?)
    }

    /// Standard output, all of it.
    pub(crate) async fn bytes(self, arguments: &[&str]) -> Result<Vec<u8>, WorkspaceError> {
        let finished = self.run(arguments).await?;
        if !finished.output.complete() {
            return Err(GitError::TooMuch { call: arguments[0].to_owned() }.into());
        }
        let bytes = finished.output.bytes();
        text_of(arguments[0], finished).map(|_| bytes)
    }
}

pub(super) fn not_run(error: SandboxError) -> WorkspaceError {
    let error = match error {
        SandboxError::NotConfined(_) => GitError::NotConfined,
        _ => GitError::NotStarted,
    };
    error.into()
}

fn environment(more: &[(String, String)]) -> Vec<(String, String)> {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let settings: Vec<_> = SETTINGS.iter().map(own).chain(more.iter().cloned()).collect();
    let fixed = [
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_ATTR_NOSYSTEM", "1"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_AUTHOR_NAME", "Posse"),
        ("GIT_AUTHOR_EMAIL", "posse@localhost"),
        ("GIT_COMMITTER_NAME", "Posse"),
        ("GIT_COMMITTER_EMAIL", "posse@localhost"),
        ("LC_ALL", "C"),
        // For git's own helpers, which it finds beside itself.
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        // Settings may name files in a home: in this one there is none.
        ("HOME", "/dev/null"),
    ];
    let mut variables: Vec<_> = fixed.iter().map(own).collect();
    variables.push(("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string()));
    for (at, (name, value)) in settings.into_iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{at}"), name));
        variables.push((format!("GIT_CONFIG_VALUE_{at}"), value));
    }
    variables
}

/// Standard output as text, or why there is none. Standard error ends here.
pub(crate) fn text_of(call: &str, finished: CommandOutcome) -> Result<String, WorkspaceError> {
    let call = call.to_owned();
    let error = match finished.exit {
        CommandExit::Code(0) => {
            return Ok(String::from_utf8_lossy(&finished.output.bytes()).trim_end().to_owned());
        }
        CommandExit::DeadlineExceeded => GitError::TookTooLong { call },
        CommandExit::Signal(signal) => GitError::Ended { call, signal },
        CommandExit::Code(code) => {
            GitError::Failed { call, code, why: GitFailure::of(&finished.stderr.bytes()) }
        }
    };
    Err(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_versions_are_told_from_new_ones() {
        let new = [
            "git version 2.38.0",
            "git version 2.47.3",
            "git version 2.39.5 (Apple Git-154)",
            "git version 3.0.0",
        ];
        let old = [
            "git version 2.37.9",
            "git version 1.8.3.1",
            "git version",
            "",
            "something else",
            "git version 2",
        ];
        let is_new = |said: &&str| {
            let (major, minor, _) = version_of(said);
            (major, minor) >= limits::GIT_VERSION_MIN
        };
        assert_eq!(new.iter().filter(|said| is_new(said)).count(), new.len());
        assert_eq!(old.iter().filter(|said| is_new(said)).count(), 0);
        assert_eq!(version_of("git version 2.39.5 (Apple Git-154)"), (2, 39, ".5".to_owned()));
        assert_eq!(version_of("git version 2.50.GIT"), (2, 50, String::new()));
    }
}
