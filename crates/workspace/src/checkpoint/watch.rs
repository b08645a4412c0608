//! What the kernel reports about the folders of a workspace. Where it cannot, everything is looked at instead; this must
//! never miss a change silently.

use std::collections::BTreeMap;

/// Names in one folder, for each whether a folder came, went or changed there.
pub(crate) type ChangedNames = BTreeMap<Box<[u8]>, bool>;

/// Names in folders about which something was reported.
#[derive(Debug, Default)]
pub(crate) struct Reported {
    /// By folder.
    pub(crate) names: BTreeMap<Box<[u8]>, ChangedNames>,
    /// Why reports are missing, if so.
    pub(crate) missing: Option<&'static str>,
}

impl Reported {
    pub(crate) fn add(&mut self, folder: &[u8], name: &[u8], about_folder: bool) {
        if !self.names.contains_key(folder) {
            self.names.insert(folder.into(), ChangedNames::new());
        }
        if let Some(names) = self.names.get_mut(folder) {
            *names.entry(name.into()).or_default() |= about_folder;
        }
    }
}

#[cfg(target_os = "linux")]
pub(crate) use linux::Watches;

#[cfg(target_os = "linux")]
mod linux {
    use std::{
        collections::HashMap,
        os::fd::{AsRawFd, OwnedFd},
        sync::{Mutex, MutexGuard, PoisonError},
    };

    use rustix::{
        fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags},
        io::Errno,
    };

    use super::{super::folder::Folder, Reported};
    use crate::limits;

    const MASK: WatchFlags = WatchFlags::ATTRIB
        .union(WatchFlags::CLOSE_WRITE)
        .union(WatchFlags::MODIFY)
        .union(WatchFlags::CREATE)
        .union(WatchFlags::DELETE)
        .union(WatchFlags::MOVED_FROM)
        .union(WatchFlags::MOVED_TO)
        .union(WatchFlags::DELETE_SELF)
        .union(WatchFlags::MOVE_SELF)
        .union(WatchFlags::ONLYDIR);

    /// One watch a folder.
    #[derive(Debug)]
    pub(crate) struct Watches {
        /// None once it was given up.
        reports: Option<OwnedFd>,
        known: Mutex<KnownFile>,
    }

    #[derive(Debug, Default)]
    struct KnownFile {
        paths: HashMap<i32, Box<[u8]>>,
        numbers: HashMap<Box<[u8]>, i32>,
        failed: Option<&'static str>,
    }

    impl Watches {
        pub(crate) fn new() -> Option<Self> {
            let reports = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
            Some(Self { reports: Some(reports), known: Mutex::default() })
        }

        fn known(&self) -> MutexGuard<'_, KnownFile> {
            self.known.lock().unwrap_or_else(PoisonError::into_inner)
        }

        /// Watches a folder that is open: by what is open and not by its name, which may be another's by now.
        pub(crate) fn add(&self, path: &[u8], folder: &Folder) {
            let Some(reports) = &self.reports else { return };
            if self.known().failed.is_some() {
                return;
            }
            let place = format!("/proc/self/fd/{}", folder.fd.as_raw_fd());
            let added = inotify::add_watch(reports, place, MASK);
            let mut known = self.known();
            match added {
                Ok(number) => {
                    // A folder that was moved has its old number: it is not watched under its old name any more.
                    if let Some(before) = known.paths.insert(number, path.into()) {
                        known.numbers.remove(&before);
                    }
                    known.numbers.insert(path.into(), number);
                    if known.paths.len() > limits::WATCHES_MAX {
                        known.failed = Some("there are too many folders to watch");
                    }
                }
                Err(Errno::NOSPC) => known.failed = Some("the system has no more watches for us"),
                Err(_) => known.failed = Some("a folder could not be watched"),
            }
        }

        /// Watches a folder no more.
        pub(crate) fn forget(&self, path: &[u8]) {
            let mut known = self.known();
            if let Some(number) = known.numbers.remove(path) {
                known.paths.remove(&number);
                // One that is gone has none already.
                let _ = self.reports.as_ref().map(|reports| inotify::remove_watch(reports, number));
            }
        }

        /// Forgets all folders but these.
        pub(crate) fn retain(&self, stays: impl Fn(&[u8]) -> bool) {
            let gone: Vec<Box<[u8]>> =
                self.known().numbers.keys().filter(|path| !stays(path)).cloned().collect();
            gone.iter().for_each(|path| self.forget(path));
        }

        /// Why not everything is watched, if so.
        pub(crate) fn failed(&self) -> Option<&'static str> {
            self.known().failed
        }

        /// What was reported since the last time. Does not wait.
        pub(crate) fn read(&self) -> Reported {
            let mut found = Reported::default();
            let Some(reports) = &self.reports else { return found };
            let mut buffer = Vec::with_capacity(limits::REPORTS_BYTES);
            let mut reader = inotify::Reader::new(reports, buffer.spare_capacity_mut());
            let mut known = self.known();
            loop {
                let event = match reader.next() {
                    Ok(event) => event,
                    Err(Errno::INTR) => continue,
                    Err(Errno::AGAIN) => return found,
                    Err(_) => {
                        found.missing = Some("what was reported could not be read");
                        return found;
                    }
                };
                let what = event.events();
                if what.intersects(ReadFlags::QUEUE_OVERFLOW) {
                    found.missing = Some("more was changed at once than the system reports");
                    continue;
                }
                let Some(path) = known.paths.get(&event.wd()).cloned() else { continue };
                if what.intersects(ReadFlags::IGNORED) {
                    known.paths.remove(&event.wd());
                    if known.numbers.get(&path) == Some(&event.wd()) {
                        known.numbers.remove(&path);
                    }
                } else if what.intersects(ReadFlags::UNMOUNT) {
                    found.missing = Some("a file system was unmounted");
                } else if what.intersects(ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF) && path.is_empty() {
                    found.missing = Some("the workspace itself was moved");
                }
                if let Some(name) = event.file_name() {
                    found.add(&path, name.to_bytes(), what.intersects(ReadFlags::ISDIR));
                }
            }
        }
    }

    impl Drop for Watches {
        fn drop(&mut self) {
            let Some(reports) = self.reports.take() else { return };
            // Letting go of them takes the kernel a while. This process cannot end before that, another one can wait.
            if let Err(reports) = posse_sandbox::close_elsewhere(reports) {
                let _ = std::thread::Builder::new().name("posse-watches".into()).spawn(move || drop(reports));
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::Watches;

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::{super::folder::Folder, Reported};

    /// There are none here.
    #[derive(Debug)]
    pub(crate) enum Watches {}

    impl Watches {
        pub(crate) fn new() -> Option<Self> {
            None
        }

        pub(crate) fn add(&self, _path: &[u8], _folder: &Folder) {}

        pub(crate) fn forget(&self, _path: &[u8]) {}

        pub(crate) fn retain(&self, _stays: impl Fn(&[u8]) -> bool) {}

        pub(crate) fn failed(&self) -> Option<&'static str> {
            None
        }

        pub(crate) fn read(&self) -> Reported {
            Reported::default()
        }
    }
}
