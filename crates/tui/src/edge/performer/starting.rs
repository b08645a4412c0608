//! Begins sessions: in a background process, so that closing the terminal does not end them; or in this one, for a
//! demonstration.

use std::ffi::OsString;
use std::sync::Arc;

use posse_api::Handle;
use posse_protocol::{Seq, SessionId};
use posse_sandbox::{DetachedErrors, DetachedInput, DetachedSelf, DetachedStart};
use serde::Deserialize;

use super::EdgeShared;
use crate::edge::start::{HostedSession, failed};
use crate::effect::{BeginFrom, BeginSession, ChatOutcome};

/// What the background process says first.
#[derive(Deserialize)]
struct Announced {
    session: SessionId,
}

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
        let arguments = self.arguments(&begin);
        let input = DetachedInput::Text(begin.words.text);
        let started = tokio::task::spawn_blocking(move || {
            DetachedSelf::start(&arguments, input, DetachedErrors::Captured)?.first_line()
        });
        let told = |text: String| text.trim().trim_start_matches("posse: ").to_owned();
        match started.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())? {
            DetachedStart::Ended { said, .. } => Err(told(said)),
            DetachedStart::Began { line, said } => {
                let Announced { session } = serde_json::from_str(&line).map_err(|error| error.to_string())?;
                let engine = self.engine().await.map_err(|_| "the record cannot be opened".to_owned())?;
                let handle = Handle::of(engine, session).await.map_err(|error| error.to_string())?;
                let notes = said.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
                Ok(HostedSession { session, handle, notes })
            }
        }
    }

    /// The command line of the background process. The prompt comes on its standard input.
    fn arguments(&self, begin: &BeginSession) -> Vec<OsString> {
        let mut arguments = self.start.own_flags.clone();
        let mut push = |words: &[&str]| arguments.extend(words.iter().map(OsString::from));
        match &begin.from {
            BeginFrom::Nothing => push(&["run", "--in-background"]),
            BeginFrom::Session(_) => push(&["resume", "--in-background"]),
            BeginFrom::Fork { .. } => push(&["fork", "--in-background"]),
        }
        if begin.from == BeginFrom::Nothing {
            push(&["-C"]);
            arguments.push(self.start.folder.clone().into());
        }
        let mut push = |words: &[&str]| arguments.extend(words.iter().map(OsString::from));
        if let Some(model) = &begin.wishes.model {
            push(&["--model", model]);
        }
        if let Some(approval) = begin.wishes.approval {
            push(&["--approval", approval.word()]);
        }
        if let BeginFrom::Fork { turn, files, .. } = &begin.from {
            if let Some(turn) = turn {
                push(&["--turn", &turn.to_string()]);
            }
            if *files {
                push(&["--files"]);
            }
        }
        for file in &begin.words.files {
            push(&["--image", file]);
        }
        arguments.extend(self.start.session_flags.iter().cloned());
        arguments.push("--".into());
        if let BeginFrom::Session(session) | BeginFrom::Fork { session, .. } = &begin.from {
            arguments.push(session.to_string().into());
        }
        arguments.push("-".into());
        arguments
    }

    /// Asks a side question: a fork without tools, in a process that ends with its answer.
    pub(super) async fn side(&self, question: String) -> Option<ChatOutcome> {
        let session = match self.session() {
            Ok(session) => session,
            Err(outcome) => return Some(outcome),
        };
        let arguments =
            ["fork", "--no-tools", "--quiet", "--", &session.to_string(), "-"].map(OsString::from);
        let output = self.own_program(arguments.to_vec(), question.clone()).await;
        Some(match output {
            Err(error) => failed(error),
            Ok(output) if output.code == Some(0) => ChatOutcome::Side { question, answer: output.stdout },
            Ok(output) => failed(output.stderr.trim()),
        })
    }
}
