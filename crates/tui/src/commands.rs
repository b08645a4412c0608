//! The commands that begin with `/`: one table for completion, help and what they do. Those that are `posse` commands as well
//! name it, and run it: one implementation, one help.

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandAction {
    /// Something of the chat's own.
    Own(OwnCommand),
    /// Runs `posse` with these words, and what was typed behind the command.
    Posse(&'static [&'static str]),
    /// The same, with the id of the open session before what was typed.
    PosseOfSession(&'static [&'static str]),
}

/// What only a chat can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OwnCommand {
    /// Lists commands and keys.
    Help,
    /// Opens the work view.
    Tasks,
    /// Agents at work, then roles.
    Agents,
    /// Starts an agent by hand.
    Agent,
    /// Shows or changes the model.
    Model,
    /// Changes the effort.
    Effort,
    /// Changes the mode.
    Mode,
    /// Picks a session.
    Resume,
    /// A new session.
    New,
    /// A new session from this one's turns.
    Fork,
    /// Goes back to a turn.
    Rewind,
    /// Takes changes back.
    Undo,
    /// Brings them in again.
    Redo,
    /// Shows what was changed.
    Diff,
    /// Merges a branch.
    Merge,
    /// Commands in the background.
    Jobs,
    /// Tokens and money.
    Cost,
    /// What fills the window.
    Context,
    /// Shortens the conversation.
    Compact,
    /// Writes a hand-over prompt.
    Relay,
    /// Writes AGENTS.md.
    Init,
    /// Reviews what the folder's files want.
    Trust,
    /// Shows servers.
    Mcp,
    /// Changes the colours.
    Theme,
    /// Copies a reply.
    Copy,
    /// Asks on the side.
    Side,
    /// Shows reasoning.
    Reasoning,
    /// Renames the session.
    Rename,
    /// Leaves the session at work.
    Detach,
    /// Ends the chat.
    Quit,
}

/// One command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlashCommand {
    /// Its name, without the slash.
    pub(crate) name: &'static str,
    /// Another name.
    pub(crate) alias: Option<&'static str>,
    /// What is typed behind it.
    pub(crate) arguments: &'static str,
    /// What it does, in a line.
    pub(crate) help: &'static str,
    /// What is done.
    pub(crate) action: CommandAction,
    /// The `posse` command that does the same outside of a chat; empty if none does.
    same: &'static str,
    /// What counts where nothing is typed behind it.
    pub(crate) bare: &'static str,
}

impl SlashCommand {
    const fn alone(mut self, words: &'static str) -> Self {
        self.bare = words;
        self
    }

    const fn also_as(mut self, words: &'static str) -> Self {
        self.same = words;
        self
    }

    /// The `posse` command that does the same outside of a chat; empty if it makes sense only here.
    pub(crate) fn outside(&self) -> &'static str {
        match self.action {
            CommandAction::Own(_) => self.same,
            CommandAction::Posse(words) | CommandAction::PosseOfSession(words) => match (self.same, words) {
                ("", [first, ..]) if !first.starts_with('-') => first,
                (same, _) => same,
            },
        }
    }
}

/// The `posse` commands that are commands of the chat, too.
pub fn outside_commands() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(SlashCommand::outside).filter(|words| !words.is_empty())
}

impl SlashCommand {
    /// Whether it says nothing without something behind it.
    pub(crate) fn needs_arguments(&self) -> bool {
        !self.arguments.is_empty() && !self.arguments.starts_with('[')
    }
}

const fn own(
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    own: OwnCommand,
) -> SlashCommand {
    SlashCommand { name, alias: None, arguments, help, action: CommandAction::Own(own), same: "", bare: "" }
}

const fn also(name: &'static str, alias: &'static str, help: &'static str, own: OwnCommand) -> SlashCommand {
    SlashCommand {
        name,
        alias: Some(alias),
        arguments: "",
        help,
        action: CommandAction::Own(own),
        same: "",
        bare: "",
    }
}

const fn posse(
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    words: &'static [&'static str],
) -> SlashCommand {
    SlashCommand {
        name,
        alias: None,
        arguments,
        help,
        action: CommandAction::Posse(words),
        same: "",
        bare: "",
    }
}

