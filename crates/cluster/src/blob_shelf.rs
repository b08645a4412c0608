//! A folder with blobs, each a file that is named by its SHA-256: a worker's cache, and what home keeps for the pipe of a worker. What
//! is put in and what is taken out is checked against its name, so that a damaged file is as good as a missing one. What is only
//! half there takes room like everything else.
//!
//! It must not know couriers.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ring::digest;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::courier::CourierError;
use crate::limits;
use crate::names::BlobId;

/// What happens when a shelf is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// The blob that was not used for longest goes: for a cache.
    DropOldest,
    /// The new blob is refused: for what others still need.
    Refuse,
}

/// A folder with blobs. One process uses it at a time.
#[derive(Debug)]
pub struct BlobShelf {
    folder: PathBuf,
    bytes_max: u64,
    when_full: WhenFull,
    kept: Arc<Mutex<KeptBlobs>>,
    next_part: AtomicU64,
}

#[derive(Debug, Default)]
struct KeptBlobs {
    blobs: HashMap<BlobId, KeptBlob>,
    bytes: u64,
    /// What the parts take that are being written.
    parts_bytes: u64,
    uses: u64,
}

#[derive(Clone, Copy, Debug)]
struct KeptBlob {
    bytes: u64,
    /// When it was used last, as a count.
    used: u64,
    /// Whether the other side sent it, and nobody here has put it.
    is_upload: bool,
}

impl BlobShelf {
    /// Opens a folder, makes it if it is missing, and removes what was left half-written.
    pub async fn open(folder: &Path, bytes_max: u64, when_full: WhenFull) -> io::Result<Self> {
        tokio::fs::create_dir_all(folder).await?;
        let mut found = Vec::new();
        let mut entries = tokio::fs::read_dir(folder).await?;
        while let Some(entry) = entries.next_entry().await? {
            let name = entry.file_name();
            let about = entry.metadata().await?;
            match name.to_str().and_then(|name| name.parse::<BlobId>().ok()) {
                Some(id) if about.is_file() => found.push((about.modified().ok(), id, about.len())),
                _ if name.to_string_lossy().ends_with(".part") => {
                    tokio::fs::remove_file(entry.path()).await?;
                }
                _ => {}
            }
        }
        found.sort();
        let mut kept = KeptBlobs::default();
        for (_, id, bytes) in found {
            kept.add(id, bytes, false);
        }
        let (folder, kept) = (folder.to_owned(), Arc::new(Mutex::new(kept)));
        Ok(Self { folder, bytes_max, when_full, kept, next_part: AtomicU64::new(0) })
    }

    /// Whether a blob is there.
    pub fn has(&self, id: BlobId) -> bool {
        self.kept().blobs.contains_key(&id)
    }

    /// How many bytes all blobs take.
    pub fn bytes(&self) -> u64 {
        self.kept().bytes
    }

    /// Copies a file into the shelf, unless it is there.
    pub async fn put(&self, from: &Path) -> Result<BlobId, CourierError> {
        let id = self.name_of(from).await?;
        if self.kept().keep(id) {
            return Ok(id);
        }
        let mut file = File::open(from).await?;
        let mut part = self.part().await?;
        let mut piece = vec![0; limits::READ_BYTES];
        loop {
            match file.read(&mut piece).await? {
                0 => break,
                count => part.write(self, &piece[..count]).await?,
            }
        }
        let id = part.finish(self, None).await?;
        self.kept().keep(id);
        Ok(id)
    }

    /// The name that a file has as a blob, if there is room for a blob of its size.
    async fn name_of(&self, file: &Path) -> Result<BlobId, CourierError> {
        let (bytes, max) = (tokio::fs::metadata(file).await?.len(), self.blob_bytes_max());
        if bytes > max {
            return Err(CourierError::BlobTooLarge { bytes, max });
        }
        let file = file.to_owned();
        let named = tokio::task::spawn_blocking(move || BlobId::of_file(&file)).await;
        Ok(named.map_err(io::Error::other)??)
    }

