//! From a grant to what the kernel lets a command do.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use posse_policy::{HiddenPaths, shell_level, writable_roots};
use posse_protocol::{Approval, Files, Grant, Network, Shell};
use posse_sandbox::{Level, SandboxProfile, Share};
use posse_workspace::Workspace;

use crate::denied_files;

/// Folders whose files have other names outside the workspace, as package stores and local clones have: a write in place
/// would reach those. Known once somebody has looked. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct LinkedFolders(Arc<OnceLock<Vec<PathBuf>>>);

impl LinkedFolders {
    /// Says which; the first to say so counts. Absolute.
    pub fn are(&self, folders: Vec<PathBuf>) {
        let _ = self.0.set(folders);
    }

    fn get(&self) -> &[PathBuf] {
        self.0.get().map(Vec::as_slice).unwrap_or_default()
    }
}

impl PartialEq for LinkedFolders {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for LinkedFolders {}

/// How commands are confined, the same for all agents of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sandbox {
    /// Whether they are. Only a person may say no.
    pub on: bool,
    /// Folders and files that no command sees: where Posse keeps its own things.
    pub hidden: Vec<PathBuf>,
    /// Paths in the workspace that no agent sees, by whatever tool.
    pub denied: HiddenPaths,
    /// Where else than in its own folder a command must not see them: the session's folder, for an agent that works apart.
    pub denied_in: Vec<PathBuf>,
    /// What of the hidden home folder commands may read.
    pub readable: Vec<PathBuf>,
    /// What all commands together may use of the machine.
    pub share: Share,
    /// What they may not write, because it is not in the workspace alone.
    pub linked: LinkedFolders,
}

impl Default for Sandbox {
    fn default() -> Self {
        let (denied, denied_in) = (HiddenPaths::default(), Vec::new());
        let (hidden, readable, share) = (Vec::new(), Vec::new(), Share::default());
        let linked = LinkedFolders::default();
        Self { on: true, hidden, denied, denied_in, readable, share, linked }
    }
}

impl Sandbox {
    /// What a command of an agent with this grant may do in this folder; none where nothing is confined.
    pub(crate) fn profile(&self, grant: &Grant, place: &Workspace) -> Option<SandboxProfile> {
        if !self.on {
            return None;
        }
        let workspace = place.root();
        let level = match level(grant) {
            Shell::Full => Level::Full,
            Shell::Verify => Level::Verify,
            Shell::Inspect | Shell::None => Level::Inspect,
        };
        let mut profile = SandboxProfile::new(level, workspace);
        if profile.level == Level::Full {
            let roots = writable_roots(&grant.writes);
            // An empty root is all of it; joined it would be another path.
            let whole = |root: &String| match root.is_empty() {
                true => workspace.to_path_buf(),
                false => workspace.join(root),
            };
            profile.writable = roots.iter().map(whole).collect();
            profile.read_only = grant.writes.except.iter().map(|path| workspace.join(path)).collect();
            let linked = self.linked.get().iter().filter(|folder| folder.starts_with(workspace));
            profile.read_only.extend(linked.cloned());
        }
        if grant.approval == Approval::Full {
            // What other programs act on by themselves asks in every mode but this one.
            profile.protected.clear();
            profile.guard_names = false;
        } else if profile.level == Level::Full {
            profile.covered = place.protected_places().iter().map(|path| workspace.join(path)).collect();
        }
        profile.hidden.extend(self.hidden.iter().cloned());
        profile.readable.extend(self.readable.iter().cloned());
        profile.readable.extend(posse_workspace::git::folder_outside(workspace));
        profile.network = grant.network == Network::Full;
        profile.limits.session = self.share;
        Some(profile)
    }
}

impl Sandbox {
    /// The same for a command that is no call of an agent, such as a hook, without the files that rules hide. It looks for
    /// these, so it belongs on a thread of its own.
    pub fn hook_profile(&self, grant: &Grant, place: &Workspace) -> Result<Option<SandboxProfile>, String> {
        let Some(mut profile) = self.profile(grant, place) else { return Ok(None) };
        if !self.denied.is_empty() {
            let others = self.denied_in.iter().map(PathBuf::as_path).filter(|other| *other != place.root());
            for folder in std::iter::once(place.root()).chain(others) {
                profile.hidden.extend(denied_files::find(folder, &self.denied).map_err(|error| error.0)?);
            }
        }
        Ok(Some(profile))
    }
}

/// The level that commands run at: a shell that can write is only for those who may write files.
pub(crate) fn level(grant: &Grant) -> Shell {
    let level = shell_level(grant);
    if grant.files == Files::Write { level } else { level.min(Shell::Verify) }
}

/// Why a command that failed may have failed, where its output looks like the sandbox had a hand in it.
pub(crate) fn hint(profile: &SandboxProfile, output: &str) -> Option<&'static str> {
    let says = |words: &[&str]| words.iter().any(|word| output.contains(word));
    let no_network = ["resolve host", "name resolution", "Network is unreachable", "ENOTFOUND", "EAI_AGAIN"];
    let no_write = ["Read-only file system", "Permission denied", "Operation not permitted", "EROFS"];
    if !profile.network && says(&no_network) {
        return Some("The sandbox has no network.");
    } else if !says(&no_write) {
        return None;
    }
    Some(match profile.level {
        Level::Inspect => "This agent may only look: the sandbox keeps every file as it is.",
        Level::Verify => "Outside the workspace the sandbox keeps every file as it is.",
        Level::Full => {
            "The sandbox keeps everything outside the workspace as it is, and in it what other programs act on by \
             themselves: .git/config, .git/hooks, settings of editors, agents, shells and build tools. To change one of \
             those, write it with a file tool, which asks the person; or run the command with outside_sandbox."
        }
    })
}

/// Who commits, told to commands: they do not see the person's own configuration.
pub(crate) async fn committer(workspace: &Path) -> Vec<(String, String)> {
    let Some((name, email)) = posse_workspace::git::identity(workspace).await else { return Vec::new() };
    let variables = [
        ("GIT_AUTHOR_NAME", &name),
        ("GIT_AUTHOR_EMAIL", &email),
        ("GIT_COMMITTER_NAME", &name),
        ("GIT_COMMITTER_EMAIL", &email),
    ];
    variables.map(|(variable, value)| (variable.to_owned(), value.clone())).to_vec()
}
