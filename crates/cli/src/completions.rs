//! Completion scripts, made from the same tree as the help.

use clap::CommandFactory as _;

use crate::args::Args;
use crate::exit::Exit;
use crate::output;

pub(crate) fn run(shell: clap_complete::Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "posse", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Completed)
}
