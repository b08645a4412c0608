//! Holds back streamed text that may turn out to be a tool call, so that nobody is shown raw call JSON.
//!
//! Under `Auto` only the start of a reply decides, since a reply with other words in it is not read as calls. Under
//! `Text` a call may begin anywhere, so the end of what has come is held for as long as it may begin one.

use crate::ToolCallMode;
use crate::text_calls::{FENCE, FORGED, TAGS, before_forged, is_call_fence};

/// Text on its way to the person.
pub(crate) struct TextGate {
    mode: ToolCallMode,
    /// Came in and was not let through.
    held: String,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// What comes next may begin a call.
    Open,
    /// A call seems to have begun: everything is held until the end of the reply.
    Call,
    /// Inside a fence with ordinary code.
    Code,
    /// Nothing more can be a call.
    Passing,
}

/// What the beginning of a text may be.
enum Beginning {
    Words,
    Unknown,
    Call,
    /// An ordinary fence, up to and including its first line.
    Code(usize),
}

impl TextGate {
    /// A gate for one reply; without tools nothing can be a call.
    pub(crate) fn new(mode: ToolCallMode, has_tools: bool) -> Self {
        let watches = has_tools && mode != ToolCallMode::Native;
        Self { mode, held: String::new(), state: if watches { State::Open } else { State::Passing } }
    }

    /// Takes more text; returns what may be shown now.
    pub(crate) fn push(&mut self, text: &str) -> String {
        self.held.push_str(text);
        match self.mode {
            ToolCallMode::Text => self.advance(),
            _ => self.decide(),
        }
    }

    /// What is still held, if it was words after all.
    pub(crate) fn release(self) -> String {
        before_forged(&self.held, self.mode).to_owned()
    }

    fn all(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    fn decide(&mut self) -> String {
        if self.state == State::Open {
            self.state = match beginning(self.held.trim_start()) {
                Beginning::Unknown => State::Open,
                Beginning::Call => State::Call,
                Beginning::Words | Beginning::Code(_) => State::Passing,
            };
        }
        if self.state == State::Passing { self.all() } else { String::new() }
    }

    fn advance(&mut self) -> String {
        let mut shown = String::new();
        loop {
            let (take, next) = match self.state {
                State::Call => return shown,
                State::Passing => (self.held.len(), State::Passing),
                State::Code => match self.held.find(FENCE) {
                    Some(at) => (at + FENCE.len(), State::Open),
                    None => (self.held.len() - overlap(&self.held, FENCE), State::Code),
                },
                State::Open => self.scan(),
            };
            let rest = self.held.split_off(take);
            let stuck = take == 0 && next == self.state;
            shown.push_str(&std::mem::replace(&mut self.held, rest));
            self.state = next;
            if stuck || (self.held.is_empty() && next != State::Call) {
                return shown;
            }
        }
    }

    /// How much of what is held is words, and what comes after them.
    fn scan(&self) -> (usize, State) {
        for (at, c) in self.held.char_indices() {
            if !matches!(c, '<' | '`' | '{') {
                continue;
            }
            match beginning(&self.held[at..]) {
                Beginning::Words => {}
                Beginning::Unknown => return (at, State::Open),
                Beginning::Call if at == 0 => return (0, State::Call),
                Beginning::Call => return (at, State::Open),
                Beginning::Code(length) => return (at + length, State::Code),
            }
        }
        (self.held.len(), State::Open)
    }
}

/// What a text begins with.
fn beginning(text: &str) -> Beginning {
    let mut marks = TAGS.iter().map(|(open, _)| *open).chain([FORGED]);
    if text.is_empty() || FENCE.starts_with(text) || marks.clone().any(|mark| mark.starts_with(text)) {
        return Beginning::Unknown;
    }
    if marks.any(|mark| text.starts_with(mark)) {
        return Beginning::Call;
    }
    if let Some(fenced) = text.strip_prefix(FENCE) {
        return match fenced.split_once('\n') {
            None => Beginning::Unknown,
            Some((language, _)) if is_call_fence(language) => fenced_object(fenced, language.len() + 1),
            Some((language, _)) => Beginning::Code(FENCE.len() + language.len() + 1),
        };
    }
    may_be_call(text)
}

/// A fence without a language or with JSON in it is a call only if it holds an object that begins like one.
fn fenced_object(fenced: &str, first_line: usize) -> Beginning {
    let inside = fenced[first_line..].trim_start();
    if inside.is_empty() {
        return Beginning::Unknown;
    }
    match may_be_call(inside) {
        Beginning::Words => Beginning::Code(FENCE.len() + first_line),
        other => other,
    }
}

/// Whether a text is an object whose first key is one that a call has.
fn may_be_call(text: &str) -> Beginning {
    let Some(inside) = text.strip_prefix('{') else { return Beginning::Words };
    let inside = inside.trim_start();
    let key = inside.strip_prefix('{').unwrap_or(inside).trim_start();
    let known =
        ["name", "function", "tool", "arguments", "parameters", "args"].map(|key| format!("\"{key}\""));
    if known.iter().any(|known| key.starts_with(known.as_str())) {
        Beginning::Call
    } else if known.iter().any(|known| known.starts_with(key)) {
        Beginning::Unknown
    } else {
        Beginning::Words
    }
}

/// How many bytes at the end of `text` may be the start of `mark`.
fn overlap(text: &str, mark: &str) -> usize {
    (1..mark.len()).rev().find(|&n| text.ends_with(&mark[..n])).unwrap_or(0)
}
