//! What others do in the workspace while a confined command runs.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use posse_sandbox::{CommandExit, CommandHandle, Level};

use crate::{again, confined_said, confined_shell, names_in, number_in, said_lines, shell_in};

/// A repository, and a command in it that tries to change git's settings until it is stopped.
async fn busy(folder: &Path, line: &str) -> CommandHandle {
    let run = "echo $$ > running; ";
    let command = confined_shell(Level::Full, folder, &format!("{run}{line}"), |_| {});
    let job = posse_sandbox::start(command).await.unwrap();
    number_in(&folder.join("running")).await;
    job
}

async fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    shell_in(folder.path(), "git init -q . && git config user.name a && git config user.email a@b", 20_000)
        .await;
    folder
}

/// Tries everything to write a name, once its cover is there.
fn attempts(name: &str) -> String {
    format!(
        "until [ -e {name} ] && ! [ -w {name} ]; do sleep 0.01; done; echo evil > {name}; echo evil >> {name}; \
         echo evil > {name}/file; mkdir {name}/x; rm -rf {name}; mv {name} away; echo evil > x; mv -f x {name}; \
         ln -f x {name}; rm -f x; echo done"
    )
}

#[tokio::test]
async fn what_is_replaced_from_outside_is_covered_again() {
    let cases = [
        ("git config a.b c", ".git/config"),
        ("git remote add origin /nowhere; git config a.b c", ".git/config"),
        ("cp .git/config x; mv x .git/config", ".git/config"),
        ("rm .git/config", ".git/config"),
        ("mv .git/hooks .git/h", ".git/hooks"),
        ("rm -r .git/hooks", ".git/hooks"),
        ("rmdir .git/worktrees", ".git/worktrees"),
        ("rm -f .git/commondir", ".git/commondir"),
        ("rmdir .claude", ".claude"),
        ("git clean -qfdx", ".vscode"),
        ("rm -f .envrc", ".envrc"),
        ("echo mine > y; mv y .envrc", ".envrc"),
    ];
    // Where the system does not tell of changes, nobody can tell whose they are.
    let unwatched = std::env::var_os("POSSE_TEST_UNWATCHED").is_some();
    let mut lived = 0;
    for (line, name) in cases {
        let folder = repository().await;
        fs::write(folder.path().join("begun"), "").unwrap();
        let command = format!("echo $$ > running; until [ -e go ]; do sleep 0.01; done; {}", attempts(name));
        let command = confined_shell(Level::Full, folder.path(), &command, |_| {});
        let job = posse_sandbox::start(command).await.unwrap();
        number_in(&folder.path().join("running")).await;
        let outside = shell_in(folder.path(), &format!("{line} && touch go"), 20_000).await;
        assert_eq!(outside.exit, CommandExit::Code(0), "{line}: {outside:?}");
        let finished = job.wait().await;
        let stopped = finished.notes.iter().any(|note| note.starts_with("stopped: "));
        if unwatched && stopped {
            assert_eq!(finished.exit, CommandExit::Signal(9), "{line}");
        } else {
            let said = String::from_utf8(finished.output.bytes()).unwrap();
            assert!(said.ends_with("done\n"), "{line}: {:?} {:?} {said}", finished.exit, finished.notes);
            assert!(!stopped, "{line}: {:?}", finished.notes);
        }
        let path = folder.path().join(name);
        let evil = fs::read_to_string(&path).unwrap_or_default().contains("evil") || path.join("x").exists();
        assert!(!evil && !path.join("file").exists(), "{line}");
        if line.contains("mine") {
            assert_eq!(fs::read_to_string(&path).unwrap(), "mine\n");
        }
        assert!(!names_in(folder.path()).contains(&".codex".to_owned()), "{line}: placeholders are gone");
        lived += 1;
    }
    assert_eq!(lived, 12);
}

#[tokio::test]
async fn a_command_ends_when_nobody_can_tell_whose_a_change_is() {
    let cases = [
        ("mv .git g", ".git"),
        ("ln -sf /nowhere .git/config", ".git/config"),
        ("rm -r .git/hooks; mkdir h; echo x > h/x; mv -T h .git/hooks", ".git/hooks"),
        ("cp .git/config x; exec 9>>x; mv x .git/config; sleep 1", ".git/config"),
    ];
    let mut stopped = 0;
    for (line, name) in cases {
        let folder = repository().await;
        let job = busy(folder.path(), "sleep 20; echo late").await;
        shell_in(folder.path(), line, 20_000).await;
        let finished = job.wait().await;
        let note = format!(
            "stopped: {name} was replaced from outside while the command ran, \
             so it could not be protected any longer; run it again"
        );
        assert_eq!((finished.exit, finished.notes), (CommandExit::Signal(9), vec![note]), "{line}");
        assert!(!names_in(folder.path()).contains(&".codex".to_owned()), "{line}: placeholders are gone");
        stopped += 1;
    }
    assert_eq!(stopped, 4);
}

