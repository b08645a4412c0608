//! Questions in a real terminal of 24 rows and 80 columns: what is in sight, what counts as an answer, and that nothing
//! that was typed before does.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use posse_testkit::{FakeModel, Fixture, Turn, attacks};
use serde_json::json;

use crate::posse::{Person, eventually};

const HEADING: &str = "main wants to run this outside the sandbox, with all your rights:";

/// A program in a terminal that somebody sits at.
struct Seat {
    child: Child,
    keys: ChildStdin,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Seat {
    /// Runs a line of shell in which `posse` is the program.
    fn run(person: &Person, line: &str) -> Self {
        let line = line.replace("posse ", &format!("{} ", env!("CARGO_BIN_EXE_posse")));
        let template = person.command(&[]);
        let mut command = Command::new("script");
        command
            .args(["-qefc", &format!("stty cols 80 rows 24 -echo; {line}"), "/dev/null"])
            .current_dir(person.project.path())
            .env_clear()
            .envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .envs([("TERM", "xterm"), ("NO_COLOR", "1")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let also = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut bytes = [0; 65_536];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                also.lock().unwrap().extend_from_slice(&bytes[..count]);
            }
        });
        Self { child, keys, seen }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    /// Waits until something has been written so many times.
    fn until(&self, part: &str, times: usize) {
        eventually(&format!("{part:?} {times} times"), || self.text().matches(part).count() >= times);
    }

    fn keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }

    /// What is in sight now.
    fn screen(&self) -> String {
        let mut parser = vt100::Parser::new(24.try_into().unwrap(), 80.try_into().unwrap(), 0);
        parser.process(&self.seen.lock().unwrap());
        parser.screen().contents()
    }

    fn end(mut self) -> String {
        self.child.wait().unwrap();
        drop(self.keys);
        let text = || String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned();
        eventually("its last words", || {
            text().contains("posse sessions show") || text().contains("Nothing was")
        });
        text()
    }
}

fn outside(command: &str) -> Turn {
    Turn::call("shell", json!({"command": command, "outside_sandbox": true}))
}

/// A person whose model asks for this once it is let go on.
fn held(turn: Turn) -> (Person, Arc<AtomicBool>) {
    let go_on = Arc::new(AtomicBool::new(false));
    let held = Arc::clone(&go_on);
    let model = FakeModel::by_rule_blocking(move |request| {
        if request.json()["messages"].as_array().map_or(0, Vec::len) > 2 {
            return Turn::text("Done.");
        }
        eventually("the typing", || held.load(Ordering::Relaxed));
        turn.clone()
    });
    (Person::with_model(model, Fixture::new().file("sub/main.py", "")), go_on)
}

#[test]
fn ctrl_c_leaves_no_line_of_the_block_behind() {
    let command = format!("touch began; sleep 60; true {}", "x".repeat(200));
    let person = Person::new([Turn::call("shell", json!({"command": command}))]);
    // The terminal writes ^C where the cursor is, as it does for people.
    let mut seat = Seat::run(&person, "stty echo echoctl; posse run go");
    eventually("the command", || person.project.path().join("began").exists());
    seat.until("shell touch began", 1);
    seat.keys("\u{3}");
    eventually("its end", || seat.text().contains("posse sessions show"));
    let screen = seat.screen();
    assert!(seat.text().contains("^C") && screen.contains("■ stopped"), "{screen}");
    assert!(!screen.contains("turn 1/") && !screen.contains(['⠋', '⠙', '⠹', '⠸', '⠼']), "{screen}");
    let told = screen.lines().filter(|line| line.contains("shell touch began"));
    assert!(told.count() <= 1, "{screen}");
    seat.end();
}

#[test]
fn what_was_typed_before_a_question_does_not_answer_it() {
    let turns = [
        ("run -C sub go", outside("touch ../left")),
        ("run -C sub --approval ask go", Turn::call("shell", json!({"command": "touch left"}))),
        ("run -C sub --approval ask go", Turn::call("write_file", json!({"path": "left", "content": "x"}))),
    ];
    let early = attacks::typed();
    // All of them for the gravest question, and some of each kind for the others.
    let some = ["word", "letter", "letters", "no-line-end", "no-line-end-letter"];
    let mut cases = 0;
    for (number, (args, turn)) in turns.into_iter().enumerate() {
        for (_, keys) in early.iter().filter(|(name, _)| number == 0 || some.contains(name)) {
            let (person, go_on) = held(turn.clone());
            let mut seat = Seat::run(&person, &format!("exec posse {args}"));
            seat.until("model: fake", 1);
            seat.keys(keys);
            // It has to be in the terminal's hands before the question comes: then a turn of the spinner follows it.
            std::thread::sleep(std::time::Duration::from_millis(100));
            go_on.store(true, Ordering::Relaxed);
            seat.until("\n> ", 1);
            // Half a line that was typed before must not be completed by this.
            seat.keys("\n");
            seat.until("\n> ", 2);
            seat.keys("n not now\n");
            let said = seat.end();
            assert!(said.contains("you said no: not now"), "{keys:?} {args}: {said}");
            let left = ["left", "sub/left"].map(|name| person.project.path().join(name).exists());
            assert_eq!(left, [false, false], "{keys:?} {args}: {said}");
            cases += 1;
        }
    }
    assert_eq!(cases, 16 + 5 + 5);
}

