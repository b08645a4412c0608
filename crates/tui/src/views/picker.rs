//! A list to choose from, with a filter: sessions, models, or turns to go back to.

mod items;
mod sessions;
mod turns;

use posse_protocol::SessionId;
use posse_setup::ModelSummary;
use posse_terminal::{Editor, Ink, Key, KeyCode, TextLine, rank};

use self::items::PickerItem;
use self::sessions::SessionChoices;
use self::turns::TurnChoices;
use super::frame::{Panes, fitted, keys_row, selected, title_row};
use super::input::{input_line, pasted_into, typed_into};
use super::scroll::first_shown;
use super::{ViewChoice, ViewStep};
use crate::effect::{ChatEffect, ChatFound};
use crate::limits::{PICKER_ITEMS_MAX, PREVIEW_COLUMNS_MIN};

/// Rows that are not items: the title, the filter and the keys.
const OWN_ROWS: usize = 3;
/// Percent of the columns that the list has beside a preview.
const LIST_PERCENT: u16 = 55;

/// A list to choose from.
#[derive(Debug)]
pub struct Picker {
    of: PickerKind,
    filter: Box<Editor>,
    items: Vec<PickerItem>,
    /// The items that fit the filter, in the order in which they are shown.
    shown: Vec<usize>,
    selected: usize,
    /// A word about what was just done.
    note: Option<String>,
}

/// What is chosen.
#[derive(Debug)]
enum PickerKind {
    Sessions(Box<SessionChoices>),
    Models,
    Turns(Box<TurnChoices>),
}

impl Picker {
    /// Recorded sessions that fit a text: of this folder first.
    pub(crate) fn sessions(text: &str) -> Self {
        let mut picker = Self::new(PickerKind::Sessions(Box::default()), Vec::new());
        picker.filter.insert(text);
        picker
    }

    /// The models there are.
    pub(crate) fn models(models: &[ModelSummary], current: Option<&str>) -> Self {
        let item = |model: &ModelSummary| PickerItem::model(model, current == Some(model.name.as_str()));
        let mut picker = Self::new(PickerKind::Models, models.iter().map(item).collect());
        picker.selected = models.iter().position(|model| current == Some(model.name.as_str())).unwrap_or(0);
        picker
    }

    /// The prompts of a session that one can go back to.
    pub(crate) fn turns(session: SessionId) -> Self {
        Self::new(PickerKind::Turns(Box::new(TurnChoices::new(session))), Vec::new())
    }

    fn new(of: PickerKind, items: Vec<PickerItem>) -> Self {
        let mut picker = Self {
            of,
            filter: Box::default(),
            items: Vec::new(),
            shown: Vec::new(),
            selected: 0,
            note: None,
        };
        picker.set_items(items);
        picker
    }

    fn set_items(&mut self, mut items: Vec<PickerItem>) {
        items.truncate(PICKER_ITEMS_MAX);
        self.items = items;
        self.refilter();
    }

    /// Which items fit what is typed. Sessions are found by the record, which knows their prompts, too.
    fn refilter(&mut self) {
        let text = self.filter.text();
        self.shown = if text.trim().is_empty() || matches!(self.of, PickerKind::Sessions(_)) {
            (0..self.items.len()).collect()
        } else {
            let names: Vec<&str> = self.items.iter().map(PickerItem::text).collect();
            rank(text.trim(), &names)
        };
        self.selected = self.selected.min(self.shown.len().saturating_sub(1));
    }

    fn chosen(&self) -> Option<&PickerItem> {
        self.items.get(*self.shown.get(self.selected)?)
    }

    /// A key was pressed.
    pub(crate) fn key(&mut self, key: &Key, size: (usize, usize)) -> ViewStep {
        self.note = None;
        match &mut self.of {
            PickerKind::Turns(turns) if turns.is_chosen() => {
                return turns.key(key, (size.0, size.1.saturating_sub(OWN_ROWS)));
            }
            PickerKind::Sessions(sessions) if sessions.is_renaming() => {
                let renamed = sessions.rename_key(key);
                if let Some((id, title)) = renamed {
                    let same = |item: &&mut PickerItem| item.session().is_some_and(|row| row.id == id);
                    self.items.iter_mut().filter(same).for_each(|item| item.set_title(&title));
                    return ViewStep::Do(vec![ChatEffect::Rename(id, title)]);
                }
                return ViewStep::Stay;
            }
            _ => {}
        }
        let step = self.list_key(key, size);
        self.with_preview(step)
    }

