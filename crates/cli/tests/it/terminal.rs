//! What a person sees, in a real terminal: `script` gives the program one, `vt100` reads its screen.

use std::process::Command;

use posse_testkit::Turn;
use serde_json::json;

use crate::posse::Person;

/// Everything the terminal received.
fn in_terminal(person: &Person, args: &str, env: &[(&str, &str)]) -> Vec<u8> {
    in_terminal_of(80, person, args, env)
}

fn in_terminal_of(columns: u16, person: &Person, args: &str, env: &[(&str, &str)]) -> Vec<u8> {
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
        raw.contains("turn 2 ·") && raw.contains("tokens · shell sleep"),
        "the status line tells turn and tool"
    );
}

#[test]
fn no_color_is_honoured() {
    let person = Person::new(turns());
    let bytes = in_terminal(&person, "run go", &[("NO_COLOR", "1")]);
    let raw = String::from_utf8_lossy(&bytes);
    assert!(!raw.contains("\u{1b}[2m") && !raw.contains("\u{1b}[3"), "{raw:?}");
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
