//! The commands that only a chat can carry out.

use posse_engine::{ChangeRequest, NextTurnSettings, UndoExtent, UndoRequest};
use posse_protocol::Approval;
use posse_terminal::{Ink, Look, TextLine, Theme};
use posse_view::{SessionView, words};

use super::Chat;
use super::answers::mode_means;
use crate::commands::{COMMANDS, OwnCommand};
use crate::effect::{BeginFrom, ChatEffect, ChatQuery, Leaving, PromptWords, SteerCommand};
use crate::limits::HELP_COLUMNS_MIN;
use crate::views::{FullScreen, Picker};

/// The keys, as help lists them.
pub(crate) const KEYS: [(&str, &str); 19] = [
    ("Enter", "send; while it works: tell it at its next turn"),
    ("Tab", "complete; while it works: queue for later"),
    ("Shift+Enter, \\ Enter, Ctrl+J", "a new line"),
    ("Esc", "stop the turn and keep what there is"),
    ("Esc Esc", "go back to a turn: conversation, files or both"),
    ("Shift+Tab", "next mode: plan, ask, edit, auto"),
    ("Ctrl+Q", "answer a question"),
    ("Ctrl+T", "the work view: agents, transcripts, diffs"),
    ("Ctrl+O", "the whole transcript, or the whole question"),
    ("Ctrl+R", "search your prompts"),
    ("Ctrl+G", "write in your editor"),
    ("Ctrl+B", "move the running command to the background"),
    ("Ctrl+V", "attach the image on the clipboard"),
    ("Alt+Up, Alt+Down", "choose a queued message: Enter edits, Delete withdraws"),
    ("Alt+R", "show or fold reasoning"),
    ("Ctrl+C", "empty the line; stop; twice: quit"),
    ("Ctrl+Z", "suspend"),
    ("@", "complete a file"),
    ("! and !!", "run a command: in the sandbox; as yourself, outside it"),
];

/// The columns of the names.
const HELP_NAME_COLUMNS: usize = 33;

/// What the main agent is asked for `/relay`.
const RELAY: &str = include_str!("../text/relay.md");
/// What it is asked for `/init`.
const INIT: &str = include_str!("../text/init.md");
/// What it is asked for `/agent`.
const AGENT: &str = include_str!("../text/agent.md");

impl Chat {
    pub(crate) fn own_command(&mut self, command: OwnCommand, rest: &str) {
        let needs_it =
            matches!(command, OwnCommand::New | OwnCommand::Resume | OwnCommand::Fork | OwnCommand::Rewind);
        if needs_it && self.beginning.is_some() {
            return self.say("the session is just beginning; try again in a moment");
        }
        match command {
            OwnCommand::Help => self.help(),
            OwnCommand::Tasks => self.open_work(),
            OwnCommand::Agents => self.agents(rest),
            OwnCommand::Agent => self.start_agent(rest),
            OwnCommand::Model => self.model(rest),
            OwnCommand::Effort => self.effort(rest),
            OwnCommand::Mode => self.change_mode(rest),
            OwnCommand::Resume => self.resume(rest),
            OwnCommand::New => self.new_session(),
            OwnCommand::Fork => self.fork(rest),
            OwnCommand::Rewind => match rest.parse() {
                // Files go back only after a look at what that changes.
                Ok(turn) => self.rewind(turn, true, false),
                Err(_) => self.open_rewind(),
            },
            OwnCommand::Undo => self.undo(rest),
            OwnCommand::Redo => self.change(ChangeRequest::Redo),
            OwnCommand::Diff => self.of_session(|chat| {
                chat.query(ChatQuery::Diff(Some(rest.to_owned()).filter(|name| !name.is_empty())));
            }),
            OwnCommand::Merge if rest.is_empty() => self.say("name the agent: /merge coder-1"),
            OwnCommand::Merge => self.change(ChangeRequest::Merge { agent: rest.to_owned() }),
            OwnCommand::Jobs => self.jobs(),
            OwnCommand::Cost => self.cost(),
            OwnCommand::Context => self.of_session(|chat| chat.query(ChatQuery::Context)),
            OwnCommand::Compact => {
                self.of_session(|chat| chat.effect(ChatEffect::Steer(SteerCommand::Compact)))
            }
            OwnCommand::Relay => self.of_session(|chat| chat.prompt_with(RELAY)),
            OwnCommand::Init => self.prompt_with(INIT),
            OwnCommand::Trust if matches!(rest, "yes" | "--yes") => self.effect(ChatEffect::Trust),
            OwnCommand::Trust => self.posse(&["trust", "--show"], None, ""),
            OwnCommand::Mcp => self.mcp(rest),
            OwnCommand::Theme => self.change_theme(rest),
            OwnCommand::Copy => self.copy(rest),
            OwnCommand::Side => self.ask_aside(rest),
            OwnCommand::Reasoning => self.toggle_reasoning(),
            OwnCommand::Rename if rest.is_empty() => self.say("say what to call it: /rename TITLE"),
            OwnCommand::Rename => {
                self.of_session(|chat| chat.effect(ChatEffect::Steer(SteerCommand::Rename(rest.to_owned()))));
            }
            OwnCommand::Detach => self.effect(ChatEffect::Leave(Leaving::Detach)),
            OwnCommand::Quit => self.effect(ChatEffect::Leave(Leaving::Close)),
        }
    }

