//! Agents on workers with what belongs to them: sub-agents at home, commands in the background, and the time that they have.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use posse_cluster::{LeaseTimes, RunUp};
use posse_engine::{Engine, Session, SessionRequest};
use posse_protocol::{Ending, Event, EventKind, Seq, Update};
use posse_testkit::Turn;
use serde_json::json;

use crate::fixture::soon;
use crate::hostile::foe::{Attack, Foe, Held};
use crate::stage::{REPORT, Ran, Stage, on_branch, start};

fn main_turns(of_agent: serde_json::Value) -> Vec<Turn> {
    vec![
        Turn::call("agent", of_agent),
        Turn::call("agent", json!({"action": "wait"})),
        Turn::text("all done"),
    ]
}

fn begin(stage: &Stage) -> (Engine, Session) {
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let session = engine.start(stage.request("go", stage.fleet("home"))).unwrap();
    (engine, session)
}

/// Follows a session to the first event that is wanted.
async fn until(session: &mut Session, mut is_wanted: impl FnMut(&Event) -> bool) -> Event {
    loop {
        if let Update::Event(event) = session.next().await.expect("the session goes on")
            && is_wanted(&event)
        {
            return Event::clone(&event);
        }
    }
}

/// Follows a session to its end, and does something at each event.
async fn follow(mut session: Session, mut at: impl FnMut(&Event)) -> Ran {
    let mut events = Vec::new();
    while let Some(update) = session.next().await {
        let Update::Event(event) = update else { continue };
        at(&event);
        events.push(Event::clone(&event));
    }
    Ran { events, report: session.report().await.expect("a report") }
}

/// Nobody gives an agent on a worker a checkout at home, so its sub-agent at home must not wait for one.
#[tokio::test(flavor = "multi_thread")]
async fn a_sub_agent_at_home_goes_on_when_its_home_was_started_again() {
    let gate = Arc::new(AtomicBool::new(false));
    let below = json!({"action": "start", "role": "explore", "prompt": "look", "on": "home"});
    let stage = Stage::new([
        ("main", main_turns(start("general", "ask around"))),
        (
            "general-1",
            vec![
                Turn::call("agent", below),
                Turn::call("agent", json!({"action": "wait"})),
                Turn::text(REPORT),
                Turn::text(REPORT),
            ],
        ),
        (
            "explore-1",
            vec![
                Turn::call("read_file", json!({"path": "a.txt"})),
                Turn::call("read_file", json!({"path": "sub/b.txt"})).after(&gate),
                Turn::text(REPORT),
            ],
        ),
    ])
    .await;
    let worker = stage.worker("one", &[]);
    let (engine, mut session) = begin(&stage);
    let id = session.id;
    let mut explores = None;
    until(&mut session, |event| match &event.kind {
        EventKind::AgentAdmitted { name, .. } if name == "explore-1" => {
            explores = Some(event.agent);
            false
        }
        EventKind::ToolFinished { .. } => explores == Some(event.agent),
        _ => false,
    })
    .await;
    session.detach().await.unwrap();
    drop((session, engine));
    gate.store(true, Ordering::SeqCst);
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let request = SessionRequest { prompt: String::new(), ..stage.request("", stage.fleet("home")) };
    let session = engine.resume(id, request).await.unwrap();
    let ran = soon("the end of the session", follow(session, |_| {})).await;
    let all = Ran { events: engine.events_after(id, Seq(0), 100_000).unwrap(), report: ran.report };
    for name in ["explore-1", "general-1"] {
        assert_eq!(all.report_of(name).ending, Ending::Completed, "{name}");
    }
    worker.kill();
}

