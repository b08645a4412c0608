//! One lock per folder in this process, however often it is opened, and work that is done once for all who wait for it.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use crate::WorkspaceError;

/// Locks by the real place of what they are for; gone when nobody holds them any more.
pub(crate) struct Locks<T>(Mutex<Option<HashMap<PathBuf, Weak<T>>>>);

impl<T: Default> Locks<T> {
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// The lock for a place: the same one for everybody who asks.
    pub(crate) fn of(&self, place: &Path) -> Arc<T> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_default();
        if let Some(lock) = known.get(place).and_then(Weak::upgrade) {
            return lock;
        }
        known.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::new(T::default());
        known.insert(place.to_owned(), Arc::downgrade(&lock));
        lock
    }
}

/// Work that several ask for at the same time: one that begins after somebody has come is for them, too.
pub(crate) struct Together<T> {
    /// How many have come.
    came: AtomicU64,
    /// What was done last, and for how many of them.
    done: tokio::sync::Mutex<Option<(u64, Arc<T>)>>,
}

impl<T> Default for Together<T> {
    fn default() -> Self {
        Self { came: AtomicU64::new(0), done: tokio::sync::Mutex::new(None) }
    }
}

impl<T> Together<T> {
    /// What came of work that began after this was called. Work that fails, fails for the one who does it.
    pub(crate) async fn share(
        &self,
        work: impl Future<Output = Result<T, WorkspaceError>>,
    ) -> Result<Arc<T>, WorkspaceError> {
        let place = self.came.fetch_add(1, Ordering::SeqCst) + 1;
        let mut done = self.done.lock().await;
        if let Some((last, shared)) = &*done
            && *last >= place
        {
            return Ok(Arc::clone(shared));
        }
        let last = self.came.load(Ordering::SeqCst);
        let shared = Arc::new(work.await?);
        *done = Some((last, Arc::clone(&shared)));
        Ok(shared)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn work_is_shared_by_those_who_came_before_it_began() {
        let (together, begun) = (Arc::new(Together::<u64>::default()), Arc::new(AtomicU64::new(0)));
        let ask = || {
            let (together, begun) = (Arc::clone(&together), Arc::clone(&begun));
            tokio::spawn(async move {
                let work = async {
                    let number = begun.fetch_add(1, Ordering::SeqCst) + 1;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    if number == 3 { Err(WorkspaceError::Stopped) } else { Ok(number) }
                };
                together.share(work).await.map(|shared| *shared).ok()
            })
        };
        let first = ask();
        tokio::time::sleep(Duration::from_millis(10)).await;
        let second = [ask(), ask(), ask()];
        assert_eq!(first.await.unwrap(), Some(1));
        for asked in second {
            assert_eq!(asked.await.unwrap(), Some(2));
        }
        // One that fails does so for nobody else, and one that was called off leaves the others theirs.
        let (failing, third, fourth) = (ask(), ask(), ask());
        assert_eq!(failing.await.unwrap(), None);
        tokio::time::sleep(Duration::from_millis(10)).await;
        third.abort();
        assert!(third.await.is_err());
        assert_eq!(fourth.await.unwrap(), Some(5));
    }
}
