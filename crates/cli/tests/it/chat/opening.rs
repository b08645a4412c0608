//! The first minute: what the chat says before anything was said.

use posse_testkit::{FakeModel, Fixture, Turn};

use crate::pane::{Pane, READY, sessions_of};
use crate::posse::Person;

#[test]
fn without_a_model_the_chat_opens_and_says_what_it_looked_for() {
    let person = Person::new([]);
    person.configure("");
    let pane = Pane::open(&person, 100, 40);
    // Whatever runs on this machine must not be found.
    pane.says(&format!("unshare --net --map-root-user --user {}", env!("CARGO_BIN_EXE_posse")));
    pane.shows(READY);
    for part in ["No model yet:", "/demo needs none", "export ANTHROPIC_API_KEY=…", "ollama serve"] {
        pane.shows(part);
    }
    assert!(pane.screen().contains("  no model · mode auto · main"), "{}", pane.screen());
    // What was written is not lost.
    pane.says("do something");
    pane.until("the text again", || {
        let screen = pane.screen();
        screen.contains("› do something") && !screen.contains("starting")
    });
    assert_eq!(sessions_of(&person), [0; 0]);
    pane.keys(&["C-c"]);
    pane.shows(READY);
    pane.says("/quit");
    pane.is_at_the_shell();
    assert!(!pane.whole().contains("--continue opens"), "there is no session: {}", pane.whole());
}

const COMMAND: &str =
    "---\ndescription: Count\n---\nCount to $1 for $ARGUMENTS.\n!`echo counted-$((40+2))`\n";

#[test]
fn what_the_folder_wants_is_said_until_it_is_trusted_and_counts_from_then_on() {
    let elsewhere = FakeModel::start_blocking();
    let toml = format!("[models.evil]\nendpoint = \"{}\"\nmodel = \"m\"\n", elsewhere.base_url());
    let project =
        Fixture::new().file(".posse/config.toml", toml).file(".posse/commands/count.md", COMMAND).git();
    let person = Person::with_project([Turn::text("One, two.")], project);
    let pane = Pane::open(&person, 120, 40);
    pane.starts("--model fake");
    pane.shows("files of this folder want to set things: ");
    let whole = pane.whole();
    assert!(whole.contains(".posse/config.toml") && whole.contains("count.md"), "{whole}");
    pane.says("/count 2 fun");
    pane.shows("/count runs commands, and this folder is not trusted");
    pane.says("/trust");
    pane.shows("sends your prompts and your code to");
    assert!(!pane.whole().contains("Trusted."));
    pane.says("/trust yes");
    pane.shows("Trusted.");
    pane.says("/count 2 fun");
    pane.shows("One, two.");
    let asked = super::last_request(&person);
    assert!(asked.contains("Count to 2 for 2 fun.\\ncounted-42"), "{asked}");
    pane.says("/quit");
    pane.clears();
    pane.starts("--model fake");
    pane.shows("fake · mode auto");
    assert!(!pane.whole().contains("want to set things"), "it is trusted: {}", pane.whole());
    assert_eq!(elsewhere.calls(), 0);
}

#[test]
fn one_task_is_run_and_printed_and_an_empty_folder_has_nothing_to_continue() {
    let person = Person::new([Turn::text("One."), Turn::text("Two."), Turn::text("Three.")]);
    let cases: [&[&str]; 3] = [&["-p", "say one"], &["--print=say two"], &["-q", "--print", "say three"]];
    let said = ["One.\n", "Two.\n", "Three.\n"];
    for (args, said) in cases.into_iter().zip(said) {
        let ran = person.posse(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), said), "{args:?}: {ran:#?}");
    }
    assert_eq!(person.model.calls(), 3);
    // In a terminal, too.
    person.model.push(Turn::text("Four."));
    let pane = Pane::open(&person, 80, 24);
    pane.starts("-p 'say four'");
    pane.shows("✓ completed");
    pane.is_at_the_shell();
    assert!(pane.whole().contains("Four."), "{}", pane.whole());

    let person = Person::new([]);
    let pane = Pane::open(&person, 80, 24);
    pane.starts("--continue");
    pane.shows("no sessions");
    pane.is_at_the_shell();
}

#[test]
fn the_demo_opens_the_chat_and_says_that_it_is_a_recording() {
    let person = Person::new([]);
    person.configure("");
    let place = person.data_dir().with_file_name("temporary");
    std::fs::create_dir(&place).unwrap();
    let pane = Pane::with(&person, 100, 40, &[("TMPDIR", &place.display().to_string())]);
    pane.starts("demo --fast");
    pane.shows("Fixed: the tests pass, 3 ok and 0 failed.");
    pane.shows("✓ 4 turns");
    pane.keys(&["C-t"]);
    pane.until("the work view", || {
        pane.value("alternate_on") == "1" && pane.screen().contains("implementer-1")
    });
    pane.keys(&["q"]);
    pane.until("the chat", || pane.value("alternate_on") == "0");
    let recorded = "the demo is a recording";
    pane.says("more please");
    pane.until("an answer", || pane.whole().matches(recorded).count() == 1);
    pane.says("/new");
    pane.shows(READY);
    pane.says("other things");
    pane.until("an answer", || pane.whole().matches(recorded).count() == 2);
    pane.keys(&["C-c"]);
    pane.says("/quit");
    pane.is_at_the_shell();
    assert_eq!(std::fs::read_dir(&place).unwrap().count(), 0, "its folder is removed");
    assert!(!pane.whole().contains("cassette"), "{}", pane.whole());
}

#[test]
fn flags_say_where_the_chat_and_all_that_it_starts_keep_their_things() {
    let person = Person::new([Turn::text("Here.")]);
    let place = person.data_dir().with_file_name("other");
    let pane = Pane::open(&person, 100, 30);
    std::fs::rename(person.config(), person.data_dir().with_file_name("other.toml")).unwrap();
    pane.starts("--data-dir ~/other --config ~/other.toml");
    pane.shows("fake · mode auto");
    pane.says("where are you?");
    pane.shows("Here.");
    pane.says("/sessions");
    pane.until("the list", || {
        pane.whole().lines().any(|line| line.contains("resting") && line.contains("where are you?"))
    });
    pane.says("/config");
    pane.shows("[models.fake]");
    assert!(place.join("posse.db").exists());
    assert!(!person.data_dir().join("posse.db").exists(), "nothing is anywhere else");
    pane.says("/quit");
    pane.is_at_the_shell();
    pane.until("the end of the process", || sessions_of(&person).is_empty());
}
