//! The models of a session: which ones there are, which one an agent gets, and where tasks may be sent besides.

pub(crate) mod choice;
pub(crate) mod family;
pub(crate) mod routes;

pub use choice::Models;
pub use family::{KnownModel, meant};
pub use routes::Routes;
