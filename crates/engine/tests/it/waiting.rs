//! How a parent learns what became of its agents, and what they may spend of its budget.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

use posse_engine::{Limits, OverCap};
use posse_protocol::{Budget, Ending, EventKind, Sender, Usage};
use posse_surface::Surface;
use posse_testkit::{Captured, Turn, asker};
use serde_json::{Value, json};

use crate::check::Ran;
use crate::crew::{REPORT, Stage, start};
use crate::follow::{busy, cancel, holds, message, named, sh, until_file, wait};

/// Main starts `quick`, which reports at once, and `slow`, which never does, and then waits like this.
async fn waited(arguments: Value) -> (bool, String) {
    let main = vec![
        Turn::call("agent", named("quick", "explore", "Look."))
            .and_call("agent", named("slow", "general", "Work.")),
        until_file("slow"),
        Turn::call("agent", arguments),
        cancel("slow"),
        Turn::text("Done."),
    ];
    let stage =
        Stage::new([("main", main), ("quick", vec![Turn::text(REPORT)]), ("slow", vec![busy("slow")])]).await;
    let ran = stage.run("go").await;
    assert!(ran.deliveries().values().all(|times| *times == 1), "{:?}", ran.deliveries());
    assert_eq!(ran.deliveries().len(), 2);
    ran.results_of("main")[3].clone()
}

#[tokio::test]
async fn a_wait_ends_with_the_first_or_with_the_last_or_with_its_time() {
    let quick =
        ["quick (explore) \"Look.\": completed; 1 turn, 0 tool calls, 110 tokens", "| SUMMARY: I looked"];
    let over = "Waited 0.1 s; 1 still at work. Their reports come by themselves.";
    // The report of `quick` has come by itself where main had a turn after it.
    let cases: [(Value, &[&str]); 3] = [
        (json!({"action": "wait", "agents": ["slow"], "timeout_ms": 100}), &[over]),
        (json!({"action": "wait", "agents": ["quick"]}), &["1 still at work."]),
        (json!({"action": "wait", "timeout_ms": 100}), &[over]),
    ];
    for (arguments, told) in cases {
        let (ok, text) = waited(arguments.clone()).await;
        assert!(ok, "{arguments}: {text}");
        holds(&text, told);
    }
    let main = vec![
        Turn::call("agent", named("quick", "explore", "Look."))
            .and_call("agent", named("slow", "general", "Work."))
            .and_call("agent", json!({"action": "wait", "until": "any"})),
        cancel("slow"),
        Turn::text("Done."),
    ];
    let stage =
        Stage::new([("main", main), ("quick", vec![Turn::text(REPORT)]), ("slow", vec![busy("slow")])]).await;
    let ran = stage.run("go").await;
    let (ok, text) = &ran.results_of("main")[2];
    assert!(ok);
    holds(text, &quick);
    assert!(text.ends_with("</report>\n1 still at work."), "{text}");
}

#[tokio::test]
async fn a_wait_for_all_tells_all_and_a_wait_for_nothing_or_for_strangers_says_so() {
    let main = vec![
        Turn::call("agent", start("explore", "Look at a.")).and_call("agent", start("explore", "Look at b.")),
        wait(),
        wait(),
        Turn::call("agent", json!({"action": "wait", "agents": ["explore-7"]})),
        Turn::text("Done."),
    ];
    let stage = Stage::new([("main", main), ("*", vec![Turn::text(REPORT)])]).await;
    let ran = stage.run("go").await;
    assert_eq!(ran.report.receipt.below.agents, 2);
    let results = ran.results_of("main");
    let nothing = "There is nothing to wait for: no agent of yours is at work, and all reports were told or follow right here.";
    assert_eq!(results[3], (true, nothing.to_string()));
    let (ok, text) = &results[4];
    let stranger = "There is no agent explore-7. Yours are: ";
    assert!(!ok && text.starts_with(stranger) && text.contains("explore-1") && text.contains("explore-2"));
    let (ok, text) = &results[2];
    assert!(ok);
    let by_itself = ran.told("main", Sender::Reports).join("\n");
    for name in ["explore-1 (explore)", "explore-2 (explore)"] {
        assert!(text.contains(name) != by_itself.contains(name), "{name} is told once: {text}");
    }
}

