//! Walks the workspace in a fixed order, respecting ignore files, within limits of entries and time.

use std::{
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ignore::WalkBuilder;

use crate::{Kind, Stop, Workspace, WorkspaceError, WorkspacePath, limits};

/// One entry found by a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkEntry {
    /// Where it is.
    pub path: WorkspacePath,
    /// What it is; links are not followed.
    pub kind: Kind,
}

/// Why a walk did not see everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// There were too many entries.
    Entries,
    /// It took too long.
    Time,
}

/// Where and how to walk.
pub(crate) struct Walk<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) start: &'a WorkspacePath,
    /// Also names that begin with a dot. `.git` is never entered.
    pub(crate) hidden: bool,
    /// How many levels below `start`.
    pub(crate) depth: Option<usize>,
    pub(crate) stop: &'a Stop,
}

impl Walk<'_> {
    /// Calls `visit` for every entry below the start, parents first, names in order.
    pub(crate) fn run(
        &self,
        visit: &mut dyn FnMut(WalkEntry) -> ControlFlow<()>,
    ) -> Result<Option<Cut>, WorkspaceError> {
        let start = self.workspace.root().join(self.workspace.folder(self.start)?);
        // From the top, so that the ignore files on the way count; a start that is itself ignored or hidden was
        // asked for by name, and is walked from there.
        let mut met = false;
        let cut = self.walk_from(self.workspace.root(), &start, &mut met, visit)?;
        if met { Ok(cut) } else { self.walk_from(&start, &start, &mut met, visit) }
    }

    fn walk_from(
        &self,
        top: &Path,
        start: &Path,
        met: &mut bool,
        visit: &mut dyn FnMut(WalkEntry) -> ControlFlow<()>,
    ) -> Result<Option<Cut>, WorkspaceError> {
        let began = Instant::now();
        let mut entries = 0;
        for entry in self.builder(top, start).build() {
            if self.stop.stopped() {
                return Err(WorkspaceError::Stopped);
            } else if began.elapsed() > Duration::from_millis(limits::WALK_TIME_MS_MAX) {
                return Ok(Some(Cut::Time));
            }
            // What cannot be read is not shown; that is no reason not to show the rest.
            let Ok(entry) = entry else { continue };
            if entry.path() == start {
                *met = true;
                continue;
            } else if !entry.path().starts_with(start) {
                continue;
            }
            entries += 1;
            if entries > limits::WALK_ENTRIES_MAX {
                return Ok(Some(Cut::Entries));
            }
            let Ok(inside) = entry.path().strip_prefix(self.workspace.root()) else { continue };
            if self.workspace.hides(inside) {
                continue;
            }
            let Some(kind) = entry.file_type() else { continue };
            let found = WalkEntry { path: WorkspacePath::from_walk(inside), kind: Kind::of_type(kind) };
            if visit(found).is_break() {
                break;
            }
        }
        Ok(None)
    }

    fn builder(&self, top: &Path, start: &Path) -> WalkBuilder {
        let mut builder = WalkBuilder::new(top);
        let start: PathBuf = start.to_owned();
        let levels = start.components().count() - top.components().count();
        builder
            .hidden(!self.hidden)
            .parents(false)
            .git_global(false)
            .require_git(false)
            .follow_links(false)
            .max_depth(self.depth.map(|depth| depth.saturating_add(levels)))
            .sort_by_file_name(std::ffi::OsStr::cmp)
            .filter_entry(move |entry| {
                let path = entry.path();
                entry.file_name() != ".git" && (path.starts_with(&start) || start.starts_with(path))
            });
        builder
    }
}
