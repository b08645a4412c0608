//! Arguments that are cut, wrong, unknown or deep run nothing (promise M2); those whose meaning is clear run.

use serde_json::{Value, json};

use crate::{Desk, call_of};

/// One valid call of each tool that leaves a trace when it runs.
fn valid() -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({"path": "a", "start_line": 1, "end_line": 2})),
        ("write_file", json!({"path": "new", "content": "x\n\"quoted\" ü 日"})),
        ("edit_file", json!({"path": "a", "old_text": "x", "new_text": "y", "replace_all": false})),
        ("list_files", json!({"path": ".", "depth": 2})),
        ("glob", json!({"pattern": "*.rs", "path": "."})),
        (
            "grep",
            json!({"pattern": "x", "path": ".", "glob": "*", "ignore_case": true, "context": 1, "limit": 5}),
        ),
        ("shell", json!({"command": "touch ran", "timeout_ms": 1000})),
        ("todo", json!({"items": [{"text": "a", "status": "done"}]})),
        ("ask_person", json!({"question": "a?", "choices": ["b", "c"]})),
        ("web_fetch", json!({"url": "http://127.0.0.1:9/"})),
    ]
}

#[test]
fn arguments_cut_at_any_byte_are_refused() {
    let desk = Desk::new(&[("a", "x")]);
    let mut cut = 0;
    for (tool, arguments) in valid() {
        let whole = arguments.to_string();
        assert!(desk.tools.prepare(&call_of(tool, whole.clone())).is_ok(), "{tool}");
        for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
            let refused = desk.tools.prepare(&call_of(tool, &whole[..end])).expect_err(&whole[..end]);
            assert!(!refused.ok && refused.text.contains("Nothing was run."), "{}", refused.text);
            cut += 1;
        }
    }
    assert_eq!(cut, 422);
    assert!(!desk.at("new").exists() && !desk.at("ran").exists());
}

#[test]
fn wrong_types_name_the_field() {
    let desk = Desk::new(&[]);
    let wrong =
        [json!(true), json!(1.5), json!(-1), json!([1]), json!({"a": 1}), json!("words"), json!(null)];
    let mut refused = 0;
    for (tool, arguments) in valid() {
        for field in arguments.as_object().unwrap().keys() {
            for value in &wrong {
                let mut changed = arguments.clone();
                changed[field] = value.clone();
                let Err(outcome) = desk.tools.prepare(&call_of(tool, changed.to_string())) else { continue };
                assert!(outcome.text.contains(&format!("`{field}")), "{changed}: {}", outcome.text);
                assert!(outcome.text.contains("Expected: {"), "{}", outcome.text);
                refused += 1;
            }
        }
    }
    assert!(refused > 100, "only {refused}");
}

#[test]
fn what_is_wrong_is_said() {
    let desk = Desk::new(&[]);
    let shape = "Expected: {\"command\": string, \"timeout_ms\"?: integer, \"background\"?: boolean, \"outside_sandbox\"?: boolean}\nNothing was run. Correct the arguments and call again.";
    let cases = [
        ("", "shell: The arguments are empty; send a JSON object, {} if there is nothing to say. "),
        ("{}", "shell: missing field `command`. "),
        ("[]", "shell: The arguments are not a JSON object. "),
        ("null", "shell: The arguments are not a JSON object. "),
        ("\"ls\"", "shell: The arguments are a string, not a JSON object. "),
        ("{\"command\": 5}", "shell: `command`: invalid type: integer `5`, expected a string. "),
        (
            "{\"command\": \"ls\", \"timout_ms\": 5}",
            "shell: There is no field `timout_ms`; did you mean `timeout_ms`? ",
        ),
        ("{\"command\": \"ls\", \"zzz\": 5}", "shell: There is no field `zzz`. "),
        (
            "{\"command\": \"ls\"} {}",
            "shell: The arguments are not valid JSON: trailing characters at line 1 column 19. ",
        ),
        (
            "{'command': 'ls'}",
            "shell: The arguments are not valid JSON: key must be a string at line 1 column 2. ",
        ),
        (
            "{\"command\": \"ls\", \"cmd\": \"rm\"}",
            "shell: There is no field `cmd`; did you mean `command`? ",
        ),
        (
            "{\"command\": \"ls\", \"timeout_ms\": \"soon\"}",
            "shell: `timeout_ms`: invalid type: string \"soon\", expected u64. ",
        ),
    ];
    for (arguments, expected) in cases {
        let text = desk.tools.prepare(&call_of("shell", arguments)).unwrap_err().text;
        assert_eq!(text, format!("{expected}{shape}"), "{arguments}");
    }
}

