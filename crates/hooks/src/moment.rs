//! One moment of a session as hooks hear of it: what it is about, by which names it is matched, and what is told.

use posse_policy::Act;
use posse_protocol::clip::first_chars;
use serde_json::{Map, Value, json};

use crate::event::HookEvent;
use crate::limits::RESULT_CHARS_MAX;
use crate::tool_input::{AGENT, foreign_input, foreign_name};

/// A call of a tool.
#[derive(Clone, Debug)]
pub struct HookToolCall<'a> {
    /// What Posse calls the tool.
    pub own_name: &'a str,
    /// Whether it starts an agent, by whatever tool.
    pub starts_agent: bool,
    /// Its arguments under Posse's names; of the start of an agent those that other programs use.
    pub arguments: &'a Value,
    /// The call's id.
    pub id: &'a str,
    /// The folder that paths are relative to.
    pub folder: &'a str,
}

impl HookToolCall<'_> {
    /// What other programs call it.
    pub fn foreign_name(&self) -> String {
        if self.starts_agent { AGENT.to_owned() } else { foreign_name(self.own_name) }
    }

    /// Its arguments as other programs have them.
    pub fn foreign_input(&self) -> Value {
        match self.starts_agent {
            true => self.arguments.clone(),
            false => foreign_input(self.own_name, self.arguments, self.folder),
        }
    }

    /// What rules look at: the command, path or address, and what kind of thing it is.
    pub(crate) fn wish(&self) -> (String, Act) {
        let text = |key: &str| self.arguments.get(key).and_then(Value::as_str).map(str::to_owned);
        if let Some(command) = text("command") {
            return (command, Act::Command(posse_protocol::Shell::Full));
        }
        match text("path") {
            Some(path) => {
                let inside = path.strip_prefix(self.folder).map(|rest| rest.trim_start_matches('/'));
                (inside.unwrap_or(&path).to_owned(), Act::Edit)
            }
            None => (text("url").unwrap_or_default(), Act::Network),
        }
    }
}

