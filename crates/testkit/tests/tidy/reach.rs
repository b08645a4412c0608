//! Files that the compiler never sees: a test that nobody runs looks like a test that passes.

use std::collections::BTreeSet;

use crate::repo::{File, Repo};
use crate::rust::{Piece, code, pieces};

/// The test binaries a crate may have: its own, and this one.
const BINARIES: &[&str] = &["it", "tidy"];

pub(crate) fn forgotten(repo: &Repo) -> Vec<String> {
    let files: Vec<&File> = repo.rust_files().map(|(_, file)| file).collect();
    let mut open: Vec<&File> = files.iter().copied().filter(|file| is_root(&file.path)).collect();
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    while let Some(file) = open.pop() {
        if reached.insert(&file.path) {
            let children = children(file);
            open.extend(files.iter().copied().filter(|f| children.contains(&f.path)));
        }
    }
    files
        .iter()
        .filter(|file| !reached.contains(file.path.as_str()))
        .map(|file| format!("{} is named by no mod; name it or delete it", file.path))
        .collect()
}

/// Whether Cargo finds the file by itself.
fn is_root(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').skip(2).collect();
    match parts.as_slice() {
        ["build.rs"] | ["src", "lib.rs" | "main.rs"] => true,
        ["src", "bin", rest @ ..] | ["tests" | "benches" | "examples", rest @ ..] => {
            matches!(rest, [_] | [_, "main.rs"])
        }
        _ => false,
    }
}

/// The files that a file's `mod name;` lines may mean.
fn children(file: &File) -> BTreeSet<String> {
    let (folder, name) = file.path.rsplit_once('/').unwrap_or(("", &file.path));
    let own = if is_root(&file.path) || name == "mod.rs" {
        folder.to_owned()
    } else {
        format!("{folder}/{}", name.trim_end_matches(".rs"))
    };
    let code = code(&file.text);
    let mut names: Vec<&str> = Vec::new();
    for statement in code.split([';', '{', '}']) {
        let mut words = statement.split_whitespace().rev();
        if let (Some(name), Some("mod")) = (words.next(), words.next()) {
            names.push(name);
        }
    }
    let plain = names.iter().flat_map(|name| [format!("{own}/{name}.rs"), format!("{own}/{name}/mod.rs")]);
    plain.chain(paths_given(file).map(|path| format!("{folder}/{path}"))).collect()
}

/// What `#[path = "…"]` attributes say.
fn paths_given(file: &File) -> impl Iterator<Item = &str> {
    let pieces = pieces(&file.text);
    let pairs: Vec<_> = pieces.windows(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect();
    pairs.into_iter().filter_map(|pair| match pair {
        (Piece::Code(before), Piece::Text(path)) if before.trim_end().ends_with("#[path =") => {
            Some(path.trim_matches('"'))
        }
        _ => None,
    })
}

pub(crate) fn binaries(repo: &Repo) -> Vec<String> {
    let mut findings = Vec::new();
    for (name, file) in repo.rust_files().filter(|(_, file)| is_root(&file.path)) {
        let Some(inside) = file.path.strip_prefix(&format!("crates/{name}/tests/")) else { continue };
        let binary = inside.trim_end_matches(".rs").trim_end_matches("/main");
        if !BINARIES.contains(&binary) {
            findings.push(format!("{} makes another test binary; make it a module of tests/it", file.path));
        }
    }
    findings
}

pub(crate) fn bad_forgotten() -> Repo {
    Repo::sample(&[
        (
            "crates/model/src/lib.rs",
            "//! x\nmod a;\npub mod b;\n#[path = \"odd.rs\"]\nmod c;\n// mod lost;\n",
        ),
        ("crates/model/src/a.rs", "//! x\npub(crate) mod deep;\n"),
        ("crates/model/src/a/deep.rs", "//! x\n"),
        ("crates/model/src/b/mod.rs", "//! x\n"),
        ("crates/model/src/odd.rs", "//! x\n"),
        ("crates/model/tests/it/main.rs", "//! x\nmod found;\n"),
        ("crates/model/tests/it/found.rs", "//! x\n"),
        ("crates/model/tests/it/lost.rs", "//! x\n"),
    ])
}

pub(crate) fn bad_binaries() -> Repo {
    Repo::sample(&[("crates/model/tests/it/main.rs", "//! x\n"), ("crates/model/tests/second.rs", "//! x\n")])
}

/// The requirements page names tests as `module::test`.
pub(crate) fn requirements(repo: &Repo) -> Vec<String> {
    let page = repo.files.iter().filter(|file| file.path == "docs/requirements.md");
    let named =
        page.flat_map(|file| file.text.split('`').skip(1).step_by(2)).filter(|name| name.contains("::"));
    let exists = |name: &str| {
        let (module, test) = name.rsplit_once("::").unwrap_or(("", name));
        let (module, function) = (module.rsplit("::").next().unwrap_or_default(), format!("fn {test}("));
        let is_in = |file: &File| {
            let mut parts = file.path.split('/');
            parts.any(|part| part.trim_end_matches(".rs") == module)
                || file.text.contains(&format!("mod {module}"))
        };
        repo.rust_files().any(|(_, file)| file.text.contains(&function) && is_in(file))
    };
    named
        .filter(|name| !exists(name))
        .map(|name| format!("docs/requirements.md names {name}, but there is no such test"))
        .collect()
}

/// What the five designs ask for is shown by a run of the program, row by row.
pub(crate) fn designs(repo: &Repo) -> Vec<String> {
    let page = repo.files.iter().find(|file| file.path == "docs/requirements.md");
    let section =
        page.and_then(|page| page.text.split("\n## ").find(|part| part.starts_with("Five designs")));
    let rows = section.unwrap_or_default().lines().filter(|line| line.starts_with("| "));
    let rows = rows.filter(|row| !row.starts_with("| requirement |"));
    let binary = || repo.files.iter().filter(|file| file.path.starts_with("crates/cli/tests/it/"));
    let is_played = |name: &str| {
        let Some((module, test)) = name.rsplit_once("::") else { return false };
        let file = format!("/{module}.rs");
        binary().any(|one| one.path.ends_with(&file) && one.text.contains(&format!("fn {test}(")))
    };
    rows.filter(|row| !row.split('`').skip(1).step_by(2).any(is_played))
        .map(|row| row.trim_start_matches("| ").split(" | ").next().unwrap_or_default())
        .map(|what| format!("docs/requirements.md names no test through the binary for: {what}"))
        .collect()
}

pub(crate) fn bad_designs() -> Repo {
    Repo::sample(&[
        (
            "docs/requirements.md",
            "# x\n\n## Five designs\n\n| requirement | code | test |\n|---|---|---|\n| it works | `lib.rs` | `run::parts` |\n",
        ),
        ("crates/model/tests/it/run.rs", "//! x\nfn parts() {}\n"),
    ])
}

pub(crate) fn bad_requirements() -> Repo {
    Repo::sample(&[
        ("docs/requirements.md", "| it works | `lib.rs` | `run::gone` |\n"),
        ("crates/model/src/lib.rs", "//! x\n"),
    ])
}
