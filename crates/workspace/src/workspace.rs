//! The workspace: one folder, and the only way to the files in it.

use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use posse_protocol::PathRules;

#[cfg(target_os = "linux")]
use crate::beneath::Beneath;
use crate::{
    Entry, Kind, Mode, Stamp, WorkspaceError, WorkspacePath,
    checked::CheckedFolder,
    expect::{Expect, Written, must_be_file},
    guard::{Hides, Permit, WriteGuard, is_of_git},
    limits,
    locks::Locks,
    places::Places,
};

/// One folder. Cheap to clone; all clones are the same folder, even if it is renamed meanwhile.
#[derive(Clone, Debug)]
pub struct Workspace {
    inner: Arc<Inner>,
    /// Where this clone may write.
    guard: Arc<WriteGuard>,
}

#[derive(Debug)]
struct Inner {
    /// As it was given, made absolute: models may repeat it.
    given: PathBuf,
    /// Without links.
    real: PathBuf,
    access: Access,
    /// Held during every write: a check and the rename after it are one step for all writers of this process. The same
    /// for every opening of the folder.
    writing: Arc<Mutex<()>>,
}

static WRITING: Locks<Mutex<()>> = Locks::new();

/// How files are reached.
#[derive(Debug)]
enum Access {
    /// The kernel itself refuses to leave the folder.
    #[cfg(target_os = "linux")]
    Beneath(Beneath),
    /// Links are resolved and checked first. A link swapped in that very moment could be missed.
    Checked(CheckedFolder),
}

impl Access {
    fn open(real: &Path) -> std::io::Result<Self> {
        #[cfg(target_os = "linux")]
        if let Some(beneath) = Beneath::open(real)? {
            return Ok(Self::Beneath(beneath));
        }
        Ok(Self::Checked(CheckedFolder::new(real.to_owned())))
    }
}

/// A regular file, open for reading.
#[derive(Debug)]
pub struct OpenFile {
    /// The file.
    pub file: File,
    /// What it is now.
    pub stamp: Stamp,
}

impl OpenFile {
    fn of(path: &WorkspacePath, file: File) -> Result<Self, WorkspaceError> {
        let metadata = file.metadata().map_err(|source| WorkspaceError::from_io(path.as_str(), source))?;
        must_be_file(path, Kind::of(&metadata))?;
        Ok(Self { file, stamp: Stamp::of(&metadata) })
    }
}

