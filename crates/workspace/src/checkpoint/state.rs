//! What is known of a workspace, and how it is brought up to what the files are now.

use std::{
    collections::{BTreeSet, HashSet},
    path::PathBuf,
    sync::{Arc, atomic::AtomicU64},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use posse_protocol::{Change, Saved};

use super::{
    LookProgress,
    coverage::{self, Coverage},
    folder::Top,
    found::{FoundChanges, OwnChanges, Side},
    manifest::{Held, KnownFile, Manifest, Zone, joined, split},
    read::ContentReader,
    repository,
    rules::{self, IgnoreRules},
    scan::{FolderToScan, Scan, Scanned, is_half_written, keeps_file, keeps_folder},
    watch::{ChangedNames, Reported, Watches},
};
use crate::content_store::{ContentStore, name_of, written};
use crate::{Mode, limits};

/// What a look works with.
pub(crate) struct LookContext<'a> {
    pub(crate) top: &'a Top,
    pub(crate) store: &'a ContentStore,
    /// Which paths are not for us.
    pub(crate) hidden: &'a (dyn Fn(&[u8]) -> bool + Sync),
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct WatchState {
    /// None until the first look.
    manifest: Option<Manifest>,
    watches: Option<Watches>,
    /// Why there are none.
    unwatched: Option<&'static str>,
    /// What was found and not told yet.
    pub(crate) found: Vec<Change>,
    /// What we did ourselves since the last look, in order: it is told by whoever did it.
    known: OwnChanges,
    /// Files with more than one name: a change by another one is not reported under this one.
    several: BTreeSet<Box<[u8]>>,
    /// How many ignored files are kept.
    ignored: usize,
    /// Ignored files that are not.
    passed_over: BTreeSet<Box<[u8]>>,
    pub(crate) coverage: Coverage,
    pub(crate) outside: Vec<(PathBuf, usize)>,
    /// Another one after every change.
    pub(crate) version: u64,
    /// Whether what is saved is older.
    pub(crate) unsaved: bool,
}

impl WatchState {
    pub(crate) fn has_looked(&self) -> bool {
        self.manifest.is_some()
    }

    pub(crate) fn manifest(&self) -> Option<&Manifest> {
        self.manifest.as_ref()
    }

    /// Watches nothing any more.
    pub(crate) fn unwatch(&mut self, why: &'static str) {
        (self.watches, self.unwatched) = (None, Some(why));
    }

    /// Remembers what we do ourselves, so that a look does not take it for somebody else's work.
    pub(crate) fn expect(&mut self, path: &[u8], before: Side, after: Side) {
        if self.has_looked() && before != after {
            self.known.entry(path.into()).or_default().push((before, after));
        }
    }

    /// Takes a path for one that was never there: what we put there is not somebody else's work.
    pub(crate) fn forget(&mut self, path: &[u8]) {
        let (folder, name) = split(path);
        if let Some(held) = self.manifest.as_mut().and_then(|manifest| manifest.folders.get_mut(folder)) {
            held.set(name, None);
        }
    }

    /// What was reported since the last look, beside what is looked at every time; none if all has to be looked at.
    pub(crate) fn reported(&self, place: &LookContext<'_>) -> Result<Reported, Option<&'static str>> {
        let Some(manifest) = &self.manifest else { return Err(None) };
        let Some(watches) = &self.watches else { return Err(self.unwatched) };
        let mut reported = watches.read();
        if let Some(why) = reported.missing {
            return Err(Some(why));
        } else if self.several.len() > limits::SEVERAL_NAMES_MAX {
            return Err(Some("too many files have more than one name"));
        }
        let mut open: Option<(&[u8], _)> = None;
        for path in &self.several {
            let (folder, name) = split(path);
            if open.as_ref().is_none_or(|(opened, _)| *opened != folder) {
                open = Some((folder, place.top.folder(folder)));
            }
            let Some((_, Ok(opened))) = &open else { continue };
            let seen = opened.look(name).ok().flatten();
            let same = match (manifest.get(path), seen) {
                (Some(known), Some(seen)) => known.seen.same(&seen) && !known.fresh,
                (known, seen) => known.is_none() && seen.is_none(),
            };
            if !same {
                reported.add(folder, name, false);
            }
        }
        for path in self.known.keys() {
            let (folder, name) = split(path);
            reported.add(folder, name, false);
        }
        Ok(reported)
    }

    /// Looks at what was reported, or at everything. Says why, if it was everything.
    pub(crate) fn look(
        &mut self,
        place: &LookContext<'_>,
        reported: Result<Reported, Option<&'static str>>,
        told: Option<LookProgress>,
    ) -> Option<&'static str> {
        let now = nanoseconds_now();
        let mut why = None;
        match reported {
            Ok(reported) => {
                if let Err(reason) = self.some(place, reported, now, true) {
                    self.everything(place, told, now);
                    why = Some(reason);
                }
            }
            Err(reason) => {
                self.everything(place, told, now);
                why = reason;
            }
        }
        why
    }

    /// Looks at everything.
    fn everything(&mut self, place: &LookContext<'_>, told: Option<LookProgress>, now: i64) {
        let first = self.manifest.is_none();
        let old = match self.manifest.take() {
            Some(old) => old,
            None => Manifest::load(&place.store.folder().join("manifest")),
        };
        if first && self.unwatched.is_none() {
            self.watches = Watches::new();
            self.unwatched = self.watches.is_none().then_some("the system reports no changes here");
        } else if let Some(watches) = &self.watches {
            // What was reported until now is about to be seen.
            watches.read();
        }
        let scan = Scan {
            top: place.top,
            store: place.store,
            old: &old,
            sticky: !first,
            hidden: place.hidden,
            watches: self.watches.as_ref(),
            recent: recent(now),
            links: first,
            told,
        };
        let above = IgnoreRules::from_above(&place.top.path);
        let mut scanned =
            scan.run(vec![FolderToScan { path: Box::default(), zone: Some(Zone::Work), above }]);
        let mut new = Manifest { folders: std::mem::take(&mut scanned.folders).into_iter().collect() };
        let passed_over = std::mem::take(&mut self.passed_over);
        self.take_ignored(place, &mut new, &old, &mut scanned, first, now);
        if let Some(why) = self.watches.as_ref().and_then(Watches::failed) {
            self.unwatch(why);
        } else if let Some(watches) = &self.watches {
            watches.retain(|path| new.folders.contains_key(path));
        }
        self.several = several_of(new.folders.iter());
        self.coverage = scanned.coverage;
        if first {
            self.outside = coverage::outside(&scanned.linked);
            self.known.clear();
            self.unsaved = true;
        } else {
            let paths: BTreeSet<&Box<[u8]>> = old.folders.keys().chain(new.folders.keys()).collect();
            let mut found = FoundChanges::default();
            for path in paths {
                found.compare(path, old.folders.get(path), new.folders.get(path), &mut self.known);
            }
            found.without_uncovered(&old, &passed_over);
            self.manifest = Some(new);
            self.settle(place, &mut found);
            self.take(place, found);
            return;
        }
        self.manifest = Some(new);
    }

    /// Small ignored files are kept, too, such as `.env`. Very many of them are something that was built, not written.
    fn take_ignored(
        &mut self,
        place: &LookContext<'_>,
        new: &mut Manifest,
        old: &Manifest,
        scanned: &mut Scanned,
        first: bool,
        now: i64,
    ) {
        if first {
            self.ignored = 0;
        }
        scanned.ignored.sort_unstable();
        let many = scanned.ignored.len() + self.ignored > limits::IGNORED_FILES_MAX;
        let bytes = AtomicU64::new(0);
        let mut reader = ContentReader::new(place.store, recent(now), &bytes);
        for path in &scanned.ignored {
            let (folder, name) = split(path);
            let worth = (!many || name.starts_with(b".env")) && self.ignored < limits::IGNORED_FILES_MAX;
            let known = old.get(path).filter(|known| place.store.holds(&known.name));
            match self.ignored_file(place, (folder, name), known, &mut reader).filter(|_| worth) {
                Some(known) => {
                    self.ignored += 1;
                    if let Some(held) = new.folders.get_mut(folder) {
                        held.set(name, Some(known));
                    }
                }
                None => {
                    self.passed_over.insert(path.clone());
                    scanned.coverage.ignored_files.add(path);
                }
            }
        }
        reader.store();
        scanned.coverage.join(reader.coverage);
    }

    fn ignored_file(
        &self,
        place: &LookContext<'_>,
        (folder, name): (&[u8], &[u8]),
        known: Option<&KnownFile>,
        reader: &mut ContentReader<'_>,
    ) -> Option<KnownFile> {
        let opened = place.top.folder(folder).ok()?;
        let small = opened.look(name).ok()?.is_some_and(|seen| seen.bytes <= limits::IGNORED_FILE_BYTES_MAX);
        if !small {
            return None;
        }
        reader.entry((folder, &opened), name, Zone::Work, known, false).ok()
    }

    /// Looks at what was reported. `Err` if that is not enough, with the reason.
    fn some(
        &mut self,
        place: &LookContext<'_>,
        reported: Reported,
        now: i64,
        first: bool,
    ) -> Result<(), &'static str> {
        if reported.names.is_empty() {
            return Ok(());
        }
        let rules = |names: &ChangedNames| names.contains_key(rules::FILE);
        if reported.names.iter().any(|(folder, names)| rules(names) && !folder.starts_with(repository::DOT)) {
            return Err("rules about what is ignored were changed");
        }
        let Some(mut manifest) = self.manifest.take() else { return Ok(()) };
        let (mut found, mut again) = (FoundChanges::default(), BTreeSet::new());
        let bytes = AtomicU64::new(history_bytes(&manifest, &reported));
        let mut reader = ContentReader::new(place.store, recent(now), &bytes);
        for (folder, names) in &reported.names {
            if !manifest.folders.contains_key(folder) {
                continue;
            }
            let Ok(opened) = place.top.folder(folder) else {
                again.insert(folder.clone());
                continue;
            };
            for (name, about_folder) in names {
                let path = joined(folder, name);
                if is_half_written(name) || (place.hidden)(&path) {
                    continue;
                }
                // What cannot be looked at is what it was.
                let Ok(seen) = opened.look(name) else { continue };
                let was_folder = manifest.folders.contains_key(&path);
                let is_folder = seen.is_some_and(|seen| seen.is_folder());
                let other =
                    || manifest.folders.get(&path).map(|held| held.inode) != seen.map(|seen| seen.inode);
                if (was_folder || is_folder) && (*about_folder || was_folder != is_folder || other()) {
                    again.insert(path.clone());
                }
                let Some(held) = manifest.folders.get_mut(folder) else { continue };
                let old = held.get(name).copied();
                let new = if seen.is_none() || is_folder {
                    None
                } else {
                    self.one(place, (folder, &opened), name, held, &mut reader)
                };
                found.one(held.zone, &path, old.as_ref(), new.as_ref(), &mut self.known);
                if new.is_some_and(|new| new.seen.links > 1) {
                    self.several.insert(path);
                } else {
                    self.several.remove(&path);
                }
                held.set(name, new);
            }
        }
        reader.store();
        self.coverage.join(reader.coverage);
        for path in again {
            self.subtree(place, &mut manifest, &path, &mut found, now);
        }
        let by_other_names = self.by_other_names(&manifest);
        self.manifest = Some(manifest);
        if first && !by_other_names.names.is_empty() {
            self.take(place, found);
            return self.some(place, by_other_names, now, false);
        }
        self.settle(place, &mut found);
        self.take(place, found);
        match self.watches.as_ref().and_then(Watches::failed) {
            Some(why) => {
                self.unwatch(why);
                Err(why)
            }
            None => Ok(()),
        }
    }

    /// Names of files that have more than one since now: what was done by one of them is not reported for the others.
    fn by_other_names(&self, manifest: &Manifest) -> Reported {
        let mut reported = Reported::default();
        let known = self.several.iter().filter_map(|path| manifest.get(path));
        let inodes: HashSet<u64> =
            known.filter(|known| known.seen.links > 1).map(|known| known.seen.inode).collect();
        if inodes.is_empty() {
            return reported;
        }
        for (folder, held) in manifest.folders.iter().filter(|(_, held)| held.zone != Zone::Objects) {
            for (name, known) in &held.files {
                if known.seen.links == 1 && inodes.contains(&known.seen.inode) {
                    reported.add(folder, name, false);
                }
            }
        }
        reported
    }

    /// One file that was reported; none if it is not kept.
    fn one(
        &mut self,
        place: &LookContext<'_>,
        (folder, opened): (&[u8], &super::folder::Folder),
        name: &[u8],
        held: &Held,
        reader: &mut ContentReader<'_>,
    ) -> Option<KnownFile> {
        let old = held.get(name).copied();
        let path = joined(folder, name);
        if keeps_file(held, &path, name) || (old.is_some() && name != repository::DOT) {
            return reader.entry((folder, opened), name, held.zone, old.as_ref(), false).ok();
        }
        let worth = self.ignored < limits::IGNORED_FILES_MAX || name.starts_with(b".env");
        if held.zone != Zone::Work || name == repository::DOT {
            return None;
        }
        let known = self.ignored_file(place, (folder, name), None, reader).filter(|_| worth);
        match known {
            Some(_) => self.ignored += 1,
            None => {
                self.coverage.ignored_files.add(&path);
                self.passed_over.insert(path);
            }
        }
        known
    }

    /// A folder that came, went or was replaced, with all below it.
    fn subtree(
        &mut self,
        place: &LookContext<'_>,
        manifest: &mut Manifest,
        path: &[u8],
        found: &mut FoundChanges,
        now: i64,
    ) {
        let before = manifest.below(path);
        if let Some(watches) = &self.watches {
            before.iter().for_each(|path| watches.forget(path));
        }
        let (parent, name) = split(path);
        let mut scanned = Scanned::default();
        let above = manifest.folders.get(parent);
        let zone =
            above.and_then(|above| keeps_folder(above, path, name, manifest.folders.contains_key(path)));
        let work = above.is_some_and(|above| above.zone == Zone::Work);
        if zone.is_none() && work && place.top.folder(path).is_ok() {
            scanned.coverage.leaves_out(path, name);
        }
        if let (Some(above), Some(zone)) = (above, zone) {
            let scan = Scan {
                top: place.top,
                store: place.store,
                old: manifest,
                sticky: true,
                hidden: place.hidden,
                watches: self.watches.as_ref(),
                recent: recent(now),
                links: false,
                told: None,
            };
            let above = Arc::clone(&above.rules);
            scanned = scan.run(vec![FolderToScan { path: path.into(), zone: Some(zone), above }]);
        }
        let mut new = Manifest { folders: std::mem::take(&mut scanned.folders).into_iter().collect() };
        let old = Manifest {
            folders: before.iter().filter_map(|path| manifest.folders.remove_entry(path)).collect(),
        };
        self.take_ignored(place, &mut new, &old, &mut scanned, false, now);
        let paths: BTreeSet<&Box<[u8]>> = old.folders.keys().chain(new.folders.keys()).collect();
        for path in paths {
            found.compare(path, old.folders.get(path), new.folders.get(path), &mut self.known);
        }
        self.several.extend(several_of(new.folders.iter()));
        self.coverage.join(scanned.coverage);
        manifest.folders.append(&mut new.folders);
    }

    /// What we did ourselves and was not met by the look: somebody may have taken it back since.
    fn settle(&mut self, place: &LookContext<'_>, found: &mut FoundChanges) {
        let Some(manifest) = &self.manifest else { return };
        for path in self.known.keys().cloned().collect::<Vec<_>>() {
            let (folder, name) = split(&path);
            let known = manifest.get(&path);
            let there = place.top.folder(folder).ok().and_then(|folder| folder.look(name).ok().flatten());
            // What is there and not known is not kept: whoever wrote it has said all there is to say.
            if known.is_some() || there.is_none_or(|seen| seen.is_folder()) {
                found.one(Zone::Work, &path, known, known, &mut self.known);
            }
        }
        self.known.clear();
    }

    fn take(&mut self, place: &LookContext<'_>, mut found: FoundChanges) {
        if !found.removed.is_empty() {
            found.removed.sort();
            let listed: String =
                found.removed.iter().map(|(path, name)| format!("{} {path}\n", written(name))).collect();
            let side = |text: &str| {
                let name = place.store.put_one(text.as_bytes()).unwrap_or_else(|_| name_of(text.as_bytes()));
                Some(Saved { mode: repository::FOLDER_MODE.to_owned(), blob: written(&name) })
            };
            let path = repository::OBJECTS_PATH.to_owned();
            found.changes.push(Change { path, before: side(&listed), after: side("") });
        }
        if !found.changes.is_empty() {
            self.version += 1;
            self.unsaved = true;
        }
        found.changes.sort_by(|a, b| a.path.cmp(&b.path));
        self.found.extend(found.changes);
    }
}

