//! The engine as a face uses it, against a fake model on a real socket, with real files, processes and SQLite.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, clippy::disallowed_types)]

mod cancel;
mod check;
mod failures;
mod order;
mod prefix;
mod record;
