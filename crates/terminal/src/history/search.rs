//! Searching the history while typing, as Ctrl+R does in a shell.

use std::ops::Range;

use super::PromptHistory;
use crate::limits::HISTORY_QUERY_CHARS_MAX;

/// A search in a history: what is looked for and what was found. A query in small letters finds capital ones, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistorySearch {
    query: String,
    /// The number of the entry that was found.
    found: Option<usize>,
    is_failing: bool,
}

impl HistorySearch {
    /// A search that has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// What is looked for.
    pub fn query(&self) -> &str {
        &self.query
    }

    /// Whether nothing more was found.
    pub fn is_failing(&self) -> bool {
        self.is_failing
    }

    /// The entry that was found.
    pub fn current<'a>(&self, history: &'a PromptHistory) -> Option<&'a str> {
        history.get(self.found?)
    }

    /// Where in that entry the query is.
    pub fn matched(&self, history: &PromptHistory) -> Option<Range<usize>> {
        find(self.current(history)?, &self.query)
    }

    /// The query grows by a character: the entry that was found stays if it still fits, or an older one is looked for.
    pub fn push(&mut self, history: &PromptHistory, c: char) {
        if c.is_control() || self.query.chars().count() >= HISTORY_QUERY_CHARS_MAX {
            return;
        }
        self.query.push(c);
        self.look(history, self.found.map_or(history.len(), |found| found + 1));
    }

    /// The query loses its last character, and the search begins anew at the newest entry.
    pub fn pop(&mut self, history: &PromptHistory) {
        self.query.pop();
        self.found = None;
        self.is_failing = false;
        self.look(history, history.len());
    }

    /// Looks for the next older entry with another text.
    pub fn older(&mut self, history: &PromptHistory) {
        self.look(history, self.found.unwrap_or(history.len()));
    }

    /// Looks for the next newer entry with another text.
    pub fn newer(&mut self, history: &PromptHistory) {
        let Some(found) = self.found else { return };
        let numbers = found + 1..history.len();
        self.take(numbers.into_iter().find(|number| self.fits(history, *number)));
    }

    fn look(&mut self, history: &PromptHistory, before: usize) {
        let is_same = |number: usize| self.found == Some(number);
        let numbers = (0..before.min(history.len())).rev();
        let mut fitting = numbers.filter(|number| is_same(*number) || self.fits(history, *number));
        // The entry itself still has to fit when the query grew.
        let found =
            fitting.find(|number| find(history.get(*number).unwrap_or_default(), &self.query).is_some());
        self.take(found);
    }

    /// Whether an entry has the query and is not the text that is shown already.
    fn fits(&self, history: &PromptHistory, number: usize) -> bool {
        let entry = history.get(number).unwrap_or_default();
        !self.query.is_empty() && self.current(history) != Some(entry) && find(entry, &self.query).is_some()
    }

    fn take(&mut self, found: Option<usize>) {
        self.is_failing = found.is_none() && !self.query.is_empty();
        self.found = found.or(self.found).filter(|_| !self.query.is_empty());
    }
}

/// The last place of a query in a text.
fn find(text: &str, query: &str) -> Option<Range<usize>> {
    let is_exact = query.chars().any(char::is_uppercase);
    let is_same = |a: char, b: char| a == b || !is_exact && a.to_lowercase().eq(b.to_lowercase());
    let ends_at = |start: usize| {
        let mut rest = text[start..].chars();
        let is_here = query.chars().all(|wanted| rest.next().is_some_and(|c| is_same(c, wanted)));
        is_here.then(|| start..text.len() - rest.as_str().len())
    };
    text.char_indices().rev().find_map(|(start, _)| ends_at(start)).filter(|range| !range.is_empty())
}
