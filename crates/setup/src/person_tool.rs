//! Programs of the person that are found by their names: pagers, editors, tools for the clipboard. They are looked for outside
//! the folders that agents write.

use std::path::{Path, PathBuf};

use posse_sandbox::Program;

use crate::own_git::places_of_agents;
use crate::paths::Paths;

/// The program of this name, for somebody who works in a folder: by its path if it is one, else in the folders of `PATH`. None if
/// there is none that is fit.
pub fn person_tool(paths: &Paths, folder: &Path, name: &str) -> Option<Program> {
    let never_in = places_of_agents(paths, folder);
    if name.contains('/') {
        return Program::at(&paths.surroundings().expanded(Path::new(name)), &never_in).ok();
    }
    let search = paths.surroundings().variable("PATH").map(std::env::split_paths);
    let folders = search.into_iter().flatten().filter(|folder: &PathBuf| folder.is_absolute());
    Program::find(name, folders, &never_in)
}
