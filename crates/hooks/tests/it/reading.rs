//! Settings files, good and bad.

use posse_hooks::{
    Hook, HookAction, HookEvent, HookOrigin, HookOwner, HookScope, OnTimeout, limits, read_front_matter,
    read_settings,
};
use serde_json::json;

fn origin(scope: HookScope) -> HookOrigin {
    HookOrigin { file: "f".to_owned(), owner: HookOwner::Person, scope }
}

fn read(text: &str) -> (Vec<Hook>, Vec<String>, bool) {
    let (hooks, warnings, disabled) = read_settings(text, &origin(HookScope::Session), &|name| {
        (name == "TOKEN").then(|| "secret".to_owned())
    });
    (hooks, warnings.iter().map(ToString::to_string).collect(), disabled)
}

#[test]
fn every_field_is_read() {
    let text = json!({"model": "x", "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [
            {"type": "command", "command": "a", "timeout": 5, "onTimeout": "deny", "statusMessage": "x", "shell": "bash"},
            {"type": "command", "command": "b", "args": ["-x", "y z"], "async": true, "if": "Bash(git *)"},
            {"type": "http", "url": "http://localhost/h", "timeout": 0.5, "allowedEnvVars": ["TOKEN"],
             "headers": {"Authorization": "Bearer $TOKEN", "X": "${TOKEN}/$OTHER.$"}},
        ]}],
        "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "c"}]}],
        "SessionEnd": [{"hooks": [{"type": "command", "command": "d"}]}],
    }});
    let (hooks, warnings, disabled) = read(&text.to_string());
    assert_eq!((warnings, disabled), (Vec::new(), false));
    let seen = hooks
        .iter()
        .map(|hook| (hook.event, hook.action.clone(), hook.timeout_ms, hook.on_timeout, hook.in_background));
    let headers = [("Authorization", "Bearer secret"), ("X", "secret/.$")];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let expected = vec![
        (HookEvent::PreToolUse, HookAction::Shell("a".to_owned()), 5_000, OnTimeout::Deny, false),
        (
            HookEvent::PreToolUse,
            HookAction::Program("b".to_owned(), vec!["-x".to_owned(), "y z".to_owned()]),
            600_000,
            OnTimeout::GoOn,
            true,
        ),
        (
            HookEvent::PreToolUse,
            HookAction::Http("http://localhost/h".to_owned(), headers),
            500,
            OnTimeout::GoOn,
            false,
        ),
        (HookEvent::UserPromptSubmit, HookAction::Shell("c".to_owned()), 30_000, OnTimeout::GoOn, false),
        (HookEvent::SessionEnd, HookAction::Shell("d".to_owned()), 1_500, OnTimeout::GoOn, false),
    ];
    assert_eq!(seen.collect::<Vec<_>>(), expected);
}

#[test]
fn a_mistake_is_named_and_the_rest_works() {
    let cases = [
        (r#"{"hooks": 7}"#, "f: its hooks are not an object with events, so none of them run"),
        (r#"{"hooks": {"PreTolUse": []}}"#, "f: PreTolUse: there is no such event, so its hooks never run"),
        (
            r#"{"hooks": {"FileChanged": []}}"#,
            "f: FileChanged: Posse does not have this event, so its hooks never run",
        ),
        (r#"{"hooks": {"Stop": {}}}"#, "f: Stop: it is not a list, so its hooks never run"),
        (r#"{"hooks": {"Stop": [3]}}"#, "f: Stop: an entry is not an object and is left out"),
        (r#"{"hooks": {"Stop": [{}]}}"#, "f: Stop: an entry has no list of hooks and is left out"),
        (
            r#"{"hooks": {"Stop": [{"matcher": 3, "hooks": []}]}}"#,
            "f: Stop: a matcher is not a text; its hooks never run",
        ),
        (
            r#"{"hooks": {"PreToolUse": [{"matcher": "a(", "hooks": []}]}}"#,
            "f: PreToolUse: the matcher \"a(\" is no pattern (error: unclosed group); its hooks never run",
        ),
        (
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "prompt", "prompt": "x"}]}]}}"#,
            "f: Stop: hooks of the type \"prompt\" are not supported and never run; command and http are",
        ),
        (
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "agent"}]}]}}"#,
            "f: Stop: hooks of the type \"agent\" are not supported and never run; command and http are",
        ),
        (
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "mcp_tool"}]}]}}"#,
            "f: Stop: hooks of the type \"mcp_tool\" are not supported and never run; command and http are",
        ),
        (
            r#"{"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}"#,
            "f: Stop: a hook has no type and never runs; write \"type\": \"command\"",
        ),
        (
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}"#,
            "f: Stop: a hook has no command and never runs",
        ),
        (
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x", "shell": "powershell"}]}]}}"#,
            "f: Stop: hooks for the shell \"powershell\" are not supported and never run",
        ),
        (
            r#"{"hooks": {"Stop": [{"hooks": [{"type": "http", "url": "file:///x"}]}]}}"#,
            "f: Stop: \"file:///x\" is no http address; the hook never runs",
        ),
        ("[]", "f: it is not a JSON object, so it has no hooks"),
        ("{", "f: it is not JSON (EOF while parsing an object at line 1 column 1), so none of its hooks run"),
    ];
    for (text, warning) in cases {
        let (hooks, warnings, _) = read(text);
        assert_eq!((hooks.len(), warnings), (0, vec![warning.to_owned()]), "{text}");
    }
    let (hooks, warnings, _) = read(
        r#"{"hooks": {"Nothing": [], "Stop": [{"hooks": [{"type": "x"}, {"type": "command", "command": "ok", "timeout": "5"}]}]}}"#,
    );
    assert_eq!((hooks.len(), warnings.len()), (1, 3), "{warnings:?}");
}

#[test]
fn hooks_can_be_switched_off() {
    let text =
        r#"{"disableAllHooks": true, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}"#;
    let (hooks, warnings, disabled) = read(text);
    assert_eq!((hooks.len(), warnings.len(), disabled), (0, 0, true));
}

#[test]
fn front_matter_of_an_agent_means_that_agent() {
    let hooks = json!({"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]});
    for (scope, event) in [
        (HookScope::Role("r".to_owned()), HookEvent::SubagentStop),
        (HookScope::Skill("s".to_owned()), HookEvent::Stop),
    ] {
        let (hooks, warnings) = read_front_matter(&hooks, &origin(scope));
        assert_eq!((hooks[0].event, warnings.len()), (event, 0));
    }
}

#[test]
fn a_flood_of_hooks_is_cut() {
    let one = json!({"type": "command", "command": "x"});
    let many = vec![one; limits::HOOKS_OF_FILE_MAX + 50];
    let (hooks, warnings, _) = read(&json!({"hooks": {"Stop": [{"hooks": many}]}}).to_string());
    assert_eq!((hooks.len(), warnings.len()), (limits::HOOKS_OF_FILE_MAX, limits::WARNINGS_MAX));
}