#[tokio::test]
async fn waiting_again_and_again_for_slow_work_is_not_a_loop() {
    let again = || Turn::call("agent", json!({"action": "wait", "timeout_ms": 150}));
    let mut main = vec![Turn::call("agent", start("general", "Work."))];
    main.extend((0..6).map(|_| again()));
    main.extend([sh("touch enough"), wait(), Turn::text("Done.")]);
    let child = vec![sh("until [ -e enough ]; do sleep 0.02; done"), Turn::text(REPORT)];
    let stage = Stage::new([("main", main), ("general-1", child)]).await;
    let ran = stage.run("go").await;
    assert_eq!([ran.ended("main"), ran.ended("general-1")], ["completed", "completed"]);
}

#[tokio::test]
async fn one_can_wait_for_an_agent_further_down() {
    let main = vec![
        Turn::call("agent", named("outer", "general", "Have it done.")),
        until_file("begun"),
        Turn::call("agent", json!({"action": "wait", "agents": ["inner"], "timeout_s": 10})),
        sh("touch seen"),
        wait(),
        Turn::text("Done."),
    ];
    let outer = vec![
        Turn::call("agent", named("inner", "general", "Do it.")),
        sh("touch begun; until [ -e seen ]; do sleep 0.02; done"),
        wait(),
        Turn::text(REPORT),
    ];
    let inner = vec![sh("until [ -e begun ]; do sleep 0.02; done; sleep 0.3"), Turn::text(REPORT)];
    let stage = Stage::new([("main", main), ("outer", outer), ("inner", inner)]).await;
    let ran = stage.run("go").await;
    assert_eq!(["main", "outer", "inner"].map(|name| ran.ended(name)), ["completed"; 3]);
    assert!(ran.took_ms("main", 2) < 8_000, "its end is noticed when it comes");
    assert_eq!(ran.results_of("main")[2], (true, "1 still at work.".to_string()));
    let outer = ran.told("outer", Sender::Reports).join("") + &ran.results_of("outer")[2].1;
    holds(&outer, &["inner (general) \"Do it.\": completed"]);
}

#[tokio::test]
async fn nested_agents_do_not_block_each_other_with_a_single_slot() {
    let main =
        vec![Turn::call("agent", named("outer", "general", "Have it done.")), wait(), Turn::text("Done.")];
    let outer = vec![Turn::call("agent", named("inner", "general", "Do it.")), wait(), Turn::text(REPORT)];
    let mut stage = Stage::new([("main", main), ("outer", outer), ("inner", vec![Turn::text(REPORT)])]).await;
    stage.delegation.limits = Limits { running_max: 1, ..Limits::default() };
    let ran = stage.run("go").await;
    assert_eq!(["main", "outer", "inner"].map(|name| ran.ended(name)), ["completed"; 3]);
    assert_eq!(stage.model.running_peak(), 1);
}

#[tokio::test]
async fn over_the_cap_a_start_is_refused_if_so_wished() {
    let main = vec![
        Turn::call("agent", named("one", "general", "Work."))
            .and_call("agent", named("two", "general", "Work too.")),
        cancel("one"),
        Turn::text("Done."),
    ];
    let mut stage = Stage::new([("main", main), ("one", vec![busy("begun")])]).await;
    stage.delegation.limits = Limits { running_max: 1, over_cap: OverCap::Error, ..Limits::default() };
    let ran = stage.run("go").await;
    let refused = "1 agents are running, which is the cap: wait for one or cancel one, then try again";
    assert_eq!(ran.results_of("main")[1], (false, refused.to_string()));
    assert_eq!(ran.agents().len(), 1);
}

