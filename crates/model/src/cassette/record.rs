//! Writing a cassette while calls are made.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use posse_protocol::Reply;

use super::tape::{Existing, Tape};
use super::{CassetteError, Matching, MessageLog, Substitutions};

/// Writes exchanges to a cassette, each as soon as it is complete: a crash keeps what was done.
pub struct Recorder {
    path: PathBuf,
    substitutions: Substitutions,
    state: Mutex<State>,
}

struct State {
    tape: Tape,
    failure: Option<String>,
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Recorder").field(&self.path).finish()
    }
}

impl Recorder {
    /// A new cassette; a file that was there is replaced. Readable by its owner only.
    pub fn create(path: &Path, substitutions: Vec<(String, String)>) -> Result<Self, CassetteError> {
        let substitutions = Substitutions::new(&substitutions);
        let tape = Tape::create(path, Existing::Replace, Matching::Request, substitutions.clone())
            .map_err(|source| CassetteError::File { path: path.to_owned(), source })?;
        let state = Mutex::new(State { tape, failure: None });
        Ok(Self { path: path.to_owned(), substitutions, state })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Why the cassette is not complete, if writing to it has failed. Calls go on without it.
    pub fn failure(&self) -> Option<String> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).failure.clone()
    }

    pub(crate) fn substitutions(&self) -> Substitutions {
        self.substitutions.clone()
    }

    pub(crate) fn write(&self, model: &str, log: &MessageLog, reply: &Reply) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.failure.is_some() {
            return;
        }
        if let Err(error) = state.tape.write(model, log, reply) {
            tracing::error!(path = %self.path.display(), %error, "the cassette cannot be written any more");
            state.failure = Some(format!("cassette {}: {error}", self.path.display()));
        }
    }
}
