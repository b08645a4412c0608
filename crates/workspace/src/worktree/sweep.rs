//! Deals with what a crash left: work is committed to its branch, the rest goes.

use std::{
    fs,
    path::{Path, PathBuf},
};

use posse_protocol::Branch;

use super::{
    Repository, close, own,
    record::{CheckoutRecord, CheckoutState, VIEW, view_of},
    remove,
};
use crate::{
    WorkspaceError,
    git::{GitError, call::settled},
    limits,
    shadow::failed,
};

/// What sweeping came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Branches that hold the work of checkouts that were left.
    pub branches: Vec<Branch>,
    /// How many checkouts were removed.
    pub removed: usize,
    /// What could not be dealt with and is still there, with the reason.
    pub failed: Vec<String>,
}

/// Goes through the checkouts within `into`, none of which may be in use. Checkouts that are not ours stay.
pub async fn sweep(repo: &Path, into: &Path) -> Result<Swept, WorkspaceError> {
    let mut swept = Swept::default();
    let Ok(into) = into.canonicalize() else { return Ok(swept) };
    let repository = Repository::of(repo).await?;
    // What was called off in this process may still be on its way to its end.
    settled().await;
    for top in recorded(&into)? {
        let done = match CheckoutRecord::read(&top) {
            Ok(record) => end(&repository, &top, record).await,
            Err(error) => Err(error),
        };
        match done {
            Ok(branch) => {
                swept.branches.extend(branch);
                swept.removed += 1;
            }
            Err(error) => swept.failed.push(format!("{}: {error}", top.display())),
        }
    }
    forget_missing(&repository, &into);
    Ok(swept)
}

async fn end(
    repository: &Repository,
    top: &Path,
    record: CheckoutRecord,
) -> Result<Option<Branch>, WorkspaceError> {
    // Another checkout of the same repository will do.
    if record.repository != repository.top
        && Repository::of(&record.repository).await?.common != repository.common
    {
        return Err(GitError::OtherRepository.into());
    }
    if record.state == CheckoutState::Making {
        return remove(repository, top, Some((&record.branch, &record.base))).await.map(|()| None);
    }
    close(repository, top, record, "Work that was left when Posse ended", limits::SWEPT_DIFF_BYTES_MAX).await
}

/// The places of all checkouts that there is a record of.
pub(crate) fn recorded(into: &Path) -> Result<Vec<PathBuf>, WorkspaceError> {
    let entries = match fs::read_dir(view_of(into).join("checkouts")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut tops: Vec<PathBuf> =
        names.filter_map(|name| name.strip_suffix(".record").map(|name| into.join(name))).collect();
    tops.sort();
    Ok(tops)
}

/// What git still knows of checkouts of ours whose folders are gone.
pub(crate) fn forget_missing(repository: &Repository, into: &Path) {
    for own in own::all(repository) {
        let dot = own.checkout().unwrap_or_default();
        let ours = dot.parent().and_then(Path::parent) == Some(into) && !dot.starts_with(into.join(VIEW));
        if ours && !dot.exists() {
            let _ = own.remove();
        }
    }
}
