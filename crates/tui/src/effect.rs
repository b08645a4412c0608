//! What the chat wants done outside itself, and what comes of it. Plain data: the edge carries it out.

use posse_engine::outside::OutsideServer;
use posse_engine::record::SessionRow;
use posse_engine::{ChangePreview, ChangeRequest, ContextUse, NextTurnSettings};
use posse_protocol::{AgentId, Answer, Approval, CallId, Event, MailId, Seq, SessionId};
use posse_setup::ModelSummary;

use posse_setup::UserCommand;
use posse_terminal::PathIndex;

/// What a person says: text, and files that go with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptWords {
    /// The text.
    pub text: String,
    /// Paths of images and documents to show with it.
    pub files: Vec<String>,
}

/// What a session is begun with that the chat can choose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatWishes {
    /// A model by name.
    pub model: Option<String>,
    /// The reasoning effort.
    pub effort: Option<String>,
    /// What runs without asking.
    pub approval: Option<Approval>,
}

/// How a session begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BeginFrom {
    /// With nothing.
    Nothing,
    /// A recorded one continues.
    Session(SessionId),
    /// With the first turns of another.
    Fork {
        /// The other.
        session: SessionId,
        /// How many of its turns; none for all.
        turn: Option<u32>,
        /// Whether the files go back to where they were then, too.
        files: bool,
    },
}

/// Begins a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BeginSession {
    /// From what.
    pub from: BeginFrom,
    /// The first prompt.
    pub words: PromptWords,
    /// What the person chose.
    pub wishes: ChatWishes,
}

/// A command to the session that is open.
#[derive(Clone, Debug, PartialEq)]
pub enum SteerCommand {
    /// The next prompt: at once if it rests, else when it has answered.
    Prompt(PromptWords),
    /// Words for an agent at its next turn; the main agent where none is named.
    Tell {
        /// Its name.
        agent: Option<String>,
        /// What to say.
        text: String,
    },
    /// Another text for a message that waits.
    Edit {
        /// Which.
        mail: MailId,
        /// Its text.
        text: String,
    },
    /// Takes back a message that waits.
    Withdraw(MailId),
    /// Answers a question.
    Answer {
        /// Who asks.
        agent: AgentId,
        /// About which call.
        call: CallId,
        /// The answer.
        answer: Answer,
    },
    /// Stops the turn.
    StopTurn,
    /// Stops an agent and all below it.
    StopAgent(String),
    /// Shortens the conversation.
    Compact,
    /// Changes settings from the next turn on.
    Settings(NextTurnSettings),
    /// Moves a command to the background.
    ToBackground {
        /// Whose.
        agent: AgentId,
        /// Which call.
        call: CallId,
    },
    /// Gives the session a title.
    Rename(String),
}

/// A question about the record or the folder.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatQuery {
    /// What one event changed, to be printed at its place.
    EventDiff(Seq),
    /// Sessions of this folder, or of all folders, that fit a text.
    Sessions {
        /// In their titles or prompts.
        text: String,
        /// Of all folders.
        all: bool,
    },
    /// The events of one agent, or of the whole session.
    Events {
        /// Of which session.
        session: SessionId,
        /// Of which agent; none for all.
        agent: Option<AgentId>,
    },
    /// What an agent and those below it changed; the whole session where none is named.
    Diff(Option<String>),
    /// What a change of files would do.
    Preview(ChangeRequest),
    /// What fills the main agent's window.
    Context,
    /// The configured models.
    Models,
    /// The files of the folder, for completion.
    Files,
    /// The servers of the open session.
    Servers {
        /// Whether somebody asked; else it is for completion.
        show: bool,
    },
}

/// What was found.
#[derive(Debug)]
pub enum ChatFound {
    /// Of [`ChatQuery::EventDiff`].
    EventDiff(Seq, String),
    /// Of [`ChatQuery::Sessions`].
    Sessions(Vec<SessionRow>),
    /// Of [`ChatQuery::Events`].
    Events(SessionId, Option<AgentId>, Vec<Event>),
    /// Of [`ChatQuery::Diff`].
    Diff(Option<String>, String),
    /// Of [`ChatQuery::Preview`].
    Preview(ChangeRequest, Box<ChangePreview>),
    /// Of [`ChatQuery::Context`].
    Context(Box<ContextUse>),
    /// Of [`ChatQuery::Models`].
    Models(Vec<ModelSummary>),
    /// Of [`ChatQuery::Files`].
    Files(Box<PathIndex>),
    /// Of [`ChatQuery::Servers`].
    Servers {
        /// The servers.
        servers: Vec<OutsideServer>,
        /// Whether somebody asked.
        show: bool,
    },
}