/// The person's ordinary git goes on all the time, and so does a command that waits for its chance: it gets none, and
/// lives to its end.
#[tokio::test]
async fn the_persons_git_and_a_command_that_lies_in_wait() {
    let folder = repository().await;
    let attempt = "echo evil 2>/dev/null >> .git/config; echo evil 2>/dev/null > .git/hooks/x";
    let line = format!("until [ -e go ]; do {attempt}; done; echo done");
    let job = busy(folder.path(), &line).await;
    let outside = "for i in $(seq 50); do git config a.b $i || exit 1; git remote add r$i /nowhere || exit 2; \
                   git clean -qn || exit 3; git config --unset a.b || exit 4; done; git gc -q; touch go";
    let outside = shell_in(folder.path(), outside, 60_000).await;
    let finished = job.wait().await;
    let config = fs::read_to_string(folder.path().join(".git/config")).unwrap();
    assert!(!folder.path().join(".git/hooks/x").exists());
    assert!(!config.contains("evil"), "{config}");
    assert_eq!(outside.exit, CommandExit::Code(0), "{outside:?}");
    assert!(finished.output.bytes().ends_with(b"done\n"), "{finished:?}");
}

/// Replaces a name faster than it can be covered, a few thousand times: the command lives on, gets nothing, and its end is
/// noticed in the middle of it.
#[tokio::test]
async fn names_that_are_replaced_without_a_pause() {
    let folder = repository().await;
    let line = "until [ -e go ]; do echo evil 2>/dev/null >> .git/config; done; echo done";
    let job = busy(folder.path(), line).await;
    let (config, over) = (folder.path().join(".git/config"), Arc::new(AtomicBool::new(false)));
    let (said, stop, go) = (fs::read(&config).unwrap(), over.clone(), folder.path().join("go"));
    let outside = std::thread::spawn(move || {
        let new = config.with_extension("new");
        let mut count = 0_u32;
        while !stop.load(Ordering::Relaxed) {
            fs::write(&new, &said).unwrap();
            fs::rename(&new, &config).unwrap();
            count += 1;
            if count == 3_000 {
                fs::write(&go, "").unwrap();
            }
        }
        (fs::read(&config).unwrap() == said, count)
    });
    let finished = job.wait().await;
    over.store(true, Ordering::Relaxed);
    let (unchanged, count) = outside.join().unwrap();
    assert!(finished.output.bytes().ends_with(b"done\n"), "after {count}: {:?}", finished.notes);
    assert!(unchanged);
}

#[tokio::test]
async fn ordinary_work_outside_ends_nothing() {
    let folder = repository().await;
    let job = busy(folder.path(), "sleep 1.5; echo done").await;
    let outside = "echo a > file && git add file && git commit -qm one && git branch b && git tag t && git status -s >/dev/null \
                   && git checkout -q b && mkdir d && mv file d && rm -r d && echo >> .git/info/exclude";
    let outside = shell_in(folder.path(), outside, 20_000).await;
    assert_eq!(outside.exit, CommandExit::Code(0), "{outside:?}");
    // Others come and go, with placeholders of their own.
    for _ in 0..3 {
        let (exit, _) = confined_said(Level::Full, folder.path(), "echo x > y; rm y", |profile| {
            profile.read_only = vec![folder.path().join("later")];
        })
        .await;
        assert_eq!(exit, CommandExit::Code(0));
    }
    let finished = job.wait().await;
    assert_eq!((finished.output.bytes(), finished.notes), (b"done\n".to_vec(), vec![]));
    assert_eq!(names_in(folder.path()), [".git", "running"]);
}

#[tokio::test]
async fn what_a_command_may_not_write_anyway_may_be_replaced() {
    let folder = repository().await;
    fs::create_dir(folder.path().join("src")).unwrap();
    let line = "echo $$ > src/running; sleep 1; echo evil >> .git/config; echo done";
    let command = confined_shell(Level::Full, folder.path(), line, |profile| {
        profile.writable = vec![folder.path().join("src")];
    });
    let job = posse_sandbox::start(command).await.unwrap();
    number_in(&folder.path().join("src/running")).await;
    shell_in(folder.path(), "git config a.b c", 20_000).await;
    let finished = job.wait().await;
    assert!(finished.output.bytes().ends_with(b"done\n"), "{finished:?}");
    assert!(!finished.notes.iter().any(|note| note.starts_with("stopped")), "{finished:?}");
    assert!(!fs::read_to_string(folder.path().join(".git/config")).unwrap().contains("evil"));
}

