//! What Enter does with what was written: a prompt, words for the running turn, a command.

use posse_terminal::{Ink, Key, KeyCode, Look, TextLine};

use super::Chat;
use crate::commands::{self, CommandAction};
use crate::effect::{BeginFrom, ChatEffect, OnTerminal, PromptWords, SteerCommand};
use crate::questions::AnswerDraft;

impl Chat {
    /// Enter: the chosen entry of the queue, a new line behind `\`, or what is written.
    pub(crate) fn enter(&mut self) {
        if let Some(at) = self.composer.queue_at.take() {
            return self.edit_queued(at);
        }
        if self.composer.editor.continue_line() {
            return;
        }
        if let Some(command) = self.composer.chosen_command().map(str::to_owned)
            && commands::find(command.trim_start_matches('/')).is_none_or(|one| !one.needs_arguments())
        {
            self.composer.editor.set_text(&command);
        } else if self.composer.enter_completes() && self.composer.complete() {
            return self.look();
        }
        self.submit(false);
    }

    /// A whole line, from a terminal that only has lines. One that begins with `?` answers the open question.
    pub(crate) fn line(&mut self, line: &str) {
        match line.strip_prefix('?').map(str::trim) {
            Some(answer) if !answer.is_empty() => self.answer_line(answer),
            _ => {
                self.composer.editor.set_text(line);
                self.composer.list = None;
                self.submit(false);
            }
        }
    }

    /// Answers as the keys would: a letter, and words behind it.
    fn answer_line(&mut self, answer: &str) {
        self.key(&Key::ctrl('q'));
        let is_free = self.answering.as_ref().is_some_and(AnswerDraft::takes_words);
        let (letter, words) = match answer.split_once(char::is_whitespace) {
            _ if is_free => ("", answer),
            Some((letter, words)) => (letter, words.trim()),
            None if answer == "outside" => ("o", answer),
            None => (answer, ""),
        };
        if let Some(letter) = letter.chars().next() {
            self.key(&Key::char(letter));
        }
        if self.answering.as_ref().is_some_and(AnswerDraft::takes_words) {
            if !words.is_empty() {
                self.key(&Key::ctrl('u'));
                words.chars().for_each(|c| self.key(&Key::char(c)));
            }
            self.key(&Key::new(KeyCode::Enter));
        }
        self.answering = None;
    }

    /// Tab without a list: what is written waits until the session has answered.
    pub(crate) fn queue(&mut self) {
        if self.composer.editor.is_empty() {
            return;
        }
        // Somebody who wanted to complete something must not send half of it.
        let at_work = self.session.as_ref().is_some_and(super::ChatSession::is_at_work);
        if !at_work && self.beginning.is_none() {
            return self.say("nothing to complete; Enter sends");
        }
        self.submit(true);
    }

    fn submit(&mut self, queue: bool) {
        let mut words = self.composer.submit();
        words.text.truncate(words.text.trim_end().len());
        if words.text.trim().is_empty() && words.files.is_empty() {
            return;
        }
        self.effect(ChatEffect::Remember(words.text.clone()));
        if let Some(mail) = self.composer.editing.take() {
            return self.effect(ChatEffect::Steer(SteerCommand::Edit { mail, text: words.text }));
        }
        let text = words.text.trim().to_owned();
        if text == "?" {
            return self.help();
        }
        if matches!(text.as_str(), "!" | "!!") {
            return self.say("say what to run: !cargo test");
        }
        if let Some(command) = text.strip_prefix("!!") {
            let command = command.trim().to_owned();
            let line = TextLine::of(&format!("$ {command}"), Look::of(Ink::Warning).bold());
            self.print(line.with("  outside the sandbox", Ink::Quiet));
            return self.effect(ChatEffect::OnTerminal(OnTerminal::Command(command)));
        }
        if let Some(command) = text.strip_prefix('!') {
            let command = command.trim().to_owned();
            if self.typed.is_some() {
                self.composer.restore(&words);
                return self.say("a command of yours still runs; Esc stops it");
            }
            self.typed = Some((command.clone(), String::new()));
            return self.effect(ChatEffect::Sandboxed(command));
        }
        if let Some(line) = text.strip_prefix('/').filter(|line| is_command(line)) {
            return self.slash(line);
        }
        self.say_to_session(words, queue);
    }

