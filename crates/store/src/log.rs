//! The write-ahead log: how long it is, and when what is in it goes into the database. SQLite would do that inside the
//! commit that makes it too long; here it is done beside the writer, which goes on meanwhile. It must not know the
//! tables.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};

use rusqlite::hooks::Wal;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, MAIN_DB};

use crate::{connection, limits};

/// Watches the log of the writer's connection.
pub(crate) struct WalLog {
    path: PathBuf,
    /// How many pages it had after the last commit.
    pages: Arc<AtomicI32>,
    /// How many it had when they were last to go into the database. A reader may have held some of them back.
    asked: i32,
    /// Started when the log first gets long, which in most sessions it never does; ends with the writer.
    helper: Option<Helper>,
}

/// The thread that moves pages from the log into the database, and the way to wake it.
struct Helper {
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl WalLog {
    pub(crate) fn watch(connection: &mut Connection, path: &Path) -> rusqlite::Result<Self> {
        let pages = Arc::new(AtomicI32::new(0));
        let counter = Arc::clone(&pages);
        connection.wal_hook(Some(move |_: &mut Wal, count| {
            counter.store(count, Ordering::Relaxed);
            Ok(())
        }))?;
        Ok(Self { path: path.to_path_buf(), pages, asked: 0, helper: None })
    }

    /// Has a long log moved into the database. The helper does not hold up the writer; but while the writer never
    /// rests, only the writer itself can come to the end of the log, so that it begins anew.
    pub(crate) fn tend(&mut self, connection: &Connection) {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.asked {
            // It began anew.
            self.asked = 0;
        }
        if pages.saturating_sub(self.asked) < limits::LOG_PAGES_STEP {
            return;
        }
        self.asked = pages;
        let helper = self.helper.get_or_insert_with(|| Helper::start(&self.path));
        if pages >= limits::LOG_PAGES_MAX || !helper.wake() {
            checkpoint(connection);
        }
    }
}

impl Helper {
    fn start(path: &Path) -> Self {
        let (wake, woken) = sync_channel(1);
        let path = path.to_path_buf();
        let thread = thread::Builder::new().name("posse-log".to_owned()).spawn(move || help(&path, &woken));
        Self { wake: Some(wake), thread: thread.ok() }
    }

    /// Whether it is at work now, or will be.
    fn wake(&self) -> bool {
        let sent = self.wake.as_ref().map(|wake| wake.try_send(()));
        matches!(sent, Some(Ok(()) | Err(TrySendError::Full(()))))
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        self.wake = None;
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the helper of the record's writer panicked");
        }
    }
}

fn help(path: &Path, woken: &Receiver<()>) {
    match connection::open_beside(path) {
        Ok(connection) => woken.iter().for_each(|()| checkpoint(&connection)),
        Err(error) => tracing::warn!(%error, "the writer has to look after the record's log alone"),
    }
}

/// Moves as much as can be moved without waiting for anybody. What is left is moved the next time.
fn checkpoint(connection: &Connection) {
    if let Err(error) = connection.wal_checkpoint_v2(Some(MAIN_DB), CheckpointMode::PASSIVE) {
        tracing::warn!(%error, "the record's log could not be moved into the database");
    }
}
