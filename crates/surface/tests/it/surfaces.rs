//! The surfaces by name, and which tools belong to which.

use posse_protocol::Needs;
use posse_surface::{Offer, Surface};

use crate::{OFFER, call};

const ALL: [Surface; 6] =
    [Surface::Agent, Surface::Sessions, Surface::Task, Surface::Spawn, Surface::Delegate, Surface::Shell];

#[test]
fn names_go_both_ways() {
    let names = ["agent", "sessions", "task", "spawn", "delegate", "shell"];
    for (name, surface) in names.iter().zip(ALL) {
        assert_eq!(name.parse(), Ok(surface));
        assert_eq!(surface.to_string(), *name);
        assert_eq!(serde_json::to_string(&surface).unwrap(), format!("\"{name}\""));
        assert_eq!(serde_json::from_str::<Surface>(&format!("\"{name}\"")).unwrap(), surface);
    }
    assert_eq!(Surface::default(), Surface::Agent);
    let unknown = "Agents".parse::<Surface>().unwrap_err().to_string();
    assert_eq!(
        unknown,
        "there is no surface \"Agents\"; choose one of agent, sessions, task, spawn, delegate, shell"
    );
}

#[test]
fn each_offers_its_tools() {
    let cases: [(Surface, &[&str], &[&str]); 6] = [
        (Surface::Agent, &["agent", "handle_read"], &["handle_read"]),
        (Surface::Sessions, &["agent_open", "agent_eval", "agent_close", "handle_read"], &["handle_read"]),
        (Surface::Task, &["agent", "handle_read"], &["handle_read"]),
        (Surface::Spawn, &["spawn_task", "handle_read"], &["handle_read"]),
        (Surface::Delegate, &["delegate_to_agent", "handle_read"], &["handle_read"]),
        (Surface::Shell, &["bash"], &["bash"]),
    ];
    for (surface, may, may_not) in cases {
        for (may_delegate, team, expected) in
            [(true, false, may), (false, false, may_not), (true, true, may), (false, true, may_not)]
        {
            let tools = surface.tools(&Offer { may_delegate, team, ..OFFER });
            let mut expected = expected.to_vec();
            if team {
                expected.extend(["send_message", "board"]);
            }
            let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
            assert_eq!(names, expected, "{surface}, delegates {may_delegate}, team {team}");
            for tool in &tools {
                assert!(surface.owns(&tool.name, team), "{surface} offers {} and does not own it", tool.name);
                assert_eq!(tool.needs, Needs::default());
                assert_eq!(tool.schema["type"], "object");
                assert!(tool.schema["properties"].is_object());
            }
        }
    }
}

#[test]
fn each_owns_its_tools_and_their_other_names() {
    let owned: [(Surface, &[&str]); 6] = [
        (
            Surface::Agent,
            &[
                "agent",
                "Agent",
                "Task",
                "task",
                "spawn_agent",
                "wait_agent",
                "send_input",
                "send_message",
                "followup_task",
                "list_agents",
                "cancel_agent",
                "close_agent",
                "handle_read",
            ],
        ),
        (Surface::Sessions, &["agent_open", "agent_eval", "agent_close", "handle_read"]),
        (Surface::Task, &["agent", "Agent", "Task", "task", "handle_read"]),
        (Surface::Spawn, &["spawn_task", "handle_read"]),
        (Surface::Delegate, &["delegate_to_agent", "handle_read"]),
        (Surface::Shell, &["bash", "Bash", "shell"]),
    ];
    let foreign =
        ["read_file", "write_file", "shell_command", "agents", "", "agent_", "board", "AGENT_OPENED"];
    for (surface, names) in owned {
        for name in names {
            assert!(surface.owns(name, false), "{surface} does not own {name}");
        }
        for name in foreign {
            assert!(!surface.owns(name, false), "{surface} owns {name}");
        }
        for name in ["send_message", "board"] {
            assert!(surface.owns(name, true), "{surface} does not own {name} in a team");
        }
    }
}

#[test]
fn a_foreign_tool_is_told_what_there_is() {
    let said = Surface::Sessions.parse(&call("spawn_task", "{}"), false).unwrap_err();
    assert_eq!(
        said,
        "There is no tool `spawn_task` here. Available: agent_open, agent_eval, agent_close, handle_read."
    );
}

#[test]
fn some_wait() {
    let blocking: Vec<Surface> = ALL.into_iter().filter(|surface| surface.blocks()).collect();
    assert_eq!(blocking, [Surface::Task, Surface::Spawn, Surface::Delegate, Surface::Shell]);
}
