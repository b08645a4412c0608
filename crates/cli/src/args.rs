//! What can be typed. One tree makes the parser, the help and the completions; what it means is decided elsewhere.
//! Variables that count where a flag is not given are only named here: `setup` reads them, for every interface.

mod acp;
mod help;
mod mcp;
mod record;
mod serve;
mod steer;
mod tips;
mod workers;

use std::ffi::OsString;
use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{FromArgMatches as _, Parser, Subcommand};
use posse_protocol::{Approval, TraceParent};
use posse_surface::Surface;

pub(crate) use acp::AcpArgs;
pub(crate) use help::command;
pub(crate) use mcp::{McpAddArgs, McpCommand, McpServeArgs};
pub(crate) use tips::told;

pub(crate) use record::{
    ExportFormat, ForkArgs, MemoryCommand, PruneArgs, ResumeArgs, SessionsCommand, SkillsCommand, StatsArgs,
};
pub(crate) use serve::ServeArgs;
pub(crate) use steer::{AnswerArgs, AttachArgs, StopArgs, TasksArgs, TellArgs};
pub(crate) use workers::{WorkerArgs, WorkersArgs, WorkersCommand};

/// A coding agent that delegates to sub-agents, and records every step
#[derive(Debug, Parser)]
#[command(name = "posse", version)]
pub(crate) struct Args {
    /// Where sessions are recorded [env: POSSE_HOME]
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL)]
    pub(crate) data_dir: Option<PathBuf>,

    /// Your configuration file [env: POSSE_CONFIG]
    #[arg(long, global = true, value_name = "FILE", help_heading = GLOBAL)]
    pub(crate) config: Option<PathBuf>,

    /// The width of lines where standard output is no terminal.
    #[arg(long, global = true, hide = true, value_name = "N")]
    pub(crate) columns: Option<NonZeroU16>,

    #[command(flatten)]
    pub(crate) chat: ChatArgs,

    #[command(subcommand)]
    pub(crate) command: Option<CliCommand>,
}

/// How the chat is opened: what `posse` does without a command.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ChatArgs {
    /// Open the newest session of this folder
    #[arg(short, long = "continue")]
    pub(crate) continues: bool,

    /// The folder to work in
    #[arg(short = 'C', long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,

    /// A configured model, or PROVIDER/MODEL [env: POSSE_MODEL]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// What runs without asking: plan, ask, edit, auto (default), full
    #[arg(long, value_name = "MODE", value_parser = approvals(), hide_possible_values = true)]
    pub(crate) approval: Option<Approval>,

    /// Run commands with all your rights, also those of read-only roles
    #[arg(long)]
    pub(crate) no_sandbox: bool,

    /// Work in a home folder or in `/`; keys and histories stay hidden
    #[arg(long)]
    pub(crate) workspace_is_home: bool,

    /// Only lines of text: for screen readers and simple terminals
    #[arg(long)]
    pub(crate) plain: bool,

    /// Run one task and exit: posse -p "…" is posse run "…"
    #[arg(short, long, value_name = "PROMPT")]
    pub(crate) print: Option<String>,
}

/// Reads what was typed.
pub(crate) fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Args, clap::Error> {
    let mut command = command();
    let matches = command.try_get_matches_from_mut(typed(arguments))?;
    if let Some(name) = matches.subcommand_name() {
        // Before a command only what every command has: the chat's flags would be left out without a word.
        let source = |arg: &clap::Arg| matches.value_source(arg.get_id().as_str());
        let is_given = |arg: &clap::Arg| source(arg) == Some(ValueSource::CommandLine);
        let own = command.get_arguments().filter(|arg| !arg.is_global_set()).find(|arg| is_given(arg));
        if let Some(flag) = own.map(ToString::to_string) {
            let message =
                format!("'{flag}' before '{name}' is for the chat; flags of a command come behind it");
            return Err(command.error(ErrorKind::ArgumentConflict, message));
        }
    }
    Args::from_arg_matches(&matches)
}

/// What was typed, where `-p` stands for `run`: all its flags are those of that command.
fn typed(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = arguments.into_iter().collect();
    let is_print = |word: &OsString| word == "-p" || word == "--print";
    let with_value = |word: &OsString| {
        let text = word.to_str()?;
        let short = text.strip_prefix("-p").filter(|value| !value.is_empty());
        text.strip_prefix("--print=").or(short).map(OsString::from)
    };
    let is_flag = words.get(1).is_some_and(|word| word.as_encoded_bytes().starts_with(b"-"));
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let at = words[..end].iter().position(|word| is_print(word) || with_value(word).is_some());
    if let Some(at) = at.filter(|_| is_flag) {
        match with_value(&words[at]) {
            Some(value) => words[at] = value,
            None => drop(words.remove(at)),
        }
        words.insert(1, "run".into());
    }
    words
}