/// How much history is kept; only where something of it was reported.
fn history_bytes(manifest: &Manifest, reported: &Reported) -> u64 {
    if !reported.names.keys().any(|folder| folder.starts_with(repository::OBJECTS)) {
        return 0;
    }
    let folders = manifest.below(repository::OBJECTS);
    let held = folders.iter().filter_map(|folder| manifest.folders.get(folder));
    held.flat_map(|held| &held.files).map(|(_, known)| known.seen.bytes).sum()
}

fn several_of<'a>(folders: impl Iterator<Item = (&'a Box<[u8]>, &'a Held)>) -> BTreeSet<Box<[u8]>> {
    let mut several = BTreeSet::new();
    // What the repository has stored is named by what it holds: who writes one by another name breaks it for all.
    for (folder, held) in folders.filter(|(_, held)| held.zone != Zone::Objects) {
        let names = held.files.iter().filter(|(_, known)| known.seen.links > 1 && known.mode != Mode::Link);
        several.extend(names.map(|(name, _)| joined(folder, name)));
    }
    several
}

fn nanoseconds_now() -> i64 {
    let past = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(past.as_nanos()).unwrap_or(i64::MAX)
}

/// What counts as new at a time: clocks of file systems are coarse.
fn recent(now: i64) -> i64 {
    let fresh = Duration::from_millis(limits::FRESH_MS).as_nanos();
    now.saturating_sub(i64::try_from(fresh).unwrap_or(0))
}
