//! Listing, globbing and searching: what is seen, in which order, and what is left out.

use std::{fs, os::unix::fs::symlink};

use posse_workspace::{GrepFound, GrepQuery, Stop, WorkspaceError};

use crate::Fixture;

fn project() -> Fixture {
    let fixture = Fixture::new(&[
        (".gitignore", "target/\n*.log\n"),
        ("Cargo.toml", "[package]\n"),
        ("src/main.rs", "fn main() {\n    run();\n}\n"),
        ("src/deep/lib.rs", "pub fn run() {}\n"),
        ("src/deep/.gitignore", "generated.rs\n"),
        ("src/deep/generated.rs", "fn run() {}\n"),
        ("target/debug/out.rs", "fn run() {}\n"),
        ("noise.log", "run\n"),
        (".github/workflows/ci.yml", "run: test\n"),
        (".git/config", "run\n"),
        ("binary", "run\0run\n"),
    ]);
    symlink("src", fixture.at("alias")).unwrap();
    symlink("..", fixture.at("out")).unwrap();
    fixture
}

#[test]
fn listing_shows_what_counts() {
    let fixture = project();
    let list = |path: &str, depth| {
        let listing = fixture.workspace.list(&fixture.path(path), depth, 100, 100, &Stop::default()).unwrap();
        listing.entries.iter().map(|found| found.path.to_string()).collect::<Vec<_>>().join(" ")
    };
    let cases = [
        (".", 1, "Cargo.toml alias binary out src"),
        (".", 2, "Cargo.toml alias binary out src src/deep src/main.rs"),
        ("src", 9, "src/deep src/deep/lib.rs src/main.rs"),
        ("src/deep", 1, "src/deep/lib.rs"),
        ("alias", 1, "src/deep src/main.rs"),
        // Asked for by name, what is ignored or hidden is shown.
        ("target", 2, "target/debug target/debug/out.rs"),
        (".github", 2, ".github/workflows .github/workflows/ci.yml"),
    ];
    for (path, depth, expected) in cases {
        assert_eq!(list(path, depth), expected, "{path} {depth}");
    }
    let refused = |path: &str| fixture.workspace.list(&fixture.path(path), 1, 9, 9, &Stop::default());
    assert!(matches!(refused("Cargo.toml"), Err(WorkspaceError::NotAFolder { .. })));
    assert!(matches!(refused("nowhere"), Err(WorkspaceError::Missing { .. })));
    assert!(matches!(refused("out"), Err(WorkspaceError::LinkOutside { .. })));
}

#[test]
fn listing_is_bounded_folder_by_folder() {
    let fixture = Fixture::new(&[]);
    for number in 0..50 {
        fixture.put(&format!("a/{number:02}"), "");
    }
    fixture.put("b/x", "");
    let listing = fixture.workspace.list(&fixture.path("."), 2, 100, 3, &Stop::default()).unwrap();
    let shown: Vec<_> = listing.entries.iter().map(|found| found.path.as_str()).collect();
    assert_eq!(shown, ["a", "a/00", "a/01", "a/02", "b", "b/x"]);
    assert_eq!(listing.left_out.into_iter().collect::<Vec<_>>(), [(fixture.path("a"), 47)]);
    let listing = fixture.workspace.list(&fixture.path("."), 2, 2, 100, &Stop::default()).unwrap();
    assert_eq!(listing.entries.len(), 2);
    for folder in ["c", "d", "e"] {
        fixture.put(&format!("{folder}/deep/x"), "");
    }
    let listing = fixture.workspace.list(&fixture.path("."), 3, 100, 2, &Stop::default()).unwrap();
    let shown: Vec<_> = listing.entries.iter().map(|found| found.path.as_str()).collect();
    assert_eq!(shown, ["a", "a/00", "a/01", "b", "b/x"]);
    assert_eq!(
        listing.left_out.into_iter().collect::<Vec<_>>(),
        [(fixture.path("."), 3), (fixture.path("a"), 48)]
    );
}

#[test]
fn globs_match_paths() {
    let fixture = project();
    let cases = [
        ("*.rs", ".", "src/deep/lib.rs src/main.rs"),
        ("**/*.rs", ".", "src/deep/lib.rs src/main.rs"),
        ("src/*.rs", ".", "src/main.rs"),
        ("./src/*.rs", ".", "src/main.rs"),
        ("src/**", ".", "src/deep/lib.rs src/main.rs"),
        ("deep/*", "src", "src/deep/lib.rs"),
        ("*.{toml,md}", ".", "Cargo.toml"),
        ("*.yml", ".", ""),
        (".github/**/*.yml", ".", ".github/workflows/ci.yml"),
        ("*.log", ".", ""),
        ("m?in.rs", ".", "src/main.rs"),
        (".git/**", ".", ""),
    ];
    for (pattern, path, expected) in cases {
        let found = fixture.workspace.glob(pattern, &fixture.path(path), 100, &Stop::default()).unwrap();
        let paths: Vec<_> = found.paths.iter().map(|path| path.as_str()).collect();
        assert_eq!(paths.join(" "), expected, "{pattern}");
    }
    for pattern in ["", "/etc/*", "../*", "a/../../*", "[", "{a"] {
        let found = fixture.workspace.glob(pattern, &fixture.path("."), 100, &Stop::default());
        assert!(matches!(found, Err(WorkspaceError::BadPattern { .. })), "{pattern}");
    }
    let found = fixture.workspace.glob("*.rs", &fixture.path("."), 1, &Stop::default()).unwrap();
    assert_eq!((found.paths.len(), found.total), (1, 2));
}

