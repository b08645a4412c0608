//! The engine as a face uses it, against a fake model on a real socket, with real files, processes and SQLite.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, clippy::disallowed_types)]

mod apart;
mod approvals;
mod background;
mod cancel;
mod check;
mod contexts;
mod corners;
mod crew;
mod decisions;
mod delegation;
mod failures;
mod failures_of_children;
mod follow;
mod lasting;
mod layers_of_rights;
mod leaving;
mod measured;
mod obeyed;
mod order;
mod prefix;
mod promises;
mod prompt_sizes;
mod record;
mod reports;
mod resume;
mod rights;
mod role_files;
mod shell_surface;
mod simulation;
mod steering;
mod teams;
mod tool_names;
mod undoing;
mod waiting;
mod whose;
