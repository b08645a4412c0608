//! The record's files belong to their owner alone.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use posse_store::prepare_data_dir;

use crate::fixture::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn everything_is_private_while_it_is_open() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("share/posse");
    let path = prepare_data_dir(&data).unwrap();
    assert_eq!(path, data.join("posse.db"));
    let store = quiet(&path).unwrap();
    wait(store.append(start(1))).unwrap();
    store.sessions(1).unwrap();
    let mut modes: Vec<(String, u32)> = fs::read_dir(&data)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), mode(&entry.path())))
        .collect();
    modes.sort();
    assert_eq!(modes, ["posse.db", "posse.db-shm", "posse.db-wal"].map(|name| (name.to_owned(), 0o600)));
    assert_eq!(mode(&data), 0o700);
}

#[test]
fn a_file_that_others_could_read_is_closed_to_them() {
    let record = record();
    record.put(start(1));
    drop(record.store);
    fs::set_permissions(&record.path, Permissions::from_mode(0o644)).unwrap();
    let store = quiet(&record.path).unwrap();
    wait(store.append(vec![event(1, turn(1))])).unwrap();
    assert_eq!(mode(&record.path), 0o600);
    assert_eq!(mode(&record.dir.path().join("posse.db-wal")), 0o600);
}

#[test]
fn a_folder_that_is_there_keeps_its_mode() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    prepare_data_dir(dir.path()).unwrap();
    assert_eq!(mode(dir.path()), 0o755);
    let file = dir.path().join("file");
    fs::write(&file, b"").unwrap();
    let error = prepare_data_dir(&file).unwrap_err().to_string();
    assert!(error.starts_with(&format!("cannot use as a directory {}: ", file.display())), "{error}");
}

/// Whoever copies the one file has everything.
#[test]
fn after_the_end_the_database_alone_holds_the_record() {
    let Record { store, path, dir, .. } = record();
    wait(store.append(whole_session(1))).unwrap();
    // Readers that wait for the next question must not keep the log from being emptied.
    assert_eq!(store.sessions(10).unwrap().len(), 1);
    store.search("test", 1).unwrap();
    drop(store);
    let left = std::fs::metadata(path.with_extension("db-wal")).map_or(0, |file| file.len());
    assert_eq!(left, 0, "bytes of the log");
    let copy = dir.path().join("copy.db");
    std::fs::copy(&path, &copy).unwrap();
    let events = rows(&rusqlite::Connection::open(&copy).unwrap(), "SELECT count(*) FROM events");
    assert_eq!(events, ["12"]);
}
