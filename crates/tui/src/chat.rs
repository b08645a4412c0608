//! The chat's state and its reducer: input in, effects out. Pure: it must not know the terminal, files or clocks; the time
//! comes with each input.

mod answers;
mod begin;
mod keys;
mod outcomes;
mod own_commands;
mod servers;
mod session;
pub(crate) mod status;
mod submit;

use std::collections::VecDeque;

use posse_protocol::{Approval, Event, SessionId, Update};
use posse_setup::ModelSummary;

use posse_setup::UserCommand;
use posse_terminal::{TerminalInput, TerminalReply, TextLine, Theme};

pub(crate) use self::session::ChatSession;

use crate::composer::Composer;
use crate::effect::{BeginFrom, ChatEffect, ChatOutcome, ChatQuery, ChatWishes, PromptWords};
use crate::limits::{NOTE_MS, TWICE_MS};
use crate::questions::AnswerDraft;
use crate::views::FullScreen;

/// What is known of the surroundings when the chat opens.
#[derive(Clone, Debug, Default)]
pub struct ChatFacts {
    /// The folder, as people read it.
    pub folder: String,
    /// The branch, if it is a repository.
    pub branch: Option<String>,
    /// The model that would be used; none if none was found.
    pub model: Option<String>,
    /// The mode that would be used.
    pub approval: Approval,
    /// The models there are.
    pub models: Vec<ModelSummary>,
    /// The person's and the project's own commands.
    pub commands: Vec<UserCommand>,
    /// Skills by name, with what they are for.
    pub skills: Vec<(String, String)>,
    /// The prompts of this folder, oldest first.
    pub history: Vec<String>,
    /// Lines to print before the first prompt: what is missing, what is to be trusted.
    pub notes: Vec<String>,
    /// Whether a status line command is configured.
    pub has_status_line: bool,
    /// The theme of the settings; none to find out from the background.
    pub theme: Option<Theme>,
    /// Whether the session lives in this process only, as a demonstration does.
    pub demo: bool,
    /// The version of the program.
    pub version: String,
}

/// What happens to the chat.
#[derive(Debug)]
pub enum ChatInput {
    /// From the terminal.
    Terminal(TerminalInput),
    /// A whole line, from a terminal that only has lines.
    Line(String),
    /// The terminal has another size.
    Resized {
        /// Columns.
        columns: u16,
        /// Rows.
        rows: u16,
    },
    /// Time passes.
    Tick,
    /// An event of the record, from before the session was opened here.
    Recorded(Box<Event>),
    /// Something happened in the session.
    Update(Update),
    /// Something came of an effect.
    Outcome(ChatOutcome),
    /// What was found out about the surroundings after the chat opened.
    Facts(Box<ChatFacts>),
}

/// What is said until the turn has stopped.
const STOPPING: &str = "stopping …";

/// A key that counts only if it is pressed twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Twice {
    Escape,
    Quit,
}

/// What waits for the person's word and is not a question of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChatWaiting {
    /// A plan is there.
    Plan,
}

/// The chat.
pub struct Chat {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    pub(crate) now_ms: u64,
    pub(crate) facts: ChatFacts,
    pub(crate) theme: Theme,
    pub(crate) wishes: ChatWishes,
    pub(crate) composer: Composer,
    pub(crate) session: Option<ChatSession>,
    /// What was said first, and from what, while its session begins.
    pub(crate) beginning: Option<(BeginFrom, PromptWords)>,
    /// What was said since then, and whether it waits behind the first answer.
    pub(crate) early: Vec<(PromptWords, bool)>,
    pub(crate) answering: Option<AnswerDraft>,
    pub(crate) waiting: Option<ChatWaiting>,
    pub(crate) answering_plan: bool,
    pub(crate) view: Option<FullScreen>,
    /// What the next session begins from, if not from nothing.
    pub(crate) next_from: Option<BeginFrom>,
    /// Words for the model that go with the next prompt: what the person's own commands said.
    pub(crate) aside: Vec<String>,
    /// The command that the person typed while it runs, and the end of what it wrote.
    pub(crate) typed: Option<(String, String)>,
    /// What the side question asked, while it is answered.
    pub(crate) side: Option<String>,
    /// A short word in the status line, and until when.
    pub(crate) note: Option<(String, u64)>,
    pub(crate) twice: Option<(Twice, u64)>,
    /// Whether the terminal has the focus; most tell.
    pub(crate) focused: bool,
    /// What the status line command said.
    pub(crate) status_line: Option<String>,
    status_input: String,
    printed: VecDeque<TextLine>,
    effects: Vec<ChatEffect>,
    files_wanted: bool,
    /// Prompts of servers, with what they are for.
    server_prompts: Vec<(String, String)>,
    prompts_wanted: bool,
}

