//! Writing a cassette while calls are made.

use std::collections::HashMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use posse_protocol::Reply;

use super::{CassetteError, Exchange, Header, Log, Matching, Substitutions};

/// Writes exchanges to a cassette, each as soon as it is complete: a crash keeps what was done.
pub struct Recorder {
    path: PathBuf,
    substitutions: Substitutions,
    state: Mutex<State>,
}

struct State {
    file: File,
    next_id: u64,
    /// Exchanges by the hashes of their request's head and messages.
    written: HashMap<(u64, u64), u64>,
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
        let failed = |source| CassetteError::File { path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(path).map_err(failed)?;
        write_line(&mut file, &Header { posse_cassette: 1, matching: Matching::Request }).map_err(failed)?;
        let state = State { file, next_id: 1, written: HashMap::new(), failure: None };
        let substitutions = Substitutions::new(&substitutions);
        Ok(Self { path: path.to_owned(), substitutions, state: Mutex::new(state) })
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

    pub(crate) fn write(&self, model: &str, log: &Log, reply: &Reply) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.failure.is_some() {
            return;
        }
        let head = log.head.hash;
        // The longest request on file that this one goes on from; usually two messages back.
        let before = (0..=log.messages.len())
            .rev()
            .find_map(|length| state.written.get(&(head, log.hashes[length])).map(|id| (*id, length)));
        let (after, known) = before.map_or((None, 0), |(id, length)| (Some(id), length));
        let exchange = Exchange {
            id: state.next_id,
            model: model.to_owned(),
            after,
            system: after.is_none().then(|| log.head.system.clone()),
            tools: after.is_none().then(|| log.head.tools.clone()),
            new: log.messages[known..].iter().map(|message| (**message).clone()).collect(),
            reply: self.substitutions.hide_reply(reply),
        };
        state.next_id += 1;
        state.written.insert((head, log.hash()), exchange.id);
        if let Err(error) = write_line(&mut state.file, &exchange) {
            tracing::error!(path = %self.path.display(), %error, "the cassette cannot be written any more");
            state.failure = Some(format!("cassette {}: {error}", self.path.display()));
        }
    }
}

fn write_line(file: &mut File, value: &impl serde::Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)?;
    file.flush()
}
