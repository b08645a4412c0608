//! Calls of tools: announced when they begin or when a person is asked about them, and told again when they have a result.

use std::path::Path;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    ContentBlock, Diff, SessionUpdate, ToolCall, ToolCallContent, ToolCallId, ToolCallLocation,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use posse_engine::ChangedText;
use posse_protocol::clip::clipped;
use posse_protocol::visible::{self, one_line};
use posse_protocol::{AgentId, Attachment, CallId, CallKind, Event, EventKind, Seq};
use posse_view::OpenQuestion;
use serde_json::Value;

use super::messages::picture;
use super::{AgentTold, ClientNews, Translator, tell};
use crate::limits::{DIFF_FILES_MAX, OUTPUT_BYTES_MAX, RESULT_CHARS_MAX, TITLE_COLUMNS_MAX};

/// What the client was told of a call.
#[derive(Clone, Debug)]
pub(super) struct CallTold {
    pub(super) id: ToolCallId,
    kind: CallKind,
    /// What its command has written: the newest of it.
    output: String,
    diffs: Vec<Diff>,
    /// What it is to write, by its arguments: what happens in a checkout is not on record file by file.
    wished: Option<Diff>,
}

impl CallTold {
    /// An id is unique in the session: providers use the same ones again and again.
    fn new(seq: Seq, kind: CallKind) -> Self {
        let id = ToolCallId::new(format!("call-{}", seq.0));
        Self { id, kind, output: String::new(), diffs: Vec::new(), wished: None }
    }

    fn update(&self, session: &Arc<str>, fields: ToolCallUpdateFields) -> ClientNews {
        let update = ToolCallUpdate::new(self.id.clone(), fields);
        tell(session, SessionUpdate::ToolCallUpdate(update))
    }
}

impl Translator {
    /// What begins and ends.
    pub(super) fn call_news(&mut self, event: &Event) -> Vec<ClientNews> {
        match &event.kind {
            EventKind::ToolStarted { call, tool, title, kind, paths, .. } => {
                let told = self.told(event.agent);
                let started = StartedCall { seq: event.seq, call, tool, title, kind: *kind, paths };
                told.started(&started).into_iter().collect()
            }
            EventKind::ToolFinished { call, tool, ok, text, attachments, .. } => {
                let told = self.told(event.agent);
                let finished = FinishedCall { seq: event.seq, call, tool, ok: *ok, text, attachments };
                told.finished(&finished)
            }
            EventKind::Changed { changes, .. } => {
                vec![ClientNews::Changed { agent: event.agent, changes: changes.clone() }]
            }
            EventKind::PersonNeeded { question } => self.ask(OpenQuestion {
                seq: event.seq,
                agent: event.agent,
                asked_at_ms: event.at_ms,
                question: question.clone(),
            }),
            EventKind::PersonAnswered { call, .. } => self.answered(event.agent, call),
            EventKind::AgentRested { .. } | EventKind::AgentSettled { .. } => self.calls_over(event.agent),
            _ => Vec::new(),
        }
    }

    /// Announces what a question is about, then asks.
    pub(super) fn ask(&mut self, open: OpenQuestion) -> Vec<ClientNews> {
        let (root, name) = (self.session.clone(), self.name(open.agent));
        let told = self.told(open.agent);
        // An agent that is shown by one line asks in the main session, and by its name.
        let session = told.session.clone().unwrap_or(root);
        let question = &open.question;
        let mut news = Vec::new();
        let shown = told.calls.get(&question.call).filter(|_| told.session.is_some());
        let call = match shown {
            Some(shown) => shown.id.clone(),
            None => {
                let call = CallTold::new(open.seq, kind_of_question(&question.tool));
                let what = one_line(&question.what, TITLE_COLUMNS_MAX);
                let title = one_line(&format!("{name}: {} {what}", question.tool), TITLE_COLUMNS_MAX);
                let mut announced = ToolCall::new(call.id.clone(), title)
                    .name(question.tool.as_str())
                    .kind(kind(call.kind))
                    .status(ToolCallStatus::Pending);
                announced.raw_input = told.arguments.get(&question.call).and_then(|text| json(text));
                news.push(tell(&session, SessionUpdate::ToolCall(announced)));
                let id = call.id.clone();
                told.calls.insert(question.call.clone(), call);
                id
            }
        };
        news.push(ClientNews::Ask { session, call, open: Box::new(open) });
        news
    }

