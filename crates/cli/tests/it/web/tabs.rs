//! Many tabs of one browser: they share one stream of events, and when its tab closes another takes over.

use std::thread;

use posse_testkit::Turn;
use posse_testkit::chromium::Page;

use super::stage::{Gate, Stage};

/// How often each tab has asked for the stream of events.
fn streams(tabs: &[Page]) -> Vec<usize> {
    let asked = |tab: &Page| tab.requests().iter().filter(|one| one.contains("/api/events")).count();
    tabs.iter().map(asked).collect()
}

fn show(tabs: &[Page], condition: &str, what: &str) {
    thread::scope(|scope| tabs.iter().for_each(|tab| drop(scope.spawn(|| tab.wait_for(condition, what)))));
}

#[test]
fn ten_tabs_share_one_stream_and_pass_it_on() {
    let stage = Stage::new(&[]);
    let (first, second) = (Gate::closed(), Gate::closed());
    stage.script(
        "main",
        [
            Turn::text("The first answer, which takes its time.").hold_after(2, &first.0),
            Turn::text("The second answer, which takes its time.").hold_after(2, &second.0),
        ],
    );
    let page = stage.tab();
    let session = stage.begin(&page, "Auto", "Answer.");
    let mut tabs = vec![page];
    for _ in 1..10 {
        // Without the token in the address: the other tabs have it.
        let tab = stage.empty_tab();
        tab.open(&stage.at(&format!("#/s/{session}")));
        tabs.push(tab);
    }
    let begun = "document.querySelector('.live .prose')?.innerText.startsWith('The first')";
    show(&tabs, begun, "the streamed text in every tab");
    first.open();
    let replies = "[...document.querySelectorAll('.item.words .prose')].map((one) => one.textContent)";
    show(&tabs, &format!("{replies}.length === 1"), "the reply in every tab");
    let asked = streams(&tabs);
    assert!(asked[0] > 0 && asked[1..].iter().all(|count| *count == 0), "{asked:?}");

    // The tab that reads the stream goes: one of the others reads on.
    tabs.remove(0).close();
    tabs[4].fill(".composer textarea", "Once more.");
    tabs[4].press("Enter");
    show(
        &tabs,
        "document.querySelector('.live .prose')?.innerText.startsWith('The second')",
        "the next reply",
    );
    second.open();
    show(&tabs, &format!("{replies}.length === 2"), "both replies in every tab");
    let asked = streams(&tabs);
    assert_eq!(asked.iter().filter(|count| **count > 0).count(), 1, "{asked:?}");
    show(&tabs, "document.querySelector('.session-head .badge').innerText === '○ resting'", "rest");
    let end = "document.querySelector('.thread').textContent";
    let ends: Vec<String> = tabs.iter().map(|tab| tab.eval(end)).collect();
    assert!(ends.iter().all(|one| *one == ends[0]), "{ends:#?}");
    assert_eq!(ends.len(), 9);
}
