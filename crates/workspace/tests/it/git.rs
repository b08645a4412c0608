//! Git is asked, and nothing in a repository gets to run anything.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use posse_workspace::{WorkspaceError, git};

use crate::Fixture;

#[tokio::test]
async fn a_repository_is_made_and_described() {
    let fixture = Fixture::new(&[("a", "one\n"), (".gitignore", "ignored\n"), ("ignored", "x")]);
    let root = fixture.at(".");
    assert!(git::version().await.unwrap().starts_with("2."));
    let none = git::commit_all(&root, "none").await;
    assert!(matches!(none, Err(WorkspaceError::NotARepository)), "{none:?}");
    git::init(&root).await.unwrap();
    git::commit_all(&root, "first").await.unwrap();
    let plain = "git log --format='%an: %s, on %D'; git ls-files; git status --short";
    let command = posse_sandbox::Command::shell(plain, &root, std::time::Duration::from_secs(30));
    let outcome = posse_sandbox::run(command).await.unwrap();
    let told = String::from_utf8(outcome.output.head).unwrap();
    assert_eq!(told, "Posse: first, on HEAD -> main\n.gitignore\na\n");
}

/// Stands for no setting, but hooks where git looks for them by itself.
const OWN_HOOKS: &str = "[posse]\n\thooks = own";

#[tokio::test]
async fn hostile_settings_run_nothing() {
    // Each line of configuration would have `trap` run, and with it leave a file behind.
    let settings = [
        OWN_HOOKS,
        "[core]\n\tfsmonitor = TRAP",
        "[core]\n\thooksPath = HOOKS",
        "[core]\n\tpager = TRAP",
        "[core]\n\teditor = TRAP",
        "[core]\n\tsshCommand = TRAP",
        "[diff]\n\texternal = TRAP",
        "[filter \"evil\"]\n\tclean = TRAP\n\trequired = true",
        "[filter \"evil\"]\n\tsmudge = TRAP",
        "[filter \"evil\"]\n\tprocess = TRAP",
        "[filter \"a=b.c\"]\n\tclean = TRAP",
        "[diff \"evil\"]\n\ttextconv = TRAP\n\tcommand = TRAP",
        "[merge \"evil\"]\n\tdriver = TRAP",
        "[alias]\n\tstatus = !TRAP\n\tadd = !TRAP\n\tcommit = !TRAP\n\trev-parse = !TRAP",
        "[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = TRAP",
        "[credential]\n\thelper = !TRAP",
        "[include]\n\tpath = included",
        "[core]\n\tuntrackedCache = true\n\tfsmonitor = TRAP\n\tfsmonitorHookVersion = 2",
    ];
    let (mut checked, mut effective) = (0, Vec::new());
    for setting in settings {
        let fixture = Fixture::new(&[("a", "one\n"), ("b", "two\n")]);
        let root = fixture.at(".");
        git::init(&root).await.unwrap();
        git::commit_all(&root, "first").await.unwrap();
        let ran = fixture.outside().join("ran");
        let trap = fixture.outside().join("trap");
        program(&trap, &format!("#!/bin/sh\ntouch {}\ncat\n", ran.display()));
        let hooks = fixture.outside().join("hooks");
        fs::create_dir(&hooks).unwrap();
        for hook in
            ["pre-commit", "post-commit", "post-index-change", "reference-transaction", "prepare-commit-msg"]
        {
            program(&hooks.join(hook), &format!("#!/bin/sh\ntouch {}\n", ran.display()));
            if setting == OWN_HOOKS {
                program(
                    &fixture.at(".git/hooks").join(hook),
                    &format!("#!/bin/sh\ntouch {}\n", ran.display()),
                );
            }
        }
        let setting =
            setting.replace("TRAP", trap.to_str().unwrap()).replace("HOOKS", hooks.to_str().unwrap());
        fixture.put(".git/included", format!("[filter \"evil\"]\n\tclean = {}\n", trap.display()));
        let config = fixture.text(".git/config");
        fixture.put(".git/config", format!("{config}{setting}\n"));
        fixture.put(".gitattributes", "* filter=evil diff=evil merge=evil\nb filter=a=b.c\n");
        fixture.put("a", "changed\n");
        fixture.put("b", "TWO\n");
        let committed = git::commit_all(&root, "second").await;
        assert!(!ran.exists(), "{setting} ran something: {committed:?}");
        assert!(committed.is_ok(), "{setting}: {committed:?}");
        checked += 1;
        // The same repository under plain git: most of the traps do spring.
        fixture.put("a", "again\n");
        let plain =
            "git status; git diff; git add -A; git -c user.name=a -c user.email=a@b commit -m x; git log -p";
        let command = posse_sandbox::Command::shell(plain, &root, std::time::Duration::from_secs(30));
        posse_sandbox::run(command).await.unwrap();
        if ran.exists() {
            effective.push(checked);
        }
    }
    assert_eq!(checked, 18);
    assert!(effective.len() >= 10, "{effective:?}");
}

#[tokio::test]
async fn a_repository_that_points_elsewhere_is_refused() {
    let fixture = Fixture::new(&[("a", "")]);
    let root = fixture.at(".");
    git::init(&root).await.unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let config = fixture.text(".git/config");
    fixture.put(".git/config", format!("{config}[core]\n\tworktree = {}\n", elsewhere.path().display()));
    assert!(matches!(git::commit_all(&root, "no").await, Err(WorkspaceError::Git(_))));
}

fn program(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
