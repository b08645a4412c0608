//! One delegation, end to end: start, work, settle, and the report that comes back.

use std::time::Duration;

use posse_protocol::{Ending, EventKind, Sender};
use posse_surface::Surface;
use posse_testkit::Turn;
use serde_json::{Value, json};

use crate::crew::{REPORT, Stage, last_text, start};

#[tokio::test]
async fn two_explorers_run_beside_each_other_and_wake_their_idle_parent() {
    let main = vec![
        Turn::call("agent", start("explore", "look at a.txt"))
            .and_call("agent", start("explorer", "look at b.txt")),
        Turn::text("They are on it."),
        Turn::text("Both files are fine."),
        Turn::text("Both files are fine."),
    ];
    let explorer = vec![
        Turn::call("read_file", json!({"path": "a.txt"})).delay(Duration::from_millis(300)),
        Turn::text(REPORT),
    ];
    let stage = Stage::new([("main", main), ("*", explorer)]).await;
    let ran = stage.run("are the files fine?").await;
    assert_eq!((&ran.report.ending, ran.report.text.as_str()), (&Ending::Completed, "Both files are fine."));
    assert_eq!(stage.model.running_peak(), 2, "they run at the same time");
    let agents = ran.agents();
    assert_eq!(agents.len(), 2);
    let mut delivered = ran.deliveries().into_iter().collect::<Vec<_>>();
    delivered.sort();
    let mut once = agents.values().map(|id| (*id, 1)).collect::<Vec<_>>();
    once.sort();
    assert_eq!(delivered, once, "each report is delivered exactly once");
    for name in ["explore-1", "explore-2"] {
        let report = ran.report_of(name);
        assert_eq!(
            (&report.ending, report.receipt.turns, report.receipt.tool_calls),
            (&Ending::Completed, 2, 1)
        );
        assert_eq!(report.warnings, Vec::<String>::new());
    }
    assert_eq!((ran.report.receipt.below.agents, ran.report.receipt.below.turns), (2, 4));
    let reports = ran
        .of("main")
        .into_iter()
        .filter(|e| matches!(e.kind, EventKind::Told { from: Sender::Reports, .. }));
    assert!((1..=2).contains(&reports.count()));
}

#[tokio::test]
async fn blocking_surfaces_start_together_and_tell_in_their_own_way() {
    let cases = [
        (
            Surface::Task,
            "agent",
            json!({"description": "look", "prompt": "look at a.txt", "type": "explore"}),
            "SUMMARY: I looked",
        ),
        (Surface::Spawn, "spawn_task", json!({"task": "look at a.txt"}), "Duration:"),
        (
            Surface::Delegate,
            "delegate_to_agent",
            json!({"role": "reviewer", "task": "look at a.txt"}),
            "\"status\":",
        ),
        (
            Surface::Shell,
            "bash",
            json!({"command": "task:explore --prompt 'look at a.txt' --description look"}),
            "[task:explore]",
        ),
    ];
    for (surface, tool, arguments, told) in cases {
        for (max_concurrent, peak) in [(16, 2), (1, 1)] {
            let main = vec![
                Turn::call(tool, arguments.clone()).and_call(tool, about_b(&arguments)),
                Turn::text("It is fine."),
            ];
            let child = vec![Turn::text(REPORT).delay(Duration::from_millis(200))];
            let mut stage = Stage::new([("main", main), ("*", child)]).await.surface(surface);
            stage.max_concurrent = max_concurrent;
            let ran = stage.run("is it fine?").await;
            assert_eq!(ran.report.ending, Ending::Completed, "{surface}");
            assert_eq!(ran.report.receipt.turns, 2, "{surface}: the parent waits");
            assert_eq!(stage.model.running_peak(), peak, "{surface}");
            let results = ran.results_of("main");
            assert_eq!(results.len(), 2);
            for (ok, text) in results {
                assert!(ok && text.contains(told), "{surface}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn a_fork_sends_its_parents_bytes_first_and_keeps_its_tools_but_not_its_rights() {
    let fork = json!({"action": "start", "role": "review", "prompt": "grade it", "context": "fork"});
    let main = vec![
        Turn::call("read_file", json!({"path": "a.txt"})),
        Turn::text("I have read it.").and_call("agent", fork),
        Turn::text("Waiting for the review."),
        Turn::text("Done and reviewed."),
    ];
    let review = vec![Turn::call("write_file", json!({"path": "c.txt", "content": "x"})), Turn::text(REPORT)];
    let stage = Stage::new([("main", main), ("review-1", review)]).await;
    let ran = stage.run("change a.txt").await;
    assert_eq!(ran.report.ending, Ending::Completed);
    let (parent, child) = (&stage.requests_of("main")[1], &stage.requests_of("review-1")[0]);
    // All but the end of the list of messages.
    let end = parent.body.len() - "]}".len();
    assert_eq!(parent.body[..end], child.body[..end]);
    assert_eq!(parent.json()["tools"], child.json()["tools"]);
    let told = last_text(&child.json());
    assert!(
        told.contains("I have read it.") && told.contains("grade it") && told.contains("review"),
        "{told}"
    );
    let (ok, text) = &ran.results_of("review-1")[0];
    assert!(!ok && text.contains("may not write"), "{text}");
    assert!(!stage.files.path().join("c.txt").exists());
}

/// The same arguments about another file.
fn about_b(arguments: &Value) -> Value {
    serde_json::from_str(&arguments.to_string().replace("a.txt", "b.txt")).unwrap()
}
