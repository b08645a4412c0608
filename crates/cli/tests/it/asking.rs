//! Questions in a real terminal, what happens where nobody is there, and the ways out of the sandbox.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};

use posse_testkit::{Fixture, Turn};
use serde_json::json;

use crate::posse::{Person, eventually};

fn outside(command: &str) -> Turn {
    Turn::call("shell", json!({"command": command, "outside_sandbox": true}))
}

/// Runs it in a terminal and types a line whenever this many questions have been asked.
fn answering(person: &Person, args: &str, lines: &[&str]) -> String {
    let posse = env!("CARGO_BIN_EXE_posse");
    let template = person.command(&[]);
    let mut command = Command::new("script");
    command
        .args(["-qefc", &format!("stty cols 100 rows 40 -echo; exec {posse} {args}"), "/dev/null"])
        .current_dir(person.project.path())
        .env_clear()
        .envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .envs([("TERM", "xterm"), ("NO_COLOR", "1")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (mut typing, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let seen = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let also = std::sync::Arc::clone(&seen);
    let reading = std::thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = screen.read(&mut bytes) {
            also.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    });
    for (number, line) in lines.iter().enumerate() {
        eventually("a question", || seen.lock().unwrap().matches("\n> ").count() > number);
        writeln!(typing, "{line}").unwrap();
    }
    child.wait().unwrap();
    drop(typing);
    reading.join().unwrap();
    seen.lock().unwrap().clone()
}

#[test]
fn a_person_is_asked_and_every_answer_counts() {
    let turns = vec![
        outside("echo one > ../one"),
        outside("echo one > ../one"),
        outside("echo two > ../two"),
        outside("echo three > ../three"),
        outside("echo four > ../four"),
        Turn::text("Done."),
    ];
    let person = Person::with_project(turns, Fixture::new().file("sub/main.py", ""));
    // What is no answer asks again; no is no, also the second time; a pattern is this command only; then all.
    let lines = ["what?", "n not there", "outside pattern", "outside session"];
    let said = answering(&person, "run -C sub go", &lines);
    assert_eq!(
        said.matches("wants to run this outside the sandbox, with all your rights").count(),
        4,
        "{said}"
    );
    assert!(said.contains("echo one > ../one") && said.contains("type the whole word outside"), "{said}");
    let there = ["one", "two", "three", "four"].map(|name| person.project.path().join(name).exists());
    assert_eq!(there, [false, true, true, true], "{said}");
    assert!(said.contains("denied   main: shell echo one > ../one (you said no: not there)"), "{said}");
}

#[test]
fn a_question_in_words_is_answered_in_words() {
    let ask = |question: &str| {
        Turn::call("ask_person", json!({"question": question, "choices": ["the old one", "the new one"]}))
    };
    let turns = [ask("Which base?"), ask("And which table?"), ask("Sure?"), Turn::text("Done.")];
    let person = Person::new(turns);
    let said = answering(&person, "run go", &["", "2", "none, ask Ann", "/decline no time"]);
    assert_eq!(said.matches("main asks you:").count(), 4, "{said}");
    assert!(said.contains("1  the old one") && said.contains("type your answer, or /decline"), "{said}");
    let request = person.model.requests()[3].json();
    let results = request["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool");
    let results = results.map(|message| message["content"].as_str().unwrap()).collect::<Vec<_>>();
    let declined = "The person does not answer this. Decide, and say so in your report. They say: no time";
    assert_eq!(results, ["the new one", "none, ask Ann", declined]);
    let shown = person.posse(&["sessions", "show", "last"]);
    for line in ["asks: Which base?", "you: the new one", "you: none, ask Ann", "you: (no answer) no time"] {
        assert!(shown.stdout.contains(line), "{line}: {}", shown.stdout);
    }
}

#[test]
fn a_question_in_words_does_not_wait_for_a_pipe() {
    let ask = || Turn::call("ask_person", json!({"question": "Which base?"}));
    let person = Person::new([ask(), Turn::text("I took the old one.")]);
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.says("[main] asks, and nobody is here to answer: Which base?");
    let told = person.model.requests()[1].json().to_string();
    assert!(told.contains("Nobody is here: decide, and say so in your report."), "{told}");
    let person = Person::new([ask(), Turn::text("I took the old one.")]);
    let ran = person.posse(&["run", "--json", "go"]);
    let kinds = ran.stdout.lines().filter(|line| line.contains("\"person_"));
    let expected = ["\"asks\":{}", "\"answer\":\"nobody\""];
    let kinds = kinds.collect::<Vec<_>>();
    assert_eq!(kinds.len(), 2, "{ran:#?}");
    assert!(kinds.iter().zip(expected).all(|(line, part)| line.contains(part)), "{kinds:#?}");
}

#[test]
fn where_nobody_is_there_it_is_denied_and_said() {
    let person = Person::new([outside("touch ../left"), Turn::text("I could not.")]);
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.says("[main] denied, because nobody can be asked: shell touch ../left");
    ran.says("denied   main: shell touch ../left");
    let told = person.model.requests()[1].json().to_string();
    assert!(told.contains("Not allowed: in mode auto, leaving the sandbox asks first"), "{told}");
    assert!(!person.project.path().join("../left").exists());
}

#[test]
fn modes_and_rules_hold_for_the_real_program() {
    let write = || Turn::call("write_file", json!({"path": "new.txt", "content": "x"}));
    let run = |command: &str| Turn::call("shell", json!({"command": command}));
    let touch = || run("touch new.txt");
    let deny = "[approval]\ndeny = [\"shell(touch *)\", \"write_file\"]\n";
    let cases: [(&str, &str, Turn, bool); 12] = [
        ("plan", "", write(), false),
        ("plan", "", touch(), false),
        ("ask", "", write(), false),
        ("ask", "", touch(), false),
        ("edit", "", write(), true),
        ("edit", "", touch(), false),
        ("auto", "", touch(), true),
        ("auto", deny, run("true && touch new.txt"), false),
        ("full", deny, write(), false),
        ("full", "", outside("touch new.txt"), true),
        ("edit", "[approval]\nallow = [\"shell(touch new.txt)\"]\n", touch(), true),
        ("auto", "[rights]\nwrite_roots = [\"src\"]\n", touch(), false),
    ];
    let mut ran = 0;
    for (mode, settings, turn, written) in cases {
        let person = Person::new([turn.clone(), Turn::text("done")]);
        person.configure_more(settings);
        let out = person.posse(&["run", "--approval", mode, "go"]);
        assert_eq!(out.code, Some(0), "{out:#?}");
        let there = person.project.path().join("new.txt").exists();
        assert_eq!(there, written, "{mode} {settings} {turn:?}: {out:#?}");
        ran += 1;
    }
    assert_eq!(ran, 12);
}

#[test]
fn no_link_and_no_spelling_leads_round_a_rule() {
    let edit =
        |path: &str| Turn::call("edit_file", json!({"path": path, "old_text": "old", "new_text": "NEW"}));
    let cases = [
        "secret.txt",
        "./secret.txt",
        "link.txt",
        "{root}/secret.txt",
        "{root}/link.txt",
        "sub/../secret.txt",
    ];
    let mut ran = 0;
    for path in cases {
        let project = Fixture::new().file("secret.txt", "old\n").file("sub/x", "");
        std::os::unix::fs::symlink("secret.txt", project.path().join("link.txt")).unwrap();
        let path = path.replace("{root}", &project.path().display().to_string());
        let read = Turn::call("read_file", json!({"path": path, "start_line": 1}));
        let person = Person::with_project([edit(&path), read, Turn::text("done")], project);
        person.configure_more("[approval]\ndeny = [\"edit_file(secret.txt)\", \"read_file(secret.txt)\"]\n");
        let out = person.posse(&["run", "--approval", "full", "go"]);
        assert_eq!(person.file("secret.txt"), "old\n", "{path}: {out:#?}");
        let told = person.model.requests()[2].json().to_string();
        assert!(!told.contains("1\\told"), "{path}: {told}");
        ran += 1;
    }
    assert_eq!(ran, 6);
}

#[test]
fn without_the_sandbox_commands_run_plainly_and_that_is_on_record() {
    let person = Person::with_project(
        [Turn::call("shell", json!({"command": "touch ../left"})), Turn::text("done")],
        Fixture::new().file("sub/main.py", ""),
    );
    let ran = person.posse(&["run", "-C", "sub", "--no-sandbox", "--json", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.says("--no-sandbox: commands run with all your rights");
    assert!(person.project.path().join("left").exists());
    assert_eq!(ran.events()[0]["sandboxed"], json!(false));
}

#[test]
fn trust_shows_the_roles_that_a_session_has() {
    // Called as one of the team, which is not part of a usual session.
    let file = "---\nname: reviewer-two\ndescription: Reviews.\n---\nReview.\n";
    let team = "---\nname: coder\ndescription: Codes.\n---\nCode.\n";
    let project =
        Fixture::new().file(".claude/agents/coder.md", team).file(".claude/agents/two.md", file).git();
    let report = "SUMMARY: I looked at it.\nCHANGES: None.\nEVIDENCE: None.\nRISKS: None.\nBLOCKERS: None.";
    let start = |role: &str| {
        Turn::call("agent", json!({"role": role, "prompt": "Look.", "name": role, "background": false}))
    };
    let script = || {
        [start("coder"), Turn::text(report), start("reviewer-two"), Turn::text(report), Turn::text("done")]
    };
    let person = Person::with_project(script(), project);
    let shown = person.posse(&["trust"]);
    let roles = ["coder", "reviewer-two"];
    for role in roles {
        shown.says(&format!("agents of the role {role:?} may change files, run commands in the sandbox"));
    }
    // A session has those very roles, before and after.
    for trusted in [false, true] {
        if trusted {
            person.posse(&["trust", "--yes"]).says("Trusted.");
            script().into_iter().for_each(|turn| person.model.push(turn));
        }
        let ran = person.posse(&["run", "go"]);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        let agents = person.posse(&["tasks", "--json"]).events();
        for role in roles {
            let agent = agents.iter().find(|agent| agent["name"] == role).expect(role);
            assert_eq!((&agent["role"], &agent["status"]), (&json!(role), &json!("completed")), "{agent}");
        }
        let main = person.model.requests().iter().rev().nth(4).unwrap().json();
        let tool = main["tools"].as_array().unwrap().iter().find(|tool| tool["function"]["name"] == "agent");
        assert!(roles.iter().all(|role| tool.unwrap().to_string().contains(role)), "{tool:?}");
    }
}

#[test]
fn an_agent_file_of_the_project_only_asks_until_it_is_trusted() {
    let file = "---\nname: writer\ndescription: Writes.\npermissionMode: bypassPermissions\ndisallowedTools: []\n---\nWrite.\n";
    let start =
        json!({"action": "start", "name": "ann", "role": "writer", "prompt": "Do it.", "background": false});
    let script = || {
        [
            Turn::call("agent", start.clone()),
            Turn::call("write_file", json!({"path": "new.txt", "content": "x"})),
            Turn::text("SUMMARY: I wrote the file, or I was not allowed to.\nBLOCKERS: None."),
            Turn::text("done"),
        ]
    };
    let project = Fixture::new().file(".posse/agents/writer.md", file).file("main.py", "").git();
    let person = Person::with_project(script(), project);
    let ran = person.posse(&["run", "go"]);
    ran.says("denied   ann: write_file new.txt (in mode ask, changing a file asks first");
    ran.says("writer.md, which you have not trusted (posse trust), and nobody is there to ask");
    assert!(!person.project.path().join("new.txt").exists());
    person.posse(&["trust"]).says("agents of the role \"writer\" may change files");
    person.posse(&["trust", "--yes"]).says("Trusted.");
    script().into_iter().for_each(|turn| person.model.push(turn));
    let ran = person.posse(&["run", "go"]);
    assert!(person.project.path().join("new.txt").exists(), "{ran:#?}");
    // Another content is another file.
    std::fs::remove_file(person.project.path().join("new.txt")).unwrap();
    std::fs::write(person.project.path().join(".posse/agents/writer.md"), format!("{file}More.\n")).unwrap();
    script().into_iter().for_each(|turn| person.model.push(turn));
    person.posse(&["run", "go"]);
    assert!(!person.project.path().join("new.txt").exists());
}