    fn list_key(&mut self, key: &Key, size: (usize, usize)) -> ViewStep {
        let page = size.1.saturating_sub(OWN_ROWS).max(1);
        let last = self.shown.len().saturating_sub(1);
        if let PickerKind::Sessions(_) = &self.of
            && let Some(step) = self.session_key(key)
        {
            return step;
        }
        match key.code {
            KeyCode::Escape if !self.filter.is_empty() => {
                self.filter.clear();
                return self.filtered();
            }
            KeyCode::Escape => return ViewStep::Close,
            KeyCode::Enter => return self.choose(),
            KeyCode::Down => self.selected = (self.selected + 1).min(last),
            KeyCode::Up => self.selected = self.selected.saturating_sub(1),
            KeyCode::Char('n') if key.ctrl => self.selected = (self.selected + 1).min(last),
            KeyCode::Char('p') if key.ctrl => self.selected = self.selected.saturating_sub(1),
            KeyCode::PageDown => self.selected = (self.selected + page).min(last),
            KeyCode::PageUp => self.selected = self.selected.saturating_sub(page),
            _ => {
                let before = self.filter.text();
                typed_into(&mut self.filter, key);
                if self.filter.text() != before {
                    self.selected = 0;
                    return self.filtered();
                }
            }
        }
        ViewStep::Stay
    }

    /// The keys that only sessions have.
    fn session_key(&mut self, key: &Key) -> Option<ViewStep> {
        let row = self.chosen().and_then(PickerItem::session).cloned();
        let PickerKind::Sessions(sessions) = &mut self.of else { return None };
        let delete = key.ctrl && key.code == KeyCode::Char('d');
        if !delete {
            sessions.disarm();
        }
        match key.code {
            KeyCode::Tab | KeyCode::BackTab => {
                sessions.all = !sessions.all;
                self.selected = 0;
                Some(self.filtered())
            }
            KeyCode::Char('r') if key.ctrl => {
                if let Some(row) = row {
                    sessions.rename(&row);
                }
                Some(ViewStep::Stay)
            }
            _ if delete => {
                let row = row?;
                let deleted = sessions.delete(&row);
                self.note = sessions.deleting(&row);
                if !deleted {
                    return Some(ViewStep::Stay);
                }
                self.items.retain(|item| item.session().is_none_or(|one| one.id != row.id));
                self.refilter();
                Some(ViewStep::Do(vec![ChatEffect::Delete(row.id)]))
            }
            _ => None,
        }
    }

    /// What is typed has changed.
    fn filtered(&mut self) -> ViewStep {
        let text = self.filter.text();
        if let PickerKind::Sessions(sessions) = &mut self.of {
            return ViewStep::Do(vec![ChatEffect::Query(sessions.query(text.trim()))]);
        }
        self.refilter();
        ViewStep::Stay
    }

    fn choose(&mut self) -> ViewStep {
        let Some(item) = self.chosen() else { return ViewStep::Stay };
        if let Some(row) = item.session() {
            return ViewStep::Choose(ViewChoice::Session(row.id));
        }
        if let Some(name) = item.model_name() {
            return ViewStep::Choose(ViewChoice::Model(name.to_owned()));
        }
        let (turn, prompt) = (item.turn(), item.text().to_owned());
        match (&mut self.of, turn) {
            (PickerKind::Turns(turns), Some(turn)) => ViewStep::Do(vec![turns.choose(turn, prompt)]),
            _ => ViewStep::Stay,
        }
    }

    /// Asks for the preview of the selected session, too, if it is not there.
    fn with_preview(&mut self, step: ViewStep) -> ViewStep {
        let Some(effect) = self.preview_query() else { return step };
        match step {
            ViewStep::Stay => ViewStep::Do(vec![effect]),
            ViewStep::Do(mut effects) => {
                effects.push(effect);
                ViewStep::Do(effects)
            }
            step => step,
        }
    }

    fn preview_query(&mut self) -> Option<ChatEffect> {
        let row = self.chosen().and_then(PickerItem::session).map(|row| row.id);
        let PickerKind::Sessions(sessions) = &mut self.of else { return None };
        sessions.preview_query(row?).map(ChatEffect::Query)
    }

    /// Text was pasted. What that wants to know.
    pub(crate) fn paste(&mut self, text: &str) -> Vec<ChatEffect> {
        match &mut self.of {
            PickerKind::Sessions(sessions) if sessions.is_renaming() => {
                sessions.paste(text);
                return Vec::new();
            }
            PickerKind::Turns(turns) if turns.is_chosen() => return Vec::new(),
            _ => {}
        }
        pasted_into(&mut self.filter, text);
        self.selected = 0;
        match self.filtered() {
            ViewStep::Do(effects) => effects,
            _ => Vec::new(),
        }
    }

    /// What was asked for was found; what else is wanted.
    pub(crate) fn found(&mut self, found: ChatFound) -> Vec<ChatEffect> {
        match (&mut self.of, found) {
            (PickerKind::Sessions(sessions), ChatFound::Sessions(rows)) => {
                sessions.answered();
                self.set_items(rows.into_iter().map(PickerItem::of_session).collect());
            }
            (PickerKind::Sessions(sessions), ChatFound::Events(session, _, events)) => {
                sessions.found(session, &events);
            }
            (PickerKind::Turns(turns), ChatFound::Events(session, _, events)) if turns.is_of(session) => {
                self.set_items(turns::prompts(&events));
            }
            (PickerKind::Turns(turns), ChatFound::Preview(request, preview)) => {
                turns.found(&request, &preview)
            }
            _ => {}
        }
        self.preview_query().into_iter().collect()
    }

