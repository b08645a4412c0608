//! Finds the places in files that a report cites: `src/a.rs:12`, `src/a.rs:12-30`, `a.rs#L12-L30`.

use crate::{
    limits,
    paths::{self, Word},
};

/// Lines of a file that a report names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// The file as it was written.
    pub path: String,
    /// The first line, from 1.
    pub from: u32,
    /// The last line.
    pub to: u32,
}

/// The cited places in order, each once.
pub fn citations(text: &str) -> Vec<Citation> {
    let mut found: Vec<Citation> = Vec::new();
    for word in text.lines().flat_map(paths::words) {
        if let Some(citation) = citation(word)
            && !found.contains(&citation)
        {
            found.push(citation);
            if found.len() == limits::CITATIONS_MAX {
                break;
            }
        }
    }
    found
}

fn citation(word: Word<'_>) -> Option<Citation> {
    // An address has ports and anchors, and is no file.
    if word.text.contains("://") {
        return None;
    }
    let (path, place) = match word.text.split_once("#L") {
        Some((path, place)) => (path, format!("L{place}")),
        None => word.text.split_once(':').map(|(path, place)| (path, place.to_owned()))?,
    };
    let path = paths::path(Word { text: path, ..word })?;
    let (from, to) = lines(&place)?;
    Some(Citation { path: path.to_owned(), from: from.min(to), to: from.max(to) })
}

/// `12`, `12-30`, `L12-L30`, `12:5`, `12:5-30:7`, `L12C5-L30C7`.
fn lines(place: &str) -> Option<(u32, u32)> {
    let ends = place.split_once(['-', '–', '—']).or_else(|| place.split_once(".."));
    let (first, last) = ends.unwrap_or((place, place));
    let last = last.trim_start_matches(['-', '.', '=']);
    Some((line(first)?, line(last)?))
}

/// A line number, with or without a column.
fn line(text: &str) -> Option<u32> {
    let text = text.strip_prefix(['L', 'l']).unwrap_or(text);
    let (line, column) = text.split_once([':', 'C']).unwrap_or((text, "0"));
    let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    let _: u32 = number(column)?;
    number(line)
}
