//! What came of effects.

use posse_protocol::{AgentState, Approval};
use posse_terminal::{Ink, Look, Markdown, TextLine};

use super::session::ChatAttention;
use super::{Chat, ChatWaiting, STOPPING};
use crate::effect::{ChatEffect, ChatFound, ChatOutcome, PromptWords};
use crate::limits::{ASIDES_MAX, OUTPUT_BYTES_MAX, PRINTED_LINES_MAX};
use crate::transcript::keep_end;
use crate::views::FullScreen;

impl Chat {
    pub(crate) fn outcome(&mut self, outcome: ChatOutcome) {
        match outcome {
            ChatOutcome::Begun { session, notes } => {
                self.begun(session);
                notes.iter().for_each(|note| self.warn(note));
            }
            ChatOutcome::NotBegun { words: _, why } => self.not_begun(&why),
            ChatOutcome::Failed(why) => {
                (self.side, self.typed) = (None, None);
                if let Some(view) = &mut self.view {
                    view.failed(&why);
                    if matches!(view, FullScreen::Picker(_)) {
                        // It is said there, and nothing was changed.
                        return;
                    }
                }
                for (number, line) in why.lines().enumerate() {
                    let mark = if number == 0 { "✗" } else { " " };
                    self.print_wrapped(&TextLine::of(&format!("{mark} {line}"), Ink::Bad), 2);
                }
            }
            ChatOutcome::Note(text) => self.say(text),
            ChatOutcome::Said { command, text, failed, for_model } => {
                self.said(&command, &text, failed, for_model)
            }
            ChatOutcome::Expanded(text) => self.prompt(PromptWords { text, files: Vec::new() }),
            ChatOutcome::Output(text) => {
                if let Some((_, output)) = &mut self.typed {
                    output.push_str(&text);
                    keep_end(output, OUTPUT_BYTES_MAX);
                }
            }
            ChatOutcome::Side { question, answer } => self.answered_aside(&question, &answer),
            ChatOutcome::Edited(text) => self.composer.edited(&text),
            ChatOutcome::Image(path) => self.composer.attach(&path),
            ChatOutcome::Found(found) => self.found(found),
            ChatOutcome::StatusLine(text) => self.status_line = Some(text),
            ChatOutcome::CaughtUp => {
                if let Some(session) = &mut self.session {
                    session.transcript.caught_up();
                    session.replaying = false;
                    session.over = true;
                }
            }
            ChatOutcome::Followed => {
                if let Some(session) = &mut self.session {
                    session.over = false;
                }
            }
            ChatOutcome::SessionOver { lost } => {
                let mut has_ended = false;
                if let Some(session) = &mut self.session {
                    session.over = true;
                    // A process that ends with its session may take the connection with it.
                    has_ended = session.main().is_some_and(|main| main.has_ended());
                    if lost.is_some() && !has_ended {
                        session.view.show_interrupted();
                        session.transcript.break_off();
                    }
                }
                match lost {
                    Some(why) if !has_ended => {
                        self.warn(&format!("{why} Your next prompt takes the session up again."));
                    }
                    _ => self.say("the session has ended; your next prompt takes it up again"),
                }
                self.answering = None;
                // What was being edited is a prompt of its own from now on.
                (self.composer.editing, self.composer.queue_at) = (None, None);
            }
        }
    }

    pub(crate) fn warn(&mut self, text: &str) {
        self.print_wrapped(&TextLine::of(&format!("! {text}"), Ink::Warning), 2);
    }

    /// Prints the answer to a side question, apart from the conversation.
    fn answered_aside(&mut self, question: &str, answer: &str) {
        self.side = None;
        self.print(TextLine::of(&format!("┆ on the side: {question}"), Look::of(Ink::Person)));
        let mut markdown = Markdown::new(self.columns.saturating_sub(2));
        let mut lines = markdown.push(answer);
        lines.extend(markdown.finish());
        for line in lines {
            let mut row = TextLine::of("┆ ", Ink::Quiet);
            row.append(line);
            self.print(row);
        }
        self.print(TextLine::default());
    }

    /// Prints what a program said.
    fn said(&mut self, command: &str, text: &str, failed: bool, for_model: bool) {
        self.typed = None;
        let mark = if failed { Look::of(Ink::Bad).bold() } else { Look::of(Ink::Accent).bold() };
        self.print(TextLine::of(&format!("$ {command}"), mark));
        let count = text.lines().count();
        for line in text.lines().take(PRINTED_LINES_MAX) {
            self.print(TextLine::plain(&format!("  {line}")));
        }
        if count > PRINTED_LINES_MAX {
            self.print(TextLine::of(&format!("  … {} more lines", count - PRINTED_LINES_MAX), Ink::Quiet));
        }
        self.print(TextLine::default());
        if for_model {
            if self.aside.len() == ASIDES_MAX {
                self.aside.remove(0);
            }
            self.aside.push(format!("[I ran `{command}`. Its output:]\n{text}"));
        }
    }

    fn found(&mut self, found: ChatFound) {
        match found {
            ChatFound::EventDiff(seq, diff) => {
                if let Some(session) = &mut self.session {
                    session.transcript.diff(seq, &diff);
                }
            }
            ChatFound::Files(index) => {
                self.composer.set_files(*index);
                self.look();
            }
            ChatFound::Servers { servers, show } => self.servers_found(&servers, show),
            ChatFound::Models(models) => self.facts.models = models,
            found => match &mut self.view {
                Some(view) => {
                    let wanted = view.found(found);
                    wanted.into_iter().for_each(|effect| self.effect(effect));
                }
                None => self.view = FullScreen::of_found(&found),
            },
        }
    }

    /// After an event: answers whose question is gone end, and a person who looks elsewhere is told.
    pub(crate) fn after_event(&mut self, before: ChatAttention, after: ChatAttention) {
        let Some(session) = &self.session else { return };
        if let Some(answering) = &self.answering
            && !session.view.questions.iter().any(|open| open.seq == answering.seq)
        {
            self.answering = None;
            self.say("that question is answered or gone");
        }
        let Some(session) = &self.session else { return };
        if session.replaying {
            return;
        }
        let main = session.main();
        let rested = before.at_work && !after.at_work;
        if rested
            && session.approval() == Some(Approval::Plan)
            && main.is_some_and(|main| main.state == AgentState::Resting)
            && main.and_then(|main| main.report.as_ref()).is_none_or(|report| !report.blocked)
        {
            self.waiting = Some(ChatWaiting::Plan);
        }
        if rested && self.note.as_ref().is_some_and(|(note, _)| note == STOPPING) {
            self.note = None;
        }
        if after.at_work {
            (self.waiting, self.answering_plan) = (None, false);
        }
        let title = session.view.title.clone().unwrap_or_default();
        if after.questions > before.questions {
            self.notify(format!("needs you: {title}"));
        } else if rested {
            self.notify(format!("done: {title}"));
        }
        self.refresh_status_line();
    }

    fn notify(&mut self, text: String) {
        if !self.focused {
            self.effect(ChatEffect::Notify(text));
        }
    }
}
