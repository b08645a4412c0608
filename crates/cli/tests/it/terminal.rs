//! What a person sees, in a real terminal: `script` gives the program one, `vt100` reads its screen.

use std::process::Command;

use posse_testkit::Turn;
use serde_json::json;

use crate::crew::REPORT;
use crate::posse::Person;

/// Everything the terminal received.
fn in_terminal(person: &Person, args: &str, env: &[(&str, &str)]) -> Vec<u8> {
    in_terminal_of(80, person, args, env)
}

pub(crate) fn in_terminal_of(columns: u16, person: &Person, args: &str, env: &[(&str, &str)]) -> Vec<u8> {
    let posse = env!("CARGO_BIN_EXE_posse");
    let template = person.command(&[]);
    let mut command = Command::new("script");
    command
        .args(["-qefc", &format!("stty cols {columns} rows 40; exec {posse} {args}"), "/dev/null"])
        .current_dir(person.project.path())
        .env_clear()
        .envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("TERM", "xterm")
        .envs(env.iter().copied());
    command.output().unwrap().stdout
}

fn screen(bytes: &[u8]) -> String {
    let mut parser = vt100::Parser::new(40.try_into().unwrap(), 80.try_into().unwrap(), 0);
    parser.process(bytes);
    parser.screen().contents()
}

fn turns() -> Vec<Turn> {
    vec![
        Turn::text("Let me look.").and_call("read_file", json!({"path": "main.py"})),
        Turn::call("shell", json!({"command": "sleep 0.4; echo hi"})),
        Turn::text("It prints hi."),
    ]
}

#[test]
fn the_screen_at_the_end_holds_the_story_and_no_spinner() {
    let person = Person::new(turns());
    let bytes = in_terminal(&person, "run what does it print", &[]);
    let screen = screen(&bytes);
    let lines = screen.lines().map(str::trim_end).collect::<Vec<_>>();
    let story = [
        "model: fake",
        "Let me look.",
        "  • read_file main.py",
        "  • shell sleep 0.4; echo hi",
        "It prints hi.",
        "",
    ];
    assert_eq!(lines[..6], story, "{screen}");
    assert!(lines[6].starts_with("✓ completed · 3 turns · 2 tool calls · 330 tokens"), "{screen}");
    assert!(!screen.contains('⠋'), "{screen}");

    let raw = String::from_utf8_lossy(&bytes);
    assert!(raw.contains("\u{1b}[2m• read_file main.py"), "tool lines are dimmed");
    assert!(
        raw.contains("turn 2/200 ·") && raw.contains("tokens · shell sleep"),
        "the status line tells turn and tool"
    );
}

const MARKDOWN: &str = "The project has **three parts**, and all of them are described in the table below this line.\n\n\
                        | part | lines |\n|---|---|\n| parser | 12 |\n\n```sh\nmake test\n```\n- run `make`\n";

#[test]
fn markdown_is_drawn_on_a_terminal_and_stays_raw_in_a_pipe() {
    let piped = Person::new([Turn::text(MARKDOWN)]).posse(&["run", "go"]);
    assert_eq!(piped.stdout, MARKDOWN);
    let person = Person::new([Turn::text(MARKDOWN)]);
    let bytes = in_terminal(&person, "run go", &[]);
    let drawn = screen(&bytes);
    let expected = "\
model: fake
The project has three parts, and all of them are described in the table below
this line.

part    lines
──────  ─────
parser  12

│ make test
• run make

✓ completed";
    assert!(drawn.starts_with(expected), "{drawn}");
    let raw = String::from_utf8_lossy(&bytes);
    assert!(raw.contains("\u{1b}[1mthree\u{1b}[0m \u{1b}[1mparts\u{1b}[0m,"), "{raw}");
    // What is on record is drawn the same way.
    let shown = screen(&in_terminal(&person, "sessions show", &[]));
    assert!(shown.contains("agent:\n  The project has three parts,"), "{shown}");
    assert!(shown.contains("\n  part    lines\n"), "{shown}");
    assert!(person.posse(&["sessions", "show"]).stdout.contains("agent: The project has **three parts**"));
    // Without colours the marks stay.
    let plain = screen(&in_terminal(&person, "sessions show", &[("NO_COLOR", "1")]));
    assert!(plain.contains("**three parts**") && plain.contains("part    lines"), "{plain}");
}

