//! Commands that the person types: they run as the main agent's would, in its sandbox and under its rules.

use std::time::Duration;

use posse_engine::TypedOutcome;
use posse_protocol::Approval;
use posse_setup::{SessionPlan, Wishes};
use posse_testkit::processes_with;
use tokio_util::sync::CancellationToken;

use crate::world::World;

const LONG: Duration = Duration::from_secs(60);

async fn typed(world: &World, approval: Approval, command: &str) -> TypedOutcome {
    let (paths, folder) = (world.paths(), world.project());
    let plan = SessionPlan::read(&paths, &folder, Wishes::default()).unwrap();
    plan.run_typed(command, approval, LONG, &CancellationToken::new(), drop).await.unwrap()
}

/// Its code and what it wrote; panics if it did not run.
async fn ran(world: &World, approval: Approval, command: &str) -> (Option<i32>, String) {
    match typed(world, approval, command).await {
        TypedOutcome::Ran { exit_code, output, .. } => (exit_code, output),
        other => panic!("{command}: {other:?}"),
    }
}

#[tokio::test]
async fn what_an_agent_would_be_asked_about_runs_when_the_person_types_it() {
    let world = World::new("[approval]\nask = [\"shell(touch *)\"]\n");
    let modes = [Approval::Ask, Approval::Edit, Approval::Auto, Approval::Full];
    for mode in modes {
        let name = format!("{mode:?}.txt");
        let (code, output) = ran(&world, mode, &format!("touch {name} && echo done; exit 3")).await;
        assert_eq!((code, output.lines().next()), (Some(3), Some("done")), "{mode:?}");
        assert!(world.project().join(name).exists(), "{mode:?}");
    }
    let outcome = typed(&world, Approval::Auto, "echo hi; echo aside >&2").await;
    let output = "hi\naside\n".to_owned();
    let TypedOutcome::Ran { exit_code, ending, output: found } = outcome else { panic!("{outcome:?}") };
    assert_eq!((exit_code, ending.as_str(), found.trim_end()), (Some(0), "exit code 0", output.trim_end()));
}

#[tokio::test]
async fn rules_and_rights_refuse_and_say_which() {
    let denying = "[approval]\ndeny = [\"shell(git push*)\"]\n";
    let cases = [
        (denying, Approval::Full, "git push origin", "the rule \"deny shell(git push*)\" forbids this"),
        (denying, Approval::Ask, "true && git push", "the rule \"deny shell(git push*)\" forbids this"),
        ("[rights]\nshell = \"none\"\n", Approval::Full, "true", "shell"),
        ("", Approval::Auto, "  ", "command is empty"),
    ];
    let mut tried = 0;
    for (config, mode, command, told) in cases {
        let outcome = typed(&World::new(config), mode, command).await;
        let TypedOutcome::Refused(reason) = &outcome else { panic!("{command}: {outcome:?}") };
        assert!(reason.contains(told) && !reason.contains("do not try"), "{reason}");
        tried += 1;
    }
    assert_eq!(tried, 4);
}

#[tokio::test]
async fn it_never_leaves_the_sandbox_and_sees_what_an_agent_would() {
    let world = World::new("[approval]\ndeny = [\"read_file(hidden.txt)\"]\n");
    world.write("project/hidden.txt", "the secret\n");
    world.write("project/plain.txt", "plain\n");
    world.write("beside/file.txt", "before\n");
    let beside = world.path("beside/file.txt").display().to_string();
    let (_, output) = ran(&world, Approval::Full, &format!("echo after > {beside}; cat hidden.txt")).await;
    assert_eq!(std::fs::read_to_string(&beside).unwrap(), "before\n");
    assert!(!output.contains("the secret"), "{output}");
    let own = world.path("home/.config/posse/config.toml").display().to_string();
    let (_, output) = ran(&world, Approval::Full, &format!("cat {own}; echo ${{EDITOR}}")).await;
    assert!(!output.contains("approval") && output.contains("false"), "{output}");
    // In plan mode nothing is changed.
    let (code, output) = ran(&world, Approval::Plan, "cat plain.txt; echo x > plain.txt").await;
    assert!(code != Some(0) && output.starts_with("plain\n"), "{code:?} {output}");
    assert_eq!(world.text("project/plain.txt"), "plain\n");
    // What other programs act on by themselves stays as it is, as for an agent.
    let _ = ran(&world, Approval::Auto, "mkdir -p .git/hooks; echo id > .git/hooks/pre-commit").await;
    assert!(!world.path("project/.git/hooks/pre-commit").exists());
}

#[tokio::test]
async fn it_is_bounded_in_time_and_output_and_can_be_cancelled() {
    let world = World::new("");
    let (code, output) = ran(&world, Approval::Auto, "head -c 20000000 /dev/zero | tr '\\0' x").await;
    assert_eq!(code, Some(0));
    assert!(output.len() < 100_000, "{}", output.len());
    let (paths, folder) = (world.paths(), world.project());
    let plan = SessionPlan::read(&paths, &folder, Wishes::default()).unwrap();
    let run = |line: String, deadline, cancel: CancellationToken| {
        let (plan, also) = (&plan, cancel.clone());
        // As soon as it is seen to run.
        let stop = move |text: String| {
            if text.contains("stop me") {
                also.cancel()
            }
        };
        async move { plan.run_typed(&line, Approval::Auto, deadline, &cancel, stop).await.unwrap() }
    };
    let outcome = run("sleep 600".to_owned(), Duration::from_millis(500), CancellationToken::new()).await;
    let TypedOutcome::Ran { exit_code: None, ending, .. } = &outcome else { panic!("{outcome:?}") };
    assert!(ending.starts_with("stopped: not done within"), "{ending}");
    let mark = format!("mark-{}", folder.display());
    let line = format!("echo stop me; sleep 600; echo {mark}");
    let outcome = run(line, LONG, CancellationToken::new()).await;
    assert_eq!(outcome, TypedOutcome::Cancelled);
    while !processes_with(&mark).is_empty() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
