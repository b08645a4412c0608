//! The loop: input and updates go into the chat, effects and frames come out.

use std::io;
use std::time::{Duration, Instant};

use posse_terminal::{Screen, Theme};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use super::clipboard;
use super::keyboard::{Keyboard, Typed};
use super::performer::Performer;
use super::plain;
use super::start::{ChatEnd, ChatOpening, ChatStart, now_ms};
use super::terminal::ChatTerminal;
use crate::chat::{Chat, ChatInput};
use crate::draw;
use crate::effect::{ChatEffect, Leaving, OnTerminal, PromptWords};
use crate::limits::{FRAME_MS, INPUTS_AHEAD_MAX, TICK_MS};
use crate::views::FullScreenTerminal;

/// Opens the chat on this process's terminal, and returns when the person leaves it.
pub async fn open(start: ChatStart) -> io::Result<ChatEnd> {
    if start.plain {
        return plain::run(start).await;
    }
    let terminal = ChatTerminal::enter()?;
    let (columns, rows) = terminal.size();
    let mut chat = Chat::new(columns, rows, now_ms());
    if !start.colours {
        chat.theme = Theme::Colourless;
        chat.facts.theme = Some(Theme::Colourless);
    }
    chat.wishes = start.wishes.clone();
    for line in &start.greeting {
        chat.print(posse_terminal::TextLine::plain(line));
    }
    let mut screen = Screen::new(columns, rows, chat.theme());
    let program = start.paths.surroundings().variable("TERM_PROGRAM");
    screen.join_rows(program.is_some_and(|program| program == "vscode"));
    let (inputs, heard) = mpsc::channel(INPUTS_AHEAD_MAX);
    let keyboard = Keyboard::start()?;
    let opening = start.opening.clone();
    let performer = Performer::new(start, inputs);
    let (drawn, ticked) = (Instant::now(), Instant::now());
    let (title, full, changed) = (String::new(), None, true);
    let mut edge = Edge { chat, screen, terminal, keyboard, performer, full, title, changed, drawn, ticked };
    edge.draw()?;
    edge.performer.find_facts();
    match opening {
        ChatOpening::Empty => {}
        ChatOpening::Prompt(text) => {
            let words = PromptWords { text, files: Vec::new() };
            edge.chat.prompt(words);
            let effects = edge.chat.handle(ChatInput::Tick, now_ms());
            edge.perform(effects)?;
        }
        ChatOpening::Session(session) => {
            edge.chat.open(session);
            let effects = edge.chat.handle(ChatInput::Tick, now_ms());
            edge.perform(effects)?;
        }
    }
    edge.run(heard).await
}

/// Everything at the edge.
struct Edge {
    chat: Chat,
    screen: Screen,
    terminal: ChatTerminal,
    keyboard: Keyboard,
    performer: Performer,
    /// The alternate screen while a view fills it.
    full: Option<FullScreenTerminal>,
    title: String,
    changed: bool,
    /// When the last frame was drawn, and when time last passed for the chat.
    drawn: Instant,
    ticked: Instant,
}

/// What ends the loop.
enum Left {
    By(Leaving),
    /// The terminal is gone.
    Gone,
}

impl Edge {
    async fn run(mut self, mut heard: mpsc::Receiver<ChatInput>) -> io::Result<ChatEnd> {
        let mut resized = signal(SignalKind::window_change())?;
        let (mut hangup, mut terminate) = (signal(SignalKind::hangup())?, signal(SignalKind::terminate())?);
        // One timer, set anew for a frame and not for each update: setting it wakes another thread.
        let mut timer = std::pin::pin!(tokio::time::sleep(Duration::ZERO));
        let left = loop {
            let mut effects = match self.due() {
                Ok(effects) => effects,
                Err(_) => break Left::Gone,
            };
            if effects.is_empty() {
                let due = self.due_at().map(tokio::time::Instant::from_std);
                if let Some(due) = due.filter(|due| *due != timer.deadline()) {
                    timer.as_mut().reset(due);
                }
                effects = tokio::select! {
                    biased;
                    typed = self.keyboard.typed.recv() => match typed {
                        Some(Typed::Input(input)) => self.feed(ChatInput::Terminal(input)),
                        Some(Typed::Closed) | None => break Left::Gone,
                    },
                    _ = resized.recv() => self.resize(),
                    _ = ended(&mut hangup, &mut terminate) => break Left::Gone,
                    () = timer.as_mut(), if due.is_some() => Vec::new(),
                    input = heard.recv() => match input {
                        Some(input) => {
                            self.changed = true;
                            self.chat.handle(input, now_ms())
                        }
                        None => break Left::Gone,
                    },
                };
            }
            match self.perform(effects) {
                Ok(None) => {}
                Ok(Some(leaving)) => break Left::By(leaving),
                Err(_) => break Left::Gone,
            }
        };
        self.leave(left, heard).await
    }

    /// Does what time asks for: a tick where something moves, and a frame where something changed. A timer alone would not
    /// do: it is late by a millisecond or more, and never comes where updates do not pause.
    fn due(&mut self) -> io::Result<Vec<ChatEffect>> {
        let mut effects = Vec::new();
        if self.chat.moves() && self.ticked.elapsed() >= Duration::from_millis(TICK_MS) {
            (self.ticked, self.changed) = (Instant::now(), true);
            effects = self.chat.handle(ChatInput::Tick, now_ms());
        }
        if self.changed && self.drawn.elapsed() >= Duration::from_millis(FRAME_MS) {
            self.draw()?;
        }
        Ok(effects)
    }

