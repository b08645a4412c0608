//! What can be typed about the record: going on with sessions, looking after them, notes, skills and statistics.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::WorkArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct ResumeArgs {
    /// The session's id, its beginning, or `last` [default: the newest of this folder that was interrupted, else the
    /// newest of this folder]
    pub(crate) session: Option<String>,

    /// What to do next; `-` reads it from standard input. An interrupted session goes on without
    pub(crate) prompt: Vec<String>,

    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// The newest sessions of this project, one line each
    List {
        /// How many
        #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
        limit: u16,
        /// Sessions of all folders
        #[arg(long)]
        all: bool,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// One session, step by step
    Show {
        /// Its id, the beginning of its id, or `last`: the newest of this folder, else of all
        #[arg(default_value = "last")]
        session: String,
        /// Results of tools whole, not their first lines
        #[arg(long, conflicts_with = "json")]
        full: bool,
        /// Its events, one JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// What was said in all sessions: prompts, replies, reports, and what tools were called for
    Search {
        /// Words to look for
        #[arg(required = true)]
        query: Vec<String>,
        /// How many places
        #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
        limit: u16,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// One session as a file for others: its events, a text to read, or a cassette to replay
    Export {
        /// Its id, the beginning of its id, or `last`: the newest of this folder, else of all
        #[arg(default_value = "last")]
        session: String,
        /// What it becomes
        #[arg(long, value_enum, default_value_t = ExportFormat::Markdown)]
        format: ExportFormat,
        /// Where it goes; a file that is there is not replaced [default: standard output]
        #[arg(short, long, value_name = "FILE", required_if_eq("format", "cassette"))]
        output: Option<PathBuf>,
    },
    /// Take sessions off the record, for good; notes, checkpoints and branches that were made in them stay
    Delete {
        /// Their ids, at least 4 characters of them, or `last`: the newest of this folder
        #[arg(required = true)]
        sessions: Vec<String>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Take all sessions off the record in which nothing has happened for a while, but not those that can go on
    Prune(PruneArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct PruneArgs {
    /// For how long, such as `30d`, `8w` or `12h`
    #[arg(long, value_name = "TIME", value_parser = posse_setup::parse_age_ms)]
    pub(crate) older_than: u64,
    /// The newest sessions that stay in any case
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep: u16,
    /// Also those that were interrupted and could go on
    #[arg(long)]
    pub(crate) interrupted: bool,
    /// Only say what would go
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

/// What a session is exported as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExportFormat {
    /// Its events, one JSON object a line
    Jsonl,
    /// A text to read
    Markdown,
    /// What its models said, to be replayed
    Cassette,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// The notes that agents find in this folder: those of its project and those of yours; newest first
    List {
        /// Only those with these words, best first
        query: Vec<String>,
        /// Also those of other projects
        #[arg(long)]
        all: bool,
        /// How many
        #[arg(short = 'n', long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..))]
        limit: u16,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// One note, with who made it and when
    Show {
        /// Its number
        #[arg(value_parser = parse_note_number)]
        id: u64,
        /// As a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Take notes out of memory, for good; the sessions in which they were made still have their text, until those are
    /// deleted
    Forget {
        /// Their numbers
        #[arg(required = true, value_parser = parse_note_number)]
        ids: Vec<u64>,
    },
}

fn parse_note_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "it is no number of a note; posse memory list shows them".to_string())
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// All skills that agents find in this folder, one line each
    List {
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Skills that agents wrote while nobody was there: they wait until you accept them
    Review {
        /// The one to look at [default: list them]
        key: Option<String>,
        /// Make it a skill
        #[arg(long, requires = "key", conflicts_with = "reject")]
        accept: bool,
        /// Throw it away
        #[arg(long, requires = "key")]
        reject: bool,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// One skill with its text and its files
    Show {
        /// What it is loaded by
        key: String,
        /// As a JSON object
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct StatsArgs {
    /// Only tasks that ended within this time, such as `30d`, `8w` or `12h` [default: all]
    #[arg(long, value_name = "TIME", value_parser = posse_setup::parse_age_ms)]
    pub(crate) since: Option<u64>,
    /// Only this folder's project (the default)
    #[arg(long, conflicts_with = "all")]
    pub(crate) project: bool,
    /// All projects
    #[arg(long)]
    pub(crate) all: bool,
    /// As one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}