/// The heading of options that every command has.
const GLOBAL: &str = "Global options";

/// The modes by name, so that shells can complete them.
fn approvals() -> impl TypedValueParser<Value = Approval> {
    PossibleValuesParser::new(["plan", "ask", "edit", "auto", "full"])
        .try_map(|mode| posse_setup::parse_approval(&mode))
}

/// The sets of tools that models delegate with.
const SURFACES: [&str; 6] = ["agent", "sessions", "task", "spawn", "delegate", "shell"];

/// The same of them.
fn surfaces() -> impl TypedValueParser<Value = Surface> {
    PossibleValuesParser::new(SURFACES).try_map(|name| name.parse::<Surface>())
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Give the agent a task in this folder
    #[command(after_help = help::RUN)]
    Run(RunArgs),
    /// Continue a session: one that was interrupted, or with more to do
    #[command(after_help = help::RESUME)]
    Resume(ResumeArgs),
    /// Start a new session from the first turns of another
    #[command(after_help = help::FORK)]
    Fork(ForkArgs),
    /// Watch agents fix a small repository; needs no model and no key
    Demo(DemoArgs),
    /// Check model, sandbox, git and record; say what to fix
    Doctor {
        /// A configured model, or PROVIDER/MODEL [env: POSSE_MODEL]
        #[arg(short, long, value_name = "NAME")]
        model: Option<String>,
        /// Also parts of the sandbox, missing keys, silent servers
        #[arg(short, long)]
        verbose: bool,
    },
    /// List, show, search, export and delete recorded sessions
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Show the agents of a session as a tree, with time, tokens and cost
    Tasks(TasksArgs),
    /// Follow a session that runs, and answer its questions
    #[command(after_help = help::ATTACH)]
    Attach(AttachArgs),
    /// Say something to an agent of a session that runs
    #[command(after_help = help::TELL)]
    Tell(TellArgs),
    /// List the open questions of sessions that run, or answer one
    #[command(after_help = help::ANSWER)]
    Answer(AnswerArgs),
    /// Stop a session that runs, one of its agents, or its turn
    Stop(StopArgs),
    /// Show all sessions in a browser, and steer them from there
    #[command(after_help = help::SERVE)]
    Serve(ServeArgs),
    /// Work inside an editor, over the Agent Client Protocol
    #[command(after_help = help::ACP)]
    Acp(AcpArgs),
    /// Run sub-agents here for sessions on other machines
    #[command(after_help = workers::WORKER)]
    Worker(WorkerArgs),
    /// List, add, install and check machines that sub-agents can run on
    #[command(after_help = workers::WORKERS)]
    Workers(WorkersArgs),
    /// Take back what agents changed: the last turn, or what flags say
    Undo(UndoArgs),
    /// Bring the files back to where they were when a turn began
    Rewind(RewindArgs),
    /// Bring back what the last undo took
    Redo {
        /// Which session: an id, a number of the list, or last
        #[arg(default_value = "last")]
        session: String,
        /// Only show what would change
        #[arg(long)]
        preview: bool,
        /// Also files that other programs run, such as .git/hooks, without asking
        #[arg(long)]
        protected: bool,
    },
    /// Show what the agents of a session changed
    Diff(DiffArgs),
    /// Merge the branch of an agent that worked in its own worktree
    Merge {
        /// The agent's name
        agent: String,
        /// Which session: an id, a number of the list, or last
        #[arg(default_value = "last")]
        session: String,
        /// Only show what would change
        #[arg(long)]
        preview: bool,
        /// Also files that other programs run, such as .git/hooks, without asking
        #[arg(long)]
        protected: bool,
    },
    /// Show what fills the context window of an agent
    Context {
        /// Which session: an id, a number of the list, or last
        #[arg(default_value = "last")]
        session: String,
        /// Of which agent
        #[arg(long, value_name = "NAME", default_value = "main")]
        agent: String,
        /// As a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Success, turns, tokens, cost and time by role, model and week
    Stats(StatsArgs),
    /// List, show and check the roles that agents can have; add one
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// List, save and remove rules: what is allowed, asked and denied in every mode
    #[command(subcommand)]
    Rules(RulesCommand),
    /// List, add, remove and test servers whose tools agents may call; be one
    #[command(subcommand)]
    Mcp(McpCommand),
    /// List hooks, and try what they do
    #[command(subcommand)]
    Hooks(HooksCommand),
    /// List, show and review the skills that agents can load
    #[command(subcommand)]
    Skills(SkillsCommand),
    /// List, show and delete the notes that agents keep
    #[command(subcommand)]
    Memory(MemoryCommand),
    /// Show the configuration, and where it is read from
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Review and allow what this folder's files want to set
    Trust(TrustArgs),
    /// Print a completion script for your shell
    #[command(after_help = help::COMPLETIONS)]
    Completions {
        /// bash, zsh, fish, elvish or powershell
        #[arg(hide_possible_values = true)]
        shell: clap_complete::Shell,
    },
    /// What a completion script asks for: names, one on each line
    #[command(hide = true)]
    Complete {
        /// Of what
        what: Names,
    },
}

/// What completion scripts ask for.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Names {
    Models,
    Sessions,
    Roles,
    Workers,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RunArgs {
    /// What to do; piped text is added to it, or takes its place
    pub(crate) prompt: Vec<String>,

    /// The folder to work in
    #[arg(short = 'C', long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,

    /// Record the exchanges with the model to a file, for replay
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
    /// A configured model, or PROVIDER/MODEL [env: POSSE_MODEL]
    #[arg(short, long, value_name = "NAME")]
    pub(crate) model: Option<String>,

    /// Most turns of work; one more is left to report
    #[arg(long, value_name = "N")]
    pub(crate) max_turns: Option<NonZeroU32>,

    /// Most time, such as 90s or 1h30m; a moment is left to report
    #[arg(long, value_name = "TIME", value_parser = posse_setup::parse_time_ms)]
    pub(crate) max_time: Option<u64>,

    /// Most tokens in all; one more turn is left to report
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<NonZeroU64>,

    /// Most money, in US dollars; needs the model's prices
    #[arg(long, value_name = "USD", value_parser = parse_usd)]
    pub(crate) max_cost: Option<f64>,

    /// Work in this role: its text, and no more than its rights
    #[arg(long, value_name = "NAME")]
    pub(crate) role: Option<String>,

    /// Show the model an image, a PDF or a text file (also --attach)
    #[arg(long = "image", alias = "attach", value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) images: Vec<PathBuf>,

    /// Print every event as a line of JSON, and nothing else
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) json: bool,

    /// Print the answer, and on standard error a line with the facts
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// What runs without asking: plan, ask, edit, auto (default), full
    #[arg(long, value_name = "MODE", value_parser = approvals(), hide_possible_values = true)]
    pub(crate) approval: Option<Approval>,

    /// Run commands with all your rights, also those of read-only roles
    #[arg(long)]
    pub(crate) no_sandbox: bool,

    /// Work in a home folder or in `/`; keys and histories stay hidden
    #[arg(long)]
    pub(crate) workspace_is_home: bool,

    /// Leave the session in a process without a terminal
    #[arg(long, conflicts_with = "leave_sub_agents")]
    pub(crate) background: bool,

    /// What `--background` starts.
    #[arg(long, hide = true, conflicts_with = "background")]
    pub(crate) in_background: bool,

    /// The span of whoever wants it, where that is not of this process.
    #[arg(long, hide = true, value_name = "SPAN", value_parser = str::parse::<TraceParent>)]
    pub(crate) traceparent: Option<TraceParent>,

    /// In the background: end after resting so long [default: 1h]
    #[arg(long, value_name = "TIME", value_parser = posse_setup::parse_time_ms)]
    pub(crate) rest_at_most: Option<u64>,

    /// Exit (code 5) once only sub-agents work; posse resume continues
    #[arg(long, alias = "detach", help_heading = "Sub-agents")]
    pub(crate) leave_sub_agents: bool,

    #[command(flatten)]
    pub(crate) modes: ModeArgs,
}