/// It is told to the agent in Posse's own words, which are no message that home has numbered.
#[tokio::test(flavor = "multi_thread")]
async fn a_background_command_that_ends_by_itself_is_told_to_its_agent() {
    let gate = Arc::new(AtomicBool::new(false));
    let stage = Stage::new([
        ("main", main_turns(start("implementer", "serve"))),
        (
            "implementer-1",
            vec![
                Turn::call("shell", json!({"command": "echo it ran; exit 3", "background": true})),
                Turn::call("shell", json!({"command": "echo 1 > one.txt"})).after(&gate),
                Turn::text(REPORT),
                Turn::text(REPORT),
            ],
        ),
    ])
    .await
    .with_worker("one", &[]);
    let (engine, mut session) = begin(&stage);
    let id = session.id;
    until(&mut session, |event| matches!(event.kind, EventKind::BackgroundStarted { .. })).await;
    // A message that home has numbered.
    assert!(session.tell("implementer-1", "be quick", false));
    let ran = follow(session, |event| {
        if matches!(event.kind, EventKind::BackgroundEnded { .. }) {
            gate.store(true, Ordering::SeqCst);
        }
    });
    let ran = soon("the end of the session", ran).await;
    let ran = Ran { events: engine.events_after(id, Seq(0), 100_000).unwrap(), report: ran.report };
    assert_eq!(ran.report_of("implementer-1").ending, Ending::Completed);
    let told = |kind: &&EventKind| matches!(kind, EventKind::Told { text, .. } if text.contains("cmd-1 ended with exit code 3"));
    assert_eq!(ran.of("implementer-1").into_iter().filter(told).count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_on_a_worker_is_moved_to_the_background() {
    let stage = Stage::new([
        ("main", main_turns(start("implementer", "serve"))),
        ("implementer-1", vec![Turn::call("shell", json!({"command": "sleep 1000"})), Turn::text(REPORT)]),
    ])
    .await
    .with_worker("one", &[]);
    let (_engine, mut session) = begin(&stage);
    let began = |event: &Event| matches!(&event.kind, EventKind::ToolStarted { tool, .. } if tool == "shell");
    let event = until(&mut session, began).await;
    let EventKind::ToolStarted { call, .. } = event.kind else { unreachable!("it was looked for") };
    let agent = event.agent;
    // It is on record before it runs.
    let name = soon("its name", async {
        loop {
            match session.to_background(agent, &call).await {
                Ok(name) => return name,
                Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
            }
        }
    })
    .await;
    assert_eq!(name, "implementer-1:cmd-1");
    let ran = soon("the end of the session", follow(session, |_| {})).await;
    assert_eq!(ran.report.ending, Ending::Completed);
    let settled = ran.events.iter().find_map(|event| match &event.kind {
        EventKind::AgentSettled { report } if event.agent == agent => Some(report.ending.clone()),
        _ => None,
    });
    assert_eq!(settled, Some(Ending::Completed));
}

#[tokio::test(flavor = "multi_thread")]
async fn background_commands_end_with_a_worker_that_is_lost_and_the_agent_is_told() {
    let gate = Arc::new(AtomicBool::new(false));
    let mut stage = Stage::new([
        ("main", main_turns(start("implementer", "serve"))),
        (
            "implementer-1",
            vec![
                Turn::call("shell", json!({"command": "sleep 1000", "background": true})),
                Turn::call("shell", json!({"command": "echo 1 > one.txt"})).after(&gate),
                Turn::text(REPORT),
                Turn::text(REPORT),
            ],
        ),
    ])
    .await;
    stage.times = LeaseTimes::for_lease(1_500);
    let mut one = Some(stage.worker("one", &[]));
    let (_engine, session) = begin(&stage);
    let mut two = None;
    let ran = follow(session, |event| {
        if matches!(event.kind, EventKind::BackgroundStarted { .. })
            && let Some(one) = one.take()
        {
            one.kill();
            two = Some(stage.worker("two", &[]));
            gate.store(true, Ordering::SeqCst);
        }
    });
    let ran = soon("the end of the session", ran).await;
    assert_eq!(ran.report_of("implementer-1").ending, Ending::Completed);
    let named = |kind: &EventKind| match kind {
        EventKind::BackgroundStarted { name, .. } => Some(format!("{name} began")),
        EventKind::BackgroundEnded { name, .. } => Some(format!("{name} ended")),
        EventKind::Told { text, .. } if text.contains("when its machine was lost") => Some(text.clone()),
        _ => None,
    };
    let told: Vec<String> = ran.of("implementer-1").into_iter().filter_map(named).collect();
    assert_eq!(
        told,
        [
            "implementer-1:cmd-1 began",
            "implementer-1:cmd-1 ended",
            "cmd-1 was stopped when its machine was lost: sleep 1000"
        ]
    );
    two.expect("another worker").kill();
}

/// A worker that renews and says nothing else, like one whose agent is stuck: home holds the agent to its time.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_whose_worker_is_silent_ends_when_its_time_is_over() {
    let task = json!({"action": "start", "role": "explore", "prompt": "look", "max_time_s": 1});
    let stage = Stage::new([("main", main_turns(task))]).await;
    let attack: Attack = Arc::new(|mut held: Held| {
        Box::pin(async move {
            held.claim().await;
            loop {
                held.say(RunUp::Renew { epoch: held.epoch, beat: 1 }).await;
                held.hear().await;
            }
        })
    });
    let _foe = Foe::rise(&stage.hub, "one", stage.folder("foe"), attack);
    let ran = soon("the end of the session", stage.run("go")).await;
    assert_eq!(ran.report_of("explore-1").ending, Ending::TimedOut);
}

/// A home that was killed after it had made the branch has it, and not the agent's end: the agent runs again. Nothing of either is lost.
#[tokio::test(flavor = "multi_thread")]
async fn work_whose_branch_has_other_commits_is_on_a_branch_beside_it() {
    let gate = Arc::new(AtomicBool::new(false));
    let stage = Stage::new([
        ("main", main_turns(start("implementer", "write it"))),
        (
            "implementer-1",
            vec![
                Turn::call("shell", json!({"command": "echo 1 > one.txt"})).after(&gate),
                Turn::text(REPORT),
                Turn::text(REPORT),
            ],
        ),
    ])
    .await
    .with_worker("one", &[]);
    let (_engine, session) = begin(&stage);
    let (files, mut own) = (&stage.files, None);
    let ran = follow(session, |event| {
        if let EventKind::CheckedOut { branch, .. } = &event.kind {
            let other = files.run_git(&["commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "other"]);
            files.run_git(&["update-ref", &format!("refs/heads/{branch}"), other.trim()]);
            own = Some((branch.clone(), other.trim().to_owned()));
            gate.store(true, Ordering::SeqCst);
        }
    });
    let ran = soon("the end of the session", ran).await;
    let (own, other) = own.expect("a branch");
    let report = ran.report_of("implementer-1");
    assert_eq!(report.ending, Ending::Completed, "{report:?}");
    let beside = report.receipt.branch.expect("its work is on a branch").name;
    assert_eq!(beside, format!("{own}.epoch1"));
    assert_eq!(on_branch(files, &beside, "one.txt"), "1\n");
    assert_eq!(files.run_git(&["rev-parse", &own]).trim(), other, "what was there stays");
    let sent = files.run_git(&["for-each-ref", "refs/posse/sent"]);
    assert_eq!(sent, "", "nothing is left of what was sent");
}

/// What home keeps of an agent that has not ended goes with its session.
#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_session_leaves_nothing_of_what_home_had_kept() {
    let never = Arc::new(AtomicBool::new(false));
    let stage = Stage::new([
        ("main", main_turns(start("implementer", "write it"))),
        (
            "implementer-1",
            vec![
                Turn::call("write_file", json!({"path": "one.txt", "content": "1\n"})),
                Turn::text(REPORT).after(&never),
            ],
        ),
    ])
    .await;
    let worker = stage.worker("one", &[]);
    let (engine, mut session) = begin(&stage);
    let id = session.id;
    until(&mut session, |event| matches!(event.kind, EventKind::WorkKept { .. })).await;
    session.detach().await.unwrap();
    drop(session);
    let kept = || std::fs::read_dir(stage.folder("home").join("elsewhere")).unwrap().count();
    assert_eq!(kept(), 1);
    let row = engine.find_session(&id.to_string()).unwrap();
    engine.delete_session(&row).await.unwrap();
    assert_eq!(kept(), 0);
    worker.kill();
}
