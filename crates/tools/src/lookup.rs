//! From a written path to a place in the workspace, with a hint when it leads nowhere.

use posse_workspace::{Stop, Workspace, WorkspaceError, WorkspacePath, similar_names};

use crate::tool::Failed;

/// How many files are looked at for a name that is close to a missing one.
const CANDIDATES_MAX: usize = 5_000;

/// Reads a written path; a refused absolute path whose end is in the workspace is named.
pub(crate) fn place(workspace: &Workspace, written: &str) -> Result<WorkspacePath, Failed> {
    workspace.resolve(written.trim()).map_err(|error| {
        let mut text = error.to_string();
        let parts: Vec<&str> = written.split('/').filter(|part| !part.is_empty() && *part != "..").collect();
        let ends = (0..parts.len().min(32)).map(|from| parts[from..].join("/"));
        let mut there = ends.filter_map(|end| workspace.resolve(&end).ok());
        let there = there.find(|end| matches!(workspace.look(end), Ok(Some(_))));
        if let Some(end) = there {
            text = format!("{text}. Did you mean {end}?");
        }
        Failed(text)
    })
}

/// The same for a path that may be left out: then it is the workspace itself.
pub(crate) fn place_or_root(workspace: &Workspace, written: Option<&str>) -> Result<WorkspacePath, Failed> {
    written.map_or_else(|| Ok(WorkspacePath::root()), |written| place(workspace, written))
}

/// The error's text, with similar names if the path is not there.
pub(crate) fn explained(workspace: &Workspace, error: &WorkspaceError, stop: &Stop) -> Failed {
    let WorkspaceError::Missing { path } = error else { return Failed(error.to_string()) };
    let root = WorkspacePath::root();
    let files = workspace.glob("*", &root, CANDIDATES_MAX, stop).map(|found| found.paths).unwrap_or_default();
    let similar = similar_names(path, files.iter().map(ToString::to_string));
    let hint = if similar.is_empty() {
        "Use list_files or glob to see what is there.".to_owned()
    } else {
        format!("Did you mean {}?", similar.join(" or "))
    };
    Failed(format!("{error}. {hint}"))
}
