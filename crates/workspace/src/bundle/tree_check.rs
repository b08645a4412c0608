//! What the files of a commit would be in a folder: how many, how large and how they are called. Trees can be made so that a
//! few objects stand for more files than any disk holds, so counting ends as soon as it is too much.

use std::collections::HashMap;

use super::TakeLimits;
use crate::{
    BundleFault, WorkspaceError,
    git::{GitError, call::Git},
    limits,
};

/// The entries of a tree. Git lists a tree as it reads it; what differs, it collects before it says a word. So these are
/// asked for first.
#[derive(Debug, Default)]
pub(super) struct TreeEntries(u64);

impl TreeEntries {
    /// Refuses too many, and names and modes that no file of a work tree has.
    pub(super) fn hear(&mut self, record: &[u8], entries_max: u64) -> Result<(), WorkspaceError> {
        self.0 += 1;
        if self.0 > entries_max {
            return refused(BundleFault::TooManyEntries { entries_max });
        }
        entry_must_be_fit(record)
    }
}

fn entry_must_be_fit(record: &[u8]) -> Result<(), WorkspaceError> {
    let Some((head, path)) = memchr::memchr(b'\t', record).map(|at| record.split_at(at)) else {
        return refused(BundleFault::BadPath);
    };
    let (mode, path) = (head.split(|byte| *byte == b' ').next().unwrap_or_default(), &path[1..]);
    if path.len() > limits::PATH_BYTES_MAX {
        return refused(BundleFault::PathTooLong { bytes_max: limits::PATH_BYTES_MAX });
    }
    let usual: [&[u8]; 6] = [b"040000", b"100644", b"100664", b"100755", b"120000", b"160000"];
    let bad = |name: &[u8]| {
        matches!(name, b"" | b"." | b"..") || posse_sandbox::is_git(&String::from_utf8_lossy(name))
    };
    match usual.contains(&mode) && !path.split(|byte| *byte == b'/').any(bad) {
        true => Ok(()),
        false => refused(BundleFault::BadPath),
    }
}

/// The files that differ between two commits, by their contents: one content can stand at any number of paths.
#[derive(Debug, Default)]
pub(super) struct DifferingFiles {
    times: HashMap<String, u64>,
    count: u64,
    /// Whether a path comes next.
    is_path: bool,
}

impl DifferingFiles {
    /// Hears a head or a path: they take turns.
    pub(super) fn hear(&mut self, record: &[u8], entries_max: u64) -> Result<(), WorkspaceError> {
        self.is_path = !self.is_path;
        if !self.is_path {
            return Ok(());
        }
        self.count += 1;
        if self.count > entries_max.saturating_mul(2) {
            return refused(BundleFault::TooManyEntries { entries_max });
        }
        let head = String::from_utf8_lossy(record);
        if let [_, mode, _, content, _] = head.split(' ').collect::<Vec<_>>()[..]
            && !matches!(mode, "000000" | "160000")
        {
            *self.times.entry(content.to_owned()).or_default() += 1;
        }
        Ok(())
    }

    /// How large they are, as far as it is known how long contents are, and the contents of which it is not.
    pub(super) fn bytes(&self, sizes: &HashMap<String, u64>) -> (u64, Vec<(&str, u64)>) {
        let (mut sum, mut unknown) = (0_u64, Vec::new());
        for (content, times) in &self.times {
            match sizes.get(content) {
                Some(bytes) => sum = sum.saturating_add(bytes.saturating_mul(*times)),
                None => unknown.push((content.as_str(), *times)),
            }
        }
        (sum, unknown)
    }
}

/// Refuses files that would be too large. Git is asked how long those contents are of which it is not known.
pub(super) async fn must_have_room(
    git: impl Fn() -> Result<Git, WorkspaceError>,
    files: &DifferingFiles,
    taken: &TakeLimits,
    sizes: &HashMap<String, u64>,
) -> Result<(), WorkspaceError> {
    let (mut sum, unknown) = files.bytes(sizes);
    for some in unknown.chunks(limits::BUNDLE_SIZES_ASKED) {
        let names: String = some.iter().map(|(name, _)| format!("{name}\n")).collect();
        let asked = ["cat-file", "--batch-check=%(objectsize)"];
        let said = git()?.stdin(names.into_bytes()).bytes(&asked).await?;
        let said = String::from_utf8_lossy(&said).into_owned();
        for ((_, times), size) in some.iter().zip(said.lines()) {
            let Ok(size) = size.parse::<u64>() else { return refused(BundleFault::Unsound) };
            sum = sum.saturating_add(size.saturating_mul(*times));
        }
    }
    taken.room_for(sum)
}

impl TakeLimits {
    /// Refuses contents that are longer together.
    pub(super) fn room_for(&self, bytes: u64) -> Result<(), WorkspaceError> {
        let bytes_max = self.unpacked_bytes_max;
        if bytes <= bytes_max { Ok(()) } else { refused(BundleFault::TooMuchUnpacked { bytes_max }) }
    }
}

pub(super) fn refused<T>(fault: BundleFault) -> Result<T, WorkspaceError> {
    Err(GitError::Bundle(fault).into())
}
