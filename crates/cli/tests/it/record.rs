//! Looking after the record: searching it, giving a session to others, clearing it.

use posse_testkit::{FakeModel, Fixture, Turn, asker};
use serde_json::json;

use crate::crew::REPORT;
use crate::posse::{Person, Ran, eventually, signal, text};

#[test]
fn what_was_said_is_found() {
    let person = Person::new([
        Turn::call("read_file", json!({"path": "main.py"})),
        Turn::text("It prints a greeting in Python."),
        Turn::text("Nothing of the kind."),
    ]);
    let none = person.posse(&["sessions", "search", "greeting"]);
    assert_eq!(none.code, Some(1));
    none.says("Nothing on record says \"greeting\"");
    let first = person.posse(&["run", "--json", "what does it print?"]).events();
    person.posse(&["run", "is there a quixotic gadget?"]);
    let id = first[0]["session"].as_str().unwrap();
    let found = person.posse(&["sessions", "search", "greeting", "python"]);
    assert_eq!(found.code, Some(0), "{found:#?}");
    for part in [&id[28..], "what does it print?", "It prints a greeting in Python."] {
        found.says(part);
    }
    assert!(!found.stdout.contains("quixotic") && !found.stdout.contains('\u{2}'), "{found:#?}");
    let hits = person.posse(&["sessions", "search", "--json", "-n", "1", "quixotic"]).events();
    assert_eq!((hits.len(), &hits[0]["what"]), (1, &json!("prompt")));
    assert_eq!(hits[0]["snippet"], "is there a quixotic gadget?");
    assert_eq!(person.posse(&["sessions", "search"]).code, Some(2));
    let empty = person.posse(&["sessions", "search", ""]);
    assert_eq!(empty.code, Some(2));
    empty.says("give words to look for");
    let long = person.posse(&["sessions", "search", &"nowhere ".repeat(100)]).stdout;
    assert!(long.chars().count() < 100, "{long}");
    // What looks like a query language is words.
    assert_eq!(person.posse(&["sessions", "search", "\"AND (*"]).code, Some(1));
}

#[test]
fn a_session_is_exported_as_events_and_as_text() {
    let person = Person::new([
        Turn::call("read_file", json!({"path": "main.py"})),
        Turn::text("It prints `hi`.\n# Not a heading"),
    ]);
    let events = person.posse(&["run", "--json", "what does it print?"]).events();
    assert_eq!(person.posse(&["sessions", "export", "--format", "jsonl"]).events(), events);
    let told = person.posse(&["sessions", "export", "last"]).stdout;
    for part in [
        "# what does it print?\n",
        "**you to main:**\n\n> what does it print?\n",
        "`read_file main.py`",
        "print('hi')",
        "> # Not a heading\n",
        "### main: completed\n",
        "- took: 2 turns, 1 tool call",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let file = text(&person.data_dir().with_file_name("told.md"));
    person.posse(&["sessions", "export", "-o", &file]).says("is written");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), told);
    let again = person.posse(&["sessions", "export", "-o", &file]);
    assert_eq!(again.code, Some(2));
    again.says("told.md is there already and is not replaced");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), told);
    let nowhere = person.posse(&["sessions", "export", "-o", "nowhere/told.md"]);
    assert_eq!(nowhere.code, Some(2));
    nowhere.says("cannot write nowhere/told.md");
    assert!(!nowhere.stderr.contains("replaced"), "{nowhere:#?}");
    let ran = person.posse(&["sessions", "export", "--format", "cassette"]);
    assert_eq!(ran.code, Some(2), "a cassette needs a file: {ran:#?}");
    assert_eq!(person.posse(&["sessions", "export", "--format", "pdf"]).code, Some(2));
}

/// The largest file is shorter than what has to be written.
#[cfg(unix)]
#[test]
fn a_failed_export_leaves_nothing_behind() {
    let person = Person::new([Turn::text("ok")]);
    person.posse_with_stdin(&["run", "-"], "many words ".repeat(200_000).as_bytes());
    let folder = tempfile::tempdir().unwrap();
    for format in ["jsonl", "markdown", "cassette"] {
        let file = text(&folder.path().join("told"));
        let posse = person.command(&["sessions", "export", "--format", format, "-o", &file]);
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "trap '' XFSZ; ulimit -f 1000; exec \"$@\"", "sh"]);
        command.arg(posse.get_program()).args(posse.get_args()).current_dir(person.project.path());
        command.env_clear().envs(posse.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.code, Some(2), "{format}: {ran:#?}");
        ran.says(&file);
        assert!(!ran.stderr.contains("replaced") && !ran.stderr.contains(".posse-"), "{ran:#?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{format}");
    }
}

