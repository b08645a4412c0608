//! `posse undo`, `redo`, `diff` and `merge`, and what they say.

use posse_testkit::{FakeModel, Fixture, Turn, asker};
use serde_json::json;

use crate::posse::{Person, Ran};
use crate::terminal::in_terminal_of;

const REPORT: &str = "SUMMARY: I did what I was asked to do.\nCHANGES: one file.\nEVIDENCE: None.\nRISKS: None.\nBLOCKERS: None.";

fn writes(path: &str, content: &str) -> Turn {
    Turn::call("write_file", json!({"path": path, "content": content}))
}

/// A session in which main writes one file and the sub-agent `ann` another, apart or not.
fn with_ann(isolation: &str) -> Person {
    let start = json!({"action": "start", "name": "ann", "role": "general", "prompt": "Do it.", "isolation": isolation});
    let model = FakeModel::by_rule_blocking(move |request| {
        let told = request.json()["messages"].as_array().map_or(0, Vec::len);
        match (asker(&request.json()).as_str(), told) {
            ("ann", 2) => {
                Turn::call("shell", json!({"command": "echo ann > ann.txt; sed -i s/hi/ANN/ main.py"}))
            }
            ("ann", _) => Turn::text(REPORT),
            (_, 2) => writes("own.txt", "own\n").and_call("agent", start.clone()),
            (_, 4) => Turn::call("agent", json!({"action": "wait"})),
            _ => Turn::text("All is done."),
        }
    });
    let person = Person::with_model(model, Fixture::new().file("main.py", "print('hi')\n").git());
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    person
}

fn there(person: &Person) -> [bool; 2] {
    ["own.txt", "ann.txt"].map(|file| person.project.path().join(file).exists())
}

#[test]
fn the_work_of_one_agent_is_taken_back_and_brought_again() {
    let person = with_ann("shared");
    assert_eq!((there(&person), person.file("main.py").as_str()), ([true, true], "print('ANN')\n"));
    person.posse(&["diff", "--agent", "ann"]).says("+print('ANN')");
    let preview = person.posse(&["undo", "--agent", "ann", "--preview"]);
    let told = "Nothing is written yet. This would change: the work of ann\n  removed  ann.txt\n  changed  main.py\n\n";
    assert!(preview.code == Some(0) && preview.stdout.starts_with(told), "{preview:#?}");
    preview.says("-print('ANN')\n+print('hi')\n");
    assert_eq!((there(&person), person.file("main.py").as_str()), ([true, true], "print('ANN')\n"));
    let undone = person.posse(&["undo", "--agent", "ann"]);
    assert_eq!(undone.code, Some(0), "{undone:#?}");
    assert_eq!(
        undone.stdout,
        "Taken back: the work of ann\n  removed  ann.txt\n  changed  main.py\nposse redo brings it back\n"
    );
    assert_eq!((there(&person), person.file("main.py").as_str()), ([true, false], "print('hi')\n"));
    person.posse(&["redo", "--preview"]).says("Nothing is written yet");
    assert_eq!(there(&person), [true, false]);
    let redone = person.posse(&["redo"]);
    assert_eq!(
        redone.stdout,
        "Done: brought back: the work of ann\n  created  ann.txt\n  changed  main.py\n"
    );
    assert_eq!(there(&person), [true, true]);
    // What the person did since stays, and is told where it does not go together.
    std::fs::write(person.project.path().join("main.py"), "print('MINE')\n").unwrap();
    let undone = person.posse(&["undo", "--session"]);
    assert_eq!(undone.code, Some(1), "{undone:#?}");
    undone.says("conflict  main.py");
    undone.says("MINE");
    assert_eq!((there(&person), person.file("main.py").as_str()), ([false, false], "print('MINE')\n"));
    let none = person.posse(&["undo", "--agent", "nobody"]);
    assert_eq!(
        (none.code, none.stdout.as_str()),
        (Some(1), "there is no agent nobody in this session; there are: main, ann\n")
    );
    person.posse(&["sessions", "show", "last"]).says("undone: the whole session");
}

