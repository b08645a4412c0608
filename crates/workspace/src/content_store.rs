//! Contents by their names, in files that are only ever added to.
//!
//! A content's name is the SHA-256 of it, so what is read can be checked: a file that was cut off or overwritten gives
//! nothing rather than something else. Each process adds to a segment of its own, a file of contents and one that says
//! where each begins, so nobody waits for anybody. Large contents are files of their own, shared with the workspace's
//! where the file system can do that; never by a hard link, which a command could write through.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use sha2::{Digest, Sha256};

use crate::{WorkspaceError, limits};

/// The name of a content.
pub(crate) type ContentHash = [u8; 32];

/// Name, offset and length of one content.
const ENTRY_BYTES: usize = 48;

/// The contents of one workspace. Shared by all who have it open in this process.
#[derive(Debug)]
pub(crate) struct ContentStore {
    folder: PathBuf,
    kept: Mutex<Kept>,
    /// Held by everybody who uses the store: as long as anybody else does, nothing is thrown away.
    _used: File,
}

#[derive(Debug, Default)]
struct Kept {
    places: HashMap<ContentHash, LookContext>,
    segments: Vec<Segment>,
    /// The one that this process adds to.
    own: Option<usize>,
    bytes: u64,
    /// How much was added since the room on the disk was looked at.
    unchecked_bytes: u64,
    full: bool,
}

#[derive(Clone, Copy, Debug)]
struct LookContext {
    /// None for a file of its own.
    segment: Option<usize>,
    offset: u64,
    bytes: u64,
}

#[derive(Debug)]
struct Segment {
    name: String,
    contents: File,
    index: File,
    contents_bytes: u64,
    /// How far its index was read.
    index_bytes: u64,
}

/// The name of a content.
pub(crate) fn name_of(bytes: &[u8]) -> ContentHash {
    Sha256::digest(bytes).into()
}

/// A name as records have it.
pub(crate) fn written(name: &ContentHash) -> String {
    name.iter().fold(String::with_capacity(64), |mut text, byte| {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(digit), 16).unwrap_or('0'));
        }
        text
    })
}

/// Reads what [`written`] wrote; none for names of older stores, and for what is no name at all.
pub(crate) fn parsed(text: &str) -> Option<ContentHash> {
    let digits = text.as_bytes();
    let mut name = [0; 32];
    if digits.len() != 64 {
        return None;
    }
    for (byte, pair) in name.iter_mut().zip(digits.chunks(2)) {
        let digit = |at: usize| char::from(pair[at]).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        *byte = (digit(0)? << 4) | digit(1)?;
    }
    Some(name)
}

