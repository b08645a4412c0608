//! Pages that steer nothing: a server that only shows, and one without a model.

use posse_testkit::chromium::Page;

use super::stage::{Stage, shell};
use crate::posse::text;

/// What the server says to a request of the page's own making: status and kind.
fn posts(page: &Page, path: &str, body: &str) -> (u32, String) {
    page.eval(&format!(
        "fetch('{path}', {{method: 'POST', body: '{body}', headers: {{authorization: `Bearer ${{sessionStorage.getItem('posse-token')}}`, 'content-type': 'application/json'}}}})
           .then(async (answer) => [answer.status, (await answer.json()).kind ?? ''])"
    ))
}

#[test]
fn a_read_only_page_steers_nothing_and_one_without_a_model_says_how_to_get_one() {
    let mut stage = Stage::new(&["--read-only"]);
    stage.script("main", [shell("touch made")]);
    let data = text(&stage.person.data_dir());
    let ran = stage.person.posse(&[
        "--data-dir",
        &data,
        "run",
        "--background",
        "--json",
        "--approval",
        "ask",
        "go",
    ]);
    let session = ran.events()[0]["session"].as_str().unwrap().to_owned();

    let page = stage.tab();
    page.wait_for("document.querySelector('.session-link')", "the session");
    page.wait_for("document.querySelector('header .badge')?.innerText === 'read-only'", "what this page is");
    assert_eq!(page.eval::<usize>("document.querySelectorAll('a[href=\"#/new\"]').length"), 0);
    page.click(".session-link");
    page.wait_for("document.querySelector('.question pre')?.innerText === 'touch made'", "the question");
    assert!(page.text(".question").contains("This page is read-only: answer in a terminal."));
    let controls =
        "document.querySelectorAll('.question button, textarea, .composer select, .composer input').length";
    assert_eq!(page.eval::<usize>(controls), 0);
    page.click(".session-head summary");
    let menu = page.text(".session-head .menu-items");
    assert!(menu.contains("Export") && !menu.contains("Rename") && !menu.contains("Stop"), "{menu}");
    page.open(&stage.at("#/new"));
    page.wait_for("document.querySelector('main').innerText.includes('it starts no sessions')", "no form");
    assert_eq!(page.eval::<usize>("document.querySelectorAll('main input, main textarea').length"), 0);

    let of = |what: &str| format!("/api/sessions/{session}/{what}");
    let tries = [
        ("/api/sessions".to_owned(), "{\"folder\": \"/\", \"prompt\": \"x\"}"),
        (of("prompt"), "{\"text\": \"x\"}"),
        (of("tell"), "{\"text\": \"x\", \"delivery\": \"next_turn\"}"),
        (of("stop-turn"), "{}"),
        (of("cancel"), "{}"),
        (of("settings"), "{\"approval\": \"full\"}"),
        (of("delete"), "{}"),
        (of("changes"), "{\"change\": \"redo\"}"),
        (of("review"), "{\"hunks\": [], \"reviewed\": true}"),
        ("/api/run".to_owned(), "{\"folder\": \"/\", \"command\": \"true\", \"approval\": \"full\"}"),
    ];
    assert_eq!(tries.len(), 10);
    for (path, body) in tries {
        assert_eq!(posts(&page, &path, body), (403, "read_only".to_owned()), "{path}");
    }
    page.close();

    // Without a model there is the record to read.
    stage.kill_server();
    stage.person.configure("");
    stage.serve_again(&[]);
    let page = stage.tab();
    page.wait_for(
        "document.querySelector('.notice')?.innerText.startsWith('No model is configured')",
        "what is missing",
    );
    let notice = page.text(".notice");
    assert!(notice.contains("config.toml") || notice.contains("posse "), "it says what to do: {notice}");
    page.click(".session-link");
    page.wait_for("document.querySelector('.item.said')", "the session");
    page.open(&stage.at("#/new"));
    page.wait_for("document.querySelector('.notice')?.innerText.includes('no session can begin')", "why not");
    page.fill("textarea[aria-label=Prompt]", "go");
    page.click("text=Start");
    page.wait_for("document.querySelector('main .failure')", "the server's word");
}
