//! Exit codes and outputs of every event, and what several answers come to.

use posse_hooks::{
    CombinedAnswer, HookAnswer, HookEvent, HookExit, HookVerdict, HookVoice, OnTimeout, combine, limits,
    read_answer,
};
use serde_json::json;

use HookEvent::*;
use HookVerdict::{Allow, Ask, Defer, Deny};

/// An event, an exit code, what is written to both streams, and what that means: decision, reason, context, fault.
type Case = (
    HookEvent,
    i32,
    &'static str,
    &'static str,
    Option<HookVerdict>,
    &'static str,
    &'static str,
    &'static str,
);

const CASES: &[Case] = &[
    // Nothing said.
    (PreToolUse, 0, "", "", None, "", "", ""),
    (PreToolUse, 0, "fine", "", None, "", "", ""),
    (Stop, 0, "fine", "", None, "", "", ""),
    // Exit code 2 of every event.
    (PreToolUse, 2, "", "no secrets\n", Some(Deny), "no secrets", "", ""),
    (PermissionRequest, 2, "", "no", None, "", "", "it ended with exit code 2: no"),
    (PostToolUse, 2, "", "lint", Some(Deny), "lint", "", ""),
    (PostToolUseFailure, 2, "", "lint", Some(Deny), "lint", "", ""),
    (UserPromptSubmit, 2, "", "no", Some(Deny), "no", "", ""),
    (Stop, 2, "", "run the tests", Some(Deny), "run the tests", "", ""),
    (SubagentStop, 2, "", "go on", Some(Deny), "go on", "", ""),
    (SubagentStart, 2, "", "no", None, "", "", "it ended with exit code 2: no"),
    (SessionStart, 2, "", "no", None, "", "", "it ended with exit code 2: no"),
    (SessionEnd, 2, "", "no", None, "", "", "it ended with exit code 2: no"),
    (PreCompact, 2, "", "not now", Some(Deny), "not now", "", ""),
    (PostCompact, 2, "", "no", None, "", "", "it ended with exit code 2: no"),
    (Notification, 2, "", "no", None, "", "", "it ended with exit code 2: no"),
    // Other codes are a notice.
    (PreToolUse, 1, "", "jq: not found\nmore", None, "", "", "it ended with exit code 1: jq: not found"),
    (Stop, 127, "", "", None, "", "", "it ended with exit code 127"),
    // Plain text is context for two events.
    (UserPromptSubmit, 0, "branch: main\n", "", None, "", "branch: main", ""),
    (SessionStart, 0, "branch: main", "", None, "", "branch: main", ""),
    (PostToolUse, 0, "branch: main", "", None, "", "", ""),
    // What each event says as JSON.
    (
        PreToolUse,
        0,
        r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}"#,
        "",
        Some(Allow),
        "",
        "",
        "",
    ),
    (
        PreToolUse,
        0,
        r#"{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"hm"}}"#,
        "",
        Some(Ask),
        "hm",
        "",
        "",
    ),
    (PreToolUse, 0, r#"{"hookSpecificOutput":{"permissionDecision":"defer"}}"#, "", Some(Defer), "", "", ""),
    (
        PreToolUse,
        0,
        r#" {"hookSpecificOutput":{"permissionDecision":"deny","permissionDecisionReason":"x","additionalContext":"c"}}"#,
        "",
        Some(Deny),
        "x",
        "c",
        "",
    ),
    (
        PreToolUse,
        0,
        r#"{"hookSpecificOutput":{"permissionDecision":"maybe"}}"#,
        "",
        None,
        "",
        "",
        r#"its permissionDecision "maybe" is none of allow, deny, ask, defer"#,
    ),
    (PreToolUse, 0, r#"{"decision":"block","reason":"old way"}"#, "", Some(Deny), "old way", "", ""),
    (PreToolUse, 0, r#"{"decision":"approve"}"#, "", Some(Allow), "", "", ""),
    (
        PreToolUse,
        1,
        r#"{"decision":"block","reason":"any code"}"#,
        "",
        Some(Deny),
        "any code",
        "",
        "it ended with exit code 1",
    ),
    (
        PreToolUse,
        0,
        r#"{"hookSpecificOutput":{"hookEventName":"Stop","permissionDecision":"deny"}}"#,
        "",
        None,
        "",
        "",
        r#"its hookSpecificOutput is for "Stop", and this was PreToolUse"#,
    ),
    (
        PermissionRequest,
        0,
        r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}"#,
        "",
        Some(Allow),
        "",
        "",
        "",
    ),
    (
        PermissionRequest,
        0,
        r#"{"decision":{"behavior":"deny","message":"never"}}"#,
        "",
        Some(Deny),
        "never",
        "",
        "",
    ),
    (
        PermissionRequest,
        0,
        r#"{"decision":{"behavior":"perhaps"}}"#,
        "",
        None,
        "",
        "",
        r#"its behavior "perhaps" is neither allow nor deny"#,
    ),
    (PostToolUse, 0, r#"{"decision":"block","reason":"lint"}"#, "", Some(Deny), "lint", "", ""),
    (
        PostToolUse,
        0,
        r#"{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"formatted"}}"#,
        "",
        None,
        "",
        "formatted",
        "",
    ),
    (
        PostToolUseFailure,
        0,
        r#"{"hookSpecificOutput":{"additionalContext":"try npm ci"}}"#,
        "",
        None,
        "",
        "try npm ci",
        "",
    ),
    (UserPromptSubmit, 0, r#"{"decision":"block","reason":"key"}"#, "", Some(Deny), "key", "", ""),
    (
        UserPromptSubmit,
        0,
        r#"{"hookSpecificOutput":{"hookEventName":"UserPromptSubmit","additionalContext":"c"}}"#,
        "",
        None,
        "",
        "c",
        "",
    ),
    (Stop, 0, r#"{"decision":"block","reason":"tests fail"}"#, "", Some(Deny), "tests fail", "", ""),
    (SubagentStop, 0, r#"{"decision":"block","reason":"more"}"#, "", Some(Deny), "more", "", ""),
    (
        SubagentStart,
        0,
        r#"{"hookSpecificOutput":{"hookEventName":"SubagentStart","additionalContext":"c"}}"#,
        "",
        None,
        "",
        "c",
        "",
    ),
    (
        SubagentStart,
        0,
        r#"{"decision":"block"}"#,
        "",
        None,
        "",
        "",
        r#"its decision "block" means nothing for SubagentStart"#,
    ),
    (
        SessionStart,
        0,
        r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"c"}}"#,
        "",
        None,
        "",
        "c",
        "",
    ),
    (PreCompact, 0, r#"{"decision":"block","reason":"not now"}"#, "", Some(Deny), "not now", "", ""),
    (SessionEnd, 0, r#"{"decision":"approve"}"#, "", None, "", "", ""),
    // Broken.
    (
        PreToolUse,
        0,
        "{oops",
        "",
        None,
        "",
        "",
        "its output begins with { and is not JSON: key must be a string at line 1 column 2",
    ),
    (
        PreToolUse,
        2,
        "{oops",
        "no",
        Some(Deny),
        "no",
        "",
        "its output begins with { and is not JSON: key must be a string at line 1 column 2",
    ),
    (PreToolUse, 0, r#"{"decision":7}"#, "", None, "", "", "its decision is not a text"),
    (
        PreToolUse,
        0,
        r#"{"hookSpecificOutput":[]}"#,
        "",
        None,
        "",
        "",
        "its hookSpecificOutput is not an object",
    ),
    (
        PreToolUse,
        0,
        r#"{"hookSpecificOutput":{"updatedInput":"x"}}"#,
        "",
        None,
        "",
        "",
        "its updatedInput is not an object",
    ),
];

#[test]
fn an_answer_means_what_the_contract_says() {
    let mut ran = 0;
    for (event, code, stdout, stderr, verdict, reason, context, fault) in CASES {
        let answer = read_answer(*event, &HookExit::Code(*code), stdout, stderr, OnTimeout::GoOn);
        let expected = HookAnswer {
            verdict: *verdict,
            reason: (*reason).to_owned(),
            context: Some(*context).filter(|it| !it.is_empty()).map(str::to_owned).into_iter().collect(),
            fault: Some(*fault).filter(|it| !it.is_empty()).map(str::to_owned),
            ..HookAnswer::default()
        };
        assert_eq!(answer, expected, "{event} {code} {stdout} {stderr}");
        ran += 1;
    }
    assert_eq!(ran, 50);
}

#[test]
fn other_parts_of_an_answer_are_read() {
    let read = |event, text: &str| read_answer(event, &HookExit::Code(0), text, "", OnTimeout::GoOn);
    let stopped =
        read(Stop, r#"{"continue":false,"stopReason":"enough","systemMessage":"m","suppressOutput":true}"#);
    assert_eq!((stopped.stop.as_deref(), stopped.message.as_deref()), (Some("enough"), Some("m")));
    let rewritten = read(PreToolUse, r#"{"hookSpecificOutput":{"updatedInput":{"command":"ls"}}}"#);
    assert_eq!(rewritten.updated_input, Some(json!({"command": "ls"})));
    let replaced = read(PostToolUse, r#"{"hookSpecificOutput":{"updatedToolOutput":"short"}}"#);
    assert_eq!(replaced.updated_output.as_deref(), Some("short"));
    let titled = read(UserPromptSubmit, r#"{"hookSpecificOutput":{"sessionTitle":"Parser"}}"#);
    assert_eq!(titled.title.as_deref(), Some("Parser"));
    let interrupted = read(
        PermissionRequest,
        r#"{"decision":{"behavior":"deny","message":"no","interrupt":true,"updatedPermissions":[]}}"#,
    );
    assert_eq!((interrupted.verdict, interrupted.stop.as_deref()), (Some(Deny), Some("no")));
}

#[test]
fn a_late_hook_denies_only_if_it_says_so() {
    for (event, on_timeout, verdict) in [
        (PreToolUse, OnTimeout::GoOn, None),
        (PreToolUse, OnTimeout::Deny, Some(Deny)),
        (Stop, OnTimeout::Deny, Some(Deny)),
        (Notification, OnTimeout::Deny, None),
    ] {
        let answer = read_answer(event, &HookExit::TimedOut(50), "", "", on_timeout);
        assert_eq!(answer.verdict, verdict, "{event}");
        assert_eq!(answer.fault.as_deref(), Some("it did not end within 50 ms"), "{event}");
    }
}

#[test]
fn a_response_is_read_like_an_output() {
    let read =
        |event, status, body: &str| read_answer(event, &HookExit::Status(status), body, "", OnTimeout::GoOn);
    assert_eq!(read(PreToolUse, 200, r#"{"decision":"block","reason":"r"}"#).verdict, Some(Deny));
    assert_eq!(read(PreToolUse, 204, "").fault, None);
    assert_eq!(read(PreToolUse, 200, "hello").fault.as_deref(), Some("its response is not a JSON object"));
    assert_eq!(read(SessionStart, 200, "hello").context, ["hello"]);
    assert_eq!(read(PreToolUse, 500, "x").fault.as_deref(), Some("the address answered with status 500"));
    assert_eq!(read(PreToolUse, 500, r#"{"decision":"block"}"#).verdict, Some(Deny));
}

#[test]
fn every_text_has_a_cap() {
    let long = "x".repeat(3 * limits::SAID_CHARS_MAX);
    let text = json!({
        "reason": long, "systemMessage": long, "stopReason": long, "continue": false,
        "hookSpecificOutput": {"additionalContext": long, "permissionDecision": "deny"},
    });
    let answer = read_answer(PreToolUse, &HookExit::Code(0), &text.to_string(), "", OnTimeout::GoOn);
    let texts = [answer.reason, answer.message.unwrap(), answer.stop.unwrap(), answer.context[0].clone()];
    assert!(texts.iter().all(|text| text.chars().count() == limits::SAID_CHARS_MAX));
    let plain = read_answer(SessionStart, &HookExit::Code(0), &long, "", OnTimeout::GoOn);
    assert_eq!(plain.context[0].chars().count(), limits::SAID_CHARS_MAX);
    let blocked = read_answer(Stop, &HookExit::Code(2), "", &long, OnTimeout::GoOn);
    assert_eq!(blocked.reason.chars().count(), limits::SAID_CHARS_MAX);
}

fn says(verdict: HookVerdict, reason: &str) -> HookAnswer {
    HookAnswer { verdict: Some(verdict), reason: reason.to_owned(), ..HookAnswer::default() }
}

#[test]
fn the_strictest_of_several_counts() {
    let cases: [(&[HookVerdict], HookVerdict); 6] = [
        (&[Allow, Deny, Ask], Deny),
        (&[Allow, Ask], Ask),
        (&[Ask, Allow], Ask),
        (&[Allow, Defer, Ask], Ask),
        (&[Defer], Ask),
        (&[Allow, Allow], Allow),
    ];
    for (verdicts, expected) in cases {
        let all = verdicts.iter().map(|verdict| ("h".to_owned(), HookVoice::Person, says(*verdict, "")));
        assert_eq!(combine(all).verdict, Some(expected), "{verdicts:?}");
    }
    let mixed = combine([
        ("a".to_owned(), HookVoice::Person, says(Allow, "ok")),
        ("b".to_owned(), HookVoice::Person, says(Deny, "one")),
        ("c".to_owned(), HookVoice::Person, says(Deny, "two")),
    ]);
    let reasons = [("b", "one"), ("c", "two")].map(|(name, why)| (name.to_owned(), why.to_owned()));
    assert_eq!(mixed.reasons, reasons);
}

#[test]
fn what_runs_in_the_sandbox_allows_nothing() {
    let confined = |verdict| combine([("h".to_owned(), HookVoice::Confined, says(verdict, ""))]).verdict;
    assert_eq!(confined(Allow), None);
    assert_eq!(confined(Deny), Some(Deny));
    assert_eq!(confined(Ask), Some(Ask));
}

#[test]
fn what_is_told_adds_up_and_the_last_rewrite_wins() {
    let one = HookAnswer {
        context: vec!["a".to_owned()],
        updated_input: Some(json!({"command": "one"})),
        ..HookAnswer::default()
    };
    let two = HookAnswer {
        context: vec!["b".to_owned()],
        updated_input: Some(json!({"command": "two"})),
        ..HookAnswer::default()
    };
    let all = combine([("1".to_owned(), HookVoice::Person, one), ("2".to_owned(), HookVoice::Confined, two)]);
    let expected = CombinedAnswer {
        context: vec![("1".to_owned(), "a".to_owned()), ("2".to_owned(), "b".to_owned())],
        updated_input: Some(("2".to_owned(), json!({"command": "two"}))),
        ..CombinedAnswer::default()
    };
    assert_eq!(all, expected);
}
