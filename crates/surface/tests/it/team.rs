//! The tools of a team, on every surface.

use posse_surface::{AgentCommand, BoardCommand, Surface};
use serde_json::{Value, json};

use crate::call;

const ALL: [Surface; 6] =
    [Surface::Agent, Surface::Sessions, Surface::Task, Surface::Spawn, Surface::Delegate, Surface::Shell];

fn parse(surface: Surface, tool: &str, arguments: &Value) -> Result<AgentCommand, String> {
    surface.parse(&call(tool, &arguments.to_string()), true)
}

#[test]
fn messages() {
    let tell = |to: Option<&str>| AgentCommand::Tell { to: to.map(str::to_owned), text: "hello".into() };
    let cases = [
        (json!({"to": "scout", "message": "hello"}), tell(Some("scout"))),
        (json!({"target": "scout", "text": "hello"}), tell(Some("scout"))),
        (json!({"to": "all", "message": "hello"}), tell(None)),
        (json!({"to": "ALL", "message": "hello"}), tell(None)),
        (json!({"to": "*", "message": "hello"}), tell(None)),
    ];
    let mut count = 0;
    for surface in ALL {
        for (arguments, expected) in &cases {
            assert_eq!(
                parse(surface, "send_message", arguments).as_ref(),
                Ok(expected),
                "{surface} {arguments}"
            );
            count += 1;
        }
    }
    assert_eq!(count, 30);
}

#[test]
fn the_board() {
    let add = |after: &[u32]| BoardCommand::Add { title: "write it".into(), after: after.to_vec() };
    let cases = [
        (json!({"action": "add", "title": "write it"}), add(&[])),
        (json!({"action": "add", "title": "write it", "after": [1, 2]}), add(&[1, 2])),
        (json!({"action": "add", "title": "write\nit", "after": "1,2"}), add(&[1, 2])),
        (json!({"action": "add", "title": "write it", "after": 3}), add(&[3])),
        (json!({"action": "claim"}), BoardCommand::Claim { id: None }),
        (json!({"action": "claim", "id": 4}), BoardCommand::Claim { id: Some(4) }),
        (json!({"action": "done", "id": "4"}), BoardCommand::Done { id: 4 }),
        (json!({"action": "release", "id": 4}), BoardCommand::Release { id: 4 }),
        (json!({"action": "list"}), BoardCommand::List),
    ];
    assert_eq!(cases.len(), 9);
    for surface in ALL {
        for (arguments, expected) in &cases {
            let got = parse(surface, "board", arguments);
            assert_eq!(got, Ok(AgentCommand::Board(expected.clone())), "{surface} {arguments}");
        }
    }
}

#[test]
fn errors_say_what_is_accepted() {
    let cases = [
        ("send_message", json!({"message": "hello"}), "`to` is missing."),
        ("send_message", json!({"to": "scout"}), "`message` is missing."),
        ("board", json!({}), "`action` is missing."),
        ("board", json!({"action": "drop"}), "Accepted: add, claim, done, release, list."),
        ("board", json!({"action": "done"}), "`id` is missing."),
        ("board", json!({"action": "add"}), "`title` is missing."),
        (
            "board",
            json!({"action": "add", "title": "x", "after": ["first"]}),
            "`after` must be an array of whole numbers",
        ),
    ];
    assert_eq!(cases.len(), 7);
    for (tool, arguments, part) in cases {
        let said = parse(Surface::Agent, tool, &arguments).unwrap_err();
        assert!(said.contains(part) && said.contains(&format!("{tool} takes: ")), "{arguments}: {said}");
    }
}

#[test]
fn without_a_team_there_are_none() {
    for surface in ALL {
        assert!(surface.parse(&call("board", "{\"action\": \"list\"}"), false).is_err(), "{surface}");
    }
}
