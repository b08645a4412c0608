//! One hardened call of git.
//!
//! A repository's own configuration can name programs: monitors, hooks, pagers, diff drivers, filters. The settings
//! here go above it, through the environment so that no name in it can be read as something else. Filters and drivers
//! have names of their own choosing, so they are listed first (listing runs nothing) and switched off one by one.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use posse_sandbox::{Command, Exit, Finished, OutputLimits};
use tokio::sync::{OnceCell, RwLock, RwLockReadGuard};

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
    let said = text_of(Git::at(Path::new("/")).start(&["version"]).await?)?;
    if is_new_enough(&said) {
        return Ok(());
    }
    let (major, minor) = limits::GIT_VERSION_MIN;
    let said: String = said.chars().take(80).collect();
    Err(WorkspaceError::Git(format!("{said} is too old; install git {major}.{minor} or newer")))
}

fn is_new_enough(said: &str) -> bool {
    let version = said.trim_start_matches("git version ");
    let mut numbers = version.split(['.', ' ', '-']).map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= limits::GIT_VERSION_MIN
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
}

impl Git {
    /// Finds its repository by itself, from a folder.
    pub(crate) fn at(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            variables: Vec::new(),
            settings: Vec::new(),
            stdin: None,
            time_ms: limits::GIT_TIME_MS_MAX,
            output: OutputLimits { head_bytes: limits::GIT_OUTPUT_BYTES_MAX, tail_bytes: 0 },
        }
    }

    /// With settings above all others.
    pub(crate) fn settings(mut self, more: &[(String, String)]) -> Self {
        self.settings.extend_from_slice(more);
        self
    }

    /// With a variable of git's own, such as `GIT_DIR`.
    pub(crate) fn variable(mut self, name: &str, value: &Path) -> Result<Self, WorkspaceError> {
        let value =
            value.to_str().ok_or_else(|| WorkspaceError::Git("a folder's name is not UTF-8".into()))?;
        self.variables.push((name.to_owned(), value.to_owned()));
        Ok(self)
    }

    /// With something to read.
    pub(crate) fn stdin(mut self, bytes: Vec<u8>) -> Self {
        self.stdin = Some(bytes);
        self
    }

    /// For work on a whole tree: more time, and more to say.
    pub(crate) fn large(mut self) -> Self {
        let side_bytes = limits::GIT_LARGE_OUTPUT_BYTES_MAX / 2;
        self.output = OutputLimits { head_bytes: side_bytes, tail_bytes: side_bytes };
        self.time_ms = limits::GIT_LARGE_TIME_MS_MAX;
        self
    }

    pub(crate) async fn run(self, arguments: &[&str]) -> Result<Finished, WorkspaceError> {
        NEW_ENOUGH.get_or_try_init(must_be_new_enough).await?;
        self.start(arguments).await
    }

    async fn start(self, arguments: &[&str]) -> Result<Finished, WorkspaceError> {
        let words = ["git", "--no-pager", "--no-replace-objects", "--literal-pathspecs"];
        let deadline = Duration::from_millis(self.time_ms);
        let mut command = Command::argv(words.iter().chain(arguments), &self.folder, deadline);
        command.output = self.output;
        command.env = environment(&self.settings);
        command.env.extend(self.variables);
        command.stdin = self.stdin;
        posse_sandbox::run(command).await.map_err(|error| WorkspaceError::Git(error.to_string()))
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
        running.await.map_err(|error| WorkspaceError::Git(error.to_string()))?
    }

    pub(crate) async fn text(self, arguments: &[&str]) -> Result<String, WorkspaceError> {
        text_of(self.run(arguments).await?)
    }

    /// Standard output, all of it.
    pub(crate) async fn bytes(self, arguments: &[&str]) -> Result<Vec<u8>, WorkspaceError> {
        let finished = self.run(arguments).await?;
        if !finished.output.complete() {
            return Err(WorkspaceError::Git("it had too much to say; the folder holds too much".to_owned()));
        }
        let bytes = finished.output.bytes();
        text_of(finished).map(|_| bytes)
    }
}

/// Settings that switch off every filter and diff driver the repository names.
pub(crate) async fn without_filters(folder: &Path) -> Result<Vec<(String, String)>, WorkspaceError> {
    let finished = Git::at(folder).run(&["config", "--list", "--name-only", "-z"]).await?;
    if !finished.output.complete() {
        return Err(WorkspaceError::Git("the repository's configuration is too large".to_owned()));
    }
    let names = String::from_utf8(finished.output.bytes());
    let names =
        names.map_err(|_| WorkspaceError::Git("the repository's configuration is not UTF-8".to_owned()))?;
    let mut off = Vec::new();
    for name in names.split('\0') {
        let Some((section, key)) = name.rsplit_once('.') else { continue };
        let value = match (section.split_once('.').map(|(section, _)| section), key) {
            (Some("filter"), "clean" | "smudge" | "process") => "",
            (Some("filter"), "required") => "false",
            (Some("diff"), "command" | "textconv") | (Some("merge"), "driver") => "",
            _ => continue,
        };
        off.push((name.to_owned(), value.to_owned()));
    }
    Ok(off)
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
    ];
    let mut variables: Vec<_> = fixed.iter().map(own).collect();
    variables.push(("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string()));
    for (at, (name, value)) in settings.into_iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{at}"), name));
        variables.push((format!("GIT_CONFIG_VALUE_{at}"), value));
    }
    variables
}

/// Standard output as text, or standard error as the reason why there is none.
pub(crate) fn text_of(finished: Finished) -> Result<String, WorkspaceError> {
    match finished.exit {
        Exit::Code(0) => Ok(String::from_utf8_lossy(&finished.output.bytes()).trim_end().to_owned()),
        Exit::DeadlineExceeded => Err(WorkspaceError::Git("it took too long".to_owned())),
        Exit::Code(_) | Exit::Signal(_) => {
            let reason = String::from_utf8_lossy(&finished.stderr.bytes()).trim().to_owned();
            let first: String = reason.lines().next().unwrap_or("it failed").chars().take(300).collect();
            Err(WorkspaceError::Git(first))
        }
    }
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
        new.iter().for_each(|said| assert!(is_new_enough(said), "{said}"));
        old.iter().for_each(|said| assert!(!is_new_enough(said), "{said}"));
    }
}
