//! The git program, called so that nothing in a repository gets to run anything.
//!
//! A repository's own configuration can name programs: monitors, hooks, pagers, diff drivers, filters. The settings
//! here go above it, through the environment so that no name in it can be read as something else. Filters and drivers
//! have names of their own choosing, so they are listed first (listing runs nothing) and switched off one by one.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use posse_sandbox::{Command, Exit, Finished, OutputLimits};

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
    ("uploadpack.packObjectsHook", ""),
];

/// The version of the git program, such as `2.47.1`.
pub async fn version() -> Result<String, WorkspaceError> {
    let text = text_of(call(Path::new("/"), &["version"], &[]).await?)?;
    Ok(text.trim_start_matches("git version ").to_owned())
}

/// Whether a folder is in a git repository.
pub async fn is_repo(folder: &Path) -> bool {
    top_level(folder).await.is_ok()
}

/// The top folder of the repository that `folder` is in.
pub async fn top_level(folder: &Path) -> Result<PathBuf, WorkspaceError> {
    let top = text_of(call(folder, &["rev-parse", "--show-toplevel"], &[]).await?)?;
    let real = |path: &Path| path.canonicalize().map_err(|error| WorkspaceError::Git(error.to_string()));
    let top = real(Path::new(&top))?;
    // A repository can say that its files are somewhere else entirely.
    if !real(folder)?.starts_with(&top) {
        return Err(WorkspaceError::Git(
            "the repository's files are said to be in another folder".to_owned(),
        ));
    }
    Ok(top)
}

/// The current branch; `None` if no branch is checked out.
pub async fn branch(folder: &Path) -> Result<Option<String>, WorkspaceError> {
    let finished = call(folder, &["symbolic-ref", "--quiet", "--short", "HEAD"], &[]).await?;
    if finished.exit == Exit::Code(1) {
        return Ok(None);
    }
    text_of(finished).map(Some)
}

/// What `git status --short` says, at most `lines_max` lines of it and how many more there are.
pub async fn status_short(folder: &Path, lines_max: usize) -> Result<String, WorkspaceError> {
    top_level(folder).await?;
    let quiet = without_filters(folder).await?;
    let arguments =
        ["status", "--short", "--untracked-files=normal", "--ignore-submodules=all", "--no-renames"];
    let text = text_of(call(folder, &arguments, &quiet).await?)?;
    let mut lines: Vec<&str> = text.lines().take(lines_max).collect();
    let more = text.lines().count().saturating_sub(lines_max);
    let note = format!("… and {more} more");
    if more > 0 {
        lines.push(&note);
    }
    Ok(lines.join("\n"))
}

/// Makes a folder a repository.
pub async fn init(folder: &Path) -> Result<(), WorkspaceError> {
    text_of(call(folder, &["init", "--quiet", "--initial-branch=main"], &[]).await?).map(drop)
}

/// Commits everything in the folder, under Posse's own name.
pub async fn commit_all(folder: &Path, message: &str) -> Result<(), WorkspaceError> {
    top_level(folder).await?;
    let quiet = without_filters(folder).await?;
    text_of(call(folder, &["add", "--all"], &quiet).await?)?;
    let commit = ["commit", "--quiet", "--no-verify", "--allow-empty", "-m", message];
    text_of(call(folder, &commit, &quiet).await?).map(drop)
}

/// Settings that switch off every filter and diff driver the repository names.
async fn without_filters(folder: &Path) -> Result<Vec<(String, String)>, WorkspaceError> {
    let finished = call(folder, &["config", "--list", "--name-only", "-z"], &[]).await?;
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

async fn call(
    folder: &Path,
    arguments: &[&str],
    more: &[(String, String)],
) -> Result<Finished, WorkspaceError> {
    let words = ["git", "--no-pager", "--no-replace-objects", "--literal-pathspecs"];
    let deadline = Duration::from_millis(limits::GIT_TIME_MS_MAX);
    let mut command = Command::argv(words.iter().chain(arguments), folder, deadline);
    command.output = OutputLimits { head_bytes: limits::GIT_OUTPUT_BYTES_MAX, tail_bytes: 0 };
    command.env = environment(more);
    posse_sandbox::run(command).await.map_err(|error| WorkspaceError::Git(error.to_string()))
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
fn text_of(finished: Finished) -> Result<String, WorkspaceError> {
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
