//! Commands that run in the foreground: what they write is seen meanwhile, and a person can move them to the background.

use posse_engine::UndoExtent;
use posse_protocol::{AgentId, CallId, Event, EventKind, ProgressKind, Sender, Shell};
use posse_testkit::{Turn, processes_with};
use posse_tools::MoveError;
use serde_json::json;

use crate::check::Ran;
use crate::crew::Stage;
use crate::follow::{Followed, holds, sh};
use crate::undoing::{contents, paths, undo};

/// What was seen of an agent's commands while they ran.
fn shown(ran: &Ran) -> String {
    let parts = ran.updates.iter().filter_map(|update| match update {
        posse_protocol::Update::Progress(progress) => match &progress.kind {
            ProgressKind::Output { text, .. } => Some(text.as_str()),
            _ => None,
        },
        posse_protocol::Update::Event(_) => None,
    });
    parts.collect()
}

#[tokio::test]
async fn what_a_command_writes_is_seen_while_it_runs() {
    let command = "printf 'one \\033[31mred\\033[0m\\n\\303'; until [ -e over ]; do sleep 0.02; done; printf '\\274\\n'; sleep 0.5";
    let stage = Stage::new([("main", vec![sh(command), Turn::text("Done.")])]).await;
    let mut followed = Followed::new(stage.start("go"));
    let written = |part: &'static str| move |progress: &posse_protocol::Progress| matches!(&progress.kind, ProgressKind::Output { text, .. } if text.contains(part));
    followed.until_shown(written("one red\n")).await;
    std::fs::write(stage.files.path().join("over"), "").unwrap();
    followed.until_shown(written("ü\n")).await;
    let ran = followed.finish().await;
    assert_eq!(shown(&ran), "one red\nü\n", "each part once, and no half of a character");
    assert_eq!(ran.results_of("main"), [(true, "exit code 0\none red\nü".to_string())]);
}

#[tokio::test]
async fn a_command_that_writes_without_end_is_seen_in_small_parts() {
    let command = "yes 'a line of text' | head -c 300000000 | tail -c +1; sleep 0.5";
    let stage = Stage::new([("main", vec![sh(command), Turn::text("Done.")])]).await;
    let ran = stage.run("go").await;
    let sizes = ran.updates.iter().filter_map(|update| match update {
        posse_protocol::Update::Progress(progress) => match &progress.kind {
            ProgressKind::Output { text, .. } => Some(text.len()),
            _ => None,
        },
        posse_protocol::Update::Event(_) => None,
    });
    let sizes = sizes.collect::<Vec<_>>();
    assert!(!sizes.is_empty() && sizes.iter().all(|size| *size <= 4 * 1024), "{sizes:?}");
    assert!(ran.results_of("main")[0].0);
}

/// Waits for a command of an agent, and gives back who runs it by which call.
async fn running(followed: &mut Followed, stage: &Stage, file: &str) -> (AgentId, CallId) {
    let found = std::cell::RefCell::new(None);
    let shell = |event: &Event| match &event.kind {
        EventKind::ToolStarted { call, tool, .. } if tool == "shell" => {
            found.replace(Some((event.agent, call.clone())));
            true
        }
        _ => false,
    };
    followed.until(1, shell).await;
    until_there(stage, file).await;
    found.take().unwrap()
}

async fn until_there(stage: &Stage, file: &str) {
    let wait = async {
        while !stage.files.path().join(file).exists() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(20), wait).await.expect("the command begins");
}

fn is_change(event: &Event) -> bool {
    matches!(event.kind, EventKind::Changed { .. })
}

#[tokio::test]
async fn a_person_moves_a_command_to_the_background_and_all_its_work_stays_the_agents() {
    let command = "echo begun; echo before > before.txt; echo x > seen; until [ -e over ]; do sleep 0.02; done; rm over; \
                   echo after > after.txt; echo ended";
    let main = vec![
        sh(command),
        sh("echo own > own.txt; touch over"),
        Turn::call("jobs", json!({"name": "cmd-1", "wait_ms": 20_000})),
        Turn::text("Done."),
    ];
    let stage = Stage::new([("main", main)]).await;
    let before = contents(stage.files.path());
    let mut followed = Followed::new(stage.start("go"));
    let (agent, call) = running(&mut followed, &stage, "seen").await;
    let (nobody, no_call) = (AgentId::from(uuid::Uuid::nil()), CallId("none".to_string()));
    assert_eq!(followed.session.to_background(nobody, &call).await, Err(MoveError::NotRunning));
    assert_eq!(followed.session.to_background(agent, &no_call).await, Err(MoveError::NotRunning));
    assert_eq!(followed.session.to_background(agent, &call).await, Ok("cmd-1".to_string()));
    let again = followed.session.to_background(agent, &call).await;
    assert_eq!(again, Err(MoveError::NotRunning), "it runs in the background");
    let ran = followed.finish().await;
    let results = ran.results_of("main");
    let told = "The person moved it to the background as cmd-1, where it goes on. You are told when it ends; see its output \
                with jobs. So far:\nbegun";
    assert_eq!(results[0], (true, told.to_string()));
    holds(&results[2].1, &["cmd-1 (exit code 0): ", "begun\nended"]);
    let lives = ran.events().filter_map(|event| match &event.kind {
        EventKind::BackgroundStarted { name, .. } => Some((name.clone(), None)),
        EventKind::BackgroundEnded { name, exit_code, .. } => Some((name.clone(), *exit_code)),
        _ => None,
    });
    assert_eq!(lives.collect::<Vec<_>>(), [("cmd-1".to_string(), None), ("cmd-1".to_string(), Some(0))]);
    let receipt = &ran.report.receipt;
    let commands = receipt.commands.iter().map(|run| (run.command.as_str(), run.exit_code));
    assert!(commands.clone().any(|run| run == (command, Some(0))), "{:?}", commands.collect::<Vec<_>>());
    // All of it is the agent's, before and after the move.
    let undone = undo(&stage, UndoExtent::Agent("main".to_string())).await;
    assert_eq!(paths(undone), ["after.txt", "before.txt", "own.txt", "seen"]);
    assert_eq!(contents(stage.files.path()), before);
}

