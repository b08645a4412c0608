//! The review in the page: a diff, comments that go back, hunks that are rejected and accepted, and undo.

use posse_testkit::{Fixture, Turn, chromium::Page};
use serde_json::json;

use super::stage::Stage;
use crate::posse::eventually;

/// A poem of so many lines.
fn lines(change: impl Fn(usize) -> Option<&'static str>) -> String {
    (1..=30).map(|n| change(n).map_or(format!("line {n}\n"), |line| format!("{line}\n"))).collect()
}

fn edit(old: &str, new: &str) -> Turn {
    Turn::call("edit_file", json!({"path": "poem.txt", "old_text": old, "new_text": new}))
}

fn hunks(page: &Page, count: usize) {
    page.wait_for(&format!("document.querySelectorAll('.hunk').length === {count}"), "the hunks");
}

#[test]
fn hunks_are_commented_rejected_and_accepted_and_turns_are_undone() {
    let stage = Stage::in_project(Fixture::new().file("poem.txt", lines(|_| None)).git(), &[]);
    let script =
        [edit("line 2\n", "verse two\n"), edit("line 28\n", "verse <b>28</b>\n"), Turn::text("Rewritten.")];
    stage.script("main", script);
    let page = stage.tab();
    stage.begin(&page, "Auto", "Rewrite the poem.");
    page.wait_for("document.querySelector('.session-head .badge').innerText === '○ resting'", "rest");
    let poem = || stage.person.file("poem.txt");
    let both =
        |n| [(2, "verse two"), (28, "verse <b>28</b>")].into_iter().find(|one| one.0 == n).map(|one| one.1);
    assert_eq!(poem(), lines(both));

    // A call shows what it changed.
    page.click(".call-line");
    page.wait_for(
        "document.querySelector('.call-all .ln.add')?.innerText.includes('verse two')",
        "the change of a call",
    );

    page.click("text=Review");
    hunks(&page, 2);
    let signs = "[...document.querySelectorAll('.ln.add code, .ln.del code')].map((one) => one.textContent)";
    page.wait_for(&format!("{signs}.length === 4"), "the lines");
    assert_eq!(page.eval::<Vec<String>>(signs), ["−line 2", "+verse two", "−line 28", "+verse <b>28</b>"]);
    page.click("text=Side by side");
    page.wait_for("document.querySelectorAll('.pair .del').length === 2", "two columns");
    page.click("text=Side by side");

    comment(&stage, &page);
    reject(&page, poem, &lines(both));

    // What is accepted stays so.
    page.click("#hunk-0-1 .hunk-head button:nth-of-type(2)");
    page.wait_for("document.querySelector('.hunk .badge')?.innerText === 'reviewed'", "the mark");
    page.wait_for(
        "document.querySelector('.file-list').innerText.includes('1 of 2 hunks reviewed')",
        "the progress",
    );
    page.reload();
    hunks(&page, 2);
    page.wait_for("document.querySelectorAll('.hunk .badge').length === 1", "the mark after a reload");

    // One turn is taken back, after a look at what that does.
    page.click("text=Undo …");
    page.fill("dialog select", "turn");
    page.fill("dialog input[type=number]", "2");
    page.click("dialog form .button");
    page.wait_for("document.querySelector('dialog .ln.add')?.innerText.includes('line 28')", "the preview");
    assert_eq!(poem(), lines(both), "nothing is written yet");
    page.click("text=Take it back");
    eventually("the undo of turn 2", || poem() == lines(|n| (n == 2).then_some("verse two")));
    page.wait_for(
        "document.querySelector('.file-list').innerText.includes('1 of 1 hunk reviewed')",
        "what is left",
    );
    let shown = page.text(".toasts");
    assert!(shown.contains("Taken back"), "{shown}");
}

fn comment(stage: &Stage, page: &Page) {
    page.click(".no[data-place='new:2']");
    page.fill("textarea[aria-label='Comment on poem.txt']", "Too <i>short</i>.");
    page.click("text=Keep");
    page.wait_for("document.querySelector('.comment p')?.innerText === 'Too <i>short</i>.'", "the comment");
    // It outlives a reload, as everything that somebody typed.
    page.reload();
    page.click("text=Send …");
    page.wait_for("document.querySelector('dialog textarea')?.value.includes('poem.txt:2')", "the message");
    stage.script("main", [Turn::text("I see.")]);
    let before = stage.asked("main").len();
    page.click("dialog form .primary");
    let told =
        stage.request("main", before)["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    let expected = "I reviewed the whole session. Please act on this comment:\\n\\npoem.txt:2\\n> verse two\\nToo <i>short</i>.";
    assert!(told.contains(expected), "{told}");
    page.wait_for("!document.querySelector('.send-bar')", "that nothing waits to be sent");
    hunks(page, 2);
}

fn reject(page: &Page, poem: impl Fn() -> String, both: &str) {
    page.click("#hunk-0-2 .hunk-head button:last-child");
    page.wait_for("document.querySelector('dialog .ln.add')?.innerText.includes('line 28')", "the preview");
    page.wait_for("document.querySelectorAll('dialog .hunk').length === 1", "this hunk alone");
    assert_eq!(poem(), both, "nothing is written yet");
    page.click("dialog .dialog-body .primary");
    eventually("the rejection", || poem() == lines(|n| (n == 2).then_some("verse two")));
    hunks(page, 1);
    page.click(".toasts .button.small");
    eventually("the undo of it", || poem() == both);
    hunks(page, 2);
}
