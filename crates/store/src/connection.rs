//! Opening the database: for the one writer, and for readers that cannot write. It must not know the tables.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::{Durability, StoreError, files, limits, schema};

/// Opens the database for the writer, making and migrating it as needed.
pub(crate) fn open_writer(path: &Path, durability: Durability) -> Result<Connection, StoreError> {
    files::protect_database(path)?;
    // Switching to WAL does not wait for others by itself, so waiting is done here.
    let give_up = Instant::now() + Duration::from_millis(limits::OPEN_WAIT_MS_MAX);
    loop {
        match try_open_writer(path, durability) {
            Err(StoreError::Locked { .. }) if Instant::now() < give_up => {
                std::thread::sleep(Duration::from_millis(limits::OPEN_RETRY_MS));
            }
            outcome => return outcome,
        }
    }
}

fn try_open_writer(path: &Path, durability: Durability) -> Result<Connection, StoreError> {
    let sql = |e| StoreError::from_sql(path, e);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(sql)?;
    // While opening, a short wait: the loop around repeats it.
    connection.busy_timeout(Duration::from_millis(limits::OPEN_RETRY_MS)).map_err(sql)?;
    // Before the first write, so that a file that is not ours is left as it was.
    schema::Format::read(&connection).map_err(sql)?.check(path)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(sql)?;
    connection.pragma_update(None, "synchronous", durability.synchronous()).map_err(sql)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(sql)?;
    // What is deleted is overwritten, not only given free.
    connection.pragma_update(None, "secure_delete", true).map_err(sql)?;
    // Plans do not depend on bound values; otherwise some statements are prepared anew for every event.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(sql)?;
    connection.pragma_update(None, "trusted_schema", false).map_err(sql)?;
    let kept = i64::try_from(limits::WAL_KEPT_BYTES_MAX).unwrap_or(i64::MAX);
    connection.pragma_update(None, "journal_size_limit", kept).map_err(sql)?;
    connection.set_prepared_statement_cache_capacity(limits::STATEMENTS_KEPT_MAX);
    schema::migrate(&mut connection, path)?;
    connection.busy_timeout(Duration::from_millis(limits::COMMIT_WAIT_MS_MAX)).map_err(sql)?;
    Ok(connection)
}

/// Opens the database that the writer has opened, for looking after its log.
pub(crate) fn open_beside(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|e| StoreError::from_sql(path, e))?;
    // Syncs before and after moving pages, which is all that either kind of durability asks of it.
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(|e| StoreError::from_sql(path, e))?;
    Ok(connection)
}

/// Opens the database for reading only.
pub(crate) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let sql = |e| StoreError::from_sql(path, e);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(sql)?;
    connection.busy_timeout(Duration::from_millis(limits::READ_WAIT_MS_MAX)).map_err(sql)?;
    connection.pragma_update(None, "trusted_schema", false).map_err(sql)?;
    connection.set_prepared_statement_cache_capacity(limits::STATEMENTS_KEPT_MAX);
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_wait_for_the_disk_only_where_that_is_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("posse.db");
        // SQLite's numbers for NORMAL and FULL.
        for (durability, expected) in
            [(Durability::default(), 1), (Durability::Process, 1), (Durability::Power, 2)]
        {
            let connection = open_writer(&path, durability).unwrap();
            let found: i64 = connection.query_row("PRAGMA synchronous", [], |row| row.get(0)).unwrap();
            assert_eq!(found, expected, "{durability:?}");
        }
    }
}
