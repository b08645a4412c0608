//! What a hook reads on its standard input, or gets as a request.

use posse_protocol::Approval;
use serde_json::{Map, Value, json};

use crate::moment::HookMoment;

/// What every hook is told, whatever the moment.
#[derive(Clone, Debug, Default)]
pub struct HookContext {
    /// The session.
    pub session_id: String,
    /// The prompt that is worked on.
    pub prompt_id: String,
    /// A file with the conversation so far.
    pub transcript_path: String,
    /// The folder that is worked in.
    pub cwd: String,
    /// What runs without asking.
    pub approval: Option<Approval>,
    /// The reasoning effort, if one was chosen.
    pub effort: Option<String>,
    /// In a sub-agent: its id and its role.
    pub sub_agent: Option<(String, String)>,
}

/// An approval mode by the name that other programs have for it.
pub fn mode_word(approval: Approval) -> &'static str {
    match approval {
        Approval::Plan => "plan",
        Approval::Ask => "default",
        Approval::Edit => "acceptEdits",
        Approval::Auto => "auto",
        Approval::Full => "bypassPermissions",
    }
}

impl HookMoment<'_> {
    /// Everything that a hook is told of it.
    pub fn input(&self, context: &HookContext) -> Value {
        let mut input = Map::new();
        let mut put = |key: &str, value: Value| input.insert(key.to_owned(), value);
        put("session_id", context.session_id.clone().into());
        if !context.prompt_id.is_empty() {
            put("prompt_id", context.prompt_id.clone().into());
        }
        put("transcript_path", context.transcript_path.clone().into());
        put("cwd", context.cwd.clone().into());
        put("permission_mode", mode_word(context.approval.unwrap_or(Approval::Ask)).into());
        put("hook_event_name", self.event().name().into());
        if let Some(level) = &context.effort {
            put("effort", json!({"level": level}));
        }
        if let Some((id, role)) = &context.sub_agent {
            put("agent_id", id.clone().into());
            put("agent_type", role.clone().into());
        }
        input.extend(self.details());
        Value::Object(input)
    }
}
