//! Begins sessions: in a background process, so that closing the terminal does not end them; or in this one, for a
//! demonstration.

use std::sync::Arc;

use posse_api::{BackgroundProgram, BegunSession, Handle, NewSession, SessionOrigin};
use posse_protocol::Seq;

use super::EdgeShared;
use crate::edge::start::{HostedSession, failed};
use crate::effect::{BeginFrom, BeginSession, ChatOutcome};

impl EdgeShared {
    pub(super) async fn begin(self: Arc<Self>, begin: BeginSession) -> Option<ChatOutcome> {
        let words = begin.words.clone();
        let begun = match &self.start.host {
            Some(host) => host.begin(begin).await,
            None => self.in_background(begin).await,
        };
        let HostedSession { session, handle, notes } = match begun {
            Ok(begun) => begun,
            Err(why) => return Some(ChatOutcome::NotBegun { words, why }),
        };
        // The chat has to know of the session before it hears of it, and can say something to it at once.
        self.set_open(session, Some(handle.clone()));
        let begun = ChatOutcome::Begun { session, notes };
        let _ = self.inputs.send(crate::chat::ChatInput::Outcome(begun)).await;
        // What is known already is passed over by the view.
        self.follow(session, handle, Seq(0));
        None
    }

    async fn in_background(&self, begin: BeginSession) -> Result<HostedSession, String> {
        let origin = match begin.from {
            BeginFrom::Nothing => SessionOrigin::Folder(self.start.folder.clone()),
            BeginFrom::Session(session) => SessionOrigin::Resumed(session),
            BeginFrom::Fork { session, turn, files } => SessionOrigin::Forked { session, turn, files },
        };
        let new = NewSession {
            origin,
            prompt: begin.words.text,
            files: begin.words.files.into_iter().map(Into::into).collect(),
            model: begin.wishes.model,
            approval: begin.wishes.approval,
        };
        let BegunSession { session, notes } = self.program().begin(new).await?;
        let engine = self.engine().await.map_err(|_| "the record cannot be opened".to_owned())?;
        let handle = Handle::of(engine, session).await.map_err(|error| error.to_string())?;
        Ok(HostedSession { session, handle, notes })
    }

    /// This program, to be started once more.
    pub(super) fn program(&self) -> BackgroundProgram {
        let (own_flags, session_flags) = (self.start.own_flags.clone(), self.start.session_flags.clone());
        BackgroundProgram { own_flags, session_flags }
    }

    /// Asks a side question: a fork without tools, in a process that ends with its answer.
    pub(super) async fn side(&self, question: String) -> Option<ChatOutcome> {
        let session = match self.session() {
            Ok(session) => session,
            Err(outcome) => return Some(outcome),
        };
        let answered = self.program().ask_aside(session, &self.start.folder, question.clone()).await;
        Some(answered.map_or_else(failed, |answer| ChatOutcome::Side { question, answer }))
    }
}