#[tokio::test]
async fn a_status_is_told_once_then_unchanged_and_then_waits_for_a_change() {
    let status = || Turn::call("agent", json!({"action": "status"}));
    let main = vec![
        Turn::call("agent", start("general", "Work.")),
        until_file("begun"),
        status(),
        status(),
        sh("touch asked"),
        status(),
        Turn::text("Done."),
    ];
    let child =
        vec![sh("touch begun; until [ -e asked ]; do sleep 0.02; done; sleep 0.3"), Turn::text(REPORT)];
    let stage = Stage::new([("main", main), ("general-1", child)]).await;
    let ran = stage.run("go").await;
    let results = ran.results_of("main");
    let advice = "Reports come by themselves: go on with other work, or use wait if there is none.";
    let first = format!("general-1 (general) running, turn 1/50, 110 tokens, 0 s: Work.\n{advice}");
    assert_eq!(results[2], (true, first));
    assert_eq!(results[3], (true, format!("unchanged since you last asked. {advice}")));
    let (ok, text) = &results[5];
    assert!(ok);
    holds(text, &["general-1 (general) completed, turn 2/50, 220 tokens", "s: Work.\n", advice]);
}

#[tokio::test]
async fn a_long_status_comes_in_pages() {
    let mut all = Turn::text("Many.");
    for n in 0..25 {
        all = all.and_call("agent", start("general", &format!("Part {n}.")));
    }
    let page = |n: u32| Turn::call("agent", json!({"action": "status", "page": n}));
    let main = vec![all, page(1), message("general-1", "Hello."), Turn::text("Waiting.")];
    let mut stage = Stage::new([("main", main), ("*", vec![Turn::text(REPORT).stall_after(0)])]).await;
    stage.delegation.limits = Limits { running_max: 1, ..Limits::default() };
    let session = stage.start("go");
    let mut followed = crate::follow::Followed::new(session);
    followed
        .until(
            1,
            |event| matches!(&event.kind, EventKind::ToolFinished { text, .. } if text.contains("gets it")),
        )
        .await;
    followed.session.cancel();
    let ran = followed.finish().await;
    let (_, text) = &ran.results_of("main")[25];
    let lines = text.lines().collect::<Vec<_>>();
    assert_eq!(lines.len(), 22, "{text}");
    assert!(lines[0].starts_with("general-1 (general) running"), "{text}");
    assert!(lines[19].starts_with("general-20 (general) queued"), "{text}");
    assert_eq!(lines[20], "5 more: ask for page 2.");
}

#[tokio::test]
async fn reports_that_come_while_the_parent_is_busy_are_one_message_and_each_told_once() {
    let mut all = Turn::text("They are on it.");
    for n in 0..3 {
        all = all.and_call("agent", start("general", &format!("Part {n}.")));
    }
    let three = "until [ $(ls | grep -c part) = 3 ]; do sleep 0.02; done; sleep 0.6";
    let main = vec![all, sh(three), Turn::text("Done.")];
    let child = vec![sh("mktemp -p . part-XXXXXX"), Turn::text(REPORT)];
    let stage = Stage::new([("main", main), ("*", child)]).await;
    let ran = stage.run("go").await;
    let told = ran.told("main", Sender::Reports);
    assert_eq!(told.len(), 1, "{told:?}");
    holds(&told[0], &["general-1 (general)", "general-2 (general)", "general-3 (general)"]);
    let mut agents = ran.agents().into_values().map(|id| (id, 1)).collect::<Vec<_>>();
    let mut delivered = ran.deliveries().into_iter().collect::<Vec<_>>();
    agents.sort();
    delivered.sort();
    assert_eq!(delivered, agents);
    assert_eq!((ran.report.receipt.turns, &ran.report.ending), (3, &Ending::Completed));
}

#[tokio::test]
async fn a_parent_that_ends_stops_its_agents() {
    let started = Turn::call("agent", start("general", "Work."));
    let cases = [
        ("out_of_turns", Some(2), vec![started.clone(), until_file("begun"), Turn::text("So far.")]),
        ("failed", None, vec![started.clone(), until_file("begun"), Turn::status(400)]),
        (
            "refused",
            None,
            vec![started, until_file("begun"), Turn::text("No.").stop(posse_protocol::StopReason::Refusal)],
        ),
    ];
    let mut seen = 0;
    for (ending, turns, main) in cases {
        let mut stage = Stage::new([("main", main), ("general-1", vec![busy("begun")])]).await;
        stage.budget = Budget { turns, ..Budget::UNLIMITED };
        let ran = stage.run("go").await;
        assert_eq!([ran.ended("main"), ran.ended("general-1")], [ending, "cancelled"]);
        assert_eq!(ran.endings().len(), 1);
        seen += 1;
    }
    assert_eq!(seen, 3);
}

