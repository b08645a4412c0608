//! The command's own last steps before its program: a session, limits, no privileges, Landlock, seccomp, exec.

#![allow(clippy::disallowed_types)] // this is the crate the ban points to

use std::os::unix::{net::UnixStream, process::CommandExt};

use super::{
    Failed, Step, landlock_rules,
    plan::{Message, Plan},
    privileges,
    seccomp::{self, Sockets},
    view::View,
};

/// Becomes the command, or tells why not.
pub(crate) fn run(line: &UnixStream, plan: &Plan, view: &View, in_cgroup: bool) -> ! {
    match confine(plan, view, in_cgroup) {
        Ok(()) => {
            let error = std::process::Command::new(&plan.program)
                .args(&plan.arguments)
                .env_clear()
                .envs(plan.env.iter().map(|(name, value)| (name, value)))
                .envs(view.env.iter().map(|(name, value)| (name, value)))
                .exec();
            Message::NoProgram(error.raw_os_error().unwrap_or(libc::EINVAL)).tell(line);
        }
        Err(Failed { step, reason }) => Message::Failed(step, reason).tell(line),
    }
    // SAFETY: ends the process without anything of the parent's being run twice.
    unsafe { libc::_exit(127) }
}

fn confine(plan: &Plan, view: &View, in_cgroup: bool) -> Result<(), Failed> {
    rustix::process::setsid().step("making a session")?;
    std::env::set_current_dir(&plan.cwd).step_at("entering", plan.cwd.as_ref())?;
    privileges::limit(&plan.limits, in_cgroup)?;
    privileges::drop_all()?;
    landlock_rules::restrict(&view.writable)?;
    // Last, because it refuses what the steps before it need.
    seccomp::install(if plan.bare { Sockets::None } else { Sockets::Usual })
}
