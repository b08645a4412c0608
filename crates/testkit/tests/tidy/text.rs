//! Words: prompts belong in files, and some words belong nowhere.

use crate::repo::{File, Repo};
use crate::rust::{literals, without_tests};

/// Crates whose texts reach a model.
const SPEAKING: &[&str] = &["agent", "engine", "tools", "setup", "cli"];
/// A longer string is a text, and a text is a file.
const LITERAL_CHARS_MAX: usize = 400;

/// Hosts of package registries. Written in two parts, so that this file does not name them either.
const HOSTS: &[&str] = &[
    concat!("crates", ".io"),
    concat!("registry.npmjs", ".org"),
    concat!("pypi", ".org"),
    concat!("pythonhosted", ".org"),
    concat!("rubygems", ".org"),
    concat!("proxy.golang", ".org"),
];

/// Folders of one person's machine. In two parts, for the same reason.
const PATHS: &[&str] = &[concat!("/root", "/"), concat!("/home", "/"), concat!("/Users", "/")];

pub(crate) fn prompts(repo: &Repo) -> Vec<String> {
    let mut findings = Vec::new();
    for (_, file) in repo.sources().filter(|(name, _)| SPEAKING.contains(name)) {
        for (line, literal) in literals(&without_tests(&file.text)) {
            let chars = literal.chars().count() - literal.matches('"').count().min(2);
            if chars > LITERAL_CHARS_MAX {
                findings.push(format!(
                    "{}:{line} has a string of {chars} characters; put it into a file and include it",
                    file.path
                ));
            }
        }
    }
    findings
}

pub(crate) fn hosts(repo: &Repo) -> Vec<String> {
    // Cargo itself writes where packages come from.
    let files = repo.files.iter().filter(|file| file.path != "Cargo.lock");
    naming(files, HOSTS, "a host of a package registry; say what to install, not from where")
}

pub(crate) fn paths(repo: &Repo) -> Vec<String> {
    naming(repo.files.iter(), PATHS, "a folder of one machine")
}

fn naming<'a>(files: impl Iterator<Item = &'a File>, words: &[&str], what: &str) -> Vec<String> {
    let mut findings = Vec::new();
    for file in files {
        for (n, line) in file.text.lines().enumerate() {
            if let Some(word) = words.iter().find(|word| line.contains(**word)) {
                findings.push(format!("{}:{} names {word}, {what}", file.path, n + 1));
            }
        }
    }
    findings
}

pub(crate) fn bad_prompts() -> Repo {
    let (long, short) = ("x".repeat(401), "x".repeat(400));
    let text = format!(
        "//! {long}\nlet a = \"{short}\";\nlet b = \"{long}\";\n#[cfg(test)]\nmod tests {{ \"{long}\" }}\n"
    );
    Repo::sample(&[("crates/engine/src/lib.rs", &text), ("crates/store/src/lib.rs", &text)])
}

pub(crate) fn bad_hosts() -> Repo {
    let line = format!("# Page\nfrom {}\n", HOSTS[0]);
    Repo::sample(&[("docs/page.md", &line), ("Cargo.lock", &format!("# {}\n", HOSTS[0]))])
}

pub(crate) fn bad_paths() -> Repo {
    Repo::sample(&[("scripts/x", &format!("cd {}\n", PATHS[0]))])
}
