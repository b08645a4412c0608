//! What can be typed. One tree makes the parser, the help and the completions; what it means is decided elsewhere.
//! Variables that count where a flag is not given are only named here: `setup` reads them, for every interface.

mod record;

use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use posse_engine::delegating::Surface;
use posse_protocol::Approval;

use crate::exit;

pub(crate) use record::{
    ExportFormat, MemoryCommand, PruneArgs, ResumeArgs, SessionsCommand, SkillsCommand, StatsArgs,
};

/// A coding agent for local and cloud models that records every step it takes.
#[derive(Debug, Parser)]
#[command(
    name = "posse",
    version,
    arg_required_else_help = true,
    after_help = "Try `posse demo` first: it needs no model and no key."
)]
pub(crate) struct Args {
    /// Where sessions are recorded [default: the platform's data directory] [env: POSSE_HOME]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,

    /// The user's configuration file [default: see `posse config path`] [env: POSSE_CONFIG]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Give the agent a task in this folder
    #[command(after_help = exit::HELP)]
    Run(RunArgs),
    /// Go on with a session that was interrupted, or that has more to do
    #[command(after_help = exit::HELP)]
    Resume(ResumeArgs),
    /// Watch the agent mend a small repository; needs no model and no key
    Demo(DemoArgs),
    /// Look at models, keys, git, sandbox and record, and say what is missing
    Doctor {
        /// Look at this model: one from the configuration, or PROVIDER/MODEL [env: POSSE_MODEL]
        #[arg(short, long, value_name = "NAME")]
        model: Option<String>,
        /// Also the parts of the sandbox, keys that are not set, and servers that do not answer
        #[arg(short, long)]
        verbose: bool,
    },
    /// Look at recorded sessions, search, export and clear them
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// The agents of a session as a tree: what each does or did, for how long and for how much
    Tasks {
        /// The session's id, the beginning of its id, or `last` [default: last, with others that are open]
        session: Option<String>,
        /// One JSON object an agent
        #[arg(long)]
        json: bool,
    },
    /// Take back what agents changed: the last turn, or what a flag says; what others did stays
    Undo(UndoArgs),
    /// Bring back what the last `posse undo` took
    Redo {
        /// The session's id or its beginning; `last` is the newest of this folder
        #[arg(default_value = "last")]
        session: String,
        /// Also what other programs act on by themselves, such as .git/hooks and .vscode, without asking
        #[arg(long)]
        protected: bool,
    },
    /// What the agents of a session changed, as a diff
    Diff(DiffArgs),
    /// Bring the work of an agent with a checkout of its own into this folder
    Merge {
        /// The agent's name
        agent: String,
        /// The session's id or its beginning; `last` is the newest of this folder
        #[arg(default_value = "last")]
        session: String,
        /// Also what other programs act on by themselves, such as .git/hooks and .vscode, without asking
        #[arg(long)]
        protected: bool,
    },
    /// What tasks came to: success, turns, tokens, cost and time by role, model, surface and week
    Stats(StatsArgs),
    /// Look at the roles that agents can have, check their files, make a new one
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Look at the skills that agents can load
    #[command(subcommand)]
    Skills(SkillsCommand),
    /// Look at the notes that agents keep from one session to the next, and forget some
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Look at the configuration
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Review what in this folder wants to act (settings, agent files with rights, …), and allow it
    Trust(TrustArgs),
    /// Print a completion script for your shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// What to do; what is piped in is added to it, or is all of it where none is given
    pub(crate) prompt: Vec<String>,

    /// The folder to work in
    #[arg(short = 'C', long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,

    /// Record every exchange with the model to a cassette that can be replayed
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,

    /// Do everything alone
    #[arg(long, help_heading = "Sub-agents", conflicts_with_all = ["coordinator", "team", "surface"])]
    pub(crate) no_agents: bool,

    #[command(flatten)]
    pub(crate) work: WorkArgs,
}

/// How work is done, whether it begins or goes on.
#[derive(Debug, clap::Args)]
pub(crate) struct WorkArgs {
    /// A model from the configuration, or PROVIDER/MODEL such as `ollama/qwen3-coder` [env: POSSE_MODEL]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// Turns of work, after which one more is left to report
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<NonZeroU32>,

    /// Wall time, such as `90s` or `1h30m`, after which a moment (5 to 30 s) is left to report
    #[arg(long, value_name = "TIME", value_parser = posse_setup::parse_time_ms)]
    pub(crate) max_time: Option<u64>,

