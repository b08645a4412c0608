//! Child processes: confined by the kernel, with a clean environment, a deadline and bounded output.
//!
//! The only crate that starts processes and the only one with `unsafe`. It must not know what a tool, an agent or a
//! grant is: it runs what it is given and answers within the deadline, whatever the command does.

mod ahead;
mod aside;
mod capture;
mod command;
#[cfg(target_os = "linux")]
mod descendants;
mod detached;
mod env;
mod git_settings;
#[cfg(unix)]
mod group;
mod job;
pub mod limits;
#[cfg(target_os = "linux")]
mod linux;
mod memory;
#[cfg(not(target_os = "linux"))]
mod no_confinement;
mod on_terminal;
mod pager;
mod profile;
mod program;
mod protected;
mod protected_table;
#[cfg(not(unix))]
mod run_elsewhere;
#[cfg(unix)]
mod run_unix;
mod secrets;
#[cfg(unix)]
mod spawner;
#[cfg(unix)]
mod stream_ends;
mod streams;
mod support;
#[cfg(unix)]
mod talk;
mod touched;
#[cfg(unix)]
mod users;

#[cfg(unix)]
pub use ahead::close_elsewhere;
pub use ahead::prepare_ahead;
pub use aside::{AsideOutput, OwnOutput, PersonCommand, PersonProgram, own_program, person_program};
pub use capture::{CapturedOutput, OutputLimits, OutputPart};
pub use command::{Command, CommandExit, CommandOutcome, SandboxError, What};
pub use detached::{DetachedErrors, DetachedInput, DetachedSelf, DetachedStart, leave_terminal};
pub use env::child_env;
pub use git_settings::{names_no_program, settings};
pub use job::{CommandHandle, run, start, start_talking};
pub use memory::keep_freed_memory;
pub use on_terminal::on_terminal;
pub use pager::page;
pub use profile::{Level, ResourceLimits, SandboxProfile, Share};
pub use program::{Program, SYSTEM_FOLDERS, Unfit};
pub use protected::{
    Protected, ProtectedName, completes_repository, is_git, is_unpacked, may_be_protected, protected_by,
    protected_names,
};
pub use secrets::secret_places;
pub use streams::TalkStreams;
pub use support::{Finding, Support, Unavailable, available, clear_placeholders, support};
pub use touched::{Came, Touched};
#[cfg(unix)]
pub use users::home_of;