fn grep(fixture: &Fixture, query: GrepQuery) -> Result<GrepFound, WorkspaceError> {
    fixture.workspace.grep(&query, &Stop::default())
}

fn query(fixture: &Fixture, pattern: &str, path: &str) -> GrepQuery {
    let path = fixture.path(path);
    GrepQuery { pattern: pattern.into(), path, glob: None, ignore_case: false, context: 0, matches_max: 100 }
}

fn lines(found: &GrepFound) -> Vec<String> {
    let mark = |is_match| if is_match { ':' } else { '-' };
    found.lines.iter().map(|l| format!("{}{}{}{}", l.path, mark(l.is_match), l.line, l.text)).collect()
}

#[test]
fn grep_finds_lines() {
    let fixture = project();
    let found = |query| lines(&grep(&fixture, query).unwrap());
    let all = ["src/deep/lib.rs:1pub fn run() {}", "src/main.rs:2    run();"];
    assert_eq!(found(query(&fixture, "run", ".")), all);
    assert_eq!(found(query(&fixture, r"^\s+run", "src")), all[1..]);
    assert_eq!(found(query(&fixture, "run", "src/main.rs")), all[1..]);
    assert_eq!(found(query(&fixture, "RUN", ".")), [""; 0]);
    assert_eq!(found(GrepQuery { ignore_case: true, ..query(&fixture, "RUN", ".") }), all);
    assert_eq!(found(GrepQuery { glob: Some("lib.rs".into()), ..query(&fixture, "run", ".") }), all[..1]);
    let around = ["src/main.rs-1fn main() {", "src/main.rs:2    run();", "src/main.rs-3}"];
    assert_eq!(found(GrepQuery { context: 1, ..query(&fixture, "run", "src/main.rs") }), around);
    let literal = grep(&fixture, query(&fixture, "run(", ".")).unwrap();
    assert!(literal.as_plain_text);
    assert_eq!(lines(&literal), all);
    let one = grep(&fixture, GrepQuery { matches_max: 1, ..query(&fixture, "run", ".") }).unwrap();
    assert_eq!((lines(&one), one.more), (vec![all[0].to_owned()], true));
    for path in ["out", "out/secret"] {
        assert!(grep(&fixture, query(&fixture, "secret", path)).is_err(), "{path}");
    }
    assert!(matches!(grep(&fixture, query(&fixture, "", ".")), Err(WorkspaceError::BadPattern { .. })));
}

#[test]
fn many_files_are_searched_in_order_and_up_to_the_limit() {
    let fixture = Fixture::new(&[]);
    let mut expected = Vec::new();
    // Enough for several threads; names in the order of a walk, in which what is in `a` comes before `a.txt`.
    for folder in ["a", "a/b", "a.d", "b", "c"] {
        for number in 0..130 {
            let path = format!("{folder}/{number:03}");
            let texts = ["needle\n", "other\n", "one\nneedle\nneedle\nlast\n"];
            fixture.put(&path, texts[number % 3]);
            expected.extend((number % 3 == 0).then(|| format!("{path}:1needle")));
            let pair = [format!("{path}:2needle"), format!("{path}:3needle")];
            expected.extend((number % 3 == 2).then_some(pair).into_iter().flatten());
        }
    }
    let everything = |matches_max| GrepQuery { matches_max, ..query(&fixture, "needle", ".") };
    assert_eq!(expected.len(), 5 * (44 + 43 * 2));
    let mut limits = 0;
    for wanted in [1, 2, 3, 100, 131, 649, 650, 651, 10_000] {
        let found = grep(&fixture, everything(wanted)).unwrap();
        assert_eq!(lines(&found), expected[..wanted.min(expected.len())], "{wanted}");
        let more = wanted < expected.len();
        assert_eq!((found.more, found.matches), (more, wanted.min(expected.len())), "{wanted}");
        limits += 1;
    }
    assert_eq!(limits, 9);
    // What surrounds a match that is one too many is shown, it is not.
    let around = grep(&fixture, GrepQuery { context: 1, ..everything(2) }).unwrap();
    let shown = ["a/000:1needle", "a/002-1one", "a/002:2needle"];
    assert_eq!((lines(&around), around.more), (shown.map(str::to_owned).to_vec(), true));
}

#[test]
fn odd_files_do_not_break_a_search() {
    let fixture = Fixture::new(&[("a", "needle\n"), ("z", "needle\r\n")]);
    fixture.put("latin", b"caf\xe9 needle\n");
    fixture.put("long", format!("needle{}\n", "x".repeat(100_000)));
    fixture.put("huge-line", "y".repeat(20_000_000));
    fs::File::create(fixture.at("sparse")).unwrap().set_len(10 << 30).unwrap();
    let found = grep(&fixture, query(&fixture, "needle", ".")).unwrap();
    let shown = lines(&found);
    assert_eq!(
        (&shown[0], &shown[1], &shown[3]),
        (&"a:1needle".into(), &"latin:1caf\u{fffd} needle".into(), &"z:1needle".into())
    );
    assert!(shown[2].starts_with("long:1needlexxx") && shown[2].chars().count() < 400);
    assert_eq!((shown.len(), found.files_skipped), (4, 1));
}

#[test]
fn a_stopped_search_ends() {
    let fixture = project();
    let stop = Stop::default();
    stop.stop();
    let found = fixture.workspace.grep(&query(&fixture, "x", "."), &stop);
    assert!(matches!(found, Err(WorkspaceError::Stopped)));
}
