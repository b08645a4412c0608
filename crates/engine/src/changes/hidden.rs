//! What rules hide, as files know it.

use std::path::{Path, PathBuf};

use posse_policy::HiddenPaths;
use posse_workspace::Hides;

/// The hidden paths of one folder. What is elsewhere, such as notes above the workspace, goes by its name. `None` if
/// nothing is hidden: then no file has to be looked at for where it really is.
pub(crate) fn hides(hidden: HiddenPaths, top: &Path) -> Option<Hides> {
    if hidden.is_empty() {
        return None;
    }
    let (top, shown): (PathBuf, String) = (top.to_path_buf(), top.to_string_lossy().into_owned());
    Some(Hides::new(move |place| match place.strip_prefix(&top) {
        Ok(inside) => hidden.hides(&shown, &inside.to_string_lossy()),
        Err(_) => place.file_name().is_some_and(|name| hidden.hides(&shown, &name.to_string_lossy())),
    }))
}
