//! Whose a change is: what a command named and changed is its own; what else changed meanwhile is not certain to be
//! anybody's, and stays when the command's work is taken back.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use posse_engine::UndoExtent;
use posse_protocol::{Event, EventKind, Report};
use posse_testkit::Turn;
use serde_json::json;

use crate::crew::{REPORT, Stage, turn_of};
use crate::follow::{Followed, named, sh, wait};
use crate::undoing::{agent, contents, crew, last, paths, undo};

/// Waits for a file that a command or a person makes.
async fn appears(path: &Path) {
    while !path.exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Paths of all changes of a kind that are on record.
fn on_record<'a>(events: impl Iterator<Item = &'a Event>, certain: bool) -> Vec<String> {
    let mut found = Vec::new();
    for event in events {
        match &event.kind {
            EventKind::Changed { changes, .. } if certain => found.extend(changes),
            EventKind::ChangedMeanwhile { changes, .. } if !certain => found.extend(changes),
            _ => {}
        }
    }
    let mut found: Vec<String> = found.into_iter().map(|change| change.path.clone()).collect();
    found.sort();
    found
}

fn report_of(events: &[Event], parent: bool) -> Report {
    let of = |event: &Event| event.parent.is_some() == parent;
    let settled = events.iter().rev().filter(|event| of(event)).find_map(|event| match &event.kind {
        EventKind::AgentSettled { report } => Some(report.clone()),
        _ => None,
    });
    settled.expect("it settled")
}

#[tokio::test]
async fn what_a_person_writes_while_a_command_runs_is_not_taken_back() {
    let command =
        "echo one >> a.txt; echo new > made.txt; touch begun; until [ -e go ]; do sleep 0.02; done; rm b.txt";
    let stage = crew([("one", vec![sh(command)])], vec![]).await;
    let mut followed = Followed::new(stage.start("go"));
    followed
        .until(1, |event| matches!(&event.kind, EventKind::ToolStarted { tool, .. } if tool == "shell"))
        .await;
    let root = stage.files.path().to_owned();
    appears(&root.join("begun")).await;
    std::fs::write(root.join("person.txt"), "mine\n").unwrap();
    std::fs::create_dir(root.join("notes")).unwrap();
    std::fs::write(root.join("notes/today"), "mine\n").unwrap();
    std::fs::write(root.join("go"), "").unwrap();
    let ran = followed.finish().await;
    let events = ran.events().cloned().collect::<Vec<_>>();
    assert_eq!(on_record(events.iter(), true), ["a.txt", "b.txt", "begun", "made.txt"]);
    assert_eq!(on_record(events.iter(), false), ["go", "notes/today", "person.txt"]);
    for parent in [true, false] {
        let receipt = report_of(&events, parent).receipt;
        let mut named = receipt.files_not_certain.iter().map(|file| file.path.as_str()).collect::<Vec<_>>();
        named.sort_unstable();
        assert_eq!(
            named,
            ["go", "notes/today", "person.txt"],
            "in the receipt, and in that of the one above"
        );
    }
    let undone = undo(&stage, agent("one")).await.unwrap();
    assert_eq!(undone.not_certain, ["go", "notes/today", "person.txt"], "they are listed");
    let left = contents(&root);
    let left = left.keys().map(String::as_str).collect::<Vec<_>>();
    assert_eq!(left, ["a.txt", "b.txt", "go", "notes/today", "person.txt"]);
    assert_eq!(stage.files.read("a.txt"), "alpha\n");
    // Named, they go, one by one or with their folder.
    let named = ["notes".to_string(), "person.txt".to_string()];
    let undone = stage.engine.undo(&last(&stage), &UndoExtent::Session, &named).await;
    assert_eq!(paths(undone), ["notes/today", "person.txt"]);
    assert!(root.join("go").exists() && !root.join("person.txt").exists() && !root.join("notes").exists());
    assert_eq!(paths(stage.engine.redo(&last(&stage)).await), ["notes/today", "person.txt"]);
    assert_eq!(stage.files.read("person.txt"), "mine\n");
}

