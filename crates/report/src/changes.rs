//! Finds the files that a report says were changed. Only its CHANGES section counts, and in it only the files that an
//! entry begins with: what follows describes the change and may name others.

use crate::{
    limits,
    paths::{self, TextWord},
    section_names::says_none,
    sections::sections,
};

/// The paths that the CHANGES section claims, in order, each once.
pub fn claimed_changes(text: &str) -> Vec<String> {
    let section = sections(text).changes;
    let mut found: Vec<String> = Vec::new();
    if !says_none(&section) {
        entries(&section, &mut found);
    }
    found
}

fn entries(section: &str, found: &mut Vec<String>) {
    let (mut items, mut apart) = (false, false);
    for (_, line) in paths::lines_outside_fences(section) {
        let item =
            line.starts_with(['-', '*', '•', '+', '`']) || line.starts_with(|c: char| c.is_ascii_digit());
        // A paragraph behind a list is no entry of it.
        if items && apart && !item && !line.trim().is_empty() && !line.starts_with([' ', '\t']) {
            return;
        }
        (items, apart) = (items || item, line.trim().is_empty());
        // An entry below an entry tells more about it.
        if line.starts_with(['\t', ' ']) && !found.is_empty() {
            continue;
        }
        if takes_back(line) {
            continue;
        }
        for path in head_paths(line) {
            if !found.contains(&path) && found.len() < limits::CLAIMS_MAX {
                found.push(path);
            }
        }
    }
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

fn changed_path(word: TextWord<'_>) -> Option<String> {
    if word.text.contains("://") {
        return None;
    }
    let text = word.text.split(['#', ':']).next().unwrap_or(word.text);
    let path = paths::path(TextWord { text, ..word })?;
    Some(path.strip_prefix("./").unwrap_or(path).to_owned())
}

fn joins(word: &str) -> bool {
    matches!(
        word.to_ascii_lowercase().as_str(),
        "and" | "&" | "+" | "new" | "modified" | "created" | "(new" | "new)"
    )
}

/// Whether an entry says that nothing was changed, or only that it should be.
fn takes_back(line: &str) -> bool {
    const WORDS: &[&str] = &[
        "no change",
        "unchanged",
        "not change",
        "not modified",
        "no edit",
        "read only",
        "read-only",
        "nothing changed",
        "should ",
        "would ",
        "proposed",
        "suggest",
        "to be ",
        "recommend",
        "planned",
        "could ",
        "keine änderung",
        "unverändert",
        "nicht geändert",
        "sollte",
        "vorgeschlagen",
        "würde",
        "geplant",
        "无改动",
        "未修改",
        "没有修改",
        "建议",
        "应该",
        "需要",
        "sin cambios",
    ];
    let lower = line.to_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
}

fn denies(word: &str) -> bool {
    let word = word.to_lowercase();
    matches!(word.as_str(), "no" | "not" | "none" | "never" | "nothing" | "without" | "unchanged" | "instead")
        || word.ends_with("n’t")
        || word.ends_with("n't")
        // The quote may have been taken for punctuation.
        || matches!(word.as_str(), "didn" | "doesn" | "don" | "wasn" | "weren")
}