#[tokio::test]
async fn hidden_files_that_are_replaced_are_not_shown() {
    let mut stopped = 0;
    for level in [Level::Inspect, Level::Full] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        fs::write(&file, "secret").unwrap();
        let command = confined_shell(level, folder.path(), "echo on; sleep 20; cat token", |profile| {
            profile.hidden = vec![file.clone()];
        });
        let job = posse_sandbox::start(command).await.unwrap();
        fs::write(folder.path().join("new"), "secret").unwrap();
        fs::rename(folder.path().join("new"), &file).unwrap();
        let finished = job.wait().await;
        assert_eq!((finished.exit, finished.notes.len()), (CommandExit::Signal(9), 1), "{level:?}");
        assert!(finished.notes[0].starts_with("stopped: token was replaced"), "{:?}", finished.notes);
        stopped += 1;
    }
    assert_eq!(stopped, 2);
}

#[tokio::test]
async fn the_last_one_removes_the_placeholders_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let first = confined_shell(Level::Full, folder.path(), "sleep 0.2", |profile| {
        profile.read_only = vec![folder.path().join("only-of-the-first")];
    });
    let first = posse_sandbox::start(first).await.unwrap();
    let second = busy(folder.path(), "sleep 1").await;
    first.wait().await;
    assert!(folder.path().join("only-of-the-first").is_dir());
    assert_eq!(second.wait().await.notes, Vec::<String>::new());
    assert_eq!(names_in(folder.path()), ["running"]);
}

#[tokio::test]
async fn a_lock_on_the_workspace_keeps_nobody_out() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("locked")).unwrap();
    let line = "exec 9<.; flock -x 9 && echo locked; sleep 3";
    let holder = confined_shell(Level::Inspect, folder.path(), line, |_| {});
    let holder = posse_sandbox::start(holder).await.unwrap();
    for _ in 0..200 {
        if !holder.output().bytes().is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(holder.output().bytes(), b"locked\n");
    assert_eq!(
        confined_said(Level::Full, folder.path(), "echo in", |_| {}).await,
        (CommandExit::Code(0), "in\n".into())
    );
    // Nor can a command see the lock, even where it sees all that is around it.
    let line = "ls -A /tmp/.posse-* /var/tmp/.posse-*; true";
    let (_, text) = confined_said(Level::Inspect, Path::new("/tmp"), line, |_| {}).await;
    assert!(!text.lines().any(|line| line.contains('-') && !line.contains('/')), "{text}");
}

/// Only somebody without privileges is kept from anything by a mode, so this needs another user where it is root's.
#[test]
fn a_folder_that_a_command_has_closed_is_guarded_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let open = || std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), open()).unwrap();
    let work = folder.path().join("work");
    fs::create_dir(&work).unwrap();
    fs::set_permissions(&work, open()).unwrap();
    // Where it was built, the other user may not get at it.
    let program = folder.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut process =
        again(&program, "outside::stands_in_for_a_user", "POSSE_TEST_USER", work.to_str().unwrap());
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&work, Some(65534), Some(65534)).unwrap();
        std::os::unix::process::CommandExt::uid(&mut process, 65534);
        std::os::unix::process::CommandExt::gid(&mut process, 65534);
    }
    let said = said_lines(process);
    assert_eq!(said, ["Code(0) 555 in", "Code(0) 555 in", "[]"]);
}

#[tokio::test]
async fn stands_in_for_a_user() {
    let Some(folder) = std::env::var_os("POSSE_TEST_USER") else { return };
    let folder = Path::new(&folder);
    for _ in 0..2 {
        let line = "chmod 555 .; ls -d .claude >/dev/null && ! mkdir .claude/x 2>/dev/null && echo in";
        let command = confined_shell(Level::Full, folder, line, |_| {});
        let said = match posse_sandbox::run(command).await {
            Ok(finished) => {
                format!("{:?} {}", finished.exit, mode(folder))
                    + " "
                    + &String::from_utf8_lossy(&finished.output.bytes())
            }
            Err(error) => error.to_string(),
        };
        println!("SAID {}", said.trim_end());
    }
    println!("SAID {:?}", names_in(folder));
}

fn mode(folder: &Path) -> String {
    format!(
        "{:o}",
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(folder).unwrap().permissions()) & 0o7777
    )
}