impl Chat {
    /// A chat in a terminal of this size.
    pub fn new(columns: u16, rows: u16, now_ms: u64) -> Self {
        Self {
            columns: usize::from(columns).max(1),
            rows: usize::from(rows).max(1),
            now_ms,
            // Until the configuration is read, whatever could matter asks.
            facts: ChatFacts { approval: Approval::Ask, ..ChatFacts::default() },
            theme: Theme::default(),
            wishes: ChatWishes::default(),
            composer: Composer::default(),
            session: None,
            beginning: None,
            early: Vec::new(),
            answering: None,
            waiting: None,
            answering_plan: false,
            view: None,
            next_from: None,
            aside: Vec::new(),
            typed: None,
            side: None,
            note: None,
            twice: None,
            focused: true,
            status_line: None,
            status_input: String::new(),
            printed: VecDeque::new(),
            effects: Vec::new(),
            files_wanted: false,
            server_prompts: Vec::new(),
            prompts_wanted: false,
        }
    }

    /// Takes in what happened, at this time.
    pub fn handle(&mut self, input: ChatInput, now_ms: u64) -> Vec<ChatEffect> {
        self.now_ms = self.now_ms.max(now_ms);
        match input {
            ChatInput::Terminal(input) => self.terminal(input),
            ChatInput::Line(line) => self.line(&line),
            ChatInput::Resized { columns, rows } => self.resized(columns, rows),
            ChatInput::Tick => self.tick(),
            ChatInput::Recorded(event) => self.update(&Update::Event((*event).into())),
            ChatInput::Update(update) => self.update(&update),
            ChatInput::Outcome(outcome) => self.outcome(outcome),
            ChatInput::Facts(facts) => self.learn(*facts),
        }
        std::mem::take(&mut self.effects)
    }

    /// The lines that are finished since this was last asked.
    pub fn take_printed(&mut self) -> Vec<TextLine> {
        if self.view.is_some() {
            // They are printed when the full-screen view is left.
            return Vec::new();
        }
        let mut lines: Vec<TextLine> = self.printed.drain(..).collect();
        if let Some(session) = &mut self.session {
            lines.extend(session.transcript.take(self.now_ms));
        }
        lines
    }

    /// Whether something moves without events, so that ticks are needed.
    pub fn moves(&self) -> bool {
        let waits = self.session.as_ref().is_some_and(|one| one.is_at_work() || one.transcript.waits());
        waits
            || self.beginning.is_some()
            || self.note.is_some()
            || self.twice.is_some()
            || self.side.is_some()
            || self.typed.is_some()
    }

    /// The colours.
    pub fn theme(&self) -> Theme {
        self.theme
    }

    /// The full-screen view that is open.
    pub fn full_screen(&self) -> Option<&FullScreen> {
        self.view.as_ref()
    }

    /// What the terminal's title should be.
    pub fn title(&self) -> String {
        let attention = self.session.as_ref().map_or(0, |one| one.view.questions.len());
        let mark = match (&self.session, attention) {
            (_, 1..) => "? ",
            (Some(session), _) if session.is_at_work() => "● ",
            _ => "",
        };
        let title = self.session.as_ref().and_then(|one| one.view.title.as_deref());
        format!("{mark}{}", title.unwrap_or("posse"))
    }

