//! Going back to a turn: the prompts of the person, what the files would become, and what is taken back.

use posse_engine::{ChangePreview, ChangeRequest};
use posse_protocol::{Event, EventKind, Sender, SessionId};
use posse_terminal::{Key, KeyCode, TextLine};

use super::super::frame::{fitted, keys_row, title_row};
use super::super::preview::PreviewPane;
use super::super::{ViewChoice, ViewStep};
use super::items::PickerItem;
use crate::effect::ChatEffect;

/// The state of a list of turns.
#[derive(Debug)]
pub(super) struct TurnChoices {
    session: SessionId,
    chosen: Option<(u32, PreviewPane)>,
    /// What the person said at the beginning of it.
    prompt: String,
}

impl TurnChoices {
    pub(super) fn new(session: SessionId) -> Self {
        Self { session, chosen: None, prompt: String::new() }
    }

    pub(super) fn is_of(&self, session: SessionId) -> bool {
        self.session == session
    }

    /// Whether a turn is chosen, and only the question is open what is taken back.
    pub(super) fn is_chosen(&self) -> bool {
        self.chosen.is_some()
    }

    pub(super) fn choose(&mut self, turn: u32, prompt: String) -> ChatEffect {
        let (preview, effect) = PreviewPane::ask(ChangeRequest::Rewind { turn });
        (self.chosen, self.prompt) = (Some((turn, preview)), prompt);
        effect
    }

    pub(super) fn found(&mut self, request: &ChangeRequest, preview: &ChangePreview) {
        if let Some((_, pane)) = &mut self.chosen {
            pane.found(request, preview);
        }
    }

    pub(super) fn failed(&mut self, why: &str) {
        if let Some((_, pane)) = &mut self.chosen {
            pane.failed(why);
        }
    }

    /// A key while it is open what is taken back.
    pub(super) fn key(&mut self, key: &Key, size: (usize, usize)) -> ViewStep {
        let Some((turn, pane)) = &mut self.chosen else { return ViewStep::Stay };
        let turn = *turn;
        let prompt = &self.prompt;
        let choose = |conversation, files| {
            let prompt = prompt.clone();
            ViewStep::Choose(ViewChoice::Rewind { turn, conversation, files, prompt })
        };
        match (key.code, key.ctrl || key.alt) {
            (KeyCode::Escape, _) => self.chosen = None,
            (KeyCode::Char('c'), false) => return choose(true, false),
            // What it does to files is seen first.
            (KeyCode::Char('f'), false) if pane.is_known() => return choose(false, true),
            (KeyCode::Char('b'), false) if pane.is_known() => return choose(true, true),
            (KeyCode::Char('f' | 'b'), false) => {}
            _ => pane.key(key, size),
        }
        ViewStep::Stay
    }

    /// The rows of that question.
    pub(super) fn rows(&self, (columns, height): (usize, usize)) -> Option<Vec<TextLine>> {
        let (turn, pane) = self.chosen.as_ref()?;
        let mut rows = vec![title_row(&format!("Back to the beginning of turn {turn}"), columns)];
        rows.extend(pane.rows((columns, height.saturating_sub(2))));
        rows = fitted(rows, (columns, height.saturating_sub(1)));
        let all = [("c", "conversation"), ("f", "files"), ("b", "both"), ("↑↓", "scroll"), ("Esc", "back")];
        let unknown = [("c", "conversation"), ("Esc", "back")];
        rows.push(keys_row(if pane.is_known() { &all } else { &unknown }, columns));
        Some(rows)
    }
}

/// The prompts of the person with the turns that they began, newest first.
pub(super) fn prompts(events: &[Event]) -> Vec<PickerItem> {
    let mut items = Vec::new();
    let mut said: Option<(String, u64)> = None;
    for event in events.iter().filter(|event| event.parent.is_none()) {
        match &event.kind {
            EventKind::Told { from: Sender::Person, text, .. } => {
                let (before, _) = said.take().unwrap_or_default();
                let text = if before.is_empty() { text.clone() } else { format!("{before}\n{text}") };
                said = Some((text, event.at_ms));
            }
            EventKind::TurnStarted { turn, .. } => {
                items.extend(said.take().map(|(text, at_ms)| PickerItem::prompt(&text, *turn, at_ms)));
            }
            _ => {}
        }
    }
    items.reverse();
    items
}
