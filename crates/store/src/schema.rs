//! The shape of the database and how an older one becomes a newer one: numbered SQL files, each applied once, in
//! a transaction. A new database is made in one piece. It must not know what the tables mean.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use crate::StoreError;

/// Marks the file as ours, so that another program's database is never changed: "POSS".
const APPLICATION_ID: i64 = 0x504f_5353;

/// Migration n (counted from 1) leads from format n-1 to format n.
const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_record.sql"),
    include_str!("migrations/0002_tree.sql"),
    include_str!("migrations/0003_recovery.sql"),
    include_str!("migrations/0004_memory_and_search.sql"),
    include_str!("migrations/0005_costs.sql"),
    include_str!("migrations/0006_messages.sql"),
    include_str!("migrations/0007_warnings.sql"),
    include_str!("migrations/0008_one_integer.sql"),
    include_str!("migrations/0009_figures.sql"),
    include_str!("migrations/0010_titles.sql"),
];

/// What all migrations lead to. Ten times as quick as making every table that was ever there.
const PRESENT: &str = include_str!("schema.sql");

/// The format this Posse writes.
pub(crate) const VERSION: i64 = MIGRATIONS.len() as i64;

/// What the file says about itself.
pub(crate) struct Format {
    pub(crate) version: i64,
    application: i64,
    empty: bool,
}

impl Format {
    pub(crate) fn read(connection: &Connection) -> rusqlite::Result<Self> {
        // One statement, so that all three are of one moment: another process may be migrating.
        let sql = "SELECT (SELECT user_version FROM pragma_user_version),
                          (SELECT application_id FROM pragma_application_id),
                          NOT EXISTS (SELECT 1 FROM sqlite_schema)";
        let read = |row: &rusqlite::Row<'_>| {
            Ok(Self { version: row.get(0)?, application: row.get(1)?, empty: row.get(2)? })
        };
        connection.query_row(sql, [], read)
    }

    /// Refuses what is not ours and what is newer than we are.
    pub(crate) fn check(&self, path: &Path) -> Result<(), StoreError> {
        if !self.empty && self.application != APPLICATION_ID {
            return Err(StoreError::Foreign { path: path.to_path_buf() });
        }
        if self.version > VERSION {
            return Err(StoreError::TooNew { path: path.to_path_buf(), found: self.version, known: VERSION });
        }
        Ok(())
    }
}

/// Brings the database to the present format.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    loop {
        let sql = |e| StoreError::from_sql(path, e);
        // Only a look: what another process may be changing is read again under the lock.
        let format = Format::read(connection).map_err(sql)?;
        format.check(path)?;
        if format.version == VERSION {
            return Ok(());
        }
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sql)?;
        let format = Format::read(&transaction).map_err(sql)?;
        format.check(path)?;
        let next = if format.empty && format.version == 0 {
            Some((PRESENT, VERSION))
        } else {
            let migration = usize::try_from(format.version).ok().and_then(|n| MIGRATIONS.get(n));
            migration.map(|sql| (*sql, format.version + 1))
        };
        if let Some((text, version)) = next {
            transaction.execute_batch(text).map_err(sql)?;
            transaction.pragma_update(None, "user_version", version).map_err(sql)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(sql)?;
        } else if format.version != VERSION {
            let detail = format!("its format number is {}", format.version);
            return Err(StoreError::Damaged { path: path.to_path_buf(), detail });
        }
        transaction.commit().map_err(sql)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything in the database by name, without comments, quotes and spaces, which migrations leave in other places.
    fn shape(connection: &Connection) -> Vec<String> {
        let mut found = connection
            .prepare(
                "SELECT type || ' ' || name || ' ' || tbl_name, sql FROM sqlite_schema WHERE sql NOT NULL",
            )
            .unwrap();
        let rows =
            found.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))).unwrap();
        let plain = |sql: &str| -> String {
            let code = sql.lines().map(|line| line.split("--").next().unwrap_or_default());
            code.flat_map(str::chars).filter(|c| !c.is_whitespace() && *c != '"').collect()
        };
        let mut shape: Vec<String> =
            rows.map(Result::unwrap).map(|(what, sql)| format!("{what}: {}", plain(&sql))).collect();
        // How the indexes of words are set up stands in their rows.
        for table in ["memory_words_config", "search_words_config"] {
            let sql = format!("SELECT k || '=' || v FROM {table} WHERE k <> 'version' ORDER BY k");
            let settings: String = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
            shape.push(format!("{table}: {settings}"));
        }
        shape.sort();
        shape
    }

    #[test]
    fn a_new_database_has_the_shape_of_one_that_was_migrated_all_the_way() {
        let made = |texts: &[&str]| {
            let connection = Connection::open_in_memory().unwrap();
            texts.iter().for_each(|text| connection.execute_batch(text).unwrap());
            shape(&connection)
        };
        assert_eq!(made(&[PRESENT]), made(MIGRATIONS));
    }
}