    /// The largest blob that can be here.
    pub(crate) fn blob_bytes_max(&self) -> u64 {
        self.bytes_max.min(limits::BLOB_BYTES_MAX)
    }

    /// A moment, for [`BlobShelf::drop_uploads`]; none if the other side has sent nothing that is still here.
    pub(crate) fn moment(&self) -> Option<u64> {
        let kept = self.kept();
        kept.blobs.values().any(|blob| blob.is_upload).then_some(kept.uses)
    }

    /// Removes what the other side had sent before a moment and nobody has used since.
    pub(crate) async fn drop_uploads(&self, moment: u64) -> io::Result<()> {
        let is_left = |blob: &KeptBlob| blob.is_upload && blob.used <= moment;
        let kept = self.kept().blobs.clone();
        for (id, _) in kept.iter().filter(|(_, blob)| is_left(blob)) {
            let is_still_left = self.kept().blobs.get(id).is_some_and(is_left);
            if is_still_left {
                self.remove(*id).await?;
            }
        }
        Ok(())
    }

    /// Copies a blob out of the shelf, into a file that must not exist. One that is damaged is removed from the shelf.
    pub async fn take_out(&self, id: BlobId, to: &Path) -> Result<(), CourierError> {
        let (mut file, _) = self.reader(id).await?;
        let mut copy = tokio::fs::File::create_new(to).await?;
        let mut hash = digest::Context::new(&digest::SHA256);
        let mut piece = vec![0; limits::READ_BYTES];
        loop {
            match file.read(&mut piece).await? {
                0 => break,
                count => {
                    hash.update(&piece[..count]);
                    copy.write_all(&piece[..count]).await?;
                }
            }
        }
        copy.flush().await?;
        if BlobId::of_digest(&hash.finish()) == Some(id) {
            return Ok(());
        }
        drop(copy);
        tokio::fs::remove_file(to).await?;
        self.remove(id).await?;
        Err(CourierError::BadBlob(id))
    }

