//! Finds the files that a report says were changed. Only its CHANGES section counts, and in it only the files that an
//! entry begins with: what follows describes the change and may name others.

use crate::{
    limits,
    paths::{self, Word},
    sections::{says_none, sections},
};

/// The paths that the CHANGES section claims, in order, each once.
pub fn claimed_changes(text: &str) -> Vec<String> {
    let section = sections(text).changes;
    if says_none(&section) {
        return Vec::new();
    }
    let mut found: Vec<String> = Vec::new();
    for (_, line) in paths::lines_outside_fences(&section) {
        // An entry below an entry tells more about it.
        if line.starts_with(['\t', ' ']) && !found.is_empty() {
            continue;
        }
        for path in head_paths(line) {
            if !found.contains(&path) && found.len() < limits::CLAIMS_MAX {
                found.push(path);
            }
        }
    }
    found
}

/// The first paths of a line: those before anything else is said about them.
fn head_paths(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for word in paths::words(line) {
        if let Some(path) = changed_path(word) {
            found.push(path);
            // `src/a.rs: …` and `src/a.rs - …` end the list.
            let after =
                line.split_once(word.text).map_or("", |(_, after)| after).trim_start_matches(['`', '*', ' ']);
            if after.starts_with([':', '-', '–', '—']) || found.len() >= limits::CLAIMS_MAX {
                break;
            }
        } else if found.is_empty() && denies(word.text) {
            return Vec::new();
        } else if !found.is_empty() && !joins(word.text) {
            break;
        }
    }
    found
}

fn changed_path(word: Word<'_>) -> Option<String> {
    if word.text.contains("://") {
        return None;
    }
    let text = word.text.split(['#', ':']).next().unwrap_or(word.text);
    let path = paths::path(Word { text, ..word })?;
    Some(path.strip_prefix("./").unwrap_or(path).to_owned())
}

fn joins(word: &str) -> bool {
    matches!(
        word.to_ascii_lowercase().as_str(),
        "and" | "&" | "+" | "new" | "modified" | "created" | "(new" | "new)"
    )
}

fn denies(word: &str) -> bool {
    let word = word.to_lowercase();
    matches!(word.as_str(), "no" | "not" | "none" | "never" | "nothing" | "without" | "unchanged" | "instead")
        || word.ends_with("n’t")
        || word.ends_with("n't")
        // The quote may have been taken for punctuation.
        || matches!(word.as_str(), "didn" | "doesn" | "don" | "wasn" | "weren")
}
