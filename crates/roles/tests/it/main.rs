//! Agent files as people write them, the built-in roles, and the names of roles.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod builtin;
mod corpus;
mod hostile;
mod lists;
mod names;
mod replaced;
mod settings;
mod show;
mod skills;
