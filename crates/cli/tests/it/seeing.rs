//! What people see: every character that hides is written out by every command and none is dropped; no name forges a line;
//! JSON says the same without acting on a terminal.

use posse_testkit::{FakeModel, Fixture, Turn, asker, hidden_characters};
use serde_json::{Value, json};

use crate::posse::{Person, Ran};

/// A text with every character that hides, each behind a letter.
fn hidden() -> String {
    hidden_characters().into_iter().filter(|c| *c != '\0').map(|c| format!("x{c}")).collect()
}

/// How one of them is shown.
fn escaped(c: char) -> String {
    if c == '\r' { "x\\r".to_string() } else { format!("x{}", c.escape_unicode()) }
}

/// What must be left of them.
const NOTHING: [char; 0] = [];

fn raw(text: &str) -> Vec<char> {
    let hides = hidden_characters();
    text.chars().filter(|c| hides.contains(c)).collect()
}

/// A name that would forge a line, and turn the next one round.
const NAME: &str = "a\u{202e}b\n✓ completed: all is well\u{9b}2J.txt";
const NAME_SHOWN: &str = "a\\u{202e}b\\n✓ completed: all is well\\u{9b}2J.txt";

fn person() -> Person {
    let odd = hidden();
    let agent = format!(
        "---\nname: odd\ndescription: Odd.\npermissionMode: bypassPermissions\n---\nBegin.\n{odd}\nEnd.\n"
    );
    let skill = format!("---\nname: odd\ndescription: Odd.\n---\nBegin.\n{odd}\nEnd.\n");
    let project = Fixture::new()
        .file("main.py", "print('hi')\n")
        .file(".posse/agents/odd.md", &agent)
        .file(".posse/skills/odd/SKILL.md", &skill)
        .git();
    let start =
        json!({"action": "start", "name": "ann", "role": "general", "prompt": format!("Do it. {odd}")});
    let first = Turn::text(format!("findable {odd}"))
        .and_call("write_file", json!({"path": "odd.txt", "content": format!("{odd}\n")}))
        .and_call("remember", json!({"text": format!("note {odd}").chars().take(600).collect::<String>()}))
        .and_call("shell", json!({"command": format!("printf x > '{NAME}'; printf '%s' '{odd}'")}))
        .and_call("shell", json!({"command": format!("false {odd}"), "outside_sandbox": true}))
        .and_call("no such tool \u{1b}]0;x\u{7}\u{202e}", json!({}))
        .and_call("agent", start);
    let report =
        format!("SUMMARY: I did this: {odd}\nCHANGES: None.\nEVIDENCE: None.\nRISKS: None.\nBLOCKERS: None.");
    let model = FakeModel::by_rule_blocking(move |request| {
        let request = request.json();
        let told = request["messages"].as_array().map_or(0, Vec::len);
        match (asker(&request).as_str(), told) {
            ("ann", _) => Turn::text(report.clone()),
            (_, 2) => first.clone(),
            (_, 3..=9) => Turn::call("agent", json!({"action": "wait"})),
            _ => Turn::text(format!("The answer: {odd}")),
        }
    });
    Person::with_model(model, project)
}

fn both(ran: &Ran) -> String {
    format!("{}{}", ran.stdout, ran.stderr)
}