    /// Something that was asked for could not be done.
    pub(crate) fn failed(&mut self, why: &str) {
        if let PickerKind::Turns(turns) = &mut self.of {
            turns.failed(why);
        }
        self.note = Some(why.replace('\n', " "));
    }

    /// The rows of the screen, and where the cursor is.
    pub(crate) fn rows(&self, size: (usize, usize), now_ms: u64) -> (Vec<TextLine>, Option<(usize, usize)>) {
        let (columns, height) = size;
        let body = (columns, height.saturating_sub(OWN_ROWS));
        if let PickerKind::Turns(turns) = &self.of
            && let Some(rows) = turns.rows(size)
        {
            return (fitted(rows, size), None);
        }
        let label = "filter: ";
        let (line, cursor) = match &self.of {
            PickerKind::Sessions(sessions) => {
                sessions.rename_line(columns).unwrap_or_else(|| input_line(label, &self.filter, columns))
            }
            _ => input_line(label, &self.filter, columns),
        };
        let mut rows = vec![title_row(&self.title(), columns), line];
        let panes = Panes::beside(body, LIST_PERCENT);
        let preview = self.preview(panes.second.0).filter(|_| columns >= PREVIEW_COLUMNS_MIN);
        match preview {
            Some(preview) => {
                let wrapped = preview.iter().flat_map(|line| line.wrapped(panes.second.0, 0)).collect();
                rows.extend(panes.joined(self.list(panes.first, now_ms), wrapped));
            }
            None => rows.extend(self.list(body, now_ms)),
        }
        rows = fitted(rows, (columns, height.saturating_sub(1)));
        rows.push(match &self.note {
            Some(note) => TextLine::of(&format!(" {note}"), Ink::Warning).cut(columns),
            None => keys_row(self.keys(), columns),
        });
        (fitted(rows, size), (height > 1).then_some((1, cursor)))
    }

    fn list(&self, (columns, rows): (usize, usize), now_ms: u64) -> Vec<TextLine> {
        if self.shown.is_empty() {
            return vec![TextLine::of(self.nothing(), Ink::Quiet)];
        }
        let all = matches!(&self.of, PickerKind::Sessions(sessions) if sessions.all);
        let first = first_shown(self.selected, self.shown.len(), rows);
        let items = self.shown.iter().enumerate().skip(first).take(rows);
        let row = |(at, item): (usize, &usize)| {
            let line = self.items[*item].row(columns, now_ms, all);
            if at == self.selected { selected(&line, columns) } else { line }
        };
        items.map(row).collect()
    }

    fn nothing(&self) -> &'static str {
        match &self.of {
            PickerKind::Sessions(sessions) if sessions.is_waiting() => "looking …",
            PickerKind::Sessions(sessions) if sessions.all => "no session fits",
            PickerKind::Sessions(_) => "no session of this folder fits (Tab shows all folders)",
            PickerKind::Models if self.items.is_empty() => {
                "no model is there yet: /doctor says what was looked for"
            }
            PickerKind::Models => "no model fits",
            PickerKind::Turns(_) => "no prompt fits",
        }
    }

    fn title(&self) -> String {
        let count = self.shown.len();
        let what = match &self.of {
            PickerKind::Sessions(sessions) if sessions.all => "Sessions of all folders",
            PickerKind::Sessions(_) => "Sessions of this folder",
            PickerKind::Models => "Models",
            PickerKind::Turns(_) => "Go back to the beginning of a turn",
        };
        format!("{what} · {count}")
    }

    fn preview(&self, columns: usize) -> Option<Vec<TextLine>> {
        let item = self.chosen()?;
        match &self.of {
            PickerKind::Sessions(sessions) => sessions.preview(item.session()?, columns),
            PickerKind::Models => None,
            PickerKind::Turns(_) => Some(item.text().lines().map(TextLine::plain).collect()),
        }
    }

    fn keys(&self) -> &'static [(&'static str, &'static str)] {
        match &self.of {
            PickerKind::Sessions(sessions) if sessions.is_renaming() => {
                &[("Enter", "renames"), ("Esc", "leaves the title as it is")]
            }
            PickerKind::Sessions(_) => &[
                ("Enter", "opens"),
                ("Tab", "this folder or all"),
                ("Ctrl+R", "renames"),
                ("Ctrl+D", "deletes"),
                ("Esc", "back"),
            ],
            PickerKind::Models => &[("Enter", "chooses"), ("↑↓", "select"), ("Esc", "back")],
            PickerKind::Turns(_) => &[("Enter", "goes on"), ("↑↓", "select"), ("Esc", "back")],
        }
    }
}
