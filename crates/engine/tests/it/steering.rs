//! Talking to agents, following them up, and stopping them: with what is below, and nothing else.

use posse_engine::Engine;
use posse_engine::Limits;
use posse_protocol::{CommandRun, Ending, EventKind, ProgressKind, Sender, Seq};
use posse_testkit::Turn;
use serde_json::json;

use crate::crew::{REPORT, Stage, last_text, start};
use crate::follow::{Followed, busy, cancel, holds, message, named, sh, until_file, wait};

#[tokio::test]
async fn a_message_is_told_at_the_next_turn() {
    let main = vec![
        Turn::call("agent", start("general", "Format a.txt.")),
        until_file("begun"),
        message("general-1", "Use tabs."),
        sh("touch told"),
        wait(),
        Turn::text("Done."),
    ];
    let child = vec![sh("touch begun; until [ -e told ]; do sleep 0.02; done"), Turn::text(REPORT)];
    let stage = Stage::new([("main", main), ("general-1", child)]).await;
    let ran = stage.run("format it").await;
    assert_eq!(ran.told("general-1", Sender::Parent), ["Format a.txt.", "Use tabs."]);
    assert_eq!(last_text(&stage.requests_of("general-1")[1].json()), "Use tabs.");
    assert_eq!(ran.results_of("main")[2], (true, "general-1 gets it at its next turn.".to_string()));
    assert_eq!(ran.ended("general-1"), "completed");
}

#[tokio::test]
async fn an_interrupt_stops_a_command_and_is_answered_at_once() {
    let hurry =
        json!({"action": "message", "agent": "general-1", "message": "Stop and report.", "interrupt": true});
    let main = vec![
        Turn::call("agent", start("general", "Try it.")),
        until_file("begun"),
        Turn::call("agent", hurry),
        wait(),
        Turn::text("Done."),
    ];
    let stage = Stage::new([("main", main), ("general-1", vec![busy("begun"), Turn::text(REPORT)])]).await;
    let ran = stage.run("try it").await;
    let stopped = "stopped by a message that came in; what it did so far is unknown";
    assert_eq!(ran.results_of("general-1"), [(false, stopped.to_string())]);
    assert_eq!(last_text(&stage.requests_of("general-1")[1].json()), "Stop and report.");
    let report = ran.report_of("general-1");
    let command = "touch begun; exec sleep 30".to_string();
    let killed = CommandRun { command, ..CommandRun::default() };
    assert_eq!((&report.ending, &report.receipt.commands), (&Ending::Completed, &vec![killed]));
}

#[tokio::test]
async fn an_interrupt_stops_a_slow_reply_and_keeps_what_was_said() {
    let main = vec![Turn::call("agent", start("general", "Tell me.")), wait(), Turn::text("Done.")];
    let slow = Turn::text("one two three four five six").split_every(40).stall_after(3);
    let stage = Stage::new([("main", main), ("general-1", vec![slow, Turn::text(REPORT)])]).await;
    let mut followed = Followed::new(stage.start("ask"));
    followed.until_shown(|progress| matches!(progress.kind, ProgressKind::Text(_))).await;
    assert!(followed.session.tell("general-1", "Be brief.", true));
    let ran = followed.finish().await;
    assert_eq!(ran.told("general-1", Sender::Person), ["Be brief."]);
    let request = stage.requests_of("general-1")[1].json();
    let messages = request["messages"].as_array().unwrap();
    let [.., said, told] = messages.as_slice() else { panic!("{messages:?}") };
    assert_eq!((&said["role"], &told["content"]), (&json!("assistant"), &json!("Be brief.")));
    assert!(said["content"].as_str().unwrap().starts_with("one"), "{said}");
    assert_eq!(ran.ended("general-1"), "completed");
}

