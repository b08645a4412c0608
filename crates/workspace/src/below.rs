//! What is in a folder that somebody else writes, listed through open folders: a link that takes the place of a folder
//! meanwhile leads nowhere.

use std::path::{Path, PathBuf};

use crate::checkpoint::folder::{Hint, Top, path_of};

/// Visits all that is below a folder, by its path in it and whether it is a folder. `visit` says whether to go into one, and
/// an error of it ends all. Links are not followed, and what cannot be opened is passed over.
pub fn visit_below<E>(top: &Path, mut visit: impl FnMut(&Path, bool) -> Result<bool, E>) -> Result<(), E> {
    let Ok(top) = top.canonicalize().and_then(|top| Top::open(&top)) else { return Ok(()) };
    let mut folders = vec![PathBuf::new()];
    while let Some(inside) = folders.pop() {
        let Ok(folder) = top.folder(inside.as_os_str().as_encoded_bytes()) else { continue };
        for (name, hint) in folder.names().unwrap_or_default() {
            let is_folder = match hint {
                Hint::Unknown => folder.look(&name).ok().flatten().is_some_and(|seen| seen.is_folder()),
                hint => hint == Hint::Folder,
            };
            let path = inside.join(path_of(&name));
            if visit(&path, is_folder)? && is_folder {
                folders.push(path);
            }
        }
    }
    Ok(())
}