#[test]
fn deep_and_huge_arguments_are_refused_without_harm() {
    let desk = Desk::new(&[]);
    let deep =
        |open: &str, close: &str, levels: usize| format!("{}{}", open.repeat(levels), close.repeat(levels));
    let cases = [
        deep("[", "]", 100_000),
        deep("{\"a\":", "}", 100_000),
        format!("{{\"items\": {}}}", deep("[", "]", 100_000)),
        format!("{{\"items\": {}}}", deep("[", "]", 100)),
        format!("{{\"items\": \"{}\"}}", deep("[", "]", 100_000)),
        format!("{{\"items\": \"{}\"}}", "x".repeat(5_000_000)),
        "\"".repeat(1000),
        "{\"items\": [{\"text\": \"\\ud800\", \"status\": \"done\"}]}".to_owned(),
        format!("{{\"items\": [{}]}}", vec!["1e999"; 1000].join(",")),
        "\u{0}".to_owned(),
    ];
    let mut refused = 0;
    for arguments in &cases {
        let text = desk.tools.prepare(&call_of("todo", arguments.as_str())).unwrap_err().text;
        assert!(text.len() < 1_000, "{text}");
        refused += 1;
    }
    assert_eq!(refused, 10);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_arguments_are_answered(words in "([{}\\[\\]\":,]|null|true|1e9|-1|\"path\"|\"items\"|\"command\"|\\\\|\\PC){0,40}") {
        let desk = Desk::new(&[]);
        for spec in desk.tools.specs() {
            if let Err(refused) = desk.tools.prepare(&call_of(&spec.name, words.as_str())) {
                assert!(!refused.ok && refused.text.len() < 2_000, "{}", refused.text);
            }
        }
    }
}

#[test]
fn clear_meanings_are_taken() {
    let desk = Desk::new(&[]);
    let cases = [
        ("read_file", r#"{"file_path": "a"}"#, "read_file a"),
        ("read_file", r#"{"filename": "a", "offset": "10", "limit": "5"}"#, "read_file a:10-14"),
        ("read_file", r#"{"path": "a", "start_line": 3.0, "end_line": null}"#, "read_file a:3-"),
        ("read_file", r#"{"path": "a", "start_line": " 7 ", "end_line": "9"}"#, "read_file a:7-9"),
        ("read_file", r#""{\"path\": \"a\"}""#, "read_file a"),
        (
            "edit_file",
            r#"{"file": "a", "old_string": "x", "new_string": "y", "replace_all": "True"}"#,
            "edit_file a",
        ),
        ("write_file", r#"{"path": "a", "contents": "5"}"#, "write_file a"),
        ("write_file", r#"{"path": "7", "content": "true"}"#, "write_file 7"),
        ("shell", r#"{"cmd": "ls", "timeout_s": "5"}"#, "shell ls"),
        ("list_files", "{}", "list_files ."),
        ("list_files", r#"{"directory": "src", "depth": ""}"#, ""),
        ("grep", r#"{"query": "x", "-i": true}"#, "grep x"),
        ("todo", r#"{"todos": [{"content": "9", "status": "completed"}]}"#, "todo 1 of 1 done"),
    ];
    for (tool, arguments, title) in cases {
        let prepared = desk.tools.prepare(&call_of(tool, arguments));
        let got = prepared.map(|prepared| prepared.title()).unwrap_or_default();
        assert_eq!(got, title, "{arguments}");
    }
}
