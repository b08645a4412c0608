//! Protected names cannot be written, whether or not they exist, and leave no trace when they do not.

use std::{fs, path::Path, time::Duration};

use posse_sandbox::{CommandExit, Level, protected_names};

use crate::{confined_said, confined_shell, names_in};

fn repository(folder: &Path) {
    for name in [".git/objects", ".git/refs/heads", ".git/hooks"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(folder.join(".git/config"), "[core]\n\tbare = false\n").unwrap();
}

/// Everything below a folder, with modes and contents, to be compared as a whole.
fn state(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            let kind = path.symlink_metadata().unwrap();
            let content = if kind.is_file() { fs::read_to_string(&path).unwrap() } else { String::new() };
            found.push(format!("{} {:?} {content}", path.display(), kind.permissions()));
            if kind.is_dir() {
                open.push(path);
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn no_protected_name_can_be_made_or_changed() {
    let mut checked = 0;
    for exists in [false, true] {
        for name in protected_names() {
            let folder = tempfile::tempdir().unwrap();
            repository(folder.path());
            let path = folder.path().join(name.path);
            if exists && name.folder {
                fs::create_dir_all(&path).unwrap();
                fs::write(path.join("file"), "before").unwrap();
            } else if exists && !path.exists() {
                fs::write(&path, if name.path.ends_with("commondir") { "." } else { "" }).unwrap();
            }
            let before = state(folder.path());
            let name = name.path;
            let line = format!(
                "echo evil > {name}; echo evil >> {name}; echo evil > {name}/file; mkdir -p {name}/x; rm -rf {name}; \
                 mv {name} moved; mkdir evil; mv -T evil {name}; ln -sf /etc {name}; echo evil > new; ln -f new {name}; \
                 mv -f new {name}; mv .git git2; rm -rf .git/hooks .git/config; chmod 777 {name}; \
                 cp -r new .GIT; rm -rf evil new moved git2 .GIT; true"
            );
            confined_said(Level::Full, folder.path(), &line, |_| {}).await;
            assert_eq!(state(folder.path()), before, "{name}, there before: {exists}");
            checked += 1;
        }
    }
    assert_eq!(checked, 2 * protected_names().len());
}

#[tokio::test]
async fn links_and_other_kinds_of_git_are_protected() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("settings/claude")).unwrap();
    fs::write(at("settings/claude/file"), "before").unwrap();
    fs::write(at(".git"), "gitdir: elsewhere\n").unwrap();
    std::os::unix::fs::symlink("hop", at(".claude")).unwrap();
    std::os::unix::fs::symlink("settings/claude", at("hop")).unwrap();
    std::os::unix::fs::symlink("settings/dangling", at(".envrc")).unwrap();
    let before = state(folder.path());
    let line = "echo x > .git; rm -f .git; mv .git a; echo x > .claude/file; rm .claude; ln -sfn /tmp .claude; mv .claude b; \
                rm hop; mkdir c; mv -T c hop; mv settings d; mkdir settings; echo x > settings/claude/file; \
                echo x > .envrc; echo x > settings/dangling; rm -rf a b c d; true";
    confined_said(Level::Full, folder.path(), line, |_| {}).await;
    assert_eq!(state(folder.path()), before);
}

#[tokio::test]
async fn exceptions_hold_and_only_the_roots_are_writable() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir_all(at("src/keep/deep")).unwrap();
    fs::create_dir_all(at("other")).unwrap();
    let line = "echo x > src/ok; echo x > src/keep/no; echo x > src/keep/deep/no; echo x > other/no; echo x > no; \
                mv src/keep src/k2; mkdir -p src/later/x; mv src gone; true";
    confined_said(Level::Full, folder.path(), line, |profile| {
        profile.writable = vec![at("src"), at("src/keep/deep")];
        profile.read_only = vec![at("src/keep"), at("src/later/x")];
    })
    .await;
    assert_eq!(names_in(folder.path()), ["other", "src"]);
    assert_eq!(names_in(&at("src")), ["keep", "ok"]);
    assert_eq!(names_in(&at("src/keep")), ["deep"]);
    assert_eq!((names_in(&at("src/keep/deep")), names_in(&at("other"))), (vec![], vec![]));
}

