//! Hostile paths, files and patterns through every file tool: nothing leaks, nothing hangs, nothing outside changes.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{Desk, fifo};

/// Links by name and target. `OUT` stands for the absolute name of the folder around the workspace.
const LINKS: &[(&str, &str)] = &[
    ("up", ".."),
    ("up-file", "../secret"),
    ("abs", "OUT"),
    ("abs-file", "OUT/secret"),
    ("abs-inside", "OUT/project/a.txt"),
    ("root", "/"),
    ("proc", "/proc/self/root"),
    ("chain1", "chain2"),
    ("chain2", "up-file"),
    ("dangling", "nowhere"),
    ("dangling-out", "../nowhere"),
    ("loop", "loop"),
    ("hooks", ".git/hooks"),
    ("fifo-link", "fifo"),
    ("null", "/dev/null"),
];

/// Paths that lead out or nowhere, whichever tool is asked.
const OUT: &[&str] = &[
    "../secret",
    "..",
    "/",
    "/etc/passwd",
    "/etc/shadow",
    "~/.ssh/id_rsa",
    "a.txt/../../secret",
    "./../secret",
    "src/../../secret",
    "OUT/secret",
    "//etc/passwd",
    "/proc/self/environ",
    "/dev/zero",
    "/dev/stdin",
    "up/secret",
    "up-file",
    "abs/secret",
    "abs-file",
    "abs-inside",
    "root/etc/passwd",
    "proc/etc/passwd",
    "chain1",
    "dangling",
    "dangling-out",
    "loop",
    "null",
    "fifo",
    "fifo-link",
    "socket",
    "a\u{0}b",
    "a.txt/x",
];

fn desk() -> Desk {
    let desk = Desk::new(&[
        ("a.txt", "inside\n"),
        ("src/b.txt", "b\n"),
        (".git/config", "[core]\n"),
        (".git/hooks/pre-commit", "hook\n"),
    ]);
    let out = desk.outer.path().to_str().unwrap().to_owned();
    for (name, target) in LINKS {
        symlink(target.replace("OUT", &out), desk.at(name)).unwrap();
    }
    fifo(&desk.at("fifo"));
    fs::File::create(desk.at("sparse")).unwrap().set_len(10 << 30).unwrap();
    desk
}

/// Everything around and in the workspace, with what it says.
fn snapshot(desk: &Desk) -> Vec<(String, Vec<u8>)> {
    fn visit(folder: &std::path::Path, into: &mut Vec<(String, Vec<u8>)>) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let kind = entry.file_type().unwrap();
            let small = kind.is_file() && entry.metadata().unwrap().len() < 1_000_000;
            let content = if small { fs::read(entry.path()).unwrap() } else { Vec::new() };
            into.push((entry.path().display().to_string(), content));
            if kind.is_dir() {
                visit(&entry.path(), into);
            }
        }
    }
    let mut all = Vec::new();
    visit(desk.outer.path(), &mut all);
    all.sort();
    all
}

async fn in_time(desk: &Desk, tool: &str, arguments: Value) -> posse_protocol::ToolOutcome {
    let call = desk.call(tool, arguments.clone());
    tokio::time::timeout(Duration::from_secs(10), call)
        .await
        .unwrap_or_else(|_| panic!("{tool} {arguments} hangs"))
}

