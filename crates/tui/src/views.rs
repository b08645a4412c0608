//! Full-screen views, on the alternate screen: they are opened by one key and leave no trace. Each is a pure state with keys
//! and drawing; `paint` puts what they draw on a terminal.

mod context;
mod finder;
mod frame;
mod input;
mod pager;
mod paint;
mod picker;
mod preview;
mod scroll;
mod transcript;
mod work;

#[cfg(test)]
pub(crate) mod tests;

use posse_protocol::{Event, SessionId};
use posse_terminal::{Key, KeyCode, TextLine};
use posse_view::SessionView;

use crate::effect::{ChatEffect, ChatFound, OnTerminal};

pub(crate) use self::pager::Pager;
pub(crate) use self::paint::FullScreenTerminal;
pub(crate) use self::picker::Picker;
pub(crate) use self::transcript::TranscriptView;
pub(crate) use self::work::WorkView;

/// A view that fills the screen.
#[derive(Debug)]
pub enum FullScreen {
    /// A long text.
    Pager(Pager),
    /// A list to choose from.
    Picker(Picker),
    /// Everything that an agent did.
    Transcript(Box<TranscriptView>),
    /// The to-do list, the agents, and all about each of them.
    Work(WorkView),
}

/// What was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ViewChoice {
    Session(SessionId),
    Model(String),
    /// With the words of the person that began the turn.
    Rewind {
        turn: u32,
        conversation: bool,
        files: bool,
        prompt: String,
    },
}

/// What a key came to.
#[derive(Debug, PartialEq)]
pub(crate) enum ViewStep {
    /// Nothing more.
    Stay,
    /// The view is left.
    Close,
    /// Something is to be done; the view stays.
    Do(Vec<ChatEffect>),
    /// Something was chosen; the view is left.
    Choose(ViewChoice),
}

impl FullScreen {
    /// The view of what was found; none if it is not something to read.
    pub(crate) fn of_found(found: &ChatFound) -> Option<Self> {
        match found {
            ChatFound::Events(session, agent, events) => {
                let transcript = TranscriptView::new("Transcript", *session, *agent, events);
                Some(Self::Transcript(Box::new(transcript)))
            }
            found => Pager::of_found(found).map(Self::Pager),
        }
    }

    /// A key was pressed. These do the same in every view: Ctrl+C leaves it, Ctrl+L draws it anew, Ctrl+Z suspends the chat.
    pub(crate) fn key(
        &mut self,
        key: &Key,
        view: Option<&SessionView>,
        size: (usize, usize),
        now_ms: u64,
    ) -> ViewStep {
        match key.code {
            KeyCode::Char('c') if key.ctrl => return ViewStep::Close,
            KeyCode::Char('l') if key.ctrl => return ViewStep::Do(vec![ChatEffect::Redraw]),
            KeyCode::Char('z') if key.ctrl => {
                return ViewStep::Do(vec![ChatEffect::OnTerminal(OnTerminal::Suspend)]);
            }
            _ => {}
        }
        match self {
            Self::Pager(pager) => pager.key(key, size),
            Self::Picker(picker) => picker.key(key, size),
            Self::Transcript(transcript) => transcript.key(key, size),
            Self::Work(work) => work.key(key, view, size, now_ms),
        }
    }

    /// Text was pasted. Says what the view wants to know because of it.
    pub(crate) fn paste(&mut self, text: &str) -> Vec<ChatEffect> {
        match self {
            Self::Pager(pager) => pager.paste(text),
            Self::Picker(picker) => return picker.paste(text),
            Self::Transcript(transcript) => transcript.paste(text),
            Self::Work(work) => work.paste(text),
        }
        Vec::new()
    }

    /// What the view asked for was found. Says what it wants to know next.
    pub(crate) fn found(&mut self, found: ChatFound) -> Vec<ChatEffect> {
        match self {
            Self::Pager(_) | Self::Transcript(_) => Vec::new(),
            Self::Picker(picker) => picker.found(found),
            Self::Work(work) => work.found(found),
        }
    }

    /// Something could not be done. Those who asked for it have to see that here: what is printed is seen later.
    pub(crate) fn failed(&mut self, why: &str) {
        match self {
            Self::Pager(_) | Self::Transcript(_) => {}
            Self::Picker(picker) => picker.failed(why),
            Self::Work(work) => work.failed(why),
        }
    }

    /// Something happened in the session that is open.
    pub(crate) fn happened(&mut self, event: &Event) {
        match self {
            Self::Pager(_) | Self::Picker(_) => {}
            Self::Transcript(transcript) => transcript.happened(event),
            Self::Work(work) => work.happened(event),
        }
    }

    /// The rows of the screen, from top to bottom, and where the cursor is: row and column.
    pub fn rows(
        &self,
        view: Option<&SessionView>,
        size: (usize, usize),
        now_ms: u64,
    ) -> (Vec<TextLine>, Option<(usize, usize)>) {
        match self {
            Self::Pager(pager) => pager.rows(size),
            Self::Picker(picker) => picker.rows(size, now_ms),
            Self::Transcript(transcript) => transcript.rows(size),
            Self::Work(work) => work.rows(view, size, now_ms),
        }
    }
}
