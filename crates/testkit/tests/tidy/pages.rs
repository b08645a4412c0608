//! Pages that name things of this repository: files, folders and items of the code must be there.
//!
//! The rules look at what stands in backquotes and code blocks, and at links. What belongs to a user's project (it begins with a
//! dot or a slash) is not theirs.

use crate::repo::{File, Repo};

/// What the names of files end with that a page may call by the end of their path, as in `driver/gate.rs`.
const ENDS: &[&str] = &[".rs", ".sql", ".toml", ".txt", ".md"];

/// The keywords before a name where the code defines it.
const DEFINES: &[&str] = &["fn ", "struct ", "enum ", "trait ", "const ", "static ", "type ", "mod "];

/// What other people's paths begin with.
const FOREIGN: &[&str] = &["std", "tokio"];

/// The rule: a path in backquotes, a code block or a link leads to a file or a folder.
pub(crate) fn paths(repo: &Repo) -> Vec<String> {
    let mut findings = Vec::new();
    for page in repo.files.iter().filter(|file| is_page(&file.path)) {
        let paths = words(&page.text).filter(|word| is_path(repo, word) && !is_there(repo, word));
        let links = links(&page.text).filter(|link| !repo_has(repo, &resolved(&page.path, link)));
        let missing = paths.chain(links);
        findings.extend(missing.map(|name| format!("{} names {name}, which is not there", page.path)));
    }
    findings
}

/// The rule: `crate::path::item` or `Type::item` is in the code. The requirements name tests like that, and have their own rule.
pub(crate) fn items(repo: &Repo) -> Vec<String> {
    let mut findings = Vec::new();
    let pages = repo.files.iter().filter(|file| is_page(&file.path) && file.path != "docs/requirements.md");
    for page in pages {
        let names = words(&page.text).filter(|word| is_item(word) && !is_defined(repo, word));
        findings
            .extend(names.map(|name| format!("{} names {name}, which the code does not define", page.path)));
    }
    findings
}

/// The pages for people: those at the top, in `docs`, and each README, except for those that belong to an example's own files.
fn is_page(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let is_top = !path.contains('/') || path.starts_with("docs/");
    let is_readme = name == "README.md" && !path.contains("/files/");
    path.ends_with(".md") && (is_top || is_readme)
}

/// The words of all code spans and code blocks.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let spans = text.split('`').skip(1).step_by(2);
    spans.flat_map(str::split_whitespace).map(|word| {
        let word = word.strip_prefix("./").unwrap_or(word);
        word.trim_end_matches([',', '.', ':', ')', '/'])
    })
}

/// The targets of links within the repository.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let paths = targets.map(|(link, _)| link.split('#').next().unwrap_or_default());
    paths.filter(|link| !link.is_empty() && !link.contains("://"))
}

/// A link's target as a path from the root.
fn resolved(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.trim_end_matches('/').split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Whether a word is a path of this repository: it begins with one of its folders, or ends like one of its files.
fn is_path(repo: &Repo, word: &str) -> bool {
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "_-./*".contains(c));
    let Some((first, _)) = word.split_once('/').filter(|(first, _)| plain && !first.is_empty()) else {
        return false;
    };
    let is_ours = repo.crates.iter().any(|one| one.name == first)
        || repo.files.iter().any(|file| file.path.starts_with(&format!("{first}/")));
    !first.starts_with('.') && (is_ours || ENDS.iter().any(|end| word.ends_with(end)))
}

/// Whether a path is there, from the root, from `crates`, or as the end of a file's path.
fn is_there(repo: &Repo, word: &str) -> bool {
    let ends = |file: &File| format!("/{}", file.path).ends_with(&format!("/{word}"));
    repo_has(repo, word) || repo_has(repo, &format!("crates/{word}")) || repo.files.iter().any(ends)
}