#[tokio::test]
async fn no_path_leads_out_through_any_tool() {
    let desk = desk();
    let _listener = UnixListener::bind(desk.at("socket")).unwrap();
    let before = snapshot(&desk);
    let out = desk.outer.path().to_str().unwrap().to_owned();
    let mut attempts = 0;
    for path in OUT.iter().map(|path| path.replace("OUT", &out)) {
        let calls = [
            ("read_file", json!({"path": path})),
            ("write_file", json!({"path": path, "content": "escaped"})),
            ("write_file", json!({"path": format!("{path}/new/deep"), "content": "escaped"})),
            ("edit_file", json!({"path": path, "old_text": "secret", "new_text": "escaped"})),
            ("list_files", json!({"path": path})),
            ("glob", json!({"pattern": "*", "path": path})),
            ("grep", json!({"pattern": "secret|root", "path": path})),
        ];
        for (tool, arguments) in calls {
            let outcome = in_time(&desk, tool, arguments.clone()).await;
            assert!(!outcome.ok && outcome.effects.is_empty(), "{tool} {arguments}: {}", outcome.text);
            attempts += 1;
        }
    }
    assert_eq!(attempts, 31 * 7);
    assert_eq!(snapshot(&desk), before);
}

#[tokio::test]
async fn git_internals_are_not_written() {
    let desk = desk();
    let before = snapshot(&desk);
    let paths = [
        ".git/config",
        ".git/hooks/pre-commit",
        ".git/hooks/post-commit",
        ".GIT/config",
        "hooks/new",
        "hooks/pre-commit",
        "src/.git/config",
        "src/.git",
        "./.git/x",
        "src/../.git/x",
    ];
    for path in paths {
        desk.bad("write_file", json!({"path": path, "content": "#!/bin/sh\n"})).await;
        desk.bad("edit_file", json!({"path": path, "old_text": "o", "new_text": "0"})).await;
    }
    assert_eq!(snapshot(&desk), before);
}

