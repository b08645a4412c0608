//! The surface `agent`: every action and argument, and the names that models know from elsewhere.

use posse_protocol::{Budget, ContextMode, Isolation};
use posse_surface::{AgentCommand, Shape, Surface, Until, limits};
use serde_json::json;

use crate::{background, blocking, check, check_wrong, parse, strings, task};

const SURFACE: Surface = Surface::Agent;

#[test]
fn start_takes_everything() {
    let arguments = json!({
        "action": "start", "role": "explore", "prompt": "Find it", "title": "find it", "name": "finder",
        "context": "selective", "context_files": ["a.rs", "b.rs"], "context_turns": [1, 3],
        "success_criteria": "It is found.", "deliverables": ["out.md"], "model": "small", "endpoint": "gpu",
        "max_turns": 5, "max_tokens": 900, "token_budget": 20_000, "max_time_s": 60, "max_cost_usd": 0.5,
        "allowed_tools": ["read_*", "grep"], "isolation": "worktree",
    });
    let expected = task("Find it", |task| {
        task.role = Some("explore".into());
        task.title = "find it".into();
        task.name = Some("finder".into());
        task.context = ContextMode::Selective;
        task.context_files = strings(&["a.rs", "b.rs"]);
        task.context_turns = vec![1, 3];
        task.success_criteria = Some("It is found.".into());
        task.deliverables = strings(&["out.md"]);
        task.model = Some("small".into());
        task.endpoint = Some("gpu".into());
        task.budget =
            Budget { turns: Some(5), tokens: Some(20_000), time_ms: Some(60_000), cost_usd: Some(0.5) };
        task.max_output_tokens = Some(900);
        task.allowed_tools = Some(strings(&["read_*", "grep"]));
        task.isolation = Some(Isolation::Worktree);
    });
    check(SURFACE, "agent", &[(arguments, background(expected))]);
}

#[test]
fn start_is_the_default_and_never_blocks() {
    let plain = || background(task("Go", |_| {}));
    let role = |role: &str| background(task("Go", |task| task.role = Some(role.into())));
    let cases = [
        (json!({"prompt": "Go"}), plain()),
        (json!({"action": "start", "prompt": "Go"}), plain()),
        (json!({"action": "START", "prompt": "Go"}), plain()),
        (json!({"action": "spawn", "prompt": "Go"}), plain()),
        (json!({"task": "Go"}), plain()),
        (json!({"action": "start", "message": "Go"}), plain()),
        (json!({"prompt": "Go", "background": true}), plain()),
        (json!({"prompt": "Go", "background": false}), blocking(task("Go", |_| {}), Shape::Text)),
        (json!({"prompt": "Go", "run_in_background": false}), blocking(task("Go", |_| {}), Shape::Text)),
        (json!({"prompt": "Go", "role": "explore"}), role("explore")),
        (json!({"prompt": "Go", "type": "explore"}), role("explore")),
        (json!({"prompt": "Go", "agent_type": "explore"}), role("explore")),
        (json!({"prompt": "Go", "subagent_type": "explore"}), role("explore")),
        (json!({"prompt": "Go", "subagentType": "Explore"}), role("Explore")),
        (json!({"prompt": "Go", "agent": "explore"}), role("explore")),
        // Empty fields change nothing, known or not.
        (json!({"prompt": "Go", "isolation": "", "mode": "", "role": "", "model": null}), plain()),
        (json!({"prompt": "Go", "max_turns": 0, "context_files": [], "allowed_tools": []}), plain()),
    ];
    assert_eq!(cases.len(), 17);
    check(SURFACE, "agent", &cases);
}

