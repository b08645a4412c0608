//! Steering a session from other terminals: two real processes, one record.

use std::io::{Read as _, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use posse_testkit::{FakeModel, Fixture, Turn, asker};
use serde_json::{Value, json};

use crate::background::Background;
use crate::posse::{Person, Ran, eventually, signal};

fn outside(command: &str) -> Turn {
    Turn::call("shell", json!({"command": command, "outside_sandbox": true}))
}

/// A terminal in which `posse` runs.
struct Screen {
    child: Child,
    typing: ChildStdin,
    seen: Arc<Mutex<String>>,
}

impl Screen {
    fn open(person: &Person, args: &str) -> Self {
        let posse = env!("CARGO_BIN_EXE_posse");
        let template = person.command(&[]);
        let line = format!("stty cols 100 rows 40 -echo; exec {posse} {args}");
        let mut child = Command::new("script")
            .args(["-qefc", &line, "/dev/null"])
            .current_dir(person.project.path())
            .env_clear()
            .envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .envs([("TERM", "xterm"), ("NO_COLOR", "1")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (typing, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let seen = Arc::new(Mutex::new(String::new()));
        let also = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                also.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { child, typing, seen }
    }

    fn text(&self) -> String {
        self.seen.lock().unwrap().clone()
    }

    fn shows(&self, what: &str) {
        let shown = || self.text().contains(what);
        let since = std::time::Instant::now();
        while !shown() {
            assert!(since.elapsed().as_secs() < 30, "{what:?} is not in {}", self.text());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    fn types(&mut self, line: &str) {
        self.typing.write_all(line.as_bytes()).unwrap();
    }

    fn ends(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The numbers of the questions that are open.
fn questions(background: &Background<'_>) -> Vec<Value> {
    background.posse(&["answer", "ID", "--json"]).events()
}

#[test]
fn a_resting_session_is_told_and_answers_and_everybody_who_follows_sees_it() {
    let person = Person::new([Turn::text("First answer."), Turn::text("Second answer.")]);
    let background = Background::start(&person, &[]);
    background.until("resting");
    let plain = person.spawn(&["attach"]);
    let json = person.spawn(&["attach", &background.id, "--json"]);
    let told = background.posse(&["tell", "last", "and then?"]);
    assert_eq!(
        (told.code, told.stdout.as_str()),
        (Some(0), "message 1 is on its way to main\n"),
        "{told:#?}"
    );
    eventually("the second answer", || person.model.requests().len() == 2);
    background.until("resting");
    let stopped = background.posse(&["stop", "ID"]);
    assert_eq!(stopped.code, Some(0), "{stopped:#?}");
    let plain = Ran::from(plain.wait_with_output().unwrap());
    assert_eq!(
        (plain.code, plain.stdout.as_str()),
        (Some(0), "First answer.\nSecond answer.\n"),
        "{plain:#?}"
    );
    plain.says("you: and then?");
    let whole = background.posse(&["sessions", "show", "ID", "--json"]);
    let json = Ran::from(json.wait_with_output().unwrap());
    assert_eq!(json.stdout, whole.stdout, "the whole record, and nothing else");
    background.until_gone();
}

#[test]
fn words_for_a_busy_agent_are_changed_taken_back_queued_and_interrupt() {
    let go_on = Arc::new(AtomicBool::new(false));
    let person = Person::new([
        Turn::call("read_file", json!({"path": "main.py"})).after(&go_on),
        Turn::text("First."),
        Turn::text("Second."),
    ]);
    let background = Background::start(&person, &[]);
    eventually("a request", || person.model.requests().len() == 1);
    let steps: [(&[&str], &str); 6] = [
        (&["tell", "ID", "one"], "message 1 is on its way to main\n"),
        (&["tell", "ID", "main", "two"], "message 2 is on its way to main\n"),
        (&["tell", "ID", "--queue", "later"], "message 3 is on its way to main\n"),
        (&["tell", "ID", "--edit", "1", "ONE"], "message 1 is changed\n"),
        (&["tell", "ID", "--withdraw", "2"], "message 2 is taken back\n"),
        (&["tell", "ID", "--edit", "3", "LATER"], "message 3 is changed\n"),
    ];
    for (args, expected) in steps {
        let ran = background.posse(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), expected), "{args:?}: {ran:#?}");
    }
    go_on.store(true, Ordering::Relaxed);
    eventually("the prompt that waited", || person.model.requests().len() == 3);
    let sent = person.model.requests().iter().map(|request| request.json().to_string()).collect::<Vec<_>>();
    assert!(sent[1].contains("ONE") && !sent[1].contains("two") && !sent[1].contains("LATER"), "{}", sent[1]);
    assert!(sent[2].contains("LATER"), "{}", sent[2]);
    background.until("resting");
    let late = background.posse(&["tell", "ID", "--withdraw", "3"]);
    assert_eq!(late.code, Some(1), "{late:#?}");
    late.says("No message 3 waits to be delivered.");
    // At once: the turn that hangs is given up.
    person.model.push(Turn::text("never").after(&Arc::new(AtomicBool::new(false))));
    person.model.push(Turn::text("Heard."));
    background.posse(&["tell", "ID", "hang"]);
    eventually("a turn that hangs", || person.model.requests().len() == 4);
    background.posse(&["tell", "ID", "--now", "stop that"]);
    eventually("a turn that heard it", || person.model.requests().len() == 5);
    assert!(person.model.requests()[4].json().to_string().contains("stop that"));
    background.until("resting");
}

#[test]
fn a_turn_an_agent_or_the_session_is_stopped() {
    let hang = Arc::new(AtomicBool::new(false));
    let hangs = Arc::clone(&hang);
    let model = FakeModel::by_rule_blocking(move |request| {
        let request = request.json();
        let first = request["messages"].as_array().unwrap().iter().all(|one| one["role"] != "assistant");
        match (asker(&request).as_str(), first) {
            ("main", true) => Turn::call(
                "agent",
                json!({"description": "a part", "prompt": "do it", "name": "ann", "type": "general"}),
            ),
            ("main", false) => Turn::text("All is done."),
            _ => Turn::text("never").after(&hangs),
        }
    });
    let person = Person::with_model(model, Fixture::new().file("main.py", ""));
    let background = Background::start(&person, &["--surface", "task"]);
    let following = person.spawn(&["tasks", "--follow", &background.id]);
    eventually("ann", || background.posse(&["tasks", "ID"]).stdout.contains("ann"));
    eventually("ann at work", || person.model.requests().len() >= 2);
    let nobody = background.posse(&["stop", "ID", "bob"]);
    assert_eq!(nobody.code, Some(1), "{nobody:#?}");
    nobody.says("No agent called bob is at work in this session.");
    let stopped = background.posse(&["stop", "ID", "ann"]);
    assert_eq!((stopped.code, stopped.stdout.as_str()), (Some(0), "ann is stopped\n"), "{stopped:#?}");
    background.until("resting");
    let turn = background.posse(&["stop", "ID", "--turn"]);
    assert_eq!(turn.code, Some(0), "{turn:#?}");
    assert_eq!(background.status(), "resting", "the session stays");
    assert_eq!(background.posse(&["stop", "ID"]).code, Some(0));
    let followed = Ran::from(following.wait_with_output().unwrap());
    let lines = followed.stdout.lines().collect::<Vec<_>>();
    let names = |name: &str| lines.iter().filter(|line| line.starts_with(name)).count();
    assert!(names("ann  running") == 1 && names("ann  stopped") == 1, "{followed:#?}");
    assert!(names("main  resting") >= 1, "{followed:#?}");
    hang.store(true, Ordering::Relaxed);
}

#[test]
fn a_question_is_answered_from_another_terminal_and_never_another_one() {
    let person = Person::with_project(
        [outside("echo one > ../one"), outside("echo two > ../two"), Turn::text("Done.")],
        Fixture::new().file("sub/main.py", "").git(),
    );
    let background = Background::start(&person, &["-C", "sub"]);
    eventually("a question", || questions(&background).len() == 1);
    let first = questions(&background).remove(0);
    assert_eq!(first["question"]["what"], "echo one > ../one");
    let number = first["number"].to_string();
    let listed = background.posse(&["answer", "ID"]);
    listed.says("    echo one > ../one\n");
    listed.says("main wants to run this outside the sandbox, with all your rights:");
    listed.says(&format!("posse answer {} {number} …", background.short()));
    let refused: [(&[&str], i32, &str); 4] = [
        (&["answer", "ID", &number, "y"], 2, "type the whole word outside"),
        (&["answer", "ID", "1", "outside"], 1, "no question 1 is open"),
        (&["answer", "ID", &number, "outside", "pattern", "shell(x)"], 2, "no pattern for this"),
        (&["answer", "ID", "yes"], 2, "invalid value 'yes'"),
    ];
    for (args, code, says) in refused {
        let ran = background.posse(args);
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:#?}");
        ran.says(says);
    }
    assert_eq!(questions(&background).len(), 1, "it is still open");
    background.posse(&["answer", "ID", &number, "no", "not", "there"]).says("answered: no not there");
    eventually("another question", || {
        questions(&background).iter().any(|open| open["question"]["what"] == "echo two > ../two")
    });
    let late = background.posse(&["answer", "ID", &number, "outside"]);
    assert_eq!(late.code, Some(1), "{late:#?}");
    late.says("it was answered or taken back");
    let second = questions(&background)[0]["number"].to_string();
    background.posse(&["answer", "ID", &second, "outside"]).says("answered: yes, once");
    background.until("resting");
    let there = ["one", "two"].map(|name| person.project.path().join(name).exists());
    assert_eq!(there, [false, true]);
}

#[test]
fn a_question_in_words_takes_a_choice_or_words() {
    let person = Person::new([
        Turn::call(
            "ask_person",
            json!({"question": "Which one?", "choices": ["the red one", "the blue one"]}),
        ),
        Turn::call("ask_person", json!({"question": "And why?"})),
        Turn::text("Done."),
    ]);
    let background = Background::start(&person, &[]);
    let mut answered = 0;
    for (asked, words, answer) in
        [("Which one?", "2", "the blue one"), ("And why?", "it is calm", "it is calm")]
    {
        eventually(asked, || questions(&background).iter().any(|open| open["question"]["what"] == asked));
        let number = questions(&background)[0]["number"].to_string();
        background.posse(&["answer", "ID"]).says(asked);
        let said = background.posse(&["answer", "ID", &number, words]);
        assert_eq!(said.code, Some(0), "{said:#?}");
        eventually("the next turn", || {
            person.model.requests().last().is_some_and(|last| last.json().to_string().contains(answer))
        });
        answered += 1;
    }
    assert_eq!(answered, 2);
    background.until("resting");
}

#[test]
fn the_first_answer_counts_and_the_other_terminal_is_told() {
    let person = Person::with_project(
        [outside("echo one > ../one"), outside("echo two > ../two"), Turn::text("Done.")],
        Fixture::new().file("sub/main.py", "").git(),
    );
    // Asked in the terminal of `posse run`, answered elsewhere.
    let mut own = Screen::open(&person, "run -C sub go");
    own.shows("echo one > ../one");
    let mut attached = Screen::open(&person, "attach --plain");
    attached.shows("echo one > ../one");
    attached.shows("\n> ");
    own.shows("\n> ");
    attached.types("outside\n");
    own.shows("> answered elsewhere: yes, once");
    // Asked in the attached terminal, answered in the one that runs it.
    attached.shows("echo two > ../two");
    own.shows("echo two > ../two");
    own.types("\n");
    own.shows("that was for a question that is gone; this is another");
    own.types("n not this\n");
    attached.shows("> answered elsewhere: no not this");
    assert_eq!((own.ends(), attached.ends()), (Some(0), Some(0)), "{}", attached.text());
    let there = ["one", "two"].map(|name| person.project.path().join(name).exists());
    assert_eq!(there, [true, false], "{}", own.text());
    own.shows("Done.");
    attached.shows("Done.");
}

#[test]
fn leaving_an_attached_terminal_leaves_the_session_alone() {
    let go_on = Arc::new(AtomicBool::new(false));
    let person = Person::new([Turn::text("Done.").after(&go_on)]);
    let background = Background::start(&person, &[]);
    let mut screen = Screen::open(&person, "attach --plain");
    screen.shows("session ");
    eventually("a request", || person.model.requests().len() == 1);
    screen.types("\u{3}");
    assert_eq!(screen.ends(), Some(0), "{}", screen.text());
    screen.shows("goes on: posse attach ");
    let piped = person.spawn(&["attach", &background.id, "--json"]);
    eventually("a follower", || std::fs::read_link(format!("/proc/{}/exe", piped.id())).is_ok());
    signal(&piped, "TERM");
    piped.wait_with_output().unwrap();
    assert_eq!(background.status(), "running");
    go_on.store(true, Ordering::Relaxed);
    background.until("resting");
    let screen = Screen::open(&person, "attach --plain");
    screen.shows("Done.");
    screen.shows(&format!("resting: posse tell {} \"…\"", background.short()));
}

#[test]
fn the_tree_is_drawn_again_until_the_session_ends() {
    let go_on = Arc::new(AtomicBool::new(false));
    let person = Person::new([Turn::text("Done.").after(&go_on)]);
    let background = Background::start(&person, &[]);
    let mut screen = Screen::open(&person, "tasks --follow");
    screen.shows("main");
    go_on.store(true, Ordering::Relaxed);
    background.until("resting");
    screen.shows("resting");
    background.posse(&["stop", "ID"]);
    assert_eq!(screen.ends(), Some(0));
    screen.shows("✓ main");
}

#[test]
fn bad_input_is_refused_and_the_session_goes_on() {
    let person = Person::new([Turn::text("Done.")]);
    let none = person.posse(&["attach"]);
    assert_eq!(none.code, Some(1), "{none:#?}");
    none.says("no session of this project runs");
    let background = Background::start(&person, &[]);
    background.until("resting");
    let huge = "x".repeat(129 * 1024 - 20);
    let cases: [(&[&str], i32, &str); 10] = [
        (&["tell", "ffffffff", "hello"], 2, "ffffffff"),
        (&["tell", "99", "hello"], 2, "there is no session 99"),
        (&["tell", "ID", " "], 2, "The message is empty."),
        (&["tell", "ID", ""], 2, "The message is empty."),
        (&["tell", "ID"], 2, "say what to tell"),
        (&["tell", "ID", "a", "b", "c"], 2, "put the message in quotes"),
        (&["tell", "ID", "nobody", "hello"], 1, "No agent called nobody is at work in this session."),
        (&["tell", "ID", "--queue", "ann", "hello"], 2, "only the main agent has prompts"),
        (&["tell", "ID", "--edit", "9", "hello"], 1, "No message 9 waits to be delivered."),
        (&["stop", "ID", "main", "--turn"], 2, "cannot be used with"),
    ];
    let mut tried = 0;
    for (args, code, says) in cases {
        let ran = background.posse(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{args:?}: {ran:#?}");
        ran.says(says);
        tried += 1;
    }
    assert_eq!(tried, 10);
    let long = person.posse_with_stdin(&["tell", &background.id, "-"], huge.repeat(2).as_bytes());
    assert_eq!(long.code, Some(2), "{long:#?}");
    long.says("at most 131072 are accepted");
    assert_eq!(background.status(), "resting");
    // With a second one, a name is needed.
    person.model.push(Turn::text("Done, too."));
    let other = Background::start(&person, &[]);
    let which = person.posse(&["attach"]);
    assert_eq!(which.code, Some(2), "{which:#?}");
    which.says("several sessions run here; name one of them:");
    which.says(background.short());
    which.says(other.short());
}
