//! Tools from outside: those of MCP servers, one set for all agents of a session. Whoever runs the servers implements this.

use std::{fmt, future::Future, pin::Pin, sync::Arc};

use posse_protocol::{AgentId, Attachment, ToolOutcome, TraceParent};
use posse_workspace::Workspace;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Sandbox, failure::ToolFailure};

/// What is promised for later.
pub type OutsideFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The tools of all servers of a session.
pub trait OutsideTools: fmt::Debug + Send + Sync {
    /// Says where the session works. Servers are started from now on, in the background or when they are first used.
    fn begin(&self, place: OutsidePlace);

    /// How agents of this session are offered the tools. The same from its first request to its last.
    fn offer(&self) -> &OutsideOffer;

    /// What is known of a tool by now. Nothing is started for it.
    fn tool(&self, name: &str) -> Option<OutsideTool>;

    /// Finds tools and resources by words, of those that `may` lets through; says it in words. Waits for servers that are starting,
    /// but not for long.
    fn find<'a>(
        &'a self,
        words: &'a str,
        may: &'a (dyn Fn(&str) -> bool + Send + Sync),
    ) -> OutsideFuture<'a, String>;

    /// Calls a tool, once its arguments have been checked against its schema.
    fn call(&self, call: OutsideCall) -> OutsideFuture<'_, OutsideResult>;

    /// Reads a resource, or the rest of a result, by its handle, from so many characters on.
    fn read(&self, handle: OutsideHandle) -> OutsideFuture<'_, OutsideResult>;

    /// The text of a server's prompt.
    fn prompt<'a>(
        &'a self,
        name: &'a str,
        arguments: Vec<(String, String)>,
    ) -> OutsideFuture<'a, Result<String, String>>;

    /// How the servers are.
    fn servers(&self) -> Vec<OutsideServer>;

    /// Ends all servers, and waits for their end.
    fn end(&self) -> OutsideFuture<'_, ()>;
}

/// Where a session works, and how what is run there is confined.
#[derive(Clone, Debug)]
pub struct OutsidePlace {
    /// Its folder.
    pub workspace: Workspace,
    /// How commands are confined.
    pub sandbox: Sandbox,
}

/// How tools are offered.
#[derive(Clone, Debug, PartialEq)]
pub enum OutsideOffer {
    /// Each by itself: they are few, and known from an earlier session.
    Each(Vec<OutsideTool>),
    /// They are looked for. One line for each server.
    Looked(Vec<String>),
}

/// One tool.
#[derive(Clone, Debug, PartialEq)]
pub struct OutsideTool {
    /// The name that agents call: `mcp__server__tool`.
    pub name: String,
    /// What it is for, in the server's words.
    pub description: String,
    /// What it takes.
    pub schema: Arc<Value>,
    /// Whether the server says that it changes nothing. Nobody has to believe that.
    pub says_read_only: bool,
    /// Whether the server says that it destroys something.
    pub says_destructive: bool,
}

/// A call.
pub struct OutsideCall {
    /// The tool.
    pub name: String,
    /// What it is given.
    pub arguments: Value,
    /// Who calls.
    pub agent: AgentId,
    /// Whether it was judged without anything known of the tool: then one that destroys something is not called.
    pub judged_unknown: bool,
    /// Where questions of the server go.
    pub questions: Option<OutsideQuestions>,
    /// The span of the call, where the session is traced.
    pub traceparent: Option<TraceParent>,
}

/// A wish to read.
pub struct OutsideHandle {
    /// The handle.
    pub handle: String,
    /// The first character.
    pub offset: usize,
    /// Who reads.
    pub agent: AgentId,
    /// Where questions of the server go.
    pub questions: Option<OutsideQuestions>,
    /// The span of the call, where the session is traced.
    pub traceparent: Option<TraceParent>,
}

/// What a call came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutsideResult {
    /// Whether it went well.
    pub ok: bool,
    /// What an agent is told.
    pub text: String,
    /// Images.
    pub attachments: Vec<Attachment>,
}

impl From<OutsideResult> for ToolOutcome {
    fn from(OutsideResult { ok, text, attachments }: OutsideResult) -> Self {
        Self { ok, attachments, ..Self::ok(text) }
    }
}

/// What an agent is told where there are none.
pub(crate) fn no_servers() -> ToolFailure {
    ToolFailure("this session has no servers".to_owned())
}

/// Where a server's questions go while a call runs.
pub type OutsideQuestions = tokio::sync::mpsc::Sender<OutsideQuestion>;

/// What a server asks the person.
#[derive(Debug)]
pub struct OutsideQuestion {
    /// The server.
    pub server: String,
    /// What is asked, in the server's words.
    pub text: String,
    /// Proposed answers.
    pub choices: Vec<String>,
    /// Where the answer goes; none if nobody answers.
    pub answer: tokio::sync::oneshot::Sender<OutsideAnswer>,
}

/// What the person says to a server's question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutsideAnswer {
    /// This.
    Said(String),
    /// They do not want to say it.
    Declined,
    /// There was nobody to ask.
    Nobody,
}

/// How a server is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutsideServer {
    /// Its name.
    pub name: String,
    /// Its command line or address, without secrets.
    pub shown: String,
    /// What it does.
    pub state: OutsideState,
    /// Why it is not well, or the name and version that it says of itself.
    pub detail: String,
    /// Its tools, as far as they are known.
    pub tools: Vec<OutsideLine>,
    /// Its prompts.
    pub prompts: Vec<OutsidePrompt>,
    /// How many resources it has.
    pub resources: usize,
}

/// What a server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutsideState {
    /// It was not needed yet.
    Waiting,
    /// It is being started.
    Starting,
    /// It runs.
    Running,
    /// It failed, and is started again when it is next needed.
    Failed,
}

/// A tool in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutsideLine {
    /// The name that agents call.
    pub name: String,
    /// The beginning of its description.
    pub description: String,
}

/// A prompt that a server offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OutsidePrompt {
    /// The name that a person types: `mcp__server__prompt`.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The names of its arguments, and whether each is needed.
    pub arguments: Vec<(String, bool)>,
}
