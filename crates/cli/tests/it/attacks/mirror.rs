//! Makes one tree of files like another, touching only what differs. Knows nothing of attempts.

use std::fs::{self, Metadata, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, lchown, symlink};
use std::path::Path;

/// Makes `to` what `from` is: kind, mode, owner, content, time and links, and nothing besides.
pub(crate) fn mirror(from: &Path, to: &Path) {
    let wanted = from.symlink_metadata().unwrap();
    let there = to.symlink_metadata().ok();
    if wanted.is_dir() {
        if !there.as_ref().is_some_and(Metadata::is_dir) {
            remove(to);
            fs::create_dir_all(to).unwrap();
        }
        settle_mode(to, &wanted);
        for entry in fs::read_dir(to).unwrap().map(Result::unwrap) {
            if from.join(entry.file_name()).symlink_metadata().is_err() {
                remove(&entry.path());
            }
        }
        for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
            mirror(&entry.path(), &to.join(entry.file_name()));
        }
        return;
    }
    if there.is_some_and(|there| same(&wanted, &there)) {
        return;
    }
    remove(to);
    if wanted.is_symlink() {
        symlink(fs::read_link(from).unwrap(), to).unwrap();
        return;
    }
    fs::copy(from, to).unwrap();
    settle_mode(to, &wanted);
    fs::File::open(to).unwrap().set_modified(wanted.modified().unwrap()).unwrap();
}

/// Files that differ differ in one of these; a link has no time that anybody sets.
fn same(a: &Metadata, b: &Metadata) -> bool {
    let facts = |m: &Metadata| (m.mode(), m.uid(), m.gid(), m.len(), m.nlink());
    facts(a) == facts(b) && (a.is_symlink() || (a.mtime(), a.mtime_nsec()) == (b.mtime(), b.mtime_nsec()))
}

fn settle_mode(path: &Path, wanted: &Metadata) {
    let there = path.symlink_metadata().unwrap();
    if (there.uid(), there.gid()) != (wanted.uid(), wanted.gid()) {
        lchown(path, Some(wanted.uid()), Some(wanted.gid())).unwrap();
    }
    if there.mode() != wanted.mode() {
        fs::set_permissions(path, Permissions::from_mode(wanted.mode())).unwrap();
    }
}

/// Removes whatever is there, if anything is.
pub(crate) fn remove(path: &Path) {
    let Ok(there) = path.symlink_metadata() else { return };
    if there.is_dir() {
        // One that may not be read could not be emptied.
        let _ = fs::set_permissions(path, Permissions::from_mode(0o755));
        fs::remove_dir_all(path).unwrap();
    } else {
        fs::remove_file(path).unwrap();
    }
}
