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
