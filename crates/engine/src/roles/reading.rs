//! Reads files with roles, within their limit: the person's own by path, a project's without leaving the project.

use std::io::Read as _;
use std::path::Path;

use posse_roles::limits::FILE_BYTES_MAX;
use posse_workspace::{Workspace, WorkspacePath};

pub(crate) fn read_own(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("it cannot be read: {error}");
    start_of(&mut std::fs::File::open(path).map_err(failed)?).map_err(failed)
}

pub(crate) fn read_within(workspace: &Workspace, path: &WorkspacePath) -> Result<Vec<u8>, String> {
    let opened = workspace.open_file(path).map_err(|error| format!("it cannot be read: {error}"))?;
    start_of(&mut { opened.file }).map_err(|error| format!("it cannot be read: {error}"))
}

/// One byte more than allowed tells that there is more.
fn start_of(file: &mut std::fs::File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