#[test]
fn work_in_a_checkout_comes_in_by_merge() {
    let person = with_ann("worktree");
    assert_eq!((there(&person), person.file("main.py").as_str()), ([true, false], "print('hi')\n"));
    person.posse(&["diff", "--agent", "ann"]).says("+print('ANN')");
    let preview = person.posse(&["merge", "ann", "--preview"]);
    assert_eq!(preview.code, Some(0), "{preview:#?}");
    preview.says("created  ann.txt");
    preview.says("+print('ANN')");
    assert_eq!((there(&person), person.file("main.py").as_str()), ([true, false], "print('hi')\n"));
    let merged = person.posse(&["merge", "ann"]);
    assert_eq!(merged.code, Some(0), "{merged:#?}");
    merged.says("created  ann.txt");
    assert_eq!((there(&person), person.file("main.py").as_str()), ([true, true], "print('ANN')\n"));
    person.posse(&["merge", "ann"]).says("is here already");
    person.posse(&["undo"]).says("the merged work of ann");
    assert_eq!((there(&person), person.file("main.py").as_str()), ([true, false], "print('hi')\n"));
    let main = person.posse(&["merge", "main"]);
    assert_eq!(main.code, Some(1));
    main.says("main had no checkout of its own");
}

#[test]
fn hunks_and_turns_go_back() {
    let lines =
        |old: &str, new: &str| (1..=30).map(|n| format!("{n}\n")).collect::<String>().replace(old, new);
    let edit = |from: &str, to: &str| {
        Turn::call("edit_file", json!({"path": "long", "old_text": from, "new_text": to}))
    };
    let turns = [
        Turn::call("read_file", json!({"path": "long"})),
        edit("2\n3\n", "2\nthree\n"),
        edit("28\n", "last\n"),
        Turn::text("done"),
    ];
    let person = Person::with_project(turns, Fixture::new().file("long", lines("", "")));
    person.posse(&["run", "--approval", "auto", "change it"]);
    let changed = person.file("long");
    assert!(changed.contains("three\n") && changed.contains("last\n"), "{changed}");
    for (wrong, why) in
        [("long", "src/main.rs:1,3"), ("long:0", "src/main.rs:1,3"), (":1", "src/main.rs:1,3")]
    {
        let ran = person.posse(&["undo", "--hunk", wrong]);
        assert_eq!(ran.code, Some(2), "{wrong}");
        ran.says(why);
    }
    person.posse(&["undo", "--hunk", "long:7"]).says("long has no such hunk");
    let undone = person.posse(&["undo", "--hunk", "long:2"]);
    undone.says("Taken back: a part of the whole session\n  changed  long\n");
    assert_eq!(person.file("long"), changed.replace("last\n", "28\n"));
    person.posse(&["redo"]).says("brought back: a part of the whole session");
    assert_eq!(person.file("long"), changed);
    person
        .posse(&["rewind", "--turn", "3", "--preview"])
        .says("everything since turn 3 began\n  changed  long\n");
    assert_eq!(person.file("long"), changed);
    person.posse(&["rewind", "--turn", "3"]).says("Taken back: everything since turn 3 began");
    assert_eq!(person.file("long"), changed.replace("last\n", "28\n"));
    person.posse(&["rewind", "--turn", "9"]).says("there is no turn 9");
}

#[test]
fn another_folder_is_left_alone() {
    let person = with_ann("shared");
    let elsewhere = tempfile::tempdir().unwrap();
    for command in ["undo", "redo", "diff"] {
        let ran = person.command(&[command]).current_dir(elsewhere.path()).output().unwrap();
        assert_eq!(ran.status.code(), Some(2));
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(said.contains("no session was held in this project; the newest of all, "), "{said}");
    }
    assert_eq!(there(&person), [true, true]);
}

/// A model that writes a file called as the last word of what it was asked, or only answers a question.
fn writer() -> FakeModel {
    FakeModel::by_rule_blocking(|request| {
        let request = request.json();
        let messages = request["messages"].as_array().unwrap().clone();
        let asked =
            messages.iter().rev().find(|message| message["role"] == "user").unwrap()["content"].clone();
        let asked = asked.as_str().unwrap().trim();
        if asked.contains('?') || messages.last().unwrap()["role"] == "tool" {
            return Turn::text("It is so.");
        }
        writes(asked.rsplit(' ').next().unwrap(), "new\n")
    })
}