/// A program that gets the terminal for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnTerminal {
    /// The person's editor, with this text.
    Editor(String),
    /// A command of the person, with all their rights.
    Command(String),
    /// The shell that the chat was started from: the chat is suspended.
    Suspend,
}

/// How the chat ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// The session is closed.
    Close,
    /// The session stays at work without the chat.
    Detach,
}

/// What the chat wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum ChatEffect {
    /// Begin a session and follow it.
    Begin(BeginSession),
    /// Show a recorded session, and follow it if it runs.
    Open(SessionId),
    /// Command the open session.
    Steer(SteerCommand),
    /// Let go of the open session: it is closed if it only rests for this chat.
    LetGo,
    /// Ask.
    Query(ChatQuery),
    /// Change files: undo, redo, merge, rewind.
    Change(ChangeRequest),
    /// Delete a recorded session.
    Delete(SessionId),
    /// Give a recorded session a title.
    Rename(SessionId, String),
    /// Run `posse` with these arguments and print what it says.
    Posse(Vec<String>),
    /// Expand a command of the person or the project, and give it to the session as a prompt.
    UserCommand {
        /// Which.
        command: Box<UserCommand>,
        /// What was typed behind it.
        arguments: String,
    },
    /// Ask a server for the text of a prompt, and give it to the session as a prompt.
    ServerPrompt {
        /// Its name.
        name: String,
        /// Its arguments, in their order.
        arguments: Vec<String>,
    },
    /// Ask a side question on a fork without tools.
    Side(String),
    /// Run a command in the sandbox and print what it says.
    Sandboxed(String),
    /// Stop the command that runs in the sandbox.
    StopCommand,
    /// Give the terminal away.
    OnTerminal(OnTerminal),
    /// Put a text on the clipboard.
    Copy(String),
    /// Fetch an image from the clipboard.
    PasteImage,
    /// Keep a prompt in the history of the folder.
    Remember(String),
    /// Save a rule that allows something.
    SaveRule(String),
    /// Allow what the folder's files want to set.
    Trust,
    /// Tell the person who looks elsewhere.
    Notify(String),
    /// Run the person's status line command with this input.
    StatusLine(String),
    /// Draw everything anew.
    Redraw,
    /// End the chat.
    Leave(Leaving),
}

/// What came of an effect.
#[derive(Debug)]
pub enum ChatOutcome {
    /// A session was begun; what setup has to say.
    Begun {
        /// The session.
        session: SessionId,
        /// To be shown.
        notes: Vec<String>,
    },
    /// It could not be begun.
    NotBegun {
        /// What the person had said.
        words: PromptWords,
        /// Why, in the words of setup.
        why: String,
    },
    /// Something could not be done.
    Failed(String),
    /// Something to know.
    Note(String),
    /// What a program said.
    Said {
        /// The command line, as the person would type it.
        command: String,
        /// Its output.
        text: String,
        /// Whether it failed.
        failed: bool,
        /// Whether the model is told with the next prompt.
        for_model: bool,
    },
    /// A command of the person or the project, expanded.
    Expanded(String),
    /// What the command that the person typed has written since.
    Output(String),
    /// The answer to a side question.
    Side {
        /// What was asked.
        question: String,
        /// What was answered.
        answer: String,
    },
    /// The text that came back from the editor.
    Edited(String),
    /// An image was saved here.
    Image(String),
    /// An answer to a query.
    Found(ChatFound),
    /// What the status line command said.
    StatusLine(String),
    /// All that is on record of the session was shown: what comes now happens now.
    CaughtUp,
    /// The session runs, and is followed.
    Followed,
    /// The session ended, or its process is gone.
    SessionOver {
        /// Why, if not by itself.
        lost: Option<String>,
    },
}