#[test]
fn contexts() {
    let with = |context| background(task("Go", |task| task.context = context));
    let cases = [
        (json!({"prompt": "Go"}), with(ContextMode::Fresh)),
        (json!({"prompt": "Go", "context": "fresh"}), with(ContextMode::Fresh)),
        (json!({"prompt": "Go", "context": "fork"}), with(ContextMode::Fork)),
        (json!({"prompt": "Go", "context": "summary"}), with(ContextMode::Summary)),
        (json!({"prompt": "Go", "context_mode": "full"}), with(ContextMode::Fork)),
        (json!({"prompt": "Go", "fork_context": true}), with(ContextMode::Fork)),
        (json!({"prompt": "Go", "fork_context": "false"}), with(ContextMode::Fresh)),
        (json!({"prompt": "Go", "fork_context": true, "context": "summary"}), with(ContextMode::Summary)),
    ];
    assert_eq!(cases.len(), 8);
    check(SURFACE, "agent", &cases);
    let turns = background(task("Go", |task| {
        task.context = ContextMode::Selective;
        task.context_turns = vec![2, 4];
    }));
    let named = json!({"prompt": "Go", "context": "selective", "context_turns": [2, 4]});
    let cases = [(json!({"prompt": "Go", "context_turns": "2, 4"}), turns.clone()), (named, turns)];
    check(SURFACE, "agent", &cases);
    let files = background(task("Go", |task| {
        task.context = ContextMode::Selective;
        task.context_files = strings(&["a.rs"]);
    }));
    let arguments = json!({"prompt": "Go", "context": "selective", "context_files": ["a.rs"]});
    check(SURFACE, "agent", &[(arguments, files)]);
    let nothing = (json!({"prompt": "Go", "context": "selective"}), "needs `context_turns`, such as [1, 2]");
    check_wrong(SURFACE, "agent", &[nothing]);
    // Every mode that the schema names comes with what it needs.
    let schema = &SURFACE.tools(&crate::OFFER)[0].schema["properties"];
    assert_eq!(schema["context"]["enum"], json!(["fresh", "fork", "summary", "selective"]));
    assert_eq!(schema["context_turns"]["items"]["type"], "integer");
}

#[test]
fn values_are_read_generously() {
    let turns = |n| background(task("Go", |task| task.budget.turns = Some(n)));
    let files = |files: &[&str]| background(task("Go", |task| task.context_files = strings(files)));
    let cases = [
        (json!({"prompt": "Go", "max_turns": "7"}), turns(7)),
        (json!({"prompt": "Go", "maxTurns": 7.0}), turns(7)),
        (json!({"prompt": "Go", "max-turns": " 1_000 "}), turns(1_000)),
        (json!({"prompt": "Go", "max_iterations": 7}), turns(7)),
        (json!({"prompt": "Go", "max_turns": 1e12}), turns(u32::MAX)),
        (json!({"prompt": "Go", "context_files": "a.rs, b.rs"}), files(&["a.rs", "b.rs"])),
        (json!({"prompt": "Go", "context_files": "[\"a.rs\",\"b.rs\"]"}), files(&["a.rs", "b.rs"])),
        (json!({"prompt": "Go", "context_files": "a.rs"}), files(&["a.rs"])),
        (json!({"prompt": "Go", "contextFiles": [" a.rs ", ""]}), files(&["a.rs"])),
        (json!({"arguments": {"prompt": "Go", "max_turns": 7}}), turns(7)),
        (json!({"parameters": "{\"prompt\": \"Go\", \"max_turns\": 7}"}), turns(7)),
        (json!("{\"prompt\": \"Go\", \"max_turns\": 7}"), turns(7)),
        (
            json!({"prompt": "Go", "success_criteria": ["a", "b"]}),
            background(task("Go", |task| task.success_criteria = Some("a\nb".into()))),
        ),
    ];
    assert_eq!(cases.len(), 13);
    check(SURFACE, "agent", &cases);
}

#[test]
fn titles_are_short() {
    let long = "Look at every place where the configuration is read and tell which of them ignore errors";
    let made = "Look at every place where the configuration is read and…";
    let title = |arguments| match parse(SURFACE, "agent", &arguments) {
        Ok(AgentCommand::Start { task, .. }) => task.title,
        other => panic!("{other:?}"),
    };
    let cases = [
        (json!({"prompt": long}), made.to_owned()),
        (json!({"prompt": "One\n\ttwo"}), "One two".to_owned()),
        (json!({"prompt": long, "title": "places"}), "places".to_owned()),
        (json!({"prompt": long, "description": "the\nplaces"}), "the places".to_owned()),
        (json!({"prompt": long, "title": "\u{7}"}), made.to_owned()),
        (json!({"prompt": "x".repeat(100)}), format!("{}…", "x".repeat(59))),
        (json!({"prompt": "x", "title": "y".repeat(101)}), format!("{}…", "y".repeat(99))),
    ];
    assert_eq!(cases.len(), 7);
    for (arguments, expected) in cases {
        assert_eq!(title(arguments), expected);
    }
}

