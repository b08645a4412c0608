//! What can be typed about the record: going on with sessions, looking after them, notes, skills and statistics.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

use super::WorkArgs;

#[derive(Debug, clap::Args)]
pub(crate) struct ResumeArgs {
    /// Which session [default: the newest here that was interrupted, else the newest]
    pub(crate) session: Option<String>,

    /// What to do next; `-` reads standard input; an interrupted session needs none
    pub(crate) prompt: Vec<String>,

    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ForkArgs {
    /// Which session: an id, a number of the list, or last
    pub(crate) session: String,

    /// What to do next; `-` reads standard input
    #[arg(required_unless_present = "preview")]
    pub(crate) prompt: Vec<String>,

    /// After which turn of its main agent [default: the last]
    #[arg(long, value_name = "N")]
    pub(crate) turn: Option<u32>,

    /// Also bring the files back to where they were after that turn
    #[arg(long)]
    pub(crate) files: bool,

    /// Only answer: the new session has no tools and no sub-agents
    #[arg(long, conflicts_with = "files")]
    pub(crate) no_tools: bool,

    /// Only show what --files would change
    #[arg(long)]
    pub(crate) preview: bool,

    /// Also files that other programs run, such as .git/hooks, without asking
    #[arg(long)]
    pub(crate) protected: bool,

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
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show one session, step by step
    Show {
        /// Which session: an id, a number of the list, or last
        #[arg(default_value = "last")]
        session: String,
        /// Results of tools whole, not their first lines
        #[arg(long, conflicts_with = "json")]
        full: bool,
        /// Print its events, one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Find words in prompts, replies, reports and tool calls of all sessions
    Search {
        /// Words to look for
        #[arg(required = true)]
        query: Vec<String>,
        /// How many
        #[arg(short = 'n', long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
        limit: u16,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Give a session another title
    Rename {
        /// Which session: an id, a number of the list, or last
        session: String,
        /// The title [default: one that is made of the first prompt]
        title: Vec<String>,
    },
    /// Write one session as a text, as events, as a trace, or to be replayed
    Export {
        /// Which session: an id, a number of the list, or last
        #[arg(default_value = "last")]
        session: String,
        /// markdown, jsonl, cassette or otlp (a trace)
        #[arg(long, value_enum, default_value_t = ExportFormat::Markdown, hide_possible_values = true)]
        format: ExportFormat,
        /// A new file to write to [default: standard output]
        #[arg(short, long, value_name = "FILE", required_if_eq("format", "cassette"))]
        output: Option<PathBuf>,
        /// For otlp: with prompts, replies, arguments and results
        #[arg(long)]
        content: bool,
    },
    /// Delete sessions for good; their notes, checkpoints and branches stay
    Delete {
        /// Their ids, at least 4 characters of each, or last
        #[arg(required = true)]
        sessions: Vec<String>,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Delete old sessions, but not those that can be resumed
    Prune(PruneArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct PruneArgs {
    /// Sessions that ended before, such as `30d`, `8w` or `12h`
    #[arg(long, value_name = "TIME", value_parser = posse_setup::parse_age_ms)]
    pub(crate) older_than: u64,
    /// Keep so many of the newest in any case
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) keep: u16,
    /// Also those that were interrupted and can be resumed
    #[arg(long)]
    pub(crate) interrupted: bool,
    /// Only say what would be deleted
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
    /// Its trace, as a collector takes it
    Otlp,
}

#[derive(Debug, Subcommand)]
pub(crate) enum MemoryCommand {
    /// List the notes that agents find in this folder, newest first
    List {
        /// Only notes with these words, best first
        query: Vec<String>,
        /// Also notes of other projects
        #[arg(long)]
        all: bool,
        /// How many
        #[arg(short = 'n', long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(1..))]
        limit: u16,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show one note, with who made it and when
    Show {
        /// Its number
        #[arg(value_parser = parse_note_number)]
        id: u64,
        /// As a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Delete notes for good; the sessions in which they were made keep the text
    Forget {
        /// Their numbers
        #[arg(required = true, value_parser = parse_note_number)]
        ids: Vec<u64>,
    },
}

fn parse_note_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "it is not the number of a note; posse memory list shows them".to_string())
}

#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List the skills that agents find in this folder
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Accept or reject skills that agents wrote while you were away
    Review {
        /// The one to look at [default: list them]
        key: Option<String>,
        /// Make it a skill
        #[arg(long, requires = "key", conflicts_with = "reject")]
        accept: bool,
        /// Throw it away
        #[arg(long, requires = "key")]
        reject: bool,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show one skill with its text and its files
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
    /// Only tasks that ended within this time, such as `30d` or `12h`
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
