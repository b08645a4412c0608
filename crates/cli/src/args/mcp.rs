//! What can be typed behind `posse mcp`.

use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use clap::Subcommand;
use posse_protocol::Approval;

/// What comes after the options of `posse mcp add`.
const ADD: &str = "\
Examples:
  posse mcp add files -- npx -y some-files-server .
  posse mcp add github --env 'TOKEN=${GITHUB_TOKEN}' -- some-github-server
  posse mcp add docs https://docs.example/mcp --header 'Authorization: Bearer ${DOCS_TOKEN}'

In single quotes ${NAME} is written as it is, and filled in when a session begins.";

/// What comes after the options of `posse mcp serve`.
const SERVE: &str = include_str!("mcp_serve_help.txt").trim_ascii_end();

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Offer Posse to another agent: it speaks MCP on standard input and output
    #[command(after_help = SERVE)]
    Serve(McpServeArgs),
    /// List the servers of this folder, where they are written down, and whether they run
    List {
        /// As lines of JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a server: an address, or a program behind --
    #[command(after_help = ADD)]
    Add(McpAddArgs),
    /// Remove a server from your own configuration
    Remove {
        /// Its name
        name: String,
        /// From the .mcp.json of this project
        #[arg(long)]
        project: bool,
    },
    /// Start a server as a session would, and show what it offers
    Test {
        /// Its name
        name: String,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct McpServeArgs {
    /// Where tasks work: in this folder and below
    #[arg(short = 'C', long = "dir", value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Another folder in which tasks may work; can be repeated
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Vec<PathBuf>,
    /// The only model that tasks have [default: a client may name one]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// What runs without asking: plan, ask, edit, auto (default), full
    #[arg(long, value_name = "MODE", value_parser = super::approvals(), hide_possible_values = true)]
    pub(crate) approval: Option<Approval>,
    /// Most turns of a task
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<NonZeroU32>,
    /// Most time of a task, such as 90s or 1h30m
    #[arg(long, value_name = "TIME", value_parser = posse_setup::parse_time_ms)]
    pub(crate) max_time: Option<u64>,
    /// Most tokens of a task
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<NonZeroU64>,
    /// Most money for a task, in US dollars
    #[arg(long, value_name = "USD", value_parser = super::parse_usd)]
    pub(crate) max_cost: Option<f64>,
    /// Run commands with all your rights
    #[arg(long)]
    pub(crate) no_sandbox: bool,
    /// Work in a home folder or in `/`; keys and histories stay hidden
    #[arg(long)]
    pub(crate) workspace_is_home: bool,
    /// How long a call waits for its task [default: 50s]
    #[arg(long, value_name = "TIME", value_parser = posse_setup::parse_time_ms)]
    pub(crate) wait: Option<u64>,
    /// The same while the client listens to progress [default: 15m]
    #[arg(long, value_name = "TIME", value_parser = posse_setup::parse_time_ms)]
    pub(crate) wait_with_progress: Option<u64>,
}

#[derive(clap::Args)]
pub(crate) struct McpAddArgs {
    /// Its name
    pub(crate) name: String,
    /// The address of a server over HTTP
    #[arg(conflicts_with = "command", required_unless_present = "command")]
    pub(crate) url: Option<String>,
    /// A variable for the program, NAME=VALUE
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "url")]
    pub(crate) env: Vec<String>,
    /// A header for the address, 'NAME: VALUE'
    #[arg(long, value_name = "HEADER", conflicts_with = "command")]
    pub(crate) header: Vec<String>,
    /// To the .mcp.json of this project, for everybody who works on it
    #[arg(long)]
    pub(crate) project: bool,
    /// A program and its arguments
    #[arg(last = true)]
    pub(crate) command: Vec<String>,
}

impl std::fmt::Debug for McpAddArgs {
    /// Values may be secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("McpAddArgs").field("name", &self.name).finish_non_exhaustive()
    }
}
