//! A session from its start to its review without a mouse.

use posse_testkit::{Turn, chromium::Page};
use serde_json::json;

use super::REPORT;
use super::stage::{Stage, shell, starts};
use crate::posse::eventually;

/// Presses Tab until what has the focus fits.
fn tab_to(page: &Page, condition: &str) {
    for _ in 0..60 {
        if page.eval::<bool>(&format!("((on) => !!({condition}))(document.activeElement)")) {
            let outline = "getComputedStyle(document.activeElement).outlineStyle !== 'none' || getComputedStyle(document.activeElement).boxShadow !== 'none'";
            assert!(page.eval::<bool>(outline), "the focus can be seen on {condition}");
            return;
        }
        page.press("Tab");
    }
    panic!(
        "Tab does not lead to {condition}: {}",
        page.eval::<String>("document.activeElement.outerHTML.slice(0, 200)")
    );
}

#[test]
fn a_session_is_begun_answered_and_reviewed_without_a_mouse() {
    let stage = Stage::new(&[]);
    let write = Turn::call("write_file", json!({"path": "new.txt", "content": "one\ntwo\n"}));
    stage.script("main", [write, starts("ann", "general"), Turn::text("Done.")]);
    stage.script("ann", [shell("touch made"), Turn::text(REPORT)]);
    let page = stage.tab();
    page.press("?");
    page.wait_for("document.querySelector('dialog[open]')?.innerText.includes('a new session')", "the keys");
    page.press("Escape");
    page.wait_for("!document.querySelector('dialog')", "the end of the dialog");

    page.press("n");
    page.wait_for("document.querySelector('input[list=folders]')?.value", "the form");
    tab_to(&page, "on.matches('input[type=radio]')");
    page.press("ArrowUp");
    page.wait_for("document.activeElement.closest('label').innerText.startsWith('Edit') && document.activeElement.checked", "the mode");
    tab_to(&page, "on.matches('textarea')");
    page.type_text("Write two lines");
    page.press("Enter");

    page.wait_for("document.querySelector('.question button:enabled')", "a question");
    page.press("Escape");
    page.press("q");
    tab_to(&page, "on.innerText === 'Yes, once'");
    page.press("Enter");
    eventually("the answer", || stage.path("made").exists());
    page.wait_for("document.querySelector('.session-head .badge').innerText === '○ resting'", "rest");

    // The tree: to a sub-agent, folded and back.
    let selected = "document.querySelector('.tree [role=row][aria-selected=true]').innerText";
    page.press("a");
    page.press("ArrowDown");
    page.wait_for(&format!("{selected}.includes('ann')"), "the sub-agent");
    page.press("ArrowLeft");
    page.wait_for(&format!("{selected}.includes('main')"), "its parent");
    page.press("ArrowLeft");
    page.wait_for("document.querySelectorAll('.tree [role=row]').length === 1", "a folded tree");
    page.press("ArrowRight");
    page.wait_for("document.querySelectorAll('.tree [role=row]').length === 2", "an unfolded tree");
    page.press("c");
    page.wait_for("document.activeElement.matches('.composer textarea')", "where one writes");
    page.press("Escape");

    page.press("r");
    page.wait_for("document.querySelector('.hunk .ln.add')", "the review");
    page.press("j");
    page.wait_for("document.activeElement.matches('.hunk')", "a hunk");
    page.press("ArrowDown");
    page.press("ArrowDown");
    page.press("c");
    page.wait_for("document.activeElement.matches('.comment textarea')", "a comment");
    page.type_text("Why two?");
    page.press("Control+Enter");
    page.wait_for("document.querySelector('.comment p')?.innerText === 'Why two?'", "the comment");
    page.press("a");
    page.wait_for(
        "document.querySelector('.file-list').innerText.includes('1 of 1 hunk reviewed')",
        "the mark",
    );
    page.press("r");
    page.wait_for("document.querySelector('dialog .primary:enabled')", "the preview of a rejection");
    tab_to(&page, "on.matches('dialog .primary')");
    page.press("Enter");
    eventually("the rejection", || !stage.path("new.txt").exists());

    page.wait_for("!document.querySelector('dialog')", "the end of the dialog");
    page.press("g");
    page.press("s");
    page.wait_for("document.querySelector('.session-link')", "the list of sessions");
    page.press("j");
    page.press("Enter");
    page.wait_for("document.querySelector('.tree')", "the session again");
    page.press("/");
    page.wait_for("document.querySelector('.session-link')", "the list of sessions again");
}
