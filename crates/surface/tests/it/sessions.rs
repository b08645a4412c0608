//! The surface `sessions`: open, eval, close, with the types, aliases and switches of its document.

use posse_protocol::ContextMode;
use posse_surface::{AgentCommand, Shape, Surface, Until, limits};
use serde_json::json;

use crate::{OFFER, background, blocking, check, check_wrong, strings, task};

const SURFACE: Surface = Surface::Sessions;

#[test]
fn open() {
    let go = || background(task("Go", |task| task.name = Some("scout".into())));
    let cases = [
        (json!({"name": "scout", "prompt": "Go"}), go()),
        (json!({"name": "scout", "message": "Go"}), go()),
        (json!({"name": "scout", "task": "Go"}), go()),
        (json!({"session_name": "scout", "prompt": "Go"}), go()),
        (json!({"prompt": "Go"}), background(task("Go", |_| {}))),
        (
            json!({"prompt": "Go", "fork_context": true}),
            background(task("Go", |task| task.context = ContextMode::Fork)),
        ),
        (json!({"prompt": "Go", "fork_context": false}), background(task("Go", |_| {}))),
        (
            json!({"prompt": "Go", "type": "custom", "allowed_tools": ["read_file", "grep"]}),
            background(task("Go", |task| {
                task.role = Some("custom".into());
                task.allowed_tools = Some(strings(&["read_file", "grep"]));
            })),
        ),
        (
            json!({"prompt": "Go", "model": "small", "context_files": ["a.rs"]}),
            background(task("Go", |task| {
                task.model = Some("small".into());
                task.context_files = strings(&["a.rs"]);
            })),
        ),
        (json!({"prompt": "Go", "background": false}), blocking(task("Go", |_| {}), Shape::Text)),
    ];
    assert_eq!(cases.len(), 10);
    check(SURFACE, "agent_open", &cases);
}

/// Every spelling of the document goes through as it was written; `roles` knows which role it is.
#[test]
fn types_and_their_aliases() {
    let spellings = [
        "general",
        "worker",
        "default",
        "general-purpose",
        "explore",
        "explorer",
        "exploration",
        "plan",
        "planning",
        "awaiter",
        "review",
        "reviewer",
        "code-review",
        "implementer",
        "implement",
        "implementation",
        "builder",
        "verifier",
        "verify",
        "verification",
        "validator",
        "tester",
        "custom",
        "EXPLORER",
        "Code-Review",
    ];
    let mut count = 0;
    for spelling in spellings {
        let expected = || background(task("Go", |task| task.role = Some(spelling.into())));
        for field in ["type", "agent_type", "role"] {
            check(SURFACE, "agent_open", &[(json!({"prompt": "Go", field: spelling}), expected())]);
            count += 1;
        }
    }
    assert_eq!(count, 75);
}

#[test]
fn eval() {
    let eval = |message: Option<&str>, interrupt, wait_ms| AgentCommand::Eval {
        agent: "scout".into(),
        message: message.map(str::to_owned),
        interrupt,
        wait_ms,
    };
    let wait =
        |agents: &[&str], until| AgentCommand::Wait { agents: strings(agents), until, timeout_ms: Some(5) };
    let cases = [
        (json!({"name": "scout"}), eval(None, false, None)),
        (json!({"agent_id": "scout"}), eval(None, false, None)),
        (json!({"id": "scout", "message": "more"}), eval(Some("more"), false, None)),
        (json!({"name": "scout", "input": "more", "interrupt": true}), eval(Some("more"), true, None)),
        (json!({"name": "scout", "wait": true}), eval(None, false, Some(limits::WAIT_MS))),
        (json!({"name": "scout", "block": true, "timeout_ms": 500}), eval(None, false, Some(500))),
        (json!({"name": "scout", "timeout_ms": 500}), eval(None, false, Some(500))),
        (json!({"name": "scout", "wait": false, "timeout_ms": 500}), eval(None, false, None)),
        (
            json!({"name": "scout", "wait": true, "timeout_ms": 99_000_000}),
            eval(None, false, Some(limits::WAIT_MS_MAX)),
        ),
        (json!({}), AgentCommand::Status { agent: None, page: 1 }),
        (
            json!({"wait": true, "timeout_ms": 5}),
            AgentCommand::Wait { agents: vec![], until: Until::Any, timeout_ms: Some(5) },
        ),
        (json!({"wait": true, "until": "all", "timeout_ms": 5}), wait(&[], Until::All)),
        (json!({"wait": "all", "timeout_ms": 5}), wait(&[], Until::All)),
        (json!({"wait": "any", "timeout_ms": 5}), wait(&[], Until::Any)),
        (json!({"until": "all", "timeout_ms": 5}), wait(&[], Until::All)),
        (json!({"wait_all": true, "timeout_ms": 5}), wait(&[], Until::All)),
        (json!({"name": "all", "wait": true, "timeout_ms": 5}), wait(&[], Until::Any)),
        (json!({"names": ["a", "b"], "wait": true, "timeout_ms": 5}), wait(&["a", "b"], Until::All)),
        (json!({"name": "a, b", "wait": "any", "timeout_ms": 5}), wait(&["a", "b"], Until::Any)),
        (json!({"name": "scout", "wait": "all"}), eval(None, false, Some(limits::WAIT_MS))),
    ];
    assert_eq!(cases.len(), 20);
    check(SURFACE, "agent_eval", &cases);
}

#[test]
fn close() {
    let closed = || AgentCommand::Close { agent: "scout".into() };
    let cases = [(json!({"name": "scout"}), closed()), (json!({"agent_id": "scout"}), closed())];
    check(SURFACE, "agent_close", &cases);
}

#[test]
fn errors_say_what_is_accepted() {
    check_wrong(
        SURFACE,
        "agent_open",
        &[
            (
                json!({"name": "scout"}),
                "`prompt` is missing. agent_open takes: name, prompt (required), type,",
            ),
            (json!({"prompt": "Go", "fork_context": "perhaps"}), "`fork_context` must be true or false"),
            (json!({"prompt": "Go", "allowed_tools": true}), "`allowed_tools` must be an array of strings"),
        ],
    );
    check_wrong(
        SURFACE,
        "agent_eval",
        &[
            (json!({"message": "more"}), "`name` is missing. agent_eval takes: name, message,"),
            (json!({"names": ["a", "b"], "message": "more"}), "`name` is missing"),
            (json!({"until": "some"}), "`until` cannot be \"some\". Accepted: any, all."),
            (json!({"name": "a", "timeout_ms": {}}), "`timeout_ms` must be a whole number"),
            (json!({"name": "a", "wait": "soon"}), "`wait` must be true or false, not \"soon\"."),
        ],
    );
    check_wrong(
        SURFACE,
        "agent_close",
        &[(json!({}), "`agent` is missing. agent_close takes: name (required).")],
    );
}

#[test]
fn the_schema_is_that_of_the_document() {
    let tools = SURFACE.tools(&OFFER);
    let open = &tools[0].schema["properties"];
    for field in ["name", "prompt", "type", "fork_context", "allowed_tools"] {
        assert!(open[field].is_object(), "{field}");
    }
    for role in crate::ROLES {
        assert!(tools[0].description.contains(&format!("- {}: ", role.name)));
    }
}
