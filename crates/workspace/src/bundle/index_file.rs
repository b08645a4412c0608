//! What git's index remembers of files: their paths and stamps. Git itself compares whole seconds, which is too coarse to
//! tell whether an agent touched a file; the stamps in the index are finer. Reads bytes, and touches no disk.

use std::collections::{HashMap, HashSet};

/// How an entry is written that stands for a submodule.
const SUBMODULE: u32 = 0o160_000;

/// A file as it was when git wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileStamp {
    /// Seconds and the rest in nanoseconds, as in the other.
    changed: (u32, u32),
    modified: (u32, u32),
    inode: u32,
    bytes: u32,
}

impl FileStamp {
    /// From what the system says of a file; the index keeps the lower half of each number.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(super) fn new(changed_ns: i64, modified_ns: i64, inode: u64, bytes: u64) -> Self {
        let split = |ns: i64| (ns.div_euclid(1_000_000_000) as u32, ns.rem_euclid(1_000_000_000) as u32);
        Self {
            changed: split(changed_ns),
            modified: split(modified_ns),
            inode: inode as u32,
            bytes: bytes as u32,
        }
    }
}

/// What an index holds.
#[derive(Debug, Default)]
pub(super) struct TrackedFiles {
    pub(super) files: HashMap<Box<[u8]>, FileStamp>,
    /// Folders that have files in them, and those of submodules.
    pub(super) folders: HashSet<Box<[u8]>>,
}

impl TrackedFiles {
    /// Reads an index; none if it is written in a way that is not known here.
    pub(super) fn parse(index: &[u8], id_bytes: usize) -> Option<Self> {
        let number = |at: usize| Some(u32::from_be_bytes(index.get(at..at + 4)?.try_into().ok()?));
        if !index.starts_with(b"DIRC") || !matches!(number(4)?, 2 | 3) {
            return None;
        }
        let (mut tracked, mut at) = (Self::default(), 12);
        for _ in 0..number(8)? {
            let flags_at = at + 40 + id_bytes;
            let flags = u16::from_be_bytes(index.get(flags_at..flags_at + 2)?.try_into().ok()?);
            // Files that are in conflict, or that git was told not to look at, are never in an index of ours.
            if flags & 0x7000 != 0 || flags & 0x8000 != 0 {
                return None;
            }
            let path_at = flags_at + 2;
            let path = index.get(path_at..path_at + memchr::memchr(0, index.get(path_at..)?)?)?;
            let stamp = FileStamp {
                changed: (number(at)?, number(at + 4)?),
                modified: (number(at + 8)?, number(at + 12)?),
                inode: number(at + 20)?,
                bytes: number(at + 36)?,
            };
            if number(at + 24)? == SUBMODULE {
                tracked.folders.insert(path.into());
            } else {
                tracked.files.insert(path.into(), stamp);
            }
            let above =
                path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| &path[..end]);
            for folder in above {
                if !tracked.folders.contains(folder) {
                    tracked.folders.insert(folder.into());
                }
            }
            // Each entry is as long as a multiple of eight, with at least one NUL at its end.
            at += (path_at + path.len() - at + 8) / 8 * 8;
        }
        Some(tracked)
    }
}