#[tokio::test]
async fn a_follow_up_goes_on_with_the_same_conversation_as_a_new_agent_of_the_same_name() {
    let main = vec![
        Turn::call("agent", start("explore", "Look at a.txt.")),
        wait(),
        message("explore-1", "And b.txt?"),
        wait(),
        Turn::text("Done."),
    ];
    let child = vec![
        Turn::call("read_file", json!({"path": "a.txt"})),
        Turn::text(REPORT),
        Turn::text("SUMMARY: b.txt is fine as well."),
    ];
    let stage = Stage::new([("main", main), ("explore-1", child)]).await;
    let ran = stage.run("look").await;
    let admitted = ran.events().filter_map(|event| match &event.kind {
        EventKind::AgentAdmitted { name, continues, .. } => Some((event.agent, name.as_str(), *continues)),
        _ => None,
    });
    let admitted = admitted.collect::<Vec<_>>();
    let [(first, ..), (second, ..)] = admitted[..] else { panic!("{admitted:?}") };
    assert_eq!(admitted, [(first, "explore-1", None), (second, "explore-1", Some(first))]);
    assert_eq!(ran.endings(), [(first, Ending::Completed), (second, Ending::Completed)]);
    let events = ran.events().collect::<Vec<_>>();
    let again = events.iter().position(|event| event.agent == second).unwrap();
    assert!(events[again..].iter().all(|event| event.agent != first), "the old one stays as it was");
    let requests = stage.requests_of("explore-1");
    let (old, new) = (&requests[1], &requests[2]);
    let end = old.body.len() - "]}".len();
    assert_eq!(old.body[..end], new.body[..end]);
    let (old, new) = (old.json(), new.json());
    let added = &new["messages"].as_array().unwrap()[old["messages"].as_array().unwrap().len()..];
    assert_eq!(
        added,
        [json!({"role": "assistant", "content": REPORT}), json!({"role": "user", "content": "And b.txt?"})]
    );
    let (_, answer) = &ran.results_of("main")[2];
    holds(
        answer,
        &[
            "explore-1 takes its conversation up again; its earlier report is now explore-1~1:report. explore-1 is at work",
        ],
    );
    let (_, told) = &ran.results_of("main")[3];
    holds(told, &["explore-1 (explore)", "| SUMMARY: b.txt is fine as well."]);
}

#[tokio::test]
async fn what_is_stopped_stays_stopped() {
    let main = vec![
        Turn::call("agent", start("general", "Try it.")),
        until_file("begun"),
        cancel("general-1"),
        message("general-1", "Go on."),
        cancel("general-1"),
        Turn::text("Done."),
    ];
    let stage = Stage::new([("main", main), ("general-1", vec![busy("begun")])]).await;
    let ran = stage.run("try it").await;
    assert_eq!(ran.ended("general-1"), "cancelled");
    let results = ran.results_of("main");
    holds(&results[2].1, &["general-1 is stopped.\ngeneral-1 (general) \"Try it.\": cancelled; 1 turn"]);
    let refused = "general-1 was stopped, and what is stopped stays stopped; start a new agent.";
    assert_eq!(results[3], (false, refused.to_string()));
    assert_eq!(results[4], (true, "general-1 had ended before.".to_string()));
    assert_eq!(stage.requests_of("general-1").len(), 1);
}

#[tokio::test]
async fn cancelling_stops_what_is_below_and_nothing_beside_or_above() {
    let main = vec![
        Turn::call("agent", named("outer", "general", "Have it done."))
            .and_call("agent", named("sibling", "general", "Do this.")),
        until_file("inner"),
        until_file("sibling"),
        cancel("outer"),
        sh("touch over"),
        wait(),
        Turn::text("Done."),
    ];
    let outer = vec![Turn::call("agent", named("inner", "general", "Do it.")), wait()];
    let sibling = vec![sh("touch sibling; until [ -e over ]; do sleep 0.02; done"), Turn::text(REPORT)];
    let stage =
        Stage::new([("main", main), ("outer", outer), ("inner", vec![busy("inner")]), ("sibling", sibling)])
            .await;
    let ran = stage.run("go").await;
    let ended = ["outer", "inner", "sibling", "main"].map(|name| ran.ended(name));
    assert_eq!(ended, ["cancelled", "cancelled", "completed", "completed"]);
    assert_eq!(ran.endings().len(), 3);
    holds(&ran.results_of("main")[4].1, &["outer is stopped, with 1 below it."]);
}

#[tokio::test]
async fn an_agent_further_down_can_be_stopped_without_its_parent() {
    let main = vec![
        Turn::call("agent", named("outer", "general", "Have it done.")),
        until_file("inner"),
        cancel("inner"),
        sh("touch stopped"),
        wait(),
        Turn::text("Done."),
    ];
    let outer = vec![
        Turn::call("agent", named("inner", "general", "Do it.")),
        until_file("stopped"),
        Turn::text(REPORT),
    ];
    let stage = Stage::new([("main", main), ("outer", outer), ("inner", vec![busy("inner")])]).await;
    let ran = stage.run("go").await;
    assert_eq!(["outer", "inner"].map(|name| ran.ended(name)), ["completed", "cancelled"]);
    assert_eq!(ran.results_of("main")[2], (true, "inner is stopped.".to_string()));
    assert!(ran.took_ms("main", 2) < 4_000, "it is known to have ended as soon as it has");
    holds(&ran.told("outer", Sender::Reports)[0], &["inner (general) \"Do it.\": cancelled"]);
}

