//! Sessions that are let go of while they work, at any moment, and go on: with real checkouts, commands and processes.

use std::time::{Duration, Instant};

use posse_engine::{Engine, Session};
use posse_protocol::{Event, EventKind, Seq, SessionId, Update};
use posse_surface::Surface;
use posse_testkit::{Turn, processes_with};
use serde_json::{Value, json};

use super::crashing::{in_flight, nothing_twice};
use super::every_step::{blocking, blocks, read, write};
use super::outcome::Outcome;
use super::play::Play;
use crate::check::{Ran, finish};
use crate::crew::REPORT;
use crate::follow::{Followed, sh, until_file};

/// Moments at which a session with checkouts is let go of.
const MOMENTS_MIN: usize = 15;

fn apart(name: &str, prompt: &str) -> Value {
    let mut start = blocks(name, prompt);
    start["isolation"] = json!("worktree");
    start
}

/// A child with a checkout of its own, in which a grandchild works as well; then its work is brought in.
async fn checkouts() -> Play {
    let main = vec![
        Turn::call("agent", apart("child", "Do your part")),
        Turn::call("agent_merge", json!({"agent": "child"})),
        Turn::text("It is all in."),
    ];
    let child = vec![
        write("new-child.txt"),
        Turn::call("agent", blocks("grandchild", "Help with it")),
        read("new-grandchild.txt"),
        Turn::text(REPORT),
    ];
    let grandchild = vec![read("new-child.txt"), write("new-grandchild.txt"), Turn::text(REPORT)];
    let scenario = blocking([("main", main), ("child", child), ("grandchild", grandchild)]).await;
    let mut play = scenario.play;
    play.stage.files = std::mem::take(&mut play.stage.files).git();
    play
}

/// Follows a session until so many of its events are on record, then lets go of it. False if it is over by then.
async fn let_go_after(mut session: Session, wanted: usize) -> bool {
    let mut seen = 0;
    while seen < wanted {
        match session.next().await {
            Some(Update::Event(_)) => seen += 1,
            Some(Update::Progress(_)) => {}
            None => return false,
        }
    }
    let open = session.detach().await.unwrap() > 0;
    if !open {
        assert_eq!(session.report().await.map(|report| report.ending.word()), Some("completed"));
    }
    open
}

fn events(engine: &Engine, session: SessionId) -> Vec<Event> {
    engine.events_after(session, Seq(0), 10_000).unwrap()
}

async fn go_on(play: &Play, session: SessionId) -> Ran {
    finish(play.stage.engine.resume(session, play.request("")).await.unwrap()).await
}

