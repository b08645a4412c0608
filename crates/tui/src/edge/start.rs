//! What a chat is opened with, and what its parts at the edge share.

use std::ffi::OsString;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use posse_api::Handle;
use posse_protocol::SessionId;
use posse_setup::Paths;

use crate::effect::{BeginSession, ChatOutcome, ChatWishes};

/// What is opened first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ChatOpening {
    /// Nothing: the first prompt begins a session.
    #[default]
    Empty,
    /// A session with this prompt.
    Prompt(String),
    /// A recorded or running session.
    Session(SessionId),
}

/// A session that was begun.
pub struct HostedSession {
    /// Its id.
    pub session: SessionId,
    /// How it is commanded.
    pub handle: Handle,
    /// What the person should know.
    pub notes: Vec<String>,
}

/// Begins sessions in this process; without one, they run in a background process.
pub trait SessionHost: Send + Sync + 'static {
    /// Begins a session; why it cannot is told in words.
    fn begin(
        &self,
        begin: BeginSession,
    ) -> Pin<Box<dyn Future<Output = Result<HostedSession, String>> + Send>>;
}

/// What a chat is opened with.
pub struct ChatStart {
    /// Where the person's files are.
    pub paths: Arc<Paths>,
    /// The folder to work in.
    pub folder: PathBuf,
    /// Flags for every process that the chat starts, such as where the data is.
    pub own_flags: Vec<OsString>,
    /// Flags for the sessions that it starts.
    pub session_flags: Vec<OsString>,
    /// What sessions are begun with.
    pub wishes: ChatWishes,
    /// What is opened first.
    pub opening: ChatOpening,
    /// Who begins sessions, if not a background process.
    pub host: Option<Arc<dyn SessionHost>>,
    /// What is said above the first prompt.
    pub greeting: Vec<String>,
    /// Whether colours are wanted at all.
    pub colours: bool,
    /// Whether only lines of text are written: for screen readers and simple terminals.
    pub plain: bool,
    /// The version of the program.
    pub version: String,
}

/// How a chat ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChatEnd {
    /// The session is closed.
    Closed(Option<SessionId>),
    /// The session goes on without the chat.
    Detached(Option<SessionId>),
}

/// Now: milliseconds since 1970, UTC.
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The outcome of something that failed.
pub(super) fn failed(why: impl std::fmt::Display) -> ChatOutcome {
    ChatOutcome::Failed(why.to_string())
}
