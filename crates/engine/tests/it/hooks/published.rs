//! Hooks of the kinds that people share, as files, run as they are.

use std::path::Path;

use posse_protocol::{Ending, HookDecision};
use posse_testkit::Turn;
use serde_json::{Value, json};

use super::{Home, hooks_ran, own, run, told};
use crate::approvals::write;
use crate::check::World;
use crate::follow::{holds, sh};

/// A home with the scripts and the settings of `tests/hooks`.
fn home() -> (Home, Value) {
    let home = Home::new();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hooks");
    let to = home.path().join(".claude/hooks");
    std::fs::create_dir_all(&to).unwrap();
    let mut scripts = 0;
    for entry in std::fs::read_dir(&from).unwrap().flatten() {
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        scripts += usize::from(entry.path().extension().is_some_and(|kind| kind != "json"));
    }
    assert_eq!(scripts, 11);
    (home, serde_json::from_str(&std::fs::read_to_string(from.join("settings.json")).unwrap()).unwrap())
}

#[tokio::test]
async fn scripts_of_the_kinds_that_people_share_run_unchanged() {
    let (home, settings) = home();
    let world = World::new([
        write("new.txt", "one  \ntwo\t\n"),
        write(".env", "KEY=1\n"),
        sh("rm -rf build"),
        sh("slow-echo hello"),
        Turn::text("All is done."),
        write("CHANGELOG.md", "- new\n"),
        Turn::text("Now it is."),
    ])
    .await;
    let ran = run(&world, own(&home, &settings)).await;
    assert_eq!((ran.report.ending.clone(), ran.report.text.as_str()), (Ending::Completed, "Now it is."));
    let first = told(&world, 0);
    holds(&first, &["Project: ", "a.txt b.txt", "Convention: tabs are four spaces.", "<hook from="]);
    assert_eq!(world.files.read("new.txt"), "one\ntwo\n");
    assert!(!super::exists(&world.files.path().join(".env")));
    let results = ran.results();
    holds(results[0].1, &["new.txt was formatted."]);
    holds(results[1].1, &["Not allowed: a hook", "| .env is protected."]);
    holds(results[2].1, &["Not allowed: a hook", "| Blocked: 'rm -rf build' matches"]);
    holds(results[3].1, &["hello", "| slow-echo was replaced by echo."]);
    assert_eq!(results.iter().map(|(ok, _)| *ok).collect::<Vec<_>>(), [true, false, false, true, true]);
    holds(
        &told(&world, 5),
        &["a hook of this session wants you to go on", "Write CHANGELOG.md first (9 messages so far)."],
    );
    let logged = home.read(".claude/tools.jsonl");
    let logged = logged.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
    let seen = logged
        .iter()
        .map(|line| (line["tool_name"].as_str().unwrap(), line["hook_event_name"].as_str().unwrap()));
    let after = "PostToolUse";
    assert_eq!(seen.collect::<Vec<_>>(), [("Write", after), ("Bash", after), ("Write", after)]);
    let root = world.files.path().canonicalize().unwrap().display().to_string();
    let expected = json!({"file_path": format!("{root}/new.txt"), "content": "one  \ntwo\t\n"});
    assert_eq!((&logged[0]["tool_input"], &logged[0]["cwd"]), (&expected, &json!(root)));
    holds(&home.read(".claude/sessions"), &[r#""hook_event_name":"SessionEnd""#, r#""reason":"other""#]);
    // All of them are on record, and none was confined.
    let ran = hooks_ran(&ran);
    assert!(ran.iter().all(|(_, _, confined, _)| !confined), "{ran:?}");
    let decided =
        |event: &str, wanted| ran.iter().filter(|(name, it, ..)| name == event && *it == wanted).count();
    assert_eq!(decided("PreToolUse", HookDecision::Deny), 2);
    assert_eq!(decided("PreToolUse", HookDecision::Rewrite), 1);
    assert_eq!(decided("PostToolUse", HookDecision::Context), 1);
    assert_eq!(decided("Stop", HookDecision::Deny), 1);
    assert_eq!(
        ran.iter().filter(|(_, decision, ..)| *decision == HookDecision::Failed).count(),
        0,
        "{ran:?}"
    );
}

#[tokio::test]
async fn a_prompt_with_a_key_is_not_sent() {
    let (home, settings) = home();
    let world = World::new([Turn::text("never")]).await;
    let mut request = super::request(&world, own(&home, &settings));
    request.prompt = "use sk-abcdefghijklmnopqrst please".to_owned();
    let ran = crate::check::finish(world.engine.start(request).unwrap()).await;
    assert_eq!((ran.report.ending.clone(), world.model.calls()), (Ending::Cancelled, 0));
    holds(&ran.report.notes.join("\n"), &["a hook refused the prompt", "The prompt holds an API key."]);
}