#[test]
fn the_end_is_broken_between_its_parts_and_says_what_to_type_next() {
    let write = Turn::call("write_file", json!({"path": "a.txt", "content": "x\n"}));
    let person = Person::new([write, Turn::text("Done.")]);
    let screen = screen(&in_terminal_of(50, &person, "run go", &[]));
    let lines = screen.lines().map(str::trim_end).collect::<Vec<_>>();
    let at = lines.iter().position(|line| line.starts_with("✓ completed · 2 turns")).unwrap();
    assert!(lines[at..].iter().all(|line| line.chars().count() < 50), "{screen}");
    assert!(lines[at + 1].starts_with("              "), "{screen}");
    for (label, command) in [("see", "diff"), ("undo", "undo"), ("record", "sessions show")] {
        let line =
            lines.iter().find(|line| line.starts_with(&format!("  {label:<7}  posse {command} "))).unwrap();
        let typed = line.trim_start().split_once(' ').unwrap().1.trim_start().strip_prefix("posse ").unwrap();
        let args = typed.split(' ').collect::<Vec<_>>();
        assert_eq!(person.posse(&args).code, Some(0), "{typed}");
    }
}

#[test]
fn no_color_is_honoured() {
    let person = Person::new(turns());
    let bytes = in_terminal(&person, "run go", &[("NO_COLOR", "1")]);
    let raw = String::from_utf8_lossy(&bytes);
    assert!(!raw.contains("\u{1b}[2m") && !raw.contains("\u{1b}[3"), "{raw:?}");
}

#[test]
fn a_dumb_terminal_gets_no_escape_sequences() {
    let person = Person::new(turns());
    let bytes = in_terminal(&person, "run go", &[("TERM", "dumb")]);
    let raw = String::from_utf8_lossy(&bytes);
    assert!(raw.contains("It prints hi.") && !raw.contains('\u{1b}'), "{raw:?}");
}

#[test]
fn a_failing_command_shows_its_exit_code_and_what_it_printed_last() {
    let command = format!("for i in {}; do echo line $i; done; exit 3", "1 2 3 4 5 6 7 8 9 ".repeat(6));
    let person = Person::new([Turn::call("shell", json!({"command": command})), Turn::text("It failed.")]);
    let screen = screen(&in_terminal(&person, "run go", &[]));
    let lines = screen.lines().map(str::trim_end).collect::<Vec<_>>();
    assert!(lines[1].starts_with("  ✗ shell for i in 1 2 3") && lines[1].ends_with("… (exit 3)"), "{screen}");
    assert_eq!(lines[2..5], ["      line 7", "      line 8", "      line 9"], "{screen}");
}

/// What stood in the lines of the block, each time it was drawn.
fn drawn(bytes: &[u8]) -> Vec<String> {
    let raw = String::from_utf8_lossy(bytes).into_owned();
    let lines =
        raw.split("\u{1b}[2K").skip(1).map(|line| line.split(['\r', '\n']).next().unwrap().to_string());
    lines
        .map(|line| {
            let mut parser = vt100::Parser::new(2.try_into().unwrap(), 200.try_into().unwrap(), 0);
            parser.process(line.as_bytes());
            parser.screen().contents()
        })
        .collect()
}

#[test]
fn the_block_leaves_room_for_what_a_terminal_echoes() {
    let command = format!("sleep 0.4; true {}", "x".repeat(200));
    let person = Person::new([Turn::call("shell", json!({"command": command})), Turn::text("Done.")]);
    let drawn = drawn(&in_terminal(&person, "run go", &[]));
    let widest = drawn.iter().map(|line| line.trim_end().chars().count()).max().unwrap();
    assert!((60..=77).contains(&widest), "{widest} of 80 columns: {drawn:#?}");
}

