//! Arguments on every surface: names from elsewhere are understood, what nobody understands refuses the call.

use posse_surface::{AgentCommand, Join, Surface};
use serde_json::{Value, json};

use crate::{call, parse};

/// The tools that start an agent.
const STARTS: [(Surface, &str); 5] = [
    (Surface::Agent, "agent"),
    (Surface::Sessions, "agent_open"),
    (Surface::Task, "agent"),
    (Surface::Spawn, "spawn_task"),
    (Surface::Delegate, "delegate_to_agent"),
];

#[test]
fn names_from_other_agents_mean_the_same_everywhere() {
    let whole = json!({"prompt": "Go", "description": "go there", "role": "explore", "background": true,
        "context_files": ["a.rs"], "max_turns": 5, "system_prompt": "Be strict."});
    let names: [(&str, &[&str]); 7] = [
        ("prompt", &["task", "message", "instructions", "input", "objective", "goal", "instruction"]),
        ("description", &["title", "label"]),
        ("role", &["type", "subagent_type", "agent_type", "subagentType", "agent_name", "agent_role"]),
        ("background", &["run_in_background", "runInBackground", "async", "is_background"]),
        ("context_files", &["files", "contextFiles", "file_paths"]),
        ("max_turns", &["max_iterations", "max_steps", "maxTurns"]),
        ("system_prompt", &["systemPrompt", "system", "system_message"]),
    ];
    let mut count = 0;
    for (surface, tool) in STARTS {
        let expected = parse(surface, tool, &whole).unwrap();
        assert!(matches!(expected, AgentCommand::Start { join: Join::Background, .. }), "{expected:?}");
        for (name, others) in names {
            for other in others {
                let mut arguments = whole.as_object().unwrap().clone();
                let value = arguments.shift_remove(name).unwrap();
                arguments.insert((*other).to_owned(), value);
                let got = parse(surface, tool, &Value::Object(arguments));
                assert_eq!(got.as_ref(), Ok(&expected), "{surface}: {other}");
                count += 1;
            }
        }
        let waits = json!({"prompt": "Go", "role": "explore", "wait": true});
        assert!(matches!(parse(surface, tool, &waits), Ok(AgentCommand::Start { join: Join::Blocking, .. })));
    }
    assert_eq!(count, 140);
}

#[test]
fn what_nobody_understands_refuses_the_call_and_says_what_is_accepted() {
    let calls: [(Surface, &str, Value, &[&str]); 12] = [
        (
            Surface::Agent,
            "agent",
            json!({"prompt": "Go"}),
            &["agent takes: action, role, prompt", "max_cost_usd"],
        ),
        (Surface::Agent, "spawn_agent", json!({"message": "Go"}), &["agent takes: action, role", "name"]),
        (Surface::Agent, "agent", json!({"action": "wait"}), &["agent takes: action, role, prompt"]),
        (Surface::Agent, "agent", json!({"action": "cancel", "agent": "a"}), &["agent takes: action"]),
        (
            Surface::Sessions,
            "agent_open",
            json!({"prompt": "Go"}),
            &["agent_open takes: name, prompt (required)"],
        ),
        (Surface::Sessions, "agent_eval", json!({"name": "a"}), &["agent_eval takes: name, message"]),
        (Surface::Sessions, "agent_close", json!({"name": "a"}), &["agent_close takes: name (required)"]),
        (
            Surface::Task,
            "agent",
            json!({"prompt": "Go"}),
            &["takes: description (required), prompt", "background"],
        ),
        (Surface::Spawn, "spawn_task", json!({"task": "Go"}), &["spawn_task takes: task (required)", "role"]),
        (
            Surface::Delegate,
            "delegate_to_agent",
            json!({"role": "coder", "task": "Go"}),
            &["takes: role (required)"],
        ),
        (Surface::Spawn, "agent_merge", json!({"agent": "a"}), &["agent_merge takes: agent (required)"]),
        (Surface::Shell, "bash", json!({"command": "ls"}), &["bash takes: command (required), timeout_ms"]),
    ];
    // Things that change what is done, under names of other agents that mean nothing here.
    let unknown = [
        ("readonly", json!(true)),
        ("mode", json!("bypassPermissions")),
        ("disallowed_tools", json!(["shell"])),
        ("cwd", json!("/tmp")),
        ("resume", json!("explore-1")),
        ("zero", json!(0)),
        ("no", json!(false)),
        ("object", json!({})),
    ];
    let mut count = 0;
    for (surface, tool, arguments, parts) in calls {
        parse(surface, tool, &arguments).unwrap();
        for (name, value) in &unknown {
            let mut arguments = arguments.as_object().unwrap().clone();
            arguments.insert((*name).to_owned(), value.clone());
            let said = parse(surface, tool, &Value::Object(arguments.clone())).unwrap_err();
            assert!(said.starts_with(&format!("There is no argument `{name}`")), "{surface} {tool}: {said}");
            assert!(parts.iter().all(|part| said.contains(part)), "{surface} {tool}: {said}");
            // Left out is left out.
            for empty in [json!(null), json!(""), json!([])] {
                arguments.insert((*name).to_owned(), empty);
                assert!(parse(surface, tool, &Value::Object(arguments.clone())).is_ok(), "{surface} {name}");
            }
            count += 1;
        }
    }
    assert_eq!(count, 96);
    let near = parse(Surface::Agent, "agent", &json!({"prompt": "Go", "context_filse": ["a"]})).unwrap_err();
    assert!(
        near.starts_with("There is no argument `context_filse`; did you mean `context_files`?"),
        "{near}"
    );
}

#[test]
fn the_shell_takes_what_other_shells_take() {
    let run = |arguments: Value| match Surface::Shell.parse(&call("bash", &arguments.to_string()), false) {
        Ok(AgentCommand::Run(run)) => serde_json::from_str::<Value>(&run.arguments).unwrap(),
        other => panic!("{other:?}"),
    };
    let asked =
        json!({"command": "make", "description": "Builds it", "timeout": 5, "run_in_background": true});
    assert_eq!(run(asked), json!({"command": "make", "timeout_ms": 5, "background": true}));
    // A command of ours has a flag for that.
    let ours = json!({"command": "task:explore --prompt x", "run_in_background": true});
    let said = Surface::Shell.parse(&call("bash", &ours.to_string()), false).unwrap_err();
    assert!(said.starts_with("There is no argument `run_in_background`"), "{said}");
}

#[test]
fn surfaces_differ_in_depth_and_width() {
    let all =
        [Surface::Agent, Surface::Sessions, Surface::Task, Surface::Spawn, Surface::Delegate, Surface::Shell];
    let flat: Vec<Surface> = all.into_iter().filter(|surface| !surface.nests()).collect();
    assert_eq!(flat, [Surface::Task, Surface::Spawn]);
    let held: Vec<_> = all.into_iter().filter_map(|s| s.running_max().map(|max| (s, max))).collect();
    assert_eq!(held, [(Surface::Sessions, 20)]);
}
