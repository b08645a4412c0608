//! Why a session cannot be prepared, as values to branch on.

use crate::surroundings::NoFolder;

/// Why a session cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// There is no home folder to keep data in.
    #[error("no home folder is known; give --data-dir or set POSSE_HOME")]
    NoHome,
    /// There is no current folder.
    #[error(transparent)]
    NoFolder(#[from] NoFolder),
    /// A variable that names a file or folder is empty.
    #[error("{variable} is empty; set it to a path, or unset it")]
    EmptyVariable {
        /// The variable.
        variable: &'static str,
    },
    /// A path cannot be made absolute.
    #[error(transparent)]
    Path(std::io::Error),
}