#[test]
fn other_actions() {
    let wait = |agents: &[&str], until, timeout_ms| AgentCommand::Wait {
        agents: strings(agents),
        until,
        timeout_ms,
    };
    let status = |agent: Option<&str>, page| AgentCommand::Status { agent: agent.map(str::to_owned), page };
    let message =
        |interrupt| AgentCommand::Message { agent: "explore-1".into(), text: "Stop at 10".into(), interrupt };
    let cases = [
        (json!({"action": "wait"}), wait(&[], Until::All, None)),
        (json!({"action": "wait", "until": "any"}), wait(&[], Until::Any, None)),
        (
            json!({"action": "wait", "agents": ["a", "b"], "timeout_s": 30}),
            wait(&["a", "b"], Until::All, Some(30_000)),
        ),
        (
            json!({"action": "wait", "agents": "a, b", "timeout_ms": "250"}),
            wait(&["a", "b"], Until::All, Some(250)),
        ),
        (json!({"action": "wait", "agent": "a", "until": "ALL"}), wait(&["a"], Until::All, None)),
        (json!({"action": "wait", "agents": ["all"]}), wait(&[], Until::All, None)),
        (json!({"action": "wait", "timeout_s": 1_000_000}), wait(&[], Until::All, Some(limits::WAIT_MS_MAX))),
        (json!({"action": "wait", "timeout_s": 0}), wait(&[], Until::All, Some(0))),
        (json!({"action": "status"}), status(None, 1)),
        (json!({"action": "status", "page": 2}), status(None, 2)),
        (json!({"action": "status", "agent": "a", "page": 0}), status(Some("a"), 1)),
        (json!({"action": "list"}), status(None, 1)),
        (json!({"action": "message", "agent": "explore-1", "message": "Stop at 10"}), message(false)),
        (
            json!({"action": "message", "agents": ["explore-1"], "text": "Stop at 10", "interrupt": true}),
            message(true),
        ),
        (json!({"agent": "explore-1", "message": "Stop at 10"}), message(false)),
        (json!({"action": "cancel", "agent": "a"}), AgentCommand::Cancel { agent: "a".into() }),
        (json!({"action": "stop", "name": "a"}), AgentCommand::Cancel { agent: "a".into() }),
        (json!({"action": "close", "agent_id": "a"}), AgentCommand::Close { agent: "a".into() }),
    ];
    assert_eq!(cases.len(), 18);
    check(SURFACE, "agent", &cases);
}

#[test]
fn names_from_elsewhere() {
    let go = || task("Go", |task| task.role = Some("explorer".into()));
    let cases = [
        ("Task", json!({"description": "Go", "prompt": "Go", "subagent_type": "explorer"}), background(go())),
        ("Agent", json!({"prompt": "Go", "subagent_type": "explorer", "name": null}), background(go())),
        (
            "task",
            json!({"prompt": "Go", "subagent_type": "explorer", "background": false}),
            blocking(go(), Shape::Text),
        ),
        ("spawn_agent", json!({"message": "Go", "agent_type": "explorer"}), background(go())),
        (
            "spawn_agent",
            json!({"task_name": "go", "message": "Go", "agent_type": "explorer", "fork_context": true}),
            background(task("Go", |task| {
                task.role = Some("explorer".into());
                task.name = Some("go".into());
                task.context = ContextMode::Fork;
            })),
        ),
        (
            "wait_agent",
            json!({"ids": ["a"], "timeout_ms": 10_000}),
            AgentCommand::Wait { agents: strings(&["a"]), until: Until::All, timeout_ms: Some(10_000) },
        ),
        ("list_agents", json!({}), AgentCommand::Status { agent: None, page: 1 }),
        (
            "send_input",
            json!({"target": "a", "message": "m", "interrupt": true}),
            AgentCommand::Message { agent: "a".into(), text: "m".into(), interrupt: true },
        ),
        (
            "send_message",
            json!({"target": "a", "message": "m"}),
            AgentCommand::Message { agent: "a".into(), text: "m".into(), interrupt: false },
        ),
        (
            "followup_task",
            json!({"target": "a", "message": "m"}),
            AgentCommand::Message { agent: "a".into(), text: "m".into(), interrupt: false },
        ),
        ("close_agent", json!({"target": "a"}), AgentCommand::Close { agent: "a".into() }),
        ("cancel_agent", json!({"id": "a"}), AgentCommand::Cancel { agent: "a".into() }),
    ];
    assert_eq!(cases.len(), 12);
    for (tool, arguments, expected) in cases {
        check(SURFACE, tool, &[(arguments, expected)]);
    }
}

