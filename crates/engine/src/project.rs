//! The project's notes for agents: AGENTS.md, the closest one upwards; others are accepted in its place.

use std::io::Read as _;
use std::path::Path;

use posse_workspace::Workspace;

use crate::limits::{PROJECT_CONTEXT_BYTES_MAX, PROJECT_LEVELS_MAX};

/// The names that are looked for in each folder, in this order, unless others are configured.
const NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", ".idlehands.md"];

/// Notes found in a project, cut to the cap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectContext {
    /// The file's path.
    pub name: String,
    /// Its text.
    pub text: String,
}

/// Looks in `folder`, then upwards to the top of its repository, for the first of these names, or of the usual ones.
/// Outside a repository only in `folder`.
pub fn project_context(folder: &Path, names: Option<&[String]>) -> Option<ProjectContext> {
    let usual = || NAMES.to_vec();
    let names = names.map_or_else(usual, |names| names.iter().map(String::as_str).collect());
    project_folders(folder).find_map(|folder| in_folder(folder, &names))
}

/// A folder and those above it, up to the top of its repository; outside a repository the folder alone.
pub fn project_folders(folder: &Path) -> impl Iterator<Item = &Path> {
    let upwards = || folder.ancestors().take(PROJECT_LEVELS_MAX);
    let top = upwards().find(|dir| dir.join(".git").exists()).unwrap_or(folder);
    upwards().take_while(move |dir| dir.starts_with(top))
}

/// The project that a session in a folder is about: the top of the repository, or the folder itself.
pub fn project_of(folder: &Path) -> String {
    project_folders(folder).last().unwrap_or(folder).display().to_string()
}

fn in_folder(folder: &Path, names: &[&str]) -> Option<ProjectContext> {
    let files = Workspace::open(folder).ok()?;
    names.iter().find_map(|name| {
        let opened = files.open_file(&files.resolve(name).ok()?).ok()?;
        let mut bytes = Vec::new();
        opened.file.take(PROJECT_CONTEXT_BYTES_MAX).read_to_end(&mut bytes).ok()?;
        let text = String::from_utf8_lossy(&bytes).trim().to_string();
        let name = folder.join(name).display().to_string();
        (!text.is_empty()).then_some(ProjectContext { name, text })
    })
}
