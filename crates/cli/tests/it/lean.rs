//! The lean profile: little is said and offered to a small model; what it may do is the same.

use posse_testkit::{Fixture, Turn};
use serde_json::{Value, json};

use crate::dialects::start;
use crate::posse::Person;

/// Tokens of prompt and tools together, by the rule of thumb of four bytes each.
const LEAN_TOKENS_MAX: usize = 700;

/// The settings of one model, and what comes before and after its section.
fn configured(person: &Person, protocol: &str, before: &str, of_model: &str, after: &str) {
    let endpoint = person.model.base_url();
    person.configure(&format!(
        "{before}\n[models.fake]\nendpoint = \"{endpoint}\"\nprotocol = \"{protocol}\"\nmodel = \"m\"\n{of_model}\n{after}\n"
    ));
}

fn tool_names(request: &Value) -> Vec<String> {
    let name = |tool: &Value| tool["function"]["name"].as_str().or(tool["name"].as_str()).map(str::to_owned);
    request["tools"].as_array().unwrap().iter().filter_map(name).collect()
}

const FEW: [&str; 5] = ["read_file", "write_file", "edit_file", "grep", "shell"];

#[test]
fn the_lean_profile_is_small_on_every_protocol() {
    for protocol in ["chat", "responses", "anthropic"] {
        let person = Person::with_project([Turn::text("ok")], Fixture::new());
        configured(&person, protocol, "", "context_window = 8192", "[rights]\nnetwork = \"full\"");
        person.posse(&["run", "go"]);
        let request = &person.model.requests()[0];
        // The whole request, so also what wraps prompt and tools.
        let bytes = request.body.len();
        assert!(bytes / 4 <= LEAN_TOKENS_MAX, "{protocol}: {bytes} bytes are {} tokens", bytes / 4);
        assert_eq!(tool_names(&request.json()), FEW, "{protocol}");
    }
}

#[test]
fn windows_and_settings_choose_the_profile_and_delegation_only_where_it_is_configured() {
    let cases = [
        ("", "context_window = 16384", "", true, false),
        ("", "context_window = 16385", "", false, true),
        ("", "", "", false, true),
        ("", "context_window = 8192\nprofile = \"full\"", "", false, true),
        ("", "profile = \"lean\"", "", true, false),
        ("profile = \"lean\"", "", "", true, false),
        ("profile = \"lean\"", "profile = \"full\"", "", false, true),
        ("profile = \"full\"", "context_window = 8192", "", false, true),
        ("", "profile = \"lean\"", "[sub_agents]\nenabled = true", true, true),
        ("", "profile = \"lean\"", "[sub_agents]\nmax_depth = 1", true, true),
        ("", "profile = \"lean\"", "[sub_agents]\nenabled = false", true, false),
    ];
    let person = Person::with_project(cases.map(|_| Turn::text("ok")), Fixture::new());
    for (nth, (before, of_model, after, lean, delegates)) in cases.into_iter().enumerate() {
        configured(&person, "chat", before, of_model, after);
        person.posse(&["run", "go"]);
        let names = tool_names(&person.model.requests()[nth].json());
        let told = format!("{before:?} {of_model:?} {after:?}: {names:?}");
        assert_eq!(!names.iter().any(|name| name == "glob"), lean, "{told}");
        assert_eq!(names.iter().any(|name| name == "agent"), delegates, "{told}");
        assert!(FEW.iter().all(|few| names.iter().any(|name| name == few)), "{told}");
    }
}

#[test]
fn what_is_not_offered_can_still_be_called_and_rights_are_the_same() {
    let fixture = Fixture::new();
    let turns = [
        Turn::call("list_files", json!({})),
        Turn::call("write_file", json!({"path": "new.txt", "content": "x"})),
        Turn::text("ok"),
    ];
    let person = Person::with_project(turns, fixture);
    configured(&person, "chat", "", "profile = \"lean\"", "[rights]\nfiles = \"read\"\nshell = \"none\"");
    person.posse(&["run", "go"]);
    let requests = person.model.requests();
    assert_eq!(tool_names(&requests[0].json()), ["read_file", "grep"]);
    let results: Vec<String> = requests[2].json()["messages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["content"].as_str().unwrap().to_owned())
        .collect();
    assert!(!results[0].contains("There is no tool"), "{results:?}");
    assert!(results[1].contains("write_file"), "{results:?}");
}

#[test]
fn with_delegation_it_is_small_on_every_surface_for_main_and_sub_agents() {
    let cases = crate::dialects::SURFACES.map(|surface| (surface, "chat"));
    let cases = cases.into_iter().chain([("agent", "responses"), ("agent", "anthropic")]);
    let mut measured = 0;
    for (surface, protocol) in cases {
        let turns = [start(surface, "ann", "Look."), Turn::text("It is fine."), Turn::text("ok")];
        let person = Person::with_project(turns, Fixture::new());
        configured(&person, protocol, "", "profile = \"lean\"", "[sub_agents]\nenabled = true");
        let ran = person.posse(&["run", "--surface", surface, "go"]);
        assert_eq!(ran.code, Some(0), "{surface}: {ran:#?}");
        let requests = person.model.requests();
        assert_eq!(requests.len(), 3, "{surface}: {ran:#?}");
        for request in &requests[..2] {
            let tokens = request.body.len() / 4;
            assert!(tokens <= LEAN_TOKENS_MAX, "{surface}, {protocol}: {tokens} tokens");
            measured += 1;
        }
        let mut expected = FEW.to_vec();
        expected.push(match surface {
            "sessions" => "agent_open",
            "spawn" => "spawn_task",
            "delegate" => "delegate_to_agent",
            _ => "agent",
        });
        if surface == "shell" {
            expected = vec!["bash"];
        }
        assert_eq!(tool_names(&requests[0].json()), expected, "{surface}");
        assert!(requests[2].json().to_string().contains("It is fine."), "{surface}: the report arrives");
    }
    assert_eq!(measured, 16);
}

#[test]
fn edits_forgive_what_cannot_be_meant_otherwise_and_refusals_show_what_was_meant() {
    let edit = |old: &str, new: &str| {
        let arguments = json!({"path": "add.py", "old_text": old, "new_text": new});
        [
            Turn::call("read_file", json!({"path": "add.py"})),
            Turn::call("edit_file", arguments),
            Turn::text("ok"),
        ]
    };
    let before = "def add(a, b):\n    return a - b\n";
    let after = "def add(a, b):\n    return a + b\n";
    let cases = [
        (edit("2\t    return a - b", "2\t    return a + b"), after, "; line numbers left out"),
        (
            edit("def add(a,  b):\n  return a - b", "def add(a,  b):\n  return a + b"),
            after,
            "; white space differed",
        ),
        (edit("return a * b", "x"), before, "The closest is:\n    return a - b\nCall edit_file again"),
    ];
    for (turns, left, said) in cases {
        let person = Person::with_project(turns, Fixture::new().file("add.py", before));
        configured(&person, "chat", "", "profile = \"lean\"", "");
        person.posse(&["run", "go"]);
        assert_eq!(person.file("add.py"), left, "{said}");
        let last = person.model.requests()[2].json()["messages"].as_array().unwrap().last().unwrap().clone();
        assert!(last["content"].as_str().unwrap().contains(said), "{said}: {last}");
    }
}
