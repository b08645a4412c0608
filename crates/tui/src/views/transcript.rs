//! Everything that an agent did, from its events: a list of entries that open and close, with a search.

mod entries;
mod lines;

use posse_protocol::{AgentId, Event, Seq, SessionId};
use posse_terminal::{Ink, Key, KeyCode, Look, TextLine};

use self::entries::TranscriptEntries;
use super::ViewStep;
use super::finder::{Finder, FinderStep};
use super::frame::{fitted, keys_row, title_row};
use super::scroll::{Blocks, Place};

/// Rows that are not text: the title and the keys.
const OWN_ROWS: usize = 2;
/// Columns before each row: the mark of the selected entry.
const GUTTER: usize = 2;

/// The transcript of an agent, or of a whole session.
#[derive(Debug)]
pub struct TranscriptView {
    session: SessionId,
    agent: Option<AgentId>,
    title: String,
    last: Seq,
    entries: TranscriptEntries,
    shows_thoughts: bool,
    selected: usize,
    place: Place,
    finder: Finder,
    /// Whether the newest entry is followed as they come.
    follows: bool,
}

/// The entries as blocks.
struct EntryBlocks<'a> {
    entries: &'a TranscriptEntries,
    shows_thoughts: bool,
}

impl Blocks for EntryBlocks<'_> {
    fn count(&self) -> usize {
        self.entries.list.len()
    }

    fn rows(&self, block: usize, columns: usize) -> Vec<TextLine> {
        let Some(entry) = self.entries.list.get(block) else { return Vec::new() };
        let room = columns.saturating_sub(GUTTER).max(1);
        let mut lines = entry.lines(room, self.shows_thoughts);
        if let Some(who) = &entry.who
            && let Some(first) = lines.first_mut()
        {
            let mut named = TextLine::of(&format!("{who}  "), Look::of(Ink::Accent).bold());
            named.append(std::mem::take(first));
            *first = named;
        }
        // Words are read as paragraphs; of calls and notes one sees where they begin.
        let indent = if entry.is_words() { 0 } else { 2 };
        lines.iter().flat_map(|line| line.wrapped(room, indent)).collect()
    }

    fn text(&self, block: usize) -> String {
        self.entries.list.get(block).map(entries::TranscriptEntry::text).unwrap_or_default()
    }
}

impl TranscriptView {
    /// The transcript of these events.
    pub(crate) fn new(title: &str, session: SessionId, agent: Option<AgentId>, events: &[Event]) -> Self {
        let mut view = Self {
            session,
            agent,
            title: title.to_owned(),
            last: Seq(0),
            entries: TranscriptEntries::new(agent.is_none()),
            shows_thoughts: false,
            selected: 0,
            place: Place::default(),
            finder: Finder::default(),
            follows: true,
        };
        events.iter().for_each(|event| view.add(event));
        view.selected = view.entries.list.len().saturating_sub(1);
        view.place = Place { block: usize::MAX, row: 0 };
        view
    }

    fn add(&mut self, event: &Event) {
        let mine = event.session == self.session && self.agent.is_none_or(|agent| agent == event.agent);
        if mine && event.seq > self.last {
            self.last = event.seq;
            self.entries.add(event);
        }
    }

    /// Something happened in the session that is open.
    pub(crate) fn happened(&mut self, event: &Event) {
        let before = self.entries.list.len();
        self.add(event);
        if self.finder.is_on() {
            let mut finder = std::mem::take(&mut self.finder);
            finder.refresh(&self.blocks());
            self.finder = finder;
        }
        if self.follows && self.entries.list.len() > before {
            self.selected = self.entries.list.len() - 1;
            self.place = Place { block: usize::MAX, row: 0 };
        }
    }

