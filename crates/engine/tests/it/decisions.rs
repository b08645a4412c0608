//! What a person decides on: edits as diffs, no command that cannot be shown, and no way out of the sandbox that
//! outlives what the session writes.

use posse_engine::AnswerOutcome;
use posse_protocol::{Answer, Approval, Event, EventKind, Question};
use posse_surface::Surface;
use posse_testkit::Turn;
use serde_json::json;

use crate::approvals::{actor, answered, at_depth, in_mode, last_question, write};
use crate::crew::{REPORT, Stage};
use crate::follow::{Followed, holds, named, sh, wait};

fn edit(path: &str, old: &str, new: &str) -> Turn {
    Turn::call("edit_file", json!({"path": path, "old_text": old, "new_text": new}))
}

fn outside(command: &str) -> Turn {
    Turn::call("shell", json!({"command": command, "outside_sandbox": true}))
}

fn read(path: &str) -> Turn {
    Turn::call("read_file", json!({"path": path}))
}

#[tokio::test]
async fn edits_are_asked_about_as_diffs() {
    let cases = [
        (write("new.txt", "one\ntwo\n"), "@@ -0,0 +1,2 @@\n+one\n+two\n"),
        (write("empty.txt", ""), "an empty file is made\n"),
        (write("a.txt", "omega\n"), "@@ -1,1 +1,1 @@\n-alpha\n+omega\n"),
        (edit("a.txt", "alpha", "beta"), "@@ -1,1 +1,1 @@\n-alpha\n+beta\n"),
        (edit("a.txt", "nothing", "x"), "nothing would be changed: old_text is not in a.txt\n"),
        (edit("gone.txt", "a", "b"), "nothing would be changed: "),
        (write("../out.txt", "x"), "nothing would be changed: "),
    ];
    let mut ran_cases = 0;
    for (turn, want) in cases {
        for depth in [0, 2] {
            let turns = vec![read("a.txt"), turn.clone()];
            let stage = in_mode(at_depth(depth, turns).await, Approval::Ask);
            let ran = answered(stage.start("go"), |_| Answer::Once).await;
            let questions = ran.questions_of(&actor(depth));
            let previews = questions.iter().map(|question| question.preview.as_deref()).collect::<Vec<_>>();
            let [Some(preview)] = previews[..] else { panic!("{turn:?}: {questions:?}") };
            assert!(preview.starts_with(want), "{turn:?}: {preview}");
            ran_cases += 1;
        }
    }
    assert_eq!(ran_cases, 14);
}

#[tokio::test]
async fn edits_by_the_shell_surface_are_diffs_too() {
    let bash = |command: &str| Turn::call("bash", json!({"command": command}));
    let main = vec![
        bash("write new.txt <<'EOF'\none\nEOF"),
        bash("edit a.txt --old alpha --new omega"),
        Turn::text("Done."),
    ];
    let stage = in_mode(Stage::new([("main", main)]).await.surface(Surface::Shell), Approval::Ask);
    let ran = answered(stage.start("go"), |_| Answer::Once).await;
    let previews = ran.questions_of("main").into_iter().map(|question| question.preview.unwrap_or_default());
    let want = ["@@ -0,0 +1,1 @@\n+one\n", "@@ -1,1 +1,1 @@\n-alpha\n+omega\n"];
    assert_eq!(previews.collect::<Vec<_>>(), want, "{:?}", ran.results());
}

#[tokio::test]
async fn what_was_not_shown_is_not_written() {
    let turns = vec![edit("a.txt", "alpha", "omega"), write("new.txt", "x\n")];
    let stage = in_mode(at_depth(0, turns).await, Approval::Ask);
    let folder = stage.files.path().to_path_buf();
    // Somebody else is quicker than the answer.
    let ran = answered(stage.start("go"), |question: &Question| {
        std::fs::write(folder.join(&question.what), "alpha and more\n").unwrap();
        Answer::Once
    });
    let ran = ran.await;
    for (ok, text) in ran.results() {
        assert!(!ok && text.contains("the file has changed since the person was asked"), "{text}");
    }
    assert_eq!(ran.results().len(), 2);
    assert_eq!(stage.files.read("a.txt"), "alpha and more\n");
}