#[tokio::test]
async fn a_childs_budget_is_carved_from_its_parents() {
    let main = vec![
        Turn::call("agent", named("one", "explore", "Look."))
            .and_call("agent", named("two", "explore", "Look too.")),
        wait(),
        Turn::text("Done."),
    ];
    let mut stage = Stage::new([("main", main), ("*", vec![Turn::text(REPORT)])]).await;
    stage.budget = Budget { turns: Some(20), tokens: Some(100_000), ..Budget::UNLIMITED };
    let ran = stage.run("go").await;
    assert_eq!(ran.ended("main"), "completed");
    let of =
        |tokens| Budget { turns: Some(19), tokens: Some(tokens), time_ms: Some(600_000), cost_usd: None };
    // Main's first reply took 110; each child gets its usual 65,536 or three quarters of what is left.
    assert_eq!([budget_of(&ran, "one"), budget_of(&ran, "two")], [of(65_536), of(25_765)]);
}

#[tokio::test]
async fn a_childs_spending_is_its_parents() {
    let main = vec![
        Turn::call("agent", start("explore", "Look.")),
        Turn::text("Waiting."),
        Turn::text("That is all there is."),
    ];
    let usage = Usage { input_tokens: Some(19_990), output_tokens: Some(10), ..Usage::default() };
    let child = vec![Turn::text(REPORT).usage(usage)];
    let mut stage = Stage::new([("main", main), ("explore-1", child)]).await;
    stage.budget = Budget { tokens: Some(10_000), ..Budget::UNLIMITED };
    let ran = stage.run("go").await;
    assert_eq!(budget_of(&ran, "explore-1").tokens, Some(7_417));
    assert_eq!((ran.ended("main"), ran.report.text.as_str()), ("out_of_tokens", "That is all there is."));
    assert_eq!(ran.report.receipt.below.usage.total_tokens(), Some(20_000));
    holds(
        &ran.told("main", Sender::Reports)[0],
        &["explore-1 (explore) \"Look.\": completed", "20000 tokens"],
    );
}

/// What an agent may spend, as recorded.
fn budget_of(ran: &Ran, name: &str) -> Budget {
    let started = ran.of(name).into_iter().find_map(|event| match &event.kind {
        EventKind::AgentStarted { budget, .. } => Some(*budget),
        _ => None,
    });
    started.unwrap()
}

/// On this surface no configuration lets more than twenty run at the same time; the others wait for their turn.
#[tokio::test(flavor = "multi_thread")]
async fn twenty_sessions_run_at_the_same_time_and_no_more() {
    let mut opens = Turn::call("agent_open", json!({"prompt": "look 0"}));
    for n in 1..25 {
        opens = opens.and_call("agent_open", json!({"prompt": format!("look {n}")}));
    }
    let wait = Turn::call("agent_eval", json!({"wait": true, "until": "all"}));
    let main = Mutex::new(VecDeque::from([opens, wait]));
    let rule = move |request: &Captured| match asker(&request.json()).as_str() {
        "main" => main.lock().unwrap().pop_front().unwrap_or_else(|| Turn::text("Done.")),
        _ => Turn::text(REPORT).delay(Duration::from_millis(60)),
    };
    let mut stage = Stage::by_rule(rule).await.surface(Surface::Sessions);
    stage.max_concurrent = 64;
    stage.delegation.limits.running_max = 1_000;
    let ran = stage.run("go").await;
    assert_eq!(ran.agents().len(), 25);
    // The main agent may ask beside them.
    let peak = stage.model.running_peak();
    assert!(peak <= 20 + 1, "{peak} at the same time");
    // One wait was enough for all of them.
    assert_eq!((ran.deliveries().len(), ran.results_of("main").len()), (25, 26));
    let waited = &ran.results_of("main")[25].1;
    assert!(!waited.contains("still at work"), "{waited}");
}