    pub(crate) fn effect(&mut self, effect: ChatEffect) {
        self.effects.push(effect);
    }

    pub(crate) fn query(&mut self, query: ChatQuery) {
        self.effects.push(ChatEffect::Query(query));
    }

    pub(crate) fn print(&mut self, line: TextLine) {
        match &mut self.session {
            Some(session) => session.transcript.line(line),
            None => self.printed.push_back(line),
        }
    }

    /// Prints a line of the chat's own words, broken at spaces.
    pub(crate) fn print_wrapped(&mut self, line: &TextLine, indent: usize) {
        line.wrapped(self.columns, indent).iter().for_each(|row| self.print(row.trimmed_end()));
    }

    pub(crate) fn say(&mut self, text: impl Into<String>) {
        self.note = Some((text.into(), self.now_ms + NOTE_MS));
    }

    pub(crate) fn session_id(&self) -> Option<SessionId> {
        self.session.as_ref().map(|session| session.id)
    }

    /// Whether a key was pressed for the second time, and remembers it otherwise.
    pub(crate) fn again(&mut self, key: Twice) -> bool {
        let second = self.twice.is_some_and(|(one, until)| one == key && self.now_ms < until);
        self.twice = (!second).then_some((key, self.now_ms + TWICE_MS));
        second
    }

    fn resized(&mut self, columns: u16, rows: u16) {
        self.columns = usize::from(columns).max(1);
        self.rows = usize::from(rows).max(1);
        if let Some(session) = &mut self.session {
            session.transcript.resize(self.columns);
        }
    }

    fn tick(&mut self) {
        if self.note.as_ref().is_some_and(|(_, until)| *until <= self.now_ms) {
            self.note = None;
        }
        if self.twice.is_some_and(|(_, until)| until <= self.now_ms) {
            self.twice = None;
        }
        self.refresh_status_line();
    }

    fn terminal(&mut self, input: TerminalInput) {
        match input {
            TerminalInput::Key(key) => self.key(&key),
            TerminalInput::Paste(pasted) => self.paste(&pasted),
            TerminalInput::Focus(focused) => self.focused = focused,
            TerminalInput::Reply(TerminalReply::Background { r, g, b }) if self.facts.theme.is_none() => {
                let light = 299 * u32::from(r) + 587 * u32::from(g) + 114 * u32::from(b) > 128_000;
                if matches!(self.theme, Theme::Dark | Theme::Light) {
                    self.theme = if light { Theme::Light } else { Theme::Dark };
                }
            }
            TerminalInput::Reply(_) => {}
        }
    }

    fn learn(&mut self, facts: ChatFacts) {
        self.composer.set_history(&facts.history);
        if let Some(theme) = facts.theme {
            self.theme = theme;
        }
        let new = facts.notes.iter().filter(|note| !self.facts.notes.contains(note));
        let columns = self.columns;
        self.printed.extend(new.flat_map(|note| TextLine::plain(note).wrapped(columns, 2)));
        self.facts = facts;
        self.refresh_status_line();
    }

    fn update(&mut self, update: &Update) {
        let Some(session) = &mut self.session else { return };
        let before = session.attention();
        let wanted = session.update(update, self.now_ms);
        let after = session.attention();
        if let Some(seq) = wanted {
            self.query(ChatQuery::EventDiff(seq));
        }
        if let Update::Event(event) = update {
            if let Some(view) = &mut self.view {
                view.happened(event);
            }
            self.after_event(before, after);
        }
    }

    /// Runs the person's status line command again if what it is told has changed.
    fn refresh_status_line(&mut self) {
        if !self.facts.has_status_line {
            return;
        }
        let input = status::input(self);
        if input != self.status_input {
            self.status_input.clone_from(&input);
            self.effect(ChatEffect::StatusLine(input));
        }
    }
}