/// A command that names a file without writing it does not make what somebody else writes there its own.
#[tokio::test]
async fn naming_a_file_does_not_make_somebody_elses_edit_the_commands() {
    let tricks = [
        ("touch src/x", "touch src/x"),
        ("chmod 644 src/x", "chmod 600 src/x"),
        ("mv -T src away; mv -T away src", "mv -T src away; mv -T away src"),
        ("mv -T src a; mv -T a b; mv -T b src", "true"),
        ("mv src/x y; mv y src/x", "mv src/x y; mv y src/x"),
        ("mkdir src/x; ln -s a src/x; mkfifo src/x", "mkdir src/x"),
        ("set -C; echo z > src/x", "set -C; echo z > src/x"),
        ("mv missing src/x; ln missing src/x; ln missing src/new", "true"),
        ("rm -f src/new; truncate -c -s 0 src/new; mv src/new z", "touch src/x src/new"),
    ];
    let mut seen = 0;
    for (before, after) in tricks {
        let command =
            format!("{{ {before}; }} 2>/dev/null; cat held; {{ {after}; }} 2>/dev/null; echo end > own.txt");
        let mut stage = crew([], vec![sh(&command)]).await;
        stage.files = stage.files.file("src/x", "x\n");
        let root = stage.files.path().to_owned();
        let made = std::process::Command::new("mkfifo").arg(root.join("held")).status().unwrap();
        assert!(made.success());
        let there = root.clone();
        // It opens once the command reads.
        let person = std::thread::spawn(move || {
            let _held = std::fs::File::options().write(true).open(there.join("held")).unwrap();
            std::fs::write(there.join("src/x"), "the person's\n").unwrap();
            std::fs::write(there.join("src/new"), "the person's\n").unwrap();
        });
        let ran = stage.run("go").await;
        person.join().unwrap();
        let events = ran.events().cloned().collect::<Vec<_>>();
        assert_eq!(on_record(events.iter(), true), ["own.txt"], "{before}: {:?}", ran.results());
        assert_eq!(on_record(events.iter(), false), ["src/new", "src/x"], "{before}");
        undo(&stage, UndoExtent::Session).await.unwrap();
        let kept = ["src/x", "src/new"].map(|path| stage.files.read(path));
        assert_eq!(kept, ["the person's\n"; 2], "{before}");
        assert!(!root.join("own.txt").exists(), "{before}");
        seen += 1;
    }
    assert_eq!(seen, 9);
}

/// What a command does by the same calls is its own, and is taken back.
#[tokio::test]
async fn what_is_moved_and_marked_is_taken_back() {
    let commands = [
        "chmod +x src/x",
        "mv src lib",
        "mv src lib && rm -rf lib",
        "mv src/x src/y",
        "mv -f src/x a.txt",
        "mkdir t && mv src/* t && rmdir src && mv t src && mv src/x src/z",
        "mkdir made && echo new > made/n && mv made kept",
        "sed -i s/x/evil/ src/x",
        "mv out/y src/x && mv out/more more",
        "mv src/x out/x && mv out/more src/more",
        "chmod +x src/x && mv src/x y",
        "mv src t && mkdir src && cp t/x src/x && echo evil >> src/x && rm -r t",
    ];
    let mut seen = 0;
    for command in commands {
        let mut stage = crew([], vec![sh(command)]).await;
        let files = stage.files.file(".gitignore", "/out/\n").git().file("src/x", "x\n");
        stage.files = files.file("out/y", "y\n").file("out/more/z", "z\n");
        let root = stage.files.path().to_owned();
        // What is ignored is not brought back, and git's own files are others' matter.
        let work = || -> Vec<_> {
            let all = contents(&root).into_iter();
            all.filter(|(path, _)| !path.starts_with("out/") && !path.starts_with(".git/")).collect()
        };
        let before = work();
        let ran = stage.run("go").await;
        assert!(ran.results()[0].1.contains("exit code 0"), "{command}: {:?}", ran.results());
        assert_eq!(on_record(ran.events(), false), [""; 0], "{command}");
        undo(&stage, UndoExtent::Session).await.unwrap_or_else(|error| panic!("{command}: {error}"));
        assert_eq!(work(), before, "{command}");
        seen += 1;
    }
    assert_eq!(seen, 12);
}

