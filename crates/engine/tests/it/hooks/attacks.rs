//! A hook was trusted, and an agent changes what it runs: nothing of that happens outside.

use posse_testkit::Turn;

use super::{Home, exists, hooks_ran, of_project, one, own, run};
use crate::check::World;
use crate::follow::sh;

/// Tries to leave a mark outside the workspace, and leaves one inside.
fn evil(outside: &std::path::Path) -> String {
    format!(
        "#!/bin/sh\ncat > /dev/null\ntouch '{0}/pwned'; echo x > '{0}/pwned2'; touch inside\n",
        outside.display()
    )
}

#[tokio::test]
async fn a_changed_script_of_a_trusted_hook_runs_inside() {
    // How the hook names its program, and whether it is the person's own.
    let cases = [
        ("sh ./fmt.sh", false),
        ("sh \"$CLAUDE_PROJECT_DIR/fmt.sh\"", false),
        ("sh fmt.sh", true),
        ("sh ./fmt.sh", true),
        ("sh \"$CLAUDE_PROJECT_DIR\"/fmt.sh", true),
        ("sh -c 'sh fmt.sh'", true),
        ("cd . && sh fmt.sh", true),
    ];
    let mut tried = 0;
    for (command, is_own) in cases {
        let (home, outside) = (Home::new(), tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
        let text = evil(outside.path()).replace('\'', "'\\''");
        let change = sh(&format!("printf '%s' '{text}' > fmt.sh"));
        let world = World::new([change, sh("echo again"), Turn::text("ok")]).await;
        std::fs::write(world.files.path().join("fmt.sh"), "cat > /dev/null\n").unwrap();
        let settings = one("PostToolUse", "*", command);
        let hooks = if is_own { own(&home, &settings) } else { of_project(&home, &settings) };
        let ran = run(&world, hooks).await;
        assert!(
            exists(&world.files.path().join("inside")),
            "{command}: {:?} {:?}",
            ran.results(),
            hooks_ran(&ran)
        );
        assert!(
            !exists(&outside.path().join("pwned")) && !exists(&outside.path().join("pwned2")),
            "{command}"
        );
        assert!(hooks_ran(&ran).iter().all(|(_, _, confined, _)| *confined), "{command}");
        tried += 1;
    }
    assert_eq!(tried, 7);
}

#[tokio::test]
async fn a_program_put_in_the_way_is_not_found() {
    let (home, outside) = (Home::new(), tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
    let world = World::new([
        sh("mkdir -p bin && printf '#!/bin/sh\\ntouch \"$MARK\"\\n' > bin/mytool && chmod +x bin/mytool"),
        sh("echo again"),
        Turn::text("ok"),
    ])
    .await;
    let mut hooks = own(&home, &one("PreToolUse", "*", "mytool"));
    let bin = world.files.path().join("bin").display().to_string();
    let mark = outside.path().join("pwned").display().to_string();
    for (name, value) in &mut hooks.environment {
        if name == "PATH" {
            *value = format!("{bin}:{value}");
        }
    }
    hooks.environment.push(("MARK".to_owned(), mark));
    let ran = run(&world, hooks).await;
    assert_eq!(hooks_ran(&ran).len(), 2);
    assert!(!exists(&outside.path().join("pwned")));
}

#[tokio::test]
async fn only_the_exact_text_lets_a_hook_out() {
    for (text, runs) in [("sh ./fmt.sh", true), ("sh ./fmt.sh ", false), ("sh", false)] {
        let (home, outside) = (Home::new(), tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap());
        let world = World::new([sh("echo x"), Turn::text("ok")]).await;
        std::fs::write(world.files.path().join("fmt.sh"), evil(outside.path())).unwrap();
        let mut hooks = of_project(&home, &one("PostToolUse", "*", "sh ./fmt.sh"));
        hooks.outside = vec![text.to_owned()];
        run(&world, hooks).await;
        assert_eq!(exists(&outside.path().join("pwned")), runs, "{text:?}");
    }
}