impl ContentStore {
    /// Opens the store in a folder, and makes it if there is none.
    pub(crate) fn open(folder: &Path) -> io::Result<Self> {
        make_private(folder)?;
        make_private(&folder.join("large"))?;
        let used = File::options().create(true).append(true).open(folder.join("used"))?;
        if used.try_lock().is_ok() {
            // Nobody else is here: what a process that was killed left half done can go, and so can what is too old.
            tidy(folder)?;
            used.unlock()?;
        }
        used.lock_shared()?;
        let mut kept = Kept::default();
        kept.find_segments(folder)?;
        for entry in fs::read_dir(folder.join("large"))?.flatten() {
            if let (Some(name), Ok(found)) = (entry.file_name().to_str().and_then(parsed), entry.metadata()) {
                kept.bytes += found.len();
                kept.places.insert(name, LookContext { segment: None, offset: 0, bytes: found.len() });
            }
        }
        Ok(Self { folder: folder.to_owned(), kept: Mutex::new(kept), _used: used })
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where files of the store's own are.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether there was no more room.
    pub(crate) fn is_full(&self) -> bool {
        self.kept().full
    }

    /// Whether a content is kept.
    pub(crate) fn holds(&self, name: &ContentHash) -> bool {
        self.kept().places.contains_key(name)
    }

    /// Keeps contents, of which the names are known; says for each whether it is kept now.
    pub(crate) fn put(&self, contents: &[(ContentHash, &[u8])]) -> io::Result<Vec<bool>> {
        let mut kept = self.kept();
        let new: u64 = contents.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        let room = kept.has_room(&self.folder, new);
        if room {
            let at = kept.own(&self.folder)?;
            kept.add(at, contents)?;
        }
        Ok(contents.iter().map(|(name, _)| kept.places.contains_key(name)).collect())
    }

    /// Keeps one content.
    pub(crate) fn put_one(&self, bytes: &[u8]) -> Result<ContentHash, WorkspaceError> {
        self.keep(&[bytes]).map(|_| name_of(bytes))
    }

    /// Keeps contents, and says their names as records have them. `Err` if not all could be kept.
    pub(crate) fn keep(&self, contents: &[&[u8]]) -> Result<Vec<String>, WorkspaceError> {
        let named: Vec<(ContentHash, &[u8])> =
            contents.iter().map(|bytes| (name_of(bytes), *bytes)).collect();
        let kept = self.put(&named).map_err(|error| WorkspaceError::Kept(error.to_string()))?;
        if kept.contains(&false) {
            return Err(WorkspaceError::Kept("there is no room left for what is overwritten".to_owned()));
        }
        Ok(named.iter().map(|(name, _)| written(name)).collect())
    }

    /// Keeps a large file that is open at its start. None if there is no room.
    pub(crate) fn put_file(&self, file: &mut File, bytes: u64) -> io::Result<Option<ContentHash>> {
        if !self.kept().has_room(&self.folder, bytes) {
            return Ok(None);
        }
        let place = self.folder.join("large").join(format!("{:016x}.tmp", fastrand::u64(..)));
        let named = copied(file, &place).and_then(|(name, bytes)| {
            fs::rename(&place, self.folder.join("large").join(written(&name))).map(|()| (name, bytes))
        });
        let (name, bytes) = named.inspect_err(|_| drop(fs::remove_file(&place)))?;
        let mut kept = self.kept();
        if kept.places.insert(name, LookContext { segment: None, offset: 0, bytes }).is_none() {
            kept.bytes += bytes;
        }
        Ok(Some(name))
    }

    /// A content, if it is kept and what it should be.
    pub(crate) fn get(&self, name: &ContentHash) -> Option<Vec<u8>> {
        let mut kept = self.kept();
        if !kept.places.contains_key(name) {
            // Another process may have added it since.
            let _ = kept.find_segments(&self.folder);
            let large = self.folder.join("large").join(written(name)).metadata();
            if let Ok(found) = large {
                kept.places.insert(*name, LookContext { segment: None, offset: 0, bytes: found.len() });
            }
        }
        let place = *kept.places.get(name)?;
        let bytes = match place.segment {
            Some(at) => kept.segments.get(at).and_then(|segment| segment.read(place).ok()),
            None => fs::read(self.folder.join("large").join(written(name))).ok(),
        };
        let right = bytes.filter(|bytes| name_of(bytes) == *name);
        if right.is_none() {
            // It can be kept anew.
            kept.places.remove(name);
        }
        right
    }

    /// How long a content is.
    pub(crate) fn bytes_of(&self, name: &ContentHash) -> Option<u64> {
        self.kept().places.get(name).map(|place| place.bytes)
    }
}

impl Kept {
    /// Reads what is new in all indexes.
    fn find_segments(&mut self, folder: &Path) -> io::Result<()> {
        for entry in fs::read_dir(folder)?.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(name) = name.strip_suffix(".index") else { continue };
            if !self.segments.iter().any(|segment| segment.name == name) {
                // One that is just being made may lack a half.
                let Ok(segment) = Segment::open(folder, name) else { continue };
                self.segments.push(segment);
            }
        }
        for at in 0..self.segments.len() {
            self.read_index(at)?;
        }
        Ok(())
    }