    fn blocks(&self) -> EntryBlocks<'_> {
        EntryBlocks { entries: &self.entries, shows_thoughts: self.shows_thoughts }
    }

    /// A key was pressed.
    pub(crate) fn key(&mut self, key: &Key, size: (usize, usize)) -> ViewStep {
        let size = (size.0.max(1), size.1.saturating_sub(OWN_ROWS).max(1));
        let mut finder = std::mem::take(&mut self.finder);
        let from = Place { block: self.selected, row: 0 };
        let step = finder.key(key, &self.blocks(), from, size.0);
        self.finder = finder;
        match step {
            FinderStep::Go(place) => self.go(place, size),
            FinderStep::Stay => {}
            FinderStep::Other => return self.own_key(key, size),
        }
        ViewStep::Stay
    }

    /// Text was pasted.
    pub(crate) fn paste(&mut self, text: &str) {
        self.finder.paste(text);
    }

    fn own_key(&mut self, key: &Key, size: (usize, usize)) -> ViewStep {
        let last = self.entries.list.len().saturating_sub(1);
        if !key.ctrl && !key.alt {
            match key.code {
                KeyCode::Char('q') => return ViewStep::Close,
                KeyCode::Escape if self.finder.is_on() => self.finder.stop(),
                KeyCode::Escape => return ViewStep::Close,
                KeyCode::Down | KeyCode::Char('j') => self.step(true, size),
                KeyCode::Up | KeyCode::Char('k') => self.step(false, size),
                KeyCode::Enter => {
                    if let Some(entry) = self.entries.list.get_mut(self.selected) {
                        entry.open = !entry.open;
                    }
                    self.show_selected(size);
                }
                KeyCode::Char('r') => {
                    self.shows_thoughts = !self.shows_thoughts;
                    self.show_selected(size);
                }
                _ => self.scroll(key, size),
            }
        } else {
            self.scroll(key, size);
        }
        self.follows = self.selected >= last;
        ViewStep::Stay
    }

    /// Pages; the selection goes along.
    fn scroll(&mut self, key: &Key, size: (usize, usize)) {
        let Some(place) = self.place.key(key, &self.blocks(), size) else { return };
        self.place = place;
        let shown = self.place.shown(&self.blocks(), size);
        let (first, last) = (shown.first().map(|one| one.0), shown.last().map(|one| one.0));
        if let (Some(first), Some(last)) = (first, last) {
            let at_end = matches!(key.code, KeyCode::End | KeyCode::Char('G'));
            self.selected = if at_end { last } else { self.selected.clamp(first, last) };
            if matches!(key.code, KeyCode::Home | KeyCode::Char('g')) {
                self.selected = first;
            }
        }
    }

    /// The next entry; one that is longer than the screen is scrolled through first.
    fn step(&mut self, down: bool, size: (usize, usize)) {
        let shown = self.place.shown(&self.blocks(), size);
        let edge = if down { shown.last() } else { shown.first() };
        let tall = self.blocks().rows(self.selected, size.0).len() >= size.1;
        if tall && edge.is_some_and(|(block, _)| *block == self.selected) {
            let before = self.place.min(Place::last_page(&self.blocks(), size));
            let moved = if down {
                before.down(&self.blocks(), size, 1)
            } else {
                before.up(&self.blocks(), size.0, 1)
            };
            let still = moved.shown(&self.blocks(), size);
            let edge = if down { still.last() } else { still.first() };
            self.place = moved;
            if moved != before && edge.is_some_and(|(block, _)| *block == self.selected) {
                return;
            }
        }
        let last = self.entries.list.len().saturating_sub(1);
        let before = self.selected;
        self.selected = if down { (self.selected + 1).min(last) } else { self.selected.saturating_sub(1) };
        self.show_selected(size);
        let rows = self.blocks().rows(self.selected, size.0).len();
        if !down && before != self.selected && rows >= size.1 {
            // One comes to its end first.
            self.place = Place { block: before, row: 0 }.up(&self.blocks(), size.0, size.1);
        }
    }

    /// An entry in which something was found: it is opened, so that the place is seen.
    fn go(&mut self, place: Place, size: (usize, usize)) {
        self.selected = place.block.min(self.entries.list.len().saturating_sub(1));
        if self.finder.is_on()
            && let Some(entry) = self.entries.list.get_mut(self.selected)
            && entry.folds()
        {
            entry.open = true;
        }
        self.place = place.up(&self.blocks(), size.0, size.1 / 3).min(Place::last_page(&self.blocks(), size));
    }

    /// Scrolls until the selected entry is on the screen: all of it if it fits, else its beginning.
    fn show_selected(&mut self, size: (usize, usize)) {
        let begin = Place { block: self.selected, row: 0 };
        let rows = self.blocks().rows(self.selected, size.0).len();
        let current = self.place.min(Place::last_page(&self.blocks(), size));
        let lowest = begin.up(&self.blocks(), size.0, size.1.saturating_sub(rows));
        self.place = if rows >= size.1 { begin } else { current.clamp(lowest.min(begin), begin) };
    }

    /// The rows of the screen.
    pub(crate) fn rows(&self, size: (usize, usize)) -> (Vec<TextLine>, Option<(usize, usize)>) {
        let (columns, height) = size;
        let body = (columns.max(1), height.saturating_sub(OWN_ROWS).max(1));
        let mut rows = vec![title_row(&self.title, columns)];
        let shown = self.place.shown(&self.blocks(), body);
        rows.extend(shown.into_iter().map(|(block, row)| {
            let mark = if block == self.selected { "▌ " } else { "  " };
            let mut line = TextLine::of(mark, Ink::Accent);
            line.append(self.finder.marked(row));
            line
        }));
        rows = fitted(rows, (columns, height.saturating_sub(1)));
        let (line, cursor) = self.finder.row(columns).unwrap_or_else(|| (self.bottom(columns), None));
        rows.push(line);
        (fitted(rows, size), cursor.map(|column| (height.saturating_sub(1), column)))
    }

    fn bottom(&self, columns: usize) -> TextLine {
        let count = self.entries.list.len();
        let more = if self.entries.left_out > 0 { "+" } else { "" };
        let place = format!("{}/{count}{more}", (self.selected + 1).min(count));
        let thoughts = if self.shows_thoughts { "fold reasoning" } else { "reasoning" };
        let keys = [
            (place.as_str(), "·"),
            ("q", "back"),
            ("Enter", "open"),
            ("↑↓", "select"),
            ("r", thoughts),
            ("/", "search"),
            ("g G", "ends"),
        ];
        keys_row(&keys, columns)
    }
}