/// A name that is gone again, or that nobody watches, is reported for no other name of the same file.
#[tokio::test]
async fn what_is_written_by_another_name_is_taken_back() {
    let commands = [
        "ln src/x hard && echo evil > hard && rm hard",
        "ln src/x out/hard && echo evil > out/hard",
        "ln src/x out/hard && echo evil > out/hard && rm out/hard",
        "ln src/x out/hard && mv out/hard out/h && echo evil > out/h && rm out/h",
    ];
    let mut seen = 0;
    for command in commands {
        let mut stage = crew([], vec![sh(command)]).await;
        stage.files =
            stage.files.file(".gitignore", "/out/\n").git().file("src/x", "x\n").file("out/y", "y\n");
        let ran = stage.run("go").await;
        assert!(ran.results()[0].1.contains("exit code 0"), "{command}: {:?}", ran.results());
        assert_eq!(on_record(ran.events(), true), ["src/x"], "{command}");
        undo(&stage, UndoExtent::Session).await.unwrap();
        assert_eq!(stage.files.read("src/x"), "x\n", "{command}");
        seen += 1;
    }
    assert_eq!(seen, 4);
}

#[tokio::test]
async fn commands_that_run_at_the_same_time_are_told_apart() {
    let meet = |own: &str, other: &str| {
        format!(
            "echo {own} > {own}.txt; touch {own}.here; until [ -e {other}.here ]; do sleep 0.02; done; echo end >> {own}.txt"
        )
    };
    let both = ["left", "right"]
        .iter()
        .fold(Turn::text("Go."), |turn, name| turn.and_call("agent", named(name, "general", "Do it.")));
    let of = |own, other| vec![sh(&meet(own, other)), Turn::text(REPORT)];
    let stage = Stage::new([
        ("main", vec![both, wait(), Turn::text("Done.")]),
        ("left", of("left", "right")),
        ("right", of("right", "left")),
    ])
    .await;
    let ran = stage.run("go").await;
    for name in ["left", "right"] {
        let own = [format!("{name}.here"), format!("{name}.txt")];
        assert_eq!(on_record(ran.of(name).into_iter(), true), own, "{name}");
    }
    assert_eq!(on_record(ran.events(), false), [""; 0]);
    assert_eq!(paths(undo(&stage, agent("left")).await), ["left.here", "left.txt"]);
    assert_eq!(stage.files.read("right.txt"), "right\nend\n");
}

#[tokio::test]
async fn what_a_background_command_did_is_told_from_what_others_did() {
    let beside = "touch begun; until [ -e go ]; do sleep 0.02; done; echo late > late.txt";
    let main = vec![
        Turn::call("shell", json!({"command": beside, "background": true})),
        sh("until [ -e begun ]; do sleep 0.02; done; echo now > now.txt; touch go"),
        Turn::call("jobs", json!({"name": "cmd-1", "wait_ms": 60_000})),
    ];
    let stage = crew([], main).await;
    let ran = stage.run("go").await;
    assert_eq!(on_record(ran.events(), true), ["begun", "go", "late.txt", "now.txt"]);
    assert_eq!(on_record(ran.events(), false), [""; 0]);
    paths(undo(&stage, UndoExtent::Session).await);
    assert_eq!(contents(stage.files.path()).into_keys().collect::<Vec<_>>(), ["a.txt", "b.txt"]);
}