    fn read_index(&mut self, at: usize) -> io::Result<()> {
        let segment = &mut self.segments[at];
        segment.index.seek(SeekFrom::Start(segment.index_bytes))?;
        let mut entries = Vec::new();
        segment.index.read_to_end(&mut entries)?;
        let length = segment.contents.metadata()?.len();
        self.bytes += length - segment.contents_bytes.min(length);
        segment.contents_bytes = length;
        for entry in entries.chunks_exact(ENTRY_BYTES) {
            let (name, offset, bytes) = read_entry(entry);
            // What is beyond the end was never written, or is not there yet.
            if offset.checked_add(bytes).is_none_or(|end| end > length) {
                break;
            }
            segment.index_bytes += ENTRY_BYTES as u64;
            self.places.entry(name).or_insert(LookContext { segment: Some(at), offset, bytes });
        }
        Ok(())
    }

    /// The segment that this process adds to: one that nobody else adds to, or a new one.
    fn own(&mut self, folder: &Path) -> io::Result<usize> {
        if let Some(at) = self.own {
            if self.segments[at].contents_bytes < limits::SEGMENT_BYTES_MAX {
                return Ok(at);
            }
            self.segments[at].index.unlock()?;
        }
        self.find_segments(folder)?;
        for at in 0..self.segments.len() {
            let segment = &self.segments[at];
            if segment.contents_bytes < limits::SEGMENT_BYTES_MAX && segment.index.try_lock().is_ok() {
                self.read_index(at)?;
                // Whatever is behind what was read belongs to nothing: its writer is gone.
                self.segments[at].index.set_len(self.segments[at].index_bytes)?;
                self.own = Some(at);
                return Ok(at);
            }
        }
        let segment = Segment::make(folder)?;
        segment.index.try_lock().map_err(io::Error::other)?;
        self.segments.push(segment);
        self.own = Some(self.segments.len() - 1);
        Ok(self.segments.len() - 1)
    }

    fn add(&mut self, at: usize, contents: &[(ContentHash, &[u8])]) -> io::Result<()> {
        let segment = &mut self.segments[at];
        let mut end = segment.contents.seek(SeekFrom::End(0))?;
        let (mut bytes, mut entries, mut new) = (Vec::new(), Vec::new(), HashMap::new());
        for (name, content) in contents {
            if self.places.contains_key(name) || new.contains_key(name) {
                continue;
            }
            let place = LookContext { segment: Some(at), offset: end, bytes: content.len() as u64 };
            entries.extend_from_slice(&entry_of(name, place));
            bytes.extend_from_slice(content);
            end += place.bytes;
            new.insert(*name, place);
        }
        segment.contents.write_all(&bytes)?;
        segment.index.seek(SeekFrom::Start(segment.index_bytes))?;
        segment.index.write_all(&entries)?;
        segment.index_bytes += entries.len() as u64;
        segment.contents_bytes = end;
        self.bytes += bytes.len() as u64;
        self.unchecked_bytes += bytes.len() as u64;
        self.places.extend(new);
        Ok(())
    }

    fn has_room(&mut self, folder: &Path, bytes: u64) -> bool {
        let mut room = self.bytes.saturating_add(bytes) <= limits::STORE_BYTES_MAX;
        self.unchecked_bytes = self.unchecked_bytes.saturating_add(bytes);
        if room && (self.full || self.unchecked_bytes >= limits::DISK_CHECK_BYTES || self.own.is_none()) {
            self.unchecked_bytes = 0;
            room = free_bytes(folder)
                .is_none_or(|free| free.saturating_sub(bytes) >= limits::DISK_FREE_BYTES_MIN);
        }
        self.full = !room;
        room
    }
}

