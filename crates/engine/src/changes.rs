//! The folders that agents work in, and what they change there: found, kept, taken back.

pub(crate) mod checkouts;
pub(crate) mod found;
pub(crate) mod hidden;
pub(crate) mod history;
mod intakes;
pub(crate) mod measured;
pub(crate) mod shares;
pub(crate) mod site;
pub(crate) mod travelling;
pub(crate) mod undoable;
