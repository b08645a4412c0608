//! Taking back what agents did: one agent's work and not the others', by tool or by command, and forth again.

use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use posse_engine::record::SessionRow;
use posse_engine::{EngineError, RecordDetail, UndoExtent, UndoOutcome};
use posse_protocol::{Event, EventKind, Seq};
use posse_testkit::Turn;
use serde_json::json;

use crate::approvals::write;
use crate::crew::{REPORT, Stage};
use crate::follow::{Followed, holds, message, named, sh, wait};

pub(crate) fn edit(path: &str, old: &str, new: &str) -> Turn {
    Turn::call("edit_file", json!({"path": path, "old_text": old, "new_text": new}))
}

pub(crate) fn read(path: &str) -> Turn {
    Turn::call("read_file", json!({"path": path}))
}

pub(crate) fn agent(name: &str) -> UndoExtent {
    UndoExtent::Agent(name.to_string())
}

/// The main agent lets these work one after the other, and then does something itself.
pub(crate) async fn crew<const N: usize>(agents: [(&'static str, Vec<Turn>); N], then: Vec<Turn>) -> Stage {
    let mut main = Vec::new();
    for (name, _) in &agents {
        main.extend([Turn::call("agent", named(name, "general", "Do it.")), wait()]);
    }
    main.extend(then);
    main.push(Turn::text("Done."));
    let scripts = std::sync::Mutex::new(std::collections::HashMap::from([("main", main.into_iter())]));
    for (name, turns) in agents {
        scripts.lock().unwrap().insert(name, [turns, vec![Turn::text(REPORT)]].concat().into_iter());
    }
    Stage::by_rule(move |request| {
        let name = posse_testkit::asker(&request.json());
        let mut scripts = scripts.lock().unwrap();
        let turns = scripts.get_mut(name.as_str()).unwrap_or_else(|| panic!("no script for {name}"));
        turns.next().unwrap_or_else(|| Turn::text(REPORT))
    })
    .await
}

pub(crate) fn last(stage: &Stage) -> SessionRow {
    stage.engine.find_session("last").unwrap()
}

pub(crate) async fn undo(stage: &Stage, extent: UndoExtent) -> Result<UndoOutcome, EngineError> {
    stage.engine.undo(&last(stage), &extent, &[]).await
}

/// Undoes, without conflicts. Gives back the paths.
#[track_caller]
pub(crate) fn paths(undone: Result<UndoOutcome, EngineError>) -> Vec<String> {
    let undone = undone.unwrap();
    assert_eq!(undone.conflicts, []);
    let mut paths = undone.changes.into_iter().map(|change| change.path).collect::<Vec<_>>();
    paths.sort();
    paths
}

#[track_caller]
fn nothing(undone: Result<UndoOutcome, EngineError>) {
    let text = undone.expect_err("there is nothing to undo").to_string();
    assert!(text.contains("nothing"), "{text}");
}

/// Everything in a folder: permissions, and where it leads or what it holds.
pub(crate) fn contents(folder: &Path) -> BTreeMap<String, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(at).unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_symlink() {
                let target = std::fs::read_link(&path).unwrap().display().to_string();
                found.insert(name, (0, target.into_bytes()));
            } else {
                let mode = std::fs::metadata(&path).unwrap().mode() & 0o111;
                found.insert(name, (mode, std::fs::read(&path).unwrap()));
            }
        }
    }
    found
}

