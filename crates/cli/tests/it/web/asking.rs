//! Questions of agents in the page: what is asked is shown exactly, and every answer counts.

use std::path::Path;

use posse_testkit::{Turn, chromium::Page};
use serde_json::json;

use super::REPORT;
use super::stage::{Stage, shell, starts};
use crate::posse::{eventually, text};

/// Waits for a question about this very command.
fn asks(page: &Page, command: &str) {
    let what = serde_json::Value::from(command);
    page.wait_for(
        &format!("document.querySelector('.question .asked-what pre')?.textContent === {what}"),
        "the question",
    );
}

#[test]
fn the_question_of_a_sub_agent_is_answered_in_the_page() {
    let stage = Stage::new(&[]);
    let outside = stage.person.config().with_file_name("left");
    let leave = format!("touch '{}'", text(&outside));
    let words = json!({"question": "Which base?", "choices": ["the old one", "the new one"]});
    stage.script("main", [starts("ann", "general"), Turn::call("ask_person", words), Turn::text("Done.")]);
    stage.script(
        "ann",
        [
            shell("touch  'one two'; ls"),
            Turn::call("shell", json!({"command": leave, "outside_sandbox": true})),
            shell("rm 'one two'"),
            Turn::text(REPORT),
        ],
    );
    let page = stage.tab();
    assert_eq!(page.eval::<String>("document.title"), "Posse");
    stage.begin(&page, "Ask", "Make a file.");

    asks(&page, "touch  'one two'; ls");
    let asked = page.text(".question p");
    assert!(asked.contains("ann") && asked.contains("wants to run a command"), "{asked}");
    page.wait_for("document.title === '(1) Make a file · Posse'", "the title that says that somebody waits");
    page.wait_for(
        "document.querySelector('link[rel=icon]').href.startsWith('data:image/svg+xml')",
        "the icon",
    );
    assert_eq!(page.text("nav .count"), "1");
    assert!(!stage.path("one two").exists());
    page.click("text=Yes, once");
    eventually("the file", || stage.path("one two").exists());

    asks(&page, &leave);
    leaving_takes_a_word(&page, &leave, &outside);
    eventually("the file outside", || outside.exists());

    asks(&page, "rm 'one two'");
    page.click("text=No, because…");
    page.fill("text=Why not? The agent reads it.", "keep it, it is mine");
    page.press("Enter");
    let told = stage.request("ann", 3).to_string();
    assert!(told.contains("keep it, it is mine"), "{told}");
    assert!(stage.path("one two").exists());

    page.wait_for(
        "document.querySelector('.question .words')?.innerText === 'Which base?'",
        "the question in words",
    );
    page.click("text=the new one");
    let told = stage.request("main", 2).to_string();
    assert!(told.contains("the new one"), "{told}");
    what_was_asked_stays(&page);
}

/// Leaving the sandbox takes a word that nobody types by accident.
fn leaving_takes_a_word(page: &Page, leave: &str, outside: &Path) {
    assert_eq!(
        page.text(".question.leaves b"),
        "wants to run this outside the sandbox, with all your rights"
    );
    assert_eq!(
        page.eval::<usize>("document.querySelectorAll('.question button').length"),
        3,
        "no yes for more than once"
    );
    page.click("text=Let it out of the sandbox, once…");
    assert_eq!(page.text("dialog pre"), leave);
    page.click("text=Let it run");
    page.wait_for("document.querySelector('dialog .failure')", "that the word is missing");
    assert!(!outside.exists());
    page.fill("dialog input", "outside");
    page.click("text=Let it run");
}

fn what_was_asked_stays(page: &Page) {
    page.wait_for("!document.querySelector('#questions')", "no more questions");
    page.wait_for("document.title === 'Make a file · Posse'", "the title without a number");
    page.wait_for("document.querySelector('link[rel=icon]').href.endsWith('icon.svg')", "the icon of before");
    page.click(".delegation-head");
    page.wait_for("document.querySelectorAll('.asked').length === 4", "the questions");
    let answers = page
        .eval::<Vec<String>>("[...document.querySelectorAll('.asked .muted')].map((one) => one.textContent)");
    assert_eq!(
        answers,
        ["You: yes, once", "You: yes, once", "You: no keep it, it is mine", "You: the new one"]
    );
}
