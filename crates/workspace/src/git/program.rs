//! Which git this process uses: settled once, before the first session, and never looked up again.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use posse_sandbox::{Program, SYSTEM_FOLDERS};

use super::GitError;

/// How this process uses git.
#[derive(Clone, Debug)]
pub struct Use {
    /// The program, or why there is none.
    pub program: Result<Program, GitError>,
    /// Whether it is confined to the folders that each call needs. Only a person may say no.
    pub confined: bool,
    /// The person's own configuration of git, which is read for who commits.
    pub person: Person,
}

/// Where the person's own configuration of git is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    /// What `~` stands for.
    pub home: Option<PathBuf>,
    /// The files, those that count more later.
    pub files: Vec<PathBuf>,
}

static USED: OnceLock<Use> = OnceLock::new();

/// Settles it. Only the first call counts, and only before git was used; says whether it did.
pub fn set_up(how: Use) -> bool {
    USED.set(how).is_ok()
}

/// Finds git on a search path and then in the system's folders, but nowhere in `never_in`.
pub fn find(search_path: Option<&OsStr>, never_in: &[PathBuf]) -> Result<Program, GitError> {
    let named = search_path.into_iter().flat_map(std::env::split_paths);
    let folders = named.chain(SYSTEM_FOLDERS.iter().map(PathBuf::from));
    Program::find(NAME, folders, never_in).ok_or(GitError::NotFound)
}

/// The git that the person has named.
pub fn named(path: &Path, never_in: &[PathBuf]) -> Result<Program, GitError> {
    Program::at(path, never_in).map_err(GitError::Unfit)
}

const NAME: &str = if cfg!(windows) { "git.exe" } else { "git" };

/// What was settled; where nothing was, the system's own git, confined.
pub(super) fn used() -> &'static Use {
    USED.get_or_init(|| Use { program: find(None, &[]), confined: true, person: Person::default() })
}