#[test]
fn what_was_typed_before_does_not_trust() {
    let agent = "---\nname: odd\ndescription: Odd.\npermissionMode: bypassPermissions\n---\nOdd.\n";
    let project = Fixture::new().file(".posse/agents/odd.md", agent).git();
    let person = Person::with_project([], project);
    let mut seat = Seat::run(&person, "echo ready; until [ -e typed ]; do sleep 0.1; done; exec posse trust");
    seat.until("ready", 1);
    seat.keys("y\ny\n");
    std::thread::sleep(std::time::Duration::from_millis(100));
    std::fs::write(person.project.path().join("typed"), "").unwrap();
    seat.until("[y/N] ", 1);
    seat.keys("\n");
    let said = seat.end();
    assert!(said.contains("Nothing was changed.") && !said.contains("Trusted."), "{said}");
}

#[test]
fn leaving_the_sandbox_takes_the_word() {
    let (person, go_on) = held(outside("touch ../left"));
    go_on.store(true, Ordering::Relaxed);
    let mut seat = Seat::run(&person, "exec posse run -C sub go");
    let letters = ["y", "yes", "s", "p", "o", "once", "out"];
    for (asked, letter) in letters.iter().enumerate() {
        seat.until("\n> ", asked + 1);
        let screen = seat.screen();
        assert!(screen.contains(HEADING) && screen.contains("outside session"), "{screen}");
        seat.keys(&format!("{letter}\n"));
    }
    seat.until("\n> ", letters.len() + 1);
    assert!(!person.project.path().join("left").exists());
    seat.keys("outside\n");
    let said = seat.end();
    assert!(person.project.path().join("left").exists(), "{said}");
}

#[test]
fn a_question_fits_the_terminal_and_one_key_shows_the_rest() {
    let many = (1..=5_000).map(|n| format!("echo line {n}\n")).collect::<String>();
    let commands = [
        ("true".to_string(), false),
        (format!("echo begin\n{many}echo the-end"), true),
        (format!("echo begin; : {}; echo the-end", "x".repeat(100_000)), true),
        (format!("echo begin; : {}; echo the-end", "日本語😀".repeat(2_000)), true),
    ];
    let mut cases = 0;
    for (command, long) in commands {
        let (person, go_on) = held(outside(&command));
        go_on.store(true, Ordering::Relaxed);
        let mut seat = Seat::run(&person, "exec posse run -C sub go");
        seat.until("\n> ", 1);
        let screen = seat.screen();
        let rows = screen.lines().collect::<Vec<_>>();
        let heading = rows.iter().position(|row| row.contains(HEADING)).expect(&screen);
        assert!(rows[heading + 1].starts_with("  outside "), "{screen}");
        assert!(rows.last().is_some_and(|row| row.starts_with('>')), "{screen}");
        if long {
            assert!(screen.contains("echo begin") && screen.contains("the-end"), "{screen}");
            assert!(screen.contains("more rows of") && screen.contains("Enter shows them"), "{screen}");
            for page in 1..=3 {
                seat.keys("\n");
                seat.until("\n> ", page + 1);
                let screen = seat.screen();
                assert!(screen.contains(&format!("page {page} of")) && screen.contains(HEADING), "{screen}");
            }
        }
        seat.keys("n\n");
        seat.end();
        cases += 1;
    }
    assert_eq!(cases, 4);
}

#[test]
fn an_edit_is_in_sight_before_it_is_made() {
    let edit = json!({"path": "main.py", "old_text": "hi", "new_text": "bye\u{1b}]0;x\u{7}"});
    let person = Person::new([Turn::call("edit_file", edit), Turn::text("Done.")]);
    let mut seat = Seat::run(&person, "exec posse run --approval ask go");
    seat.until("\n> ", 1);
    let screen = seat.screen();
    for part in ["-print('hi')", "+print('bye\\u{1b}]0;x\\u{7}')", "wants to use edit_file", "y  yes, once"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    assert_eq!(person.file("main.py"), "print('hi')\n");
    seat.keys("y\n");
    seat.end();
    assert_eq!(person.file("main.py"), "print('bye\u{1b}]0;x\u{7}')\n");
}
