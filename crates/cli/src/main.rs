//! `posse`: flags become wishes, and one command shows what comes of them. Only this crate reads flags and the terminal;
//! `setup` reads the environment and prepares sessions.
#![forbid(unsafe_code)]

mod acp;
mod agents;
mod answer;
mod args;
mod attach;
mod background;
mod changes;
mod chat;
mod completions;
mod config_command;
mod context;
mod demo;
mod demo_folder;
mod display;
mod doctor;
mod exit;
mod follow;
mod fork;
mod hooks;
mod interrupts;
mod limits;
mod logs;
mod mcp;
mod memory;
mod output;
#[cfg(test)]
mod outputs;
mod paging;
mod patch;
mod prompt;
mod prose;
mod questions;
mod recorded;
mod resources;
mod resting;
mod resume;
mod rules;
mod run;
mod running;
mod serve;
mod sessions;
mod skills;
mod stats;
mod steer;
mod steps;
mod surroundings;
mod tasks;
mod tasks_live;
mod trust;
mod watched;
mod which_session;
mod work;
mod worker;
mod workers;

use std::process::ExitCode;

use posse_setup::{Paths, Surroundings};
use posse_telemetry::Telemetry;

use crate::args::{Args, CliCommand};
use crate::exit::Exit;

fn main() -> ExitCode {
    posse_sandbox::keep_freed_memory();
    let around = Surroundings::of_process();
    surroundings::set(around.clone());
    let args = match args::read(std::env::args_os()) {
        Ok(args) => args,
        // Help is ours; a complaint repeats what was typed.
        Err(error) if error.use_stderr() => {
            let _ = output::print_aside(&output::visible(&args::told(&error)));
            return ExitCode::from(Exit::Usage.code());
        }
        Err(error) => error.exit(),
    };
    let exit = match dispatch(around, args) {
        Ok(exit) => exit,
        Err(error) if output::is_broken_pipe(&error) => Exit::Completed,
        Err(error) => {
            output::complain(&error);
            Exit::of(&error)
        }
    };
    ExitCode::from(exit.code())
}

fn dispatch(surroundings: Surroundings, args: Args) -> anyhow::Result<Exit> {
    let flags = chat::own_flags(&args);
    let paths = Paths::find(surroundings, args.data_dir.as_deref(), args.config.as_deref())?;
    logs::start(&paths)?;
    output::set_columns(args.columns);
    let telemetry = &paths.telemetry().clone();
    let Some(command) = args.command else {
        return on_runtime(telemetry, chat::run(paths, flags, args.chat));
    };
    match command {
        CliCommand::Run(args) => on_runtime(telemetry, run::run(&paths, args)),
        CliCommand::Resume(args) => on_runtime(telemetry, resume::run(&paths, args)),
        CliCommand::Fork(args) => on_runtime(telemetry, fork::run(&paths, args)),
        CliCommand::Demo(args) => on_runtime(telemetry, demo::run(paths, flags, args)),
        CliCommand::Doctor { model, verbose } => {
            on_runtime(telemetry, doctor::run(&paths, model.as_deref(), verbose))
        }
        CliCommand::Sessions(command) => on_runtime(telemetry, sessions::run(&paths, command)),
        CliCommand::Tasks(args) if args.follow => on_runtime(telemetry, tasks_live::run(&paths, args)),
        CliCommand::Tasks(args) => on_runtime(telemetry, tasks::run(&paths, args.session, args.json)),
        CliCommand::Attach(args) => on_runtime(telemetry, attach::run(paths, flags, args)),
        CliCommand::Tell(args) => on_runtime(telemetry, steer::tell(&paths, args)),
        CliCommand::Answer(args) => on_runtime(telemetry, answer::run(&paths, args)),
        CliCommand::Stop(args) => on_runtime(telemetry, steer::stop(&paths, args)),
        CliCommand::Serve(args) => on_runtime(telemetry, serve::run(paths, flags, args)),
        CliCommand::Acp(args) => on_runtime(telemetry, acp::run(paths, args)),
        CliCommand::Worker(args) => on_runtime(telemetry, worker::run(&paths, args)),
        CliCommand::Workers(args) => on_runtime(telemetry, workers::run(&paths, args)),
        CliCommand::Undo(args) => on_runtime(telemetry, changes::undo(&paths, args)),
        CliCommand::Rewind(args) => on_runtime(telemetry, changes::rewind(&paths, &args)),
        CliCommand::Redo { session, preview, protected } => {
            on_runtime(telemetry, changes::redo(&paths, &session, preview, protected))
        }
        CliCommand::Diff(args) => on_runtime(telemetry, changes::diff(&paths, args)),
        CliCommand::Merge { agent, session, preview, protected } => {
            on_runtime(telemetry, changes::merge(&paths, &session, &agent, preview, protected))
        }
        CliCommand::Context { session, agent, json } => {
            on_runtime(telemetry, context::run(&paths, &session, &agent, json))
        }
        CliCommand::Stats(args) => stats::run(&paths, &args),
        CliCommand::Rules(command) => rules::run(&paths, command),
        CliCommand::Mcp(command) => on_runtime(telemetry, mcp::run(paths, flags, command)),
        CliCommand::Hooks(command) => on_runtime(telemetry, hooks::run(&paths, command)),
        CliCommand::Skills(command) => skills::run(&paths, command),
        CliCommand::Memory(command) => memory::run(&paths, command),
        CliCommand::Agents(command) => agents::run(&paths, command),
        CliCommand::Config(command) => config_command::run(&paths, command),
        CliCommand::Trust(args) => trust::run(&paths, &args),
        CliCommand::Completions { shell } => completions::run(shell),
        CliCommand::Complete { what } => completions::names(&paths, what),
    }
}

/// Threads that agents run on: one for each core, within limits.
fn workers() -> usize {
    let cores = std::thread::available_parallelism().map_or(limits::WORKERS_MIN, std::num::NonZero::get);
    cores.clamp(limits::WORKERS_MIN, limits::WORKERS_MAX)
}

fn on_runtime(
    telemetry: &Telemetry,
    work: impl Future<Output = anyhow::Result<Exit>>,
) -> anyhow::Result<Exit> {
    let workers = workers();
    resources::look(workers)?;
    resources::end_plainly_when_refused();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    let result = runtime.block_on(work);
    if let Some(trouble) = runtime.block_on(telemetry.finish()) {
        let _ = output::print_aside(&output::visible(&trouble));
    }
    // A blocking file operation that was cancelled must not hold up the exit.
    runtime.shutdown_background();
    result
}
