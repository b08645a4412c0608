//! Who gets which tools, titles, and names that are not tools.

use posse_protocol::{Files, Grant, NameRules, Network, Shell};
use posse_tools::{ToolSettings, limits};
use serde_json::json;

use crate::{Desk, call_of, full};

fn names(grant: &Grant) -> String {
    let desk = Desk::with(&[], grant.clone(), ToolSettings::default());
    desk.tools.specs().iter().map(|spec| spec.name.clone()).collect::<Vec<_>>().join(" ")
}

#[tokio::test]
async fn the_grant_decides_what_is_offered_and_what_runs() {
    let reads = "read_file list_files glob grep";
    let rules = |allow: &[&str], deny: &[&str]| NameRules {
        allow: [allow.iter().map(|name| (*name).to_owned()).collect()].into(),
        deny: deny.iter().map(|name| (*name).to_owned()).collect(),
    };
    let cases = [
        (
            full(),
            "read_file write_file edit_file list_files glob grep shell jobs todo ask_person web_fetch"
                .to_owned(),
        ),
        (Grant::none(), "todo ask_person".to_owned()),
        (Grant { files: Files::Read, ..Grant::none() }, format!("{reads} todo ask_person")),
        (
            Grant { network: Network::None, ..full() },
            "read_file write_file edit_file list_files glob grep shell jobs todo ask_person".to_owned(),
        ),
        (
            Grant { files: Files::Read, shell: Shell::Verify, ..Grant::none() },
            format!("{reads} shell jobs todo ask_person"),
        ),
        (
            Grant { files: Files::Read, shell: Shell::Inspect, ..Grant::none() },
            format!("{reads} shell jobs todo ask_person"),
        ),
        (Grant { tools: rules(&["*_file"], &["write*"]), ..full() }, "read_file edit_file".to_owned()),
    ];
    let mut refused = 0;
    for (grant, offered) in cases {
        assert_eq!(names(&grant), offered);
        let desk = Desk::with(&[("a", "x")], grant, ToolSettings::default());
        let calls = [
            ("write_file", json!({"path": "new", "content": "x"})),
            ("edit_file", json!({"path": "a", "old_text": "x", "new_text": "y"})),
            ("shell", json!({"command": "touch new"})),
            ("read_file", json!({"path": "a"})),
        ];
        for (tool, arguments) in calls {
            if !offered.contains(tool) {
                let outcome = desk.tools.prepare(&call_of(tool, arguments.to_string())).unwrap_err();
                assert!(!outcome.ok && outcome.text.starts_with("this agent"), "{}", outcome.text);
                refused += 1;
            }
        }
        if !offered.contains("write") && !offered.contains("shell") {
            assert!(!desk.at("new").exists());
        }
    }
    assert_eq!(refused, 4 + 3 + 2 * 2 + 2);
}

#[test]
fn unknown_tools_are_answered_with_the_known() {
    let desk = Desk::new(&[]);
    let cases = [
        ("bash", "Did you mean shell?"),
        ("readfile", "Did you mean read_file?"),
        ("Edit", "Did you mean edit_file?"),
        ("ls", "Did you mean list_files?"),
        ("str_replace", "Did you mean edit_file?"),
        ("WebFetch", "Did you mean web_fetch?"),
        ("qqqqq", "qqqqq, so nothing was done. Go on with these tools:"),
        ("", "There is no tool ,"),
        ("read_file\n", "Did you mean read_file?"),
    ];
    for (name, hint) in cases {
        let text = desk.tools.prepare(&call_of(name, "{}")).unwrap_err().text;
        assert!(
            text.contains(hint) && text.ends_with("shell, jobs, todo, ask_person, web_fetch."),
            "{name}: {text}"
        );
    }
    let long = desk.tools.prepare(&call_of(&"x".repeat(1_000_000), "{}")).unwrap_err().text;
    assert!(long.len() < 1_000);
}

#[test]
fn titles_are_one_harmless_line() {
    let desk = Desk::new(&[]);
    let cases = [
        ("read_file", json!({"path": "src/a.rs"}), "read_file src/a.rs"),
        (
            "read_file",
            json!({"path": "src/a.rs", "start_line": 10, "end_line": 40}),
            "read_file src/a.rs:10-40",
        ),
        ("read_file", json!({"path": "a", "start_line": 5}), "read_file a:5-"),
        ("shell", json!({"command": "cargo test"}), "shell cargo test"),
        ("shell", json!({"command": "a\nb"}), "shell a\\nb"),
        ("shell", json!({"command": "\u{1b}[2J\u{202e}x\r"}), "shell \\u{1b}[2J\\u{202e}x\\r"),
        ("grep", json!({"pattern": "x", "path": "src"}), "grep x in src"),
        ("list_files", json!({}), "list_files ."),
        (
            "todo",
            json!({"items": [{"text": "a", "status": "done"}, {"text": "b", "status": "doing"}]}),
            "todo 1 of 2 done: b",
        ),
    ];
    for (tool, arguments, title) in cases {
        let prepared = desk.tools.prepare(&call_of(tool, arguments.to_string())).unwrap();
        assert_eq!(prepared.title(), title);
        assert_eq!(prepared.read_only(), !matches!(tool, "shell" | "write_file" | "edit_file"));
    }
    for filler in ["x", "\u{1b}", "日", "\n", "e\u{301}"] {
        let call = call_of("shell", json!({"command": filler.repeat(500)}).to_string());
        let title = desk.tools.prepare(&call).map(|prepared| prepared.title()).unwrap();
        assert!(
            title.chars().count() <= limits::TITLE_CHARS_MAX && !title.contains(char::is_control),
            "{title}"
        );
    }
}
