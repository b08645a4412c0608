//! Names: one type for each, and limits where a reader looks for them.

use std::collections::BTreeMap;

use crate::repo::Repo;
use crate::rust::{code, line_of, without_tests};

/// Names that two files define because only one of them is compiled, by the end of the files' paths.
const EITHER: &[[&str; 2]] = &[["run_unix.rs", "run_elsewhere.rs"], ["no_confinement.rs", "confined.rs"]];

const TYPES: [&str; 4] = ["struct ", "enum ", "trait ", "type "];

/// A type that another file can use has a name of its own. What only its own file knows may be called anything.
pub(crate) fn types(repo: &Repo) -> Vec<String> {
    let mut defined: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (_, file) in repo.sources() {
        let code = code(&without_tests(&file.text));
        for line in code.lines().filter(|line| line.starts_with("pub")) {
            let item =
                line.split_once(") ").filter(|_| line.starts_with("pub(")).map_or(&line[3..], |it| it.1);
            if let Some(rest) = TYPES.iter().find_map(|kind| item.trim_start().strip_prefix(kind)) {
                let name = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
                defined.entry(name.to_owned()).or_default().push(file.path.clone());
            }
        }
    }
    defined.retain(|_, files| files.len() > 1 && !is_either(files));
    let said = |(name, files): (String, Vec<String>)| {
        format!(
            "{} defines {name}, and so does {}; a type has a name of its own",
            files[0],
            files[1..].join(", ")
        )
    };
    defined.into_iter().map(said).collect()
}

fn is_either(files: &[String]) -> bool {
    let [a, b] = files else { return false };
    EITHER.iter().any(|[x, y]| a.ends_with(x) && b.ends_with(y) || a.ends_with(y) && b.ends_with(x))
}

/// What a constant is called that limits something.
const LIMITS: [&str; 3] = ["_MAX", "_MIN", "_MS"];

pub(crate) fn limits(repo: &Repo) -> Vec<String> {
    let mut findings = Vec::new();
    for (name, file) in repo.sources() {
        // Benchmarks and the fake model have figures of their own.
        if file.path.ends_with("/limits.rs") || matches!(name, "bench" | "testkit") {
            continue;
        }
        let code = code(&without_tests(&file.text));
        for (at, _) in code.match_indices("const ") {
            let starts_line = code[..at].rsplit('\n').next().is_some_and(|before| {
                before.is_empty() || before.starts_with("pub") && before.ends_with(' ')
            });
            let constant = code[at + 6..].split(':').next().unwrap_or_default();
            if starts_line && LIMITS.iter().any(|end| constant.ends_with(end)) {
                let line = line_of(&code, at);
                findings
                    .push(format!("{}:{line} has {constant}; limits live in the limits module", file.path));
            }
        }
    }
    findings
}

pub(crate) fn bad_types() -> Repo {
    Repo::sample(&[
        ("crates/model/src/lib.rs", "//! x\npub struct Answer;\nstruct Inner;\n"),
        ("crates/policy/src/lib.rs", "//! x\npub(crate) enum Answer {}\nstruct Inner;\n"),
    ])
}

pub(crate) fn bad_limits() -> Repo {
    Repo::sample(&[
        ("crates/model/src/lib.rs", "//! x\nconst TURNS_MAX: u32 = 1;\nconst WORD: &str = \"\";\n"),
        ("crates/model/src/limits.rs", "//! x\npub(crate) const LINES_MAX: u32 = 1;\n"),
    ])
}