    fn of_session(&mut self, then: impl FnOnce(&mut Self)) {
        match self.session {
            Some(_) => then(self),
            None => self.say("there is no session yet"),
        }
    }

    fn prompt_with(&mut self, text: &str) {
        self.prompt(PromptWords { text: text.trim().to_owned(), files: Vec::new() });
    }

    fn change(&mut self, request: ChangeRequest) {
        self.of_session(|chat| chat.effect(ChatEffect::Change(request)));
    }

    pub(crate) fn help(&mut self) {
        self.print(TextLine::of("Keys", Look::PLAIN.bold()));
        KEYS.iter().for_each(|(key, means)| self.help_row(key, means));
        self.print(TextLine::of("Commands", Look::PLAIN.bold()));
        for command in &COMMANDS {
            let name = format!("/{} {}", command.name, command.arguments);
            let outside = match command.outside() {
                "" => String::new(),
                words => format!(" (posse {words})"),
            };
            self.help_row(name.trim_end(), &format!("{}{outside}", command.help));
        }
        for command in self.facts.commands.clone() {
            self.help_row(&format!("/{}", command.name), &command.prompt.description);
        }
    }

    /// A name and what it means: beside each other where there is room, else below each other.
    fn help_row(&mut self, name: &str, means: &str) {
        let column = if self.columns >= HELP_COLUMNS_MIN { HELP_NAME_COLUMNS } else { 6 };
        let mut line = TextLine::of(&format!("  {name}  "), Ink::Accent);
        if line.columns() > column {
            self.print(line.trimmed_end());
            line = TextLine::default();
        }
        line.push(&" ".repeat(column - line.columns()), Look::PLAIN);
        self.print_wrapped(&line.with(means, Look::PLAIN), column);
    }

    fn agents(&mut self, rest: &str) {
        if !rest.is_empty() {
            return self.posse(&["agents"], None, rest);
        }
        let lines =
            self.session.as_ref().map(|session| at_work(&session.view, self.now_ms)).unwrap_or_default();
        lines.into_iter().for_each(|line| self.print(line));
        self.posse(&["agents", "list"], None, "");
    }

    fn start_agent(&mut self, rest: &str) {
        let Some((role, task)) =
            rest.split_once(char::is_whitespace).filter(|(_, task)| !task.trim().is_empty())
        else {
            return self.say("say who and what: /agent explore find the call sites of Foo");
        };
        let text = AGENT.trim().replace("{role}", role).replace("{task}", task.trim());
        let at_work = self.session.as_ref().is_some_and(super::ChatSession::is_at_work);
        if at_work {
            self.effect(ChatEffect::Steer(SteerCommand::Tell { agent: None, text }));
        } else {
            self.prompt(PromptWords { text, files: Vec::new() });
        }
    }

    fn model(&mut self, rest: &str) {
        match rest.split_once(char::is_whitespace) {
            Some((role, name)) => self.posse(&["agents", "model", role], None, name),
            None if rest.is_empty() => {
                let now = self.facts.model.as_deref();
                self.view = Some(FullScreen::Picker(Picker::models(&self.facts.models, now)));
            }
            None => self.set_model(rest.to_owned()),
        }
    }

    fn effort(&mut self, rest: &str) {
        if rest.is_empty() {
            return self.say("say how much: /effort low, medium, high, or what your provider calls it");
        }
        self.wishes.effort = Some(rest.to_owned());
        if self.session.as_ref().is_some_and(|session| !session.over) {
            let change = NextTurnSettings { effort: Some(rest.to_owned()), ..NextTurnSettings::default() };
            self.effect(ChatEffect::Steer(SteerCommand::Settings(change)));
        }
        self.say(format!("effort {rest}"));
    }

    fn change_mode(&mut self, rest: &str) {
        if let Some(mode) = Approval::ALL.into_iter().find(|mode| mode.word() == rest) {
            return self.set_mode(mode);
        }
        let now = self.mode();
        for mode in Approval::ALL {
            let mark = if mode == now { "●" } else { " " };
            let line = TextLine::of(&format!("  {mark} {:<5}", mode.word()), Ink::Accent);
            self.print(line.with(mode_means(mode), Look::PLAIN));
        }
    }

    fn resume(&mut self, rest: &str) {
        if let Ok(id) = rest.parse() {
            return self.open(id);
        }
        self.view = Some(FullScreen::Picker(Picker::sessions(rest)));
        self.query(ChatQuery::Sessions { text: rest.to_owned(), all: false });
    }