#[tokio::test]
async fn a_moved_command_has_the_time_of_the_background_and_ends_with_the_session() {
    let mark = format!("posse-mark-{}-moved", std::process::id());
    let command = format!("touch seen; sleep 300; : {mark}");
    let call = Turn::call("shell", json!({"command": command, "timeout_ms": 3_000}));
    let main = vec![call, sh("sleep 4"), Turn::text("Done.")];
    let stage = Stage::new([("main", main)]).await;
    let mut followed = Followed::new(stage.start("go"));
    let (agent, call) = running(&mut followed, &stage, "seen").await;
    assert_eq!(followed.session.to_background(agent, &call).await, Ok("cmd-1".to_string()));
    // Longer than its own time.
    followed.until(2, |event| matches!(event.kind, EventKind::ToolFinished { .. })).await;
    let ended = |event: &Event| matches!(event.kind, EventKind::BackgroundEnded { .. });
    let ran = followed.finish().await;
    let order = ran.events().filter_map(|event| match &event.kind {
        EventKind::ToolFinished { .. } => Some("result"),
        _ if ended(event) => Some("end"),
        _ => None,
    });
    assert_eq!(order.collect::<Vec<_>>(), ["result", "result", "end"]);
    assert_eq!(processes_with(&mark), Vec::<u32>::new());
}

#[tokio::test]
async fn a_command_that_only_looks_can_be_moved_and_its_end_is_told() {
    let command = "echo begun; until grep -q over a.txt; do sleep 0.02; done; echo ended";
    let main = vec![sh(command), sh("until grep -q told a.txt; do sleep 0.02; done"), Turn::text("Done.")];
    let mut stage = Stage::new([("main", main)]).await;
    stage.grant.shell = Shell::Inspect;
    let mut followed = Followed::new(stage.start("go"));
    let begun = |progress: &posse_protocol::Progress| matches!(progress.kind, ProgressKind::Output { .. });
    followed.until_shown(begun).await;
    let (agent, call) = running(&mut followed, &stage, "a.txt").await;
    assert_eq!(followed.session.to_background(agent, &call).await, Ok("cmd-1".to_string()));
    followed.until(1, |event| matches!(event.kind, EventKind::ToolFinished { .. })).await;
    std::fs::write(stage.files.path().join("a.txt"), "over").unwrap();
    followed.until(1, |event| matches!(event.kind, EventKind::BackgroundEnded { .. })).await;
    std::fs::write(stage.files.path().join("a.txt"), "told").unwrap();
    let ran = followed.finish().await;
    holds(&ran.told("main", Sender::Posse).join("\n"), &["cmd-1 ended with exit code 0", "| begun\n| ended"]);
    assert_eq!(ran.events().filter(|event| is_change(event)).count(), 0);
}

#[tokio::test]
async fn no_more_are_moved_than_may_run_and_what_is_stopped_is_gone() {
    let mark = format!("posse-mark-{}-full", std::process::id());
    let background = json!({"command": format!("sleep 300; : {mark}"), "background": true});
    let mut main = vec![Turn::call("shell", background); posse_tools::limits::JOBS_MAX];
    for (number, turn) in main.iter_mut().enumerate() {
        let command = format!("sleep 300; : {mark} {number}");
        *turn =
            Turn::call("jobs", json!({})).and_call("shell", json!({"command": command, "background": true}));
    }
    main.extend([sh(&format!("touch seen; sleep 300; : {mark}")), Turn::text("Done.")]);
    let stage = Stage::new([("main", main)]).await;
    let mut followed = Followed::new(stage.start("go"));
    let call = std::cell::RefCell::new(None);
    let last = |event: &Event| match &event.kind {
        EventKind::ToolStarted { call: id, title, .. } if title.contains("touch seen") => {
            call.replace(Some(id.clone()));
            true
        }
        _ => false,
    };
    followed.until(1, last).await;
    until_there(&stage, "seen").await;
    let (agent, call) = (followed.session.agent, call.take().unwrap());
    let full = posse_tools::limits::JOBS_MAX;
    assert_eq!(followed.session.to_background(agent, &call).await, Err(MoveError::TooMany(full)));
    followed.session.cancel();
    followed.finish().await;
    assert_eq!(processes_with(&mark), Vec::<u32>::new());
}