#[tokio::test]
async fn a_commit_a_reset_and_a_lost_history_are_taken_back() {
    let identity = "git -c user.name=a -c user.email=a@localhost";
    let commands = [
        format!("echo more >> a.txt; git add -A; {identity} commit -qm second"),
        "git reset -q --hard HEAD~1".to_string(),
        "git checkout -q -b other; git branch -q -D main".to_string(),
        "rm -rf .git/objects/*; rm -f .git/refs/heads/*".to_string(),
        "git reflog expire --expire=now --all; git gc -q --prune=now".to_string(),
        "rm -rf a.txt b.txt sub; git rm -q --cached -r . ".to_string(),
        "for f in a.txt b.txt; do mv $f moved-$f; done; git add -A".to_string(),
    ];
    let mut seen = 0;
    for command in commands {
        let mut stage = crew([], vec![sh(&command)]).await;
        stage.files = stage.files.file("sub/c.txt", "c\n");
        let root = stage.files.path().to_owned();
        let git = |words: &[&str]| {
            let all = ["-c", "user.name=p", "-c", "user.email=p@localhost"].iter().chain(words);
            let done = std::process::Command::new("git").args(all).current_dir(&root).output().unwrap();
            assert!(done.status.success(), "{words:?}: {done:?}");
            String::from_utf8(done.stdout).unwrap()
        };
        git(&["init", "-q", "-b", "main"]);
        git(&["add", "-A"]);
        git(&["commit", "-qm", "zeroth"]);
        std::fs::write(root.join("b.txt"), "changed\n").unwrap();
        git(&["commit", "-qam", "first"]);
        let state = || {
            let refs = git(&["for-each-ref"]);
            (
                git(&["rev-parse", "HEAD"]),
                git(&["symbolic-ref", "HEAD"]),
                refs,
                git(&["status", "--porcelain"]),
                git(&["log", "-p"]),
                git(&["fsck", "--full", "--no-dangling"]),
            )
        };
        let (before, files) = (state(), |root: &Path| {
            let mut files = contents(root);
            files.retain(|path, _| !path.starts_with(".git/"));
            files
        });
        let all = files(&root);
        let ran = stage.run("go").await;
        let (_, text) = &ran.results_of("main")[0];
        assert!(text.contains("exit code 0"), "{command}: {text}");
        paths(undo(&stage, UndoExtent::Session).await);
        assert_eq!(files(&root), all, "{command}");
        assert_eq!(state(), before, "{command}");
        seen += 1;
    }
    assert_eq!(seen, 7);
}

