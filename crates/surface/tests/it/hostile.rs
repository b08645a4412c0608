//! Whatever a model writes: no panic, no hang, nothing over its limits, an error that is short.

use posse_surface::{AgentCommand, Surface, limits, parse_routed};
use proptest::{
    prelude::{Just, Strategy, any, prop_oneof},
    proptest,
    test_runner::Config,
};
use serde_json::{Value, json};

use crate::call;

const CALLS: [(Surface, &str); 13] = [
    (Surface::Agent, "agent"),
    (Surface::Agent, "spawn_agent"),
    (Surface::Agent, "wait_agent"),
    (Surface::Agent, "handle_read"),
    (Surface::Agent, "board"),
    (Surface::Agent, "send_message"),
    (Surface::Sessions, "agent_open"),
    (Surface::Sessions, "agent_eval"),
    (Surface::Sessions, "agent_close"),
    (Surface::Task, "Task"),
    (Surface::Spawn, "spawn_task"),
    (Surface::Delegate, "delegate_to_agent"),
    (Surface::Shell, "bash"),
];

/// Parses on every surface and holds the result to the limits.
fn survive(arguments: &str) {
    for (surface, tool) in CALLS {
        match surface.parse(&call(tool, arguments), true) {
            Ok(command) => within(&command),
            Err(text) => assert!(!text.is_empty() && text.len() < 2_000, "{tool}: {} bytes", text.len()),
        }
    }
}

fn within(command: &AgentCommand) {
    match command {
        AgentCommand::Start { task, .. } => {
            assert!(!task.prompt.trim().is_empty() && task.prompt.len() <= limits::PROMPT_BYTES_MAX + 100);
            assert!(task.title.chars().count() <= limits::TITLE_CHARS_MAX && !task.title.contains('\n'));
            assert!(task.name.as_ref().is_none_or(|name| name.chars().count() <= limits::NAME_CHARS_MAX));
            assert!(task.context_files.len() <= limits::CONTEXT_FILES_MAX);
            assert!(task.budget.cost_usd.is_none_or(|cost| cost.is_finite() && cost > 0.0));
            assert!(task.allowed_tools.as_ref().is_none_or(|tools| !tools.is_empty()));
        }
        AgentCommand::Message { agent, text, .. } => {
            assert!(
                agent.chars().count() <= limits::NAME_CHARS_MAX && text.len() <= limits::MESSAGE_BYTES_MAX
            );
        }
        AgentCommand::Wait { agents, timeout_ms, .. } => {
            assert!(agents.len() <= limits::WAIT_AGENTS_MAX);
            assert!(timeout_ms.is_none_or(|ms| ms <= limits::WAIT_MS_MAX));
        }
        AgentCommand::Run(run) => {
            assert!(serde_json::from_str::<Value>(&run.arguments).is_ok_and(|value| value.is_object()));
        }
        _ => {}
    }
}

const FIELDS: &[&str] = &[
    "action",
    "prompt",
    "task",
    "role",
    "type",
    "title",
    "description",
    "name",
    "context",
    "context_files",
    "context_turns",
    "success_criteria",
    "deliverables",
    "model",
    "endpoint",
    "max_turns",
    "max_tokens",
    "max_time_s",
    "max_cost_usd",
    "allowed_tools",
    "agent",
    "agents",
    "message",
    "interrupt",
    "until",
    "timeout_s",
    "timeout_ms",
    "page",
    "background",
    "fork_context",
    "handle",
    "offset",
    "length",
    "from",
    "to",
    "count",
    "jsonpath",
    "slice",
    "range",
    "id",
    "after",
    "command",
    "arguments",
    "wait",
];

