//! What is on record can be listed and read.

use posse_testkit::Turn;
use serde_json::json;

use crate::posse::Person;

#[test]
fn sessions_are_listed_and_shown() {
    let person = Person::new([
        Turn::call("read_file", json!({"path": "main.py"})).and_call("read_file", json!({"path": "nope.py"})),
        Turn::text("It prints hi."),
        Turn::text("Second."),
    ]);
    person.posse(&["sessions", "list"]).says("No sessions");
    for args in
        [&["sessions", "show"][..], &["sessions", "export"], &["tasks"], &["resume", "last"], &["resume"]]
    {
        let ran = person.posse(args);
        assert_eq!(ran.code, Some(2), "{args:?}");
        ran.says("no sessions yet; start one: posse run");
    }

    let first = person.posse(&["run", "--json", "what does\nit print?"]).events();
    person.posse(&["run", "second task"]);
    let list = person.posse(&["sessions", "list"]);
    let lines = list.stdout.lines().collect::<Vec<_>>();
    assert_eq!(lines.len(), 5, "{list:#?}");
    assert!(lines[1].contains("second task") && lines[2].contains("what does"), "{list:#?}");
    assert!(
        lines[2].contains("completed") && lines[2].contains(" 2 ") && lines[2].contains("220"),
        "{list:#?}"
    );
    assert_eq!(person.posse(&["sessions", "list", "-n", "1", "--json"]).events()[0]["title"], "second task");

    let id = first[0]["session"].as_str().unwrap();
    let shown = person.posse(&["sessions", "show", &id[28..]]);
    for part in
        ["you: what does", "• read_file main.py", "✗", "agent: It prints hi.", "✓ completed", "main on fake"]
    {
        shown.says(part);
    }
    assert_eq!(
        person.posse(&["sessions", "show", id, "--json"]).events(),
        first,
        "the record is what was printed"
    );
    person.posse(&["sessions", "show", "last"]).says("second task");
    let ran = person.posse(&["sessions", "show", "ffff"]);
    assert_eq!(ran.code, Some(2));
    ran.says("ffff");
}

#[test]
fn sessions_are_renamed() {
    let person = Person::new([Turn::text("one"), Turn::text("two")]);
    let first = person.posse(&["run", "--json", "Please fix the parser."]).events();
    let id = first[0]["session"].as_str().unwrap();
    person
        .posse(&["sessions", "rename", "1", "The", "bug\u{1b}[31m"])
        .says("is now called: The bug\\u{1b}[31m");
    person.posse(&["sessions", "list"]).says("The bug\\u{1b}[31m");
    person.posse(&["sessions", "show", id]).says("title      The bug\\u{1b}[31m");
    person.posse(&["sessions", "search", "parser"]).says("The bug\\u{1b}[31m");
    person.posse(&["sessions", "export", id]).says("# The bug");
    person.posse(&["resume", id, "and now?"]).says("two");
    let listed = || person.posse(&["sessions", "list", "--json"]).events()[0]["title"].clone();
    assert_eq!(listed(), "The bug\\u{1b}[31m");
    let named = |events: &[serde_json::Value]| events.iter().filter(|e| e["type"] == "session_named").count();
    assert_eq!(named(&person.posse(&["sessions", "export", id, "--format", "jsonl"]).events()), 1);
    person.posse(&["sessions", "rename", id]).says("is now called: fix the parser");
    assert_eq!(listed(), "fix the parser");
    let long = person.posse(&["sessions", "rename", id, &"x".repeat(300)]);
    assert_eq!(long.code, Some(2));
    long.says("a title has at most 200 characters");
}

/// What does not change from run to run.
fn timeless(text: &str, ids: &[(&str, &str)]) -> String {
    ids.iter().fold(text.to_string(), |text, (id, name)| text.replace(id, name))
}

#[test]
fn lists_are_of_this_project_and_name_sessions_in_short() {
    let person = Person::new(["one", "two", "three"].map(Turn::text));
    let run = |folder: &str, task: &str| {
        let ran = person.posse(&["run", "--json", "-C", folder, task]);
        ran.events()[0]["session"].as_str().unwrap().to_string()
    };
    let elsewhere = tempfile::tempdir().unwrap();
    let place = elsewhere.path().canonicalize().unwrap();
    let first = run(".", "first task");
    let second = run(".", "second task");
    let third = run(place.to_str().unwrap(), "third task");
    let short = |id: &str| id[28..].to_string();
    let (a, b, c) = (short(&first), short(&second), short(&third));
    let names = [(a.as_str(), "aaaaaaaa"), (b.as_str(), "bbbbbbbb"), (c.as_str(), "cccccccc")];
    let list = timeless(&person.posse(&["sessions", "list"]).stdout, &names);
    insta::assert_snapshot!(list);
    let all = person.posse(&["sessions", "list", "--all", "--json"]).events();
    assert_eq!(all.len(), 3);
    let folder = place.file_name().unwrap().to_str().unwrap();
    person.posse(&["sessions", "list", "--all"]).says(folder);
    let named = [("last", "second"), ("1", "second"), ("2", "first"), ("last~1", "first"), (&a, "first")];
    for (wanted, task) in named.into_iter().chain([(&first[..], "first"), (&c, "third")]) {
        let shown = person.posse(&["sessions", "show", wanted]);
        assert!(shown.stdout.contains(&format!("you: {task} task")), "{wanted}: {shown:#?}");
    }
    let ran = person.posse(&["sessions", "show", "7"]);
    assert_eq!(ran.code, Some(2));
    ran.says("there is no session 7: this project has 2; posse sessions list");
    let ran = person.posse(&["sessions", "show", &first[..2]]);
    assert!(ran.stderr.contains("names 3 sessions; `posse sessions list` shows their ids"), "{ran:#?}");
}

#[cfg(unix)]
#[test]
fn files_are_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let person = Person::new([Turn::text("ok")]);
    person.posse(&["run", "go"]);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&person.data_dir()), 0o700);
    let mut files = 0;
    for entry in std::fs::read_dir(person.data_dir()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
        files += 1;
    }
    assert!(files >= 1);
}

/// The chat shows lists in its own width.
#[test]
fn lists_are_as_wide_as_somebody_says_who_is_no_terminal() {
    let person = Person::new([Turn::text("Done.")]);
    let long = "sum up ".repeat(40);
    person.posse(&["run", &long]);
    let widest = |args: &[&str]| {
        let listed = person.posse(args);
        assert_eq!(listed.code, Some(0), "{listed:#?}");
        listed.stdout.lines().map(|line| line.chars().count()).max().unwrap()
    };
    let (usual, narrow) = (widest(&["sessions", "list"]), widest(&["sessions", "list", "--columns", "60"]));
    assert!(narrow <= 60 && narrow < usual, "{narrow} of {usual}");
    assert_eq!(
        widest(&["--columns", "1", "sessions", "list"]),
        widest(&["sessions", "list", "--columns", "20"])
    );
    let refused = person.posse(&["sessions", "list", "--columns", "0"]);
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    assert!(!person.posse(&["sessions", "list", "--help"]).stdout.contains("--columns"));
}
