//! What holds on every surface: other agents' names of arguments, refusals, advice.

use posse_testkit::Turn;
use serde_json::json;

use super::{Play, Row, holds};
use crate::dialects::{SURFACES, bash};

/// A start in the words of other agents, and one with an argument that nobody knows.
fn rows(surface: &str) -> Vec<Row> {
    let report: &[&str] = &["I looked at it and it is fine."];
    let call = |tool: &str, arguments| (Turn::call(tool, arguments), report);
    let wrong = |tool: &str, arguments| {
        (Turn::call(tool, arguments), &["There is no argument `readonly`.", " takes: "] as &[&str])
    };
    match surface {
        "agent" | "task" => vec![
            call("agent", json!({"subagent_type": "explore", "run_in_background": false, "task": "Look."})),
            call("Task", json!({"agent_type": "explorer", "is_background": false, "instructions": "Look."})),
            wrong("agent", json!({"prompt": "Look.", "readonly": true})),
        ],
        "sessions" => vec![
            call("agent_open", json!({"subagent_type": "explore", "wait": true, "task": "Look."})),
            wrong("agent_open", json!({"prompt": "Look.", "readonly": true})),
        ],
        "spawn" => vec![
            call("spawn_task", json!({"prompt": "Look.", "max_turns": 3, "files": ["main.py"]})),
            wrong("spawn_task", json!({"task": "Look.", "readonly": true})),
        ],
        "delegate" => vec![
            call("delegate_to_agent", json!({"subagent_type": "coder", "prompt": "Look."})),
            wrong("delegate_to_agent", json!({"role": "coder", "task": "Look.", "readonly": true})),
        ],
        _ => vec![
            (bash("task:explore -p Look. --max-iterations 3 --title look"), report),
            (bash("task:explore -p Look. --readonly"), &["--readonly", "Usage: task:ROLE"]),
        ],
    }
}

#[test]
fn other_names_are_understood_what_is_unknown_is_refused_and_advice_fits() {
    for surface in SURFACES {
        let played = Play::new(vec![("main", rows(surface))]).run(&["--surface", surface]);
        let refused = 1;
        assert_eq!(played.agents().len() - 1, rows(surface).len() - refused, "{surface}: nothing else began");
        let advice = match surface {
            "delegate" => "Do not delegate",
            "agent" | "sessions" => "Reports arrive by themselves; never poll.",
            _ => "The report is the call's result",
        };
        holds(&played.system_of("main"), &[advice]);
        assert_eq!(
            played.system_of("main").contains("a decided change"),
            !matches!(surface, "spawn" | "delegate"),
            "{surface}"
        );
    }
}