/// Whether a file or folder is there. A `*` stands for one name or part of it.
fn repo_has(repo: &Repo, path: &str) -> bool {
    let wanted: Vec<&str> = path.split('/').collect();
    repo.files.iter().any(|file| {
        let mut parts = file.path.split('/');
        wanted.iter().all(|want| parts.next().is_some_and(|part| fits(want, part)))
    })
}

fn fits(want: &str, part: &str) -> bool {
    match want.split_once('*') {
        Some((begin, end)) => part.starts_with(begin) && part.ends_with(end),
        None => want == part,
    }
}

/// Whether a word is a path of our code: `crate::item`, `module::item` or `Type::item`.
fn is_item(word: &str) -> bool {
    let plain = word.chars().all(|c| c.is_ascii_alphanumeric() || "_:".contains(c));
    plain && word.split_once("::").is_some_and(|(first, _)| !first.is_empty() && !FOREIGN.contains(&first))
}

/// Whether each part of such a path is a module, or is defined: in its crate where it begins with one, else anywhere.
fn is_defined(repo: &Repo, word: &str) -> bool {
    let mut parts: Vec<&str> = word.split("::").collect();
    let of_crate = repo.crates.iter().any(|one| one.name == parts[0]).then(|| parts.remove(0));
    let files: Vec<&File> = repo
        .sources()
        .filter(|(name, _)| of_crate.is_none_or(|of| of == *name))
        .map(|(_, file)| file)
        .collect();
    parts.iter().all(|part| files.iter().any(|file| defines(file, part)))
}

/// Whether a file is a module of this name or in one, or defines an item or a variant.
fn defines(file: &File, name: &str) -> bool {
    let is_module = file.path.split('/').any(|one| one.trim_end_matches(".rs") == name);
    is_module
        || file.text.match_indices(name).any(|(at, _)| {
            let (before, after) = (&file.text[..at], &file.text[at + name.len()..]);
            let line = before.rsplit('\n').next().unwrap_or_default().trim_start();
            let is_whole = !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            is_whole && (line.is_empty() || DEFINES.iter().any(|keyword| line.ends_with(keyword)))
        })
}

pub(crate) fn bad_paths() -> Repo {
    Repo::sample(&[
        ("docs/page.md", "See `model/src/lib.rs`, `model/src/gone.rs` and [the map](../MAP.md).\n"),
        ("MAP.md", "# Map\n"),
        ("crates/model/src/lib.rs", "//! x\n"),
    ])
}

pub(crate) fn bad_items() -> Repo {
    Repo::sample(&[
        (
            "MAP.md",
            "See `model::Model::call`, `Model::call`, `Kind::Ok`, `std::fs`, `model::wire` and `Model::calls`.\n",
        ),
        (
            "crates/model/src/lib.rs",
            "//! x\npub struct Model;\nimpl Model { pub fn call() {} }\nenum Kind {\n    Ok,\n}\n",
        ),
        ("crates/model/src/wire/mod.rs", "//! x\n"),
    ])
}

#[test]
fn every_kind_of_page_and_of_name_is_checked() {
    let text = "`scripts/test`, `scripts/gone --now`, `crates/model/*.txt`, `model/prompts`, `.posse/own.md`, `/tmp/own.md`\n\
                ```sh\n./scripts/lost\n```\n[a](NO.md) [b](https://example.com/x) [c](#here)\n";
    let pages =
        ["README.md", "docs/page.md", "crates/README.md", "crates/model/README.md", "examples/a/README.md"];
    let mut files: Vec<(&str, &str)> = pages.map(|page| (page, text)).to_vec();
    files.extend([("scripts/test", ""), ("crates/model/src/lib.rs", "//! x\n")]);
    files.extend([("examples/a/files/README.md", text), ("crates/model/prompts/role.md", text)]);
    let missing = ["scripts/gone", "crates/model/*.txt", "scripts/lost", "NO.md"];
    let mut expected: Vec<String> = Vec::new();
    for page in pages {
        expected.extend(missing.map(|name| format!("{page} names {name}, which is not there")));
    }
    let mut found = paths(&Repo::sample(&files));
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}