#[tokio::test]
async fn what_lies_around_protected_names_is_no_more_writable_than_the_rest() {
    // In a home, and in a folder for temporary files: both are writable, but not what is shown in them.
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join("work").join(name);
    fs::create_dir_all(at("src/keep/deep/inner")).unwrap();
    repository(&home.path().join("work"));
    let before = state(home.path());
    let line = "echo x > .git/HEAD; echo x > .git/new; mv .git/HEAD .git/x; echo x > src/keep/no; echo x > src/keep/deep/no; \
                echo x > src/keep/deep/inner/no; mkdir src/keep/deep/later; echo x > no; true";
    let mut command = confined_shell(Level::Full, &home.path().join("work"), line, |profile| {
        profile.writable = vec![at("src")];
        profile.read_only = vec![at("src/keep"), at("src/keep/deep/inner"), at("src/keep/deep/later/x")];
    });
    command.env.push(("HOME".to_owned(), home.path().to_str().unwrap().to_owned()));
    posse_sandbox::run(command).await.unwrap();
    assert_eq!(state(home.path()), before);
}

#[tokio::test]
async fn git_works_meanwhile_inside_and_outside() {
    let folder = tempfile::tempdir().unwrap();
    let git = "git -c user.name=a -c user.email=a@b";
    crate::shell_in(folder.path(), "git init -q . && git config core.x y", 20_000).await;
    let line = format!(
        "echo a > file && {git} add -A && {git} commit -qm one && git status --short && git log --format=%s && git ls-files; sleep 0.5"
    );
    let job = posse_sandbox::start(confined_shell(Level::Full, folder.path(), &line, |_| {})).await.unwrap();
    let outside = crate::shell_in(
        folder.path(),
        "git --no-optional-locks status --short --untracked-files=no && git rev-parse --git-dir",
        20_000,
    )
    .await;
    assert_eq!(outside.exit, CommandExit::Code(0), "{outside:?}");
    let finished = job.wait().await;
    assert_eq!(String::from_utf8(finished.output.bytes()).unwrap(), "one\nfile\n");
    assert_eq!(names_in(folder.path()), [".git", "file"]);
    assert!(!folder.path().join(".git/commondir").exists());
}

#[tokio::test]
async fn placeholders_go_with_the_last_command_and_never_take_anything_along() {
    let folder = tempfile::tempdir().unwrap();
    let start =
        |line: &'static str| posse_sandbox::start(confined_shell(Level::Full, folder.path(), line, |_| {}));
    let first = start("sleep 0.3; mkdir .claude/x; echo evil > .envrc; true").await.unwrap();
    assert!(folder.path().join(".claude").is_dir());
    let second = start("sleep 1.2; mkdir .claude/y; echo evil > .envrc; true").await.unwrap();
    first.wait().await;
    assert!(folder.path().join(".claude").is_dir(), "the second still needs it");
    // What a person puts there meanwhile stays.
    fs::write(folder.path().join(".vscode/settings"), "mine").unwrap();
    second.wait().await;
    assert_eq!(names_in(folder.path()), [".vscode"]);
    assert_eq!(names_in(&folder.path().join(".vscode")), ["settings"]);
    // What somebody who was killed has left goes with the next; what only looks like it stays.
    fs::remove_dir_all(folder.path().join(".vscode")).unwrap();
    fs::create_dir(folder.path().join(".idea")).unwrap();
    fs::create_dir(folder.path().join(".cursor")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o1755);
    fs::set_permissions(folder.path().join(".cursor"), mode).unwrap();
    start("true").await.unwrap().wait().await;
    assert_eq!(names_in(folder.path()), [".idea"]);
}

