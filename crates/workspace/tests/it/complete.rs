//! Paths that complete what was typed: which, in which order, and how much is looked at for them.

use std::{fs, os::unix::fs::symlink, path::Path};

use posse_workspace::{Completions, Hides, limits};

use crate::Fixture;

fn project() -> Fixture {
    let fixture = Fixture::new(&[
        (".gitignore", "target/\n*.log\n"),
        ("Cargo.toml", ""),
        ("README.md", ""),
        ("src/main.rs", ""),
        ("src/engine/mod.rs", ""),
        ("src/engine/main_loop.rs", ""),
        ("docs/manual.md", ""),
        ("target/debug/main.rs", ""),
        ("noise.log", ""),
        (".github/workflows/main.yml", ""),
        (".git/config", ""),
        ("secrets/main.key", ""),
        ("größe.txt", ""),
    ]);
    symlink("..", fixture.at("out")).unwrap();
    symlink("src", fixture.at("alias")).unwrap();
    fixture
}

/// Paths in order; ignored ones in brackets, folders with a slash.
fn told(found: &Completions) -> String {
    let one = |path: &posse_workspace::CompletedPath| {
        let name = format!("{}{}", path.path, if path.folder { "/" } else { "" });
        if path.ignored { format!("[{name}]") } else { name }
    };
    found.matches.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[test]
fn paths_that_fit_come_best_first() {
    let fixture = project();
    let hides = Hides::new(|place: &Path| place.components().any(|part| part.as_os_str() == "secrets"));
    let workspace = fixture.workspace.hiding_where(Some(hides));
    let cases = [
        ("main", "src/main.rs src/engine/main_loop.rs .github/workflows/main.yml [target/debug/main.rs]"),
        ("src/ma", "src/main.rs src/engine/main_loop.rs"),
        ("src/", "src/engine/ src/main.rs src/engine/mod.rs src/engine/main_loop.rs"),
        ("./docs/", "docs/manual.md"),
        ("target/", "[target/debug/] [target/debug/main.rs]"),
        ("noise", "[noise.log]"),
        ("readme", "README.md"),
        ("Readme", ""),
        ("mnl", "docs/manual.md src/engine/main_loop.rs .github/workflows/main.yml"),
        ("srmod", "src/engine/mod.rs"),
        ("GRÖSSE", ""),
        ("grö", "größe.txt"),
        (".gi", ".github/ .gitignore .github/workflows/ .github/workflows/main.yml"),
        ("secret", ""),
        ("key", ""),
        ("config", ""),
        ("alias/ma", ""),
        ("../", ""),
        ("/etc/pass", ""),
        ("out/", ""),
        ("no such thing", ""),
    ];
    assert_eq!(cases.len(), 21);
    let found = cases.map(|(typed, _)| (typed, told(&workspace.complete(typed, 50).unwrap())));
    assert_eq!(found, cases.map(|(typed, want)| (typed, want.to_owned())));
    let all = workspace.complete("", 5).unwrap();
    assert_eq!((told(&all).as_str(), all.more), ("out src/ docs/ alias README.md", true));
    assert_eq!(workspace.complete(&"x".repeat(100_000), 50).unwrap(), Completions::default());
}

#[test]
fn what_is_looked_at_is_bounded_in_a_large_folder() {
    let fixture = Fixture::new(&[("zz/wanted.txt", "")]);
    for folder in 0..50 {
        fs::create_dir(fixture.at(&format!("many{folder}"))).unwrap();
        for file in 0..1_000 {
            fs::write(fixture.at(&format!("many{folder}/file{file}.txt")), "").unwrap();
        }
    }
    let found = fixture.workspace.complete("zz/wan", 10).unwrap();
    assert_eq!(told(&found), "zz/wanted.txt");
    for typed in ["", "file", "wanted", "nothing fits"] {
        let found = fixture.workspace.complete(typed, 10).unwrap();
        assert!(found.more, "{typed}");
        assert!(found.visited <= 6 * limits::COMPLETE_ENTRIES_MAX, "{typed}: {}", found.visited);
    }
}