impl Workspace {
    /// Opens a folder as a workspace.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, WorkspaceError> {
        let path = path.as_ref();
        let shown = path.display().to_string();
        let failed = |source| WorkspaceError::from_io(&shown, source);
        let given = std::path::absolute(path).map_err(failed)?;
        let real = path.canonicalize().map_err(failed)?;
        if !real.is_dir() {
            return Err(WorkspaceError::NotAFolder { path: shown });
        }
        let access = Access::open(&real).map_err(failed)?;
        let writing = WRITING.of(&real);
        let guard = WriteGuard { places: Arc::new(Places::of(&real)), ..WriteGuard::default() };
        let inner = Arc::new(Inner { given, real, access, writing });
        Ok(Self { inner, guard: Arc::new(guard) })
    }

    /// The same folder, but writes outside these rules are refused, whatever links lead there. Narrows what is there:
    /// rules given before hold as well. An exception that is a link, or behind one, is one for what it leads to, too.
    pub fn limited_to(&self, mut rules: PathRules) -> Self {
        let mut guard = WriteGuard::clone(&self.guard);
        let real: Vec<String> = rules
            .except
            .iter()
            .filter_map(|except| self.real_inside(&self.root().join(except)))
            .map(|place| place.to_string_lossy().into_owned())
            .collect();
        rules.except.extend(real);
        guard.rules.push(rules);
        Self { inner: Arc::clone(&self.inner), guard: Arc::new(guard) }
    }

    /// The same folder, but these places in it, given absolute and there or not, are neither read nor written nor found.
    pub fn hiding(&self, places: &[PathBuf]) -> Self {
        let mut guard = WriteGuard::clone(&self.guard);
        guard.hidden.extend(places.iter().filter_map(|place| self.real_inside(place)));
        Self { inner: Arc::clone(&self.inner), guard: Arc::new(guard) }
    }

    /// Where an absolute path, there or not, really leads, relative to the folder; none if that is outside, or the folder.
    fn real_inside(&self, place: &Path) -> Option<PathBuf> {
        let real = existing_part(place)?;
        let inside: PathBuf = real.strip_prefix(self.root()).ok()?.components().collect();
        (!inside.as_os_str().is_empty()).then_some(inside)
    }

    /// The same folder, in which this much may be written although it is protected.
    pub fn permitting(&self, permit: Permit) -> Self {
        let guard = WriteGuard { permit, ..WriteGuard::clone(&self.guard) };
        Self { inner: Arc::clone(&self.inner), guard: Arc::new(guard) }
    }

    /// Removes what commands that were killed with everything else have left in the folder.
    pub fn clear_placeholders(&self) {
        posse_sandbox::clear_placeholders(self.root());
    }

    /// What is there that other programs act on by themselves, and what git's configuration and links at such names lead
    /// to, there or not; relative to the folder. Looks through the folder the first time it is asked.
    pub fn protected_places(&self) -> Vec<PathBuf> {
        self.guard.places.guarded().places.clone()
    }

    /// The program that would act by itself on what is written at a path: as it was asked for, where it really leads, or
    /// by making its folder a repository. A person has to be asked first.
    pub fn protected(&self, path: &WorkspacePath) -> Option<&'static str> {
        let real = self.real_path(path);
        let place = real.as_deref().and_then(|real| real.strip_prefix(self.root()).ok());
        let place = place.unwrap_or(path.as_path());
        let by_name = self.guard.protected(path.as_path()).or_else(|| self.guard.protected(place));
        by_name.or_else(|| self.completes_repository(place).then_some("Git"))
    }

    /// The same for a link that is put there as it is, which can also lead a program away from where its names are known.
    pub fn protected_link(&self, path: &WorkspacePath) -> Option<&'static str> {
        self.protected(path).or_else(|| self.misled(path.as_path(), Path::new("")))
    }

    /// The program that would act by itself on what somebody has put at each of these paths, as it is there. Unlike what file
    /// tools are kept from, this leaves out what every commit writes.
    pub fn acted_on<'a>(&self, paths: impl IntoIterator<Item = &'a Path>) -> Vec<Option<&'static str>> {
        let guarded = self.guard.places.guarded();
        let there = |path: &Path| self.root().join(path).symlink_metadata().is_ok();
        let acts = |path: &'a Path| {
            let link = || {
                let says = std::fs::read_link(self.root().join(path)).ok()?;
                guarded.protected.misled(path, &says, || self.leads_to_file(path, &says))
            };
            let repository =
                || (!is_of_git(path) && self.completes_repository(path) && there(path)).then_some("Git");
            guarded.protected.by(path).or_else(link).or_else(repository)
        };
        paths.into_iter().map(acts).collect()
    }

    fn leads_to_file(&self, link: &Path, says: &Path) -> bool {
        self.root().join(link.parent().unwrap_or(link)).join(says).is_file()
    }

    /// The program that a link would lead to what is not protected where it is.
    fn misled(&self, link: &Path, says: &Path) -> Option<&'static str> {
        self.guard.places.guarded().protected.misled(link, says, || self.leads_to_file(link, says))
    }

    /// Refuses such a link, unless a person has said yes to it.
    fn must_not_mislead(&self, path: &WorkspacePath, entry: &Entry) -> Result<(), WorkspaceError> {
        let says = String::from_utf8_lossy(&entry.bytes);
        let misled = || self.misled(path.as_path(), Path::new(&*says));
        match if entry.mode == Mode::Link { misled() } else { None } {
            Some(program) if !self.guard.permits(|permitted| permitted == path.as_path()) => {
                Err(WorkspaceError::Protected { path: path.to_string(), program: program.to_owned() })
            }
            _ => Ok(()),
        }
    }

    fn completes_repository(&self, place: &Path) -> bool {
        posse_sandbox::completes_repository(place, |part| self.root().join(part).symlink_metadata().is_ok())
    }

    /// Refuses what would make its folder a repository, unless a person has said yes to it.
    fn must_not_complete_repository(&self, path: &WorkspacePath) -> Result<(), WorkspaceError> {
        let place = self.place(path).unwrap_or_else(|_| path.clone());
        if self.completes_repository(place.as_path())
            && !self.guard.permits(|permitted| permitted == place.as_path())
        {
            let (path, program) = (path.to_string(), "Git".to_owned());
            return Err(WorkspaceError::Protected { path, program });
        }
        Ok(())
    }

    /// The same folder, but places in it that `hides` knows, by their absolute path, are neither read nor written nor found,
    /// also those that appear later.
    pub fn hiding_where(&self, hides: Option<Hides>) -> Self {
        let (mut guard, root) = (WriteGuard::clone(&self.guard), self.root().to_path_buf());
        guard.hidden_by = hides.map(|hides| Hides::new(move |inside| hides.holds(&root.join(inside))));
        Self { inner: Arc::clone(&self.inner), guard: Arc::new(guard) }
    }

    /// Whether a walk passes over an entry.
    pub(crate) fn hides(&self, inside: &Path) -> bool {
        self.guard.hides(inside)
    }

    /// Refuses what links lead to a place that is not for agents.
    /// Whether a path is hidden, by its name alone: also one that is not there.
    pub fn hides_path(&self, path: &WorkspacePath) -> bool {
        self.guard.must_be_seen(path, path.as_path()).is_err()
    }

    fn must_be_seen(&self, path: &WorkspacePath) -> Result<(), WorkspaceError> {
        if !self.guard.hides_anything() {
            return Ok(());
        }
        self.guard.must_be_seen(path, path.as_path())?;
        let real = self.real_path(path);
        match real.as_deref().and_then(|real| real.strip_prefix(self.root()).ok()) {
            Some(place) => self.guard.must_be_seen(path, place),
            None => self.guard.must_be_seen(path, path.as_path()),
        }
    }

    /// The folder, without links.
    pub fn root(&self) -> &Path {
        &self.inner.real
    }

    /// Reads a path as a model writes it: relative, or absolute within the folder.
    pub fn resolve(&self, written: &str) -> Result<WorkspacePath, WorkspaceError> {
        WorkspacePath::parse(written, &[&self.inner.given, &self.inner.real])
    }

    /// Opens a regular file. Anything else is refused without waiting for it.
    pub fn open_file(&self, path: &WorkspacePath) -> Result<OpenFile, WorkspaceError> {
        self.must_be_seen(path)?;
        let file = match &self.inner.access {
            #[cfg(target_os = "linux")]
            Access::Beneath(beneath) => beneath.read(path),
            Access::Checked(checked) => checked.read(path),
        }?;
        OpenFile::of(path, file)
    }

    /// The same for what a walk has just found to be a regular file: no link leads there, so it is not looked at before it
    /// is opened, and its path is its real place, which the walk has seen not to be hidden.
    pub(crate) fn open_found(&self, path: &WorkspacePath) -> Result<OpenFile, WorkspaceError> {
        match &self.inner.access {
            #[cfg(target_os = "linux")]
            Access::Beneath(beneath) => OpenFile::of(path, beneath.read_found(path)?),
            Access::Checked(_) => self.open_file(path),
        }
    }

    /// Reads a whole file of at most `bytes_max`.
    pub fn read(&self, path: &WorkspacePath, bytes_max: u64) -> Result<(Vec<u8>, Stamp), WorkspaceError> {
        let OpenFile { file, stamp } = self.open_file(path)?;
        let too_large = |bytes| WorkspaceError::TooLarge { path: path.to_string(), bytes, bytes_max };
        if stamp.bytes() > bytes_max {
            return Err(too_large(stamp.bytes()));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(stamp.bytes()).unwrap_or(0));
        // Files of /proc and growing files are longer than they say.
        let read = file.take(bytes_max.saturating_add(1)).read_to_end(&mut bytes);
        read.map_err(|source| WorkspaceError::from_io(path.as_str(), source))?;
        if bytes.len() as u64 > bytes_max {
            return Err(too_large(bytes.len() as u64));
        }
        Ok((bytes, stamp))
    }

    /// Reads a whole regular file of at most `bytes_max` without waiting for anything: it is in memory. `None` where that
    /// is not so, or where anything is wrong; [`Self::open_file`] tells what.
    pub fn read_cached(&self, path: &WorkspacePath, bytes_max: usize) -> Option<(Vec<u8>, Stamp)> {
        match &self.inner.access {
            #[cfg(target_os = "linux")]
            Access::Beneath(beneath) => {
                let hides = self.guard.hides_anything();
                if hides && self.guard.hides(path.as_path()) {
                    return None;
                }
                let read = beneath.read_cached(path, bytes_max, hides)?;
                // A link must not lead to what is hidden.
                if let Some(real) = read.real
                    && self.guard.hides(real.strip_prefix(self.root()).ok()?)
                {
                    return None;
                }
                Some((read.bytes, Stamp::of(&read.metadata)))
            }
            Access::Checked(_) => None,
        }
    }

    /// What a path leads to, links followed; `None` if nothing is there.
    pub fn look(&self, path: &WorkspacePath) -> Result<Option<(Kind, Stamp)>, WorkspaceError> {
        self.must_be_seen(path)?;
        let metadata = match &self.inner.access {
            #[cfg(target_os = "linux")]
            Access::Beneath(beneath) => beneath.metadata(path),
            Access::Checked(checked) => checked.metadata(path),
        };
        match metadata {
            Ok(metadata) => Ok(Some((Kind::of(&metadata), Stamp::of(&metadata)))),
            Err(WorkspaceError::Missing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether what is at a path can be run: an executable file, or a link, which can lead to one.
    pub fn can_be_run(&self, path: &str) -> bool {
        let found = std::fs::symlink_metadata(self.root().join(path)).ok();
        found.and_then(|found| Mode::of(&found)).is_some_and(|mode| mode != Mode::File)
    }

    /// Writes a whole file so that a reader sees the old or the new one, never a part. Keeps mode and owner, makes
    /// missing folders, writes the target of a link within the workspace.
    pub fn write_atomic(
        &self,
        path: &WorkspacePath,
        bytes: &[u8],
        expect: Expect,
    ) -> Result<Written, WorkspaceError> {
        if path.is_root() {
            return Err(WorkspaceError::NotAFile { path: path.to_string(), kind: Kind::Folder });
        }
        self.must_be_seen(path)?;
        self.guard.must_not_be_protected(path, path.as_path())?;
        let _writing = self.writing();
        self.must_not_complete_repository(path)?;
        match &self.inner.access {
            #[cfg(target_os = "linux")]
            Access::Beneath(beneath) => beneath.write(path, bytes, expect, &self.guard),
            Access::Checked(checked) => checked.write(path, bytes, expect, &self.guard),
        }
    }

    /// Where a path really leads, all links followed, to show it to a person; it may be outside, and nothing need be
    /// there. `None` if links lead in circles.
    pub fn real_path(&self, path: &WorkspacePath) -> Option<PathBuf> {
        let mut place = self.root().join(path.as_path());
        for _ in 0..limits::REAL_PATH_LINKS_MAX {
            if let Ok(real) = place.canonicalize() {
                return Some(real);
            }
            // Not all of it is there: the part that is may still be reached through links.
            let parent = place.parent()?.to_owned();
            let name = place.file_name()?.to_owned();
            match std::fs::read_link(&place) {
                Ok(target) => place = parent.join(target),
                Err(_) => return existing_part(&parent).map(|real| real.join(name)),
            }
        }
        None
    }

    /// Where in the workspace a path really leads.
    pub fn place(&self, path: &WorkspacePath) -> Result<WorkspacePath, WorkspaceError> {
        let real = self.real_path(path).ok_or_else(|| WorkspaceError::LinkLoop { path: path.to_string() })?;
        let inside = real.strip_prefix(self.root()).map(WorkspacePath::from_walk);
        inside.map_err(|_| WorkspaceError::LinkOutside { path: path.to_string() })
    }

    /// The file or link that is exactly at this path, no link followed on the way; `None` if nothing is there.
    pub fn entry(
        &self,
        path: &WorkspacePath,
        bytes_max: u64,
    ) -> Result<Option<(Entry, Stamp)>, WorkspaceError> {
        match &self.inner.access {
            #[cfg(target_os = "linux")]
            Access::Beneath(beneath) => beneath.entry(path, bytes_max),
            Access::Checked(checked) => checked.entry(path, bytes_max),
        }
    }

    /// What is exactly at this path: a file, a program or a link; `None` if nothing is.
    pub fn mode(&self, path: &WorkspacePath) -> Result<Option<Mode>, WorkspaceError> {
        match std::fs::symlink_metadata(self.root().join(path.as_path())) {
            Ok(metadata) => Ok(Mode::of(&metadata)),
            Err(error) => match WorkspaceError::from_io(path.as_str(), error) {
                WorkspaceError::Missing { .. } => Ok(None),
                error => Err(error),
            },
        }
    }

    /// Keeps every other writer of this process out until it is dropped.
    pub(crate) fn writing(&self) -> MutexGuard<'_, ()> {
        self.inner.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a file or link exactly at this path, or removes what is there and the folders that are empty then. No link
    /// is followed. The caller holds [`Self::writing`].
    pub(crate) fn put(
        &self,
        path: &WorkspacePath,
        entry: Option<&Entry>,
        expect: Expect,
        synced: bool,
    ) -> Result<(), WorkspaceError> {
        self.must_be_puttable(path, entry)?;
        self.put_unguarded(path, entry, expect, synced)
    }

    /// Refuses what [`Self::put`] would not write, whatever is there.
    pub(crate) fn must_be_puttable(
        &self,
        path: &WorkspacePath,
        entry: Option<&Entry>,
    ) -> Result<(), WorkspaceError> {
        if path.is_root() {
            return Err(WorkspaceError::NotAFile { path: path.to_string(), kind: Kind::Folder });
        }
        self.guard.must_be_writable(path, path.as_path())?;
        if let Some(entry) = entry {
            self.must_not_mislead(path, entry)?;
            self.must_not_complete_repository(path)?;
        }
        Ok(())
    }

    /// The same for a path that the caller has made sure of.
    pub(crate) fn put_unguarded(
        &self,
        path: &WorkspacePath,
        entry: Option<&Entry>,
        expect: Expect,
        synced: bool,
    ) -> Result<(), WorkspaceError> {
        match (&self.inner.access, entry) {
            #[cfg(target_os = "linux")]
            (Access::Beneath(beneath), Some(entry)) => beneath.put(path, entry, expect, synced),
            #[cfg(target_os = "linux")]
            (Access::Beneath(beneath), None) => beneath.remove(path, expect),
            (Access::Checked(checked), Some(entry)) => checked.put(path, entry, expect),
            (Access::Checked(checked), None) => checked.remove(path, expect),
        }
    }

    /// Brings what was put without being synced to the disk.
    pub(crate) fn sync(&self) {
        match &self.inner.access {
            #[cfg(target_os = "linux")]
            Access::Beneath(beneath) => beneath.sync(),
            // There every write is synced.
            Access::Checked(_) => {}
        }
    }

    /// A folder's real place relative to the workspace, for walks.
    pub(crate) fn folder(&self, path: &WorkspacePath) -> Result<PathBuf, WorkspaceError> {
        match self.look(path)? {
            None => return Err(WorkspaceError::Missing { path: path.to_string() }),
            Some((Kind::Folder, _)) => {}
            Some(_) => return Err(WorkspaceError::NotAFolder { path: path.to_string() }),
        }
        let real = self.root().join(path.as_path()).canonicalize();
        let real = real.map_err(|source| WorkspaceError::from_io(path.as_str(), source))?;
        let inside = real.strip_prefix(self.root()).map(Path::to_owned);
        inside.map_err(|_| WorkspaceError::LinkOutside { path: path.to_string() })
    }
}

/// The real place of what is there of a path, with what is not there after it.
fn existing_part(path: &Path) -> Option<PathBuf> {
    for part in path.ancestors() {
        if let Ok(real) = part.canonicalize() {
            return path.strip_prefix(part).ok().map(|rest| real.join(rest));
        }
    }
    None
}