#[tokio::test]
async fn a_queued_agent_that_is_stopped_never_starts() {
    let main = vec![
        Turn::call("agent", named("first", "general", "Do this."))
            .and_call("agent", named("second", "general", "Do that.")),
        until_file("first"),
        cancel("second"),
        cancel("first"),
        Turn::text("Done."),
    ];
    let mut stage = Stage::new([("main", main), ("first", vec![busy("first")])]).await;
    stage.delegation.limits = Limits { running_max: 1, ..Limits::default() };
    let ran = stage.run("go").await;
    holds(&ran.results_of("main")[1].1, &["second waits for its turn, next in the queue"]);
    holds(&ran.results_of("main")[3].1, &["second is stopped.\nsecond (general) \"Do that.\": cancelled"]);
    assert_eq!(stage.requests_of("second").len(), 0);
    let kinds = ran.of("second").into_iter().map(|event| match &event.kind {
        EventKind::AgentAdmitted { .. } => "admitted",
        EventKind::AgentQueued { .. } => "queued",
        EventKind::AgentSettled { report } => report.ending.word(),
        other => panic!("{other:?}"),
    });
    assert_eq!(kinds.collect::<Vec<_>>(), ["admitted", "queued", "cancelled"]);
}

#[tokio::test]
async fn a_person_can_tell_and_stop_any_agent() {
    let main = vec![Turn::call("agent", start("general", "Try it.")), wait(), Turn::text("Done.")];
    let child = vec![busy("one"), busy("two")];
    let stage = Stage::new([("main", main), ("general-1", child)]).await;
    let mut followed = Followed::new(stage.start("try it"));
    let runs = |event: &posse_protocol::Event| {
        event.parent.is_some() && matches!(event.kind, EventKind::ToolStarted { .. })
    };
    followed.until(1, runs).await;
    assert!(followed.session.tell("general-1", "Try the other way.", true));
    followed.until(2, runs).await;
    assert!(!followed.session.tell("nobody", "Hello.", false) && !followed.session.stop("nobody"));
    assert!(followed.session.stop("general-1"));
    let ended = |event: &posse_protocol::Event| {
        event.parent.is_some() && matches!(event.kind, EventKind::AgentSettled { .. })
    };
    followed.until(1, ended).await;
    assert!(!followed.session.tell("general-1", "Too late.", false), "nobody would read it");
    assert!(!followed.session.stop("general-1"), "it has ended");
    let ran = followed.finish().await;
    assert_eq!(ran.told("general-1", Sender::Person), ["Try the other way."]);
    assert_eq!([ran.ended("general-1"), ran.ended("main")], ["cancelled", "completed"]);
}

#[tokio::test]
async fn cancelling_the_session_settles_running_and_queued_ones_once() {
    let mut all = Turn::text("They are on it.");
    for n in 0..10 {
        all = all.and_call("agent", start("general", &format!("Do part {n}.")));
    }
    let mut stage =
        Stage::new([("main", vec![all, Turn::text("Waiting.")]), ("*", vec![sh("exec sleep 30")])]).await;
    stage.delegation.limits = Limits { running_max: 5, ..Limits::default() };
    let mut followed = Followed::new(stage.start("go"));
    let runs = |event: &posse_protocol::Event| {
        event.parent.is_some() && matches!(event.kind, EventKind::ToolStarted { .. })
    };
    followed.until(5, runs).await;
    let id = followed.session.id;
    followed.session.cancel();
    let ran = followed.finish().await;
    assert_eq!(ran.report.ending, Ending::Cancelled);
    let count = |fits: fn(&EventKind) -> bool| {
        ran.events().filter(|event| event.parent.is_some() && fits(&event.kind)).count()
    };
    assert_eq!(count(|kind| matches!(kind, EventKind::AgentQueued { .. })), 5);
    assert_eq!(count(|kind| matches!(kind, EventKind::AgentStarted { .. })), 5);
    let mut settled = ran.endings();
    assert!(settled.iter().all(|(_, ending)| *ending == Ending::Cancelled));
    settled.sort_by_key(|(id, _)| *id);
    settled.dedup();
    assert_eq!((settled.len(), ran.endings().len(), ran.agents().len()), (10, 10, 10));
    let last = ran.events().last().unwrap();
    assert_eq!(last.kind, EventKind::AgentSettled { report: ran.report.clone() });
    assert_eq!(ran.report.receipt.below.agents, 10);
    let recorded = Engine::open(stage.data.path()).unwrap().events_after(id, Seq(0), 1000).unwrap();
    assert_eq!(recorded, ran.events().cloned().collect::<Vec<_>>(), "nothing comes after the end");
}