/// An amount of money that is more than nothing.
fn parse_usd(text: &str) -> Result<f64, String> {
    let usd = text.trim_start_matches('$').parse::<f64>().ok().filter(|usd| usd.is_finite() && *usd > 0.0);
    usd.ok_or_else(|| "write an amount in US dollars, such as 0.50".to_string())
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

    /// Change no file; the same as --approval plan
    #[arg(long, conflicts_with = "approval")]
    pub(crate) plan: bool,

    /// Tools to delegate by: agent, sessions, task, spawn, delegate, shell
    #[arg(long, value_name = "NAME", value_parser = surfaces(), hide_possible_values = true)]
    pub(crate) surface: Option<Surface>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UndoArgs {
    /// Which session: an id, a number of the list, or last
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
    /// Only this file or folder, whoever changed it; may be repeated
    #[arg(long = "path", value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Only these hunks of a file, as posse diff numbers them; may be repeated
    #[arg(long = "hunk", value_name = "FILE:N,M", value_parser = parse_hunks)]
    pub(crate) hunks: Vec<(PathBuf, Vec<u32>)>,
    /// Only show what would change
    #[arg(long)]
    pub(crate) preview: bool,
    /// Also files that other programs run, such as .git/hooks, without asking
    #[arg(long)]
    pub(crate) protected: bool,
}

/// A file and the numbers of some of its hunks.
fn parse_hunks(text: &str) -> Result<(PathBuf, Vec<u32>), String> {
    let wrong = || "write a file and the numbers of its hunks, such as src/main.rs:1,3".to_string();
    let (path, numbers) = text.rsplit_once(':').ok_or_else(wrong)?;
    let numbers = numbers.split(',').map(|number| number.trim().parse().ok().filter(|number| *number > 0));
    let numbers = numbers.collect::<Option<Vec<u32>>>().ok_or_else(wrong)?;
    if path.is_empty() { Err(wrong()) } else { Ok((path.into(), numbers)) }
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum RulesCommand {
    /// The rules of your configuration and of this project, with file and line
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Save a rule in your own configuration
    Save {
        /// allow, ask or deny
        kind: posse_setup::RuleKind,
        /// A tool such as edit_file, or a tool and a pattern such as edit_file(src/*)
        rule: String,
    },
    /// Remove a rule from your own configuration
    Remove {
        /// allow, ask or deny
        kind: posse_setup::RuleKind,
        /// The rule as posse rules list shows it
        rule: String,
    },
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum HooksCommand {
    /// The hooks of your settings and of this project: when they run, what, and how
    List {
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Run the hooks of one event with an example, and show what they say
    Test {
        /// PreToolUse, PostToolUse, UserPromptSubmit, Stop, SessionStart, …
        event: String,
        /// The tool, such as Bash or write_file; for other events what a matcher looks at
        #[arg(long, value_name = "NAME")]
        tool: Option<String>,
        /// The tool's input, or other fields of what hooks are told
        #[arg(long, value_name = "JSON")]
        input: Option<String>,
    },
}

#[derive(Debug, clap::Args)]
pub(crate) struct RewindArgs {
    /// Which session: an id, a number of the list, or last
    #[arg(default_value = "last")]
    pub(crate) session: String,
    /// The turn of the main agent that the files go back to the beginning of
    #[arg(long, value_name = "N")]
    pub(crate) turn: u32,
    /// Only show what would change
    #[arg(long)]
    pub(crate) preview: bool,
    /// Also files that other programs run, such as .git/hooks, without asking
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
    /// Do not wait for people to read along
    #[arg(long)]
    pub(crate) fast: bool,
    /// Keep the repository, to look at it afterwards
    #[arg(long)]
    pub(crate) keep: bool,
    /// Play it as a film instead of opening the chat
    #[arg(long)]
    pub(crate) play: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentsCommand {
    /// List roles: name, rights in this folder, use
    List {
        /// Also the delegation team: main, planner, coder, tester, reviewer, debugger
        #[arg(long)]
        all: bool,
        /// Print one JSON object per line
        #[arg(long)]
        json: bool,
    },
    /// Show one role with its prompt
    Show {
        /// Its name or one of its other names
        name: String,
        /// As a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Say what is wrong with agent files; fails if one is broken
    Check {
        /// Files or folders [default: all that would be loaded here]
        paths: Vec<PathBuf>,
        /// Also keys that Posse does not use
        #[arg(short, long)]
        verbose: bool,
    },
    /// Save which model a role has, in your own configuration
    Model {
        /// The role's name
        name: String,
        /// A configured model, or PROVIDER/MODEL
        model: String,
    },
    /// Write a new agent file to .posse/agents in this folder
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
    /// Print the configuration in effect here, as TOML
    Show,
    /// Print where the configuration is read from
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
    /// Only show what it wants
    #[arg(long, conflicts_with_all = ["yes", "revoke"])]
    pub(crate) show: bool,
    /// No longer allow it
    #[arg(long)]
    pub(crate) revoke: bool,
}