/// What happens now.
#[derive(Clone, Debug)]
#[allow(missing_docs)] // the fields are named as in the contract
pub enum HookMoment<'a> {
    /// A call is about to be judged.
    PreToolUse { call: HookToolCall<'a> },
    /// A person would be asked about a call.
    PermissionRequest { call: HookToolCall<'a> },
    /// A call has succeeded.
    PostToolUse { call: HookToolCall<'a>, result: &'a str, duration_ms: u64 },
    /// A call has failed.
    PostToolUseFailure { call: HookToolCall<'a>, error: &'a str, is_interrupt: bool, duration_ms: u64 },
    /// The person has sent a prompt.
    UserPromptSubmit { prompt: &'a str },
    /// The main agent wants to end its turn.
    Stop { is_kept: bool, last_words: &'a str, in_background: &'a [String] },
    /// A sub-agent wants to end.
    SubagentStop { is_kept: bool, last_words: &'a str, agent: &'a str, role: &'a str, transcript: &'a str },
    /// A sub-agent begins.
    SubagentStart { agent: &'a str, role: &'a str },
    /// A session begins: `startup`, `resume` or `fork`.
    SessionStart { source: &'a str, model: &'a str },
    /// A session ends, for this reason.
    SessionEnd { reason: &'a str },
    /// A conversation is about to be shortened: `manual` or `auto`.
    PreCompact { trigger: &'a str },
    /// A conversation was shortened.
    PostCompact { trigger: &'a str, summary: &'a str },
    /// The person is told something: `permission_prompt`, `idle_prompt`, `agent_completed`, …
    Notification { kind: &'a str, message: &'a str },
}

impl<'a> HookMoment<'a> {
    /// Its kind.
    pub fn event(&self) -> HookEvent {
        match self {
            Self::PreToolUse { .. } => HookEvent::PreToolUse,
            Self::PermissionRequest { .. } => HookEvent::PermissionRequest,
            Self::PostToolUse { .. } => HookEvent::PostToolUse,
            Self::PostToolUseFailure { .. } => HookEvent::PostToolUseFailure,
            Self::UserPromptSubmit { .. } => HookEvent::UserPromptSubmit,
            Self::Stop { .. } => HookEvent::Stop,
            Self::SubagentStop { .. } => HookEvent::SubagentStop,
            Self::SubagentStart { .. } => HookEvent::SubagentStart,
            Self::SessionStart { .. } => HookEvent::SessionStart,
            Self::SessionEnd { .. } => HookEvent::SessionEnd,
            Self::PreCompact { .. } => HookEvent::PreCompact,
            Self::PostCompact { .. } => HookEvent::PostCompact,
            Self::Notification { .. } => HookEvent::Notification,
        }
    }

    /// The call that it is about.
    pub fn call(&self) -> Option<&HookToolCall<'a>> {
        match self {
            Self::PreToolUse { call }
            | Self::PermissionRequest { call }
            | Self::PostToolUse { call, .. }
            | Self::PostToolUseFailure { call, .. } => Some(call),
            _ => None,
        }
    }

    /// The names that a matcher may have for it: of a tool both ours and that of other programs.
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Self::SubagentStop { role, .. } | Self::SubagentStart { role, .. } => vec![role],
            Self::SessionStart { source, .. } => vec![source],
            Self::SessionEnd { reason } => vec![reason],
            Self::PreCompact { trigger } | Self::PostCompact { trigger, .. } => vec![trigger],
            Self::Notification { kind, .. } => vec![kind],
            Self::UserPromptSubmit { .. } | Self::Stop { .. } => vec![""],
            _ => match self.call() {
                Some(call) if call.starts_agent => vec![AGENT, "Task", call.own_name],
                Some(call) => match crate::tool_input::foreign(call.own_name) {
                    Some(foreign) => vec![foreign, call.own_name],
                    None => vec![call.own_name],
                },
                None => Vec::new(),
            },
        }
    }

    /// What hooks are told besides what they are always told.
    pub(crate) fn details(&self) -> Map<String, Value> {
        let mut details = Map::new();
        if let Some(call) = self.call() {
            details.insert("tool_name".to_owned(), call.foreign_name().into());
            details.insert("tool_input".to_owned(), call.foreign_input());
            if !matches!(self, Self::PermissionRequest { .. }) {
                details.insert("tool_use_id".to_owned(), call.id.into());
            }
        }
        let more = match self {
            Self::PreToolUse { .. } => json!({}),
            Self::PermissionRequest { .. } => json!({"permission_suggestions": []}),
            Self::PostToolUse { call, result, duration_ms } => {
                json!({"tool_response": response(call, result), "duration_ms": duration_ms})
            }
            Self::PostToolUseFailure { error, is_interrupt, duration_ms, .. } => {
                let error = first_chars(error, RESULT_CHARS_MAX).0;
                json!({"error": error, "is_interrupt": is_interrupt, "duration_ms": duration_ms})
            }
            Self::UserPromptSubmit { prompt } => json!({"prompt": prompt}),
            Self::Stop { is_kept, last_words, in_background } => json!({
                "stop_hook_active": is_kept,
                "last_assistant_message": last_words,
                "background_tasks": in_background,
                "session_crons": [],
            }),
            Self::SubagentStop { is_kept, last_words, agent, role, transcript } => json!({
                "stop_hook_active": is_kept,
                "last_assistant_message": last_words,
                "background_tasks": [],
                "session_crons": [],
                "agent_id": agent,
                "agent_type": role,
                "agent_transcript_path": transcript,
            }),
            Self::SubagentStart { agent, role } => json!({"agent_id": agent, "agent_type": role}),
            Self::SessionStart { source, model } => json!({"source": source, "model": model}),
            Self::SessionEnd { reason } => json!({"reason": reason}),
            Self::PreCompact { trigger } => json!({"trigger": trigger, "custom_instructions": ""}),
            Self::PostCompact { trigger, summary } => json!({"trigger": trigger, "compact_summary": summary}),
            Self::Notification { kind, message } => json!({"message": message, "notification_type": kind}),
        };
        if let Value::Object(more) = more {
            details.extend(more);
        }
        details
    }
}

/// The result of a call in the shape that hooks of other programs look for.
fn response(call: &HookToolCall<'_>, result: &str) -> Value {
    let result = first_chars(result, RESULT_CHARS_MAX).0;
    let input = call.foreign_input();
    match call.foreign_name().as_str() {
        "Bash" => json!({"stdout": result, "stderr": "", "interrupted": false, "isImage": false}),
        "Write" | "Edit" => {
            json!({"filePath": input.get("file_path"), "success": true, "message": result})
        }
        _ => json!({"content": result, "success": true}),
    }
}
