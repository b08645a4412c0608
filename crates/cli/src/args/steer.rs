//! What can be typed about a session that runs, in this terminal's process or another.

#[derive(Debug, clap::Args)]
pub(crate) struct AttachArgs {
    /// Which session [default: the one of this project that runs]
    pub(crate) session: Option<String>,
    /// Print every event as a line of JSON, and nothing else
    #[arg(long)]
    pub(crate) json: bool,
    /// Only follow it and answer its questions, without the chat
    #[arg(long)]
    pub(crate) plain: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TellArgs {
    /// Which session: an id, a number of the list, or last
    pub(crate) session: String,
    /// The message, behind an agent's name unless it is for main; `-` reads it
    #[arg(value_name = "MESSAGE")]
    pub(crate) words: Vec<String>,
    /// Interrupt what the agent does now
    #[arg(long)]
    pub(crate) now: bool,
    /// Wait until the main agent has answered: it is its next prompt
    #[arg(long, conflicts_with = "now")]
    pub(crate) queue: bool,
    /// Change a message that was not delivered yet
    #[arg(long, value_name = "N", conflicts_with_all = ["now", "queue"])]
    pub(crate) edit: Option<u64>,
    /// Take back a message that was not delivered yet
    #[arg(long, value_name = "N", conflicts_with_all = ["now", "queue", "edit", "words"])]
    pub(crate) withdraw: Option<u64>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct StopArgs {
    /// Which session: an id, a number of the list, or last
    pub(crate) session: String,
    /// Only this agent, with those below it
    pub(crate) agent: Option<String>,
    /// Only what it does now; the session stays open
    #[arg(long, conflicts_with = "agent")]
    pub(crate) turn: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AnswerArgs {
    /// Which session [default: all of this project that run]
    pub(crate) session: Option<String>,
    /// The number of the question, as the list shows it
    pub(crate) question: Option<u64>,
    /// The answer, as the question offers it
    #[arg(allow_hyphen_values = true)]
    pub(crate) answer: Vec<String>,
    /// Print each open question as a line of JSON
    #[arg(long, conflicts_with = "question")]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct TasksArgs {
    /// Which session [default: the newest of this folder, and others that are open]
    pub(crate) session: Option<String>,
    /// Print one JSON object for each agent
    #[arg(long)]
    pub(crate) json: bool,
    /// Show changes as they happen, until the session ends
    #[arg(short, long)]
    pub(crate) follow: bool,
}
