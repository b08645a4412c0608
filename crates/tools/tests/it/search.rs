//! list_files, glob, grep and todo: what their answers look like.

use posse_protocol::Effect;
use serde_json::json;

use crate::Desk;

fn project() -> Desk {
    Desk::new(&[
        (".gitignore", "target\n"),
        ("README.md", "# Title\n"),
        ("src/main.rs", "fn main() {\n    run();\n}\n\nfn run() {}\n"),
        ("src/deep/lib.rs", "// run\n"),
        ("target/x.rs", "run\n"),
    ])
}

#[tokio::test]
async fn answers_are_short_and_in_order() {
    let desk = project();
    std::os::unix::fs::symlink("src", desk.at("alias")).unwrap();
    let cases = [
        ("list_files", json!({}), "README.md\nalias (link)\nsrc/\nsrc/deep/\nsrc/main.rs"),
        ("list_files", json!({"path": "src", "depth": 1}), "src/deep/\nsrc/main.rs"),
        ("list_files", json!({"path": null, "depth": "1"}), "README.md\nalias (link)\nsrc/"),
        ("glob", json!({"pattern": "*.rs"}), "src/deep/lib.rs\nsrc/main.rs"),
        ("glob", json!({"pattern": "*.rs", "path": "src/deep"}), "src/deep/lib.rs"),
        (
            "glob",
            json!({"pattern": "*.py"}),
            "No file has such a path. Ignored files are not searched. To find text inside files, call grep.",
        ),
        (
            "grep",
            json!({"pattern": "run"}),
            "src/deep/lib.rs\n1:// run\nsrc/main.rs\n2:    run();\n5:fn run() {}",
        ),
        (
            "grep",
            json!({"pattern": "run", "limit": 1}),
            "src/deep/lib.rs\n1:// run\n(only the first 1 matches; narrow the search)",
        ),
        ("grep", json!({"pattern": "main", "context": 1}), "src/main.rs\n1:fn main() {\n2-    run();"),
        (
            "grep",
            json!({"pattern": "RUN", "ignore_case": "true", "glob": "lib.rs"}),
            "src/deep/lib.rs\n1:// run",
        ),
        (
            "grep",
            json!({"pattern": "run("}),
            "src/main.rs\n2:    run();\n5:fn run() {}\n(nothing matches it as a regular expression, so it was searched for as plain text)",
        ),
        (
            "grep",
            json!({"pattern": "title", "path": "README.md"}),
            "No line matches. Ignored, hidden and binary files are not searched. Try a shorter pattern.",
        ),
        (
            "grep",
            json!({"pattern": "run", "glob": "*.py"}),
            "No line matches in files like *.py. Call grep again without glob.",
        ),
        // A regular expression that finds nothing may be code.
        (
            "grep",
            json!({"pattern": "run();", "path": "", "glob": ""}),
            "src/main.rs\n2:    run();\n(nothing matches it as a regular expression, so it was searched for as plain text)",
        ),
    ];
    let mut checked = 0;
    for (tool, arguments, expected) in cases {
        assert_eq!(desk.good(tool, arguments.clone()).await, expected, "{tool} {arguments}");
        checked += 1;
    }
    assert_eq!(checked, 14);
    let elsewhere = desk.bad("grep", json!({"pattern": "fn run", "path": "lib/run.rs"})).await;
    assert_eq!(elsewhere, "lib/run.rs is not there, so all files were searched:\nsrc/main.rs\n5:fn run() {}");
}

#[tokio::test]
async fn long_answers_are_cut() {
    let desk = Desk::new(&[]);
    for number in 0..700 {
        desk.put(&format!("d{}/f{number:03}.txt", number % 7), "needle\n".repeat(3));
    }
    let listed = desk.good("list_files", json!({})).await;
    assert!(listed.lines().count() <= 520 && listed.contains("more in d"), "{listed}");
    let found = desk.good("glob", json!({"pattern": "*.txt"})).await;
    assert!(found.ends_with("(200 of 700 shown; narrow the pattern)"), "{found}");
    let found = desk.good("grep", json!({"pattern": "needle", "limit": 100_000})).await;
    assert!(found.ends_with("(only the first 500 matches; narrow the search)"), "{found}");
}

#[tokio::test]
async fn a_list_is_kept_whole() {
    let desk = Desk::new(&[]);
    let items = json!([{"text": "look", "status": "done"}, {"content": "do\u{1b}[2J it", "status": "in_progress"}, {"text": "5", "status": "pending"}]);
    let expected = Effect::Todo { text: "[x] look\n[>] do\\u{1b}[2J it\n[ ] 5".into() };
    for items in [items.clone(), json!(items.to_string())] {
        let outcome = desk.call("todo", json!({"items": items})).await;
        assert_eq!(outcome.text, "The list is kept: 3 items, 2 not done.");
        assert_eq!(outcome.effects, std::slice::from_ref(&expected));
    }
    let too_many: Vec<_> = (0..51).map(|n| json!({"text": n.to_string(), "status": "done"})).collect();
    desk.bad("todo", json!({"items": too_many})).await;
    let text = desk.bad("todo", json!({"items": [{"text": "a", "status": "maybe"}]})).await;
    assert!(
        text.contains("`items[0].status`") && text.contains("\"pending\" | \"doing\" | \"done\""),
        "{text}"
    );
}