    /// A prompt: to a session that rests, behind the running turn, or as the first of a new session.
    pub(crate) fn say_to_session(&mut self, words: PromptWords, queue: bool) {
        if self.beginning.is_some() {
            return self.early.push((words, queue));
        }
        let at_work = self.session.as_ref().is_some_and(super::ChatSession::is_at_work);
        if at_work && !queue && words.files.is_empty() {
            let text = self.take_asides(words).text;
            return self.effect(ChatEffect::Steer(SteerCommand::Tell { agent: None, text }));
        }
        if at_work && !words.files.is_empty() && !queue {
            self.say("files wait for the end of this turn");
        }
        self.prompt(words);
    }

    /// Gives the next prompt, to the open session or to a new one.
    pub(crate) fn prompt(&mut self, words: PromptWords) {
        if self.beginning.is_some() {
            return self.early.push((words, true));
        }
        self.waiting = None;
        match &self.session {
            Some(session) if !session.over => {
                let words = self.take_asides(words);
                self.effect(ChatEffect::Steer(SteerCommand::Prompt(words)));
            }
            Some(session) => {
                let from = BeginFrom::Session(session.id);
                self.begin(from, words);
            }
            None => {
                let from = self.next_from.take().unwrap_or(BeginFrom::Nothing);
                self.begin(from, words);
            }
        }
    }

    fn edit_queued(&mut self, at: usize) {
        let queue = self.session.as_ref().map(|session| session.queue()).unwrap_or_default();
        let Some(mail) = queue.get(at) else { return };
        let (id, text) = (mail.id, mail.text.clone());
        if text.chars().count() >= posse_view::limits::MESSAGE_CHARS_MAX {
            // Only its beginning is here, and saving that would lose the rest.
            return self.say("this message is too long to edit; Delete withdraws it");
        }
        self.composer.editing = Some(id);
        self.composer.editor.set_text(&text);
        self.say("Enter saves the message, Esc leaves it as it was");
    }

    /// A command of the chat, one that is a `posse` command, one of the person's, a skill, or a prompt of a server.
    fn slash(&mut self, line: &str) {
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        if let Some(command) = commands::find(name) {
            if command.needs_arguments() && rest.is_empty() {
                self.composer.editor.set_text(&format!("/{} ", command.name));
            }
            let rest = if rest.is_empty() { command.bare } else { rest };
            return match command.action {
                CommandAction::Own(own) => self.own_command(own, rest),
                CommandAction::Posse(words) => self.posse(words, None, rest),
                CommandAction::PosseOfSession(words) => match self.session_id() {
                    Some(id) => self.posse(words, Some(id.to_string()), rest),
                    None => self.say("there is no session yet"),
                },
            };
        }
        if let Some(command) = self.facts.commands.iter().find(|one| one.name == name).cloned() {
            let command = Box::new(command);
            return self.effect(ChatEffect::UserCommand { command, arguments: rest.to_owned() });
        }
        if self.facts.skills.iter().any(|(skill, _)| skill == name) {
            let text = format!("Use the skill \"{name}\". {rest}").trim().to_owned();
            return self.say_to_session(PromptWords { text, files: Vec::new() }, false);
        }
        if self.server_prompt(name, rest) {
            return;
        }
        let names: Vec<&str> = commands::COMMANDS.iter().map(|one| one.name).collect();
        let near =
            posse_terminal::rank(name, &names).first().map(|at| format!("; did you mean /{}?", names[*at]));
        let line = format!("there is no command /{name}{}", near.unwrap_or_default());
        self.print(TextLine::of(&line, Ink::Warning));
    }

    pub(crate) fn posse(&mut self, words: &[&str], session: Option<String>, rest: &str) {
        let mut arguments: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        arguments.extend(session);
        arguments.extend(rest.split_whitespace().map(str::to_owned));
        self.effect(ChatEffect::Posse(arguments));
    }
}

/// Whether a line that begins with a slash is meant as a command, and not as a path.
fn is_command(line: &str) -> bool {
    let name = line.split_whitespace().next().unwrap_or_default();
    !name.is_empty() && !name.contains('/') || name == "?"
}