#[test]
fn a_cassette_says_what_is_not_in_it_and_how_a_long_prompt_is_given() {
    let person = Person::with_model(looked_at(), Fixture::new().file("main.py", "print('hi')\n").git());
    person.configure_more("[sub_agents]\nrecord = \"result\"\n");
    let ran = person.posse(&["run", "share it\nout"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let tape = text(&person.data_dir().with_file_name("tape.jsonl"));
    let said = person.posse(&["sessions", "export", "--format", "cassette", "-o", &tape]);
    said.says("tape.jsonl holds 2 model calls.");
    said.says("The calls of ann, bob are not in it");
    said.says("--surface agent < PROMPT\n");
}

/// Main has ann and bob look, one after the other in one reply, and waits for both.
fn looked_at() -> FakeModel {
    FakeModel::by_rule_blocking(|request| {
        let request = request.json();
        let start = |name: &str| json!({"action": "start", "name": name, "role": "explore", "prompt": "Look.", "background": false});
        match (asker(&request).as_str(), request["messages"].as_array().map_or(0, Vec::len)) {
            ("ann" | "bob", 2) => Turn::call("read_file", json!({"path": "main.py"})),
            ("ann" | "bob", _) => Turn::text(REPORT),
            (_, 2) => Turn::call("agent", start("ann")).and_call("agent", start("bob")),
            _ => Turn::text("Both have looked."),
        }
    })
}

#[test]
fn an_exported_cassette_replays_a_session_with_sub_agents() {
    let project = || Fixture::new().file("main.py", "print('hi')\n").git();
    let person = Person::with_model(looked_at(), project());
    let ran = person.posse(&["run", "share it out"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Both have looked.\n"), "{ran:#?}");
    assert_eq!(person.model.calls(), 6);
    let tape = text(&person.data_dir().with_file_name("tape.jsonl"));
    let said = person.posse(&["sessions", "export", "--format", "cassette", "-o", &tape]);
    assert_eq!(said.code, Some(0), "{said:#?}");
    said.says("tape.jsonl holds 6 model calls.");
    said.says("posse run --config FILE --model fake --surface agent \"share it out\"");
    said.says("max_concurrent = 1\n");
    let written = std::fs::read_to_string(&tape).unwrap();
    assert!(!written.contains(&text(person.project.path())), "the folder's path is not in it");

    // Elsewhere, with nothing but the tape and the lines that were printed.
    let other = Person::with_project([], project());
    let config = said.stdout.lines().filter(|line| line.starts_with("  [") || line.contains(" = "));
    other.configure(&config.map(|line| format!("{}\n", line.trim())).collect::<String>());
    let replayed = other.posse(&["run", "--model", "fake", "--surface", "agent", "share it out"]);
    assert_eq!((replayed.code, &replayed.stdout), (Some(0), &ran.stdout), "{replayed:#?}");
    let agents = other.posse(&["tasks", "--json"]).events();
    let turns =
        agents.iter().map(|agent| (agent["name"].as_str().unwrap(), agent["turns"].as_u64().unwrap()));
    assert_eq!(turns.collect::<Vec<_>>(), [("main", 2), ("ann", 2), ("bob", 2)]);
    assert_eq!(person.model.calls(), 6, "nobody was asked");
}

fn three_sessions() -> (Person, Vec<String>) {
    let person = Person::new((0..3).map(|n| Turn::text(format!("answer {n}"))));
    for n in 0..3 {
        person.posse(&["run", &format!("task {n}")]);
    }
    let ids = listed(&person);
    assert_eq!(ids.len(), 3);
    (person, ids)
}

/// The ids on record, newest first.
fn listed(person: &Person) -> Vec<String> {
    let sessions = person.posse(&["sessions", "list", "--all", "--json"]).events();
    sessions.iter().map(|session| session["session"].as_str().unwrap().to_string()).collect()
}

#[test]
fn sessions_are_deleted_once_that_is_meant() {
    let (person, ids) = three_sessions();
    let ran = person.posse(&["sessions", "delete", &ids[0]]);
    assert_eq!(ran.code, Some(2));
    ran.says("there is no terminal to ask on; give --yes");
    assert_eq!(person.posse(&["sessions", "delete", &ids[0], "ffff", "--yes"]).code, Some(2), "all or none");
    assert_eq!(listed(&person), ids);
    person
        .posse(&["sessions", "delete", &ids[0], &ids[0], &ids[2], "--yes"])
        .says("2 sessions (2 turns) deleted.");
    assert_eq!(listed(&person), ids[1..2]);
    assert_eq!(person.posse(&["sessions", "search", "answer"]).stdout.matches("answer").count(), 1);
}

#[test]
fn what_is_deleted_is_of_this_folder_and_named_well() {
    let (person, ids) = three_sessions();
    let short = person.posse(&["sessions", "delete", &ids[0][..3], "--yes"]);
    assert_eq!(short.code, Some(2));
    short.says("at least 4 characters");
    let elsewhere =
        |args: &[&str]| Ran::from(person.command(args).current_dir(person.data_dir()).output().unwrap());
    let none = elsewhere(&["sessions", "delete", "last", "--yes"]);
    assert_eq!(none.code, Some(2));
    none.says("no session was held in this project");
    assert_eq!(listed(&person), ids);
    elsewhere(&["sessions", "show", "last"]).says(&ids[0][28..]);
    person.model.push(Turn::text("elsewhere"));
    let other = tempfile::tempdir().unwrap();
    person.command(&["run", "in another folder"]).current_dir(other.path()).output().unwrap();
    person.posse(&["sessions", "show", "last"]).says("task 2");
    let gone = person.posse(&["sessions", "delete", "last", "--yes"]);
    gone.says("1 session (1 turn) deleted.");
    gone.says("checkpoints and branches stay");
    let left = listed(&person);
    assert_eq!((left.len(), &left[1..]), (3, &ids[1..]), "the newest of all is another's");
}

#[test]
fn what_can_go_on_is_not_pruned_unless_that_is_said() {
    let person = Person::new([Turn::text("one two three").stall_after(1)]);
    let mut child = person.spawn(&["run", "go"]);
    eventually("it is on record", || listed(&person).len() == 1);
    signal(&child, "KILL");
    child.wait().unwrap();
    // That it was interrupted is something that happens to it, when the next process looks.
    assert_eq!(listed(&person).len(), 1);
    std::thread::sleep(std::time::Duration::from_millis(5));
    let prune = |more: &[&str]| person.posse(&[&["sessions", "prune", "--older-than", "1ms"], more].concat());
    let ran = prune(&["--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.says("1 session left: interrupted");
    assert_eq!(listed(&person).len(), 1);
    std::thread::sleep(std::time::Duration::from_millis(5));
    prune(&["--yes", "--interrupted"]).says("1 session (1 turn, 1 of them interrupted) deleted.");
    assert_eq!(listed(&person).len(), 0);
}

#[test]
fn old_sessions_are_pruned_and_the_newest_stay() {
    let (person, ids) = three_sessions();
    person.posse(&["sessions", "prune", "--older-than", "30d"]).says("Nothing is that old.");
    std::thread::sleep(std::time::Duration::from_millis(5));
    let dry = person.posse(&["sessions", "prune", "--older-than", "1ms", "--keep", "1", "--dry-run"]);
    dry.says("2 sessions (2 turns) would be deleted.");
    dry.says("task 1");
    assert_eq!(listed(&person), ids);
    let ran = person.posse(&["sessions", "prune", "--older-than", "1ms", "--keep", "1"]);
    assert_eq!(ran.code, Some(2));
    ran.says("there is no terminal to ask on; give --yes");
    assert_eq!(listed(&person), ids);
    person
        .posse(&["sessions", "prune", "--older-than", "1ms", "--keep", "1", "--yes"])
        .says("2 sessions (2 turns) deleted.");
    assert_eq!(listed(&person), ids[..1]);
    assert_eq!(person.posse(&["sessions", "prune"]).code, Some(2), "how old has to be said");
}

#[test]
fn long_lists_say_that_there_is_more() {
    let (person, ids) = three_sessions();
    let list = person.posse(&["sessions", "list", "-n", "2"]);
    list.says("more   posse sessions list -n 4\n");
    assert!(list.stdout.contains(&ids[1][28..]) && !list.stdout.contains(&ids[2][28..]), "{list:#?}");
    assert!(!person.posse(&["sessions", "list", "-n", "3"]).stdout.contains("There are more"));
}
