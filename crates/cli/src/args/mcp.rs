//! What can be typed behind `posse mcp`.

use clap::Subcommand;

/// What comes after the options of `posse mcp add`.
const ADD: &str = "\
Examples:
  posse mcp add files -- npx -y some-files-server .
  posse mcp add github --env 'TOKEN=${GITHUB_TOKEN}' -- some-github-server
  posse mcp add docs https://docs.example/mcp --header 'Authorization: Bearer ${DOCS_TOKEN}'

In single quotes ${NAME} is written as it is, and filled in when a session begins.";

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
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