#[test]
fn no_command_shows_what_hides_as_it_is_or_drops_it() {
    let person = person();
    let odd = hidden();
    let asked = format!("go {odd}");
    let ran = person.posse(&["run", &asked]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let note = "1";
    // Those of which every character is expected, and the others.
    let whole: [&[&str]; 7] = [
        &["sessions", "show", "last"],
        &["sessions", "export", "last"],
        &["diff"],
        &["trust"],
        &["agents", "show", "odd"],
        &["skills", "show", "odd"],
        &["memory", "show", note],
    ];
    let part: [&[&str]; 23] = [
        &["sessions", "list"],
        &["sessions", "search", "findable"],
        &["sessions", "search", &odd],
        &["sessions", "prune", "--older-than", "1ms", "--dry-run"],
        &["tasks"],
        &["agents", "list", "--all"],
        &["agents", "check", "--verbose"],
        &["agents", "show", &odd],
        &["skills", "list"],
        &["skills", "show", &odd],
        &["memory", "list"],
        &["stats"],
        &["config", "show"],
        &["config", "path"],
        &["sessions", "show", &odd],
        &["sessions", "delete", &odd],
        &["diff", "--agent", &odd],
        &["merge", &odd],
        &["undo", "--agent", &odd],
        &["run", "-C", &odd, "go"],
        &["run", "--model", &odd, "go"],
        &["resume", &odd],
        &[&odd],
    ];
    let mut checked = 0;
    for c in hidden_characters().into_iter().filter(|c| *c != '\0') {
        assert!(ran.stdout.contains(&escaped(c)), "posse run drops {c:?}");
    }
    for (args, all) in whole.iter().map(|args| (args, true)).chain(part.iter().map(|args| (args, false))) {
        let ran = person.posse(args);
        let text = both(&ran);
        assert_eq!(raw(&text), NOTHING, "{args:?}: {text}");
        assert!(!text.contains("\n✓ completed: all is well"), "{args:?}: {text}");
        let cut = args.first() == Some(&"memory");
        // Files of roles and skills are read with one kind of line end.
        let read = matches!(args.first(), Some(&"agents" | &"skills"));
        let expected = |c: &char| all && !cut && *c != '\0' && !(read && *c == '\r');
        for c in hidden_characters().into_iter().filter(expected) {
            assert!(text.contains(&escaped(c)), "{args:?} drops {c:?}: {text}");
        }
        checked += 1;
    }
    for args in [&["undo", "--session"][..], &["redo"]] {
        let ran = person.posse(args);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        ran.says(NAME_SHOWN);
        assert_eq!(raw(&both(&ran)), NOTHING, "{args:?}");
        checked += 1;
    }
    assert_eq!(raw(&both(&ran)), NOTHING, "posse run");
    assert_eq!(checked, 32);
    ran.says(&format!("{NAME_SHOWN} ("));
    assert!(!ran.stderr.contains("\n✓ completed: all is well"), "{}", ran.stderr);
}

#[test]
fn json_says_the_same_and_a_terminal_sees_none_of_it() {
    let person = person();
    let odd = hidden();
    let ran = person.posse(&["run", "--json", &format!("go {odd}")]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let lists: [&[&str]; 12] = [
        &["sessions", "list", "--json"],
        &["sessions", "show", "last", "--json"],
        &["sessions", "search", "findable", "--json"],
        &["sessions", "export", "last", "--format", "jsonl"],
        &["tasks", "--json"],
        &["agents", "list", "--all", "--json"],
        &["agents", "show", "odd", "--json"],
        &["skills", "list", "--json"],
        &["skills", "show", "odd", "--json"],
        &["memory", "list", "--json"],
        &["memory", "show", "1", "--json"],
        &["stats", "--json"],
    ];
    let holds = |values: &[Value], part: &str| {
        fn within(value: &Value, part: &str) -> bool {
            match value {
                Value::String(text) => text.contains(part),
                Value::Array(values) => values.iter().any(|value| within(value, part)),
                Value::Object(fields) => fields.values().any(|value| within(value, part)),
                _ => false,
            }
        }
        values.iter().any(|value| within(value, part))
    };
    assert_eq!(raw(&ran.stdout), NOTHING, "posse run --json");
    assert!(holds(&ran.events(), &odd) && holds(&ran.events(), NAME));
    for args in lists {
        let listed = person.posse(args);
        assert_eq!(raw(&both(&listed)), NOTHING, "{args:?}");
        let values = listed.events();
        let whole = matches!(args, ["sessions", "show" | "export", ..] | ["agents" | "skills", "show", ..]);
        let text = if args[0] == "sessions" { odd.clone() } else { odd.replace('\r', "\n") };
        assert!(!whole || holds(&values, &text), "{args:?}: {}", listed.stdout);
    }
    // A file of an export is looked at in a terminal, too.
    for format in ["jsonl", "markdown"] {
        let path = person.project.path().join(format!("export.{format}"));
        let out =
            person.posse(&["sessions", "export", "last", "--format", format, "-o", path.to_str().unwrap()]);
        assert_eq!(out.code, Some(0), "{out:#?}");
        assert_eq!(raw(&std::fs::read_to_string(path).unwrap()), NOTHING, "{format}");
    }
}
