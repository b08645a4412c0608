//! Promise P5: memory stays flat however long a session gets. The conversation is kept short by compaction, so what grows
//! beyond it would be Posse's own.
//!
//! It takes minutes, so it only runs with `POSSE_SOAK=1`; the database's own cache needs thousands of turns to fill.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use posse_protocol::Usage;
use posse_testkit::{Captured, FakeModel, Fixture, Turn};
use serde_json::json;

use crate::posse::Person;

/// Turns of the session.
const TURNS: u64 = 10_000;
/// How much memory may grow for every thousand turns.
const GROWTH_KB_MAX: u64 = 1_024;
/// Lines of the file that is read piece by piece.
const LINES: u64 = 20_000;

/// Memory of a process that is its own, in KB: without pages of the program's file, which are read as code runs for the first
/// time and can be dropped at any moment.
fn own_kb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn memory_stays_flat_in_a_long_session() {
    if std::env::var_os("POSSE_SOAK").is_none() {
        return;
    }
    let turns = TURNS;
    let made = std::sync::Arc::new(AtomicU64::new(0));
    let count = std::sync::Arc::clone(&made);
    let model = FakeModel::by_rule_blocking(move |request: &Captured| {
        // As a server counts: so the conversation is known to be long, and is shortened.
        let input_tokens = Some(request.body.len() as u64 / 4);
        let usage = Usage { input_tokens, output_tokens: Some(20), ..Usage::default() };
        let request = request.json();
        let last = request["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
        if last.contains("will be replaced by your next message") {
            return Turn::text("I read on, piece by piece.");
        }
        let turn = count.fetch_add(1, Ordering::Relaxed) + 1;
        if turn > turns {
            return Turn::text("All is read.");
        }
        Turn::call("read_file", json!({"path": "lines.txt", "start_line": turn, "end_line": turn + 3}))
            .usage(usage)
    });
    model.capture(false);
    let lines: String = (0..LINES).map(|line| format!("this is line {line} of many\n")).collect();
    let person = Person::with_model(model, Fixture::new().file("lines.txt", &lines));
    let endpoint = person.model.base_url();
    person.configure(&format!(
        "[models.fake]\nendpoint = \"{endpoint}\"\nmodel = \"fake-model\"\ncontext_window = 12000\n\n\
         [limits]\nmax_turns = 100000\n"
    ));
    let mut posse = person.command(&["run", "--quiet", "read it all"]).spawn().unwrap();
    let mut reached = |turn: u64| {
        while made.load(Ordering::Relaxed) < turn {
            assert!(posse.try_wait().unwrap().is_none(), "it ended at turn {}", made.load(Ordering::Relaxed));
            std::thread::sleep(Duration::from_millis(5));
        }
        own_kb(posse.id())
    };
    // Caches and pools have their size by then.
    let warm = turns / 3;
    let (before, after) = (reached(warm), reached(turns));
    assert!(posse.wait().unwrap().success());
    assert!(before > 0 && after > 0, "{before} and {after} KB");
    let growth = after.saturating_sub(before) * 1_000 / (turns - warm);
    eprintln!("{before} KB at turn {warm}, {after} KB at turn {turns}: {growth} KB per 1,000 turns");
    assert!(
        growth < GROWTH_KB_MAX,
        "{before} KB at turn {warm}, {after} KB at turn {turns}: {growth} KB per 1,000 turns"
    );
}
