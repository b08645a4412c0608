//! Files of an agent on a worker that home keeps until it has all of its work. Their names are what they hold, so a worker
//! cannot replace one by another.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use posse_protocol::{AgentId, KeptFile};
use sha2::{Digest as _, Sha256};

use crate::limits::{KEPT_FILES_BYTES_MAX, KEPT_FILES_MAX};

/// Where in the data directory they are.
const FOLDER: &str = "elsewhere";

/// KeptContents by their SHA-256.
pub(crate) type KeptContents = BTreeMap<String, Vec<u8>>;

/// The files of one agent.
pub(super) struct KeptFiles {
    folder: PathBuf,
    bytes: u64,
    files: usize,
    /// How many paths were named.
    paths: usize,
}

impl KeptFiles {
    pub(super) fn new(data_dir: &Path, agent: AgentId) -> Self {
        Self { folder: folder_of(data_dir, agent), bytes: 0, files: 0, paths: 0 }
    }

    /// A file beside them, for as long as the agent runs.
    pub(super) fn beside(&self, name: &str) -> io::Result<PathBuf> {
        fs::create_dir_all(&self.folder)?;
        Ok(self.folder.join(name))
    }

    /// Counts paths that were changed.
    pub(super) fn count(&mut self, paths: usize) -> Result<(), String> {
        self.paths = self.paths.saturating_add(paths);
        if self.paths > KEPT_FILES_MAX { Err(too_much()) } else { Ok(()) }
    }

    /// Keeps contents; they are on disk when this returns. What does not have its name is refused.
    pub(super) async fn put(&mut self, contents: Vec<(String, Vec<u8>)>) -> Result<(), String> {
        if contents.is_empty() {
            return Ok(());
        }
        let bytes: u64 = contents.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        self.bytes = self.bytes.saturating_add(bytes);
        self.files = self.files.saturating_add(contents.len());
        if self.bytes > KEPT_FILES_BYTES_MAX || self.files > KEPT_FILES_MAX {
            return Err(too_much());
        }
        let folder = self.folder.clone();
        beside_the_runtime(move || write(&folder, &contents)).await
    }

    /// The contents of files. They are held in memory, so those that are large, or many, are refused: also one that is to stand at
    /// many paths.
    pub(super) async fn get(&self, files: &[KeptFile]) -> Result<KeptContents, String> {
        let folder = self.folder.clone();
        let blobs = files.iter().filter_map(|file| file.after.as_ref()).map(|saved| saved.blob.clone());
        let blobs: Vec<String> = blobs.collect();
        beside_the_runtime(move || read(&folder, blobs)).await
    }

    /// Forgets all of them: their work is on record.
    pub(super) fn clear(&self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn folder_of(data_dir: &Path, agent: AgentId) -> PathBuf {
    data_dir.join(FOLDER).join(agent.to_string())
}

/// Forgets what was kept of an agent that goes off the record before it has ended.
pub(crate) fn forget_kept(data_dir: &Path, agent: AgentId) {
    let _ = fs::remove_dir_all(folder_of(data_dir, agent));
}

/// It reads and writes, which takes as long as a worker wants.
async fn beside_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err("a fault in Posse".to_string()))
}

fn too_much() -> String {
    "it has changed more than home keeps".to_string()
}

/// Writes what is not there, and waits for the disk once.
fn write(folder: &Path, contents: &[(String, Vec<u8>)]) -> Result<(), String> {
    if contents.iter().any(|(name, bytes)| hash_of(bytes) != *name) {
        return Err("a file is not what its name says".to_string());
    }
    write_new(folder, contents).map_err(|error| format!("its files cannot be kept: {error}"))
}

fn write_new(folder: &Path, contents: &[(String, Vec<u8>)]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let new: Vec<_> = contents.iter().filter(|(name, _)| !folder.join(name).exists()).collect();
    let half = |name: &str| folder.join(format!("{name}.half"));
    for (name, bytes) in &new {
        fs::write(half(name), bytes)?;
    }
    match &new[..] {
        [] => return Ok(()),
        [(name, _)] => fs::File::open(half(name))?.sync_data()?,
        _ => rustix::fs::syncfs(fs::File::open(folder)?)?,
    }
    for (name, _) in &new {
        match fs::rename(half(name), folder.join(name)) {
            // The same contents stood twice among these.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            renamed => renamed?,
        }
    }
    Ok(())
}

fn read(folder: &Path, blobs: Vec<String>) -> Result<KeptContents, String> {
    let (mut contents, mut bytes_in_all) = (KeptContents::new(), 0_u64);
    for blob in blobs {
        // It came from a worker: only what is a name is looked for.
        if !blob.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err("a file has no name".to_string());
        }
        let bytes = match contents.get(&blob) {
            Some(known) => known.len() as u64,
            None => {
                let held = fs::read(folder.join(&blob));
                let held = held.map_err(|error| format!("its files are not kept: {error}"))?;
                let bytes = held.len() as u64;
                contents.insert(blob, held);
                bytes
            }
        };
        bytes_in_all = bytes_in_all.saturating_add(bytes);
        if bytes_in_all > KEPT_FILES_BYTES_MAX {
            return Err(too_much());
        }
    }
    Ok(contents)
}

fn hash_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