    fn new_session(&mut self) {
        self.let_go();
        (self.next_from, self.aside) = (None, Vec::new());
        self.say("the next prompt begins a new session");
    }

    fn fork(&mut self, rest: &str) {
        let Some(session) = self.session_id() else { return self.say("there is no session yet") };
        let from = BeginFrom::Fork { session, turn: None, files: false };
        self.let_go();
        if rest.is_empty() {
            self.next_from = Some(from);
            return self.say("the next prompt goes on in a new session; the other one stays as it is");
        }
        self.begin(from, PromptWords { text: rest.to_owned(), files: Vec::new() });
    }

    fn undo(&mut self, rest: &str) {
        let extent = match rest.split_once(' ') {
            Some(("agent", name)) => UndoExtent::Agent(name.trim().to_owned()),
            _ if rest == "all" => UndoExtent::Session,
            _ if rest.is_empty() => UndoExtent::Last,
            _ => return self.say("say what: /undo, /undo all, /undo agent NAME"),
        };
        self.change(ChangeRequest::Undo(UndoRequest { extent, paths: Vec::new(), hunks: Vec::new() }));
    }

    fn jobs(&mut self) {
        let Some(session) = &self.session else { return self.say("there is no session yet") };
        if session.jobs.is_empty() {
            return self.say("no command runs in the background");
        }
        let now = self.now_ms;
        let row = |(name, job): (&String, &super::session::BackgroundJob)| {
            let time = words::duration(now.saturating_sub(job.since_ms));
            TextLine::of(&format!("  {name}  {time}  "), Ink::Accent).with(&job.command, Look::PLAIN)
        };
        let lines: Vec<_> = session.jobs.iter().map(row).collect();
        lines.into_iter().for_each(|line| self.print(line));
    }

    fn cost(&mut self) {
        let Some(session) = &self.session else { return self.say("there is no session yet") };
        let row = |name: &str, figures: &posse_view::Figures| {
            let cost = figures.cost_usd.map(|usd| words::cost(usd, figures.cost_unknown > 0));
            let parts = [
                Some(words::counted(figures.turns, "turn")),
                Some(words::tokens(figures.usage)),
                Some(cost.unwrap_or_else(|| "cost not known".to_owned())),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            TextLine::of(&format!("  {name:<18} "), Ink::Accent).with(&parts.join(" · "), Look::PLAIN)
        };
        let mut lines: Vec<_> =
            session.view.agents.iter().map(|agent| row(&agent.name, &agent.own)).collect();
        lines.push(row("in all", &session.view.in_all));
        lines.into_iter().for_each(|line| self.print(line));
    }

    fn change_theme(&mut self, rest: &str) {
        match Theme::NAMED.iter().find(|(name, _)| *name == rest) {
            Some((name, theme)) => {
                (self.theme, self.facts.theme) = (*theme, Some(*theme));
                self.say(format!("theme {name}; [chat] theme = \"{name}\" in your configuration keeps it"));
            }
            None => self.say(format!("theme {}; there are dark, light, ansi, none", self.theme.name())),
        }
    }

    fn copy(&mut self, rest: &str) {
        let number = if rest.is_empty() { Ok(1) } else { rest.parse() };
        let reply = self.session.as_ref().zip(number.ok()).and_then(|(one, n)| one.transcript.reply(n));
        match reply.map(|reply| reply.map(str::to_owned)) {
            Some(None) => self.say("that reply is too long to copy; /export has it"),
            Some(Some(text)) => {
                self.say(format!("copied {}", words::counted(text.chars().count() as u64, "character")));
                self.effect(ChatEffect::Copy(text));
            }
            None => self.say("there is no such reply to copy"),
        }
    }

    fn ask_aside(&mut self, rest: &str) {
        if rest.is_empty() {
            return self.say("say what you want to know: /side why did you choose that?");
        }
        if self.session.is_none() {
            return self.say("there is no session yet");
        }
        self.side = Some(rest.to_owned());
        self.effect(ChatEffect::Side(rest.to_owned()));
    }
}

/// One line for each agent at work.
fn at_work(view: &SessionView, now_ms: u64) -> Vec<TextLine> {
    let open = view.agents.iter().filter(|agent| !agent.has_ended());
    let line = |agent: &posse_view::AgentView| {
        let mark = words::mark(agent.state, false);
        let line = TextLine::of(&format!("  {mark} {}", agent.name), Ink::Accent);
        let model = agent.model.as_deref().unwrap_or("no model yet");
        let on = words::on(agent).map(|on| format!(" · {on}")).unwrap_or_default();
        line.with(&format!(" · {} · {model}{on} · {}", agent.role, words::now(agent, now_ms)), Look::PLAIN)
    };
    open.map(line).collect()
}
