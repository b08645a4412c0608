//! Forgetting a session. Everything about it goes with its row, by the database's own rules; it must not know what
//! that is.

use rusqlite::{Connection, TransactionBehavior};

use posse_protocol::SessionId;

/// Takes a session off the record, all of it or nothing; says whether it was there.
pub(crate) fn session(connection: &mut Connection, session: SessionId) -> rusqlite::Result<bool> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let rows = transaction.execute("DELETE FROM sessions WHERE id = ?1", [session.to_string()])?;
    transaction.commit()?;
    Ok(rows > 0)
}