/// All commands, in the order of help.
pub(crate) const COMMANDS: [SlashCommand; 41] = [
    also("help", "?", "list commands and keys", OwnCommand::Help),
    own("tasks", "", "open the work view: to-do list, agents, transcripts, diffs", OwnCommand::Tasks)
        .also_as("tasks"),
    own("agents", "[list|show|new|check …]", "agents at work, then the roles there are", OwnCommand::Agents)
        .also_as("agents"),
    own("agent", "ROLE TASK", "have a sub-agent of this role do a task", OwnCommand::Agent),
    own("model", "[[ROLE] NAME]", "choose a model; with a role: for that role", OwnCommand::Model)
        .also_as("agents model"),
    own("effort", "LEVEL", "change the reasoning effort", OwnCommand::Effort),
    own("mode", "[plan|ask|edit|auto|full]", "what runs without asking (Shift+Tab)", OwnCommand::Mode),
    posse("permissions", "[list|save|remove …]", "rules that allow, ask or deny", &["rules"]).alone("list"),
    own("resume", "[ID]", "open another session: search, preview, rename, delete", OwnCommand::Resume)
        .also_as("resume"),
    also("new", "clear", "begin a new session", OwnCommand::New),
    own("fork", "[PROMPT]", "go on in a new session from this one's turns", OwnCommand::Fork).also_as("fork"),
    own("rewind", "[TURN]", "go back to a turn, and its files if you like (Esc Esc)", OwnCommand::Rewind)
        .also_as("rewind"),
    own("undo", "[all|agent NAME]", "take back what the last turn changed", OwnCommand::Undo).also_as("undo"),
    own("redo", "", "bring back what the last undo took", OwnCommand::Redo).also_as("redo"),
    own("diff", "[AGENT]", "show what the agents changed", OwnCommand::Diff).also_as("diff"),
    own("merge", "AGENT", "merge the branch of an agent", OwnCommand::Merge).also_as("merge"),
    own("jobs", "", "commands in the background", OwnCommand::Jobs),
    own(
        "mcp",
        "[list|add|remove|test …]",
        "servers whose tools agents call, and their prompts",
        OwnCommand::Mcp,
    )
    .also_as("mcp list"),
    posse("skills", "[list|show|review …]", "skills that agents can load", &["skills"]).alone("list"),
    posse("hooks", "[list|test …]", "hooks of your settings and of this project", &["hooks"]).alone("list"),
    posse("memory", "[list|show|forget …]", "notes that agents keep", &["memory"]).alone("list"),
    posse("stats", "[--since …]", "success, tokens, cost and time by role and model", &["stats"]),
    own("cost", "", "tokens and cost of this session, agent by agent", OwnCommand::Cost).also_as("tasks"),
    own("context", "", "what fills the model's window", OwnCommand::Context).also_as("context"),
    own("compact", "", "shorten the conversation now", OwnCommand::Compact),
    own("relay", "", "write a hand-over prompt for a new session", OwnCommand::Relay),
    own("init", "", "write an AGENTS.md for this folder", OwnCommand::Init),
    SlashCommand {
        name: "export",
        alias: None,
        arguments: "[--format …]",
        help: "this session as Markdown or JSON",
        action: CommandAction::PosseOfSession(&["sessions", "export"]),
        same: "sessions export",
        bare: "",
    },
    own("trust", "[yes]", "review and allow what this folder's files want to set", OwnCommand::Trust)
        .also_as("trust"),
    posse("doctor", "", "check model, sandbox, git and record", &["doctor"]),
    posse("config", "[show|path]", "the configuration in effect", &["config"]).alone("show"),
    own("theme", "[auto|dark|light|ansi|none]", "change the colours", OwnCommand::Theme),
    own("copy", "[N]", "put the last reply, or the Nth last, on the clipboard", OwnCommand::Copy),
    own("side", "QUESTION", "ask without tools and without disturbing the work", OwnCommand::Side)
        .also_as("fork"),
    own("reasoning", "", "show or hide what the model thinks (Alt+R)", OwnCommand::Reasoning),
    own("rename", "TITLE", "give this session a title", OwnCommand::Rename).also_as("sessions rename"),
    posse("sessions", "[list|search …]", "recorded sessions", &["sessions"]).alone("list"),
    posse("demo", "", "watch agents fix a small repository; needs no model", &["demo", "--play", "--fast"]),
    posse("version", "", "print the version", &["--version"]),
    own("detach", "", "leave the session at work in the background", OwnCommand::Detach),
    also("quit", "exit", "end the session and the chat", OwnCommand::Quit),
];

/// Finds a command by its name or its other name.
pub(crate) fn find(name: &str) -> Option<&'static SlashCommand> {
    COMMANDS.iter().find(|command| command.name == name || command.alias == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_helped() {
        let mut names: Vec<_> =
            COMMANDS.iter().map(|one| one.name).chain(COMMANDS.iter().filter_map(|one| one.alias)).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(COMMANDS.iter().all(|one| !one.help.is_empty() && one.help.len() <= 70), "help fits a line");
    }

    #[test]
    fn every_promised_command_is_there() {
        let wanted = "help tasks agents agent model effort mode permissions resume new clear fork rewind undo redo diff merge \
                      jobs skills memory stats cost context compact relay init export trust doctor config theme detach quit \
                      copy side mcp hooks";
        for name in wanted.split_whitespace() {
            assert!(find(name).is_some(), "/{name}");
        }
    }
}
