//! Confinement by the Linux kernel, without any program but this one.
//!
//! ```text
//! this process                 confined.rs     sends a plan over a socket, cuts the socket to end it all
//!                              ready.rs        has started the next process ahead of its command
//!                              watchdog.rs     cuts it when all commands together use too much of the machine
//!   └─ the same program again  supervisor.rs   placeholders, cgroup, covers again what is replaced; outside, cleans up
//!        └─ process 1          inside.rs       namespaces, mounts, reaping, listener/; with it all processes end
//!             └─ the command   last_steps.rs   no privileges, Landlock, seccomp, exec
//! ```
//! Each step that fails ends the whole with its name and reason before the command has run.

mod bare;
pub(crate) mod cgroup;
pub(crate) mod confined;
mod folder;
mod handing;
mod inside;
mod landlock_rules;
mod last_steps;
mod listener;
mod lock;
mod machine;
mod mounts;
mod placeholders;
mod plan;
mod privileges;
pub(crate) mod ready;
mod recover;
mod replaced;
mod searched;
mod seccomp;
mod secret_names;
mod secrets;
mod supervisor;
mod toolchains;
mod usage;
mod view;
mod watchdog;

/// Lets go of the command's streams: whoever reads them waits for their last holder.
fn release_streams() {
    if let Ok(null) = std::fs::File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

/// A step of the set-up that failed.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {reason}")]
pub(crate) struct FailedStep {
    /// What was tried.
    pub(crate) step: String,
    /// Why it did not work.
    pub(crate) reason: String,
}

impl FailedStep {
    pub(crate) fn new(step: impl Into<String>, reason: impl ToString) -> Self {
        Self { step: step.into(), reason: reason.to_string() }
    }
}

/// Names the step that an error came from.
pub(crate) trait NamedStep<T> {
    fn step(self, name: &str) -> Result<T, FailedStep>;

    fn step_at(self, name: &str, path: &std::path::Path) -> Result<T, FailedStep>;
}

impl<T, E: ToString> NamedStep<T> for Result<T, E> {
    fn step(self, name: &str) -> Result<T, FailedStep> {
        self.map_err(|error| FailedStep::new(name, error.to_string()))
    }

    fn step_at(self, name: &str, path: &std::path::Path) -> Result<T, FailedStep> {
        self.map_err(|error| FailedStep::new(format!("{name} {}", path.display()), error.to_string()))
    }
}
