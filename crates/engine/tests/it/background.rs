//! Commands that run beside the agents: they belong to the session, are told of when they end, and never outlive it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use posse_engine::{Engine, UndoExtent};
use posse_protocol::{Change, Ending, Event, EventKind, Sender, Seq};
use posse_testkit::{Turn, processes_with};
use serde_json::json;

use crate::check::Ran;
use crate::crew::{REPORT, Stage};
use crate::follow::{Followed, holds, named, sh, until_file, wait};

fn background(command: &str) -> Turn {
    Turn::call("shell", json!({"command": command, "background": true}))
}

fn jobs(arguments: serde_json::Value) -> Turn {
    Turn::call("jobs", arguments)
}

/// Words by which the processes of one test are found; each test is a process of its own.
fn mark(name: &str) -> String {
    format!("posse-mark-{}-{name}", std::process::id())
}

/// Runs for long, and is found by its mark.
fn long(mark: &str, file: &str) -> Turn {
    background(&format!("touch {file}; sleep 300; : {mark}"))
}

/// Nothing of it is left, at once or within two seconds.
async fn gone(mark: &str) {
    let since = Instant::now();
    while !processes_with(mark).is_empty() {
        assert!(since.elapsed() < Duration::from_secs(2), "{mark} still runs: {:?}", processes_with(mark));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Starts and ends of such commands, in order: name, and exit code at the end.
fn lives(ran: &Ran) -> Vec<(&str, Option<Option<i32>>)> {
    let news = ran.events().filter_map(|event| match &event.kind {
        EventKind::BackgroundStarted { name, .. } => Some((name.as_str(), None)),
        EventKind::BackgroundEnded { name, exit_code, .. } => Some((name.as_str(), Some(*exit_code))),
        _ => None,
    });
    news.collect()
}

fn changes_of(ran: &Ran, name: &str) -> Vec<Change> {
    let changed = ran.of(name).into_iter().filter_map(|event| match &event.kind {
        EventKind::Changed { changes, .. } => Some(changes.clone()),
        _ => None,
    });
    changed.flatten().collect()
}

fn is_change(event: &Event) -> bool {
    matches!(event.kind, EventKind::Changed { .. })
}

fn is_result(event: &Event) -> bool {
    matches!(event.kind, EventKind::ToolFinished { .. })
}

#[tokio::test]
async fn it_is_not_waited_for_and_can_be_listed_read_and_waited_for() {
    let command = "echo hello; touch begun; until [ -e over ]; do sleep 0.02; done; echo bye";
    let main = vec![
        background(command),
        until_file("begun"),
        jobs(json!({})),
        jobs(json!({"name": "cmd-1"})),
        Turn::call("handle_read", json!({"handle": "cmd-1:output"})),
        jobs(json!({"name": "cmd-1", "wait_ms": 1})),
        sh("touch over"),
        jobs(json!({"name": "cmd-1", "wait_ms": 20_000})),
        jobs(json!({"name": "cmd-9"})),
        Turn::text("Done."),
    ];
    let stage = Stage::new([("main", main)]).await;
    let ran = stage.run("go").await;
    let results = ran.results_of("main");
    let says = |text: &str| (true, text.to_string());
    let begun = "cmd-1 runs in the background. You are told when it ends; see its output with jobs.";
    assert_eq!(results[0], says(begun));
    assert_eq!(results[2], says(&format!("cmd-1 (running): {command}")));
    assert_eq!(results[3], says(&format!("cmd-1 (running): {command}\nhello")));
    assert!(results[4].0, "{results:?}");
    holds(&results[4].1, &["hello"]);
    assert_eq!(results[5], results[3]);
    assert_eq!(results[7], says(&format!("cmd-1 (exit code 0): {command}\nhello\nbye")));
    assert!(!results[8].0 && results[8].1.starts_with("There is no command cmd-9. cmd-1 (exit code 0)"));
    assert_eq!(results.len(), 9);
    assert_eq!(lives(&ran), [("cmd-1", None), ("cmd-1", Some(Some(0)))]);
    let ended = ran.events().find_map(|event| match &event.kind {
        EventKind::BackgroundEnded { tail, .. } => Some(tail.as_str()),
        _ => None,
    });
    assert_eq!(ended, Some("hello\nbye"));
}

#[tokio::test]
async fn it_outlives_its_agent_and_is_stopped_by_another() {
    let (mark, seen) = (mark("outlives"), Arc::default());
    let main = vec![
        Turn::call("agent", named("child", "general", "Start it.")),
        wait(),
        jobs(json!({})).after(&seen),
        jobs(json!({"name": "cmd-1", "stop": true})),
        jobs(json!({"name": "cmd-2"})),
        Turn::text("Done."),
    ];
    let child = vec![
        long(&mark, "one"),
        long("other", "two"),
        until_file("one"),
        until_file("two"),
        Turn::text(REPORT),
    ];
    let stage = Stage::new([("main", main), ("child", child)]).await;
    let mut followed = Followed::new(stage.start("go"));
    let settled = |event: &Event| matches!(event.kind, EventKind::AgentSettled { .. });
    followed.until(1, settled).await;
    assert!(!processes_with(&mark).is_empty(), "it goes on without the agent that started it");
    seen.store(true, Ordering::Release);
    let ran = followed.finish().await;
    let results = ran.results_of("main");
    holds(&results[2].1, &["cmd-1 (running): ", "cmd-2 (running): "]);
    assert!(results[3].0 && results[3].1.starts_with("cmd-1 (ended by signal "), "{results:?}");
    assert!(results[4].1.starts_with("cmd-2 (running): "), "one by one: {results:?}");
    gone(&mark).await;
    let whose = ran.events().filter(|event| matches!(event.kind, EventKind::BackgroundStarted { .. }));
    assert!(whose.into_iter().all(|event| event.parent.is_none()), "they are the session's");
    let ends = lives(&ran).into_iter().filter_map(|(name, ended)| ended.map(|code| (name, code)));
    assert_eq!(ends.collect::<Vec<_>>(), [("cmd-1", None), ("cmd-2", None)]);
}

/// The end of a command reaches whoever is nearest to the one that started it, also at rest.
#[tokio::test]
async fn its_end_wakes_who_started_it_or_the_nearest_above() {
    let command = "until [ -e go ]; do sleep 0.02; done; echo the end";
    let idle =
        || vec![Turn::text("I wait for it."), sh("touch told"), Turn::text("Seen."), Turn::text(REPORT)];
    let holding = || vec![until_file("told"), Turn::text(REPORT)];
    let start = |name: &str| Turn::call("agent", named(name, "general", "Do it."));
    // Who is told, and the scripts of main, child and of the one that keeps the session going.
    let cases = [
        ("main", [[vec![start("long"), background(command)], idle()].concat(), vec![], holding()]),
        (
            "main",
            [
                [vec![start("child"), wait(), start("long")], idle()].concat(),
                vec![background(command), Turn::text(REPORT)],
                holding(),
            ],
        ),
        (
            "child",
            [
                vec![start("child"), Turn::text("Waiting."), Turn::text("Done.")],
                [vec![start("long"), background(command)], idle()].concat(),
                holding(),
            ],
        ),
    ];
    let mut seen = 0;
    for (told, [main, child, long]) in cases {
        let stage = Stage::new([("main", main), ("child", child), ("long", long)]).await;
        let mut followed = Followed::new(stage.start("go"));
        let waits = |event: &Event| matches!(&event.kind, EventKind::Replied { reply, .. } if reply.text.contains("I wait for it."));
        followed.until(1, waits).await;
        std::fs::write(stage.files.path().join("go"), "").unwrap();
        let ran = followed.finish().await;
        let words = ran.told(told, Sender::Posse);
        let by_job = words.iter().filter(|text| text.starts_with("cmd-1 ended with exit code 0: until ["));
        assert_eq!(by_job.count(), 1, "case {seen}: {words:?}");
        holds(&words.join("\n"), &["the end"]);
        assert!(stage.files.path().join("told").exists(), "case {seen}");
        assert_eq!(ran.report.ending, Ending::Completed, "case {seen}");
        seen += 1;
    }
    assert_eq!(seen, 3);
}

#[tokio::test]
async fn with_the_session_all_of_them_end_however_it_ends() {
    let cases = [
        ("completed", vec![Turn::text("Done.")]),
        ("failed", vec![Turn::status(400)]),
        ("cancelled", vec![sh("touch ready; sleep 300")]),
    ];
    let mut seen = 0;
    for (ending, end) in cases {
        let mark = mark(ending);
        let all = long(&mark, "one").and_call("shell", json!({
            "command": format!("touch two; (setsid sleep 300 &); trap '' TERM; sleep 300; : {mark}"), "background": true,
        }));
        let begin = vec![
            Turn::call("agent", named("child", "general", "Start it.")),
            wait(),
            until_file("one"),
            until_file("two"),
        ];
        let main = begin.into_iter().chain(end).collect();
        let stage = Stage::new([("main", main), ("child", vec![all, Turn::text(REPORT)])]).await;
        let mut followed = Followed::new(stage.start("go"));
        let id = followed.session.id;
        if ending == "cancelled" {
            let busy = |event: &Event| matches!(&event.kind, EventKind::ToolStarted { title, .. } if title.contains("ready"));
            followed.until(1, busy).await;
            followed.session.cancel();
        }
        let ran = followed.finish().await;
        assert_eq!(ran.report.ending.word(), ending);
        gone(&mark).await;
        let mut ends = lives(&ran);
        ends.sort_unstable();
        let expected = [("cmd-1", None), ("cmd-1", Some(None)), ("cmd-2", None), ("cmd-2", Some(None))];
        assert_eq!(ends, expected, "{ending}");
        let recorded = Engine::open(stage.data.path()).unwrap().events_after(id, Seq(0), 1000).unwrap();
        let last = recorded.last().unwrap();
        assert_eq!(
            last.kind,
            EventKind::AgentSettled { report: ran.report.clone() },
            "{ending}: the end is the end"
        );
        seen += 1;
    }
    assert_eq!(seen, 3);
}

#[tokio::test]
async fn the_seventeenth_is_refused_until_one_has_ended() {
    let mark = mark("many");
    let mut many = long(&mark, "f1");
    for n in 2..=17 {
        many = many
            .and_call("shell", json!({"command": format!("sleep 300; : {mark} {n}"), "background": true}));
    }
    let main = vec![
        many,
        jobs(json!({"name": "cmd-16", "stop": true})),
        background(&format!("sleep 300; : {mark}")),
        Turn::text("Done."),
    ];
    let stage = Stage::new([("main", main)]).await;
    let ran = stage.run("go").await;
    let results = ran.results_of("main");
    let ok = results.iter().map(|(ok, _)| *ok).collect::<Vec<_>>();
    assert_eq!(ok, [vec![true; 16], vec![false], vec![true, true]].concat(), "{results:?}");
    holds(&results[16].1, &["16 commands run in the background, and no more may"]);
    holds(&results[18].1, &["cmd-17 runs in the background"]);
    gone(&mark).await;
}

#[tokio::test]
async fn files_it_changes_are_its_starters_work_and_can_be_undone() {
    let recorded = Arc::default();
    let main = vec![
        Turn::call("agent", named("child", "general", "Start it.")),
        wait(),
        jobs(json!({"name": "cmd-1", "wait_ms": 20_000})),
        // What it changed is looked for once it has ended.
        Turn::text("Done.").after(&recorded),
    ];
    let child = vec![
        background("until [ -e b.txt.go ]; do sleep 0.02; done; echo made > made.txt; echo more >> a.txt"),
        Turn::text(REPORT),
    ];
    let stage = Stage::new([("main", main), ("child", child)]).await;
    let mut followed = Followed::new(stage.start("go"));
    let waits = |event: &Event| matches!(&event.kind, EventKind::ToolStarted { tool, .. } if tool == "jobs");
    followed.until(1, waits).await;
    std::fs::write(stage.files.path().join("b.txt.go"), "").unwrap();
    followed.until(1, is_change).await;
    recorded.store(true, Ordering::Release);
    let ran = followed.finish().await;
    let mut paths = changes_of(&ran, "child").into_iter().map(|change| change.path).collect::<Vec<_>>();
    paths.sort();
    assert_eq!(paths, ["a.txt", "made.txt"], "what it changed, and not what the person made meanwhile");
    let session = stage.engine.find_session("last").unwrap();
    let undone = stage.engine.undo(&session, &UndoExtent::Agent("child".to_string()), &[]).await.unwrap();
    assert_eq!((undone.changes.len(), undone.conflicts.len()), (2, 0));
    assert_eq!(undone.not_certain, ["b.txt.go"]);
    assert_eq!(
        (stage.files.read("a.txt").as_str(), stage.files.path().join("made.txt").exists()),
        ("alpha\n", false)
    );
}

#[tokio::test]
async fn what_it_changed_is_on_record_also_when_the_session_stops_it() {
    let made = Arc::default();
    let main = vec![
        background("until [ -e go ]; do sleep 0.02; done; echo made > made.txt; sleep 300"),
        Turn::call("read_file", json!({"path": "a.txt"})),
        Turn::text("Done.").after(&made),
    ];
    let stage = Stage::new([("main", main)]).await;
    let mut followed = Followed::new(stage.start("go"));
    followed.until(2, is_result).await;
    std::fs::write(stage.files.path().join("go"), "").unwrap();
    while std::fs::read(stage.files.path().join("made.txt")).unwrap_or_default() != b"made\n" {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    made.store(true, Ordering::Release);
    let ran = followed.finish().await;
    let changes = changes_of(&ran, "main");
    assert!(changes.iter().any(|change| change.path == "made.txt"), "not before the end: {changes:?}");
    let session = stage.engine.find_session("last").unwrap();
    stage.engine.undo(&session, &UndoExtent::Session, &[]).await.unwrap();
    assert!(!stage.files.path().join("made.txt").exists());
}

#[tokio::test]
async fn in_a_checkout_that_goes_it_ends_whoever_started_it() {
    let mut seen = 0;
    for owner in ["apart", "below"] {
        let mark = mark(owner);
        let mut start = named("apart", "general", "Have it done.");
        start["isolation"] = json!("worktree");
        let main = vec![
            Turn::call("agent", start),
            wait(),
            sh("touch settled; until [ -e checked ]; do sleep 0.02; done"),
            jobs(json!({"name": "cmd-1"})),
            Turn::text("Done."),
        ];
        let own = vec![long(&mark, "begun"), until_file("begun"), Turn::text(REPORT)];
        let (apart, below) = match owner {
            "apart" => (own, Vec::new()),
            _ => (
                vec![Turn::call("agent", named("below", "general", "Do it.")), wait(), Turn::text(REPORT)],
                own,
            ),
        };
        let mut stage = Stage::new([("main", main), ("apart", apart), ("below", below)]).await;
        stage.files = stage.files.git();
        let mut followed = Followed::new(stage.start("go"));
        let settled = |event: &Event| matches!(&event.kind, EventKind::ToolStarted { title, .. } if title.contains("settled"));
        followed.until(1, settled).await;
        gone(&mark).await;
        std::fs::write(stage.files.path().join("checked"), "").unwrap();
        let ran = followed.finish().await;
        let (_, text) = &ran.results_of("main")[3];
        assert!(text.starts_with("cmd-1 (ended by signal "), "{owner}: {text}");
        seen += 1;
    }
    assert_eq!(seen, 2);
}

/// One that ran in a checkout says nothing about the session's files: what a person does there later is nobody's work.
#[tokio::test]
async fn one_of_a_settled_agent_in_a_checkout_is_no_business_of_the_sessions_files() {
    let mut start = named("apart", "general", "Have it done.");
    start["isolation"] = json!("worktree");
    let pause = Duration::from_millis(800);
    let main =
        vec![Turn::call("agent", start), wait(), sh("echo m > m.txt").delay(pause), Turn::text("Done.")];
    let apart = vec![
        Turn::call("agent", named("below", "general", "Do it.")),
        wait(),
        sh("touch go"),
        jobs(json!({"name": "cmd-1", "wait_ms": 20_000})),
        Turn::text(REPORT),
    ];
    let below = vec![background("until [ -e go ]; do sleep 0.02; done"), Turn::text(REPORT)];
    let mut stage = Stage::new([("main", main), ("apart", apart), ("below", below)]).await;
    stage.files = stage.files.git();
    let mut followed = Followed::new(stage.start("go"));
    followed.until(2, |event| event.parent.is_none() && is_result(event)).await;
    std::fs::write(stage.files.path().join("person.txt"), "mine\n").unwrap();
    let ran = followed.finish().await;
    assert_eq!(lives(&ran), [("cmd-1", None), ("cmd-1", Some(Some(0)))]);
    let changed = changes_of(&ran, "main").into_iter().map(|change| change.path).collect::<Vec<_>>();
    assert_eq!(changed, ["m.txt"]);
    assert_eq!(changes_of(&ran, "below"), []);
}
