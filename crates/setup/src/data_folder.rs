//! Whether the data folder can be written, by writing to it, and what a killed Posse left in there.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::limits::ROOM_PROBE_BYTES;
use crate::paths::create_new_private;

/// Makes a file in a folder, writes it, has it on the disk, and removes it. A folder that was not there is made for that,
/// and removed as well.
pub fn try_writing(folder: &Path) -> io::Result<()> {
    let missing: Vec<PathBuf> =
        folder.ancestors().take_while(|folder| !folder.exists()).map(Path::to_path_buf).collect();
    let tried = std::fs::create_dir_all(folder).and_then(|()| {
        let path = folder.join(format!(".posse-{:016x}.tmp", u64::from(std::process::id())));
        let file = create_new_private(&path);
        let written = file.and_then(|mut file| {
            file.write_all(&vec![b'x'; ROOM_PROBE_BYTES]).and_then(|()| file.sync_all())
        });
        let removed = std::fs::remove_file(&path);
        written.and(removed)
    });
    for made in missing {
        let _ = std::fs::remove_dir(made);
    }
    tried
}

/// What to do about a folder that cannot be written.
pub fn writing_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "make room on that disk, or keep the record elsewhere: --data-dir, POSSE_HOME"
        }
        io::ErrorKind::PermissionDenied => {
            "give the folder back to yourself (chown, chmod), or keep the record elsewhere: --data-dir, POSSE_HOME"
        }
        io::ErrorKind::ReadOnlyFilesystem => "keep the record elsewhere: --data-dir, POSSE_HOME",
        _ => "fix the folder, or keep the record elsewhere: --data-dir, POSSE_HOME",
    }
}