/// Nothing has to run for that: the next start is enough, unless a command runs there.
#[tokio::test]
async fn placeholders_of_the_killed_go_with_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let left = |name: &str| {
        fs::create_dir(folder.path().join(name)).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o1755);
        fs::set_permissions(folder.path().join(name), mode).unwrap();
    };
    left(".cursor");
    fs::create_dir(folder.path().join(".idea")).unwrap();
    posse_sandbox::clear_placeholders(folder.path());
    assert_eq!(names_in(folder.path()), [".idea"]);
    let command = confined_shell(Level::Full, folder.path(), "sleep 20", |_| {});
    let job = posse_sandbox::start(command).await.unwrap();
    posse_sandbox::clear_placeholders(folder.path());
    assert!(folder.path().join(".claude").is_dir(), "it is needed");
    drop(job);
}

/// Links that a command has put where a placeholder or a file beside it will be lead nowhere.
#[tokio::test]
async fn planted_links_lead_the_supervisor_nowhere() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("work");
    fs::create_dir(&folder).unwrap();
    repository(&folder);
    let secret = outer.path().join("secret");
    fs::write(&secret, "mine").unwrap();
    let mode =
        |path: &Path| std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions());
    let before = mode(&secret);
    // The names by process number that were foreseeable once, and links in the place of placeholders themselves.
    let mut planted = 0;
    for process in 0..4096 {
        for name in ["commondir", "gitdir", "config.worktree"] {
            let link = folder.join(format!(".git/{name}.posse-{}", std::process::id() + process));
            std::os::unix::fs::symlink(&secret, link).unwrap();
            planted += 1;
        }
    }
    std::os::unix::fs::symlink(outer.path().join("made"), folder.join(".git/config.worktree")).unwrap();
    std::os::unix::fs::symlink(outer.path().join("made2"), folder.join(".envrc")).unwrap();
    for _ in 0..3 {
        confined_said(Level::Full, &folder, "true", |_| {}).await;
    }
    assert_eq!(planted, 3 * 4096);
    assert_eq!((fs::read_to_string(&secret).unwrap().as_str(), mode(&secret)), ("mine", before));
    assert_eq!(names_in(outer.path()), ["secret", "work"]);
}

/// A command that swaps folders for links all the time, while others start and end beside it.
#[tokio::test]
async fn folders_that_become_links_lead_the_supervisor_nowhere() {
    let outer = tempfile::tempdir().unwrap();
    let folder = outer.path().join("work");
    fs::create_dir_all(folder.join("a/b")).unwrap();
    let victim = outer.path().join("victim/b");
    fs::create_dir_all(&victim).unwrap();
    let swap = "while :; do mv a real 2>/dev/null && ln -s ../victim a; rm -f a; mv real a 2>/dev/null; done";
    let swapper = confined_shell(Level::Full, &folder, swap, |_| {});
    let swapper = posse_sandbox::start(swapper).await.unwrap();
    let mut tried = 0;
    for at in 0..40 {
        let command = confined_shell(Level::Full, &folder, "true", |profile| {
            profile.read_only = vec![folder.join(format!("a/b/later{at}/x"))];
        });
        // It may be refused; it must not be made elsewhere.
        let _ = posse_sandbox::run(command).await;
        assert_eq!(names_in(&victim), Vec::<String>::new(), "{at}");
        tried += 1;
    }
    drop(swapper);
    assert_eq!(tried, 40);
}

#[tokio::test]
async fn placeholders_go_when_a_command_is_dropped_or_late() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = confined_shell(Level::Full, folder.path(), "sleep 60", |_| {});
    let job = posse_sandbox::start(command.clone()).await.unwrap();
    assert!(!names_in(folder.path()).is_empty());
    drop(job);
    for _ in 0..200 {
        if names_in(folder.path()).is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(names_in(folder.path()), Vec::<String>::new());
    command.deadline = Duration::from_millis(200);
    let finished = posse_sandbox::run(command).await.unwrap();
    assert_eq!((finished.exit, names_in(folder.path())), (CommandExit::DeadlineExceeded, vec![]));
}