#[test]
fn last_is_of_this_project_and_never_of_a_folder_above() {
    let person = Person::with_model(writer(), Fixture::new().file("a.txt", "a\n"));
    let top = person.project.path().to_path_buf();
    let (own, plain) = (top.join("own"), top.join("plain"));
    std::fs::create_dir_all(own.join("deep")).unwrap();
    std::fs::create_dir(&plain).unwrap();
    person.project.run_git(&["init", "--quiet", "own"]);
    let at = |folder: &std::path::Path, args: &[&str]| {
        let ran = crate::posse::Ran::from(person.command(args).current_dir(folder).output().unwrap());
        (ran.code, format!("{}{}", ran.stdout, ran.stderr))
    };
    assert_eq!(at(&own, &["run", "write own"]).0, Some(0));
    assert_eq!(at(&top, &["run", "write top"]).0, Some(0));
    // The newer session above is another project's, with and without one of its own.
    let (code, said) = at(&own, &["resume", "write again"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(own.join("again").exists() && !top.join("again").exists(), "{said}");
    for command in [&["undo"][..], &["diff"], &["resume", "write more"], &["tasks"]] {
        let (code, said) = at(&plain, command);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("no session was held in this project"), "{said}");
    }
    // Below the top of the same repository it is meant, and its folder is named.
    let (code, said) = at(&own.join("deep"), &["undo", "--session"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("/own: write own") && !own.join("own").exists(), "{said}");
    assert!(top.join("top").exists());
}

#[test]
fn undo_and_diff_mean_the_newest_session_that_changed_something() {
    let person = Person::with_model(writer(), Fixture::new().file("a.txt", "a\n"));
    for prompt in ["write it", "why is that?", "is it good?"] {
        assert_eq!(person.posse(&["run", prompt]).code, Some(0));
    }
    person.posse(&["diff"]).says("+new");
    let undone = person.posse(&["undo"]);
    assert_eq!(undone.code, Some(0), "{undone:#?}");
    assert!(!person.project.path().join("it").exists());
    assert_eq!(person.posse(&["redo"]).code, Some(0));
    assert!(person.project.path().join("it").exists());
}

#[test]
fn a_diff_is_counted_cut_to_paths_and_paged_for_people() {
    let lines = (0..100).map(|n| format!("line {n}\n")).collect::<String>();
    let person = Person::new([
        Turn::call("write_file", json!({"path": "a.txt", "content": lines})),
        Turn::call("write_file", json!({"path": "src/b.txt", "content": "x\n"})),
        Turn::text("Done."),
    ]);
    person.posse(&["run", "go"]);
    let stat = person.posse(&["diff", "--stat"]).stdout;
    insta::assert_snapshot!(stat);
    let one = person.posse(&["diff", "src"]);
    assert!(
        one.stdout.starts_with("diff --git a/src/b.txt b/src/b.txt\n") && one.stdout.ends_with("\n+x\n"),
        "{one:#?}"
    );
    assert_eq!(person.posse(&["diff", "last", "src/b.txt"]).stdout, one.stdout);
    let none = person.posse(&["diff", "main.py"]);
    assert_eq!((none.code, none.stdout.as_str()), (Some(1), "Nothing was changed there.\n"));

    let pager = [("PAGER", "sed s/^/paged:/")];
    let seen = |args: &str, env: &[(&str, &str)]| {
        String::from_utf8_lossy(&in_terminal_of(80, &person, args, env)).into_owned()
    };
    let paged = seen("diff", &pager);
    assert!(paged.contains("paged:\u{1b}[32m+line 99\u{1b}[0m"), "{paged}");
    assert!(!seen("diff src", &pager).contains("paged:"), "what fits is shown at once");
    assert!(!seen("diff", &[("PAGER", "cat")]).contains("paged:"));
    assert!(!seen("diff", &[pager[0], ("TERM", "dumb")]).contains("paged:"));
    assert!(!Ran::from(person.command(&["diff"]).envs(pager).output().unwrap()).stdout.contains("paged:"));
    // A program of the workspace is not started, whatever the search path says.
    let place = person.project.path().join("sed");
    std::fs::write(&place, "#!/bin/sh\necho taken over\n").unwrap();
    std::fs::set_permissions(&place, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", person.project.path().display(), std::env::var("PATH").unwrap());
    let seen = seen("diff", &[pager[0], ("PATH", &path)]);
    assert!(seen.contains("paged:") && !seen.contains("taken over"), "{seen}");
}
