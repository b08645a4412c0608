//! Splits an agent's words into the sections it was asked for, however it marked them.

use crate::{
    limits, paths,
    section_names::{SectionName, named, says_none},
};

/// The parts of a report. What the agent did not write is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    /// What was done and what came of it; the first paragraph where nothing is marked as that.
    pub summary: String,
    /// What was changed.
    pub changes: String,
    /// Where to look.
    pub evidence: String,
    /// What could go wrong.
    pub risks: String,
    /// What was in the way.
    pub blockers: String,
    /// What could be done next, one each.
    pub suggestions: Vec<String>,
}

/// Splits a report. Never fails: words without any heading are a summary.
pub fn sections(text: &str) -> Sections {
    let pieces = pieces(text);
    let all = |wanted: SectionName| {
        let found = pieces.iter().filter(|piece| piece.name == Some(wanted) && !piece.body.is_empty());
        found.map(|piece| piece.body.as_str()).collect::<Vec<_>>().join("\n\n")
    };
    let mut summary = all(SectionName::Summary);
    if summary.is_empty() {
        let before = pieces.iter().filter(|piece| matches!(piece.name, None | Some(SectionName::Other)));
        summary =
            before.map(|piece| first_paragraph(&piece.body)).find(|p| !p.is_empty()).unwrap_or_default();
    }
    Sections {
        summary,
        changes: all(SectionName::Changes),
        evidence: all(SectionName::Evidence),
        risks: all(SectionName::Risks),
        blockers: all(SectionName::Blockers),
        suggestions: items(&all(SectionName::Suggestions)),
    }
}

/// All but the section that is marked as the summary.
pub(crate) fn details(text: &str) -> String {
    let pieces = pieces(text);
    if !pieces.iter().any(|piece| piece.name == Some(SectionName::Summary) && !piece.body.is_empty()) {
        return text.trim().to_owned();
    }
    let rest = pieces.iter().filter(|piece| piece.name != Some(SectionName::Summary));
    rest.map(|piece| piece.whole.trim()).filter(|whole| !whole.is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// The first lines up to an empty one.
fn first_paragraph(text: &str) -> String {
    let lines = text.lines().skip_while(|line| line.trim().is_empty());
    lines.take_while(|line| !line.trim().is_empty()).map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// Whether a report names something that was in the way.
pub fn blocked(text: &str) -> bool {
    let blockers = sections(text).blockers;
    !blockers.is_empty() && !says_none(&blockers)
}

/// Where a section is in a text, its heading included.
pub(crate) struct SectionSpan {
    /// `None` is what comes before the first heading.
    pub(crate) name: Option<SectionName>,
    from: usize,
    to: usize,
}

impl SectionSpan {
    pub(crate) fn len(&self) -> usize {
        self.to - self.from
    }

    pub(crate) fn range(&self) -> std::ops::Range<usize> {
        self.from..self.to
    }
}

/// Where the sections of a text are. Together they are the whole of it.
pub(crate) fn spans(text: &str) -> Vec<SectionSpan> {
    let mut from = 0;
    let span = |piece: Piece<'_>| {
        let to = from + piece.whole.len();
        let span = SectionSpan { name: piece.name, from, to };
        from = to;
        span
    };
    pieces(text).into_iter().map(span).filter(|span| span.len() > 0).collect()
}

struct Piece<'a> {
    /// `None` is what comes before the first heading.
    name: Option<SectionName>,
    /// Without the heading.
    body: String,
    /// With it.
    whole: &'a str,
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    // Where each piece begins, its name, the rest of its heading's line, and where its other lines begin.
    let mut starts: Vec<(usize, Option<SectionName>, &str, usize)> = vec![(0, None, "", 0)];
    let mut level = 0;
    for (at, line) in paths::lines_outside_fences(text) {
        let Some(heading) = heading(line) else { continue };
        // A heading of the agent's own below that of a section is a part of it.
        let inner = !heading.known && starts.len() > 1 && (level == 0 || heading.level > level);
        if !inner {
            level = heading.level;
            starts.push((at, Some(heading.name), heading.rest, (at + line.len() + 1).min(text.len())));
        }
    }
    let ends = starts.iter().skip(1).map(|start| start.0).chain([text.len()]);
    let ends: Vec<usize> = ends.collect();
    let piece = |((at, name, rest, body), end): (&(usize, Option<SectionName>, &str, usize), usize)| {
        let body = text.get(*body..end).unwrap_or_default();
        Piece { name: *name, body: format!("{rest}\n{body}").trim().to_owned(), whole: &text[*at..end] }
    };
    starts.iter().zip(ends).map(piece).collect()
}

struct Heading<'a> {
    name: SectionName,
    /// Whether it is one of ours.
    known: bool,
    /// How many `#`; 0 for the other ways to mark a heading.
    level: usize,
    /// What stands on the same line.
    rest: &'a str,
}

fn heading(line: &str) -> Option<Heading<'_>> {
    let line = line.trim();
    let after_hashes = line.trim_start_matches('#');
    let level = line.len() - after_hashes.len();
    if level > 6 || (level > 0 && !after_hashes.starts_with([' ', '\t'])) {
        return None;
    }
    let marks = ['*', '_', '#', ' ', '\t'];
    let words = without_number(after_hashes.trim_start()).trim_start_matches(marks);
    let known = named(words).and_then(|(name, rest)| {
        let bare = rest.trim_start_matches(marks);
        let (rest, colon) = match bare.strip_prefix([':', '：']) {
            Some(rest) => (rest.trim_start_matches(marks), true),
            None => (bare, false),
        };
        (colon || rest.is_empty()).then_some(Heading { name, known: true, level, rest })
    });
    known.or((level > 0).then_some(Heading { name: SectionName::Other, known: false, level, rest: "" }))
}

/// `2. ` or `2) ` before a heading.
fn without_number(line: &str) -> &str {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let after = if rest.len() < line.len() { rest.strip_prefix(['.', ')']) } else { None };
    after.and_then(|after| after.strip_prefix(' ')).unwrap_or(line)
}

/// The entries of a list; lines that go on with an entry belong to it.
fn items(section: &str) -> Vec<String> {
    if says_none(section) {
        return Vec::new();
    }
    let mut found: Vec<String> = Vec::new();
    for line in section.lines().filter(|line| !line.trim().is_empty()) {
        let bare = line.trim();
        let entry = bare.strip_prefix(['-', '*', '•', '+']).filter(|rest| rest.starts_with([' ', '\t']));
        let entry = entry.unwrap_or_else(|| without_number(bare)).trim();
        let goes_on = line.starts_with([' ', '\t']) && entry == bare;
        if let Some(last) = found.last_mut().filter(|_| goes_on) {
            last.push(' ');
            last.push_str(entry);
        } else if found.len() < limits::SUGGESTIONS_MAX {
            found.push(entry.to_owned());
        }
    }
    found
}
