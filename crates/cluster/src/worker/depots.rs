//! Where agents work on a worker: one depot for each repository, opened when it is first needed. All of them together take so much room;
//! what was not used for longest goes first.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use posse_workspace::bundle::Depot;
use tokio::sync::Mutex;

use crate::limits;

/// What is on its way, and what goes.
const PASSING: &str = "passing";
/// In each depot: when it was used last.
const USED: &str = "used";

/// How long work stays at least that nobody has fetched.
fn left_work_max() -> Duration {
    Duration::from_millis(limits::LEFT_WORK_MS_MAX)
}

pub(crate) struct Depots {
    folder: PathBuf,
    bytes_max: u64,
    open: Mutex<HashMap<String, Arc<Depot>>>,
    /// When the room was looked at last.
    looked: Mutex<Option<Instant>>,
    /// How large those are that nobody has used since that was looked at.
    sizes: std::sync::Mutex<HashMap<String, u64>>,
    /// Whether there is too little room, whatever went.
    full: AtomicBool,
    /// Counts depots that went.
    gone: AtomicU64,
}

/// A depot on the disk.
struct FoundDepot {
    name: String,
    bytes: u64,
    used: SystemTime,
    /// If anybody works in it.
    at_work: Option<Arc<Depot>>,
}

impl Depots {
    /// One process at a time uses the folder, so what was on its way there is of no use.
    pub(crate) fn new(folder: PathBuf, bytes_max: u64) -> Self {
        let _ = std::fs::remove_dir_all(folder.join(PASSING));
        let (open, looked, sizes) = (Mutex::default(), Mutex::default(), std::sync::Mutex::default());
        Self { folder, bytes_max, open, looked, sizes, full: AtomicBool::new(false), gone: AtomicU64::new(0) }
    }

    /// The depot of a repository, by the name that home gives it.
    pub(crate) async fn depot(&self, repository: &str, sha256: bool) -> Result<Arc<Depot>, String> {
        if !is_name(repository) {
            return Err("the repository has no name".to_owned());
        }
        // The two kinds have nothing in common.
        let name = format!("{repository}-{}", if sha256 { "sha256" } else { "sha1" });
        self.named(&name, sha256, true).await
    }

    async fn named(&self, name: &str, sha256: bool, uses: bool) -> Result<Arc<Depot>, String> {
        let mut open = self.open.lock().await;
        let depot = match open.get(name) {
            Some(depot) => Arc::clone(depot),
            None => {
                if open.len() >= limits::DEPOTS_OPEN_MAX {
                    // Those that nobody works on are opened again when they are needed.
                    open.retain(|_, depot| Arc::strong_count(depot) > 1);
                }
                if open.len() >= limits::DEPOTS_OPEN_MAX {
                    return Err("too many repositories are in use here".to_owned());
                }
                let depot = Depot::open(&self.folder.join(name), sha256).await;
                let depot = Arc::new(depot.map_err(|error| error.to_string())?);
                open.insert(name.to_owned(), Arc::clone(&depot));
                depot
            }
        };
        if uses {
            self.sizes().remove(name);
            let used = std::fs::File::create(depot.folder().join(USED));
            let _ = used.and_then(|file| file.set_modified(SystemTime::now()));
        }
        Ok(depot)
    }

    fn sizes(&self) -> std::sync::MutexGuard<'_, HashMap<String, u64>> {
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Commits of a repository that are here already. Looking makes none.
    pub(crate) async fn commits(&self, repository: &str) -> Vec<String> {
        if !is_name(repository) {
            return Vec::new();
        }
        for sha256 in [false, true] {
            let kind = if sha256 { "sha256" } else { "sha1" };
            if self.folder.join(format!("{repository}-{kind}")).is_dir()
                && let Ok(depot) = self.depot(repository, sha256).await
            {
                return depot.has().await.unwrap_or_default();
            }
        }
        Vec::new()
    }

    /// Whether all that is here takes more room than it may, although everything went that nobody needs.
    pub(crate) fn is_full(&self) -> bool {
        self.full.load(Ordering::Acquire)
    }

