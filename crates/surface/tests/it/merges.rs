//! Checkouts of their own and merging, on every surface: the same words, offered only where they are of use.

use posse_protocol::Isolation;
use posse_surface::{AgentCommand, Offer, Surface};
use serde_json::json;

use crate::{OFFER, call, parse};

const ALL: [Surface; 6] =
    [Surface::Agent, Surface::Sessions, Surface::Task, Surface::Spawn, Surface::Delegate, Surface::Shell];

/// How each surface starts an agent, `WHERE` standing for where it works.
fn start(surface: Surface) -> (&'static str, &'static str) {
    match surface {
        Surface::Agent => ("agent", r#"{"prompt":"Go","isolation":"WHERE"}"#),
        Surface::Sessions => ("agent_open", r#"{"prompt":"Go","isolation":"WHERE"}"#),
        Surface::Task => ("agent", r#"{"description":"Go","prompt":"Go","isolation":"WHERE"}"#),
        Surface::Spawn => ("spawn_task", r#"{"task":"Go","isolation":"WHERE"}"#),
        Surface::Delegate => ("delegate_to_agent", r#"{"role":"coder","task":"Go","isolation":"WHERE"}"#),
        Surface::Shell => ("bash", r#"{"command":"task:coder --prompt Go --isolation WHERE"}"#),
    }
}

#[test]
fn every_surface_starts_agents_in_their_own_checkout() {
    let wanted = [
        ("shared", Some(Isolation::Shared)),
        ("worktree", Some(Isolation::Worktree)),
        ("Worktree", Some(Isolation::Worktree)),
    ];
    let mut count = 0;
    for surface in ALL {
        let (tool, arguments) = start(surface);
        for (word, isolation) in wanted {
            let parsed = surface.parse(&call(tool, &arguments.replace("WHERE", word)), false);
            let Ok(AgentCommand::Start { task, .. }) = parsed else { panic!("{surface}: {parsed:?}") };
            assert_eq!(task.isolation, isolation, "{surface}: {word}");
            count += 1;
        }
        let wrong = surface.parse(&call(tool, &arguments.replace("WHERE", "moon")), false).unwrap_err();
        assert!(wrong.contains("Accepted: shared, worktree."), "{surface}: {wrong}");
    }
    assert_eq!(count, 18);
}

#[test]
fn every_surface_merges() {
    let merge = AgentCommand::Merge { agent: "coder-1".to_owned() };
    let cases = [
        (Surface::Agent, "agent", json!({"action": "merge", "agent": "coder-1"})),
        (Surface::Agent, "agent", json!({"action": "merge", "agents": ["coder-1"]})),
        (Surface::Agent, "merge_agent", json!({"target": "coder-1"})),
        (Surface::Agent, "agent_merge", json!({"agent": "coder-1"})),
        (Surface::Sessions, "agent_merge", json!({"agent": "coder-1"})),
        (Surface::Sessions, "agent_merge", json!({"name": "coder-1"})),
        (Surface::Task, "Agent_Merge", json!({"agent": "coder-1"})),
        (Surface::Spawn, "agent_merge", json!({"agent_id": "coder-1"})),
        (Surface::Delegate, "agent_merge", json!({"agent": "coder-1"})),
        (Surface::Shell, "bash", json!({"command": "task:merge coder-1"})),
    ];
    assert_eq!(cases.len(), 10);
    for (surface, tool, arguments) in cases {
        assert_eq!(parse(surface, tool, &arguments), Ok(merge.clone()), "{surface} {tool} {arguments}");
    }
}

#[test]
fn a_wrong_merge_is_told_what_is_missing() {
    let cases = [
        (Surface::Agent, "agent", json!({"action": "merge"}), "`agent` is missing."),
        (Surface::Task, "agent_merge", json!({}), "`agent` is missing. agent_merge takes: agent (required)."),
        (Surface::Spawn, "agent_merge", json!({"agent": ["a", "b"]}), "`agent` has more than 1 entries."),
        (Surface::Delegate, "agent_merge", json!({"agent": "n".repeat(41)}), "longer than 40 characters"),
        (
            Surface::Shell,
            "bash",
            json!({"command": "task:merge"}),
            "The agent is missing. Usage: task:merge NAME",
        ),
        (Surface::Shell, "bash", json!({"command": "task:merge a b"}), "\"b\" belongs to nothing"),
        (Surface::Shell, "bash", json!({"command": "task:merge a && ls"}), "the only command of its call"),
    ];
    assert_eq!(cases.len(), 7);
    for (surface, tool, arguments, part) in cases {
        let said = parse(surface, tool, &arguments).unwrap_err();
        assert!(said.contains(part), "{surface} {arguments}: {said}");
    }
}

#[test]
fn merging_is_offered_only_where_there_is_something_to_merge() {
    let mut count = 0;
    for surface in ALL {
        for (merges, may_delegate) in [(false, false), (false, true), (true, false), (true, true)] {
            let tools = surface.tools(&Offer { merges, may_delegate, ..OFFER });
            let told = serde_json::to_string(&tools).unwrap();
            assert_eq!(told.contains("merge"), merges && may_delegate, "{surface}: {told}");
            let advertised = merges && may_delegate && matches!(surface, Surface::Agent | Surface::Sessions);
            assert_eq!(told.contains("isolation"), advertised, "{surface}: {told}");
            for tool in &tools {
                assert!(surface.owns(&tool.name, false), "{surface} does not own {}", tool.name);
            }
            count += 1;
        }
    }
    assert_eq!(count, 24);
}
