//! What only a list of sessions has: all folders, renaming, deleting, and what was said in each.

use std::collections::HashMap;

use posse_engine::record::SessionRow;
use posse_protocol::{AgentState, Event, EventKind, Sender, SessionId};
use posse_terminal::{Editor, Ink, Key, KeyCode, Look, Markdown, TextLine};
use posse_view::words;

use super::super::input::{input_line, pasted_into, typed_into};
use crate::effect::ChatQuery;
use crate::limits::{PREVIEW_BYTES_MAX, PREVIEWS_MAX};

/// The state of a list of sessions.
#[derive(Debug, Default)]
pub(super) struct SessionChoices {
    /// Whether those of all folders are listed.
    pub(super) all: bool,
    answered: bool,
    renaming: Option<(SessionId, Box<Editor>)>,
    /// The one that the next Ctrl+D deletes.
    armed: Option<SessionId>,
    /// The one whose events are being read.
    asked: Option<SessionId>,
    previews: HashMap<SessionId, SessionWords>,
}

/// What was said first and last in a session.
#[derive(Debug, Default)]
struct SessionWords {
    first: String,
    last: String,
}

impl SessionChoices {
    pub(super) fn query(&mut self, text: &str) -> ChatQuery {
        self.answered = false;
        ChatQuery::Sessions { text: text.to_owned(), all: self.all }
    }

    pub(super) fn answered(&mut self) {
        self.answered = true;
    }

    /// Whether the record is still being looked through.
    pub(super) fn is_waiting(&self) -> bool {
        !self.answered
    }

    pub(super) fn is_renaming(&self) -> bool {
        self.renaming.is_some()
    }

    pub(super) fn rename(&mut self, row: &SessionRow) {
        let mut editor = Box::<Editor>::default();
        editor.insert(row.title.as_deref().unwrap_or_default());
        self.renaming = Some((row.id, editor));
    }

    /// A key while a title is typed; the new title once it is.
    pub(super) fn rename_key(&mut self, key: &Key) -> Option<(SessionId, String)> {
        let (id, editor) = self.renaming.as_mut()?;
        match key.code {
            KeyCode::Escape => self.renaming = None,
            KeyCode::Enter => {
                let renamed = (*id, editor.text().trim().to_owned());
                self.renaming = None;
                return Some(renamed).filter(|(_, title)| !title.is_empty());
            }
            _ => typed_into(editor, key),
        }
        None
    }

    pub(super) fn rename_line(&self, columns: usize) -> Option<(TextLine, usize)> {
        self.renaming.as_ref().map(|(_, editor)| input_line("title: ", editor, columns))
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Some((_, editor)) = &mut self.renaming {
            pasted_into(editor, text);
        }
    }

    pub(super) fn disarm(&mut self) {
        self.armed = None;
    }

    /// The second time in a row it is to be deleted.
    pub(super) fn delete(&mut self, row: &SessionRow) -> bool {
        if is_at_work(row.status) {
            return false;
        }
        let again = self.armed == Some(row.id);
        self.armed = (!again).then_some(row.id);
        again
    }

    /// What is said about it.
    pub(super) fn deleting(&self, row: &SessionRow) -> Option<String> {
        if is_at_work(row.status) {
            return Some("it is at work: stop it first".to_owned());
        }
        (self.armed == Some(row.id)).then(|| "Ctrl+D again deletes it with its whole record".to_owned())
    }

    /// Asks for the events of a session, one at a time.
    pub(super) fn preview_query(&mut self, session: SessionId) -> Option<ChatQuery> {
        if self.asked.is_some() || self.previews.contains_key(&session) {
            return None;
        }
        self.asked = Some(session);
        Some(ChatQuery::Events { session, agent: None })
    }

    pub(super) fn found(&mut self, session: SessionId, events: &[Event]) {
        self.asked.take_if(|asked| *asked == session);
        if self.previews.len() >= PREVIEWS_MAX {
            self.previews.clear();
        }
        self.previews.insert(session, session_words(events));
    }

    /// What is known of a session, and what was said in it.
    pub(super) fn preview(&self, row: &SessionRow, columns: usize) -> Option<Vec<TextLine>> {
        let quiet = |text: &str| TextLine::of(text, Ink::Quiet);
        let mut lines = vec![
            TextLine::of(row.title.as_deref().unwrap_or("(no prompt yet)"), Look::PLAIN.bold()),
            quiet(&format!("{} · {}", words::state(row.status), words::tokens(row.usage))),
            quiet(&row.workspace),
        ];
        lines.extend(row.model.as_ref().map(|model| quiet(&format!("model {model}"))));
        lines.push(TextLine::default());
        let Some(said) = self.previews.get(&row.id) else {
            lines.push(quiet("reading …"));
            return Some(lines);
        };
        lines.push(TextLine::of("First prompt", Look::of(Ink::Heading).bold()));
        lines.extend(said.first.lines().map(|line| TextLine::of(line, Ink::Person)));
        lines.push(TextLine::default());
        lines.push(TextLine::of("Last words", Look::of(Ink::Heading).bold()));
        let mut markdown = Markdown::new(columns);
        lines.extend(markdown.push(&said.last));
        lines.extend(markdown.finish());
        Some(lines)
    }
}

fn is_at_work(state: AgentState) -> bool {
    matches!(state, AgentState::Running | AgentState::NeedsPerson)
}

fn session_words(events: &[Event]) -> SessionWords {
    let mut words = SessionWords::default();
    for event in events.iter().filter(|event| event.parent.is_none()) {
        match &event.kind {
            EventKind::Told { from: Sender::Person, text, .. } if words.first.is_empty() => {
                words.first = beginning(text);
            }
            EventKind::Replied { reply, .. } if !reply.text.trim().is_empty() => {
                words.last = beginning(&reply.text);
            }
            _ => {}
        }
    }
    words
}

fn beginning(text: &str) -> String {
    text[..text.floor_char_boundary(PREVIEW_BYTES_MAX)].to_owned()
}
