//! The way into the record and back: events of agents, the updates that interfaces follow, and the lock of a session at work.

pub(crate) mod bus;
pub(crate) mod journal;
pub(crate) mod session_lock;

pub use posse_store::{
    AgentRow, DATABASE_FILE, Durability, Health, Hit, HitKind, RoleRecord, SessionRow, Stats, StatsQuery,
    StatsRow, prepare_data_dir,
};
