//! The files that `deny` rules hide, found anew before each command: the kernel covers what is there. What a command makes
//! itself it knows anyway; what somebody else makes while it runs is not covered.

use std::path::{Path, PathBuf};

use posse_policy::HiddenPaths;

use crate::{limits::DENIED_ENTRIES_MAX, tool::Failed};

/// Git's store of contents: nothing in there has the name of a file, and it is large.
const NOT_LOOKED_AT: &str = ".git/objects";

/// What is there of hidden paths below a folder; a folder stands for all that is in it. Links are not followed.
pub(crate) fn find(top: &Path, denied: &HiddenPaths) -> Result<Vec<PathBuf>, Failed> {
    let mut found = Vec::new();
    if denied.is_empty() {
        return Ok(found);
    }
    let (shown, mut left) = (top.to_string_lossy(), DENIED_ENTRIES_MAX);
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(top.join(&folder)) else { continue };
        for entry in entries.flatten() {
            left = left.checked_sub(1).ok_or_else(too_many)?;
            let inside = folder.join(entry.file_name());
            if denied.hides(&shown, &inside.to_string_lossy()) {
                found.push(top.join(&inside));
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) && !inside.ends_with(NOT_LOOKED_AT) {
                folders.push(inside);
            }
        }
    }
    Ok(found)
}

fn too_many() -> Failed {
    Failed(format!(
        "a rule hides files from commands, and with more than {DENIED_ENTRIES_MAX} files here they cannot all be found, so no command \
         is run; use the file tools, and tell the person that the rule \"deny read_file(…)\" is why"
    ))
}
