//! Whether a command line names a program or a file of a folder that agents write. It errs towards yes: what is found is run
//! in the sandbox, which hurts nothing but what has to be outside.

use std::path::{Component, Path, PathBuf};

use crate::hook::HookAction;

/// Programs that run what a project's own files say.
const PROJECT_RUNNERS: &[&str] = &[
    "npx",
    "npm",
    "yarn",
    "pnpm",
    "pnpx",
    "bun",
    "bunx",
    "deno",
    "make",
    "gmake",
    "just",
    "task",
    "cargo",
    "go",
    "gradle",
    "gradlew",
    "mvn",
    "mvnw",
    "ant",
    "rake",
    "bundle",
    "composer",
    "php",
    "poetry",
    "uv",
    "uvx",
    "pipenv",
    "tox",
    "nox",
    "pytest",
    "pre-commit",
    "lefthook",
    "husky",
    "mix",
    "dotnet",
    "swift",
    "bazel",
    "nix",
    "direnv",
    "mise",
    "turbo",
    "nx",
    "lerna",
    "ninja",
    "cmake",
    "meson",
    "eslint",
    "prettier",
    "tsc",
    "jest",
    "vitest",
];

/// What stands for the folder in a hook's text.
const PROJECT_DIR: &str = "CLAUDE_PROJECT_DIR";

/// What has to be known of the system to find out where a text leads.
pub struct Surveyed<'a> {
    /// The folder that hooks run in.
    pub folder: &'a Path,
    /// Folders that agents write.
    pub places: &'a [PathBuf],
    /// The person's home.
    pub home: Option<&'a Path>,
    /// Where programs are looked for.
    pub search: &'a [PathBuf],
    /// Where a path really is, links resolved; none if nothing is there.
    pub real: &'a dyn Fn(&Path) -> Option<PathBuf>,
}

/// Whether a hook's text names something that agents write: by a relative path, by a path or a program that leads there, by
/// the variable for it, by a name that is there now, or by a program that runs what a project's files say.
pub fn names_place(action: &HookAction, surveyed: &Surveyed<'_>) -> bool {
    let words: Vec<String> = match action {
        HookAction::Shell(line) => split(line, surveyed.home),
        HookAction::Program(program, arguments) => {
            std::iter::once(program).chain(arguments).flat_map(|part| split(part, surveyed.home)).collect()
        }
        HookAction::Http(..) => return false,
    };
    words.iter().enumerate().any(|(at, word)| match word.as_str() {
        // A filter that keeps everything is no folder.
        "." => words[..at].iter().rev().find(|before| !before.starts_with('-')).is_none_or(|it| it != "jq"),
        word => surveyed.leads_there(word),
    })
}

/// The words of a text, at everything that a shell or another language separates words by.
fn split(text: &str, home: Option<&Path>) -> Vec<String> {
    let mut text = text.to_owned();
    if let Some(home) = home {
        let home = home.display().to_string();
        for name in ["${HOME}", "$HOME"] {
            text = text.replace(name, &home);
        }
        text = text.replace("~/", &format!("{home}/"));
    }
    let ends = |c: char| c.is_whitespace() || "'\"`=:;,|&<>(){}[]@#!".contains(c);
    text.split(ends).filter(|word| !word.is_empty()).map(|word| word.replace('\\', "")).collect()
}

impl Surveyed<'_> {
    fn leads_there(&self, word: &str) -> bool {
        if word.contains(PROJECT_DIR) || word == "$PWD" || word.starts_with("$PWD/") {
            return true;
        }
        if PROJECT_RUNNERS.contains(&word) {
            return true;
        }
        let path = Path::new(word);
        if path.is_absolute() {
            return self.is_within(&plain(path))
                || (self.real)(path).is_some_and(|real| self.is_within(&real));
        }
        if word.starts_with(['$', '~', '-']) {
            return false;
        }
        // A path that is not there yet may be by the time it runs.
        word.starts_with("./")
            || word.starts_with("../")
            || (self.real)(&self.folder.join(word)).is_some()
            || self.is_linked_program(word)
    }

    fn is_within(&self, path: &Path) -> bool {
        self.places.iter().any(|place| path.starts_with(place))
    }

    /// Whether a program of this name is a link to what agents write.
    fn is_linked_program(&self, word: &str) -> bool {
        if word.contains('/') {
            return false;
        }
        let found = self.search.iter().find_map(|folder| (self.real)(&folder.join(word)));
        found.is_some_and(|real| self.is_within(&real))
    }
}

/// A path without `.` and `..`, as far as that can be told from its text.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    plain
}