    /// The call that a sub-agent was asked about in the main session is shown nowhere else.
    fn answered(&mut self, agent: AgentId, call: &CallId) -> Vec<ClientNews> {
        let root = self.session.clone();
        let told = self.told(agent);
        if told.session.is_some() {
            return Vec::new();
        }
        let closed = told.calls.remove(call);
        let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Completed);
        closed.map(|closed| closed.update(&root, fields)).into_iter().collect()
    }

    /// An agent has ended what it did: a call that has no result gets none.
    fn calls_over(&mut self, agent: AgentId) -> Vec<ClientNews> {
        let root = self.session.clone();
        let told = self.told(agent);
        told.arguments.clear();
        let session = told.session.clone().unwrap_or(root);
        let open = std::mem::take(&mut told.calls).into_values();
        let failed = || ToolCallUpdateFields::new().status(ToolCallStatus::Failed);
        open.map(|call| call.update(&session, failed())).collect()
    }

    /// Adds the files that a call changed to what is shown of it.
    pub(crate) fn diffs(&mut self, agent: AgentId, texts: Vec<ChangedText>) -> Option<ClientNews> {
        let told = self.agents.get_mut(&agent)?;
        let session = told.session.clone()?;
        let folder = told.folder.clone();
        // The call that runs, or the last one: the two are recorded together.
        let edits =
            told.calls.values_mut().filter(|call| matches!(call.kind, CallKind::Edit | CallKind::Run));
        let call = edits.max_by_key(|call| call.id.0.clone()).or(told.last_call.as_mut())?;
        for text in texts.into_iter().take(DIFF_FILES_MAX) {
            let diff = Diff::new(folder.join(&text.path), text.after.unwrap_or_default());
            call.diffs.push(diff.old_text(text.before));
        }
        if call.diffs.is_empty() {
            return None;
        }
        let locations = call.diffs.iter().map(|diff| ToolCallLocation::new(diff.path.clone()));
        let fields = ToolCallUpdateFields::new()
            .content(call.diffs.iter().cloned().map(ToolCallContent::from).collect::<Vec<_>>())
            .locations(locations.collect::<Vec<_>>());
        Some(call.update(&session, fields))
    }
}

/// A call that begins.
struct StartedCall<'a> {
    seq: Seq,
    call: &'a CallId,
    tool: &'a str,
    title: &'a str,
    kind: CallKind,
    paths: &'a [String],
}

/// A call that has a result.
struct FinishedCall<'a> {
    seq: Seq,
    call: &'a CallId,
    tool: &'a str,
    ok: bool,
    text: &'a str,
    attachments: &'a [Attachment],
}

impl AgentTold {
    fn started(&mut self, started: &StartedCall<'_>) -> Option<ClientNews> {
        let arguments = self.arguments.remove(started.call).and_then(|text| json(&text));
        let session = self.session.clone()?;
        // A command speaks for itself; what other tools do is in their names.
        let title = match started.kind {
            CallKind::Run => started.title.strip_prefix(started.tool).map_or(started.title, str::trim_start),
            _ => started.title,
        };
        let title = one_line(title, TITLE_COLUMNS_MAX);
        let title = if title.is_empty() { started.tool.to_owned() } else { title };
        let locations = started.paths.iter().map(|path| ToolCallLocation::new(self.absolute(path)));
        let locations = locations.collect::<Vec<_>>();
        let wished = arguments.as_ref().and_then(|arguments| wished(&self.folder, arguments));
        if let Some(asked) = self.calls.get_mut(started.call) {
            (asked.kind, asked.wished) = (started.kind, wished);
            let fields = ToolCallUpdateFields::new()
                .title(title)
                .kind(kind(started.kind))
                .status(ToolCallStatus::InProgress)
                .locations((!locations.is_empty()).then_some(locations));
            return Some(asked.update(&session, fields));
        }
        let call = CallTold { wished, ..CallTold::new(started.seq, started.kind) };
        let mut announced = ToolCall::new(call.id.clone(), title)
            .name(started.tool)
            .kind(kind(started.kind))
            .status(ToolCallStatus::InProgress)
            .locations(locations);
        announced.raw_input = arguments;
        self.calls.insert(started.call.clone(), call);
        Some(tell(&session, SessionUpdate::ToolCall(announced)))
    }

