//! What a person types that is not for the model alone: commands of their own, their editor, the shell behind the chat.

use std::os::unix::fs::PermissionsExt as _;

use posse_testkit::{Fixture, Turn};

use super::last_request;
use crate::pane::{Pane, READY};
use crate::posse::Person;

#[test]
fn commands_run_confined_and_are_told_to_the_model_or_outside_and_are_not() {
    let person = Person::new([Turn::text("I see."), Turn::text("Still.")]);
    let home = person.data_dir().with_file_name("beside");
    let pane = Pane::chat(&person);
    // What is written beside the project stays in the sandbox.
    pane.says(&format!("!echo con$((1+1))fined; echo x > {}", home.display()));
    pane.shows("con2fined");
    pane.shows(READY);
    assert!(!home.exists(), "it is confined");
    pane.says(&format!("!!printf out$((1+2))side; echo x > {}", home.display()));
    pane.shows("out3side");
    pane.until("its end", || home.exists() && pane.screen().contains("› "));
    let whole = pane.whole();
    let at = whole.lines().position(|line| line.starts_with("$ printf out")).unwrap();
    assert_eq!(whole.lines().nth(at + 1).map(str::trim_end), Some("out3side"), "{whole}");
    pane.says("what did I do?");
    pane.shows("I see.");
    let asked = last_request(&person);
    assert!(asked.contains("con2fined") && !asked.contains("out3side"), "{asked}");
    // Once is enough.
    pane.says("!echo again$((2+2))");
    pane.shows("again4");
    pane.says("and now?");
    pane.shows("Still.");
    let asked = last_request(&person);
    assert_eq!((asked.matches("con2fined").count(), asked.matches("again4").count()), (1, 1), "{asked}");
}

#[test]
fn a_long_command_shows_its_output_and_escape_stops_it() {
    let person = Person::new([]);
    let pane = Pane::chat(&person);
    pane.says("!echo be$((1+0))gun; sleep 600; echo ended");
    pane.shows("be1gun");
    pane.shows("Esc stops");
    pane.keys(&["Escape"]);
    pane.shows("✗ stopped");
    pane.until("no sleep", || posse_testkit::processes_with("sleep 600; echo ended").is_empty());
}

#[test]
fn an_editor_a_user_command_and_the_shell_behind_the_chat() {
    let project = Fixture::new()
        .file("main.py", "print('hi')\n")
        .file(".posse/commands/greet.md", "Greet $1 and then $2, that is $ARGUMENTS.\n")
        .git();
    let person =
        Person::with_project([Turn::text("Edited."), Turn::text("Greeted."), Turn::text("Back.")], project);
    let editor = person.data_dir().with_file_name("editor");
    let script = "#!/bin/sh\ntest -t 0 && test -t 1 && stty -a | grep -q ' icanon' && printf ' with an editor' >> \"$1\"\n";
    std::fs::write(&editor, script).unwrap();
    std::fs::set_permissions(&editor, std::fs::Permissions::from_mode(0o755)).unwrap();
    let pane = Pane::with(&person, 80, 24, &[("EDITOR", &editor.display().to_string())]);
    pane.starts("");
    pane.shows(READY);
    pane.types("written");
    pane.shows("› written");
    pane.keys(&["C-g"]);
    pane.shows("› written with an editor");
    pane.keys(&["Enter"]);
    pane.shows("Edited.");
    assert!(last_request(&person).contains("written with an editor"));

    pane.says("/greet Ann 'Bob B'");
    pane.shows("Greeted.");
    let asked = last_request(&person);
    assert!(asked.contains("Greet Ann and then Bob B, that is Ann 'Bob B'."), "{asked}");

    // Ctrl+Z gives the shell back, with a terminal as it knows it; fg brings the chat back with what was written.
    pane.types("unfinished");
    pane.shows("› unfinished");
    pane.keys(&["C-z"]);
    pane.shows("Stopped");
    pane.is_at_the_shell();
    assert_eq!(pane.value("cursor_flag"), "1");
    pane.runs("stty -a | grep -o ' icanon'");
    pane.says("fg");
    pane.until("the chat again", || pane.screen().trim_end().lines().rev().nth(1) == Some("› unfinished"));
    pane.types(" business");
    pane.keys(&["Enter"]);
    pane.shows("Back.");
    assert!(last_request(&person).contains("unfinished business"));
    assert_eq!(pane.whole().matches("Greeted.").count(), 1);
}

#[test]
fn a_path_is_completed_as_soon_as_files_are_known_and_tab_sends_nothing() {
    let project = Fixture::new().file("src/library.rs", "").file("main.py", "").git();
    let person = Person::with_project([Turn::text("I looked.")], project);
    let pane = Pane::chat(&person);
    pane.types("look at @libr");
    pane.shows("  @src/library.rs");
    pane.keys(&["Tab"]);
    pane.shows("› look at @src/library.rs");
    pane.types("please");
    pane.keys(&["Tab"]);
    pane.shows("nothing to complete; Enter sends");
    assert_eq!(person.model.calls(), 0);
    pane.keys(&["Enter"]);
    pane.shows("I looked.");
    assert!(last_request(&person).contains("look at @src/library.rs please"));
}
