//! What is known of a checkout apart from the checkout itself, so that what a crash left can be dealt with.
//!
//! ```text
//! Making ─► Ready ─► Done ─► (no record)
//!    │        └─ holds work: commit it, then Done
//!    └─ nobody worked in it yet: remove it
//! ```

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    WorkspaceError,
    git::GitError,
    shadow::{checked, failed, replace},
};

/// Within the folder of the checkouts: records, indexes, and the private git folder.
pub(crate) const VIEW: &str = ".posse-view";

/// How far a checkout is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CheckoutState {
    /// Its files may not all be there.
    Making,
    /// It is worked in.
    Ready,
    /// Its work is on its branch.
    Done,
}

/// The record of one checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CheckoutRecord {
    pub(crate) state: CheckoutState,
    pub(crate) branch: String,
    pub(crate) base: String,
    /// The top folder of the repository it is of.
    pub(crate) repository: PathBuf,
}

impl CheckoutRecord {
    pub(crate) fn write(&self, checkout: &Path) -> Result<(), WorkspaceError> {
        let state = match self.state {
            CheckoutState::Making => "making",
            CheckoutState::Ready => "ready",
            CheckoutState::Done => "done",
        };
        let repository = self.repository.to_str().filter(|name| !name.contains('\n'));
        let repository = repository.ok_or(GitError::UnusableName)?;
        let text = format!("{state}\n{}\n{}\n{repository}\n", self.branch, self.base);
        let path = path_of(checkout)?;
        fs::create_dir_all(path.parent().unwrap_or(&path)).map_err(failed)?;
        replace(&path, &text)
    }

    pub(crate) fn read(checkout: &Path) -> Result<Self, WorkspaceError> {
        let text = fs::read_to_string(path_of(checkout)?).map_err(failed)?;
        let lines: Vec<&str> = text.lines().collect();
        let [state, branch, base, repository] = lines[..] else {
            return Err(GitError::DamagedRecord.into());
        };
        let state = match state {
            "making" => CheckoutState::Making,
            "ready" => CheckoutState::Ready,
            _ => CheckoutState::Done,
        };
        let (branch, base) = (must_be_ours(branch)?.to_owned(), checked(base)?.to_owned());
        Ok(Self { state, branch, base, repository: PathBuf::from(repository) })
    }

    pub(crate) fn remove(checkout: &Path) -> Result<(), WorkspaceError> {
        let _ = fs::remove_file(index_of(checkout)?);
        // Of a git that was killed.
        let _ = fs::remove_file(beside(checkout, "index.lock")?);
        match fs::remove_file(path_of(checkout)?) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error)),
            _ => Ok(()),
        }
    }
}

/// The private git folder for checkouts within `into`.
pub(crate) fn view_of(into: &Path) -> PathBuf {
    into.join(VIEW)
}

fn path_of(checkout: &Path) -> Result<PathBuf, WorkspaceError> {
    beside(checkout, "record")
}

/// The index of a checkout.
pub(crate) fn index_of(checkout: &Path) -> Result<PathBuf, WorkspaceError> {
    beside(checkout, "index")
}

/// A file that belongs to a checkout and is not in it.
pub(crate) fn beside(checkout: &Path, what: &str) -> Result<PathBuf, WorkspaceError> {
    match (checkout.parent(), checkout.file_name().and_then(|name| name.to_str())) {
        (Some(into), Some(name)) => Ok(view_of(into).join("checkouts").join(format!("{name}.{what}"))),
        _ => Err(GitError::UnusableName.into()),
    }
}

/// Branches of Posse's own; no other is ever made, moved or deleted.
pub(crate) fn must_be_ours(branch: &str) -> Result<&str, WorkspaceError> {
    let part = |part: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        !part.is_empty()
            && part.bytes().all(plain)
            && !part.starts_with(['.', '-'])
            && !part.ends_with('.')
            && !part.ends_with(".lock")
            && !part.contains("..")
    };
    let parts: Vec<&str> = branch.split('/').collect();
    let ours =
        parts.len() >= 2 && parts[0] == "posse" && parts.iter().all(|one| part(one)) && branch.len() <= 200;
    if ours { Ok(branch) } else { Err(GitError::NotOurs.into()) }
}
