//! Citations: what is a place in a file, and what only looks like one.

use posse_report::{Citation, citations};

/// What is found, written `path from-to`.
fn found(text: &str) -> Vec<String> {
    citations(text).into_iter().map(|Citation { path, from, to }| format!("{path} {from}-{to}")).collect()
}

const CITED: &[(&str, &str)] = &[
    ("src/a.rs:12", "src/a.rs 12-12"),
    ("src/a.rs:12-30", "src/a.rs 12-30"),
    ("src/a.rs:12–30", "src/a.rs 12-30"),
    ("src/a.rs:12..30", "src/a.rs 12-30"),
    ("src/a.rs:30-12", "src/a.rs 12-30"),
    ("a.rs:L12", "a.rs 12-12"),
    ("a.rs:L12-L30", "a.rs 12-30"),
    ("a.rs:L12-30", "a.rs 12-30"),
    ("a.rs#L12", "a.rs 12-12"),
    ("a.rs#L12-L30", "a.rs 12-30"),
    ("a.rs#L12-30", "a.rs 12-30"),
    ("a.rs#L12C5-L30C7", "a.rs 12-30"),
    ("a.rs:12:5", "a.rs 12-12"),
    ("a.rs:12:5-14:9", "a.rs 12-14"),
    ("src/a.rs:12:5: error: x", "src/a.rs 12-12"),
    ("`src/a.rs:12`", "src/a.rs 12-12"),
    ("see `src/a.rs:12`.", "src/a.rs 12-12"),
    ("- src/a.rs:12 — entry", "src/a.rs 12-12"),
    ("* **src/a.rs:12**", "src/a.rs 12-12"),
    ("1. src/a.rs:12: entry", "src/a.rs 12-12"),
    ("(src/a.rs:12)", "src/a.rs 12-12"),
    ("(see src/a.rs:12).", "src/a.rs 12-12"),
    ("[src/a.rs:12]", "src/a.rs 12-12"),
    ("[src/a.rs:12](src/a.rs)", "src/a.rs 12-12"),
    ("[the parser](src/a.rs#L12)", "src/a.rs 12-12"),
    ("\"src/a.rs:12\"", "src/a.rs 12-12"),
    ("'src/a.rs:12'", "src/a.rs 12-12"),
    ("src/a.rs:12, then", "src/a.rs 12-12"),
    ("src/a.rs:12;", "src/a.rs 12-12"),
    ("parse(src/a.rs:12", "src/a.rs 12-12"),
    ("./src/a.rs:12", "./src/a.rs 12-12"),
    ("../a.rs:12", "../a.rs 12-12"),
    ("/abs/a.rs:12", "/abs/a.rs 12-12"),
    ("src/häuser/ü.rs:3", "src/häuser/ü.rs 3-3"),
    ("app/(group)/page.tsx:3", "app/(group)/page.tsx 3-3"),
    ("`app/[id]/page.tsx:3`", "app/[id]/page.tsx 3-3"),
    ("@scope/pkg/index.d.ts:7", "@scope/pkg/index.d.ts 7-7"),
    (".github/workflows/ci.yml:4", ".github/workflows/ci.yml 4-4"),
    ("Cargo.toml:4", "Cargo.toml 4-4"),
    ("`Makefile:4`", "Makefile 4-4"),
    ("src/Makefile:4", "src/Makefile 4-4"),
    ("`scripts/check:4`", "scripts/check 4-4"),
    ("data/x.weird:4", "data/x.weird 4-4"),
    ("a.rs:0", "a.rs 0-0"),
    ("| src/a.rs:12 | x |", "src/a.rs 12-12"),
    ("a-b_c.test.ts:9", "a-b_c.test.ts 9-9"),
    ("`a.rs:1`,`b.rs:2`", "a.rs 1-1;b.rs 2-2"),
    ("a.rs:1 a.rs:1 a.rs:2", "a.rs 1-1;a.rs 2-2"),
    ("```\na.rs:1\n```", "a.rs 1-1"),
];

const NOT_CITED: &[&str] = &[
    "",
    "localhost:8080",
    "http://localhost:8080",
    "https://example.com:443/a.rs:12",
    "https://github.com/x/y/blob/main/a.rs#L12",
    "example.com:443",
    "127.0.0.1:8080",
    "host.docker.internal:80",
    "12:30",
    "at 12:30:45",
    "2024-01-01T12:30:00",
    "std::fmt",
    "std::fmt:12",
    "crate::a.rs::b",
    "a.rs",
    "a.rs:",
    "a.rs:twelve",
    "a.rs:12x",
    "a.rs:99999999999",
    "a.rs#12",
    "config.port:8080",
    "self.count:3",
    "redis:7",
    "library/redis:7",
    "v1.2.3:4",
    "3/4:15",
    "*.rs:12",
    "<path>:12",
    "{file}.rs:12",
    "src/.../a.rs:12",
    "//host/a.rs:1",
    "user@example.com:25",
    "key:12",
    "C:\\src\\a.rs:12",
    "ghcr.io/x/y.z:1",
    "foo#L12",
    "sha256:1234",
    "src/:12",
    ":12",
    "a:b:1",
];

#[test]
fn places_in_files_are_found() {
    assert_eq!(CITED.len() + NOT_CITED.len(), 89);
    for (text, wanted) in CITED {
        let wanted: Vec<&str> = wanted.split(';').collect();
        assert_eq!(found(text), wanted, "{text}");
    }
    for text in NOT_CITED {
        assert_eq!(found(text), [""; 0], "{text}");
    }
}

#[test]
fn there_is_a_most_of_them() {
    let many: String = (0..10_000).map(|n| format!("a.rs:{n} ")).collect();
    assert_eq!(citations(&many).len(), posse_report::limits::CITATIONS_MAX);
    let long = format!("{}.rs:1", "a".repeat(10_000));
    assert_eq!(found(&long), [""; 0]);
}

proptest::proptest! {
    #[test]
    fn any_text_is_read(text in "[a-z./:#L0-9`()\\[\\]é\u{2028}\n -]{0,200}", other in ".{0,200}") {
        citations(&text);
        posse_report::claimed_changes(&format!("CHANGES:\n{text}"));
        posse_report::sections(&text);
        posse_report::sections(&other);
        citations(&other);
    }
}
