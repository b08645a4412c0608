//! Every view as eyes, screen readers and small screens find it: enough contrast in both themes, a name for every control,
//! nothing that scrolls sideways. `scripts/screenshots` has it keep pictures.

use std::path::PathBuf;

use posse_testkit::chromium::Page;

use super::shop;
use super::stage::Stage;

/// What a screen reader calls a control.
const CONTROLS: [&str; 15] = [
    "button",
    "link",
    "textbox",
    "searchbox",
    "combobox",
    "listbox",
    "checkbox",
    "radio",
    "spinbutton",
    "slider",
    "switch",
    "tab",
    "menuitem",
    "splitter",
    "treegrid",
];

/// A folder for pictures, if somebody wants some.
fn pictures() -> Option<PathBuf> {
    std::env::var_os("POSSE_SCREENSHOTS").map(PathBuf::from)
}

/// Looks at what is on the screen now.
fn look(page: &Page, view: &str, problems: &mut Vec<String>) {
    let unnamed = page.accessibility().into_iter().filter(|node| node.name.trim().is_empty());
    let unnamed = unnamed.filter(|node| CONTROLS.contains(&node.role.as_str()));
    problems.extend(unnamed.map(|node| format!("{view}: a {} without a name", node.role)));
    for dark in [false, true] {
        page.dark(dark);
        // What pulses says the same in words, and is judged as it is at rest.
        page.eval::<()>("document.getAnimations().forEach((one) => one.cancel())");
        let theme = if dark { "dark" } else { "light" };
        problems.extend(page.contrast().iter().map(|one| format!("{view}, {theme}: {one}")));
        if let (Some(folder), true) = (pictures(), PICTURED.contains(&view)) {
            page.screenshot(folder.join(format!("{view}-{theme}.png")));
        }
    }
    page.dark(false);
    page.resize(360, 740);
    let cut: Vec<String> = page.eval(include_str!("cut_off.js"));
    problems.extend(cut.into_iter().map(|what| format!("{view} at 360 px: {what}")));
    if let (Some(folder), "session") = (pictures(), view) {
        page.screenshot(folder.join("phone.png"));
    }
    page.resize(1280, 800);
}

/// The views of which there are pictures in docs.
const PICTURED: [&str; 5] = ["sessions", "session", "question", "review", "statistics"];

#[test]
fn every_view_has_contrast_names_and_room() {
    let stage = Stage::in_project(shop::project(), &[]);
    shop::earlier(&stage);
    shop::script_discount(&stage);
    let page = stage.tab();
    page.resize(1280, 800);
    let session = stage.begin(&page, "Edit", "Add discount codes to the cart, with tests.");
    page.wait_for("document.querySelector('.question button:enabled')", "the question");
    let mut problems = Vec::new();
    conversation(&page, &mut problems);
    others(&stage, &page, &session, &mut problems);
    // Where no tab knows the token.
    page.eval::<()>("sessionStorage.clear()");
    page.reload();
    page.wait_for("document.querySelector('input[name=token]')", "the field for the link");
    look(&page, "locked", &mut problems);
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The question of the deepest agent, and then all of the conversation.
fn conversation(page: &Page, problems: &mut Vec<String>) {
    page.wait_for("document.querySelectorAll('.delegation').length === 2", "the sub-agents");
    page.wait_for("document.querySelector('nav .count')", "the count of what waits");
    look(page, "question", problems);
    for agent in ["discount", "tests", "verifier"] {
        page.click(&format!("section[aria-label='Sub-agent {agent}'] > header .delegation-head"));
    }
    page.wait_for("document.querySelectorAll('.delegation').length === 6", "all sub-agents");
    page.click("text=Later");
    page.eval::<()>("document.querySelector('[aria-label=\"Sub-agent discount\"]').scrollIntoView()");
    look(page, "session", problems);
    page.eval::<()>(
        "document.querySelectorAll('.call-line[aria-expanded=false]').forEach((one) => one.click())",
    );
    page.eval::<()>("document.querySelectorAll('details:not(.menu)').forEach((one) => (one.open = true))");
    page.wait_for("document.querySelector('.call-all .text-block')", "what a call did");
    page.fill(".composer textarea", "/");
    page.wait_for("document.querySelector('.completions li')", "the commands");
    look(page, "everything open", problems);
    page.fill(".composer textarea", "");
}

fn others(stage: &Stage, page: &Page, session: &str, problems: &mut Vec<String>) {
    let back = |tab: &str, what: &str| {
        format!(
            "document.querySelector('.look h1')?.textContent.endsWith('{tab}') && document.querySelector('.look {what}')"
        )
    };
    let plain = str::to_owned;
    let views = [
        (
            "review",
            format!("#/s/{session}/review"),
            plain("document.querySelector('.review-page .hunk .ln.add')"),
        ),
        ("sessions", plain("#/"), plain("document.querySelectorAll('.session-link').length === 3")),
        ("new", plain("#/new"), plain("document.querySelector('input[list=folders]')?.value")),
        ("statistics", plain("#/look/stats"), back("Statistics", ".plot svg")),
        ("contexts", plain("#/look/context"), back("Context", "li")),
        ("context", format!("#/look/context/{session}/main"), back("Context", "svg.window")),
        ("servers", plain("#/look/servers"), back("Servers", "p.muted")),
        ("memory", plain("#/look/memory"), back("Memory", "[type=search]")),
        ("skills", plain("#/look/skills"), back("Skills", ".empty, .look details")),
        ("roles", plain("#/look/roles"), back("Roles", "details")),
        ("folder", plain("#/look/folder"), back("This folder", ".findings li")),
        (
            "unknown",
            plain("#/s/00000000-0000-7000-8000-000000000000"),
            plain("document.querySelector('main .failure')"),
        ),
    ];
    assert_eq!(views.len(), 12);
    for (view, address, ready) in views {
        page.open(&stage.at(&address));
        page.wait_for(&ready, view);
        look(page, view, problems);
        let dialog = match view {
            "review" => "text=Undo …",
            "sessions" => "header button[aria-label=Keys]",
            _ => continue,
        };
        page.click(dialog);
        page.wait_for("document.querySelector('dialog[open]')", "a dialog");
        look(page, &format!("dialog of {view}"), problems);
        page.press("Escape");
    }
}
