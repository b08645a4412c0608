//! What can be typed behind `posse worker` and `posse workers`.

use std::convert::Infallible;
use std::path::PathBuf;

use clap::Subcommand;

/// What comes after the options of `posse worker`.
pub(super) const WORKER: &str = include_str!("worker_help.txt").trim_ascii_end();

/// What comes after the options of `posse workers`.
pub(super) const WORKERS: &str = include_str!("workers_help.txt").trim_ascii_end();

/// One of several words, which people write with spaces between them.
fn trimmed(word: &str) -> Result<String, Infallible> {
    Ok(word.trim().to_owned())
}

#[derive(Debug, Default, clap::Args)]
pub(crate) struct WorkerArgs {
    /// Serve over the broker that this file of home names
    #[arg(long, value_name = "FILE", conflicts_with = "stdio")]
    pub(crate) join: Option<PathBuf>,
    /// Speak on standard input and output; home starts it so over ssh
    #[arg(long, requires = "name")]
    pub(crate) stdio: bool,
    /// What this worker is called [default: the name of the machine]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Whose tasks it takes [default: as the configuration says]
    #[arg(long, value_name = "OWNER")]
    pub(crate) owner: Option<String>,
    /// What it has, such as gpu,linux; beside what its configuration says
    #[arg(long, value_name = "LABELS", value_delimiter = ',', value_parser = trimmed)]
    pub(crate) labels: Vec<String>,
    /// Agents at the same time [default: the number of processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) capacity: Option<u16>,
    /// Print what this machine has as a line of JSON, and end
    #[arg(long, conflicts_with_all = ["stdio", "join"])]
    pub(crate) check: bool,
    /// Take nothing new here, now and after a start; what runs is finished
    #[arg(long, conflicts_with_all = ["stdio", "join", "check"])]
    pub(crate) drain: bool,
    /// Take agents again
    #[arg(long, conflicts_with_all = ["stdio", "join", "check", "drain"])]
    pub(crate) undrain: bool,
    /// The version of what home speaks.
    #[arg(long, hide = true, value_name = "N")]
    pub(crate) protocol: Option<u16>,
    /// Home has agents use the models of this machine.
    #[arg(long, hide = true)]
    pub(crate) own_models: bool,
    /// How long it may be silent, as home has it.
    #[arg(long, hide = true, value_name = "TIME", value_parser = posse_setup::parse_time_ms)]
    pub(crate) lease: Option<u64>,
    /// How often it says that it is there, as home has it.
    #[arg(long, hide = true, value_name = "TIME", value_parser = posse_setup::parse_time_ms)]
    pub(crate) renew: Option<u64>,
}

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct WorkersArgs {
    /// Print one JSON object per line
    #[arg(long)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Option<WorkersCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WorkersCommand {
    /// List workers: how they are reached, what they have, whether they are there
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Make the file with which a machine joins over the broker
    Add {
        /// What it is called
        name: String,
        /// What it has, such as gpu,linux [default: as it is known]
        #[arg(long, value_name = "LABELS", value_delimiter = ',', value_parser = trimmed)]
        labels: Vec<String>,
        /// Where the file goes; in no git work tree [default: beside the secret]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Put this posse on a machine that is reached by ssh
    Install {
        /// The worker, as in [workers.NAME]
        name: String,
    },
    /// Say what is wrong with workers and the broker, and what to do
    Doctor {
        /// Only this one
        name: Option<String>,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Let a worker take nothing new; what runs there is finished
    Drain {
        /// The worker, as in [workers.NAME]
        name: String,
        /// Let it take agents again
        #[arg(long)]
        undo: bool,
    },
    /// Forget a worker that was added
    Remove {
        /// Its name
        name: String,
    },
}
