//! The files that `deny` rules hide, found anew before each command: the kernel covers what is there. What a command makes
//! itself it knows anyway; what somebody else makes while it runs is not covered.

use std::path::{Path, PathBuf};

use posse_policy::HiddenPaths;

use crate::{failure::ToolFailure, limits::DENIED_ENTRIES_MAX};

/// Git's store of contents: nothing in there has the name of a file, and it is large.
const NOT_LOOKED_AT: &str = ".git/objects";

/// What is there of hidden paths below a folder; a folder stands for all that is in it. Links are not followed.
pub(crate) fn find(top: &Path, denied: &HiddenPaths) -> Result<Vec<PathBuf>, ToolFailure> {
    let mut found = Vec::new();
    if denied.is_empty() {
        return Ok(found);
    }
    let (shown, mut left) = (top.to_string_lossy(), DENIED_ENTRIES_MAX);
    posse_workspace::visit_below(top, |inside, is_folder| {
        left = left.checked_sub(1).ok_or(())?;
        let hidden = denied.hides(&shown, &inside.to_string_lossy());
        found.extend(hidden.then(|| top.join(inside)));
        Ok(is_folder && !hidden && !inside.ends_with(NOT_LOOKED_AT))
    })
    .map_err(|()| too_many())?;
    Ok(found)
}

fn too_many() -> ToolFailure {
    ToolFailure(format!(
        "a rule hides files from commands, and with more than {DENIED_ENTRIES_MAX} files here they cannot all be found, so no command \
         is run; use the file tools, and tell the person that the rule \"deny read_file(…)\" is why"
    ))
}