    /// When the next thing is due; none if nothing is.
    fn due_at(&self) -> Option<Instant> {
        let frame = self.changed.then(|| self.drawn + Duration::from_millis(FRAME_MS));
        let tick = self.chat.moves().then(|| self.ticked + Duration::from_millis(TICK_MS));
        frame.into_iter().chain(tick).min()
    }

    /// A key or another input of the terminal is seen at once.
    fn feed(&mut self, input: ChatInput) -> Vec<ChatEffect> {
        let mut effects = self.chat.handle(input, now_ms());
        // What was typed faster than it could be drawn is drawn together.
        while let Ok(Typed::Input(input)) = self.keyboard.typed.try_recv() {
            effects.extend(self.chat.handle(ChatInput::Terminal(input), now_ms()));
        }
        self.changed = self.draw().is_err();
        effects
    }

    fn resize(&mut self) -> Vec<ChatEffect> {
        let (columns, rows) = self.terminal.size();
        self.screen.resize(columns, rows);
        self.changed = true;
        self.chat.handle(ChatInput::Resized { columns, rows }, now_ms())
    }

    /// Brings back what was on the screen before a view filled it.
    fn leave_full_screen(&mut self) -> io::Result<()> {
        let Some(mut full) = self.full.take() else { return Ok(()) };
        let mut bytes = Vec::new();
        full.leave(&mut bytes)?;
        self.screen.forget();
        self.terminal.write(&bytes)
    }

    fn draw(&mut self) -> io::Result<()> {
        (self.changed, self.drawn) = (false, Instant::now());
        if let Some(view) = self.chat.full_screen() {
            let mut bytes = Vec::new();
            let (columns, rows) = self.terminal.size();
            let full = match &mut self.full {
                Some(full) => full,
                none => {
                    bytes.extend(self.screen.leave());
                    none.insert(FullScreenTerminal::new(columns, rows))
                }
            };
            full.resize(columns, rows);
            let session = self.chat.session.as_ref().map(|session| &session.view);
            let (rows, cursor) = view.rows(session, (self.chat.columns, self.chat.rows), self.chat.now_ms);
            full.draw(&mut bytes, &rows, cursor, self.chat.theme())?;
            return self.terminal.write(&bytes);
        }
        self.leave_full_screen()?;
        self.screen.set_theme(self.chat.theme());
        let printed = self.chat.take_printed();
        let mut bytes = self.screen.frame(&printed, &draw::region(&self.chat));
        let title = self.chat.title();
        if title != self.title {
            bytes.extend(clipboard::title(&title));
            self.title = title;
        }
        if bytes.is_empty() { Ok(()) } else { self.terminal.write(&bytes) }
    }

    /// Carries effects out. Says whether the chat ends.
    fn perform(&mut self, effects: Vec<ChatEffect>) -> io::Result<Option<Leaving>> {
        for effect in effects {
            match effect {
                ChatEffect::Leave(leaving) => return Ok(Some(leaving)),
                ChatEffect::OnTerminal(task) => self.hand_over(&task)?,
                ChatEffect::Copy(text) => {
                    let bytes = clipboard::copied(&text);
                    self.terminal.write(&bytes)?;
                    self.performer.copy(text);
                }
                ChatEffect::Notify(text) => {
                    let bytes = clipboard::notification(&text, self.performer.notify());
                    self.terminal.write(&bytes)?;
                }
                ChatEffect::Redraw => {
                    self.screen.forget();
                    self.full.iter_mut().for_each(FullScreenTerminal::forget);
                    self.changed = true;
                }
                effect => self.performer.perform(effect, self.chat.mode()),
            }
        }
        Ok(None)
    }

    /// Gives the terminal to another program and takes it back.
    fn hand_over(&mut self, task: &OnTerminal) -> io::Result<()> {
        self.leave_full_screen()?;
        let printed = self.chat.take_printed();
        self.terminal.write(&self.screen.frame(&printed, &posse_terminal::Region::default()))?;
        self.terminal.write(&self.screen.leave())?;
        self.keyboard.pause();
        self.terminal.pause()?;
        let outcome = self.performer.on_terminal(task);
        self.terminal.resume()?;
        if matches!(task, OnTerminal::Command(_)) {
            // Its last line may have no end, and would be drawn over.
            self.terminal.write(b"\r\n")?;
        }
        self.keyboard.resume();
        self.screen.forget();
        let (columns, rows) = self.terminal.size();
        self.screen.resize(columns, rows);
        let mut effects = self.chat.handle(ChatInput::Resized { columns, rows }, now_ms());
        effects.extend(self.chat.handle(ChatInput::Outcome(outcome), now_ms()));
        self.changed = true;
        self.perform(effects).map(drop)
    }

    async fn leave(mut self, left: Left, mut heard: mpsc::Receiver<ChatInput>) -> io::Result<ChatEnd> {
        self.performer.settle(&mut self.chat, &mut heard).await;
        let session = self.chat.session_id();
        let _ = self.leave_full_screen();
        self.chat.view = None;
        let printed = self.chat.take_printed();
        let mut last = self.screen.frame(&printed, &posse_terminal::Region::default());
        last.extend(self.screen.leave());
        last.extend(clipboard::title(""));
        let _ = self.terminal.write(&last);
        drop(self.terminal);
        match left {
            Left::By(Leaving::Close) => {
                self.performer.close().await;
                Ok(ChatEnd::Closed(session))
            }
            Left::By(Leaving::Detach) | Left::Gone => Ok(ChatEnd::Detached(session)),
        }
    }
}

/// Waits for a signal that asks the chat to end.
async fn ended(hangup: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = hangup.recv() => {}
        _ = terminate.recv() => {}
    }
}
