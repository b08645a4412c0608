//! The chat as lines of text: for screen readers, simple terminals and logs. The same reducer; nothing is drawn, and each
//! finished line is printed once.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::thread;
use std::time::Duration;

use posse_protocol::Seq;
use posse_terminal::{Key, KeyCode, TerminalInput, TextLine, Theme};
use tokio::sync::mpsc;

use super::performer::Performer;
use super::start::{ChatEnd, ChatOpening, ChatStart, now_ms};
use crate::chat::{Chat, ChatInput};
use crate::effect::{ChatEffect, Leaving, PromptWords};
use crate::limits::{INPUTS_AHEAD_MAX, PLAIN_COLUMNS, PLAIN_ROWS, TICK_MS};
use crate::questions;

/// Runs the chat line by line until the person leaves it.
pub(super) async fn run(start: ChatStart) -> io::Result<ChatEnd> {
    let mut chat = Chat::new(PLAIN_COLUMNS, PLAIN_ROWS, now_ms());
    chat.wishes = start.wishes.clone();
    start.greeting.iter().for_each(|line| chat.print(TextLine::plain(line)));
    let (inputs, mut heard) = mpsc::channel(INPUTS_AHEAD_MAX);
    let opening = start.opening.clone();
    let mut plain = Plain { chat, performer: Performer::new(start, inputs), asked: None, noted: None };
    plain.performer.find_facts();
    match opening {
        ChatOpening::Empty => {}
        ChatOpening::Prompt(text) => plain.chat.prompt(PromptWords { text, files: Vec::new() }),
        ChatOpening::Session(session) => plain.chat.open(session),
    }
    let mut lines = read_lines()?;
    let leaving = loop {
        let effects = tokio::select! {
            line = lines.recv() => match line {
                Some(line) => plain.chat.handle(ChatInput::Line(line), now_ms()),
                // Without Ctrl-D it is the terminal that is gone.
                None if io::stdin().is_terminal() => break Leaving::Close,
                None => break Leaving::Detach,
            },
            _ = tokio::signal::ctrl_c() => plain.key(Key::ctrl('c')),
            Some(input) = heard.recv() => plain.chat.handle(input, now_ms()),
            () = tokio::time::sleep(Duration::from_millis(TICK_MS)) => plain.chat.handle(ChatInput::Tick, now_ms()),
        };
        if let Some(leaving) = plain.perform(effects) {
            break leaving;
        }
        if plain.print().is_err() {
            break Leaving::Detach;
        }
    };
    plain.performer.settle(&mut plain.chat, &mut heard).await;
    let _ = plain.print();
    let session = plain.chat.session_id();
    match leaving {
        Leaving::Close => {
            plain.performer.close().await;
            Ok(ChatEnd::Closed(session))
        }
        Leaving::Detach => Ok(ChatEnd::Detached(session)),
    }
}

struct Plain {
    chat: Chat,
    performer: Performer,
    /// The question that was printed last.
    asked: Option<Seq>,
    /// The note that was printed last.
    noted: Option<String>,
}

impl Plain {
    fn key(&mut self, key: Key) -> Vec<ChatEffect> {
        self.chat.handle(ChatInput::Terminal(TerminalInput::Key(key)), now_ms())
    }

    fn perform(&mut self, effects: Vec<ChatEffect>) -> Option<Leaving> {
        for effect in effects {
            match effect {
                ChatEffect::Leave(leaving) => return Some(leaving),
                ChatEffect::OnTerminal(task) => {
                    let _ = self.print();
                    let outcome = self.performer.on_terminal(&task);
                    let effects = self.chat.handle(ChatInput::Outcome(outcome), now_ms());
                    self.perform(effects);
                }
                ChatEffect::Copy(text) => self.performer.copy(text),
                ChatEffect::Notify(_) | ChatEffect::Redraw => {}
                effect => self.performer.perform(effect, self.chat.mode()),
            }
        }
        None
    }

    /// Prints what is new: a view that would fill the screen, finished lines, a question, a note.
    fn print(&mut self) -> io::Result<()> {
        let mut lines = Vec::new();
        while let Some(view) = self.chat.full_screen() {
            let session = self.chat.session.as_ref().map(|session| &session.view);
            let size = (usize::from(PLAIN_COLUMNS), usize::from(PLAIN_ROWS));
            let (rows, _) = view.rows(session, size, self.chat.now_ms);
            lines.extend(rows.into_iter().filter(|row| !row.text().trim().is_empty()));
            self.key(Key::new(KeyCode::Escape));
        }
        lines.extend(self.chat.take_printed());
        let open = self.chat.session.as_ref().and_then(|one| Some((one, one.view.questions.first()?)));
        if let Some((session, open)) = open.filter(|(_, open)| Some(open.seq) != self.asked) {
            self.asked = Some(open.seq);
            lines.push(questions::heading(open, &session.view));
            lines.extend(questions::body(&open.question, usize::MAX));
            let rule = &open.question.pattern;
            lines.push(TextLine::plain(&match (&open.question.asks, open.question.leaves) {
                (Some(_), _) => "answer with: ? and your words, or the number of a choice".to_owned(),
                (None, true) => "answer with: ? outside, or ? n and why".to_owned(),
                (None, false) => {
                    format!("answer with: ? y (once), ? s (session), ? r (always {rule}), ? n and why")
                }
            }));
        }
        let note = self.chat.note.as_ref().map(|(note, _)| note.clone());
        if note != self.noted {
            lines.extend(note.iter().map(|note| TextLine::plain(&format!("· {note}"))));
            self.noted = note;
        }
        let mut out = io::stdout().lock();
        for line in lines {
            writeln!(out, "{}", line.painted(Theme::Plain))?;
        }
        out.flush()
    }
}

/// Reads lines on a thread of its own.
fn read_lines() -> io::Result<mpsc::Receiver<String>> {
    let (send, lines) = mpsc::channel(INPUTS_AHEAD_MAX);
    thread::Builder::new().name("lines".to_owned()).spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if send.blocking_send(line).is_err() {
                return;
            }
        }
    })?;
    Ok(lines)
}
