//! One item of a list: how it is found and how it looks.

use posse_engine::record::SessionRow;
use posse_protocol::words::{counted, grouped};
use posse_setup::ModelSummary;
use posse_terminal::{Ink, Look, TextLine};
use posse_view::words;

use super::super::frame::state_ink;
use crate::limits::ROW_DETAILS_COLUMNS_MIN;

/// One item.
#[derive(Debug)]
pub(super) struct PickerItem {
    /// What a filter looks at.
    text: String,
    what: ItemKind,
}

#[derive(Debug)]
enum ItemKind {
    Session(Box<SessionRow>),
    Model { model: Box<ModelSummary>, is_current: bool },
    Prompt { turn: u32, at_ms: u64 },
}

impl PickerItem {
    pub(super) fn of_session(row: SessionRow) -> Self {
        let text = row.title.clone().unwrap_or_default();
        Self { text, what: ItemKind::Session(Box::new(row)) }
    }

    pub(super) fn model(model: &ModelSummary, is_current: bool) -> Self {
        let text = format!("{} {}", model.name, model.model.as_deref().unwrap_or_default());
        Self { text, what: ItemKind::Model { model: Box::new(model.clone()), is_current } }
    }

    pub(super) fn prompt(text: &str, turn: u32, at_ms: u64) -> Self {
        Self { text: text.to_owned(), what: ItemKind::Prompt { turn, at_ms } }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn session(&self) -> Option<&SessionRow> {
        match &self.what {
            ItemKind::Session(row) => Some(row),
            _ => None,
        }
    }

    pub(super) fn set_title(&mut self, title: &str) {
        if let ItemKind::Session(row) = &mut self.what {
            row.title = Some(title.to_owned());
            title.clone_into(&mut self.text);
        }
    }

    pub(super) fn model_name(&self) -> Option<&str> {
        match &self.what {
            ItemKind::Model { model, .. } => Some(&model.name),
            _ => None,
        }
    }

    pub(super) fn turn(&self) -> Option<u32> {
        match &self.what {
            ItemKind::Prompt { turn, .. } => Some(*turn),
            _ => None,
        }
    }

    /// Its row. `with_folder`: where the list has those of all folders.
    pub(super) fn row(&self, columns: usize, now_ms: u64, with_folder: bool) -> TextLine {
        match &self.what {
            ItemKind::Session(row) => session_row(row, columns, now_ms, with_folder),
            ItemKind::Model { model, is_current } => model_row(model, *is_current, columns),
            ItemKind::Prompt { turn, at_ms } => {
                let first = self.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
                let line =
                    TextLine::of(&format!(" turn {turn:<4} "), Ink::Accent).with(first.trim(), Look::PLAIN);
                spread(line, &[ago(*at_ms, now_ms)], columns)
            }
        }
    }
}

fn session_row(row: &SessionRow, columns: usize, now_ms: u64, with_folder: bool) -> TextLine {
    let (mark, ink) = (words::mark(row.status, false), state_ink(row.status, false));
    let title = row.title.as_deref().unwrap_or("(no prompt yet)");
    let line = TextLine::of(&format!(" {mark} "), ink).with(title, Look::PLAIN);
    let mut parts = vec![ago(row.last_at_ms, now_ms)];
    if columns >= ROW_DETAILS_COLUMNS_MIN {
        parts.insert(0, words::state(row.status).to_owned());
        parts.push(counted(row.turns, "turn"));
        parts.extend(row.cost_usd.map(|usd| words::cost(usd, row.cost_unknown)));
    }
    if with_folder {
        let folder = row.workspace.rsplit(['/', '\\']).next().unwrap_or_default();
        parts.push(TextLine::plain(folder).cut(20).text());
    }
    spread(line, &parts, columns)
}

fn model_row(model: &ModelSummary, is_current: bool, columns: usize) -> TextLine {
    let mark = if is_current { " ● " } else { "   " };
    let mut line = TextLine::of(mark, Ink::Accent).with(&model.name, Look::PLAIN.bold());
    if let Some(id) = model.model.as_deref().filter(|id| *id != model.name) {
        line.push(&format!("  {id}"), Look::PLAIN);
    }
    let mut parts = Vec::new();
    parts.extend(model.context_window.map(|tokens| format!("{} tokens", grouped(tokens))));
    if columns >= ROW_DETAILS_COLUMNS_MIN {
        parts.push(model.protocol.clone());
        parts.push(if model.configured { "configured" } else { "found by its key" }.to_owned());
    }
    spread(line, &parts, columns)
}

/// What an item is called at the left, and what is known of it at the right.
fn spread(name: TextLine, parts: &[String], columns: usize) -> TextLine {
    let right = TextLine::of(&parts.join(" · "), Ink::Quiet).cut(columns / 2);
    let room = columns.saturating_sub(right.columns() + 3);
    let mut line = name.cut(room);
    let gap = columns.saturating_sub(line.columns() + right.columns() + 1);
    line.push(&" ".repeat(gap), Look::PLAIN);
    line.append(right);
    line.cut(columns)
}

/// How long ago something was, in a few words.
pub(super) fn ago(at_ms: u64, now_ms: u64) -> String {
    const MINUTE: u64 = 60_000;
    match now_ms.saturating_sub(at_ms) {
        0..MINUTE => "just now".to_owned(),
        ms if ms < 60 * MINUTE => format!("{} min ago", ms / MINUTE),
        ms if ms < 24 * 60 * MINUTE => format!("{} h ago", ms / (60 * MINUTE)),
        ms => format!("{} d ago", ms / (24 * 60 * MINUTE)),
    }
}
