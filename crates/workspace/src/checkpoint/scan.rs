//! Looks at a whole folder and all below it, with several threads. What is known already and has not changed by what the
//! system says is not read again.

use std::{
    io,
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
};

use super::{
    LookProgress,
    coverage::{Coverage, Linked},
    folder::{Folder, Hint, Top},
    manifest::{Held, Manifest, Zone, joined},
    read::ContentReader,
    repository,
    rules::IgnoreRules,
    watch::Watches,
};
use crate::content_store::ContentStore;
use crate::limits;

/// What a scan needs.
pub(crate) struct Scan<'a> {
    pub(crate) top: &'a Top,
    pub(crate) store: &'a ContentStore,
    /// What was known before.
    pub(crate) old: &'a Manifest,
    /// Whether what was known before stays so when it comes to be ignored.
    pub(crate) sticky: bool,
    /// Which paths are not for us.
    pub(crate) hidden: &'a (dyn Fn(&[u8]) -> bool + Sync),
    pub(crate) watches: Option<&'a Watches>,
    pub(crate) recent: i64,
    /// Whether names that lead outside are looked for in ignored folders, too.
    pub(crate) links: bool,
    pub(crate) told: Option<LookProgress>,
}

/// A folder to be looked at.
pub(crate) struct FolderToScan {
    pub(crate) path: Box<[u8]>,
    /// None for what is ignored and only searched for links.
    pub(crate) zone: Option<Zone>,
    pub(crate) above: Arc<IgnoreRules>,
}

/// What was found.
#[derive(Default)]
pub(crate) struct Scanned {
    pub(crate) folders: Vec<(Box<[u8]>, Held)>,
    /// Ignored files in folders that are not ignored.
    pub(crate) ignored: Vec<Box<[u8]>>,
    pub(crate) linked: Vec<Linked>,
    pub(crate) coverage: Coverage,
}

#[derive(Default)]
struct Queue {
    jobs: Vec<FolderToScan>,
    working: usize,
}

struct Shared<'a> {
    scan: &'a Scan<'a>,
    queue: Mutex<Queue>,
    more: Condvar,
    looked: AtomicUsize,
    link_entries: AtomicUsize,
    history_bytes: AtomicU64,
}

impl Scan<'_> {
    /// Looks at these folders and all below them.
    pub(crate) fn run(&self, jobs: Vec<FolderToScan>) -> Scanned {
        let shared = Shared {
            scan: self,
            queue: Mutex::new(Queue { jobs, working: 0 }),
            more: Condvar::new(),
            looked: AtomicUsize::new(0),
            link_entries: AtomicUsize::new(0),
            history_bytes: AtomicU64::new(0),
        };
        let threads =
            thread::available_parallelism().map_or(2, usize::from).clamp(2, limits::LOOK_THREADS_MAX);
        let mut all = Scanned::default();
        thread::scope(|scope| {
            let others: Vec<_> = (1..threads)
                .filter_map(|_| thread::Builder::new().spawn_scoped(scope, || shared.work()).ok())
                .collect();
            all = shared.work();
            for other in others {
                if let Ok(found) = other.join() {
                    all.join(found);
                }
            }
        });
        all
    }
}

impl Scanned {
    fn join(&mut self, other: Self) {
        self.folders.extend(other.folders);
        self.ignored.extend(other.ignored);
        self.linked.extend(other.linked);
        self.coverage.join(other.coverage);
    }
}