    /// Removes a blob, if it is there.
    pub async fn remove(&self, id: BlobId) -> io::Result<()> {
        self.kept().drop_one(id);
        match tokio::fs::remove_file(self.path(id)).await {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// A blob's file, to be read, and its length.
    pub(crate) async fn reader(&self, id: BlobId) -> Result<(File, u64), CourierError> {
        if self.kept().touch(id).is_none() {
            return Err(CourierError::NoBlob(id));
        }
        match File::open(self.path(id)).await {
            Ok(file) => {
                let bytes = file.metadata().await?.len();
                Ok((file, bytes))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.kept().drop_one(id);
                Err(CourierError::NoBlob(id))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Begins a new blob.
    pub(crate) async fn part(&self) -> io::Result<BlobPart> {
        let number = self.next_part.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{}-{number}.part", std::process::id()));
        let file = File::create(&path).await?;
        let hash = digest::Context::new(&digest::SHA256);
        let kept = Arc::clone(&self.kept);
        Ok(BlobPart { file, path, hash, bytes: 0, kept, is_finished: false })
    }

    /// Makes room for more of a part that has some bytes already, or refuses it.
    async fn make_room(&self, had: u64, more: u64) -> Result<(), CourierError> {
        let mut removed = Vec::new();
        let made = self.count_room(had, more, &mut removed);
        for id in removed {
            match tokio::fs::remove_file(self.path(id)).await {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        made
    }

    fn count_room(&self, had: u64, more: u64, removed: &mut Vec<BlobId>) -> Result<(), CourierError> {
        let mut kept = self.kept();
        while kept.taken().saturating_add(more) > self.bytes_max
            || kept.blobs.len() >= limits::BLOB_CACHE_FILES_MAX
        {
            let oldest = kept.blobs.iter().min_by_key(|(_, blob)| blob.used).map(|(id, _)| *id);
            let Some(oldest) = oldest.filter(|_| self.when_full == WhenFull::DropOldest) else {
                let max = self.bytes_max.saturating_sub(kept.taken()).saturating_add(had);
                return Err(CourierError::BlobTooLarge { bytes: had.saturating_add(more), max });
            };
            kept.drop_one(oldest);
            removed.push(oldest);
        }
        kept.parts_bytes = kept.parts_bytes.saturating_add(more);
        Ok(())
    }

    fn path(&self, id: BlobId) -> PathBuf {
        self.folder.join(id.to_string())
    }

    fn kept(&self) -> MutexGuard<'_, KeptBlobs> {
        locked(&self.kept)
    }
}

fn locked(kept: &Mutex<KeptBlobs>) -> MutexGuard<'_, KeptBlobs> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

impl KeptBlobs {
    /// What all of it takes.
    fn taken(&self) -> u64 {
        self.bytes.saturating_add(self.parts_bytes)
    }

    /// Adds a blob. What was put here is no upload, although it comes from the other side as well.
    fn add(&mut self, id: BlobId, bytes: u64, is_upload: bool) {
        let was_put = self.blobs.get(&id).is_some_and(|known| !known.is_upload);
        self.drop_one(id);
        self.uses += 1;
        self.blobs.insert(id, KeptBlob { bytes, used: self.uses, is_upload: is_upload && !was_put });
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn touch(&mut self, id: BlobId) -> Option<&mut KeptBlob> {
        self.uses += 1;
        let uses = self.uses;
        let blob = self.blobs.get_mut(&id)?;
        blob.used = uses;
        Some(blob)
    }

    /// Somebody here has put a blob. False if it is not there.
    fn keep(&mut self, id: BlobId) -> bool {
        self.touch(id).map(|blob| blob.is_upload = false).is_some()
    }

    fn drop_one(&mut self, id: BlobId) {
        if let Some(blob) = self.blobs.remove(&id) {
            self.bytes = self.bytes.saturating_sub(blob.bytes);
        }
    }
}

/// A blob that is being written. Dropped before it is finished, it leaves nothing.
pub(crate) struct BlobPart {
    file: File,
    path: PathBuf,
    hash: digest::Context,
    /// What it has, and what is counted for it.
    bytes: u64,
    kept: Arc<Mutex<KeptBlobs>>,
    is_finished: bool,
}

impl BlobPart {
    pub(crate) async fn write(&mut self, shelf: &BlobShelf, piece: &[u8]) -> Result<(), CourierError> {
        let (more, max) = (piece.len() as u64, shelf.blob_bytes_max());
        let bytes = self.bytes.saturating_add(more);
        if bytes > max {
            return Err(CourierError::BlobTooLarge { bytes, max });
        }
        shelf.make_room(self.bytes, more).await?;
        self.bytes = bytes;
        self.hash.update(piece);
        Ok(self.file.write_all(piece).await?)
    }

    /// Puts it on the shelf. With `expected`, only if it is that blob.
    pub(crate) async fn finish(
        mut self,
        shelf: &BlobShelf,
        expected: Option<BlobId>,
    ) -> Result<BlobId, CourierError> {
        self.file.flush().await?;
        let found = BlobId::of_digest(&self.hash.clone().finish());
        let id = match (found, expected) {
            (Some(found), None) => found,
            (Some(found), Some(expected)) if found == expected => found,
            (_, Some(expected)) => return Err(CourierError::BadBlob(expected)),
            (None, None) => return Err(CourierError::Refused("a blob has no digest".to_owned())),
        };
        if !shelf.has(id) {
            // For one more file.
            shelf.make_room(self.bytes, 0).await?;
        }
        tokio::fs::rename(&self.path, shelf.path(id)).await?;
        self.is_finished = true;
        let (mut kept, bytes) = (shelf.kept(), std::mem::take(&mut self.bytes));
        kept.parts_bytes = kept.parts_bytes.saturating_sub(bytes);
        kept.add(id, bytes, expected.is_some());
        Ok(id)
    }
}

impl Drop for BlobPart {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = std::fs::remove_file(&self.path);
        }
        let mut kept = locked(&self.kept);
        kept.parts_bytes = kept.parts_bytes.saturating_sub(self.bytes);
    }
}