#[test]
fn a_reply_that_stands_still_is_said_to() {
    let call = || Turn::call("write_file", json!({"path": "a.txt", "content": "x".repeat(200)}));
    let start = || Turn::call("agent", json!({"role": "explore", "prompt": "Look.", "background": false}));
    // In the middle of text, of a call's arguments, and of the text of a sub-agent.
    let cases = [
        (vec![Turn::text("one two three four").stall_after(2)], "turn 1/200 · "),
        (vec![call().stall_after(4)], "turn 1/200 · "),
        (vec![start(), Turn::text("one two three four").stall_after(2)], "explore-1 \"Look.\" turn 1/"),
    ];
    std::thread::scope(|scope| {
        for (turns, line) in cases {
            scope.spawn(move || {
                let person = Person::new(turns.into_iter().chain([Turn::text("bye"), Turn::text("bye")]));
                let drawn = drawn(&in_terminal(&person, "run --max-time 5s go", &[]));
                let told = |one: &String| one.contains(line) && one.contains(" · no answer for 3 s");
                assert!(drawn.iter().any(told), "{line}: {drawn:#?}");
            });
        }
    });
}

#[test]
fn a_failing_command_of_a_sub_agent_shows_what_it_printed_last() {
    let turns = || {
        let start = json!({"role": "general", "name": "ann", "prompt": "Do it.", "background": false});
        let lines = json!({"command": "for i in 1 2 3 4; do echo line $i; done; exit 3"});
        [Turn::call("agent", start), Turn::call("shell", lines), Turn::text(REPORT), Turn::text("It failed.")]
    };
    let piped = Person::new(turns()).posse(&["run", "go"]).stderr;
    assert!(piped.contains("(exit 3)\n[ann]   line 2\n[ann]   line 3\n[ann]   line 4\n"), "{piped}");
    let screen = screen(&in_terminal(&Person::new(turns()), "run go", &[]));
    let lines = screen.lines().map(str::trim_end).collect::<Vec<_>>();
    let at = lines.iter().position(|line| line.ends_with("(exit 3)")).unwrap();
    assert_eq!(lines[at + 1..at + 4], ["       line 2", "       line 3", "       line 4"], "{screen}");
}

#[test]
fn words_for_the_model_do_not_reach_the_person() {
    let read = || Turn::call("read_file", json!({"path": "main.py"}));
    let person = Person::new([read(), Turn::text("It prints hi.")]);
    let ran = person.posse(&["run", "--max-turns", "1", "go"]);
    assert!(ran.stderr.contains("· out of turns: asked for a last report"), "{ran:#?}");
    assert!(!ran.stderr.contains("You have to stop") && !ran.stderr.contains("posse: "), "{ran:#?}");
    let shown = person.posse(&["sessions", "show"]).stdout;
    assert!(!shown.contains("You have to stop") && !shown.contains("posse: "), "{shown}");
    assert!(shown.contains("has come to a limit (out of turns) and reports"), "{shown}");
    assert!(shown.contains("  main was told how to continue\n"), "{shown}");

    // What a tool says of the next step is not for the person either.
    let edit = json!({"path": "main.py", "old_text": "no such text", "new_text": "x"});
    let person = Person::new([read(), Turn::call("edit_file", edit), Turn::text("It is not there.")]);
    let ran = person.posse(&["run", "go"]);
    assert!(ran.stderr.contains("✗ edit_file main.py (") && !ran.stderr.contains("again"), "{ran:#?}");
    assert!(person.model.requests()[2].json().to_string().contains("Call edit_file again"));
}

#[test]
fn without_a_terminal_there_are_plain_lines() {
    let person = Person::new(turns());
    let ran = person.posse(&["run", "go"]);
    assert!(!ran.stderr.contains('\u{1b}') && !ran.stdout.contains('\u{1b}'), "{ran:#?}");
    assert_eq!(ran.stdout, "It prints hi.\n");
    let lines = ran.stderr.lines().take(4).collect::<Vec<_>>();
    assert_eq!(
        lines,
        ["model: fake", "Let me look.", "  • read_file main.py", "  • shell sleep 0.4; echo hi"]
    );
}

#[test]
fn lists_do_not_wrap_in_a_narrow_terminal() {
    let long = "a long story that does not fit into one line ".repeat(4);
    let person = Person::new([Turn::call("remember", json!({"text": long})), Turn::text("ok")]);
    person.posse(&["run", &long]);
    let lists = ["sessions list", "memory list", "sessions prune --older-than 1ms --dry-run"];
    for args in lists {
        let bytes = in_terminal_of(60, &person, args, &[("NO_COLOR", "1")]);
        let told = String::from_utf8(bytes).unwrap();
        assert!(told.contains("a long") && told.contains('…'), "{args}: {told}");
        for line in told.lines() {
            assert!(line.chars().count() <= 60, "{args}: {line}");
        }
    }
}
