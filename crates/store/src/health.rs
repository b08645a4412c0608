//! Looking at a database from outside, for `posse doctor`. It must not change the file.

use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

use crate::schema::{self, Format};
use crate::{StoreError, connection};

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Whether there is a file at all; without one, everything else is zero or none.
    pub exists: bool,
    /// Its size, without what still waits in its write-ahead log.
    pub bytes: u64,
    /// Its format; 0 before the first migration.
    pub schema_version: i64,
    /// The format this Posse writes; an older one is migrated when it is opened.
    pub schema_current: i64,
    /// `wal`, once Posse has opened it.
    pub journal_mode: String,
    /// What SQLite's own check found wrong; none if all is well.
    pub problem: Option<String>,
}

pub(crate) fn examine(path: &Path) -> Result<Health, StoreError> {
    let mut health = Health {
        exists: false,
        bytes: 0,
        schema_version: 0,
        schema_current: schema::VERSION,
        journal_mode: String::new(),
        problem: None,
    };
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(health),
        Err(source) => return Err(StoreError::Io { what: "look at", path: path.to_path_buf(), source }),
    };
    if !metadata.is_file() {
        let source = io::ErrorKind::IsADirectory.into();
        return Err(StoreError::Io { what: "open", path: path.to_path_buf(), source });
    }
    let sql = |e| StoreError::from_sql(path, e);
    let connection = connection::open_reader(path)?;
    let format = Format::read(&connection).map_err(sql)?;
    format.check(path)?;
    let text = |question| connection.query_row(question, [], |row| row.get::<_, String>(0)).map_err(sql);
    let found = text("PRAGMA quick_check(1)")?;
    health.exists = true;
    health.bytes = metadata.len();
    health.schema_version = format.version;
    health.journal_mode = text("PRAGMA journal_mode")?;
    health.problem = (found != "ok").then_some(found);
    Ok(health)
}