fn json_value() -> impl Strategy<Value = Value> {
    let word = prop_oneof![
        Just("start"),
        Just("wait"),
        Just("all"),
        Just("add"),
        Just("fork"),
        Just("a,b"),
        Just("[1,2]"),
        Just("{}"),
        Just("true"),
        Just("-1"),
        Just("1e400"),
        Just("task:explore --prompt x"),
        Just("\u{202e}\u{0}"),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        word.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((field(), inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn field() -> impl Strategy<Value = String> {
    prop_oneof![4 => proptest::sample::select(FIELDS).prop_map(str::to_owned), 1 => any::<String>()]
}

fn arguments() -> impl Strategy<Value = Value> {
    proptest::collection::vec((field(), json_value()), 0..8)
        .prop_map(|fields| Value::Object(fields.into_iter().collect()))
}

/// Command lines out of pieces that mean something to a shell.
fn line() -> impl Strategy<Value = String> {
    let piece = proptest::sample::select(vec![
        "task:explore",
        "task:skill:search",
        "skill:load",
        "handle:read",
        "read",
        "write",
        "edit",
        "grep",
        "todo",
        "fetch",
        "help",
        "--prompt",
        "--content",
        "--old",
        "--help",
        "--",
        "-",
        "-rn",
        "=",
        "x",
        "'",
        "\"",
        "\\",
        "\n",
        "\r\n",
        " ",
        "\t",
        "$",
        "$(",
        "${",
        ")",
        "`",
        "|",
        "||",
        "&",
        "&&",
        ";",
        "<",
        "<<",
        "<<<",
        "<<'EOF'",
        "<<-E",
        "EOF",
        "\nEOF\n",
        "$(cat <<'EOF'\n",
        ">",
        "2>&1",
        "#",
        "é",
        "探",
        "\u{0}",
        "=====",
        "*",
        "~",
        "{",
        "}",
    ]);
    proptest::collection::vec((piece, any::<bool>()), 0..24).prop_map(|pieces| {
        pieces.into_iter().map(|(piece, space)| format!("{piece}{}", if space { " " } else { "" })).collect()
    })
}

proptest! {
    #![proptest_config(Config { cases: 500, failure_persistence: None, ..Config::default() })]

    #[test]
    fn any_bytes(text in any::<String>()) {
        survive(&text);
    }

    #[test]
    fn any_json(value in arguments()) {
        survive(&value.to_string());
    }

    /// Whatever stands in single quotes is text and nothing else.
    #[test]
    fn quoted_text_is_text(text in any::<String>()) {
        let quoted = text.replace('\'', "'\\''");
        let lines = [format!("echo '{quoted}'"), format!("git commit -m '{quoted}'")];
        for line in lines {
            let routed = parse_routed(&call("bash", &json!({"command": line}).to_string())).unwrap();
            assert_eq!(routed.name, "bash", "{line:?}");
        }
        let line = format!("task:explore --prompt '{quoted}x'");
        let routed = parse_routed(&call("bash", &json!({"command": line}).to_string())).unwrap();
        let AgentCommand::Start { task, .. } = routed.command else { panic!("not started: {line:?}") };
        assert_eq!(task.prompt, format!("{text}x"));
    }
}

/// How the lines begin: some are ours, and some only look like it.
const FIRST: &[&str] = &[
    "",
    "task:explore --prompt x ",
    "task:explore ",
    "read a ",
    "write a ",
    "edit a ",
    "grep x ",
    "todo a ",
    "ls ",
];

proptest! {
    #![proptest_config(Config { cases: 5_000, failure_persistence: None, ..Config::default() })]

    #[test]
    fn any_line(first in proptest::sample::select(FIRST), line in line()) {
        let line = format!("{first}{line}");
        let routed = parse_routed(&call("bash", &json!({"command": line}).to_string()));
        if let Ok(routed) = routed {
            within(&routed.command);
            // What the real shell gets is what was written, to the byte.
            if routed.name == "bash" {
                let AgentCommand::Run(run) = routed.command else { panic!("not run: {line:?}") };
                let arguments: Value = serde_json::from_str(&run.arguments).unwrap();
                assert_eq!((run.name.as_str(), arguments["command"].as_str()), ("shell", Some(line.as_str())));
            }
        }
    }
}

#[test]
fn cut_off_arguments_do_nothing() {
    let whole =
        json!({"action": "start", "role": "explore", "prompt": "Go \"there\" é", "max_turns": 5}).to_string();
    let mut count = 0;
    for end in (1..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
        let said = Surface::Agent.parse(&call("agent", &whole[..end]), false).unwrap_err();
        assert!(said.starts_with("The arguments are not valid JSON ("), "{said}");
        count += 1;
    }
    assert_eq!(count, 74);
}

#[test]
fn large_and_deep_arguments() {
    let cases = [
        "[".repeat(30_000),
        format!("{{\"prompt\": {}", "{\"a\":".repeat(30_000)),
        format!("{{\"prompt\": \"{}\"}}", "x".repeat(limits::ARGUMENTS_BYTES_MAX)),
        format!("{{\"{}\": 1}}", "k".repeat(30_000)),
        json!({"action": "x".repeat(200_000)}).to_string(),
        json!({"prompt": "Go", "max_turns": "9".repeat(200_000)}).to_string(),
        json!({"prompt": "Go", "context_files": ["f".repeat(200_000)]}).to_string(),
        json!({"prompt": "Go", "context_files": ",".repeat(200_000)}).to_string(),
        json!({"command": format!("task:{} --prompt x", "a".repeat(200_000))}).to_string(),
        json!({"command": format!("task:explore --{} x", "a".repeat(200_000))}).to_string(),
        json!({"command": "task:explore; ".repeat(30_000)}).to_string(),
        json!({"command": "echo x; ".repeat(30_000)}).to_string(),
        json!({"command": "\n#\n".repeat(30_000)}).to_string(),
        json!({"command": format!("echo {}", "\n\n".repeat(30_000))}).to_string(),
        json!({"command": format!("echo {}x", "\n #\n".repeat(20_000))}).to_string(),
        json!({"command": "x <<A\n".repeat(30_000)}).to_string(),
        json!({"command": "x <<A ".repeat(30_000)}).to_string(),
        json!({"command": ";".repeat(200_000)}).to_string(),
        json!({"command": "<<'".repeat(60_000)}).to_string(),
        json!({"command": format!("task:explore {}", "x ".repeat(100_000))}).to_string(),
        format!("{{{}\"z\": 1}}", (0..10_000).map(|n| format!("\"promp{n}\": 1, ")).collect::<String>()),
        json!({"command": format!("\"{}", "$(cat <<A\n".repeat(20_000))}).to_string(),
    ];
    assert_eq!(cases.len(), 22);
    for arguments in cases {
        survive(&arguments);
    }
}
