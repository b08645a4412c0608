//! A second Posse, as the client: it delegates to the first through `posse mcp serve`.

use posse_testkit::{Fixture, Turn};
use serde_json::json;

use crate::posse::{Person, text};

#[test]
fn a_second_posse_delegates_to_the_first_and_gets_its_report() {
    let write = Turn::call("write_file", json!({ "path": "made.txt", "content": "by the first\n" }));
    let first = Person::new([write, Turn::text("I made made.txt.")]);
    // What a tool may destroy is known once its server has been asked, so the first call only finds that out.
    let call = || Turn::call("mcp__posse__run_task", json!({ "prompt": "Make made.txt" }));
    let second = Person::with_project(
        [call(), call(), Turn::text("The other one did it.")],
        Fixture::new().file("a.py", ""),
    );
    let words = [
        "mcp",
        "serve",
        "--data-dir",
        &text(&first.data_dir()),
        "--config",
        &text(&first.config()),
        "-C",
        &text(first.project.path()),
        "--approval",
        "edit",
    ];
    second.configure_more(&format!(
        "[approval]\nallow = [\"mcp__posse__run_task\"]\n[mcp.posse]\ncommand = {:?}\nargs = {words:?}\nsandbox = false\n",
        env!("CARGO_BIN_EXE_posse")
    ));
    let ran = second.posse(&["run", "--json", "Have it made"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let told = second.model.requests()[2].json()["messages"].to_string();
    assert!(told.contains("I made made.txt.") && told.contains("1 file changed"), "{told}");
    assert_eq!(first.file("made.txt"), "by the first\n");
    let sessions = |person: &Person| person.posse(&["sessions", "list", "--json"]).events().len();
    assert_eq!((sessions(&first), sessions(&second)), (1, 1), "each has its own record");
}