#[tokio::test]
async fn one_agents_work_goes_and_the_others_stays_also_in_the_same_file() {
    let by_tool = |name: &str, line: usize| {
        vec![
            read("shared.txt"),
            edit("shared.txt", &format!("line {line}.\n"), &format!("line {line} by {name}.\n")),
            write(&format!("{name}.txt"), "own\n"),
        ]
    };
    let by_command = |name: &str, line: usize| {
        vec![sh(&format!(
            "sed -i 's/^line {line}\\.$/line {line} by {name}./' shared.txt; echo own > {name}.txt"
        ))]
    };
    let mut seen = 0;
    for (first, second) in
        [("tool", "tool"), ("tool", "command"), ("command", "tool"), ("command", "command")]
    {
        let turns = |how: &str, name: &str, line: usize| match how {
            "tool" => by_tool(name, line),
            _ => by_command(name, line),
        };
        let mut stage =
            crew([("one", turns(first, "one", 5)), ("two", turns(second, "two", 40))], vec![]).await;
        let lines = (0..60).map(|n| format!("line {n}.\n")).collect::<String>();
        stage.files = stage.files.file("shared.txt", &lines);
        stage.run("go").await;
        let case = format!("{first}, {second}");
        let state = || {
            let shared = stage.files.read("shared.txt");
            ["one", "two"].map(|name| {
                let file = stage.files.path().join(format!("{name}.txt")).exists();
                assert_eq!(shared.contains(&format!("by {name}.")), file, "{case}: both or none of {name}");
                file
            })
        };
        assert_eq!(state(), [true, true], "{case}");
        assert_eq!(paths(undo(&stage, agent("one")).await), ["one.txt", "shared.txt"], "{case}");
        assert_eq!(state(), [false, true], "{case}");
        nothing(undo(&stage, agent("one")).await);
        assert_eq!(paths(stage.engine.redo(&last(&stage)).await), ["one.txt", "shared.txt"], "{case}");
        assert_eq!(state(), [true, true], "{case}");
        assert_eq!(paths(undo(&stage, agent("two")).await), ["shared.txt", "two.txt"], "{case}");
        assert_eq!(state(), [true, false], "{case}");
        assert_eq!(paths(undo(&stage, UndoExtent::Session).await), ["one.txt", "shared.txt"], "{case}");
        assert_eq!((state(), stage.files.read("shared.txt") == lines), ([false, false], true), "{case}");
        seen += 1;
    }
    assert_eq!(seen, 4);
}

#[tokio::test]
async fn everything_a_command_does_goes_back_and_forth() {
    let commands = [
        "echo new > new.txt; mkdir -p deep/er; echo x > deep/er/f",
        "rm gone.txt",
        "chmod +x a.txt",
        "chmod -x run.sh",
        "ln -s a.txt link",
        "rm old-link; ln -s b.txt old-link",
        "printf '\\000\\377\\001' > bin; printf '\\377\\000' > old-bin",
        "mv b.txt moved.txt",
        "rm gone.txt; mkdir gone.txt; echo x > gone.txt/inside",
        "rm a.txt; ln -s gone.txt a.txt",
        ": > a.txt",
    ];
    let mut seen = 0;
    for command in commands {
        let mut stage = crew([("child", vec![sh(command)])], vec![]).await;
        stage.files =
            stage.files.file("gone.txt", "gone\n").file("run.sh", "#!/bin/sh\n").file("old-bin", b"\x00\x01");
        std::os::unix::fs::symlink("a.txt", stage.files.path().join("old-link")).unwrap();
        let run = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(stage.files.path().join("run.sh"), run).unwrap();
        let before = contents(stage.files.path());
        let ran = stage.run("go").await;
        let (_, text) = &ran.results_of("child")[0];
        holds(text, &["exit code 0"]);
        let after = contents(stage.files.path());
        assert_ne!(before, after, "{command}");
        paths(undo(&stage, UndoExtent::Last).await);
        assert_eq!(contents(stage.files.path()), before, "undo {command}");
        paths(stage.engine.redo(&last(&stage)).await);
        assert_eq!(contents(stage.files.path()), after, "redo {command}");
        seen += 1;
    }
    assert_eq!(seen, 11);
}

/// Three turns of the main agent: f1, then f2 and g2 at once, then f3.
async fn three_turns() -> Stage {
    let both = write("f2", "2\n").and_call("shell", json!({"command": "echo 2 > g2"}));
    let stage = crew([], vec![write("f1", "1\n"), both, sh("echo 3 > f3")]).await;
    stage.run("go").await;
    stage
}