    fn finished(&mut self, finished: &FinishedCall<'_>) -> Vec<ClientNews> {
        let arguments = self.arguments.remove(finished.call);
        let known = self.calls.remove(finished.call);
        let Some(session) = self.session.clone() else { return Vec::new() };
        let mut news = Vec::new();
        let call = known.unwrap_or_else(|| {
            // Refused before it began.
            let call = CallTold::new(finished.seq, CallKind::Other);
            let mut announced = ToolCall::new(call.id.clone(), finished.tool).name(finished.tool);
            announced.raw_input = arguments.and_then(|text| json(&text));
            news.push(tell(&session, SessionUpdate::ToolCall(announced)));
            call
        });
        let status = if finished.ok { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
        let fields = ToolCallUpdateFields::new().status(status).content(finished.content(&call));
        news.push(call.update(&session, fields));
        self.last_call = Some(call);
        news
    }

    /// More of what a running command has written. The client replaces what it had by it.
    pub(super) fn output(&mut self, call: &CallId, text: &str) -> Option<ClientNews> {
        let session = self.session.clone()?;
        let call = self.calls.get_mut(call)?;
        call.output.push_str(text);
        if let Some(over @ 1..) = call.output.len().checked_sub(OUTPUT_BYTES_MAX) {
            let cut = (over..call.output.len()).find(|at| call.output.is_char_boundary(*at));
            call.output.drain(..cut.unwrap_or(over));
        }
        let fields = ToolCallUpdateFields::new().content(vec![ToolCallContent::from(fenced(&call.output))]);
        Some(call.update(&session, fields))
    }
}

impl FinishedCall<'_> {
    /// What is shown of the result: what it changed, else its text.
    fn content(&self, call: &CallTold) -> Vec<ToolCallContent> {
        if self.ok && call.kind == CallKind::Edit && (!call.diffs.is_empty() || call.wished.is_some()) {
            let wished = call.wished.iter().filter(|_| call.diffs.is_empty());
            return call.diffs.iter().chain(wished).cloned().map(ToolCallContent::from).collect();
        }
        let text = clipped(self.text, RESULT_CHARS_MAX);
        let text = match call.kind {
            _ if text.trim().is_empty() => None,
            CallKind::Run | CallKind::Read | CallKind::Search | CallKind::Fetch => Some(fenced(&text)),
            _ => Some(visible::text(&text)),
        };
        let shown = self.attachments.iter().map(picture);
        let content = text.map(ContentBlock::from).into_iter().chain(shown).map(ToolCallContent::from);
        content.chain(call.diffs.iter().cloned().map(ToolCallContent::from)).collect()
    }
}

/// What a call of a file tool is to write.
fn wished(folder: &Path, arguments: &Value) -> Option<Diff> {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    let path = folder.join(text("path")?);
    match (text("content"), text("old_text"), text("new_text")) {
        (Some(content), ..) => Some(Diff::new(path, content)),
        (None, Some(old), Some(new)) => Some(Diff::new(path, new).old_text(old)),
        _ => None,
    }
}

/// A text that is shown as it is: editors read the rest as Markdown.
pub(crate) fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}\n{}\n{fence}", visible::text(text).trim_end())
}

/// How a kind of call is called in the protocol.
pub(super) fn kind(kind: CallKind) -> ToolKind {
    match kind {
        CallKind::Read => ToolKind::Read,
        CallKind::Edit => ToolKind::Edit,
        CallKind::Search => ToolKind::Search,
        CallKind::Run => ToolKind::Execute,
        CallKind::Fetch => ToolKind::Fetch,
        CallKind::Delegate | CallKind::Think => ToolKind::Think,
        CallKind::Ask | CallKind::Remember | CallKind::Other => ToolKind::Other,
    }
}

/// The kind of a call that has not begun, by its tool.
fn kind_of_question(tool: &str) -> CallKind {
    match tool {
        "shell" => CallKind::Run,
        "edit_file" | "write_file" => CallKind::Edit,
        "web_fetch" => CallKind::Fetch,
        _ => CallKind::Other,
    }
}

/// Arguments, if they are JSON.
fn json(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}
