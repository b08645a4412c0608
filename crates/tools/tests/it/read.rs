//! read_file: windows, long lines, huge files, odd bytes.

use std::fs;

use serde_json::json;

use crate::Desk;

#[tokio::test]
async fn lines_come_numbered() {
    let desk = Desk::new(&[("a", "one\ntwo\nthree\nfour\nfive\n"), ("no-end", "x\ny"), ("empty", "")]);
    let cases = [
        (json!({"path": "a"}), "1\tone\n2\ttwo\n3\tthree\n4\tfour\n5\tfive"),
        (
            json!({"path": "a", "start_line": 2, "end_line": 3}),
            "2\ttwo\n3\tthree\n(lines 2-3 of 5; go on with start_line 4)",
        ),
        (json!({"path": "a", "start_line": 4}), "4\tfour\n5\tfive\n(lines 4-5 of 5)"),
        (json!({"path": "a", "end_line": 1}), "1\tone\n(lines 1-1 of 5; go on with start_line 2)"),
        (json!({"path": "a", "offset": 5, "limit": 10}), "5\tfive\n(lines 5-5 of 5)"),
        (json!({"path": "a", "start_line": 0, "end_line": 99}), "1\tone\n2\ttwo\n3\tthree\n4\tfour\n5\tfive"),
        (json!({"path": "no-end"}), "1\tx\n2\ty"),
        (json!({"path": "empty"}), "(the file is empty)"),
    ];
    for (arguments, expected) in cases {
        assert_eq!(desk.good("read_file", arguments.clone()).await, expected, "{arguments}");
    }
    let past = desk.bad("read_file", json!({"path": "a", "start_line": 9})).await;
    assert_eq!(past, "the file has only 5 lines; line 9 is past its end");
    desk.bad("read_file", json!({"path": "a", "start_line": 4, "end_line": 2})).await;
}

#[tokio::test]
async fn large_files_come_in_pieces() {
    let desk = Desk::new(&[]);
    let many: String = (1..=5_000).map(|n| format!("line {n}\n")).collect();
    desk.put("many", &many);
    let text = desk.read("many").await;
    assert!(
        text.starts_with("1\tline 1\n")
            && text.ends_with("2000\tline 2000\n(lines 1-2000 of 5000; go on with start_line 2001)")
    );
    desk.put("wide", format!("{}\n", "x".repeat(1_000)).repeat(200));
    let text = desk.read("wide").await;
    assert!(
        text.len() < 52 * 1024 && text.ends_with("of 200; go on with start_line 52)"),
        "{}",
        &text[text.len() - 80..]
    );
    desk.put("long", format!("{}\nnext\n", "ü".repeat(5_000)));
    let text = desk.read("long").await;
    assert_eq!(text, format!("1\t{}… (10000 bytes in this line)\n2\tnext", "ü".repeat(1_000)));
}

#[tokio::test]
async fn files_of_any_size_take_little_time() {
    let desk = Desk::new(&[]);
    fs::File::create(desk.at("sparse")).unwrap().set_len(10 << 30).unwrap();
    assert_eq!(
        desk.bad("read_file", json!({"path": "sparse"})).await,
        "sparse is not text: binary data, 10737418240 bytes. Use shell to inspect it."
    );
    // Text at the start, then ten gigabytes in one line.
    desk.put("tail", format!("{}\n", "text\n".repeat(2_000)));
    fs::OpenOptions::new().write(true).open(desk.at("tail")).unwrap().set_len(10 << 30).unwrap();
    let text = desk.good("read_file", json!({"path": "tail", "end_line": 2})).await;
    assert_eq!(text, "1\ttext\n2\ttext\n(lines 1-2 of a very large file)");
    let text = desk.bad("read_file", json!({"path": "tail", "start_line": 9_000})).await;
    assert!(text.starts_with("line 9000 is not within the first"), "{text}");
}

