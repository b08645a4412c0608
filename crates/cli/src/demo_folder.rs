//! The folder that the demo works in. It goes with the demo, and what a demo that was killed has left goes with the next.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

const PREFIX: &str = "posse-demo-";
/// Locked as long as its demo runs. A folder without one is meant to stay.
const HELD: &str = ".running";

/// Removed when it is dropped, unless it is kept.
pub(crate) struct DemoFolder {
    path: PathBuf,
    held: Option<(File, tempfile::TempDir)>,
}

impl DemoFolder {
    pub(crate) fn make(place: &Path, keep: bool) -> io::Result<Self> {
        clear(place);
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(place)?;
        let path = std::fs::canonicalize(folder.path())?;
        if keep {
            let _ = folder.keep();
            return Ok(Self { path, held: None });
        }
        let lock = File::create_new(path.join(HELD))?;
        lock.lock()?;
        Ok(Self { path, held: Some((lock, folder)) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for DemoFolder {
    fn drop(&mut self) {
        // The lock goes last: nobody else is to clear it away meanwhile.
        if let Some((lock, folder)) = self.held.take() {
            let _ = folder.close();
            drop(lock);
        }
    }
}

/// Removes the folders of demos that were killed: ours, with a lock that nobody holds.
fn clear(place: &Path) {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    for entry in entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes())) {
        let folder = entry.path();
        let left =
            is_ours(&folder) && File::open(folder.join(HELD)).is_ok_and(|lock| lock.try_lock().is_ok());
        if left {
            let _ = std::fs::remove_dir_all(&folder);
        }
    }
}

#[cfg(unix)]
fn is_ours(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let own = std::fs::metadata("/proc/self").map(|found| found.uid());
    let found = std::fs::symlink_metadata(folder);
    found.is_ok_and(|found| found.is_dir() && own.is_ok_and(|own| own == found.uid()))
}

#[cfg(not(unix))]
fn is_ours(folder: &Path) -> bool {
    folder.is_dir()
}
