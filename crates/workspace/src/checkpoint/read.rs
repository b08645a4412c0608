//! Finds out what one entry is and keeps what it holds.

use std::{
    fs::File,
    io::{self, Read},
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use super::{
    coverage::Coverage,
    folder::{EntryKind, EntryState, Folder},
    manifest::{KnownFile, Zone, joined},
};
use crate::content_store::{ContentHash, ContentStore, name_of};
use crate::{Mode, limits};

/// Reads entries and gathers what they hold, to be stored many at a time.
pub(crate) struct ContentReader<'a> {
    store: &'a ContentStore,
    /// When the look began, less what clocks may be off: what is newer may change again without a new stamp.
    recent: i64,
    history_bytes: &'a AtomicU64,
    gathered: Vec<u8>,
    contents: Vec<(ContentHash, Range<usize>)>,
    pub(crate) coverage: Coverage,
}

impl<'a> ContentReader<'a> {
    pub(crate) fn new(store: &'a ContentStore, recent: i64, history_bytes: &'a AtomicU64) -> Self {
        Self {
            store,
            recent,
            history_bytes,
            gathered: Vec::new(),
            contents: Vec::new(),
            coverage: Coverage::default(),
        }
    }

    /// What an entry is now. `Err` holds what is there if it is neither a file nor a link, or nothing.
    pub(crate) fn entry(
        &mut self,
        (place, folder): (&[u8], &Folder),
        name: &[u8],
        zone: Zone,
        old: Option<&KnownFile>,
        regular: bool,
    ) -> Result<KnownFile, Option<EntryState>> {
        let mut opened = None;
        let seen = if regular && old.is_none() {
            // It saves a call to open first what is most likely new.
            let open = folder.open(name).ok();
            opened = open.filter(|(_, seen)| matches!(seen.what, EntryKind::Entry(_)));
            opened.as_ref().map(|(_, seen)| *seen)
        } else {
            None
        };
        let seen = match seen {
            Some(seen) => seen,
            None => match folder.look(name) {
                Ok(found) => found.ok_or(None)?,
                // What cannot be looked at is what it was.
                Err(_) => return old.copied().ok_or(None),
            },
        };
        let EntryKind::Entry(mode) = seen.what else { return Err(Some(seen)) };
        if zone == Zone::Objects {
            self.history_bytes.fetch_add(seen.bytes, Ordering::Relaxed);
        }
        if let Some(old) = old
            && old.seen.same(&seen)
            && !old.fresh
        {
            return Ok(KnownFile { seen, ..*old });
        }
        self.changed((place, folder), name, (zone, mode, seen), old, opened)
    }

    fn changed(
        &mut self,
        (place, folder): (&[u8], &Folder),
        name: &[u8],
        (zone, mode, seen): (Zone, Mode, EntryState),
        old: Option<&KnownFile>,
        opened: Option<(File, EntryState)>,
    ) -> Result<KnownFile, Option<EntryState>> {
        if mode == Mode::Link {
            let target = folder.link(name).map_err(|_| None)?;
            let name = name_of(&target);
            self.gather(name, &target);
            return Ok(KnownFile { seen, mode, name, fresh: self.is_fresh(&seen) });
        }
        if self.is_too_much(zone, &seen) {
            let path = joined(place, name);
            let left_out =
                if zone == Zone::Objects { &mut self.coverage.history } else { &mut self.coverage.large };
            left_out.add(&path);
            return Ok(KnownFile { seen, mode, name: stamp_name(&seen), fresh: self.is_fresh(&seen) });
        }
        let opened = opened.map_or_else(|| folder.open(name), Ok);
        let read = opened.and_then(|(mut file, seen)| {
            if !matches!(seen.what, EntryKind::Entry(_)) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            Ok((self.content(&mut file, &seen)?, seen))
        });
        match read {
            // Whether it can be run may have changed in between, too.
            Ok((name, seen)) => {
                let mode = if let EntryKind::Entry(mode) = seen.what { mode } else { mode };
                let name = name.unwrap_or_else(|| stamp_name(&seen));
                Ok(KnownFile { seen, mode, name, fresh: self.is_fresh(&seen) })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(None),
            Err(_) => {
                self.coverage.unreadable.add(&joined(place, name));
                let before = old.filter(|old| old.seen.same_data(&seen)).map(|old| old.name);
                // It is tried again.
                Ok(KnownFile { seen, mode, name: before.unwrap_or_else(|| stamp_name(&seen)), fresh: true })
            }
        }
    }

    fn is_fresh(&self, seen: &EntryState) -> bool {
        seen.modified >= self.recent || seen.changed >= self.recent
    }

    fn is_too_much(&self, zone: Zone, seen: &EntryState) -> bool {
        if zone == Zone::Objects {
            seen.bytes > limits::PACK_BYTES_MAX
                || self.history_bytes.load(Ordering::Relaxed) > limits::HISTORY_BYTES_MAX
        } else {
            seen.bytes > limits::CHECKPOINT_FILE_BYTES_MAX
        }
    }

    /// Keeps what an open file holds. None if it became too long, or there is no room for it.
    fn content(&mut self, file: &mut File, seen: &EntryState) -> io::Result<Option<ContentHash>> {
        if seen.bytes >= limits::LARGE_BYTES_MIN {
            return self.store.put_file(file, seen.bytes);
        }
        let from = self.gathered.len();
        let length = usize::try_from(seen.bytes).unwrap_or(0);
        self.gathered.resize(from + length + 1, 0);
        let mut read = file.read(&mut self.gathered[from..])?;
        if read == length {
            self.gathered.truncate(from + read);
        } else {
            // It is not as long as it says: it is being written, or of another kind of file system.
            while read < length + 1 {
                match file.read(&mut self.gathered[from + read..])? {
                    0 => break,
                    more => read += more,
                }
            }
            self.gathered.truncate(from + read);
            if read > length {
                file.take(limits::LARGE_BYTES_MIN).read_to_end(&mut self.gathered)?;
            }
            if (self.gathered.len() - from) as u64 > limits::LARGE_BYTES_MIN {
                self.gathered.truncate(from);
                return Ok(None);
            }
        }
        let range = from..self.gathered.len();
        let name = name_of(&self.gathered[range.clone()]);
        self.contents.push((name, range));
        if self.gathered.len() >= limits::GATHERED_BYTES {
            self.store();
        }
        Ok(Some(name))
    }

    fn gather(&mut self, name: ContentHash, bytes: &[u8]) {
        let from = self.gathered.len();
        self.gathered.extend_from_slice(bytes);
        self.contents.push((name, from..self.gathered.len()));
    }

    /// Stores what was gathered. What cannot be stored is missing when it is asked for, and said to be.
    pub(crate) fn store(&mut self) {
        let contents: Vec<(ContentHash, &[u8])> =
            self.contents.iter().map(|(name, range)| (*name, &self.gathered[range.clone()])).collect();
        let _ = self.store.put(&contents);
        self.gathered.clear();
        self.contents.clear();
    }
}

/// Stands for the content of a file that is not kept: another one when the file is written.
pub(crate) fn stamp_name(seen: &EntryState) -> ContentHash {
    name_of(format!("not kept: {} {} {}", seen.inode, seen.bytes, seen.modified).as_bytes())
}
