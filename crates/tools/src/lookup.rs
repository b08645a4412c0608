//! From a written path to a place in the workspace, with a hint when it leads nowhere.

use posse_protocol::visible::one_line;
use posse_workspace::{GlobFound, Nearby, Stop, Workspace, WorkspaceError, WorkspacePath, similar_names};

use crate::{failure::ToolFailure, limits};

/// Reads a written path; a refused absolute path whose end is in the workspace is named.
pub(crate) fn place(workspace: &Workspace, written: &str) -> Result<WorkspacePath, ToolFailure> {
    workspace.resolve(written.trim()).map_err(|error| {
        let mut text = error.to_string();
        let parts: Vec<&str> = written.split('/').filter(|part| !part.is_empty() && *part != "..").collect();
        let ends = (0..parts.len().min(32)).map(|from| parts[from..].join("/"));
        let mut there = ends.filter_map(|end| workspace.resolve(&end).ok());
        let there = there.find(|end| matches!(workspace.look(end), Ok(Some(_))));
        if let Some(end) = there {
            text = format!("{text}. Did you mean {end}?");
        }
        ToolFailure(text)
    })
}

/// The same for a path that may be left out: then it is the workspace itself.
pub(crate) fn place_or_root(
    workspace: &Workspace,
    written: Option<&str>,
) -> Result<WorkspacePath, ToolFailure> {
    written.map_or_else(|| Ok(WorkspacePath::root()), |written| place(workspace, written))
}

/// The error's text, with similar names if the path is not there.
pub(crate) fn explained(workspace: &Workspace, error: &WorkspaceError, stop: &Stop) -> ToolFailure {
    let WorkspaceError::Missing { path } = error else { return ToolFailure(error.to_string()) };
    let place = workspace.resolve(path).unwrap_or_else(|_| WorkspacePath::root());
    let Nearby { files, cut } = workspace.nearby(&place, stop);
    let similar = similar_names(path, files.iter().map(ToString::to_string));
    let hint = if !similar.is_empty() {
        format!("Did you mean {}?", similar.join(" or "))
    } else if cut || files.is_empty() || files.len() > limits::NAMED_PATHS_MAX {
        "Call list_files to see what is there.".to_owned()
    } else {
        format!("These files are there: {}.", listed(&files))
    };
    ToolFailure(format!("{error}. {hint}"))
}

/// The files that were found, if these are all.
pub(crate) fn named(found: &GlobFound) -> String {
    if found.total > found.paths.len() as u64 { String::new() } else { listed(&found.paths) }
}

fn listed(paths: &[WorkspacePath]) -> String {
    paths.iter().map(|path| one_line(path.as_str(), 200)).collect::<Vec<_>>().join(", ")
}
