//! Beginning a session, opening one, and letting go of it.

use posse_engine::NextTurnSettings;
use posse_protocol::SessionId;
use posse_terminal::{Ink, TextLine};

use super::{Chat, ChatSession};
use crate::effect::{BeginFrom, BeginSession, ChatEffect, PromptWords, SteerCommand};

impl Chat {
    /// Begins a session with these words.
    pub(crate) fn begin(&mut self, from: BeginFrom, words: PromptWords) {
        self.beginning = Some((from.clone(), words.clone()));
        let words = with_asides(words, &self.aside);
        let begin = BeginSession { from, words, wishes: self.wishes.clone() };
        self.effect(ChatEffect::Begin(begin));
    }

    /// A session could not be begun: all that was said goes back to the composer, and the next prompt begins where this one
    /// would have.
    pub(crate) fn not_begun(&mut self, why: &str) {
        for line in why.lines() {
            self.print(TextLine::of(line, Ink::Bad));
        }
        let Some((from, mut words)) = self.beginning.take() else { return };
        for (more, _) in std::mem::take(&mut self.early) {
            words.text.push_str("\n\n");
            words.text.push_str(&more.text);
            words.files.extend(more.files);
        }
        if self.session.is_none() && from != BeginFrom::Nothing {
            self.next_from = Some(from);
        }
        self.composer.restore(&words);
    }

    /// Adds what the person's own commands said since the last prompt.
    pub(crate) fn take_asides(&mut self, words: PromptWords) -> PromptWords {
        with_asides(words, &std::mem::take(&mut self.aside))
    }

    /// Shows a recorded session, and follows it if it runs.
    pub(crate) fn open(&mut self, session: SessionId) {
        self.let_go();
        let mut one = ChatSession::new(session, self.columns, self.now_ms);
        one.transcript.replay();
        one.replaying = true;
        self.session = Some(one);
        self.effect(ChatEffect::Open(session));
    }

    /// Lets go of the open session.
    pub(crate) fn let_go(&mut self) {
        if let Some(mut session) = self.session.take() {
            session.transcript.end();
            let rest = session.transcript.take(u64::MAX);
            self.printed.extend(rest);
            self.effect(ChatEffect::LetGo);
        }
        (self.answering, self.waiting, self.answering_plan, self.next_from) = (None, None, false, None);
        (self.composer.editing, self.composer.queue_at) = (None, None);
    }

    /// A session that was begun is on record.
    pub(crate) fn begun(&mut self, session: SessionId) {
        (self.beginning, self.aside) = (None, Vec::new());
        match &mut self.session {
            // It goes on where it was.
            Some(open) if open.id == session => open.over = false,
            _ => {
                self.let_go();
                self.session = Some(ChatSession::new(session, self.columns, self.now_ms));
            }
        }
        if let Some(effort) = self.wishes.effort.clone() {
            let change = NextTurnSettings { effort: Some(effort), ..NextTurnSettings::default() };
            self.effect(ChatEffect::Steer(SteerCommand::Settings(change)));
        }
        for (words, queue) in std::mem::take(&mut self.early) {
            self.say_to_session(words, queue);
        }
    }
}

/// Words with what the person's own commands said below them.
fn with_asides(mut words: PromptWords, asides: &[String]) -> PromptWords {
    for aside in asides {
        words.text.push_str("\n\n");
        words.text.push_str(aside);
    }
    words
}
