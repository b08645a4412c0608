//! Text of models, files and people that tries to be HTML, script or a link stays text, wherever the page shows it.

use posse_testkit::{Fixture, Turn, chromium::Page};
use serde_json::{Value, json};

use super::stage::{Stage, start};
use crate::posse::eventually;

const FILE: &str = "<img src=x onerror=window.hit=1>.md";
const COMMAND: &str = "echo '<script>window.hit=2</script>' '\u{202e}gnp.exe' zero\u{200b}width";
const TITLE: &str = "Fix <img src=x onerror=window.hit=3> &amp; \u{202e}this";
const REPLY: &str = "<script>window.hit=4</script> <img src=x onerror=\"window.hit=5\"> <svg onload=window.hit=6>
<a href=\"javascript:window.hit=7\">a</a> [b](javascript:window.hit=8) [c](JaVaScRiPt:window.hit=9) <javascript:window.hit=10>
[d](data:text/html,<script>window.hit=11</script>) [e](java\u{200b}script:window.hit=12) [f](//192.0.2.1/f)
![g](http://192.0.2.1/g.png) [h](vbscript:x) &lt;img src=x onerror=window.hit=13&gt; \u{202e}evil\u{202c} \u{2066}x\u{2069}

<iframe src=\"http://192.0.2.1/\"></iframe><style>body{display:none}</style><base href=\"http://192.0.2.1/\">
<form action=\"http://192.0.2.1/\"><button formaction=\"javascript:window.hit=14\">x</button></form>

```html
<script>window.hit=15</script>
```

| <b>x</b> | [i](javascript:window.hit=16) |
|---|---|
| <img src=x onerror=window.hit=17> | `<script>` |

A plain link stays one: <https://example.invalid/?q=\"><img src=x onerror=window.hit=18> and https://example.invalid/plain.";

/// Nothing of it has become an element that runs, loads or leads somewhere, and nothing hidden stays hidden.
fn stays_text(stage: &Stage, page: &Page, view: &str) {
    let elements = page.eval::<Vec<String>>(include_str!("stays_text.js"));
    assert_eq!(elements, Vec::<String>::new(), "{view}");
    let hidden = "/[\\u200b-\\u200f\\u202a-\\u202e\\u2066-\\u2069]/.exec(document.title + document.body.textContent)?.[0].codePointAt(0)";
    assert_eq!(page.eval::<Option<u32>>(hidden), None, "{view}");
    assert_eq!(page.eval::<Option<u32>>("window.hit"), None, "{view}");
    assert_eq!(
        page.console().iter().map(ToString::to_string).collect::<Vec<_>>(),
        Vec::<String>::new(),
        "{view}"
    );
    let address = stage.address();
    let other = |one: &String| !one.starts_with(&address) && !one.starts_with("data:image/svg+xml,");
    assert_eq!(page.requests().into_iter().filter(other).collect::<Vec<_>>(), Vec::<String>::new(), "{view}");
}

fn says(page: &Page, selector: &str, part: &str) {
    let part = Value::from(part);
    page.wait_for(
        &format!(
            "[...document.querySelectorAll({})].some((one) => one.textContent.includes({part}))",
            Value::from(selector)
        ),
        &format!("{part} in {selector}"),
    );
}

#[test]
fn text_that_tries_to_be_html_script_or_a_link_stays_text() {
    let project = Fixture::new().file(FILE, "one\n").git();
    let stage = Stage::in_project(project, &[]);
    let report =
        format!("SUMMARY: {REPLY}\nCHANGES: None.\nEVIDENCE: None.\nRISKS: None.\nBLOCKERS: {REPLY}");
    let mut ann = start("ann", "general");
    ann["title"] = json!(TITLE);
    ann["prompt"] = json!(REPLY);
    let edit = json!({"path": FILE, "old_text": "one\n", "new_text": format!("{REPLY}\n")});
    stage.script(
        "main",
        [
            Turn::call("edit_file", edit).and_text(REPLY).reasoning(REPLY),
            Turn::call("agent", ann),
            Turn::call("ask_person", json!({"question": REPLY, "choices": [TITLE, "no"]})),
            Turn::text(REPLY),
        ],
    );
    stage.script("ann", [Turn::call("shell", json!({"command": COMMAND})), Turn::text(report)]);
    let page = stage.tab();
    let session = stage.begin(&page, "Edit", TITLE);

    // The command, before it may run.
    says(
        &page,
        ".question pre",
        "echo '<script>window.hit=2</script>' '\\u{202e}gnp.exe' zero\\u{200b}width",
    );
    stays_text(&stage, &page, "a command");
    page.click("text=Yes, once");
    says(&page, ".question .words", "<script>window.hit=4</script> <img src=x");
    says(&page, ".question button", "Fix <img src=x onerror=window.hit=3> &amp; \\u{202e}this");
    stays_text(&stage, &page, "a question");
    page.click("text=no");
    page.wait_for("document.querySelector('.session-head .badge').innerText === '○ resting'", "rest");

    everything_in_the_conversation(&stage, &page);
    everything_else(&stage, &page, &session);
}

fn everything_in_the_conversation(stage: &Stage, page: &Page) {
    page.click(".delegation-head");
    page.wait_for("document.querySelectorAll('.delegation .thread .item').length > 3", "the sub-agent");
    page.eval::<()>(
        "document.querySelectorAll('.call-line[aria-expanded=false]').forEach((one) => one.click())",
    );
    page.eval::<()>("document.querySelectorAll('details:not(.menu)').forEach((one) => (one.open = true))");
    // Diffs are drawn where somebody looks.
    page.wait_for("document.querySelector('.call-all .hunk')", "a diff");
    page.eval::<()>("document.querySelector('.call-all .hunk').scrollIntoView()");
    says(page, ".call-all .ln.add", "<script>window.hit=4</script>");
    says(page, ".item.words .prose", "[b](javascript:window.hit=8)");
    says(page, ".item.words .prose table", "<img src=x onerror=window.hit=17>");
    says(page, ".delegation .cut", "Fix <img src=x onerror=window.hit=3> &amp; \\u{202e}this");
    says(page, ".delegation .measured, .delegation .item", "<script>window.hit=4</script>");
    stays_text(stage, page, "a session");

    page.fill(".composer textarea", "@");
    says(page, ".completions li", FILE);
    stays_text(stage, page, "a list of files");
    page.fill(".composer textarea", &format!("/rename {TITLE} again"));
    page.press("Enter");
    eventually("the title", || page.text(".session-head h1").ends_with("again"));
    stays_text(stage, page, "a title");
}

fn everything_else(stage: &Stage, page: &Page, session: &str) {
    page.click("text=Review");
    says(page, ".file-head", FILE);
    says(page, ".ln.add", "<script>window.hit=4</script>");
    stays_text(stage, page, "a review");
    page.click("text=Side by side");
    page.wait_for("document.querySelector('.pair .add')", "two columns");
    page.click("text=Undo …");
    page.click("dialog form .button");
    says(page, "dialog .file-head", FILE);
    stays_text(stage, page, "an undo");
    page.press("Escape");

    for (view, selector) in
        [("#/", ".session-link"), ("#/look/context", ".look li"), ("#/look/stats", ".plots")]
    {
        page.open(&stage.at(view));
        page.wait_for(&format!("document.querySelector('{selector}')"), view);
        stays_text(stage, page, view);
    }
    page.open(&stage.at(&format!("#/look/context/{session}/main")));
    says(page, ".look table", "system prompt");
    stays_text(stage, page, "a context window");
}
