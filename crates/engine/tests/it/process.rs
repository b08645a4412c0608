//! What the sessions of one process share: the limit of agents at work, the queue of each endpoint, and their locks.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use posse_protocol::{Ending, EventKind, QueueReason};
use posse_testkit::Turn;

use crate::check::finish;
use crate::crew::{REPORT, Stage, start};
use crate::follow::{Followed, busy, cancel, named, until_file, wait};

fn one_at_a_time(mut stage: Stage) -> Stage {
    stage.engine = stage.engine.running_at_most(NonZeroUsize::MIN);
    stage
}

fn waits_for_the_process(kind: &EventKind) -> bool {
    matches!(kind, EventKind::AgentQueued { reason: QueueReason::ProcessCap, .. })
}

#[tokio::test]
async fn agents_of_another_session_wait_for_a_slot_of_the_process() {
    let main = vec![
        Turn::call("agent", named("slow", "general", "Work.")),
        wait(),
        Turn::call("agent", named("quick", "explore", "Look.")),
        wait(),
        Turn::text("Done."),
    ];
    let scripts = [("main", main), ("slow", vec![busy("slow")]), ("quick", vec![Turn::text(REPORT)])];
    let stage = one_at_a_time(Stage::new(scripts).await);
    let mut first = Followed::new(stage.start("first"));
    first
        .until(1, |event| event.parent.is_some() && matches!(event.kind, EventKind::ToolStarted { .. }))
        .await;
    let mut second = Followed::new(stage.start("second"));
    second.until(1, |event| waits_for_the_process(&event.kind)).await;
    assert!(stage.requests_of("quick").is_empty(), "it has not begun");
    first.session.cancel();
    let first = first.finish().await;
    assert!(!first.events().any(|event| waits_for_the_process(&event.kind)));
    let second = second.finish().await;
    assert_eq!((second.report.text.as_str(), second.ended("quick")), ("Done.", "completed"));
}

#[tokio::test]
async fn an_agent_that_waits_for_its_own_holds_no_slot_of_the_process() {
    let main = vec![Turn::call("agent", named("lead", "general", "Lead.")), wait(), Turn::text("Done.")];
    let lead = vec![Turn::call("agent", start("explore", "Look.")), wait(), Turn::text(REPORT)];
    let mut stage =
        one_at_a_time(Stage::new([("main", main), ("lead", lead), ("*", vec![Turn::text(REPORT)])]).await);
    stage.delegation.limits.depth_max = 3;
    let ran = stage.run("go").await;
    assert_eq!((ran.report.ending.clone(), ran.report.receipt.below.agents), (Ending::Completed, 2));
    assert_eq!(ran.endings().len(), 2);
}

#[tokio::test]
async fn an_agent_that_waits_for_a_slot_of_the_process_can_be_stopped() {
    let main = vec![
        Turn::call("agent", named("slow", "general", "Work.")),
        until_file("slow"),
        Turn::call("agent", named("late", "explore", "Look.")),
        cancel("late"),
        cancel("slow"),
        Turn::text("Done."),
    ];
    let stage = one_at_a_time(Stage::new([("main", main), ("slow", vec![busy("slow")])]).await);
    let ran = stage.run("go").await;
    assert!(ran.events().any(|event| waits_for_the_process(&event.kind)));
    assert_eq!([ran.ended("late"), ran.ended("slow")], ["cancelled", "cancelled"]);
    assert!(stage.requests_of("late").is_empty());
}

#[tokio::test]
async fn an_endpoint_has_one_queue_whichever_session_calls_it() {
    let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (at_once, seen) = (Arc::clone(&now), Arc::clone(&most));
    let mut stage = Stage::by_rule(move |_| {
        seen.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        // Long enough for a second request to come, if there was one.
        std::thread::sleep(Duration::from_millis(150));
        at_once.fetch_sub(1, Ordering::SeqCst);
        Turn::text("Done.")
    })
    .await;
    stage.max_concurrent = 1;
    let sessions = [stage.start("one"), stage.start("two"), stage.start("three")];
    for session in sessions {
        assert_eq!(finish(session).await.report.ending, Ending::Completed);
    }
    assert_eq!((now.load(Ordering::SeqCst), most.load(Ordering::SeqCst)), (0, 1));
    assert_eq!(stage.model.requests().len(), 3);
}

#[tokio::test]
async fn a_session_whose_report_is_there_can_be_resumed_at_once() {
    let stage = Stage::new([("main", (0..20).map(|n| Turn::text(format!("{n}"))).collect())]).await;
    let session = stage.start("go");
    let id = session.id;
    session.report().await.unwrap();
    for n in 1..20 {
        let again = stage.engine.resume(id, stage.request("more")).await.unwrap();
        assert_eq!(again.report().await.unwrap().text, n.to_string());
    }
}
