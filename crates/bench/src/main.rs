//! Measures Posse: `scripts/bench` builds what it needs and runs it.
//!
//! Every figure stands beside a floor taken in the same run: a raw HTTP client that sends the same requests to the
//! same server. Figures are ratios, because machines are noisy. It ends with an error if a promise is broken.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_types,
    reason = "it prints tables and errors, and starts the program it measures"
)]

mod append;
mod chat;
mod commands;
mod crew;
mod export;
mod files;
mod keep;
mod open;
mod record;
mod resting;
mod run_end;
mod sandbox;
mod server;
mod servers;
mod startup;
mod terminal;
mod turns;
mod web;
mod workers;

use std::process::ExitCode;

use anyhow::ensure;

/// One line of the result: what, measured, floor, and whether the promise holds.
pub(crate) struct ResultLine {
    pub(crate) what: String,
    pub(crate) measured: String,
    pub(crate) floor: String,
    pub(crate) promise: String,
    pub(crate) holds: bool,
}

type Measure = fn() -> anyhow::Result<Vec<ResultLine>>;

/// What can be measured; all of it unless the command line names some.
const PARTS: [(&str, Measure); 17] = [
    ("turns", turns::measure),
    ("startup", startup::measure),
    ("run", run_end::measure),
    ("sandbox", sandbox::measure),
    ("keep", keep::measure),
    ("commands", commands::measure),
    ("files", files::measure),
    ("crew", crew::measure),
    ("record", record::measure),
    ("append", append::measure),
    ("open", open::measure),
    ("resting", resting::measure),
    ("chat", chat::measure),
    ("web", web::measure),
    ("servers", servers::measure),
    ("export", export::measure),
    ("workers", workers::measure),
];

fn main() -> ExitCode {
    match measured() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("a promise does not hold");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Measures what was asked for and prints it; says whether all promises hold.
fn measured() -> anyhow::Result<bool> {
    // As the program that is measured does.
    posse_sandbox::keep_freed_memory();
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [crew::SESSION, base_url] => return crew::session(base_url).map(|()| true),
        [resting::RESTING, base_url] => return resting::sessions(base_url).map(|()| true),
        [workers::HOME, plan] => return workers::home(plan).map(|()| true),
        [workers::WORKER, name, place, running, courier] => {
            return workers::worker(name, place, running, courier).map(|()| true);
        }
        [workers::SIMULATED, name, place, running, courier] => {
            return workers::simulated(name, place, running, courier).map(|()| true);
        }
        [crew::FORK_SESSION, base_url] => return crew::forks(base_url).map(|()| true),
        _ => {}
    }
    let mut lines = Vec::new();
    for (part, measure) in PARTS {
        if arguments.is_empty() || arguments.iter().any(|wanted| wanted == part) {
            lines.extend(measure()?);
        }
    }
    ensure!(
        !lines.is_empty(),
        "the parts are turns, startup, run, sandbox, keep, commands, files, crew, record, append, open, resting, \
         chat, web, servers, export and workers"
    );
    println!("| what | measured | floor | promise | holds |\n|---|---|---|---|---|");
    for line in &lines {
        let holds = if line.holds { "yes" } else { "NO" };
        println!("| {} | {} | {} | {} | {holds} |", line.what, line.measured, line.floor, line.promise);
    }
    Ok(lines.iter().all(|line| line.holds))
}

/// The middle value; the upper of two.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
