//! A long text, page by page.

use posse_protocol::Question;
use posse_terminal::{Ink, Key, KeyCode, Look, TextLine};

use super::ViewStep;
use crate::effect::ChatFound;
use crate::questions;

/// A long text.
#[derive(Debug)]
pub struct Pager {
    title: String,
    lines: Vec<TextLine>,
    top: usize,
}

impl Pager {
    pub(crate) fn new(title: &str, lines: Vec<TextLine>) -> Self {
        Self { title: title.to_owned(), lines, top: 0 }
    }

    pub(crate) fn of_question(question: &Question) -> Self {
        Self::new("question", questions::body(question, usize::MAX))
    }

    pub(crate) fn of_found(found: &ChatFound) -> Option<Self> {
        match found {
            ChatFound::Diff(_, diff) => {
                Some(Self::new("diff", posse_terminal::diff_lines(diff, usize::MAX).lines))
            }
            _ => None,
        }
    }

    pub(crate) fn key(&mut self, key: &Key, (_, rows): (usize, usize)) -> ViewStep {
        let last = self.lines.len().saturating_sub(1);
        match key.code {
            KeyCode::Escape | KeyCode::Char('q') => return ViewStep::Close,
            KeyCode::Down | KeyCode::Char('j') => self.top = (self.top + 1).min(last),
            KeyCode::Up | KeyCode::Char('k') => self.top = self.top.saturating_sub(1),
            KeyCode::PageDown | KeyCode::Char(' ') => self.top = (self.top + rows).min(last),
            KeyCode::PageUp => self.top = self.top.saturating_sub(rows),
            _ => {}
        }
        ViewStep::Stay
    }

    pub(crate) fn rows(&self, (columns, rows): (usize, usize)) -> Vec<TextLine> {
        let mut out: Vec<_> = self
            .lines
            .iter()
            .skip(self.top)
            .take(rows.saturating_sub(1))
            .map(|line| line.cut(columns))
            .collect();
        out.resize(rows.saturating_sub(1), TextLine::default());
        out.push(TextLine::of(&self.title, Look::of(Ink::Quiet).reverse()).cut(columns));
        out
    }
}
