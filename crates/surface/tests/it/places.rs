//! Agents on other machines, on every surface: the same words, offered only where there are other machines.

use posse_surface::{AgentCommand, Offer, Surface, shell_help};

use crate::{OFFER, call, strings};

const ALL: [Surface; 6] =
    [Surface::Agent, Surface::Sessions, Surface::Task, Surface::Spawn, Surface::Delegate, Surface::Shell];

/// How each surface starts an agent, `WHERE` standing for the machine.
fn start(surface: Surface) -> (&'static str, &'static str) {
    match surface {
        Surface::Agent => ("agent", r#"{"prompt":"Go","on":"WHERE"}"#),
        Surface::Sessions => ("agent_open", r#"{"prompt":"Go","on":"WHERE"}"#),
        Surface::Task => ("agent", r#"{"description":"Go","prompt":"Go","machine":"WHERE"}"#),
        Surface::Spawn => ("spawn_task", r#"{"task":"Go","worker":"WHERE"}"#),
        Surface::Delegate => ("delegate_to_agent", r#"{"role":"coder","task":"Go","host":"WHERE"}"#),
        Surface::Shell => ("bash", r#"{"command":"task:coder --prompt Go --on 'WHERE'"}"#),
    }
}

#[test]
fn every_surface_starts_agents_on_other_machines() {
    let wanted = [
        ("gpu-1", Some("gpu-1")),
        (" gpu  big ", Some("gpu big")),
        ("Anywhere", Some("anywhere")),
        ("home", Some("home")),
        ("", None),
    ];
    let mut count = 0;
    for surface in ALL {
        let (tool, arguments) = start(surface);
        for (word, on) in wanted {
            let parsed = surface.parse(&call(tool, &arguments.replace("WHERE", word)), false);
            let Ok(AgentCommand::Start { task, .. }) = parsed else { panic!("{surface}: {parsed:?}") };
            assert_eq!(task.on.as_deref(), on, "{surface}: {word}");
            count += 1;
        }
        for wrong in ["ssh://gpu", "../x", &"n".repeat(65)] {
            let said = surface.parse(&call(tool, &arguments.replace("WHERE", wrong)), false).unwrap_err();
            assert!(said.contains("write a worker's name or label, anywhere, or home."), "{surface}: {said}");
            count += 1;
        }
    }
    assert_eq!(count, 48);
}

#[test]
fn other_machines_are_offered_only_where_there_are_some() {
    let places = strings(&["gpu-1", "gpu"]);
    let many = (0..21).map(|n| format!("box-{n}")).collect::<Vec<_>>();
    for surface in ALL {
        let tools = |places| {
            let offer = Offer { places, ..OFFER };
            serde_json::to_value(surface.tools(&offer)).unwrap()
        };
        let told = |places| tools(places).to_string();
        assert!(!told(&[]).contains("machine") && !told(&[]).contains("--on"), "{surface}");
        let on = &tools(&places)[0]["schema"]["properties"]["on"];
        match surface {
            Surface::Agent | Surface::Sessions => {
                let words = serde_json::json!(["home", "anywhere", "gpu-1", "gpu"]);
                assert_eq!((&on["enum"], &on["description"]), (&words, &"machine it runs on".into()));
                // A list of some of them would keep the others from being named.
                let on = &tools(&many)[0]["schema"]["properties"]["on"];
                assert!(on["enum"].is_null() && on["description"].is_string(), "{on}");
            }
            Surface::Shell => assert!(told(&places).contains("[--background] [--on PLACE]")),
            _ => assert_eq!(told(&places), told(&[]), "{surface}"),
        }
        assert_eq!(
            surface.lean_tools(&Offer { places: &places, ..OFFER }).len(),
            surface.lean_tools(&OFFER).len()
        );
    }
}

#[test]
fn help_says_where_an_agent_can_run() {
    let places = strings(&["gpu-1", "evil\nname"]);
    let help = |places, about| shell_help(&Offer { places, ..OFFER }, Some(about));
    let said = help(&places, "task:general");
    assert!(
        said.ends_with(" --on PLACE: run it on another machine: gpu-1, evil name, anywhere or home."),
        "{said}"
    );
    assert!(!help(&[], "task:general").contains("--on"));
    assert!(!help(&places, "task:wait").contains("--on"));
}
