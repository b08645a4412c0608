//! Begins sessions in background processes: this program once more, detached, so that a session outlives whoever began it.
//! The prompt goes in on standard input; the first line that comes out names the session.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use posse_protocol::{Approval, SessionId};
use posse_sandbox::{
    DetachedErrors, DetachedInput, DetachedSelf, DetachedStart, OutputLimits, OwnOutput, own_program,
};
use serde::Deserialize;

use crate::limits::{ASIDE_MS_MAX, TEXT_BYTES_MAX};

/// Starts this program once more.
#[derive(Clone, Debug, Default)]
pub struct BackgroundProgram {
    /// Flags for every process, such as where the data is.
    pub own_flags: Vec<OsString>,
    /// Flags for the sessions that are begun.
    pub session_flags: Vec<OsString>,
}

/// What a session begins from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionOrigin {
    /// Nothing, in a folder.
    Folder(PathBuf),
    /// A recorded session, which continues.
    Resumed(SessionId),
    /// The first turns of another session.
    Forked {
        /// The other.
        session: SessionId,
        /// How many of its turns; none for all.
        turn: Option<u32>,
        /// Whether the files go back to where they were then, too.
        files: bool,
    },
}

/// A session that is to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// From what.
    pub origin: SessionOrigin,
    /// The first prompt.
    pub prompt: String,
    /// Images and documents that are shown with it.
    pub files: Vec<PathBuf>,
    /// A model by name.
    pub model: Option<String>,
    /// What runs without asking.
    pub approval: Option<Approval>,
}

/// A session that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BegunSession {
    /// Its id. It is on record, and its process can be reached.
    pub session: SessionId,
    /// What the person should know.
    pub notes: Vec<String>,
}

/// What the background process says first.
#[derive(Deserialize)]
struct Announced {
    session: SessionId,
}

impl BackgroundProgram {
    /// Begins a session; why it cannot is told in words.
    pub async fn begin(&self, new: NewSession) -> Result<BegunSession, String> {
        let arguments = self.arguments(&new);
        let input = DetachedInput::Text(new.prompt);
        let starting = tokio::task::spawn_blocking(move || {
            DetachedSelf::start(&arguments, input, DetachedErrors::Captured)?.first_line()
        });
        let started =
            starting.await.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        match started {
            DetachedStart::Ended { said, .. } => Err(said.trim().trim_start_matches("posse: ").to_owned()),
            DetachedStart::Began { line, said } => {
                let Announced { session } = serde_json::from_str(&line).map_err(|error| error.to_string())?;
                let notes = said.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
                Ok(BegunSession { session, notes })
            }
        }
    }

    /// Runs this program to its end, for so long and with so much output.
    pub async fn run(
        &self,
        words: Vec<OsString>,
        folder: &Path,
        input: String,
        deadline: Duration,
        bytes_max: usize,
    ) -> io::Result<OwnOutput> {
        let arguments = [self.own_flags.clone(), words].concat();
        let folder = folder.to_path_buf();
        let limits = OutputLimits { head_bytes: bytes_max, tail_bytes: 0 };
        let running = move || own_program(&arguments, &folder, &input, deadline, limits);
        tokio::task::spawn_blocking(running).await.map_err(io::Error::other)?
    }

    /// Asks a side question: a fork of a session without tools, in a process that ends with its answer.
    pub async fn ask_aside(
        &self,
        session: SessionId,
        folder: &Path,
        question: String,
    ) -> Result<String, String> {
        let words = ["fork", "--no-tools", "--quiet", "--", &session.to_string(), "-"].map(OsString::from);
        let deadline = Duration::from_millis(ASIDE_MS_MAX);
        match self.run(words.to_vec(), folder, question, deadline, TEXT_BYTES_MAX).await {
            Ok(output) if output.code == Some(0) => Ok(output.stdout),
            Ok(output) => Err(output.stderr.trim().to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The command line of a session's process.
    fn arguments(&self, new: &NewSession) -> Vec<OsString> {
        let mut arguments = self.own_flags.clone();
        let mut push = |words: &[OsString]| arguments.extend_from_slice(words);
        let named = match &new.origin {
            SessionOrigin::Folder(folder) => {
                push(&["run".into(), "--in-background".into(), "-C".into(), folder.into()]);
                None
            }
            SessionOrigin::Resumed(session) => {
                push(&["resume".into(), "--in-background".into()]);
                Some(*session)
            }
            SessionOrigin::Forked { session, turn, files } => {
                push(&["fork".into(), "--in-background".into()]);
                turn.iter().for_each(|turn| push(&["--turn".into(), turn.to_string().into()]));
                files.then(|| push(&["--files".into()]));
                Some(*session)
            }
        };
        new.model.iter().for_each(|model| push(&["--model".into(), model.into()]));
        new.approval.iter().for_each(|approval| push(&["--approval".into(), approval.word().into()]));
        new.files.iter().for_each(|file| push(&["--image".into(), file.into()]));
        push(&self.session_flags);
        push(&["--".into()]);
        named.iter().for_each(|session| push(&[session.to_string().into()]));
        push(&["-".into()]);
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: &str = "00000000-0000-7000-8000-000000000001";

    fn line(origin: SessionOrigin) -> String {
        let program = BackgroundProgram {
            own_flags: vec!["--data-dir".into(), "/d".into()],
            session_flags: Vec::new(),
        };
        let new = NewSession {
            origin,
            prompt: "--never here".to_owned(),
            files: vec!["/i.png".into()],
            model: Some("m".to_owned()),
            approval: Some(Approval::Ask),
        };
        let words = program.arguments(&new);
        words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn each_origin_has_its_command_line_and_the_prompt_is_in_none() {
        let session: SessionId = SESSION.parse().unwrap();
        let shared = "--model m --approval ask --image /i.png --";
        assert_eq!(
            line(SessionOrigin::Folder("/p".into())),
            format!("--data-dir /d run --in-background -C /p {shared} -")
        );
        assert_eq!(
            line(SessionOrigin::Resumed(session)),
            format!("--data-dir /d resume --in-background {shared} {SESSION} -")
        );
        let fork = SessionOrigin::Forked { session, turn: Some(2), files: true };
        assert_eq!(
            line(fork),
            format!("--data-dir /d fork --in-background --turn 2 --files {shared} {SESSION} -")
        );
    }
}
