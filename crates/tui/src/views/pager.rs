//! A long text, page by page, with a search.

use posse_protocol::Question;
use posse_protocol::words::grouped;
use posse_terminal::{Ink, Key, KeyCode, TextLine, diff_lines};

use super::finder::{Finder, FinderStep};
use super::frame::{fitted, keys_row, title_row};
use super::scroll::{Blocks, Place, PlainLines};
use super::{ViewStep, context};
use crate::effect::ChatFound;
use crate::limits::PAGER_LINES_MAX;
use crate::questions;

/// Rows that are not text: the title and the keys.
const OWN_ROWS: usize = 2;

/// A long text.
#[derive(Debug)]
pub struct Pager {
    title: String,
    lines: PlainLines,
    place: Place,
    finder: Finder,
}

impl Pager {
    /// A pager of a text.
    pub(crate) fn new(title: &str, mut lines: Vec<TextLine>) -> Self {
        if let Some(more @ 1..) = lines.len().checked_sub(PAGER_LINES_MAX) {
            lines.truncate(PAGER_LINES_MAX);
            lines.push(TextLine::of(&format!("… {} more lines", grouped(more as u64)), Ink::Warning));
        }
        Self {
            title: title.to_owned(),
            lines: PlainLines(lines),
            place: Place::default(),
            finder: Finder::default(),
        }
    }

    /// All of what an agent asks.
    pub(crate) fn of_question(question: &Question) -> Self {
        let mut lines = Vec::new();
        if !question.why.is_empty() {
            lines.push(TextLine::of(&question.why, Ink::Quiet));
        }
        if question.leaves {
            lines.push(TextLine::of("! It leaves the sandbox and has all your rights.", Ink::Bad));
        }
        lines.extend(questions::body(question, PAGER_LINES_MAX));
        if !question.pattern.is_empty() {
            lines.push(TextLine::of(&format!("  \"always\" allows {}", question.pattern), Ink::Quiet));
        }
        let title =
            if question.asks.is_some() { "A question" } else { &format!("May it? {}", question.tool) };
        Self::new(title, lines)
    }

    /// A diff, or what fills a context window.
    pub(crate) fn of_found(found: &ChatFound) -> Option<Self> {
        match found {
            ChatFound::Diff(agent, diff) => Some(Self::of_diff(agent.as_deref(), diff)),
            ChatFound::Context(used) => {
                let title = format!("Context of {} · {}", used.agent_name, used.model);
                Some(Self::new(&title, context::lines(used)))
            }
            _ => None,
        }
    }

    /// What an agent changed, or the whole session.
    pub(crate) fn of_diff(agent: Option<&str>, diff: &str) -> Self {
        let title =
            agent.map_or_else(|| "Changes of the session".to_owned(), |name| format!("Changes of {name}"));
        let shown = diff_lines(diff, PAGER_LINES_MAX);
        let mut lines = shown.lines;
        if shown.hidden > 0 {
            lines.push(TextLine::of(&format!("… {} more lines", grouped(shown.hidden as u64)), Ink::Warning));
        }
        if lines.is_empty() {
            lines.push(TextLine::of("nothing is changed", Ink::Quiet));
        }
        Self::new(&title, lines)
    }

    /// A key was pressed.
    pub(crate) fn key(&mut self, key: &Key, size: (usize, usize)) -> ViewStep {
        let size = (size.0.max(1), size.1.saturating_sub(OWN_ROWS).max(1));
        match self.finder.key(key, &self.lines, self.place, size.0) {
            FinderStep::Go(place) => self.show(place, size),
            FinderStep::Stay => {}
            FinderStep::Other => {
                if let Some(place) = self.place.key(key, &self.lines, size) {
                    self.place = place;
                } else if let KeyCode::Escape | KeyCode::Char('q') = key.code {
                    if key.code == KeyCode::Escape && self.finder.is_on() {
                        self.finder.stop();
                        return ViewStep::Stay;
                    }
                    return ViewStep::Close;
                }
            }
        }
        ViewStep::Stay
    }

    /// Text was pasted.
    pub(crate) fn paste(&mut self, text: &str) {
        self.finder.paste(text);
    }

    /// Scrolls so that a place is on the screen, with some rows above it.
    fn show(&mut self, place: Place, size: (usize, usize)) {
        self.place = place.up(&self.lines, size.0, size.1 / 3).min(Place::last_page(&self.lines, size));
    }

    /// The rows of the screen.
    pub(crate) fn rows(&self, size: (usize, usize)) -> (Vec<TextLine>, Option<(usize, usize)>) {
        let (columns, height) = size;
        let body = (columns.max(1), height.saturating_sub(OWN_ROWS).max(1));
        let shown = self.place.shown(&self.lines, body);
        let last = shown.last().map_or(0, |(block, _)| block + 1);
        let mut rows = vec![title_row(&self.title, columns)];
        rows.extend(shown.into_iter().map(|(_, row)| self.finder.marked(row)));
        rows = fitted(rows, (columns, height.saturating_sub(1)));
        let (line, cursor) = self.finder.row(columns).unwrap_or_else(|| (self.bottom(last, columns), None));
        rows.push(line);
        (fitted(rows, size), cursor.map(|column| (height.saturating_sub(1), column)))
    }

    fn bottom(&self, last: usize, columns: usize) -> TextLine {
        let count = self.lines.count();
        let percent = (last * 100).checked_div(count).unwrap_or(100);
        let place = format!("{}/{} {percent}%", grouped(last as u64), grouped(count as u64));
        let keys = [
            (place.as_str(), "·"),
            ("q", "back"),
            ("/", "search"),
            ("n N", "next, previous"),
            ("g G", "ends"),
        ];
        keys_row(&keys, columns)
    }
}
