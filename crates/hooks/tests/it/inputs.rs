//! What hooks of every event are told.

use std::sync::LazyLock;

use posse_hooks::{
    HookContext, HookEvent, HookMoment, HookToolCall, foreign_input, foreign_name, mode_word, own_input,
};
use posse_protocol::Approval;
use serde_json::{Value, json};

fn context() -> HookContext {
    HookContext {
        session_id: "s".to_owned(),
        prompt_id: "p".to_owned(),
        transcript_path: "/t.jsonl".to_owned(),
        cwd: "/w".to_owned(),
        approval: Some(Approval::Edit),
        effort: None,
        sub_agent: None,
    }
}

/// The arguments of the call that events are about.
static ARGUMENTS: LazyLock<Value> = LazyLock::new(|| json!({"command": "ls"}));

/// A moment, and what is told of it besides what is always told.
type Told = (HookMoment<'static>, Value);

/// The moments of a call.
fn of_calls() -> Vec<Told> {
    let call = HookToolCall {
        own_name: "shell",
        starts_agent: false,
        arguments: &ARGUMENTS,
        id: "c1",
        folder: "/w",
    };
    let tool = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c1"});
    let with = |more: Value| {
        let mut all = tool.as_object().unwrap().clone();
        all.extend(more.as_object().unwrap().clone());
        Value::Object(all)
    };
    let response = json!({"stdout": "a", "stderr": "", "interrupted": false, "isImage": false});
    let asked = json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "permission_suggestions": []});
    vec![
        (HookMoment::PreToolUse { call: call.clone() }, tool.clone()),
        (HookMoment::PermissionRequest { call: call.clone() }, asked),
        (
            HookMoment::PostToolUse { call: call.clone(), result: "a", duration_ms: 3 },
            with(json!({"tool_response": response, "duration_ms": 3})),
        ),
        (
            HookMoment::PostToolUseFailure { call, error: "bad", is_interrupt: false, duration_ms: 3 },
            with(json!({"error": "bad", "is_interrupt": false, "duration_ms": 3})),
        ),
    ]
}

/// All others.
fn of_turns() -> Vec<Told> {
    let (is_kept, last_words, agent, role) = (true, "done", "a1", "explore");
    let ends = json!({
        "stop_hook_active": true, "last_assistant_message": "done", "background_tasks": [], "session_crons": [],
    });
    let mut sub_agent = ends.clone();
    let more = json!({"agent_id": "a1", "agent_type": "explore", "agent_transcript_path": "/a.jsonl"});
    sub_agent.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let message = "m";
    vec![
        (HookMoment::UserPromptSubmit { prompt: "hi" }, json!({"prompt": "hi"})),
        (HookMoment::Stop { is_kept, last_words, in_background: &[] }, ends),
        (HookMoment::SubagentStop { is_kept, last_words, agent, role, transcript: "/a.jsonl" }, sub_agent),
        (HookMoment::SubagentStart { agent, role }, json!({"agent_id": "a1", "agent_type": "explore"})),
        (
            HookMoment::SessionStart { source: "startup", model: "m" },
            json!({"source": "startup", "model": "m"}),
        ),
        (HookMoment::SessionEnd { reason: "other" }, json!({"reason": "other"})),
        (HookMoment::PreCompact { trigger: "auto" }, json!({"trigger": "auto", "custom_instructions": ""})),
        (
            HookMoment::PostCompact { trigger: "manual", summary: "s" },
            json!({"trigger": "manual", "compact_summary": "s"}),
        ),
        (
            HookMoment::Notification { kind: "idle_prompt", message },
            json!({"message": "m", "notification_type": "idle_prompt"}),
        ),
    ]
}

#[test]
fn every_event_tells_what_the_contract_says() {
    let cases = of_calls().into_iter().chain(of_turns()).collect::<Vec<_>>();
    let events = cases.iter().map(|(moment, _)| moment.event()).collect::<Vec<_>>();
    assert_eq!(events, HookEvent::ALL);
    for (moment, expected) in cases {
        let mut all = json!({
            "session_id": "s", "prompt_id": "p", "transcript_path": "/t.jsonl", "cwd": "/w",
            "permission_mode": "acceptEdits", "hook_event_name": moment.event().name(),
        });
        all.as_object_mut().unwrap().extend(expected.as_object().unwrap().clone());
        assert_eq!(moment.input(&context()), all, "{}", moment.event());
    }
}

#[test]
fn a_sub_agent_is_named_and_the_effort_told() {
    let context = HookContext {
        effort: Some("high".to_owned()),
        sub_agent: Some(("a1".to_owned(), "explore".to_owned())),
        ..context()
    };
    let input = HookMoment::UserPromptSubmit { prompt: "x" }.input(&context);
    assert_eq!((&input["agent_id"], &input["agent_type"]), (&json!("a1"), &json!("explore")));
    assert_eq!(input["effort"], json!({"level": "high"}));
}

#[test]
fn modes_have_the_names_of_others() {
    let modes = [Approval::Plan, Approval::Ask, Approval::Edit, Approval::Auto, Approval::Full];
    assert_eq!(modes.map(mode_word), ["plan", "default", "acceptEdits", "auto", "bypassPermissions"]);
}

#[test]
fn arguments_are_translated_both_ways() {
    let cases = [
        (
            "shell",
            "Bash",
            json!({"command": "ls", "timeout_ms": 5, "background": true}),
            json!({"command": "ls", "timeout": 5, "run_in_background": true}),
        ),
        (
            "write_file",
            "Write",
            json!({"path": "a/b", "content": "x"}),
            json!({"file_path": "/w/a/b", "content": "x"}),
        ),
        (
            "edit_file",
            "Edit",
            json!({"path": "a", "old_text": "o", "new_text": "n", "replace_all": true}),
            json!({"file_path": "/w/a", "old_string": "o", "new_string": "n", "replace_all": true}),
        ),
        (
            "read_file",
            "Read",
            json!({"path": "a", "start_line": 3, "limit": 2}),
            json!({"file_path": "/w/a", "offset": 3, "limit": 2}),
        ),
        (
            "glob",
            "Glob",
            json!({"pattern": "*.rs", "path": "src"}),
            json!({"pattern": "*.rs", "path": "/w/src"}),
        ),
        ("grep", "Grep", json!({"pattern": "x", "ignore_case": true}), json!({"pattern": "x", "-i": true})),
        ("web_fetch", "WebFetch", json!({"url": "https://a.example"}), json!({"url": "https://a.example"})),
        ("mcp__s__t", "mcp__s__t", json!({"path": "a"}), json!({"path": "a"})),
    ];
    for (own, foreign, ours, theirs) in cases {
        assert_eq!(foreign_name(own), foreign);
        assert_eq!(foreign_input(own, &ours, "/w"), theirs, "{own}");
        assert_eq!(own_input(own, &theirs, "/w"), ours, "{own}");
    }
    assert_eq!(
        foreign_input("write_file", &json!({"path": "/else/x"}), "/w"),
        json!({"file_path": "/else/x"})
    );
}
