//! Beginning a session, opening one, and letting go of it.

use posse_engine::NextTurnSettings;
use posse_protocol::SessionId;

use super::{Chat, ChatSession};
use crate::effect::{BeginFrom, BeginSession, ChatEffect, PromptWords, SteerCommand};

impl Chat {
    /// Begins a session with these words.
    pub(crate) fn begin(&mut self, from: BeginFrom, words: PromptWords) {
        let words = self.with_asides(words);
        self.beginning = Some(words.clone());
        let begin = BeginSession { from, words, wishes: self.wishes.clone() };
        self.effect(ChatEffect::Begin(begin));
    }

    /// Adds what the person's own commands said since the last prompt.
    pub(crate) fn with_asides(&mut self, mut words: PromptWords) -> PromptWords {
        for aside in self.aside.drain(..) {
            words.text.push_str("\n\n");
            words.text.push_str(&aside);
        }
        words
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
            let rest = session.transcript.take(u64::MAX);
            self.printed.extend(rest);
            self.effect(ChatEffect::LetGo);
        }
        (self.answering, self.waiting, self.answering_plan) = (None, None, false);
    }

    /// A session that was begun is on record.
    pub(crate) fn begun(&mut self, session: SessionId) {
        self.beginning = None;
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

    /// It could not be begun: all that was said goes back to the composer.
    pub(crate) fn not_begun(&mut self, mut words: PromptWords) {
        self.beginning = None;
        for (more, _) in std::mem::take(&mut self.early) {
            words.text.push_str("\n\n");
            words.text.push_str(&more.text);
            words.files.extend(more.files);
        }
        self.composer.restore(&words);
    }
}
