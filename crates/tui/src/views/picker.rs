//! A list to choose from.

use posse_protocol::SessionId;
use posse_setup::ModelSummary;
use posse_terminal::{Ink, Key, KeyCode, Look, TextLine};

use super::{ViewChoice, ViewStep};
use crate::effect::ChatFound;

/// A list to choose from.
#[derive(Debug)]
pub struct Picker {
    items: Vec<(String, ViewChoice)>,
    selected: usize,
}

impl Picker {
    pub(crate) fn sessions(_: &str) -> Self {
        Self { items: Vec::new(), selected: 0 }
    }

    pub(crate) fn models(models: &[ModelSummary], _: Option<&str>) -> Self {
        let item = |model: &ModelSummary| (model.name.clone(), ViewChoice::Model(model.name.clone()));
        Self { items: models.iter().map(item).collect(), selected: 0 }
    }

    pub(crate) fn turns(_: SessionId) -> Self {
        Self { items: Vec::new(), selected: 0 }
    }

    pub(crate) fn key(&mut self, key: &Key, _: (usize, usize)) -> ViewStep {
        match key.code {
            KeyCode::Escape => return ViewStep::Close,
            KeyCode::Enter => {
                let chosen = self.items.get(self.selected).map(|(_, choice)| choice.clone());
                return chosen.map_or(ViewStep::Close, ViewStep::Choose);
            }
            KeyCode::Down => self.selected = (self.selected + 1).min(self.items.len().saturating_sub(1)),
            KeyCode::Up => self.selected = self.selected.saturating_sub(1),
            _ => {}
        }
        ViewStep::Stay
    }

    pub(crate) fn paste(&mut self, _: &str) {}

    pub(crate) fn found(&mut self, found: ChatFound) {
        if let ChatFound::Sessions(rows) = found {
            let item = |row: posse_engine::record::SessionRow| {
                (row.title.clone().unwrap_or_default(), ViewChoice::Session(row.id))
            };
            self.items = rows.into_iter().map(item).collect();
        }
    }

    pub(crate) fn rows(
        &self,
        (columns, rows): (usize, usize),
        _: u64,
    ) -> (Vec<TextLine>, Option<(usize, usize)>) {
        let row = |(at, (name, _)): (usize, &(String, ViewChoice))| {
            let look = if at == self.selected { Look::of(Ink::Accent).reverse() } else { Look::PLAIN };
            TextLine::of(name, look).cut(columns)
        };
        let mut out: Vec<_> = self.items.iter().enumerate().take(rows).map(row).collect();
        out.resize(rows, TextLine::default());
        (out, None)
    }
}
