//! The command's own last steps before its program: a session, limits, no privileges, Landlock, seccomp, exec.

#![allow(clippy::disallowed_types)] // this is the crate the ban points to

use std::os::{
    fd::AsFd,
    unix::{net::UnixStream, process::CommandExt},
};

use super::{
    FailedStep, NamedStep,
    handing::hand_over,
    landlock_rules, listener,
    plan::{Plan, PlanMessage},
    privileges,
    seccomp::{self, SocketRule},
    view::FileView,
};

/// Becomes the command, or tells why not. Process 1 is handed what listens to its calls.
pub(crate) fn run(line: &UnixStream, first: &UnixStream, plan: &Plan, view: &FileView, in_cgroup: bool) -> ! {
    match confine(first, plan, view, in_cgroup) {
        Ok(()) => {
            let error = std::process::Command::new(&plan.program)
                .args(&plan.arguments)
                .env_clear()
                .envs(plan.env.iter().map(|(name, value)| (name, value)))
                .envs(view.env.iter().map(|(name, value)| (name, value)))
                .exec();
            PlanMessage::NoProgram(error.raw_os_error().unwrap_or(libc::EINVAL)).tell(line);
        }
        Err(FailedStep { step, reason }) => PlanMessage::Failed(step, reason).tell(line),
    }
    // SAFETY: ends the process without anything of the parent's being run twice.
    unsafe { libc::_exit(127) }
}

fn confine(first: &UnixStream, plan: &Plan, view: &FileView, in_cgroup: bool) -> Result<(), FailedStep> {
    rustix::process::setsid().step("making a session")?;
    std::env::set_current_dir(&plan.cwd).step_at("entering", plan.cwd.as_ref())?;
    privileges::limit(&plan.limits, in_cgroup)?;
    privileges::drop_all()?;
    landlock_rules::restrict(&view.writable)?;
    // Last, because they refuse what the steps before them need.
    seccomp::install(if plan.bare { SocketRule::None } else { SocketRule::Usual })?;
    if plan.bare {
        return Ok(());
    }
    match listener::install(plan.level)? {
        Some(made) => hand_over(first, &[made.as_fd()]).step("handing over what listens to system calls"),
        None => Ok(()),
    }
}
