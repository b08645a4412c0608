//! Making the files smaller after a deletion: the log goes into the database, and free room back to the disk. It must
//! not know the tables.

use std::time::Duration;

use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, MAIN_DB};

use crate::{Store, StoreError, limits};

impl Store {
    /// Leaves nothing of what was deleted in the database's files, and gives back the room where that is much.
    ///
    /// What is appended meanwhile waits. Where somebody else uses the database, it stays as it is until the next time.
    pub fn tidy(&self) -> Result<(), StoreError> {
        let path = self.path().to_path_buf();
        self.work(move |connection| {
            let wait = |ms| connection.busy_timeout(Duration::from_millis(ms));
            let outcome = wait(limits::TIDY_WAIT_MS_MAX).and_then(|()| tidy(connection));
            let outcome = outcome.and(wait(limits::COMMIT_WAIT_MS_MAX));
            match outcome.map_err(|e| StoreError::from_sql(&path, e)) {
                Err(StoreError::Locked { .. }) => Ok(()),
                outcome => outcome,
            }
        })
    }
}

fn tidy(connection: &Connection) -> rusqlite::Result<()> {
    let empty_log = || connection.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::TRUNCATE).map(drop);
    empty_log()?;
    let pages = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let (free, all) = (pages("freelist_count")?, pages("page_count")?);
    if free > limits::FREE_PAGES_KEPT_MAX && free > all / limits::FREE_PAGES_KEPT_ONE_IN {
        connection.execute_batch("VACUUM")?;
        empty_log()?;
    }
    Ok(())
}
