//! Finds the places in files that a report cites: `src/a.rs:12`, `src/a.rs:12-30`, `a.rs#L12-L30`.

use crate::{
    claims::{Token, TokenKind, is_spaceless, tokens},
    limits,
    paths::{self, TextWord},
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

/// A citation and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct CitedPlace<'a> {
    pub(crate) citation: Citation,
    /// The line of the report.
    pub(crate) line: &'a str,
    /// Where in the line it begins and ends.
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// What follows the line.
    pub(crate) after: &'a str,
    /// Whether the path may begin earlier than it was read.
    pub(crate) glued: bool,
    /// Whether the line speaks of what is not there, was there before, or is an example.
    pub(crate) excused: bool,
}

/// In a line they say that a place is not there, not yet, no more, or elsewhere.
const EXCUSES: &str = "\
    exist exists missing longer deleted renamed old previous previously before commit upstream dependency dependencies crate package create \
    would will example examples such traceback stack trace formerly was were used hypothetical nonexistent \
    fehlt gelöscht umbenannt früher vorher existiert beispiel gibt war wäre ejemplo existe";
const EXCUSES_CHINESE: &str = "不存在 已删除 没有 旧 依赖 例如 比如 之前 原来 将 示例 重命名";

/// The cited places in order. What is quoted, or stands in a fenced block, is not said by the agent itself.
pub(crate) fn places(text: &str) -> Vec<CitedPlace<'_>> {
    let text = &text[..text.floor_char_boundary(limits::PROSE_BYTES_MAX)];
    let mut found = Vec::new();
    for (begin, line) in paths::lines_outside_fences(text) {
        if line.trim_start().starts_with('>') {
            continue;
        }
        let after = text.get(begin + line.len() + 1..).unwrap_or_default();
        let before = found.len();
        for (word, glued) in paths::words(line).map(unglued) {
            if let Some(citation) = citation(word) {
                let start = word.text.as_ptr() as usize - line.as_ptr() as usize;
                let end = start + word.text.len();
                found.push(CitedPlace { citation, line, start, end, after, glued, excused: false });
            }
        }
        spelled_out(line, after, &mut found);
        if found.len() > before && excuses(line) {
            found[before..].iter_mut().for_each(|place| place.excused = true);
        }
        if found.len() >= limits::CITATIONS_MAX {
            found.truncate(limits::CITATIONS_MAX);
            break;
        }
    }
    found
}

fn excuses(line: &str) -> bool {
    tokens(line).iter().filter(|token| token.kind == TokenKind::Word).any(|token| {
        token.is_word_in(EXCUSES)
            || token.lower.ends_with("n't")
            || EXCUSES_CHINESE.split(' ').any(|word| token.lower.contains(word))
    })
}

/// A word without the letters around it that belong to the sentence: "在src/a.rs:3中".
fn unglued(word: TextWord<'_>) -> (TextWord<'_>, bool) {
    if word.code || !word.text.contains(is_spaceless) {
        return (word, false);
    }
    let run = word
        .text
        .split(|c: char| is_spaceless(c) || !c.is_ascii())
        .max_by_key(|run| run.len())
        .unwrap_or_default();
    let begins = run.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && run.contains('.') { (TextWord { text: run, ..word }, true) } else { (word, false) }
}

/// "line 12 of src/a.rs", "src/a.rs, line 12", "Zeile 12 in a.rs", "a.rs 第 12 行".
fn spelled_out<'a>(line: &'a str, after: &'a str, found: &mut Vec<CitedPlace<'a>>) {
    const LINE: &str = "line lines zeile zeilen línea líneas";
    const LINKS: &str = "of in at on von der datei file the auf bei del de archivo en around about";
    let lower = line.to_lowercase();
    if !LINE.split(' ').any(|word| lower.contains(word)) && !line.contains('行') {
        return;
    }
    let tokens = tokens(line);
    let number = |at: usize| {
        tokens.get(at).filter(|token| token.kind == TokenKind::Word).and_then(|token| lines(&token.lower))
    };
    for (at, token) in tokens.iter().enumerate() {
        let western = token.is_word_in(LINE);
        let chinese = token.kind == TokenKind::Word
            && token.lower.ends_with('第')
            && tokens.get(at + 2).is_some_and(|t| t.lower.starts_with('行'));
        let Some((from, mut to)) = number(at + 1).filter(|_| western || chinese) else { continue };
        // "lines 5 to 40" is a range in three words.
        let until = tokens.get(at + 2).filter(|t| t.is_word_in("to bis through a until") || t.text == "–");
        let range = until.and_then(|_| number(at + 3)).filter(|_| western);
        to = range.map_or(to, |(_, last)| last);
        let behind_from = if range.is_some() { at + 4 } else { at + 2 };
        let links = |token: &&Token<'_>| {
            token.is_word_in(LINKS) || token.kind == TokenKind::Mark && ",(（：:、".contains(token.text)
        };
        let behind = || {
            let rest = tokens.get(behind_from..)?;
            let skipped = rest.iter().take_while(|token| token.is_word_in(LINKS)).take(3).count();
            rest.get(skipped).filter(|token| skipped > 0 && token.kind == TokenKind::Path)
        };
        let ahead = || {
            let skipped = tokens[..at].iter().rev().take_while(links).take(3).count();
            tokens[..at - skipped].last().filter(|token| token.kind == TokenKind::Path)
        };
        let path = if chinese { ahead() } else { ahead().or_else(behind) };
        let Some(path) = path else { continue };
        let citation = Citation { path: path.text.to_owned(), from: from.min(to), to: from.max(to) };
        let offset = |text: &str| text.as_ptr() as usize - line.as_ptr() as usize;
        let last =
            tokens.get(if chinese { at + 2 } else { behind_from - 1 }).map_or(path.text, |token| token.text);
        let (start, end) = (
            offset(path.text).min(offset(token.text)),
            (offset(last) + last.len()).max(offset(path.text) + path.text.len()),
        );
        found.push(CitedPlace { citation, line, start, end, after, glued: path.glued, excused: false });
    }
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

fn citation(word: TextWord<'_>) -> Option<Citation> {
    // An address has ports and anchors, and is no file.
    if word.text.contains("://") {
        return None;
    }
    let (path, place) = match word.text.split_once("#L") {
        Some((path, place)) => (path, format!("L{place}")),
        None => word.text.split_once(':').map(|(path, place)| (path, place.to_owned()))?,
    };
    let path = paths::path(TextWord { text: path, ..word })?;
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
