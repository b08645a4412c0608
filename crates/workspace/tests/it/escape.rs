//! No path leads out of the workspace or into `.git`, by whatever link.

use std::{
    fs,
    os::unix::fs::symlink,
    sync::atomic::{AtomicBool, Ordering},
};

use posse_workspace::{Expect, GrepQuery, Hides, Stop};

use crate::Fixture;

/// Links by name and target. `OUT` stands for the absolute name of the folder around the workspace.
const LINKS: &[(&str, &str)] = &[
    ("up", ".."),
    ("up-file", "../secret"),
    ("abs", "OUT"),
    ("abs-file", "OUT/secret"),
    ("abs-inside", "OUT/project/src"),
    ("root", "/"),
    ("proc-root", "/proc/self/root"),
    ("proc-cwd", "/proc/self/cwd"),
    ("chain1", "chain2"),
    ("chain2", "src/chain3"),
    ("src/chain3", "../../secret"),
    ("dangling", "not-there"),
    ("dangling-up", "../not-there"),
    ("dangling-abs", "OUT/not-there"),
    ("loop", "loop"),
    ("loop1", "loop2"),
    ("loop2", "loop1"),
    ("round", "../project/../secret"),
    ("to-git", ".git"),
    ("to-hook", ".git/hooks/pre-commit"),
    ("src/deep-git", "../.git/hooks"),
];

/// Paths that must not be read or written.
const CLOSED: &[&str] = &[
    "up/secret",
    "up-file",
    "abs/secret",
    "abs-file",
    "root/etc/passwd",
    "root/etc/hostname",
    "proc-root/etc/passwd",
    "proc-cwd/Cargo.toml",
    "chain1",
    "chain2",
    "src/chain3",
    "dangling",
    "dangling-up",
    "dangling-abs",
    "loop",
    "loop1",
    "round",
    "dangling/x",
    "up/new",
    "abs/new",
    "abs/new/deep",
    "up/new/deep",
    "abs-inside/a",
    "abs-inside/new",
    "root/tmp/posse-escape",
    "loop/x",
    "src/a/x",
    "up-file/x",
];

/// Paths that must not be written; some of them may be read.
const UNWRITABLE: &[&str] = &[
    ".git/config",
    ".git/hooks/pre-commit",
    ".git/hooks/new",
    ".git",
    ".GIT/config",
    ".git/new/deep",
    "src/.git/x",
    "to-git/config",
    "to-git/new",
    "to-git/new/deep",
    "to-hook",
    "src/deep-git/new",
    "src/deep-git/pre-commit",
    ".git./config",
    "git~1/config",
    ".",
];

#[test]
fn no_link_leads_out() {
    let fixture =
        Fixture::new(&[("src/a", "inside"), (".git/config", "config"), (".git/hooks/pre-commit", "hook")]);
    let out = fixture.outside().to_str().unwrap().to_owned();
    for (name, target) in LINKS {
        symlink(target.replace("OUT", &out), fixture.at(name)).unwrap();
    }
    let before = tree(&fixture);
    let mut attempts = 0;
    for path in CLOSED {
        let path = fixture.path(path);
        assert!(fixture.workspace.read(&path, 1000).is_err(), "read {path}");
        assert!(fixture.workspace.list(&path, 3, 100, 100, &Stop::default()).is_err(), "list {path}");
        attempts += 2;
    }
    for path in CLOSED.iter().chain(UNWRITABLE) {
        let path = fixture.path(path);
        for expect in [Expect::Anything, Expect::Absent] {
            let written = fixture.workspace.write_atomic(&path, b"escaped", expect);
            assert!(written.is_err(), "write {path}");
            attempts += 1;
        }
    }
    assert_eq!(tree(&fixture), before);
    assert_eq!(attempts, 28 * 2 + 44 * 2);
}

#[test]
fn a_link_swapped_in_meanwhile_leads_nowhere() {
    let fixture = Fixture::new(&[("real/secret", "inside")]);
    let (at, out) = (fixture.at("door"), fixture.outside().to_owned());
    symlink("real", &at).unwrap();
    let done = AtomicBool::new(false);
    let (tries, reads) = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                for target in [out.as_path(), "real".as_ref(), "..".as_ref()] {
                    let next = fixture.at("next");
                    symlink(target, &next).unwrap();
                    fs::rename(&next, &at).unwrap();
                }
            }
        });
        let path = fixture.path("door/secret");
        let mut tries = 0;
        let mut reads = 0;
        for attempt in 0..5_000_000 {
            // How often the link leads inside just then is up to the scheduler.
            if attempt >= 20_000 && reads > 0 {
                break;
            }
            if let Ok((bytes, _)) = fixture.workspace.read(&path, 100) {
                assert_eq!(bytes, b"inside");
                reads += 1;
            }
            // A write waits for the disk, so there are fewer of them.
            if attempt % 50 == 0 {
                let _ = fixture.workspace.write_atomic(&path, b"inside", Expect::Anything);
            }
            tries += 1;
        }
        done.store(true, Ordering::Relaxed);
        (tries, reads)
    });
    assert!(tries >= 20_000);
    // While the link led inside, the file was there.
    assert!(reads > 0);
    assert_eq!(fs::read_to_string(fixture.outside().join("secret")).unwrap(), "secret");
    assert_eq!(fixture.text("real/secret"), "inside");
}

#[test]
fn a_search_follows_no_link_that_is_swapped_in_meanwhile() {
    let fixture =
        Fixture::new(&[("folder/secret", "inside"), ("file", "inside"), ("denied/secret", "secret")]);
    let denied =
        Hides::new(|place: &std::path::Path| place.components().any(|part| part.as_os_str() == "denied"));
    let workspace = fixture.workspace.hiding_where(Some(denied));
    let done = AtomicBool::new(false);
    let (mut searches, mut found, mut wrong) = (0, 0, Vec::new());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // A folder and a link out of the workspace, a file and a link to what is not for agents.
            let swaps = [("folder", fixture.outside().to_owned()), ("file", "denied/secret".into())];
            while !done.load(Ordering::Relaxed) {
                for (name, target) in &swaps {
                    let (at, aside) = (fixture.at(name), fixture.outside().join("aside"));
                    fs::rename(&at, &aside).unwrap();
                    symlink(target, &at).unwrap();
                    fs::remove_file(&at).unwrap();
                    fs::rename(&aside, &at).unwrap();
                }
            }
        });
        for _ in 0..1_000 {
            let (pattern, path) = ("inside|secret".to_owned(), fixture.path("."));
            let query =
                GrepQuery { pattern, path, glob: None, ignore_case: false, context: 0, matches_max: 9 };
            let lines = workspace.grep(&query, &Stop::default()).map(|found| found.lines).unwrap_or_default();
            (searches, found) = (searches + 1, found + lines.len());
            wrong.extend(lines.into_iter().filter(|line| line.text != "inside"));
        }
        done.store(true, Ordering::Relaxed);
    });
    assert_eq!((searches, wrong), (1_000, vec![]));
    // While there was no link, the files were there.
    assert!(found > 0);
}

/// Everything there is, with what it says.
fn tree(fixture: &Fixture) -> Vec<(String, String)> {
    fn visit(folder: &std::path::Path, into: &mut Vec<(String, String)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let kind = entry.file_type().unwrap();
            let content =
                if kind.is_file() { fs::read_to_string(entry.path()).unwrap() } else { String::new() };
            into.push((entry.path().display().to_string(), content));
            if kind.is_dir() {
                visit(&entry.path(), into);
            }
        }
    }
    let mut all = Vec::new();
    visit(fixture.outside(), &mut all);
    all.sort();
    all
}
