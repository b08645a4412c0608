//! The repository in a workspace, as far as it is kept: where its branches are, its index and logs, and what it has
//! stored. Never what makes git run something: hooks, settings and attributes are neither kept nor written here.

use super::{folder::Top, manifest::Zone};
use crate::{Entry, Mode, limits};

/// The repository's folder.
pub(crate) const DOT: &[u8] = b".git";
/// What it has stored.
pub(crate) const OBJECTS: &[u8] = b".git/objects";
/// The same, as a change has it. One stands for all that is gone, and its content is the list of it.
pub(crate) const OBJECTS_PATH: &str = ".git/objects";
/// How a record says that something is a folder.
pub(crate) const FOLDER_MODE: &str = "040000";

/// Not looked at: what can run code or lead elsewhere, and other repositories.
const LEFT_ALONE: &[&str] = &["hooks", "info", "modules", "worktrees", "lfs", "branches"];

/// What a folder in the repository's folder is; none if it is left alone.
pub(crate) fn zone_of(inside: &[u8]) -> Option<Zone> {
    let text = String::from_utf8_lossy(inside).to_lowercase();
    let mut parts = text.split('/').skip(1);
    match parts.next() {
        None => Some(Zone::State),
        Some("objects") => Some(Zone::Objects),
        Some(first) if LEFT_ALONE.contains(&first) => None,
        Some(_) => Some(Zone::State),
    }
}

/// Whether a file of the repository's state is kept.
pub(crate) fn keeps_state(inside: &[u8]) -> bool {
    let text = String::from_utf8_lossy(inside).to_lowercase();
    let Some(rest) = text.strip_prefix(".git/") else { return false };
    let first = rest.split('/').next().unwrap_or_default();
    // Whatever begins so is a setting, on any file system.
    !first.starts_with("config") && !LEFT_ALONE.contains(&first) && !rest.ends_with(".lock")
}

/// Whether a path is one of the repository's.
pub(crate) fn is_inside(path: &str) -> bool {
    path == ".git" || path.starts_with(".git/")
}

/// Whether a path is one of the repository's that may be written back.
pub(crate) fn is_state(path: &str) -> bool {
    let clean = !path.split('/').any(|part| matches!(part, "" | "." | ".."));
    clean && keeps_state(path.as_bytes()) && !path.starts_with(OBJECTS_PATH)
}

/// Whether a path says where branches are: such are taken back together or not at all.
pub(crate) fn is_reference(path: &str) -> bool {
    matches!(path, ".git/HEAD" | ".git/packed-refs")
        || path.starts_with(".git/refs/")
        || path.starts_with(".git/reftable/")
}

/// Why something is not written back into the repository although it was there; none if it may be.
pub(crate) fn refusal(path: &str, entry: &Entry) -> Option<&'static str> {
    if !is_state(path) {
        return Some("it is protected: other programs act on it");
    } else if entry.mode == Mode::Link {
        return Some("links in a repository are not made again: git would write through them");
    }
    let steps = path.starts_with(".git/rebase-") || path.starts_with(".git/sequencer/");
    let runs = |line: &[u8]| {
        let word = line.trim_ascii_start().split(u8::is_ascii_whitespace).next().unwrap_or_default();
        matches!(word, b"exec" | b"x")
    };
    if steps && entry.bytes.split(|byte| *byte == b'\n').any(runs) {
        return Some("it is a list of steps that runs commands");
    }
    None
}

/// The index of the workspace's repository as it is; none if there is none of a size to be read.
pub(crate) fn index(top: &Top) -> Option<Vec<u8>> {
    top.folder(DOT).ok()?.small(b"index", limits::CHECKPOINT_FILE_BYTES_MAX)
}

/// Whether an index may name a path. Older forms hold each path as it is; of the newest, and of none, nothing is known.
pub(crate) fn may_track(index: Option<&[u8]>, path: &[u8]) -> bool {
    let Some(index) = index else { return true };
    let plain = index.starts_with(b"DIRC\0\0\0\x02") || index.starts_with(b"DIRC\0\0\0\x03");
    !plain || memchr::memmem::find(index, path).is_some()
}
