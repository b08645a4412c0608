//! Checks: what is said against what was measured.

use std::collections::BTreeMap;

use posse_protocol::{Ending, Receipt, Report, limits::RECEIPT_FILES_MAX};
use posse_report::{Facts, FileFacts, check, limits};

use crate::{changed, ran, said, seen};

/// A workspace as a table.
struct Files(BTreeMap<&'static str, FileFacts>);

impl Facts for Files {
    fn file(&self, path: &str) -> Option<FileFacts> {
        self.0.get(path.trim_start_matches("./")).copied()
    }
}

fn files() -> Files {
    let file = |bytes, lines| FileFacts { bytes, lines };
    Files(BTreeMap::from([
        ("src/a.rs", file(100, Some(10))),
        ("src/one.rs", file(5, Some(1))),
        ("empty.txt", file(0, Some(0))),
        ("logo.png", file(9_000, None)),
    ]))
}

fn with(text: &str, receipt: Receipt) -> Report {
    Report { receipt, ..said(text) }
}

#[test]
fn cited_lines_must_exist() {
    let cases: [(&str, &[&str]); 9] = [
        ("src/a.rs:1-10", &[]),
        ("src/a.rs:10 and a.rs:3", &[]),
        ("src/a.rs:11", &["it cites `src/a.rs:11`, but the file has 10 lines"]),
        ("src/a.rs:5-40", &["it cites `src/a.rs:5-40`, but the file has 10 lines"]),
        ("src/one.rs:2", &["it cites `src/one.rs:2`, but the file has 1 line"]),
        ("src/nope.rs:1", &["it cites `src/nope.rs:1`, but there is no such file in the workspace"]),
        ("src/a.rs:0", &["it cites `src/a.rs:0`, but lines count from 1"]),
        ("a.rs:3", &["it cites `a.rs:3`, but there is no such file in the workspace"]),
        ("`logo.png:7` http://localhost:1 at 12:30", &[]),
    ];
    assert_eq!(cases.len(), 9);
    for (text, wanted) in cases {
        assert_eq!(check(&said(text), &[], &files()), wanted, "{text}");
    }
}

#[test]
fn claimed_changes_must_have_been_measured() {
    let claim = "CHANGES:\n- src/a.rs: x\n- src/b.rs: y";
    let none = "but it changed no file at all";
    let other = "but it did not change that file";
    let said_a = |why: &str| format!("it says that it changed `src/a.rs`, {why}");
    let said_b = |why: &str| format!("it says that it changed `src/b.rs`, {why}");
    let measured = |paths: &[&str]| Receipt {
        files: paths.iter().map(|path| changed(path, false, 1, 0)).collect(),
        ..Receipt::default()
    };
    let many = Receipt { files: vec![changed("x", false, 0, 0); RECEIPT_FILES_MAX], ..Receipt::default() };
    let leads = Receipt { files_below: vec![changed("src/a.rs", false, 1, 0)], ..measured(&["src/b.rs"]) };
    let cases = [
        (claim, measured(&["src/a.rs", "src/b.rs"]), vec![]),
        (claim, measured(&["src/a.rs"]), vec![said_b(other)]),
        (claim, measured(&[]), vec![said_a(none), said_b(none)]),
        (claim, measured(&["crates/x/src/a.rs", "./src/b.rs"]), vec![]),
        ("CHANGES: /work/src/a.rs", measured(&["src/a.rs"]), vec![]),
        ("CHANGES: None. Read src/a.rs", measured(&[]), vec![]),
        ("I changed src/a.rs", measured(&[]), vec![]),
        (claim, many, vec![]),
        (claim, leads, vec![]),
    ];
    assert_eq!(cases.len(), 9);
    for (text, receipt, wanted) in cases {
        assert_eq!(check(&with(text, receipt), &[], &files()), wanted, "{text}");
    }
}

#[test]
fn deliverables_must_exist_and_not_be_empty() {
    let wanted = ["src/a.rs", "empty.txt", "out/x.md", "logo.png"].map(str::to_owned);
    assert_eq!(
        check(&said("Done."), &wanted, &files()),
        ["the promised file `empty.txt` is empty", "the promised file `out/x.md` does not exist"]
    );
}

#[test]
fn tests_must_pass_when_it_says_so() {
    let receipt = |runs: &[Option<(u32, u32)>]| Receipt {
        commands: runs.iter().map(|tests| ran("cargo test", *tests)).collect(),
        commands_total: u32::try_from(runs.len()).unwrap(),
        ..Receipt::default()
    };
    let failed = "it says that tests pass, but 2 of 5 failed when they were last counted";
    let cut = Receipt {
        commands_total: 90,
        tests: Some(seen("cargo test", 101, Some((5, 3)))),
        ..receipt(&[Some((5, 5))])
    };
    let cases = [
        ("All tests pass.", receipt(&[Some((5, 3))]), Some(failed)),
        ("All 5 tests passed!", receipt(&[Some((5, 3)), None]), Some(failed)),
        ("The tests are now green; the test suite passes", receipt(&[Some((5, 3))]), Some(failed)),
        ("All tests pass.", receipt(&[Some((5, 3)), Some((5, 5))]), None),
        ("All tests pass.", receipt(&[None]), None),
        ("All tests pass.", cut, Some(failed)),
        ("All tests pass.", receipt(&[]), Some("it says that tests pass, but it ran no command")),
        ("Not all tests pass.", receipt(&[Some((5, 3))]), None),
        ("The tests don't pass; tests passing is next.", receipt(&[Some((5, 3))]), None),
        ("Check whether tests pass.", receipt(&[Some((5, 3))]), None),
        ("3 of 5 ran.", receipt(&[Some((5, 3))]), None),
    ];
    assert_eq!(cases.len(), 11);
    for (text, receipt, wanted) in cases {
        assert_eq!(check(&with(text, receipt), &[], &files()), Vec::from_iter(wanted), "{text}");
    }
}

#[test]
fn warnings_are_counted_past_the_cap() {
    let text: String = (0..100).map(|n| format!("src/no{n}.rs:1\n")).collect();
    let mut report = said(&text);
    report.ending = Ending::TimedOut;
    let warnings = check(&report, &["gone".to_owned()], &files());
    assert_eq!(warnings.len(), limits::WARNINGS_MAX + 1);
    assert_eq!(warnings[0], "the promised file `gone` does not exist");
    assert_eq!(warnings[limits::WARNINGS_MAX], "and 81 more");
}

/// Texts made to be slow: a check that takes a time that grows with the square of them does not end here.
#[test]
fn hostile_texts_are_checked_in_time() {
    let pieces = [
        "(",
        "[",
        "`",
        "](",
        "a.rs:1(",
        "not tests pass ",
        "# ",
        "```\n",
        "- src/a.rs, ",
        "**",
        "1. ",
        "\n",
        "|",
        "é:",
    ];
    assert_eq!(pieces.len(), 14);
    for piece in pieces {
        let text = piece.repeat(20_000 / piece.len());
        for text in [format!("CHANGES: {text}"), format!("CHANGES:\n{text}\nSUMMARY: x")] {
            let warnings = check(&said(&text), &[], &files());
            assert!(warnings.len() <= limits::WARNINGS_MAX + 1);
        }
    }
    let distinct: String = (0..30_000).map(|n| format!("src/f{n}.rs,")).collect();
    assert_eq!(check(&said(&format!("CHANGES: {distinct}")), &[], &files()).len(), limits::WARNINGS_MAX + 1);
}