#[tokio::test]
async fn hard_but_fair_calls_are_answered() {
    let desk = desk();
    let long_name = "n".repeat(300);
    let cases: Vec<(&str, Value, bool, &str)> = vec![
        ("read_file", json!({"path": "sparse"}), false, "10737418240 bytes"),
        ("edit_file", json!({"path": "sparse", "old_text": "a", "new_text": "b"}), false, "more than the"),
        ("write_file", json!({"path": "sparse", "content": "a"}), false, "more than the"),
        ("grep", json!({"pattern": "x", "path": "sparse"}), true, "No line matches"),
        ("read_file", json!({"path": ""}), false, "is a folder"),
        ("read_file", json!({"path": "   "}), false, "is a folder"),
        ("read_file", json!({"path": " a.txt "}), true, "inside"),
        ("read_file", json!({"path": "./src/../a.txt"}), true, "inside"),
        ("read_file", json!({"path": "src/"}), false, "is a folder"),
        ("read_file", json!({"path": long_name}), false, "too long"),
        ("read_file", json!({"path": "x/".repeat(5_000)}), false, "too long"),
        ("read_file", json!({"path": "a.txt", "start_line": u64::MAX}), false, "only 1 lines"),
        (
            "read_file",
            json!({"path": "a.txt", "start_line": u64::MAX, "limit": u64::MAX}),
            false,
            "only 1 lines",
        ),
        ("read_file", json!({"path": "a.txt", "limit": 0}), false, "end_line is before"),
        ("read_file", json!({"path": ".git/config"}), true, "[core]"),
        ("read_file", json!({"path": "\u{202e}txt.a"}), false, "is not there"),
        ("write_file", json!({"path": "", "content": "x"}), false, "is a folder"),
        ("write_file", json!({"path": "src", "content": "x"}), false, "is a folder"),
        ("write_file", json!({"path": long_name, "content": "x"}), false, "too long"),
        ("write_file", json!({"path": "a.txt/b", "content": "x"}), false, "not a folder"),
        ("write_file", json!({"path": "fifo", "content": "x"}), false, "named pipe"),
        ("write_file", json!({"path": "new file ü.txt", "content": "\u{feff}x\r\n\u{0}"}), true, "Created"),
        ("read_file", json!({"path": "new file ü.txt"}), false, "not text"),
        ("write_file", json!({"path": "-rf", "content": "x"}), true, "Created"),
        ("write_file", json!({"path": "$(touch pwned)", "content": "x"}), true, "Created"),
        ("write_file", json!({"path": "a\nb", "content": "x"}), true, "Created"),
        ("list_files", json!({"depth": 4_000_000_000_u32}), true, "src/b.txt"),
        ("list_files", json!({"depth": 0}), true, "a.txt"),
        ("list_files", json!({"path": "a.txt"}), false, "is a file"),
        ("list_files", json!({"path": ".git"}), true, "config"),
        ("glob", json!({"pattern": "["}), false, "cannot be used"),
        ("glob", json!({"pattern": "../*"}), false, "relative"),
        ("glob", json!({"pattern": "/etc/*"}), false, "relative"),
        ("glob", json!({"pattern": "{a,".repeat(100)}), false, "cannot be used"),
        ("glob", json!({"pattern": "*".repeat(4_000)}), true, ""),
        ("glob", json!({"pattern": ""}), false, "empty"),
        ("grep", json!({"pattern": "(a*)*b"}), true, ""),
        ("grep", json!({"pattern": "a{1000}{1000}{1000}"}), true, "plain text"),
        ("grep", json!({"pattern": "(((("}), true, "plain text"),
        ("grep", json!({"pattern": "a\nb"}), false, "line break"),
        ("grep", json!({"pattern": "\\n"}), true, "plain text"),
        ("grep", json!({"pattern": ""}), false, "empty"),
        ("grep", json!({"pattern": "secret"}), true, "No line matches"),
        ("grep", json!({"pattern": "hook"}), true, "No line matches"),
        ("grep", json!({"pattern": "inside", "context": 4_000_000_000_u32}), true, "1:inside"),
        ("grep", json!({"pattern": "inside", "limit": 0}), true, "1:inside"),
        ("grep", json!({"pattern": "inside", "glob": "../*"}), false, "relative"),
        (
            "edit_file",
            json!({"path": "a.txt", "old_text": "inside", "new_text": "x".repeat(200_000)}),
            true,
            "Edited",
        ),
        ("edit_file", json!({"path": "src", "old_text": "a", "new_text": "b"}), false, "is a folder"),
        ("edit_file", json!({"path": "fifo", "old_text": "a", "new_text": "b"}), false, "named pipe"),
        ("shell", json!({"command": "\u{202e}echo"}), false, "exit code 127"),
        ("shell", json!({"command": "cat fifo", "timeout_ms": 100}), false, "not done within"),
        ("shell", json!({"command": "echo x", "timeout_ms": 0}), true, "exit code 0\nx"),
        ("shell", json!({"command": "(".repeat(10_000)}), false, "exit code"),
        ("shell", json!({"command": "x".repeat(1_000_000)}), false, "could not be started"),
        ("shell", json!({"command": "head -c 3000000 /dev/zero | tr '\\0' y"}), true, "bytes left out here"),
        ("shell", json!({"command": "ls pwned"}), false, "exit code 2"),
        ("todo", json!({"items": []}), true, "0 items"),
        ("web_fetch", json!({"url": "file:///etc/passwd"}), false, "only http and https"),
        ("web_fetch", json!({"url": "http://127.0.0.1:9/"}), false, "not on the public network"),
        ("web_fetch", json!({"url": "not an address"}), false, "no web address"),
        ("web_fetch", json!({"url": "http://user:pw@example.com/"}), false, "user name"),
    ];
    let mut checked = 0;
    for (tool, arguments, ok, part) in cases {
        let shown: String = arguments.to_string().chars().take(100).collect();
        let outcome = in_time(&desk, tool, arguments).await;
        assert_eq!(
            (outcome.ok, outcome.text.contains(part)),
            (ok, true),
            "{tool} {shown}: {}",
            &outcome.text[..outcome.text.floor_char_boundary(500)]
        );
        assert!(outcome.text.len() <= posse_tools::limits::OUTCOME_BYTES_MAX + 100, "{tool} {shown}");
        checked += 1;
    }
    assert_eq!(checked, 62);
}
