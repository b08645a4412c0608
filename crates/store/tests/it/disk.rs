//! A disk that is really full. Mounting one needs root; without it, the writer's own test of SQLite's page limit
//! (`src/writer.rs`) is what remains, and this one only says so.

use std::fs;
use std::path::PathBuf;

use posse_protocol::Seq;
use posse_store::{Store, StoreError};
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

use crate::fixture::*;

/// A file system of one megabyte in memory; gone when dropped.
struct SmallDisk {
    root: PathBuf,
    _dir: tempfile::TempDir,
}

impl SmallDisk {
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_path_buf();
        mount("posse-test", &root, "tmpfs", MountFlags::empty(), Some(c"size=1m")).ok()?;
        Some(Self { root, _dir: dir })
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = unmount(&self.root, UnmountFlags::DETACH);
    }
}

#[test]
fn a_full_disk_is_told_loses_nothing_and_passes() {
    let Some(disk) = SmallDisk::new() else {
        println!("no right to mount a small disk here; the page limit test in src/writer.rs covers the rest");
        return;
    };
    let path = disk.root.join("posse.db");
    let filler = disk.root.join("filler");
    let store = quiet(&path).unwrap();
    wait(store.append(start(1))).unwrap();
    fs::write(&filler, vec![0; 300_000]).unwrap();
    let words = "x".repeat(20_000);
    let mut last = 2;
    let error = loop {
        assert!(last < 1_000, "the disk never filled");
        match wait(store.append(vec![event(1, told(&words))])) {
            Ok(seq) => last = seq.0,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::DiskFull { .. }), "{error:?}");
    assert_eq!(
        error.to_string(),
        format!("the disk that holds the record {} is full; make room and try again", path.display())
    );
    // Still full, still only an error, and what is on record can be read.
    assert!(wait(store.append(vec![event(1, told(&words))])).is_err());
    let all = |store: &Store| store.events_after(session(1), Seq(0), 1_000).unwrap().len() as u64;
    assert_eq!(all(&store), last);
    fs::remove_file(&filler).unwrap();
    assert_eq!(wait(store.append(vec![event(1, told(&words))])).unwrap(), Seq(last + 1));
    drop(store);
    assert_eq!(Store::health(&path).unwrap().problem, None);
    assert_eq!(all(&quiet(&path).unwrap()), last + 1);
}

#[test]
fn a_record_is_not_begun_on_a_full_disk() {
    let Some(disk) = SmallDisk::new() else {
        println!("no right to mount a small disk here");
        return;
    };
    let filler = disk.root.join("filler");
    let _ = fs::write(&filler, vec![0; 2_000_000]);
    let path = disk.root.join("posse.db");
    let error = quiet(&path).err().map(|e| e.to_string()).unwrap_or_default();
    assert!(error.ends_with("is full; make room and try again"), "{error}");
    fs::remove_file(&filler).unwrap();
    assert_eq!(wait(quiet(&path).unwrap().append(start(1))).unwrap(), Seq(2));
}