#[tokio::test]
async fn odd_bytes_are_shown_as_they_can_be() {
    let desk = Desk::new(&[]);
    let crlf = "(lines end in CRLF; edit_file takes and keeps care of that)";
    let cases: &[(&[u8], &str)] = &[
        (b"a\r\nb\r\n", &format!("1\ta\n2\tb\n{crlf}")),
        (b"a\r\nb\n", "1\ta\n2\tb\n(some lines end in CRLF; edit_file takes and keeps care of that)"),
        (b"\xEF\xBB\xBFbom\n", "1\tbom"),
        (b"caf\xe9\n", "1\tcaf\u{fffd}\n(bytes that are not UTF-8 are shown as \u{fffd})"),
        ("\u{202e}bidi\n".as_bytes(), "1\t\u{202e}bidi"),
        (b"\n\n", "1\t\n2\t"),
        (b"\xEF\xBB\xBF", "(the file is empty)"),
    ];
    for (bytes, expected) in cases {
        desk.put("odd", bytes);
        assert_eq!(desk.read("odd").await, *expected, "{}", bytes.escape_ascii());
    }
    for (bytes, kind) in [
        (b"\x89PNG\r\n\x1a\n\0".as_slice(), "PNG image"),
        (b"\xff\xfea\0", "UTF-16 text"),
        (b"a\0", "binary data"),
    ] {
        desk.put("odd", bytes);
        assert!(desk.bad("read_file", json!({"path": "odd"})).await.contains(kind), "{kind}");
    }
}

#[tokio::test]
async fn a_missing_file_among_very_many_is_answered_with_those_near_it() {
    let desk =
        Desk::new(&[("z/deep/down/wanted.rs", ""), ("z/deep/other.rs", ""), (".gitignore", "*.out\n")]);
    // More than is looked at, and before the others in order.
    for folder in 0..45 {
        for number in 0..100 {
            desk.put(&format!("a/{folder}/{number}.txt"), "");
        }
    }
    desk.put("z/deep/down/wanted.out", "");
    desk.put("z/deep/down/.wanted.rs", "");
    let cases = [
        ("z/deep/down/wnated.rs", "Did you mean z/deep/down/wanted.rs?"),
        ("z/deep/wanted.rs", "Did you mean z/deep/down/wanted.rs?"),
        ("z/deep/gone/wanted.rs", "Did you mean z/deep/down/wanted.rs?"),
        ("z/deep/down/other.rs", "Did you mean z/deep/other.rs?"),
        ("a/7/1000.txt", "Did you mean a/7/10.txt or"),
        ("z/deep/down/nothing-like-it", "Call list_files to see what is there."),
    ];
    let mut seen = 0;
    for (path, expected) in cases {
        let told = desk.bad("read_file", json!({"path": path})).await;
        assert!(told.starts_with(&format!("{path} is not there. {expected}")), "{told}");
        assert!(!told.contains("wanted.out") && !told.contains(".wanted"), "{told}");
        seen += 1;
    }
    assert_eq!(seen, 6);
}

#[tokio::test]
async fn a_missing_file_is_answered_with_similar_ones() {
    let desk = Desk::new(&[("src/main.rs", ""), ("tests/main.rs", ""), ("README.md", "x")]);
    let cases = [
        ("main.rs", "main.rs is not there. Did you mean src/main.rs or tests/main.rs?"),
        ("src/mian.rs", "src/mian.rs is not there. Did you mean src/main.rs or tests/main.rs?"),
        ("readme.md", "readme.md is not there. Did you mean README.md?"),
        ("zzz", "zzz is not there. These files are there: README.md, src/main.rs, tests/main.rs."),
        ("src", "src is a folder; call read_file with one of its files: src/main.rs"),
        (
            "/src/main.rs",
            "/src/main.rs is outside the workspace; use a path relative to the workspace folder, such as src/main.rs. Did you mean src/main.rs?",
        ),
        (
            "../project/README.md",
            "../project/README.md is outside the workspace; use a path relative to the workspace folder, such as src/main.rs. Did you mean README.md?",
        ),
    ];
    for (path, expected) in cases {
        assert_eq!(desk.bad("read_file", json!({"path": path})).await, expected);
    }
}