    /// Makes room if there is too little, when an agent begins and when it has ended; but does not look all the time.
    pub(crate) async fn tidy(&self) {
        // Whoever looks now does it for others, too.
        let Ok(mut looked) = self.looked.try_lock() else { return };
        let look = Duration::from_millis(limits::ROOM_LOOK_MS);
        if !self.is_full() && looked.is_some_and(|at| at.elapsed() < look) {
            return;
        }
        self.make_room().await;
        *looked = Some(Instant::now());
    }

    async fn make_room(&self) {
        let mut found = self.look().await;
        found.sort_by_key(|depot| (depot.at_work.is_some(), depot.used));
        let mut sum: u64 = found.iter().map(|depot| depot.bytes).sum();
        for depot in &found {
            let over = sum.saturating_sub(self.bytes_max);
            if over == 0 {
                break;
            }
            let keep = depot.bytes.saturating_sub(over);
            let left = match &depot.at_work {
                Some(at_work) => pruned(at_work, keep).await,
                None => self.shrink(depot, keep).await,
            };
            match left {
                Ok(bytes) => sum = sum.saturating_sub(depot.bytes).saturating_add(bytes),
                Err(why) => tracing::warn!(depot.name, why, "a repository here could not be made smaller"),
            }
        }
        let is_full = sum > self.bytes_max;
        if is_full && !self.full.swap(is_full, Ordering::AcqRel) {
            let max = self.bytes_max;
            tracing::warn!(sum, max, "repositories here take too much room; agents wait for those at work");
        }
        self.full.store(is_full, Ordering::Release);
    }

    /// All depots on the disk, and how large they are.
    async fn look(&self) -> Vec<FoundDepot> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            if kind_of(&name).is_none() {
                continue;
            }
            let path = entry.path();
            let at_work =
                self.open.lock().await.get(&name).filter(|depot| Arc::strong_count(depot) > 1).cloned();
            let known = self.sizes().get(&name).copied().filter(|_| at_work.is_none());
            let bytes = match known {
                Some(bytes) => bytes,
                None => Depot::size_of(&path).await.unwrap_or(0),
            };
            if at_work.is_none() {
                self.sizes().insert(name.clone(), bytes);
            }
            found.push(FoundDepot { name, bytes, used: used_at(&path), at_work });
        }
        found
    }

    /// Makes a depot smaller that nobody works in, or removes it, unless it holds work that nobody has fetched. Says how large it is
    /// then.
    async fn shrink(&self, found: &FoundDepot, keep_bytes: u64) -> Result<u64, String> {
        let sha256 = kind_of(&found.name).unwrap_or_default();
        let opened = match self.named(&found.name, sha256, false).await {
            Ok(depot) => {
                let bytes = pruned(&depot, keep_bytes).await?;
                self.sizes().insert(found.name.clone(), bytes);
                let has_work = depot.has_work().await.map_err(|error| error.to_string())?;
                if bytes <= keep_bytes || has_work {
                    return Ok(bytes);
                }
                Some(depot)
            }
            // What cannot be opened holds nothing for ever.
            Err(_) if found.used.elapsed().is_ok_and(|past| past > left_work_max()) => None,
            Err(why) => return Err(why),
        };
        self.remove(&found.name, opened).await.map(|removed| if removed { 0 } else { found.bytes })
    }

    /// Removes a depot, unless somebody works in it by now.
    async fn remove(&self, name: &str, opened: Option<Arc<Depot>>) -> Result<bool, String> {
        let mut open = self.open.lock().await;
        drop(opened);
        if open.get(name).is_some_and(|depot| Arc::strong_count(depot) > 1) {
            return Ok(false);
        }
        open.remove(name);
        let number = self.gone.fetch_add(1, Ordering::Relaxed);
        let gone = self.passing_file(&format!("gone-{number}"))?;
        std::fs::rename(self.folder.join(name), &gone).map_err(|error| error.to_string())?;
        self.sizes().remove(name);
        drop(open);
        tracing::info!(name, "a repository that was not used for long has gone, to make room");
        Depot::erase(&gone).await.map_err(|error| error.to_string())?;
        Ok(true)
    }

    /// A file for something on its way.
    pub(crate) fn passing_file(&self, name: &str) -> Result<PathBuf, String> {
        let folder = self.folder.join(PASSING);
        std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        Ok(folder.join(name))
    }
}

