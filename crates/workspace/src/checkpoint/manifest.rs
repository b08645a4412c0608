//! What every file was when it was last looked at. Saved between sessions, so that what has not changed is not read again;
//! one that is damaged or old counts for nothing but time.

use std::{collections::BTreeMap, fs, io, ops::Bound, path::Path, sync::Arc};

use super::{
    folder::{EntryKind, EntryState},
    rules::IgnoreRules,
};
use crate::Mode;
use crate::content_store::{ContentHash, name_of};

const MAGIC: &[u8] = b"posse manifest 1\n";

/// What a folder is for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zone {
    /// Its files are the work.
    Work,
    /// It came to be ignored: what was known in it stays so.
    Ignored,
    /// Of the repository: HEAD, refs, index and the like.
    State,
    /// Of the repository: what it has stored.
    Objects,
}

/// All that is known, by folder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Manifest {
    pub(crate) folders: BTreeMap<Box<[u8]>, Held>,
}

/// One folder.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) zone: Zone,
    pub(crate) inode: u64,
    pub(crate) rules: Arc<IgnoreRules>,
    /// In the order of names.
    pub(crate) files: Vec<(Box<[u8]>, KnownFile)>,
}

/// One file or link.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownFile {
    pub(crate) seen: EntryState,
    pub(crate) mode: Mode,
    pub(crate) name: ContentHash,
    /// Whether it was so new when it was read that a later change may have left the same stamp.
    pub(crate) fresh: bool,
}

impl KnownFile {
    /// Whether both are the same to who looks at what they hold.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        (self.mode, self.name) == (other.mode, other.name)
    }
}

impl Held {
    pub(crate) fn get(&self, name: &[u8]) -> Option<&KnownFile> {
        self.files.binary_search_by(|(known, _)| known.as_ref().cmp(name)).ok().map(|at| &self.files[at].1)
    }

    /// Takes over what is at a name now.
    pub(crate) fn set(&mut self, name: &[u8], known: Option<KnownFile>) {
        let at = self.files.binary_search_by(|(known, _)| known.as_ref().cmp(name));
        match (at, known) {
            (Ok(at), Some(known)) => self.files[at].1 = known,
            (Ok(at), None) => drop(self.files.remove(at)),
            (Err(at), Some(known)) => self.files.insert(at, (name.into(), known)),
            (Err(_), None) => {}
        }
    }
}

/// A path and what it is in.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"", path),
    }
}

/// A path in a folder.
pub(crate) fn joined(folder: &[u8], name: &[u8]) -> Box<[u8]> {
    if folder.is_empty() { name.into() } else { [folder, b"/", name].concat().into() }
}

impl Manifest {
    pub(crate) fn get(&self, path: &[u8]) -> Option<&KnownFile> {
        let (folder, name) = split(path);
        self.folders.get(folder)?.get(name)
    }

    /// The paths of a folder and of all below it.
    pub(crate) fn below(&self, folder: &[u8]) -> Vec<Box<[u8]>> {
        if folder.is_empty() {
            return self.folders.keys().cloned().collect();
        }
        let (from, to) = ([folder, b"/"].concat(), [folder, b"0"].concat());
        let range = (Bound::Included(from.as_slice()), Bound::Excluded(to.as_slice()));
        let itself = self.folders.get_key_value(folder).map(|(path, _)| path.clone());
        itself.into_iter().chain(self.folders.range::<[u8], _>(range).map(|(path, _)| path.clone())).collect()
    }

    pub(crate) fn save(&self, place: &Path) -> io::Result<()> {
        let mut bytes = MAGIC.to_vec();
        let number = |bytes: &mut Vec<u8>, number: usize| {
            bytes.extend_from_slice(&u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
        };
        for (path, held) in &self.folders {
            number(&mut bytes, path.len());
            bytes.extend_from_slice(path);
            number(&mut bytes, held.files.len());
            for (name, known) in &held.files {
                number(&mut bytes, name.len());
                bytes.extend_from_slice(name);
                let mode = match known.mode {
                    Mode::File => 0,
                    Mode::Program => 1,
                    Mode::Link => 2,
                };
                bytes.extend_from_slice(&[mode, u8::from(known.fresh)]);
                let seen = &known.seen;
                for number in
                    [seen.bytes, seen.modified.cast_unsigned(), seen.changed.cast_unsigned(), seen.inode]
                {
                    bytes.extend_from_slice(&number.to_le_bytes());
                }
                bytes.extend_from_slice(&seen.links.to_le_bytes());
                bytes.extend_from_slice(&known.name);
            }
        }
        let checked = name_of(&bytes);
        bytes.extend_from_slice(&checked);
        let temporary = place.with_extension(format!("{:016x}.tmp", fastrand::u64(..)));
        let saved = fs::write(&temporary, bytes).and_then(|()| fs::rename(&temporary, place));
        saved.inspect_err(|_| drop(fs::remove_file(&temporary)))
    }

    /// What was saved; nothing if it is not what was saved.
    pub(crate) fn load(place: &Path) -> Self {
        fs::read(place).ok().and_then(|bytes| Self::read(&bytes)).unwrap_or_default()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (body, checked) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
        if name_of(body) != *checked {
            return None;
        }
        let mut rest = Rest(body.strip_prefix(MAGIC)?);
        let mut folders = Vec::new();
        let rules = Arc::default();
        while !rest.0.is_empty() {
            let length = rest.length()?;
            let path: Box<[u8]> = rest.take(length)?.into();
            let count = rest.length()?;
            let mut files = Vec::with_capacity(count.min(rest.0.len()));
            for _ in 0..count {
                files.push(rest.file()?);
            }
            folders.push((path, Held { zone: Zone::Work, inode: 0, rules: Arc::clone(&rules), files }));
        }
        Some(Self { folders: folders.into_iter().collect() })
    }
}

/// What is still to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn length(&mut self) -> Option<usize> {
        self.take(4)?.try_into().ok().map(u32::from_le_bytes).and_then(|length| length.try_into().ok())
    }

    fn number(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_le_bytes)
    }

    fn file(&mut self) -> Option<(Box<[u8]>, KnownFile)> {
        let length = self.length()?;
        let name = self.take(length)?.into();
        let [mode, fresh] = self.take(2)?.try_into().ok()?;
        let mode = match mode {
            0 => Mode::File,
            1 => Mode::Program,
            _ => Mode::Link,
        };
        let (bytes, modified, changed) = (self.number()?, self.number()?, self.number()?);
        let (inode, links) = (self.number()?, u32::try_from(self.length()?).ok()?);
        let seen = EntryState {
            what: EntryKind::Entry(mode),
            bytes,
            modified: modified.cast_signed(),
            changed: changed.cast_signed(),
            device: 0,
            inode,
            links,
        };
        let content = self.take(32)?.try_into().ok()?;
        Some((name, KnownFile { seen, mode, name: content, fresh: fresh != 0 }))
    }
}
