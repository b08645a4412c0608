//! Reloading and losing the server in the middle of a reply: nothing is lost, and nothing is there twice.

use posse_testkit::Turn;

use super::stage::{Gate, Stage};
use crate::posse::{eventually, text};

const DRAFT: &str = "What I wanted to say is";

#[test]
fn a_reload_and_a_lost_server_lose_nothing() {
    let place = tempfile::tempdir().unwrap();
    let token = text(&place.path().join("token"));
    let mut stage = Stage::new(&["--token-file", &token]);
    let (first, second) = (Gate::closed(), Gate::closed());
    let story =
        |what: &str| format!("Here the {what} begins, and it goes on for a while. Here the {what} ends.");
    stage.script(
        "main",
        [
            Turn::text(story("first")).hold_after(5, &first.0),
            Turn::text(story("second")).hold_after(5, &second.0),
        ],
    );
    let page = stage.tab();
    stage.begin(&page, "Auto", "Tell me two stories.");
    let live = "document.querySelector('.live .prose')?.innerText";
    page.wait_for(&format!("{live}?.startsWith('Here the first begins')"), "the beginning of a reply");
    page.fill(".composer textarea", DRAFT);

    page.reload();
    page.wait_for(&format!("{live}?.startsWith('Here the first begins')"), "what was written so far");
    let so_far: String = page.eval(live);
    assert!(!so_far.contains("ends"), "{so_far}");
    first.open();
    let replies = "[...document.querySelectorAll('.item.words .prose')].map((one) => one.textContent)";
    page.wait_for(&format!("{replies}.length === 1"), "the whole reply");
    assert_eq!(page.eval::<Vec<String>>(replies), [story("first")]);
    assert_eq!(page.eval::<String>("document.querySelector('.composer textarea').value"), DRAFT);

    // The server dies in the middle of the next reply, which ends while nobody serves it.
    page.press("End");
    page.fill(".composer textarea", "The other one.");
    page.press("Enter");
    page.wait_for(&format!("{live}?.startsWith('Here the second begins')"), "the beginning of another reply");
    page.fill(".composer textarea", DRAFT);
    stage.kill_server();
    page.wait_for(
        "document.querySelector('.lost')?.innerText.includes('is lost')",
        "that the connection is lost",
    );
    second.open();
    let status = || stage.person.posse(&["sessions", "list", "--json"]).events()[0]["status"].clone();
    eventually("rest", || status() == "resting");
    assert_eq!(page.eval::<usize>(&format!("{replies}.length")), 1, "the page cannot know yet");

    stage.serve_again(&["--token-file", &token]);
    page.wait_for("!document.querySelector('.lost')", "that the server is back");
    page.wait_for(&format!("{replies}.length === 2"), "what was missed");
    assert_eq!(page.eval::<Vec<String>>(replies), [story("first"), story("second")]);
    page.wait_for("!document.querySelector('.live .prose')", "no rest of the streamed text");
    assert_eq!(page.eval::<String>("document.querySelector('.composer textarea').value"), DRAFT);
    page.wait_for("document.querySelector('.session-head .badge').innerText === '○ resting'", "rest");
    assert_eq!(
        page.eval::<usize>("document.querySelectorAll('.item .words').length"),
        2,
        "what the person said"
    );
}
