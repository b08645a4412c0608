//! Child processes: own session and process group, clean environment, deadline, bounded output.
//!
//! The only crate that starts processes and the only one with `unsafe`. It must not know what a tool, an agent or a
//! grant is: it runs what it is given and answers within the deadline, whatever the command does.

mod capture;
mod command;
#[cfg(target_os = "linux")]
mod descendants;
mod env;
#[cfg(unix)]
mod group;
pub mod limits;
#[cfg(not(unix))]
mod run_elsewhere;
#[cfg(unix)]
mod run_unix;
#[cfg(unix)]
mod spawner;
mod support;

pub use capture::Captured;
pub use command::{Command, Exit, Finished, OutputLimits, SandboxError, What};
pub use env::child_env;
#[cfg(not(unix))]
pub use run_elsewhere::run;
#[cfg(unix)]
pub use run_unix::run;
pub use support::{Finding, Support, support};