fn there(stage: &Stage) -> String {
    let files = ["f1", "f2", "g2", "f3"];
    files.into_iter().filter(|file| stage.files.path().join(file).exists()).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn the_last_turn_one_turn_and_the_whole_session_are_undone_and_redone() {
    let turn = |turn| Some(UndoExtent::Turn { agent: None, turn });
    let (last_one, session, redo) = (Some(UndoExtent::Last), Some(UndoExtent::Session), None);
    // `None` is a redo.
    let cases = [
        vec![(last_one.clone(), "f1 f2 g2"), (last_one.clone(), "f1"), (last_one.clone(), "")],
        vec![(last_one.clone(), "f1 f2 g2"), (redo.clone(), "f1 f2 g2 f3"), (last_one.clone(), "f1 f2 g2")],
        vec![(turn(2), "f1 f3"), (turn(1), "f3"), (last_one.clone(), "")],
        vec![(turn(1), "f2 g2 f3"), (redo.clone(), "f1 f2 g2 f3"), (session.clone(), "")],
        vec![(session.clone(), ""), (redo.clone(), "f1 f2 g2 f3"), (session.clone(), "")],
        vec![(turn(3), "f1 f2 g2"), (session, ""), (redo, "f1 f2 g2")],
    ];
    let mut seen = 0;
    for steps in cases {
        let stage = three_turns().await;
        assert_eq!(there(&stage), "f1 f2 g2 f3");
        for (extent, expected) in steps {
            match &extent {
                Some(extent) => paths(undo(&stage, extent.clone()).await),
                None => paths(stage.engine.redo(&last(&stage)).await),
            };
            assert_eq!(there(&stage), expected, "{extent:?}");
            seen += 1;
        }
    }
    assert_eq!(seen, 18);
}

#[tokio::test]
async fn several_undos_are_redone_one_after_the_other() {
    let stage = three_turns().await;
    for expected in ["f1 f2 g2", "f1"] {
        paths(undo(&stage, UndoExtent::Last).await);
        assert_eq!(there(&stage), expected);
    }
    for expected in ["f1 f2 g2", "f1 f2 g2 f3"] {
        paths(stage.engine.redo(&last(&stage)).await);
        assert_eq!(there(&stage), expected);
    }
    nothing(stage.engine.redo(&last(&stage)).await);
}

#[tokio::test]
async fn where_there_is_nothing_to_undo_it_says_so() {
    let stage = crew([("child", vec![read("a.txt")])], vec![]).await;
    stage.run("go").await;
    let extents =
        [UndoExtent::Last, UndoExtent::Session, agent("child"), UndoExtent::Turn { agent: None, turn: 1 }];
    let count = extents.len();
    for extent in extents {
        nothing(undo(&stage, extent).await);
    }
    nothing(stage.engine.redo(&last(&stage)).await);
    let unknown = undo(&stage, agent("nobody")).await.unwrap_err().to_string();
    assert_eq!(unknown, "there is no agent nobody in this session; there are: main, child");
    assert_eq!(count, 4);
}

#[tokio::test]
async fn the_work_of_those_below_goes_with_their_parents() {
    let outer = vec![write("o", "o\n"), Turn::call("agent", named("inner", "general", "Do it.")), wait()];
    let main =
        vec![Turn::call("agent", named("outer", "general", "Have it done.")), wait(), write("m", "m\n")];
    let stage = Stage::new([
        ("main", [main, vec![Turn::text("Done.")]].concat()),
        ("outer", [outer, vec![Turn::text(REPORT)]].concat()),
        ("inner", vec![sh("echo i > i"), Turn::text(REPORT)]),
    ])
    .await;
    stage.run("go").await;
    assert_eq!(paths(undo(&stage, agent("inner")).await), ["i"]);
    assert_eq!(paths(stage.engine.redo(&last(&stage)).await), ["i"]);
    assert_eq!(paths(undo(&stage, agent("outer")).await), ["i", "o"]);
    assert_eq!(stage.files.read("m"), "m\n");
}

#[tokio::test]
async fn the_work_of_a_follow_up_goes_with_the_agent_of_that_name() {
    let then = vec![message("child", "And two."), wait()];
    let turns = vec![write("one", "1\n"), Turn::text(REPORT), write("two", "2\n")];
    let stage = crew([("child", turns)], then).await;
    stage.run("go").await;
    assert!(stage.files.path().join("one").exists() && stage.files.path().join("two").exists());
    let diff = stage.engine.diff(&last(&stage), Some("child"), 10_000).await.unwrap();
    holds(&diff, &["+1", "+2"]);
    assert_eq!(paths(undo(&stage, agent("child")).await), ["one", "two"]);
}

#[tokio::test]
async fn merged_work_is_its_agents_and_can_be_undone() {
    let mut seen = 0;
    for by_person in [false, true] {
        let mut start = named("apart", "general", "Do it.");
        start["isolation"] = json!("worktree");
        let merge = Turn::call("agent", json!({"action": "merge", "agent": "apart"}));
        let mut main = vec![Turn::call("agent", start), wait(), write("m.txt", "main\n")];
        if !by_person {
            main.push(merge);
        }
        main.push(Turn::text("Done."));
        let child = vec![write("c.txt", "child\n"), sh("rm b.txt; echo more >> a.txt"), Turn::text(REPORT)];
        let mut stage = Stage::new([("main", main), ("apart", child)]).await;
        stage.files = stage.files.git();
        stage.run("go").await;
        let session = last(&stage);
        if by_person {
            let diff = stage.engine.diff(&session, Some("apart"), 10_000).await.unwrap();
            holds(&diff, &["+child", "-beta", "+more"]);
            nothing(undo(&stage, agent("apart")).await);
            let merged = stage.engine.merge(&session, "apart").await.unwrap();
            assert_eq!((merged.changes.len(), merged.conflicts.len()), (3, 0));
        }
        let status = || stage.files.run_git(&["status", "--porcelain"]);
        let merged = " M a.txt\n D b.txt\n?? c.txt\n?? m.txt\n";
        assert_eq!(status(), merged, "by the person: {by_person}");
        let diff = stage.engine.diff(&session, Some("apart"), 10_000).await.unwrap();
        holds(&diff, &["+child", "-beta", "+more"]);
        assert_eq!(paths(undo(&stage, agent("apart")).await), ["a.txt", "b.txt", "c.txt"]);
        assert_eq!(status(), "?? m.txt\n", "by the person: {by_person}");
        assert_eq!(paths(stage.engine.redo(&session).await), ["a.txt", "b.txt", "c.txt"]);
        assert_eq!(status(), merged, "by the person: {by_person}");
        assert_eq!(paths(undo(&stage, agent("apart")).await), ["a.txt", "b.txt", "c.txt"]);
        stage.engine.merge(&session, "apart").await.unwrap();
        assert_eq!(status(), merged, "what was undone can be merged again");
        seen += 1;
    }
    assert_eq!(seen, 2);
}

#[tokio::test]
async fn a_diff_shows_what_one_agent_did_and_is_in_effect() {
    let one = vec![write("one.txt", "by one\n"), sh("echo one >> a.txt")];
    let stage =
        crew([("one", one), ("two", vec![sh("echo two > two.txt")])], vec![write("m.txt", "main\n")]).await;
    stage.run("go").await;
    let session = last(&stage);
    let cases = [
        (Some("one"), vec!["+by one", "+one"], vec!["two", "main"]),
        (Some("two"), vec!["+two"], vec!["by one", "main"]),
        (None, vec!["+by one", "+one", "+two", "+main"], vec![]),
        (Some("main"), vec!["+by one", "+two", "+main"], vec![]),
    ];
    let mut seen = 0;
    for (name, has, has_not) in cases {
        let diff = stage.engine.diff(&session, name, 10_000).await.unwrap();
        holds(&diff, &has);
        assert!(!has_not.iter().any(|text| diff.contains(text)), "{name:?}: {diff}");
        seen += 1;
    }
    assert_eq!(seen, 4);
    paths(undo(&stage, agent("one")).await);
    let gone = stage.engine.diff(&session, Some("one"), 10_000).await.unwrap_err();
    assert_eq!(gone.to_string(), "nothing that agents changed is in this folder");
    let short = stage.engine.diff(&session, None, 200).await.unwrap();
    assert!(short.len() < 1_000, "{short}");
}

#[tokio::test]
async fn what_was_changed_since_is_left_and_shown_with_both_sides() {
    let one = vec![read("a.txt"), edit("a.txt", "alpha", "by one"), write("c.txt", "c\n")];
    let stage = crew([("one", one)], vec![]).await;
    stage.run("go").await;
    std::fs::write(stage.files.path().join("a.txt"), "by the person\n").unwrap();
    let undone = undo(&stage, agent("one")).await.unwrap();
    assert_eq!(undone.changes.iter().map(|change| change.path.as_str()).collect::<Vec<_>>(), ["c.txt"]);
    assert_eq!(undone.conflicts.iter().map(|conflict| conflict.path.as_str()).collect::<Vec<_>>(), ["a.txt"]);
    holds(&undone.conflicts[0].text, &["by the person", "alpha"]);
    assert_eq!(stage.files.read("a.txt"), "by the person\n");
    assert!(!stage.files.path().join("c.txt").exists());
    // Once the person has made room for it, the rest can be taken back as well.
    std::fs::write(stage.files.path().join("a.txt"), "by one\n").unwrap();
    assert_eq!(paths(undo(&stage, agent("one")).await), ["a.txt"]);
    assert_eq!(stage.files.read("a.txt"), "alpha\n");
}

#[tokio::test]
async fn what_a_person_does_is_nobodys_work() {
    let stage = crew([("one", vec![sh("echo one > one.txt")])], vec![sh("echo m > m.txt")]).await;
    let mut followed = Followed::new(stage.start("go"));
    let settled = |event: &Event| matches!(event.kind, EventKind::AgentSettled { .. });
    followed.until(1, settled).await;
    std::fs::write(stage.files.path().join("person.txt"), "mine\n").unwrap();
    followed.finish().await;
    paths(undo(&stage, agent("one")).await);
    assert!(!stage.files.path().join("one.txt").exists());
    assert_eq!(stage.files.read("person.txt"), "mine\n");
}

#[tokio::test]
async fn commands_of_agents_side_by_side_lose_no_change() {
    let names = ["w0", "w1", "w2", "w3"];
    let all = names
        .iter()
        .fold(Turn::text("Go."), |turn, name| turn.and_call("agent", named(name, "general", "Do it.")));
    let work = |name: &str| {
        let made = (0..6).map(|n| sh(&format!("echo {name} > {name}-{n}")));
        made.chain([Turn::text(REPORT)]).collect::<Vec<_>>()
    };
    let [w0, w1, w2, w3] = names.map(|name| (name, work(name)));
    let stage = Stage::new([("main", vec![all, wait(), Turn::text("Done.")]), w0, w1, w2, w3]).await;
    let ran = stage.run("go").await;
    let mut known = ran
        .events()
        .filter_map(|event| match &event.kind {
            EventKind::Changed { changes, .. } => Some(changes),
            _ => None,
        })
        .flatten()
        .map(|change| change.path.clone())
        .collect::<Vec<_>>();
    known.sort();
    let made = names.iter().flat_map(|name| (0..6).map(move |n| format!("{name}-{n}"))).collect::<Vec<_>>();
    assert_eq!(known, made, "each change is somebody's, once");
    paths(undo(&stage, UndoExtent::Session).await);
    assert_eq!(contents(stage.files.path()).into_keys().collect::<Vec<_>>(), ["a.txt", "b.txt"]);
}

#[tokio::test]
async fn what_a_stopped_agent_had_done_can_be_undone() {
    let begun = "echo half > half.txt; echo more >> a.txt; touch begun; sleep 300";
    let stage = crew([("child", vec![write("c.txt", "c\n"), sh(begun)])], vec![]).await;
    let mut followed = Followed::new(stage.start("go"));
    let runs = |event: &Event| matches!(&event.kind, EventKind::ToolStarted { tool, .. } if tool == "shell");
    followed.until(1, runs).await;
    while !stage.files.path().join("begun").exists() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(followed.session.stop("child"));
    let ran = followed.finish().await;
    assert_eq!(ran.ended("child"), "cancelled");
    assert_eq!(paths(undo(&stage, agent("child")).await), ["a.txt", "begun", "c.txt", "half.txt"]);
    assert_eq!(stage.files.read("a.txt"), "alpha\n");
}

#[tokio::test]
async fn work_can_be_undone_also_where_only_results_are_recorded() {
    let mut stage = crew([("child", vec![write("c.txt", "c\n"), sh("echo d > d.txt")])], vec![]).await;
    stage.delegation.sub_agents.record = RecordDetail::Result;
    stage.run("go").await;
    assert_eq!(paths(undo(&stage, agent("child")).await), ["c.txt", "d.txt"]);
}

#[tokio::test]
async fn undoing_is_on_record_after_what_it_undoes() {
    let stage = crew([("one", vec![write("c.txt", "c\n")])], vec![]).await;
    let ran = stage.run("go").await;
    let changed = ran.events().find(|event| matches!(event.kind, EventKind::Changed { .. })).unwrap().seq;
    paths(undo(&stage, agent("one")).await);
    paths(stage.engine.redo(&last(&stage)).await);
    let all = stage.engine.events_after(last(&stage).id, Seq(0), 1000).unwrap();
    let known = ran.events().cloned().collect::<Vec<_>>();
    let (before, since) = all.split_at(known.len());
    assert_eq!(before, known, "the record grows and does not change");
    let undone = since.iter().map(|event| match &event.kind {
        EventKind::Undone { what, events, changes, conflicts, .. } => {
            (what.as_str(), events.clone(), changes.len(), conflicts.len(), event.parent)
        }
        other => panic!("{other:?}"),
    });
    let undone = undone.collect::<Vec<_>>();
    let expected = [
        ("the work of one", vec![changed], 1, 0, None),
        ("brought back: the work of one", vec![since[0].seq], 1, 0, None),
    ];
    assert_eq!(undone, expected);
    let looks = ran.events().filter(|event| matches!(event.kind, EventKind::Checkpointed { .. }));
    assert_eq!(looks.count(), 0, "a file tool knows both sides");
    let sessions = stage.engine.sessions(10).unwrap();
    assert_eq!(sessions.len(), 1);
}