#[tokio::test]
async fn nobody_is_asked_about_a_command_with_control_characters() {
    let controls = ('\0'..='\u{9f}').filter(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    let controls = controls.collect::<Vec<_>>();
    assert_eq!(controls.len(), 63);
    // All of them in one session of each kind.
    let kinds: [(Approval, serde_json::Value); 4] = [
        (Approval::Ask, json!({})),
        (Approval::Edit, json!({"background": true})),
        (Approval::Auto, json!({"outside_sandbox": true})),
        (Approval::Auto, json!({"outside_sandbox": true, "background": true})),
    ];
    let mut denied = 0;
    for (mode, fields) in kinds {
        let mut turn = Turn::text("Look.");
        for c in &controls {
            let mut call = json!({"command": format!("touch left; echo ok{c}]0;x")});
            call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            turn = turn.and_call("shell", call);
        }
        let stage = in_mode(at_depth(0, vec![turn]).await, mode);
        let ran = answered(stage.start("go"), |question| panic!("asked about {question:?}")).await;
        for (c, (ok, text)) in controls.iter().zip(ran.results()) {
            assert!(!ok, "{c:?}: {text}");
            let named = format!("holds the control character U+{:04X}", u32::from(*c));
            holds(text, &[&named, "Write it as an escape"]);
            denied += 1;
        }
        assert_eq!(ran.results().len(), controls.len());
        assert!(!stage.files.path().join("left").exists());
    }
    assert_eq!(denied, 4 * 63);
    // Line ends and tabs are part of commands.
    let stage = in_mode(at_depth(0, vec![sh("cat a.txt\n\tcat b.txt")]).await, Approval::Ask);
    let ran = answered(stage.start("go"), |_| Answer::Once).await;
    assert_eq!(ran.questions_of("main").len(), 1);
}

/// What was asked, with the files that each question names.
fn asked(questions: &[Question]) -> Vec<(&str, Vec<&str>)> {
    let written = questions.iter().map(|question| question.written.iter().map(String::as_str).collect());
    questions.iter().map(|question| question.what.as_str()).zip(written).collect()
}

#[tokio::test]
async fn a_way_out_of_the_sandbox_ends_with_the_first_file_that_is_written() {
    let run = || outside("true ./a.txt");
    let pattern = || Answer::Pattern { pattern: "leave(true ./a.txt)".to_string() };
    let by_child = vec![Turn::call("agent", named("child", "general", "Write.")), wait()];
    let cases: [(Vec<Turn>, &[&str]); 5] = [
        (vec![write("z.txt", "x\n")], &["z.txt"]),
        (vec![edit("a.txt", "alpha", "omega")], &["a.txt"]),
        (vec![sh("echo more >> b.txt; echo new > n.txt")], &["b.txt", "n.txt"]),
        (by_child, &["c.txt"]),
        (vec![sh("cat a.txt"), read("a.txt"), write("b.txt", "beta\n")], &[]),
    ];
    let mut ran_cases = 0;
    for answer in [Answer::Session, pattern()] {
        for (turns, files) in &cases {
            let begin = vec![read("a.txt"), read("b.txt"), run(), run()];
            let main = [begin, turns.clone(), vec![run(), run(), Turn::text("Done.")]].concat();
            let child = vec![write("c.txt", "x\n"), Turn::text(REPORT)];
            let mut stage = Stage::new([("main", main), ("child", child)]).await;
            stage.files = stage.files.git();
            let stage = in_mode(stage, Approval::Auto);
            let ran = answered(stage.start("go"), |_| answer.clone()).await;
            let questions = ran.questions_of("main");
            let mut want = vec![("true ./a.txt", Vec::new())];
            if !files.is_empty() {
                want.push(("true ./a.txt", files.to_vec()));
            }
            assert_eq!(asked(&questions), want, "{turns:?}: {:?}", ran.results());
            assert!(questions.iter().all(|question| question.leaves));
            ran_cases += 1;
        }
    }
    assert_eq!(ran_cases, 10);
}

/// Writes that no look at the workspace finds, or that nobody can be shown to have made: each ends what an answer let out.
#[tokio::test]
async fn a_way_out_ends_with_writes_that_no_look_finds() {
    let run = || outside("true ./a.txt");
    let background = |command: &str| {
        let start = Turn::call("shell", json!({"command": command, "background": true}));
        vec![start, Turn::call("jobs", json!({"name": "cmd-1", "wait_ms": 60_000}))]
    };
    let plant = "mkdir out/bin; echo evil > out/bin/jest";
    let by_child = vec![Turn::call("agent", named("child", "general", "Plant.")), wait()];
    let cases: [(&str, Vec<Turn>, &[&str]); 8] = [
        ("an ignored folder", vec![sh(plant)], &["out/bin", "out/bin/jest"]),
        ("its permissions", vec![sh("chmod +x out/old")], &["out/old"]),
        ("a link", vec![sh("ln -s ../a.txt out/link")], &["out/link"]),
        ("a removal", vec![sh("rm out/old")], &["out/old"]),
        ("a rename", vec![sh("mv out/old out/new")], &["out/new", "out/old"]),
        ("in the background", background(plant), &["out/bin", "out/bin/jest"]),
        ("by a sub-agent", by_child, &["out/bin", "out/bin/jest"]),
        // So git looks: the lock is gone again, and no file that anybody runs.
        ("nothing", vec![sh(": > .git/index.lock; cat out/old; rm .git/index.lock")], &[]),
    ];
    let mut ran_cases = 0;
    for (what, turns, files) in cases {
        let main = [vec![run(), run()], turns, vec![run(), Turn::text("Done.")]].concat();
        let child = vec![sh(plant), Turn::text(REPORT)];
        let mut stage = Stage::new([("main", main), ("child", child)]).await;
        stage.files = stage.files.file(".gitignore", "/out/\n").git().file("out/old", "x\n");
        let stage = in_mode(stage, Approval::Auto);
        let ran = answered(stage.start("go"), |_| Answer::Session).await;
        let mut questions = ran.questions_of("main");
        questions.retain(|question| question.leaves);
        let mut named = questions.last().map(|question| question.written.clone()).unwrap_or_default();
        named.sort();
        // One that has just ended is told of as running, until what it wrote is known.
        let told = questions.last().is_some_and(|question| question.writing.iter().any(|it| it == plant));
        assert!(named == files || (told && named.is_empty()), "{what}: {questions:?}");
        assert_eq!(questions.len(), if files.is_empty() { 1 } else { 2 }, "{what}: {:?}", ran.results());
        ran_cases += 1;
    }
    assert_eq!(ran_cases, 8);
}

#[tokio::test]
async fn a_way_out_ends_with_what_changed_while_a_command_ran() {
    let run = || outside("true ./a.txt");
    let stage = Stage::new([("main", vec![run(), sh("cat held"), run(), Turn::text("Done.")])]).await;
    let stage = in_mode(stage, Approval::Auto);
    let (held, theirs) = (stage.files.path().join("held"), stage.files.path().join("theirs.txt"));
    let made = std::process::Command::new("mkfifo").arg(&held).status().unwrap();
    assert!(made.success());
    // It opens once the command reads.
    let somebody = std::thread::spawn(move || {
        let _held = std::fs::File::options().write(true).open(held).unwrap();
        std::fs::write(theirs, "x\n").unwrap();
    });
    let ran = answered(stage.start("go"), |_| Answer::Session).await;
    somebody.join().unwrap();
    let questions = ran.questions_of("main");
    assert_eq!(
        asked(&questions),
        [("true ./a.txt", vec![]), ("true ./a.txt", vec!["theirs.txt"])],
        "{:?}",
        ran.results()
    );
}

/// A reply can hold both: what is written, and what would run it.
#[tokio::test]
async fn a_way_out_ends_within_one_reply() {
    let run = || outside("true ./a.txt");
    let and_run =
        |turn: Turn| turn.and_call("shell", json!({"command": "true ./a.txt", "outside_sandbox": true}));
    let cases = [and_run(write("z.txt", "x\n")), and_run(sh("echo x > out/z"))];
    let mut ran_cases = 0;
    for both in cases {
        let stage = Stage::new([("main", vec![run(), both.clone(), Turn::text("Done.")])]).await;
        std::fs::create_dir(stage.files.path().join("out")).unwrap();
        let stage = in_mode(stage, Approval::Auto);
        let ran = answered(stage.start("go"), |_| Answer::Session).await;
        let questions = ran.questions_of("main");
        assert_eq!(questions.len(), 2, "{both:?}: {:?}", ran.results());
        assert_eq!(questions[1].written.len(), 1, "{:?}", questions[1]);
        ran_cases += 1;
    }
    assert_eq!(ran_cases, 2);
}

/// Whoever answers has seen the files that the question names, and no others.
#[tokio::test]
async fn an_answer_lets_nothing_out_for_longer_if_something_was_written_since_the_question() {
    let run = || outside("true ./a.txt");
    let main = vec![
        Turn::call("agent", named("child", "general", "Write."))
            .and_call("shell", json!({"command": "true ./a.txt", "outside_sandbox": true})),
        wait(),
        run(),
        Turn::text("Done."),
    ];
    let child = vec![write("c.txt", "x\n"), Turn::text(REPORT)];
    let stage = in_mode(Stage::new([("main", main), ("child", child)]).await, Approval::Auto);
    let mut followed = Followed::new(stage.start("go"));
    let (main, question) = last_question(&mut followed, 1).await;
    assert_eq!(question.written, [""; 0]);
    let settled = |event: &Event| matches!(event.kind, EventKind::AgentSettled { .. });
    followed.until(1, |event| event.parent.is_some() && settled(event)).await;
    assert_eq!(followed.session.answer(main, &question.call, Answer::Session), AnswerOutcome::Accepted);
    let (main, question) = last_question(&mut followed, 2).await;
    assert_eq!(question.written, ["c.txt"]);
    assert_eq!(followed.session.answer(main, &question.call, Answer::Once), AnswerOutcome::Accepted);
    assert!(followed.finish().await.results_of("main").iter().all(|(ok, _)| *ok));
}

#[tokio::test]
async fn of_many_files_those_that_would_run_are_named_first_and_the_others_counted() {
    let turns = vec![
        sh(
            "echo > run.sh; echo > jest; chmod +x jest; ln -s jest link; for n in 1 2 3 4 5 6; do echo > f$n; done",
        ),
        write("last.txt", "x\n"),
        outside("sh ./run.sh"),
        sh("true"),
    ];
    let mut stage = at_depth(0, turns).await;
    stage.files = stage.files.git();
    let stage = in_mode(stage, Approval::Auto);
    let ran = answered(stage.start("go"), |_| Answer::Once).await;
    let [question] = &ran.questions_of("main")[..] else { panic!("{:?}", ran.results()) };
    assert_eq!(question.written, ["run.sh", "jest", "link", "last.txt", "f1"]);
    assert_eq!(question.written_more, 5);
}

#[tokio::test]
async fn no_answer_lets_anything_out_while_something_runs_that_can_write() {
    let run = || outside("true ./a.txt");
    let loops = "until [ -e stop ]; do sleep 0.05; done";
    let background = Turn::call("shell", json!({"command": loops, "background": true}));
    let by_child = Turn::call("agent", named("child", "general", "Wait."));
    let cases = [vec![background], vec![by_child, sh("until [ -e begun ]; do sleep 0.05; done")]];
    let mut ran_cases = 0;
    for start in cases {
        let main = [vec![run()], start, vec![run(), Turn::text("Done.")]].concat();
        let child = vec![sh(&format!("touch begun; {loops}")), Turn::text(REPORT)];
        let stage = in_mode(Stage::new([("main", main), ("child", child)]).await, Approval::Auto);
        let folder = stage.files.path().to_path_buf();
        let mut asked = 0;
        let ran = answered(stage.start("go"), |question: &Question| {
            asked += 1;
            if asked == 2 {
                assert!(question.writing.iter().any(|what| what.contains("-e stop")), "{question:?}");
                std::fs::write(folder.join("stop"), "").unwrap();
            }
            Answer::Session
        });
        let ran = ran.await;
        assert_eq!(asked, 2, "{:?}", ran.results());
        ran_cases += 1;
    }
    assert_eq!(ran_cases, 2);
}