#[test]
fn errors_say_what_is_accepted() {
    let long_name = "n".repeat(limits::NAME_CHARS_MAX + 1);
    let long_prompt = "p".repeat(limits::PROMPT_BYTES_MAX + 1);
    let files: Vec<String> = (0..=limits::CONTEXT_FILES_MAX).map(|n| format!("{n}.rs")).collect();
    let cases = [
        (json!({}), "`prompt` is missing. agent takes: action, role, prompt,"),
        (json!({"promt": "Go"}), "`prompt` is missing; you wrote `promt`."),
        (json!({"action": "start"}), "`prompt` is missing."),
        (
            json!({"action": "begin"}),
            "`action` cannot be \"begin\". Accepted: start, wait, status, message, cancel, close, merge.",
        ),
        (json!({"action": 3}), "`action` must be a string, not a number."),
        (json!({"prompt": "Go", "context": "half"}), "Accepted: fresh, fork, summary, selective."),
        (json!({"action": "wait", "until": "some"}), "Accepted: any, all."),
        (
            json!({"prompt": "Go", "isolation": "vm"}),
            "`isolation` cannot be \"vm\". Accepted: shared, worktree.",
        ),
        (json!({"action": "merge"}), "`agent` is missing."),
        (json!({"action": "cancel"}), "`agent` is missing."),
        (json!({"action": "cancel", "agents": ["a", "b"]}), "`agent` has more than 1 entries."),
        (json!({"action": "message", "agent": "a"}), "`message` is missing."),
        (json!({"action": "message", "agent": "a", "mesage": "m"}), "you wrote `mesage`"),
        (json!({"prompt": {"text": "Go"}}), "`prompt` must be a string, not an object."),
        (
            json!({"prompt": "Go", "max_turns": "many"}),
            "`max_turns` must be a whole number from 0, not \"many\".",
        ),
        (
            json!({"prompt": "Go", "max_turns": -1}),
            "`max_turns` must be a whole number from 0, not a number.",
        ),
        (json!({"prompt": "Go", "max_turns": 1.5}), "`max_turns` must be a whole number"),
        (
            json!({"prompt": "Go", "background": "maybe"}),
            "`background` must be true or false, not \"maybe\".",
        ),
        (
            json!({"prompt": "Go", "context_files": [1, {}]}),
            "`context_files` must be an array of strings, not an object.",
        ),
        (
            json!({"prompt": "Go", "context_turns": ["x"]}),
            "`context_turns` must be an array of whole numbers",
        ),
        (json!({"prompt": "Go", "max_cost_usd": "lots"}), "`max_cost_usd` must be a number from 0"),
        (json!({"prompt": "Go", "name": long_name}), "`name` is longer than 40 characters."),
        (json!({"action": "close", "agent": long_name}), "`agent` is longer than 40 characters."),
        (
            json!({"prompt": long_prompt}),
            "`prompt` is longer than 65536 bytes. Write the long part into a file",
        ),
        (json!({"prompt": "Go", "context_files": files}), "`context_files` has more than 50 entries."),
        (json!([1]), "The arguments are an array, not a JSON object."),
        (json!("Go"), "The arguments are a string, not a JSON object."),
    ];
    assert_eq!(cases.len(), 27);
    check_wrong(SURFACE, "agent", &cases);
}

#[test]
fn twelve_files_and_more_are_passed_on() {
    let files: Vec<String> = (0..limits::CONTEXT_FILES_MAX).map(|n| format!("{n}.rs")).collect();
    let expected = background(task("Go", |task| task.context_files = files.clone()));
    check(SURFACE, "agent", &[(json!({"prompt": "Go", "context_files": files}), expected)]);
}