impl Segment {
    fn open(folder: &Path, name: &str) -> io::Result<Self> {
        let open = |end: &str, make: bool| {
            let mut options = File::options();
            options.read(true).write(true).create_new(make);
            private(&mut options);
            options.open(folder.join(format!("{name}.{end}")))
        };
        let (contents, index) = (open("contents", false)?, open("index", false)?);
        Ok(Self { name: name.to_owned(), contents, index, contents_bytes: 0, index_bytes: 0 })
    }

    fn make(folder: &Path) -> io::Result<Self> {
        let name = format!("{:016x}", fastrand::u64(..));
        for end in ["contents", "index"] {
            let mut options = File::options();
            options.write(true).create_new(true);
            private(&mut options);
            options.open(folder.join(format!("{name}.{end}")))?;
        }
        Self::open(folder, &name)
    }

    fn read(&self, place: LookContext) -> io::Result<Vec<u8>> {
        let length = usize::try_from(place.bytes).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        let mut file = &self.contents;
        file.seek(SeekFrom::Start(place.offset))?;
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

fn entry_of(name: &ContentHash, place: LookContext) -> [u8; ENTRY_BYTES] {
    let mut entry = [0; ENTRY_BYTES];
    entry[..32].copy_from_slice(name);
    entry[32..40].copy_from_slice(&place.offset.to_le_bytes());
    entry[40..].copy_from_slice(&place.bytes.to_le_bytes());
    entry
}

fn read_entry(entry: &[u8]) -> (ContentHash, u64, u64) {
    let mut name = [0; 32];
    name.copy_from_slice(&entry[..32]);
    let number = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&entry[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    (name, number(32), number(40))
}

/// Makes a copy that nobody else can write, and says its name and length.
fn copied(file: &mut File, place: &Path) -> io::Result<(ContentHash, u64)> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    private(&mut options);
    let mut copy = options.open(place)?;
    let cloned = clone(&copy, file);
    let mut digest = Sha256::new();
    let mut buffer = vec![0; limits::COPY_BYTES];
    let mut bytes = 0;
    loop {
        let read = if cloned { copy.read(&mut buffer)? } else { file.read(&mut buffer)? };
        if read == 0 {
            return Ok((digest.finalize().into(), bytes));
        }
        digest.update(&buffer[..read]);
        bytes += read as u64;
        if bytes > limits::PACK_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        } else if !cloned {
            copy.write_all(&buffer[..read])?;
        }
    }
}

/// Shares the data of a file where the file system can.
#[cfg(target_os = "linux")]
fn clone(to: &File, from: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn clone(_to: &File, _from: &File) -> bool {
    false
}

/// Removes what was left half done; the oldest segments, too, if it has become too much.
fn tidy(folder: &Path) -> io::Result<()> {
    let mut segments = Vec::new();
    let mut bytes_all = 0;
    for (place, contents) in [(folder.to_owned(), Some("contents")), (folder.join("large"), None)] {
        for entry in fs::read_dir(&place)?.flatten() {
            let (path, Ok(found)) = (entry.path(), entry.metadata()) else { continue };
            match path.extension().and_then(|end| end.to_str()) {
                Some("tmp") => fs::remove_file(&path)?,
                end if end == contents && found.is_file() => {
                    bytes_all += found.len();
                    segments.push((found.modified()?, found.len(), path));
                }
                _ => {}
            }
        }
    }
    segments.sort();
    for (_, bytes, path) in segments {
        if bytes_all <= limits::STORE_BYTES_MAX / 2 {
            break;
        }
        // The index last: without contents it says nothing.
        fs::remove_file(&path)?;
        let _ = fs::remove_file(path.with_extension("index"));
        bytes_all -= bytes;
    }
    Ok(())
}

#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(unix)]
fn private(options: &mut fs::OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn private(_options: &mut fs::OpenOptions) {}

/// How much room there is for us on a disk.
#[cfg(unix)]
fn free_bytes(folder: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(folder).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(not(unix))]
fn free_bytes(_folder: &Path) -> Option<u64> {
    None
}