    /// Tokens of all requests and replies together, after which one more turn is left to report
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<NonZeroU64>,

    /// Print every event as one line of JSON, and nothing else
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,

    /// Print the final answer; beside it, on standard error, one line of what was measured
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// What is done without asking: plan (nothing is written), ask (writes, commands and network ask), edit (commands
    /// and network ask), auto (leaving the sandbox asks; the default) or full (nothing asks)
    #[arg(long, value_name = "MODE", value_parser = posse_setup::parse_approval)]
    pub(crate) approval: Option<Approval>,

    /// Run commands without the sandbox, with all your rights: also those of read-only roles
    #[arg(long)]
    pub(crate) no_sandbox: bool,

    /// Work in a home folder, in `/`, or in a folder that holds homes, which is refused otherwise; keys, sign-ins and histories
    /// stay hidden there
    #[arg(long)]
    pub(crate) workspace_is_home: bool,

    /// Once the main agent only waits for sub-agents, leave them where they are, to be resumed, and exit with code 5
    #[arg(long, help_heading = "Sub-agents")]
    pub(crate) detach: bool,

    #[command(flatten)]
    pub(crate) modes: ModeArgs,
}

/// How the work is shared out.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Sub-agents")]
pub(crate) struct ModeArgs {
    /// Only delegate: the main agent has no tools of its own
    #[arg(long)]
    pub(crate) coordinator: bool,

    /// Let agents write to each other and share a board of tasks
    #[arg(long)]
    pub(crate) team: bool,

    /// Only look: nobody changes a file; the same as --approval plan
    #[arg(long, conflicts_with = "approval")]
    pub(crate) plan: bool,

    /// The tools models delegate with: agent (default), sessions, task, spawn, delegate or shell
    #[arg(long, value_name = "NAME")]
    pub(crate) surface: Option<Surface>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UndoArgs {
    /// The session's id or its beginning; `last` is the newest of this folder
    #[arg(default_value = "last")]
    pub(crate) session: String,
    /// All that this agent and those below it did
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// One turn of the main agent, or of the one named with --agent
    #[arg(long, value_name = "N")]
    pub(crate) turn: Option<u32>,
    /// Everything the session did
    #[arg(long = "session", conflicts_with_all = ["agent", "turn"])]
    pub(crate) all: bool,
    /// Only this file or folder, also where it is not certain who changed it; may be given more than once
    #[arg(long = "path", value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Also what other programs act on by themselves, such as .git/hooks and .vscode, without asking
    #[arg(long)]
    pub(crate) protected: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DiffArgs {
    /// Which session [default: the newest of this folder that changed something]
    pub(crate) session: Option<String>,
    /// Only these files and folders
    pub(crate) paths: Vec<PathBuf>,
    /// Only count lines, file by file
    #[arg(long)]
    pub(crate) stat: bool,
    /// Only what this agent and those below it changed
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct DemoArgs {
    /// Do not slow the recording down to reading speed
    #[arg(long)]
    pub(crate) fast: bool,
    /// Leave the repository that it works on, to look at it afterwards
    #[arg(long)]
    pub(crate) keep: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// All roles, one line each
    List {
        /// Also the delegation team: main, planner, coder, tester, reviewer, debugger
        #[arg(long)]
        all: bool,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// One role with its prompt
    Show {
        /// Its name or one of its other names
        name: String,
        /// As a JSON object
        #[arg(long)]
        json: bool,
    },
    /// What is wrong with agent files; fails if one is broken
    Check {
        /// Files or folders [default: all that would be loaded here]
        paths: Vec<PathBuf>,
        /// Also keys that Posse does not use
        #[arg(short, long)]
        verbose: bool,
    },
    /// Write a new agent file to fill in, to .posse/agents in this folder
    New {
        /// The role's name
        name: String,
        /// For all your projects instead of this one
        #[arg(long)]
        user: bool,
        /// When to use it
        #[arg(long, value_name = "TEXT")]
        description: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// The configuration in force here, as TOML
    Show,
    /// Where the configuration is read from
    Path,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TrustArgs {
    /// The folder
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Allow it without asking
    #[arg(long, conflicts_with = "revoke")]
    pub(crate) yes: bool,
    /// No longer allow it
    #[arg(long)]
    pub(crate) revoke: bool,
}
