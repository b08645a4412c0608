//! Files and folders of ours that are gone when nobody needs them any more.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{WorkspaceError, expect::temporary_name, shadow::failed};

/// A file or folder that is removed when this is dropped.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// A new folder within another.
    pub(super) fn folder(within: &Path) -> Result<Self, WorkspaceError> {
        // Git is shown real places only.
        let path = within.canonicalize().map_err(failed)?.join(temporary_name());
        fs::create_dir(&path).map_err(failed)?;
        Ok(Self(path))
    }

    /// A new file beside another.
    pub(super) fn beside(path: &Path) -> Result<(Self, fs::File), WorkspaceError> {
        let path = path.with_file_name(temporary_name());
        let file = fs::File::create_new(&path).map_err(failed)?;
        Ok((Self(path), file))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Gives it its name, which it keeps.
    pub(super) fn rename(self, to: &Path) -> Result<(), WorkspaceError> {
        fs::rename(&self.0, to).map_err(failed)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // After a rename there is nothing of this name left.
        let _ = match self.0.is_dir() {
            true => fs::remove_dir_all(&self.0),
            false => fs::remove_file(&self.0),
        };
    }
}
