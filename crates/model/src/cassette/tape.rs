//! The file of a cassette that is being written, and what is on it so far.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use posse_protocol::Reply;

use super::{Exchange, Header, Matching, MessageLog, Substitutions};

/// What happens to a file that is there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Existing {
    Replace,
    Refuse,
}

/// A cassette that is being written, line by line.
pub(super) struct Tape {
    file: File,
    bytes: u64,
    next_id: u64,
    /// Exchanges by the hashes of their request's head and messages.
    written: HashMap<(u64, u64), u64>,
    substitutions: Substitutions,
}

impl Tape {
    /// A new file with its header, readable by its owner only.
    pub(super) fn create(
        path: &Path,
        existing: Existing,
        matching: Matching,
        substitutions: Substitutions,
    ) -> io::Result<Self> {
        // In a folder that agents write it could lead to any file of the person's.
        if existing == Existing::Replace && path.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
            let why = "it is a link, which is not written through; name the file itself";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let mut options = OpenOptions::new();
        match existing {
            Existing::Replace => options.write(true).create(true).truncate(true),
            Existing::Refuse => options.write(true).create_new(true),
        };
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        let mut tape = Self { file, bytes: 0, next_id: 1, written: HashMap::new(), substitutions };
        tape.line(&Header { posse_cassette: 1, matching })?;
        Ok(tape)
    }

    /// Bytes written so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes one exchange, after the longest request on file that this one goes on from.
    pub(super) fn write(&mut self, model: &str, log: &MessageLog, reply: &Reply) -> io::Result<()> {
        let head = log.head.hash;
        // Usually two messages back.
        let before = (0..=log.messages.len())
            .rev()
            .find_map(|length| self.written.get(&(head, log.hashes[length])).map(|id| (*id, length)));
        let (after, known) = before.map_or((None, 0), |(id, length)| (Some(id), length));
        let exchange = Exchange {
            id: self.next_id,
            model: model.to_owned(),
            after,
            system: after.is_none().then(|| log.head.system.clone()),
            tools: after.is_none().then(|| log.head.tools.clone()),
            new: log.messages[known..].iter().map(|message| (**message).clone()).collect(),
            reply: self.substitutions.hide_reply(reply),
        };
        self.next_id += 1;
        self.written.insert((head, log.hash()), exchange.id);
        self.line(&exchange)
    }

    fn line(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(value)?;
        line.push(b'\n');
        self.bytes += line.len() as u64;
        self.file.write_all(&line)?;
        self.file.flush()
    }
}
