//! What the first request weighs: prompts and tools are paid for at every turn.

use posse_testkit::{Fixture, Turn};

use crate::posse::Person;

/// Tokens, by the rule of thumb of four bytes each.
const FIRST_REQUEST_TOKENS_MAX: usize = 2500;

#[test]
fn the_first_request_is_small_on_every_protocol() {
    for protocol in ["chat", "responses", "anthropic"] {
        let person = Person::with_project([Turn::text("ok")], Fixture::new());
        let endpoint = person.model.base_url();
        person.configure(&format!(
            "[models.fake]\nendpoint = \"{endpoint}\"\nprotocol = \"{protocol}\"\nmodel = \"m\"\n[rights]\nnetwork = \"full\"\n"
        ));
        person.posse(&["run", "go"]);
        let bytes = person.model.requests()[0].body.len();
        assert!(bytes / 4 <= FIRST_REQUEST_TOKENS_MAX, "{protocol}: {bytes} bytes are {} tokens", bytes / 4);
    }
}

/// Bytes of the first request of a session that can delegate, in a repository, on Chat Completions.
const WITH_SUB_AGENTS_BYTES_MAX: usize = 7_800;

#[test]
fn the_first_request_with_sub_agents_is_small() {
    let person = Person::new([Turn::text("ok")]);
    assert_eq!(person.posse(&["run", "go"]).code, Some(0));
    let request = &person.model.requests()[0];
    let body = request.json();
    let tools = body["tools"].as_array().unwrap();
    let names = tools.iter().map(|tool| &tool["function"]["name"]).collect::<Vec<_>>();
    for name in ["read_file", "edit_file", "shell", "todo", "ask_person", "remember", "agent", "handle_read"]
    {
        assert!(names.iter().any(|one| *one == name), "{name} is not among {names:?}");
    }
    let bytes = request.body.len();
    assert!(bytes <= WITH_SUB_AGENTS_BYTES_MAX, "{bytes} bytes");
}