impl Shared<'_> {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<FolderToScan> {
        let mut queue = self.queue();
        loop {
            if let Some(job) = queue.jobs.pop() {
                queue.working += 1;
                return Some(job);
            } else if queue.working == 0 {
                return None;
            }
            queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn work(&self) -> Scanned {
        let mut found = Scanned::default();
        let mut reader = ContentReader::new(self.scan.store, self.scan.recent, &self.history_bytes);
        while let Some(job) = self.next() {
            let more = match job.zone {
                Some(zone) => self.folder(job, zone, &mut reader, &mut found),
                None => self.only_links(&job, &mut found),
            };
            let mut queue = self.queue();
            queue.jobs.extend(more);
            queue.working -= 1;
            // Whoever waits looks for work, or finds that there is none any more.
            self.more.notify_all();
        }
        reader.store();
        found.coverage.join(reader.coverage);
        found
    }

    fn folder(
        &self,
        job: FolderToScan,
        zone: Zone,
        reader: &mut ContentReader<'_>,
        found: &mut Scanned,
    ) -> Vec<FolderToScan> {
        let old = self.scan.old.folders.get(&job.path);
        let opened = self.scan.top.folder(&job.path).and_then(|folder| {
            // Watched first: what changes from here on is reported.
            if let Some(watches) = self.scan.watches {
                watches.add(&job.path, &folder);
            }
            let inode = folder.itself()?.inode;
            Ok((folder.names()?, inode, folder))
        });
        let (names, inode, folder) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                // What cannot be entered now is what it was; what is gone is gone.
                if !is_gone(&error) {
                    found.coverage.unreadable.add(&job.path);
                    found.folders.extend(old.map(|old| (job.path, old.clone())));
                }
                return Vec::new();
            }
        };
        let has_rules = names.binary_search_by(|(name, _)| name.as_ref().cmp(super::rules::FILE)).is_ok();
        let rules = match zone {
            Zone::Work if has_rules => IgnoreRules::within(&job.above, &job.path, &folder),
            _ => Arc::clone(&job.above),
        };
        let mut held = Held { zone, inode, rules, files: Vec::with_capacity(names.len()) };
        let mut jobs = Vec::new();
        let count = names.len();
        for (name, hint) in names {
            self.name((&job.path, &folder), (name, hint), &mut held, old, reader, found, &mut jobs);
        }
        found.folders.push((job.path, held));
        self.tell(count);
        jobs
    }

    #[allow(clippy::too_many_arguments)] // one step of the loop above
    fn name(
        &self,
        (place, folder): (&[u8], &Folder),
        (name, hint): (Box<[u8]>, Hint),
        held: &mut Held,
        old: Option<&Held>,
        reader: &mut ContentReader<'_>,
        found: &mut Scanned,
        jobs: &mut Vec<FolderToScan>,
    ) {
        let path = joined(place, &name);
        if is_half_written(&name) || (self.scan.hidden)(&path) {
            return;
        }
        let is_folder = match hint {
            Hint::Folder => true,
            Hint::Regular | Hint::Other => false,
            Hint::Unknown => folder.look(&name).ok().flatten().is_some_and(|seen| seen.is_folder()),
        };
        if is_folder {
            return self.subfolder(path, &name, held, found, jobs);
        }
        let known = old
            .and_then(|old| old.get(&name))
            .filter(|known| self.scan.sticky || self.scan.store.holds(&known.name));
        let kept = keeps_file(held, &path, &name);
        let sticks = self.scan.sticky && known.is_some() && name.as_ref() != repository::DOT;
        if !kept && !sticks {
            if held.zone == Zone::Work && name.as_ref() != repository::DOT {
                self.links_of(folder, place, &name, hint, found);
                found.ignored.push(path);
            }
            return;
        }
        if let Ok(now) = reader.entry((place, folder), &name, held.zone, known, hint == Hint::Regular) {
            found.linked.extend(Linked::of(&now.seen, place));
            if std::str::from_utf8(&path).is_err() {
                found.coverage.odd_names.add(&path);
            }
            held.files.push((name, now));
        }
    }

    fn subfolder(
        &self,
        path: Box<[u8]>,
        name: &[u8],
        held: &Held,
        found: &mut Scanned,
        jobs: &mut Vec<FolderToScan>,
    ) {
        let known = self.scan.sticky && self.scan.old.folders.contains_key(&path);
        let zone = keeps_folder(held, &path, name, known);
        if zone.is_none() && held.zone == Zone::Work {
            found.coverage.leaves_out(&path, name);
        }
        if zone.is_some() || self.scan.links {
            jobs.push(FolderToScan { path, zone, above: Arc::clone(&held.rules) });
        }
    }

    /// Looks for files with more than one name in what is ignored.
    fn only_links(&self, job: &FolderToScan, found: &mut Scanned) -> Vec<FolderToScan> {
        let Ok(folder) = self.scan.top.folder(&job.path) else { return Vec::new() };
        let mut jobs = Vec::new();
        for (name, hint) in folder.names().unwrap_or_default() {
            if self.link_entries.fetch_add(1, Ordering::Relaxed) >= limits::LINK_ENTRIES_MAX {
                found.coverage.links_cut = true;
                return Vec::new();
            }
            let path = joined(&job.path, &name);
            if hint == Hint::Folder && !(self.scan.hidden)(&path) {
                jobs.push(FolderToScan { path, zone: None, above: Arc::clone(&job.above) });
            } else {
                self.links_of(&folder, &job.path, &name, hint, found);
            }
        }
        jobs
    }

    fn links_of(&self, folder: &Folder, place: &[u8], name: &[u8], hint: Hint, found: &mut Scanned) {
        if self.scan.links
            && matches!(hint, Hint::Regular | Hint::Unknown)
            && let Ok(Some(seen)) = folder.look(name)
            && !seen.is_folder()
        {
            found.linked.extend(Linked::of(&seen, place));
        }
    }

    fn tell(&self, count: usize) {
        let before = self.looked.fetch_add(count, Ordering::Relaxed);
        if let Some(told) = &self.scan.told
            && before / limits::TOLD_FILES != (before + count) / limits::TOLD_FILES
        {
            told(before + count);
        }
    }
}

/// Whether a file in a folder is kept, small ignored ones aside.
pub(crate) fn keeps_file(held: &Held, path: &[u8], name: &[u8]) -> bool {
    match held.zone {
        Zone::Work => name != repository::DOT && !held.rules.ignores(path, false),
        Zone::Ignored => false,
        Zone::State => repository::keeps_state(path),
        Zone::Objects => !name.ends_with(b".lock") && !name.starts_with(b"tmp_"),
    }
}

/// What a folder in another is for us, if anything; `known` if it was something before.
pub(crate) fn keeps_folder(above: &Held, path: &[u8], name: &[u8], known: bool) -> Option<Zone> {
    match above.zone {
        // Of repositories in the workspace only its own is kept.
        Zone::Work if name == repository::DOT => (path == repository::DOT).then_some(Zone::State),
        Zone::Work if !above.rules.ignores(path, true) => Some(Zone::Work),
        Zone::Work | Zone::Ignored => known.then_some(Zone::Ignored),
        Zone::State => repository::zone_of(path),
        Zone::Objects => Some(Zone::Objects),
    }
}

/// Whether an error says that there is no such folder, rather than that it cannot be opened.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    // A link has taken its place; the name of this kind is not stable yet.
    let link = error.raw_os_error() == Some(crate::error::too_many_links());
    link || matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Whether a file tool is in the middle of writing it.
pub(crate) fn is_half_written(name: &[u8]) -> bool {
    name.starts_with(b".posse-") && name.ends_with(b".tmp")
}
