//! One lock per folder in this process, however often it is opened.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, Weak},
};

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
