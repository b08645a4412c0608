//! How a source file looks: its length, its first line, and what may not be left in it.

use crate::repo::Repo;
use crate::rust::{code, line_of};

/// A longer file fails.
const LINES_MAX: usize = 800;
/// A longer file is mentioned.
const LINES_WISHED: usize = 500;

pub(crate) fn size(repo: &Repo) -> Vec<String> {
    longer_than(repo, LINES_MAX).map(|what| format!("{what}; split it, {LINES_MAX} is the limit")).collect()
}

/// Files that ask to be split, but do not fail.
pub(crate) fn long(repo: &Repo) -> Vec<String> {
    longer_than(repo, LINES_WISHED).collect()
}

fn longer_than(repo: &Repo, max: usize) -> impl Iterator<Item = String> {
    repo.rust_files().filter_map(move |(_, file)| {
        let lines = file.text.lines().count();
        (lines > max).then(|| format!("{} has {lines} lines", file.path))
    })
}

pub(crate) fn purpose(repo: &Repo) -> Vec<String> {
    repo.rust_files()
        .filter(|(_, file)| !file.text.starts_with("//! "))
        .map(|(_, file)| format!("{} does not open with //! and what it is for", file.path))
        .collect()
}

pub(crate) fn ignored(repo: &Repo) -> Vec<String> {
    having(repo, &["#[ignore", "#[cfg_attr(miri, ignore"], |_| {
        "ignores a test; make it run everywhere or delete it".to_owned()
    })
}

pub(crate) fn unfinished(repo: &Repo) -> Vec<String> {
    having(repo, &["todo!(", "unimplemented!(", "dbg!("], |word| {
        format!("has {}; finish it", word.trim_end_matches('('))
    })
}

/// Finds any of `words` in code, tests included.
fn having(repo: &Repo, words: &[&str], say: impl Fn(&str) -> String) -> Vec<String> {
    let mut findings = Vec::new();
    for (_, file) in repo.rust_files() {
        let code = code(&file.text);
        for word in words {
            for (at, _) in code.match_indices(word) {
                findings.push(format!("{}:{} {}", file.path, line_of(&code, at), say(word)));
            }
        }
    }
    findings
}

pub(crate) fn bad_size() -> Repo {
    let (long, short) = ("//! x\n".repeat(801), "//! x\n".repeat(800));
    Repo::sample(&[("crates/model/src/long.rs", &long), ("crates/model/src/short.rs", &short)])
}

pub(crate) fn bad_purpose() -> Repo {
    Repo::sample(&[("crates/model/src/lib.rs", "mod a;\n//! late\n"), ("crates/model/src/a.rs", "//! A.\n")])
}

pub(crate) fn bad_ignored() -> Repo {
    Repo::sample(&[(
        "crates/model/tests/it/main.rs",
        "//! #[ignore]\n#[ignore = \"slow\"]\nfn a() { x(\"#[ignore]\") }\n",
    )])
}

pub(crate) fn bad_unfinished() -> Repo {
    Repo::sample(&[("crates/model/src/lib.rs", "//! todo!()\nfn a() { todo!(\"dbg!()\") }\n// dbg!(x)\n")])
}
