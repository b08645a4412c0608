//! Files of an agent on a worker that home keeps until it has all of its work. Their names are what they hold, so a worker
//! cannot replace one by another.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use posse_protocol::KeptFile;
use sha2::{Digest as _, Sha256};

use crate::limits::{KEPT_FILES_BYTES_MAX, KEPT_FILES_MAX};

/// Where in the data directory they are.
const FOLDER: &str = "elsewhere";

/// The files of one agent.
pub(super) struct KeptFiles {
    folder: PathBuf,
    bytes: u64,
    files: usize,
}

impl KeptFiles {
    pub(super) fn new(data_dir: &Path, agent: &str) -> Self {
        Self { folder: data_dir.join(FOLDER).join(agent), bytes: 0, files: 0 }
    }

    /// A file beside them, for as long as the agent runs.
    pub(super) fn beside(&self, name: &str) -> io::Result<PathBuf> {
        fs::create_dir_all(&self.folder)?;
        Ok(self.folder.join(name))
    }

    /// Keeps contents; they are on disk when this returns. What does not have its name is refused.
    pub(super) fn put(&mut self, contents: &[(String, Vec<u8>)]) -> Result<(), String> {
        for (name, bytes) in contents {
            if hash_of(bytes) != *name {
                return Err("a file is not what its name says".to_string());
            }
            self.bytes = self.bytes.saturating_add(bytes.len() as u64);
            self.files += 1;
            if self.bytes > KEPT_FILES_BYTES_MAX || self.files > KEPT_FILES_MAX {
                return Err("it has changed more than home keeps".to_string());
            }
            self.write(name, bytes).map_err(|error| format!("its files cannot be kept: {error}"))?;
        }
        Ok(())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.beside(name)?;
        if path.exists() {
            return Ok(());
        }
        let half = self.beside(&format!("{name}.half"))?;
        let mut file = fs::File::create(&half)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        fs::rename(half, path)
    }

    /// The contents of files, for the next worker.
    pub(super) fn get(&self, files: &[KeptFile]) -> io::Result<Vec<(String, Vec<u8>)>> {
        let mut contents = Vec::new();
        for saved in files.iter().filter_map(|file| file.after.as_ref()) {
            // It came from a worker: only what is a name is looked for.
            if !saved.blob.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return Err(io::Error::other("a file has no name"));
            }
            if !contents.iter().any(|(name, _)| *name == saved.blob) {
                contents.push((saved.blob.clone(), fs::read(self.folder.join(&saved.blob))?));
            }
        }
        Ok(contents)
    }

    /// Forgets all of them: their work is on record.
    pub(super) fn clear(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn hash_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
