//! What the project's own files call tests: scripts of package.json, targets of a Makefile or justfile, script files.

use serde_json::Value;

use super::Lookup;
use super::runners::is_idle_line;

/// Something that the project's files explain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) what: What,
    /// Whether its name says that it is about tests.
    pub(super) tests: bool,
    /// Whether it counts where no file explains it.
    pub(super) table: bool,
}

/// Where its explanation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    /// A script of package.json.
    Package(String),
    /// Targets of a Makefile, in a folder.
    Make(String, Vec<String>),
    /// Recipes of a justfile.
    Just(Vec<String>),
    /// A script file; whether a shell reads it.
    File(String, bool),
}

/// What the explanation says.
pub(super) enum Found {
    /// It runs this shell text.
    Shell(String),
    /// It runs something else than a shell.
    Other,
    /// It only says something.
    Idle,
    /// There is none.
    Missing,
}

/// Looks for the explanation.
pub(super) fn text_of(named: &Named, folder: &str, lookup: Lookup<'_>) -> Found {
    let read = |path: &str| lookup(&joined(folder, path)).and_then(|bytes| String::from_utf8(bytes).ok());
    match &named.what {
        What::Package(script) => match read("package.json") {
            None => Found::Missing,
            Some(text) => package_script(&text, script),
        },
        What::Make(inner, targets) => {
            let files = ["GNUmakefile", "makefile", "Makefile"];
            match files.iter().find_map(|file| read(&joined(inner, file))) {
                None => Found::Missing,
                Some(text) => recipes(&text, targets),
            }
        }
        What::Just(targets) => {
            match ["justfile", "Justfile", ".justfile"].iter().find_map(|file| read(file)) {
                None => Found::Missing,
                Some(text) => recipes(&text, targets),
            }
        }
        What::File(path, shell) => match lookup(&joined(folder, path)) {
            None => Found::Missing,
            Some(bytes) => script_file(path, *shell, bytes),
        },
    }
}

fn package_script(text: &str, script: &str) -> Found {
    let package: Option<Value> = serde_json::from_str(text).ok();
    match package.as_ref().and_then(|package| package["scripts"][script].as_str()) {
        Some(text) => Found::Shell(text.to_owned()),
        None => Found::Idle,
    }
}

/// The lines below the named targets, and those of what they need.
fn recipes(text: &str, targets: &[String]) -> Found {
    let (mut wanted, mut out, mut at) = (targets.to_vec(), String::new(), 0);
    let mut found = false;
    while let Some(target) = wanted.get(at).cloned() {
        at += 1;
        let mut within = false;
        for line in text.lines() {
            let indented = line.starts_with([' ', '\t']);
            if !indented && !line.trim().is_empty() && !line.starts_with('#') {
                let rule = line.split_once(':').filter(|(_, rest)| !rest.starts_with('='));
                let heads = |head: &str| head.split_whitespace().any(|word| word.trim_matches('@') == target);
                within = rule.is_some_and(|(head, _)| heads(head));
                if let Some((_, needs)) = rule.filter(|_| within) {
                    found = true;
                    let needs = needs.split('#').next().unwrap_or_default().split_whitespace();
                    let new =
                        needs.filter(|need| !wanted.iter().any(|known| known == need)).map(str::to_owned);
                    let new = new.take(20_usize.saturating_sub(wanted.len())).collect::<Vec<_>>();
                    wanted.extend(new);
                }
            } else if indented && within {
                // What comes first in a recipe: quiet, ignored failures, even when only shown.
                let line = line.trim_start();
                let ignored = line.trim_start_matches(['@', '+']).starts_with('-');
                out.push_str(line.trim_start_matches(['@', '-', '+']));
                out.push_str(if ignored { " || true\n" } else { "\n" });
            }
        }
    }
    // Make ends with the first line that fails.
    if found { Found::Shell(format!("set -e\n{out}")) } else { Found::Idle }
}

fn script_file(path: &str, shell: bool, bytes: Vec<u8>) -> Found {
    let Ok(text) = String::from_utf8(bytes) else { return Found::Other };
    let first = text.lines().next().unwrap_or_default();
    let shells = ["sh", "bash", "zsh", "dash", "ksh"];
    let program = first.strip_prefix("#!").and_then(|line| {
        let mut words = line.split_whitespace().filter_map(|word| word.rsplit('/').next());
        words.find(|word| *word != "env" && !word.starts_with('-'))
    });
    let is_shell = shell || program.is_some_and(|program| shells.contains(&program)) || path.ends_with(".sh");
    if is_shell {
        let begin = if first.starts_with("#!") && first.contains(" -e") { "set -e\n" } else { "" };
        return Found::Shell(format!("{begin}{text}"));
    }
    if text.lines().all(is_idle_line) { Found::Idle } else { Found::Other }
}

/// A path in a folder of the workspace, without its dots; empty where it leads out.
pub(super) fn joined(folder: &str, path: &str) -> String {
    if path.starts_with('/') {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let absolute = if folder.starts_with('/') { "/" } else { "" };
    format!("{absolute}{}", parts.join("/"))
}

/// Whether the name of a file or target says that it is about tests.
pub(super) fn is_test_name(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    let words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.flat_map(camel_words).any(|word| {
        matches!(
            word.as_str(),
            "test" | "tests" | "testing" | "check" | "checks" | "spec" | "specs" | "runtests"
        )
    }) || name.to_ascii_lowercase().starts_with("test") && !name.to_ascii_lowercase().starts_with("testimon")
}

/// `runTests` are two words.
fn camel_words(word: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = false;
    for c in word.chars() {
        if c.is_ascii_uppercase() && before {
            words.push(String::new());
        }
        before = c.is_ascii_lowercase();
        if let Some(last) = words.last_mut() {
            last.push(c.to_ascii_lowercase());
        }
    }
    words
}
