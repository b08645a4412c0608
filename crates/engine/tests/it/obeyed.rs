//! What other programs run or obey by themselves: written only by those who were asked, in every mode but full, whether by
//! tool, command, merge or undo.

use posse_engine::{ApprovalSettings, UndoExtent};
use posse_protocol::{Answer, Approval, Grant, Network};
use posse_testkit::{Turn, attacks};
use serde_json::json;

use crate::approvals::{actor, answered, at_depth, in_mode, write};
use crate::crew::{REPORT, Stage};
use crate::follow::{holds, named, sh, wait};

const PATHS: [&str; 3] = [".vscode/tasks.json", "packages/app/.zed/tasks.json", ".git/hooks/pre-commit"];

#[tokio::test]
async fn file_tools_ask_in_every_mode_but_full() {
    let table = [
        (Approval::Plan, false, false),
        (Approval::Ask, true, true),
        (Approval::Edit, true, true),
        (Approval::Auto, true, true),
        (Approval::Full, false, true),
    ];
    let mut seen = 0;
    for (mode, asks, writes) in table {
        for depth in [0, 3] {
            for path in PATHS {
                let stage = in_mode(at_depth(depth, vec![write(path, "x\n")]).await, mode);
                std::fs::create_dir_all(stage.files.path().join(".git")).unwrap();
                let ran = answered(stage.start("go"), |_| Answer::Once).await;
                let questions = ran.questions_of(&actor(depth));
                assert_eq!(questions.len(), usize::from(asks), "{mode:?} {path}: {questions:?}");
                assert_eq!(
                    stage.files.path().join(path).exists(),
                    writes,
                    "{mode:?} {path} at depth {depth}"
                );
                if let [question] = &questions[..] {
                    holds(&question.why, &["acts on this by itself", "every mode but full"]);
                    assert_eq!(
                        (question.what.as_str(), question.pattern.as_str()),
                        (path, &*format!("obeyed({path})"))
                    );
                }
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 30);
}

#[tokio::test]
async fn a_yes_is_for_one_file_and_nobody_is_a_no() {
    let calls = || {
        vec![
            write(PATHS[0], "1\n"),
            write(PATHS[1], "2\n"),
            write("plain.txt", "3\n"),
            write(PATHS[0], "4\n"),
        ]
    };
    let mut seen = 0;
    // Each answer, how often is asked, and what is there in the end.
    let cases = [
        (Some(Answer::Session), 2, [true, true]),
        (Some(Answer::No { reason: String::new() }), 2, [false, false]),
        (None, 3, [false, false]),
    ];
    for (answer, asked, there) in cases {
        let mut stage = in_mode(at_depth(0, calls()).await, Approval::Auto);
        stage.approvals = ApprovalSettings { person: answer.is_some(), ..ApprovalSettings::default() };
        let ran = match &answer {
            Some(answer) => answered(stage.start("go"), |_| answer.clone()).await,
            None => stage.run("go").await,
        };
        assert_eq!(ran.questions_of("main").len(), asked, "{answer:?}");
        assert_eq!(
            [PATHS[0], PATHS[1]].map(|path| stage.files.path().join(path).exists()),
            there,
            "{answer:?}"
        );
        assert!(stage.files.path().join("plain.txt").exists(), "{answer:?}");
        seen += 1;
    }
    assert_eq!(seen, 3);
}

#[tokio::test]
async fn a_link_that_leads_there_asks_for_where_it_leads() {
    let stage = in_mode(at_depth(0, vec![write("door/tasks.json", "x\n")]).await, Approval::Auto);
    std::fs::create_dir_all(stage.files.path().join(".vscode")).unwrap();
    std::os::unix::fs::symlink(".vscode", stage.files.path().join("door")).unwrap();
    let ran = answered(stage.start("go"), |_| Answer::Once).await;
    let questions = ran.questions_of("main");
    assert_eq!(questions.len(), 1);
    assert!(questions[0].real_path.as_deref().is_some_and(|path| path.ends_with(".vscode/tasks.json")));
    assert!(stage.files.path().join(".vscode/tasks.json").exists());
}

#[tokio::test]
async fn commands_write_it_in_mode_full_only() {
    let line =
        "mkdir -p .vscode .git/hooks; echo x > .vscode/tasks.json; echo x > .git/hooks/pre-commit; true";
    let mut seen = 0;
    for (mode, writes) in [(Approval::Auto, false), (Approval::Full, true)] {
        let mut stage = in_mode(at_depth(0, vec![sh(line)]).await, mode);
        stage.files = stage.files.git();
        stage.run("go").await;
        for path in [PATHS[0], PATHS[2]] {
            assert_eq!(stage.files.path().join(path).exists(), writes, "{mode:?} {path}");
        }
        seen += 1;
    }
    assert_eq!(seen, 2);
}

#[tokio::test]
async fn merging_and_undoing_leave_it_unless_somebody_says_yes() {
    let mut start = named("apart", "general", "Do it.");
    start["isolation"] = json!("worktree");
    let main = vec![Turn::call("agent", start), wait(), Turn::text("Done.")];
    let child = vec![write("c.txt", "child\n"), write(PATHS[0], "{}\n"), Turn::text(REPORT)];
    let mut stage = Stage::new([("main", main), ("apart", child)]).await;
    stage.grant = Grant { approval: Approval::Full, network: Network::None, ..Grant::full() };
    stage.files = stage.files.git();
    stage.run("go").await;
    let session = stage.engine.find_session("last").unwrap();
    let tasks = stage.files.path().join(PATHS[0]);
    let merged = stage.engine.merge(&session, "apart").await.unwrap();
    assert_eq!((merged.changes.len(), merged.conflicts.len()), (1, 1), "{merged:?}");
    assert_eq!(merged.conflicts[0].path, PATHS[0]);
    holds(&merged.conflicts[0].text, &["VS Code", "unless a person says so"]);
    assert!(!tasks.exists());
    let asked = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let list = std::sync::Arc::clone(&asked);
    let asking = stage.engine.clone().asking(move |paths| {
        list.lock().unwrap().push(paths.to_vec());
        true
    });
    let merged = asking.merge(&session, "apart").await.unwrap();
    assert_eq!((merged.conflicts.len(), tasks.exists()), (0, true), "{merged:?}");
    let undone = stage.engine.undo(&session, &UndoExtent::Session, &[]).await.unwrap();
    assert_eq!((undone.conflicts.len(), tasks.exists()), (1, true), "{undone:?}");
    let undone = asking.undo(&session, &UndoExtent::Session, &[]).await.unwrap();
    assert_eq!((undone.conflicts.len(), tasks.exists()), (0, false), "{undone:?}");
    let redone = stage.engine.redo(&session).await.unwrap();
    assert_eq!((redone.conflicts.len(), tasks.exists()), (1, false), "{redone:?}");
    assert_eq!(*asked.lock().unwrap(), vec![vec![PATHS[0].to_string()]; 2]);
}

/// Every path of the table of attacks that a branch can hold, at the root and deep down; what is in a repository's own folder
/// cannot be in a branch.
fn table() -> Vec<String> {
    let plain = attacks::later().into_iter().filter(|attempt| attempt.set_up.is_none());
    let paths = plain.map(|attempt| attempt.attack).filter(|path| !path.to_lowercase().contains(".git/"));
    let paths = paths.filter(|path| !path.ends_with("/.git"));
    paths.flat_map(|path| [path.to_string(), format!("packages/app/{path}")]).collect()
}

#[tokio::test]
async fn nothing_of_the_table_is_merged_or_taken_back_without_a_yes() {
    let (paths, bare) = (table(), ["r/HEAD", "r/refs/heads/x", "r/objects/pack/x", "r/config"]);
    assert!(paths.len() >= 400, "{}", paths.len());
    let all = paths.iter().map(String::as_str).chain(bare).collect::<Vec<_>>();
    let lines: Vec<String> =
        all.iter().map(|path| format!("mkdir -p $(dirname {path}); echo evil > {path}")).collect();
    let mut start = named("apart", "general", "Do it.");
    start["isolation"] = json!("worktree");
    let main = vec![Turn::call("agent", start), wait(), Turn::text("Done.")];
    let link = "ln -s s .cargo-link; mkdir l; ln -s ../s l/.cargo; ln -s s l/.jj".to_string();
    let child = vec![sh(&[lines, vec![link]].concat().join("; ")), Turn::text(REPORT)];
    let mut stage = Stage::new([("main", main), ("apart", child)]).await;
    stage.grant = Grant { approval: Approval::Full, network: Network::None, ..Grant::full() };
    stage.files = stage.files.git();
    stage.run("go").await;
    let session = stage.engine.find_session("last").unwrap();
    let root = stage.files.path().to_path_buf();
    let there = |path: &&&str| root.join(path).symlink_metadata().is_ok();
    let links = ["l/.cargo", "l/.jj"];
    let left = || paths.iter().map(|path| path.as_str()).chain(links).filter(|path| there(&path)).count();
    let repository = || bare.iter().filter(|path| there(path)).count();
    stage.engine.merge(&session, "apart").await.unwrap();
    assert_eq!((left(), root.join(".cargo-link").is_symlink()), (0, true));
    assert!(repository() < bare.len());
    let asking = stage.engine.clone().asking(|_| true);
    asking.merge(&session, "apart").await.unwrap();
    assert_eq!((left(), repository()), (paths.len() + links.len(), bare.len()));
    stage.engine.undo(&session, &UndoExtent::Session, &[]).await.unwrap();
    // A link that is removed leads nobody anywhere.
    assert_eq!(left(), paths.len());
    asking.undo(&session, &UndoExtent::Session, &[]).await.unwrap();
    assert_eq!((left(), repository()), (0, 0));
    stage.engine.redo(&session).await.unwrap();
    assert_eq!(left(), 0);
    assert!(repository() < bare.len());
}

#[tokio::test]
async fn an_agent_merges_the_rest_without_a_yes() {
    let mut start = named("apart", "general", "Do it.");
    start["isolation"] = json!("worktree");
    let merge = Turn::call("agent", json!({"action": "merge", "agent": "apart"}));
    let mut seen = 0;
    for (answer, there) in [(Answer::Once, true), (Answer::No { reason: String::new() }, false)] {
        let main = vec![Turn::call("agent", start.clone()), wait(), merge.clone(), Turn::text("Done.")];
        let child = vec![write("c.txt", "child\n"), write(PATHS[0], "{}\n"), Turn::text(REPORT)];
        let mut stage = Stage::new([("main", main), ("apart", child)]).await;
        stage = in_mode(stage, Approval::Auto);
        stage.files = stage.files.git();
        // The agent itself was allowed to write it, in its own checkout.
        let ran =
            answered(
                stage.start("go"),
                |question| {
                    if question.tool == "merge" { answer.clone() } else { Answer::Once }
                },
            )
            .await;
        let questions = ran.questions_of("main");
        assert_eq!(questions.len(), 1, "{questions:?}");
        assert_eq!(questions[0].what, format!("apart: {}", PATHS[0]));
        assert_eq!(stage.files.path().join(PATHS[0]).exists(), there, "{answer:?}");
        assert!(stage.files.path().join("c.txt").exists(), "{answer:?}");
        seen += 1;
    }
    assert_eq!(seen, 2);
}
