//! The fake server, the fixtures and the driven browser, tested from outside.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod chromium;
mod fixture;
mod server;
mod site;
