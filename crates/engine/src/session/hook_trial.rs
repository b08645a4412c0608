//! Hooks tried out without a session: with a made-up moment, in the folder and with the rights that a session would have.

use std::path::PathBuf;

use posse_hooks::{Hook, HookContext, HookEvent, HookMoment, HookToolCall, own_input};
use posse_policy::{Rules, own_name};
use posse_protocol::Grant;
use posse_tools::ToolSettings;
use serde_json::{Value, json};

use crate::error::EngineError;
use crate::hooks::runner::{HookPlace, HookRun, HookRunner, HookSettings};
use crate::session::opening::ConfinedTools;

/// The hooks of a folder, and what they may do there.
pub struct HookTrial {
    /// The hooks.
    pub settings: HookSettings,
    /// The folder.
    pub workspace: PathBuf,
    /// What the main agent may do.
    pub grant: Grant,
    /// How commands run.
    pub tools: ToolSettings,
    /// What rules hide.
    pub rules: Rules,
}

/// A moment that was made up.
#[derive(Clone, Debug)]
pub struct MadeUpMoment {
    /// Its kind.
    pub event: HookEvent,
    /// The tool, of which any name will do; or what else a matcher looks at.
    pub subject: Option<String>,
    /// The arguments of a tool as hooks get them, or fields that go over what hooks are told.
    pub input: Option<Value>,
}

/// A hook that was tried.
pub struct TriedHook {
    /// The hook.
    pub hook: Hook,
    /// What it was told.
    pub input: Value,
    /// What came of it.
    pub run: HookRun,
}

impl HookTrial {
    fn runner(self) -> Result<(HookRunner, HookPlace), EngineError> {
        let confined = ConfinedTools::of(self.tools, &self.rules, &self.workspace)?;
        let runner = HookRunner::new(self.settings, confined.tools.sandbox);
        let place = HookPlace { workspace: confined.workspace, grant: self.grant, transcript: None };
        Ok((runner, place))
    }

    /// Each hook with whether it would run in the sandbox.
    pub fn confined(self) -> Result<Vec<(Hook, bool)>, EngineError> {
        let (runner, place) = self.runner()?;
        let folder = place.workspace.root();
        let hooks = runner.set().hooks.iter();
        Ok(hooks.map(|hook| (hook.clone(), runner.is_confined(hook, folder))).collect())
    }

    /// Runs what a moment concerns, one after the other.
    pub async fn run(self, made_up: &MadeUpMoment) -> Result<Vec<TriedHook>, EngineError> {
        let approval = self.grant.approval;
        let (runner, place) = self.runner()?;
        let folder = place.workspace.root().display().to_string();
        let subject = made_up.subject.clone().unwrap_or_else(|| usual(made_up.event).to_owned());
        let own = own_name(&subject).unwrap_or(&subject).to_owned();
        let given = made_up.input.clone();
        let arguments = own_input(&own, &given.clone().unwrap_or_else(|| sample(&own)), &folder);
        let starts_agent = matches!(subject.as_str(), "Agent" | "Task" | "agent");
        let call = HookToolCall {
            own_name: &own,
            starts_agent,
            arguments: &arguments,
            id: "call-1",
            folder: &folder,
        };
        let moment = moment(made_up.event, &subject, call);
        let context = HookContext {
            session_id: "00000000-0000-0000-0000-000000000000".to_owned(),
            prompt_id: "1".to_owned(),
            cwd: folder.clone(),
            approval: Some(approval),
            ..HookContext::default()
        };
        let mut input = moment.input(&context);
        if let (Some(Value::Object(fields)), false, Some(all)) =
            (given, made_up.event.is_about_tool(), input.as_object_mut())
        {
            all.extend(fields);
        }
        let mut tried = Vec::new();
        for hook in runner.set().matching(&moment, &subject, &[]) {
            let run = runner.run(hook, &input, &place).await;
            tried.push(TriedHook { hook: hook.clone(), input: input.clone(), run });
        }
        Ok(tried)
    }
}

/// What a matcher looks at where nothing is said.
fn usual(event: HookEvent) -> &'static str {
    match event {
        HookEvent::SessionStart => "startup",
        HookEvent::SessionEnd => "other",
        HookEvent::PreCompact | HookEvent::PostCompact => "manual",
        HookEvent::Notification => "permission_prompt",
        HookEvent::SubagentStart | HookEvent::SubagentStop => "general",
        _ => "shell",
    }
}

fn sample(tool: &str) -> Value {
    match tool {
        "write_file" => json!({"path": "example.txt", "content": "example\n"}),
        "edit_file" => json!({"path": "example.txt", "old_text": "a", "new_text": "b"}),
        "read_file" => json!({"path": "example.txt"}),
        "web_fetch" => json!({"url": "https://example.com"}),
        "shell" => json!({"command": "echo example"}),
        _ => json!({}),
    }
}

fn moment<'a>(event: HookEvent, subject: &'a str, call: HookToolCall<'a>) -> HookMoment<'a> {
    let (text, role, agent) = ("An example.", subject, "agent-1");
    match event {
        HookEvent::PreToolUse => HookMoment::PreToolUse { call },
        HookEvent::PermissionRequest => HookMoment::PermissionRequest { call },
        HookEvent::PostToolUse => HookMoment::PostToolUse { call, result: text, duration_ms: 1 },
        HookEvent::PostToolUseFailure => {
            HookMoment::PostToolUseFailure { call, error: text, is_interrupt: false, duration_ms: 1 }
        }
        HookEvent::UserPromptSubmit => HookMoment::UserPromptSubmit { prompt: text },
        HookEvent::Stop => HookMoment::Stop { is_kept: false, last_words: text, in_background: &[] },
        HookEvent::SubagentStop => {
            HookMoment::SubagentStop { is_kept: false, last_words: text, agent, role, transcript: "" }
        }
        HookEvent::SubagentStart => HookMoment::SubagentStart { agent, role },
        HookEvent::SessionStart => HookMoment::SessionStart { source: subject, model: "example" },
        HookEvent::SessionEnd => HookMoment::SessionEnd { reason: subject },
        HookEvent::PreCompact => HookMoment::PreCompact { trigger: subject },
        HookEvent::PostCompact => HookMoment::PostCompact { trigger: subject, summary: text },
        HookEvent::Notification => HookMoment::Notification { kind: subject, message: text },
    }
}
