//! The way into the record and back: events of agents, the updates that interfaces follow, and the lock of a session at work.
//! It also exports what interfaces see of the record.

pub(crate) mod bus;
pub(crate) mod channel;
pub(crate) mod journal;
pub(crate) mod processes;
pub(crate) mod reading;
pub(crate) mod session_lock;

use posse_protocol::{AgentId, SessionId};
pub use posse_store::{
    AgentRow, DATABASE_FILE, Durability, Health, Hit, HitKind, RoleRecord, SessionRow, Stats, StatsQuery,
    StatsRow, prepare_data_dir,
};

/// An id for a session that begins later: interfaces may have to name one before its first prompt.
pub fn new_session_id() -> SessionId {
    SessionId::from(uuid::Uuid::now_v7())
}

pub(crate) fn new_agent_id() -> AgentId {
    AgentId::from(uuid::Uuid::now_v7())
}