/// What is left when a session is over: its branch has the work once, and nothing else is there.
fn all_is_in(play: &Play, session: SessionId, place: &str) {
    let files = &play.stage.files;
    for name in ["new-child.txt", "new-grandchild.txt"] {
        assert_eq!(files.read(name), "written\n", "{place}");
    }
    let rows = play.stage.engine.agents(session).unwrap();
    assert!(rows.iter().all(|agent| agent.status.word() == "completed"), "{rows:?} {place}");
    let all = events(&play.stage.engine, session);
    let branch = all.iter().rev().find_map(|event| match &event.kind {
        EventKind::AgentSettled { report } => report.receipt.branch.clone(),
        _ => None,
    });
    let branch = branch.unwrap_or_else(|| panic!("no branch {place}"));
    let changed = files.run_git(&["diff", "--name-only", &branch.base, &branch.name]);
    assert_eq!(changed, "new-child.txt\nnew-grandchild.txt\n", "{place}");
    let known = files.run_git(&["worktree", "list", "--porcelain"]);
    assert_eq!(known.lines().filter(|line| line.starts_with("worktree ")).count(), 1, "{place}: {known}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn work_in_checkouts_is_on_its_branch_once_whenever_the_session_was_let_go_of() {
    let play = checkouts().await;
    let clean = || {
        for name in ["new-child.txt", "new-grandchild.txt"] {
            let _ = std::fs::remove_file(play.stage.files.path().join(name));
        }
    };
    let whole = finish(play.stage.engine.start(play.request("Do it")).unwrap()).await;
    let whole = whole.events().cloned().collect::<Vec<_>>();
    all_is_in(&play, whole[0].session, "without a crash");
    let wanted = Outcome::of(&whole).ends();
    let mut moments = 0;
    let every = if std::env::var_os("POSSE_SOAK").is_some() { 1 } else { 2 };
    for after in (3..whole.len()).step_by(every) {
        clean();
        let session = play.stage.engine.start(play.request("Do it")).unwrap();
        let id = session.id;
        if !let_go_after(session, after).await {
            continue;
        }
        let before = events(&play.stage.engine, id);
        let place = format!("let go of after {after}: {:?}", before.iter().rev().nth(1).map(|e| &e.kind));
        // A merge that was under way is on record, whoever goes away.
        let newest = before.iter().rev().take(2);
        let mut let_go =
            newest.filter(|e| matches!(e.kind, EventKind::SessionInterrupted { detached: true, .. }));
        assert!(let_go.next().is_some(), "{place}");
        go_on(&play, id).await;
        let all = events(&play.stage.engine, id);
        nothing_twice(&all, &place);
        moments += 1;
        let open = in_flight(&before);
        if open.is_empty() {
            assert_eq!(Outcome::of(&all).ends(), wanted, "{place}");
            all_is_in(&play, id, &place);
        }
    }
    assert!(moments >= MOMENTS_MIN, "{moments} moments");
}

/// Words by which the processes of one test are found; each test is a process of its own.
fn mark(name: &str) -> String {
    format!("posse-mark-{}-{name}", std::process::id())
}

async fn gone(mark: &str) {
    let since = Instant::now();
    while !processes_with(mark).is_empty() {
        assert!(since.elapsed() < Duration::from_secs(2), "{mark} still runs: {:?}", processes_with(mark));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Nothing of what agents had started runs on, and what ran is answered or told of.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn letting_go_stops_commands_and_leaves_everything_resumable() {
    let (beside, waited) = (mark("beside"), mark("waited"));
    let background = json!({"command": format!("touch new-one; sleep 300; : {beside}"), "background": true});
    let main = vec![
        Turn::call("shell", background),
        until_file("new-one"),
        Turn::call("agent", blocks("child", "Take long")),
        Turn::text("Done."),
    ];
    let child = vec![sh(&format!("touch new-two; sleep 300; : {waited}")), Turn::text(REPORT)];
    let mut play = Play::new([("main", main), ("child", child)]).await;
    play.stage.delegation.surface = Surface::Task;
    let mut followed = Followed::new(play.stage.engine.start(play.request("Do it")).unwrap());
    let commands = |e: &Event| matches!(&e.kind, EventKind::ToolStarted { tool, .. } if tool == "shell");
    followed.until(3, commands).await;
    while !play.stage.files.path().join("new-two").exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!processes_with(&beside).is_empty() && !processes_with(&waited).is_empty());
    let id = followed.session.id;
    assert_eq!(followed.session.detach().await.unwrap(), 2);
    gone(&beside).await;
    gone(&waited).await;
    let engine = Engine::open(play.stage.data.path()).unwrap();
    let states = engine.agents(id).unwrap().into_iter().map(|agent| agent.status.word()).collect::<Vec<_>>();
    assert_eq!(states, ["interrupted", "interrupted"]);
    let before = events(&engine, id).len();
    let ran = go_on(&play, id).await;
    assert_eq!(ran.report.ending.word(), "completed");
    let told = events(&engine, id)[before..]
        .iter()
        .filter(|event| match &event.kind {
            EventKind::Told { text, .. } => text.starts_with("cmd-1 was stopped"),
            _ => false,
        })
        .count();
    assert_eq!(told, 1);
}