/// Makes a depot smaller, and says how large it is then.
async fn pruned(depot: &Depot, keep_bytes: u64) -> Result<u64, String> {
    depot.forget_work(left_work_max()).await.map_err(|error| error.to_string())?;
    depot.prune(keep_bytes).await.map_err(|error| error.to_string())
}

/// Whether a home can have named a repository so. It becomes the name of a folder.
fn is_name(repository: &str) -> bool {
    (1..=limits::NAME_BYTES_MAX).contains(&repository.len())
        && repository.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a depot of this name has commits with the longer names; none if it is not the name of one.
fn kind_of(name: &str) -> Option<bool> {
    match name.rsplit_once('-')? {
        (repository, "sha1") if is_name(repository) => Some(false),
        (repository, "sha256") if is_name(repository) => Some(true),
        _ => None,
    }
}

/// When a depot was used last.
fn used_at(folder: &Path) -> SystemTime {
    let used = std::fs::metadata(folder.join(USED)).or_else(|_| std::fs::metadata(folder));
    used.and_then(|found| found.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, clippy::unwrap_used)]

    use super::*;

    const BYTES: usize = 1 << 20;

    /// A depot with a file of a mebibyte, used so many seconds after the first one.
    async fn depot(depots: &Depots, name: &str, after: u64) -> PathBuf {
        let depot = depots.depot(name, false).await.unwrap();
        std::fs::write(depot.folder().join("repository/large"), vec![7; BYTES]).unwrap();
        let at = SystemTime::now() - Duration::from_secs(1_000 - after);
        std::fs::File::open(depot.folder().join(USED)).unwrap().set_modified(at).unwrap();
        depot.folder().to_owned()
    }

    /// Work that nobody has fetched.
    fn work(depot: &Path) {
        let repository = depot.join("repository");
        let fixture = posse_testkit::Fixture::new().git();
        let git = |words: &[&str]| {
            let at = ["-C", repository.to_str().unwrap()];
            fixture.run_git(&[&at[..], words].concat()).trim().to_owned()
        };
        let tree = git(&["hash-object", "-t", "tree", "-w", "/dev/null"]);
        let commit = git(&["commit-tree", "-m", "work", &tree]);
        git(&["update-ref", "refs/posse/results/one", &commit]);
    }

    #[tokio::test]
    async fn what_was_not_used_for_longest_goes_and_work_stays() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join(PASSING)).unwrap();
        std::fs::write(folder.path().join(PASSING).join("half"), "half").unwrap();
        // So much as three of them take, and of a fourth all but the large file.
        let depots = Depots::new(folder.path().to_owned(), 7 * BYTES as u64 / 2);
        assert!(!folder.path().join(PASSING).exists(), "nothing of a former process is on its way");
        let a = depot(&depots, "aa", 1).await;
        let b = depot(&depots, "bb", 2).await;
        let c = depot(&depots, "cc", 3).await;
        work(&a);
        depots.make_room().await;
        assert!(a.exists() && b.exists() && c.exists() && !depots.is_full());
        let d = depot(&depots, "dd", 4).await;
        let at_work = depots.depot("cc", false).await.unwrap();
        depots.make_room().await;
        assert!(a.exists() && !b.exists() && c.exists() && d.exists(), "it holds no work");
        assert!(!depots.is_full());
        // Another process has opened none of them.
        drop((at_work, depots));
        let depots = Depots::new(folder.path().to_owned(), BYTES as u64 / 2);
        depots.make_room().await;
        assert!(a.exists() && !c.exists() && !d.exists() && depots.is_full());
        let long = SystemTime::now() - left_work_max() - Duration::from_secs(1);
        std::fs::File::open(a.join("results/one")).unwrap().set_modified(long).unwrap();
        depots.make_room().await;
        assert!(!a.exists() && !depots.is_full(), "nobody has fetched it for long");
        assert_eq!(std::fs::read_dir(folder.path().join(PASSING)).unwrap().count(), 0);
    }
}
