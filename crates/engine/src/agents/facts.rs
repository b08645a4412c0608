//! What can be looked up about an agent's words: in a workspace, or in a commit with what was done somewhere else.

use std::io::Read as _;
use std::sync::OnceLock;

use posse_protocol::{Receipt, limits::RECEIPT_COMMANDS_MAX};
use posse_report::{Facts, FileFacts};
use posse_workspace::bundle::{CommitFile, CommitFiles};
use posse_workspace::{Stop, Workspace, WorkspaceError, WorkspacePath, text::is_binary};
use tokio::runtime::Handle;

use crate::limits::{FACT_BYTES_MAX, FACT_PATHS_MAX};

/// Looks into one workspace, link-safe like everything else.
pub(crate) struct WorkspaceFacts {
    workspace: Workspace,
    /// Whether Posse commits the agent's work when it ends.
    commits_for_it: bool,
    /// The files that are not ignored, found when somebody asks; `None` if there are too many.
    files: OnceLock<Option<Vec<String>>>,
}

impl WorkspaceFacts {
    pub(crate) fn new(workspace: Workspace, commits_for_it: bool) -> Self {
        Self { workspace, commits_for_it, files: OnceLock::new() }
    }

    /// The whole of a file, if it is a text that is small enough; and how long it is.
    fn read(&self, path: &str) -> Option<(u64, Option<Vec<u8>>)> {
        let opened = self.workspace.open_file(&self.workspace.resolve(path).ok()?).ok()?;
        let bytes = opened.file.metadata().ok()?.len();
        let mut read = Vec::with_capacity(usize::try_from(bytes.min(FACT_BYTES_MAX)).unwrap_or(0));
        let whole =
            bytes <= FACT_BYTES_MAX && opened.file.take(FACT_BYTES_MAX).read_to_end(&mut read).is_ok();
        Some((bytes, Some(read).filter(|read| whole && !is_binary(read))))
    }

    fn files(&self) -> Option<&[String]> {
        let find = || {
            let top = WorkspacePath::root();
            let mut files = Vec::new();
            for pattern in ["**", ".*", "**/.*/**"] {
                let found = self.workspace.glob(pattern, &top, FACT_PATHS_MAX, &Stop::default()).ok()?;
                if found.cut.is_some() || found.total > found.paths.len() as u64 {
                    return None;
                }
                files.extend(found.paths.iter().map(ToString::to_string));
            }
            Some(files)
        };
        self.files.get_or_init(find).as_deref()
    }
}

impl Facts for WorkspaceFacts {
    fn file(&self, path: &str) -> Option<FileFacts> {
        let (bytes, text) = self.read(path)?;
        Some(FileFacts { bytes, lines: text.map(|read| lines_of(&read)) })
    }

    fn text(&self, path: &str) -> Option<String> {
        let (_, text) = self.read(path)?;
        Some(String::from_utf8_lossy(&text?).into_owned())
    }

    fn outside(&self, path: &str) -> bool {
        path.starts_with('~') || matches!(self.workspace.resolve(path), Err(WorkspaceError::Outside { .. }))
    }

    fn watched(&self, path: &str) -> bool {
        let Ok(place) = self.workspace.resolve(path) else { return false };
        // What is there and was not found is ignored; so may be what is not there.
        match self.files() {
            Some(files) => self.read(path).is_none() || files.contains(&place.to_string()),
            None => false,
        }
    }

    fn any_ends_with(&self, end: &str) -> bool {
        self.files().is_none_or(|files| files.iter().any(|path| path.ends_with(end)))
    }

    fn commits_for_it(&self) -> bool {
        self.commits_for_it
    }
}

/// Looks into one commit. For a thread that may wait.
pub(crate) struct CommitFacts {
    files: CommitFiles,
    /// The session's own: it says what a path stands for, and what is hidden.
    workspace: Workspace,
    runtime: Handle,
    paths: OnceLock<Option<Vec<String>>>,
}

impl CommitFacts {
    pub(crate) fn new(files: CommitFiles, workspace: Workspace) -> Self {
        Self { files, workspace, runtime: Handle::current(), paths: OnceLock::new() }
    }

    fn place(&self, path: &str) -> Option<String> {
        let place = self.workspace.resolve(path).ok()?;
        (!self.workspace.hides_path(&place)).then(|| place.to_string())
    }

    /// The same as of a workspace.
    fn read(&self, path: &str) -> Option<(u64, Option<Vec<u8>>)> {
        let read = self.runtime.block_on(self.files.file(&self.place(path)?, FACT_BYTES_MAX));
        let CommitFile { bytes, content } = read.ok()??;
        Some((bytes, content.filter(|read| !is_binary(read))))
    }

    fn paths(&self) -> Option<&[String]> {
        let find = || self.runtime.block_on(self.files.paths(FACT_PATHS_MAX)).ok().flatten();
        self.paths.get_or_init(find).as_deref()
    }
}

impl Facts for CommitFacts {
    fn file(&self, path: &str) -> Option<FileFacts> {
        let (bytes, text) = self.read(path)?;
        Some(FileFacts { bytes, lines: text.map(|read| lines_of(&read)) })
    }

    fn text(&self, path: &str) -> Option<String> {
        let (_, text) = self.read(path)?;
        Some(String::from_utf8_lossy(&text?).into_owned())
    }

    fn outside(&self, path: &str) -> bool {
        path.starts_with('~') || matches!(self.workspace.resolve(path), Err(WorkspaceError::Outside { .. }))
    }

    fn watched(&self, path: &str) -> bool {
        // Git has compared all that is in the commit. What is not in it may be there, and ignored.
        self.place(path).is_some()
    }

    fn any_ends_with(&self, end: &str) -> bool {
        self.paths().is_none_or(|paths| paths.iter().any(|path| path.ends_with(end)))
    }

    fn commits_for_it(&self) -> bool {
        true
    }
}

fn lines_of(text: &[u8]) -> u64 {
    let ends = text.iter().filter(|byte| **byte == b'\n').count() as u64;
    ends + u64::from(!text.is_empty() && text.last() != Some(&b'\n'))
}

/// What was measured for an agent and for those whose conversation it took up: it may speak of all of it as its own.
pub(crate) fn together(receipt: &Receipt, earlier: &[Receipt]) -> Receipt {
    let mut all = receipt.clone();
    for before in earlier {
        before.files_in_all().iter().for_each(|file| file.add_to(&mut all.files_below));
        before.files_not_certain.iter().for_each(|file| file.add_to(&mut all.files_not_certain));
        let later = std::mem::replace(&mut all.commands, before.commands.clone());
        all.commands.extend(later);
        all.commands.truncate(RECEIPT_COMMANDS_MAX);
        all.commands_total = all.commands_total.saturating_add(before.commands_total);
        all.tool_calls = all.tool_calls.saturating_add(before.tool_calls);
        all.below.agents = all.below.agents.saturating_add(before.below.agents);
        all.below.commands = all.below.commands.saturating_add(before.below.commands);
        all.tests = all.tests.or_else(|| before.tests.clone());
        all.tests_below = all.tests_below.or_else(|| before.tests_below.clone());
        all.commits.splice(..0, before.commits.iter().cloned());
        all.commits_total = all.commits_total.saturating_add(before.commits_total);
        all.children_total = all.children_total.saturating_add(before.children_total);
    }
    all
}