#[tokio::test]
async fn a_write_in_place_reaches_nothing_outside_the_workspace() {
    let command = "echo evil >> store/one; echo evil > store/new; chmod u+w .git/objects/ab/cd; echo evil >> .git/objects/ab/cd; \
                   echo fine >> a.txt; true";
    let stage = crew([], vec![sh(command)]).await;
    let (root, outside) = (stage.files.path().to_owned(), tempfile::tempdir().unwrap());
    for folder in ["store", ".git/objects/ab"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    for (name, inside) in [("package", "store/one"), ("object", ".git/objects/ab/cd")] {
        std::fs::write(outside.path().join(name), "theirs\n").unwrap();
        std::fs::hard_link(outside.path().join(name), root.join(inside)).unwrap();
    }
    let ran = stage.run("go").await;
    for name in ["package", "object"] {
        assert_eq!(std::fs::read_to_string(outside.path().join(name)).unwrap(), "theirs\n", "{name}");
    }
    assert!(!root.join("store/new").exists(), "the folder is read-only");
    assert_eq!(stage.files.read("a.txt"), "alpha\nfine\n");
    let told = ran.events().find_map(|event| match &event.kind {
        EventKind::NotCovered { read_only, .. } => Some(read_only.clone()),
        _ => None,
    });
    assert_eq!(told.unwrap(), ["store (1 file)"], "the person is told once");
}

/// Commands that may destroy something that undo does not bring back: `out` is ignored, `big.bin` is too large, `sub` has a
/// repository of its own, and `link` leads to what is ignored.
const ASKED: &[&str] = &[
    "rm -rf out",
    "rm -rf ./out/",
    "rm -rf src/../out",
    "rm -rf \"$PWD/out\"",
    "rm big.bin",
    "rm -rf .",
    "rm -rf ..",
    "rm -rf *",
    "rm -rf ./*",
    "rm -rf o*",
    "rm -rf ou?",
    "rm -rf [n-p]ut",
    "rm -rf {out,a.txt}",
    "rm -rf */",
    "D=out; rm -rf $D",
    "rm -rf \"$D\"",
    "rm -rf $(echo out)",
    "rm -rf `echo out`",
    "rm -rf ~/x",
    "rm -rf sub",
    "cd out && rm built",
    "cd src && rm -rf ../out",
    "cd out; rm -rf *",
    "cd $D && rm -rf x",
    "cd missing; rm -rf *",
    "pushd out && rm built",
    "(cd out; rm built)",
    "bash -c 'cd out; rm built'",
    "env -C out rm built",
    "for d in out; do rm -rf $d; done",
    "ls | xargs rm -rf",
    "echo out | xargs rm -rf",
    "find out -type f | xargs rm",
    "grep -rl x . | xargs rm",
    "find . -name built -delete",
    "find -name built -delete",
    "find out -delete",
    "find . -name built -exec rm {} +",
    "find -L src -delete",
    "git clean -fdx",
    "git clean -xdf",
    "git clean -fdX",
    "git clean -ffd",
    "git clean -fd",
    "git clean -fdx -e kept",
    "git stash -u",
    "git -C out clean -fdx",
    "git stash -a",
    "git stash --all",
    "git stash push -a",
    "git rm -rf out",
    "git --work-tree=out checkout .",
    "git push --force",
    "mv out /tmp/x",
    "mv a.txt out/built",
    "cp a.txt out/built",
    "cp a.txt link",
    "cp -r src/. out",
    "echo x > out/built",
    "echo x > link",
    "echo x > out/../out/built",
    "truncate -s 0 out/built",
    "truncate -s 0 link",
    "dd if=/dev/zero of=out/built",
    "dd if=/dev/zero of=big.bin count=1",
    "tee out/built < a.txt",
    "sed -i s/x/y/ out/built",
    "sed -i s/x/y/ out/*",
    "tar xf a.tar",
    "unzip -o a.zip",
    "rsync -a --delete src/ out/",
    "ln -sf a.txt out/built",
    "python3 -c \"import shutil; shutil.rmtree('out')\"",
    "python3 -c \"import os; [os.remove(f) for f in os.listdir()]\"",
    "rm 'unclosed",
    "$CMD out",
];

/// The same kinds where undo holds: nobody is asked.
const NOT_ASKED: &[&str] = &[
    "rm a.txt",
    "rm ./a.txt",
    "rm -rf src",
    "rm -rf src/*",
    "rm *.txt",
    "rm -f a.txt b.txt missing.txt",
    "rm -rf missing",
    "rm -rf /tmp/x",
    "rm link",
    "echo x > b.txt",
    "echo \"$HOME\" > b.txt",
    "echo x > new.txt",
    "cat a.txt > src/new.txt",
    "make > /tmp/log 2>&1",
    "sed -i s/alpha/beta/ a.txt",
    "sed -i 's/a*$/[b]/' a.txt",
    "sed -i \"s/$OLD/$NEW/g\" a.txt src/c.txt",
    "sed -i -e \"s/$OLD/x/\" a.txt",
    "sed -i s/c/d/ src/*.txt",
    "perl -pi -e \"s/$OLD/x/\" a.txt",
    "cd src && rm c.txt",
    "cd src && rm -rf *",
    "cd src && echo x > c.txt",
    "git checkout -b x",
    "git checkout .",
    "git checkout -- a.txt",
    "git checkout -- src",
    "git reset -q --hard",
    "git restore .",
    "git clean -fd src",
    "git clean -fdx src",
    "git rm -r src",
    "git mv a.txt c.txt",
    "git branch -D x",
    "git gc",
    "mv a.txt c.txt",
    "mv a.txt src",
    "mv a.txt b.txt",
    "cp a.txt b.txt",
    "cp a.txt out",
    "cp src/c.txt .",
    "cp out/built a.txt",
    "cp -r out/built src/",
    "cp *.txt src/",
    "truncate -s 0 a.txt",
    "dd if=out/built of=a.txt",
    "dd of=a.txt if=/dev/zero count=1",
    "tee a.txt < b.txt",
    "find src -name '*.txt' -delete",
    "find src -name '*.txt' -exec rm {} +",
    "grep -rl c src | xargs sed -i s/c/d/",
    "git ls-files | xargs sed -i s/c/d/",
    "find src -type f | sort | xargs rm",
    "ln -sf a.txt b.txt",
    "tar czf /tmp/a.tgz .",
    "tar xf a.tar -C src",
    "patch -p1 < fix.diff",
    "python3 -c \"open('new.txt','w').write('x')\"",
    "python3 -c \"open('a.txt','w').write('x')\"",
    "ls out",
];

/// Puts everything as it is meant to be, whatever the command before has done.
fn set_up(root: &Path) {
    let files = [("a.txt", "alpha\n"), ("b.txt", "beta\n"), ("src/c.txt", "c\n"), ("out/built", "x\n")];
    let more = [("more/built", "x\n"), ("sub/.git/HEAD", "ref: x\n"), ("sub/d.txt", "d\n")];
    for (path, content) in files.into_iter().chain(more) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    std::fs::File::create(root.join("big.bin")).unwrap().set_len(30 << 20).unwrap();
    let _ = std::fs::remove_file(root.join("link"));
    std::os::unix::fs::symlink("out/built", root.join("link")).unwrap();
}

#[tokio::test]
async fn in_mode_auto_what_cannot_be_taken_back_is_asked_about_first() {
    let lines: Vec<&str> = ASKED.iter().chain(NOT_ASKED).copied().collect();
    let root: Arc<OnceLock<PathBuf>> = Arc::default();
    let (turns, there) = (lines.clone(), Arc::clone(&root));
    let mut stage = Stage::by_rule(move |request| {
        set_up(there.wait());
        let turn = turn_of(&request.json());
        match turns.get(turn) {
            // Something new runs in every turn: an agent whose calls are all refused is ended.
            Some(line) => Turn::call("grep", json!({"pattern": format!("nothing-{turn}")}))
                .and_call("shell", json!({"command": line})),
            None => Turn::text("Done."),
        }
    })
    .await;
    stage.grant.approval = posse_protocol::Approval::Auto;
    stage.budget.turns = Some(1_000);
    stage.files = stage.files.file(".gitignore", "/out/\n/more/\n").file("src/c.txt", "c\n").git();
    root.set(stage.files.path().to_owned()).unwrap();
    let ran = stage.run("go").await;
    let results = ran.results_of("main");
    assert_eq!(results.len(), 2 * lines.len(), "{:?}", results.last());
    let answers = results.iter().skip(1).step_by(2);
    let wrong = lines.iter().zip(answers).enumerate().filter_map(|(number, (line, (_, text)))| {
        let asked = text.contains("undo does not hold here");
        (asked != (number < ASKED.len()))
            .then(|| format!("{line}: {}", text.lines().next().unwrap_or_default()))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), lines.len(), wrong.join("\n"));
    assert_eq!((ASKED.len(), NOT_ASKED.len()), (76, 60));
}

/// What comes to be ignored while the session runs is not covered either.
#[tokio::test]
async fn what_was_made_since_and_is_not_kept_is_asked_about() {
    let made = [
        "mkdir out && echo x > out/built",
        "truncate -s 30M large.log",
        "truncate -s 30M large.bin",
        "mkdir -p sub/deep && mkdir -p src",
    ];
    let mut seen = 0;
    for (number, make) in made.into_iter().enumerate() {
        let mut stage = crew([], vec![sh(make), sh("true"), sh("rm -rf *")]).await;
        stage.grant.approval = posse_protocol::Approval::Auto;
        stage.files = stage.files.file(".gitignore", "/out/\n*.log\n").git();
        let ran = stage.run("go").await;
        let (_, text) = &ran.results_of("main")[2];
        assert_eq!(text.contains("undo does not hold here"), number < 3, "{make}: {text}");
        seen += 1;
    }
    assert_eq!(seen, 4);
}
