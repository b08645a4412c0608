//! Hands the files of a walk to several threads, some at a time, and puts what they find together in the order of the walk.
//! Whatever number of threads there is, the result is that of one.
//!
//! ```text
//! walk ─► batch 0, 1, 2 … ─► threads search ─► finished, in any order ─► found, in order
//!           └─ too many wait: the walk's thread searches one      └─ enough matches: all stop
//! ```

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, Scope},
    time::{Duration, Instant},
};

use super::{GrepFound, InFile, Search};
use crate::{Cut, Stop, WorkspaceError, WorkspacePath, limits};

/// What is shared by the threads of one search.
pub(super) struct Batches<'a> {
    stop: &'a Stop,
    until: Instant,
    queue: Mutex<Queue>,
    /// There is a batch to be searched, or there will be none any more.
    more: Condvar,
    /// Whether what is found is all that is wanted.
    enough: AtomicBool,
}

#[derive(Default)]
struct Queue {
    /// In the order of the walk, with their numbers.
    waiting: VecDeque<(usize, Vec<WorkspacePath>)>,
    /// Whether the walk has ended.
    closed: bool,
    /// What was found in batches, if one before them is not finished.
    finished: BTreeMap<usize, Vec<InFile>>,
    /// The batch that comes next in `found`.
    next: usize,
    found: GrepFound,
}

impl<'a> Batches<'a> {
    pub(super) fn new(stop: &'a Stop) -> Self {
        let until = Instant::now() + Duration::from_millis(limits::WALK_TIME_MS_MAX);
        let (queue, more, enough) = (Mutex::default(), Condvar::new(), AtomicBool::new(false));
        Self { stop, until, queue, more, enough }
    }

    /// Searches what `walk` adds. When this returns, all of it was searched.
    pub(super) fn fill<T>(&self, search: Search<'a>, walk: impl FnOnce(&mut Filling<'_, '_, 'a>) -> T) -> T {
        thread::scope(|scope| {
            let mut filling = Filling { batches: self, scope, search, batch: Vec::new(), count: 0 };
            walk(&mut filling)
            // What was not handed out yet is searched, and the threads end, when `filling` is dropped.
        })
    }

    /// What was found. `Err` if the search was asked to stop.
    pub(super) fn found(self) -> Result<GrepFound, WorkspaceError> {
        if self.stop.stopped() {
            return Err(WorkspaceError::Stopped);
        }
        Ok(self.queue.into_inner().unwrap_or_else(PoisonError::into_inner).found)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Searches batches until there are no more.
    fn work(&self, search: &mut Search<'_>) {
        let mut queue = self.queue();
        loop {
            if let Some((number, files)) = queue.waiting.pop_front() {
                drop(queue);
                self.batch(number, &files, search);
                queue = self.queue();
            } else if queue.closed {
                return;
            } else {
                queue = self.more.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn batch(&self, number: usize, files: &[WorkspacePath], search: &mut Search<'_>) {
        let (mut all, mut matches, mut late) = (Vec::new(), 0, false);
        for path in files {
            late = Instant::now() > self.until;
            // One match more than is wanted says that there are more.
            if late || self.ends() || matches > search.wanted {
                break;
            }
            if let Some(in_file) = search.found(path) {
                matches += in_file.matches;
                all.push(in_file);
            }
        }
        let mut queue = self.queue();
        queue.finished.insert(number, all);
        if late {
            queue.found.cut = Some(Cut::Time);
        }
        queue.put_together(search.wanted);
        if queue.found.more {
            self.enough.store(true, Ordering::Relaxed);
        }
    }

    fn ends(&self) -> bool {
        self.enough.load(Ordering::Relaxed) || self.stop.stopped()
    }
}

impl Queue {
    /// Takes over finished batches as far as none is missing before them.
    fn put_together(&mut self, wanted: usize) {
        while let Some(all) = self.finished.remove(&self.next) {
            self.next += 1;
            for in_file in all {
                if !self.found.more {
                    self.found.add(in_file, wanted);
                }
            }
        }
    }
}

/// The walk's side: files go in one by one.
pub(super) struct Filling<'scope, 'env, 'a> {
    batches: &'scope Batches<'a>,
    scope: &'scope Scope<'scope, 'env>,
    search: Search<'a>,
    batch: Vec<WorkspacePath>,
    /// How many batches were handed out.
    count: usize,
}

impl Filling<'_, '_, '_> {
    /// Adds the next file of the walk.
    pub(super) fn add(&mut self, path: WorkspacePath) {
        self.batch.push(path);
        if self.batch.len() < limits::GREP_BATCH_FILES {
            return;
        }
        if self.count == 0 {
            // Not before: where there are few files, starting threads takes longer than searching.
            self.start_threads();
        }
        let mut queue = self.batches.queue();
        queue.waiting.push_back((self.count, std::mem::take(&mut self.batch)));
        self.count += 1;
        let own =
            if queue.waiting.len() > limits::GREP_BATCHES_MAX { queue.waiting.pop_front() } else { None };
        drop(queue);
        self.batches.more.notify_one();
        if let Some((number, files)) = own {
            self.batches.batch(number, &files, &mut self.search);
        }
    }

    /// Whether the walk need not go on.
    pub(super) fn enough(&self) -> bool {
        self.batches.enough.load(Ordering::Relaxed)
    }

    fn start_threads(&self) {
        let threads = thread::available_parallelism().map_or(2, usize::from).min(limits::GREP_THREADS_MAX);
        let batches = self.batches;
        for _ in 1..threads {
            // One that cannot be started is not needed: whoever walks searches, too.
            let search = self.search.clone();
            let _ = thread::Builder::new()
                .name("posse-grep".into())
                .spawn_scoped(self.scope, move || batches.work(&mut { search }));
        }
    }
}

impl Drop for Filling<'_, '_, '_> {
    /// Also where the walk has failed: the threads have to end.
    fn drop(&mut self) {
        let mut queue = self.batches.queue();
        queue.closed = true;
        queue.waiting.push_back((self.count, std::mem::take(&mut self.batch)));
        drop(queue);
        self.batches.more.notify_all();
        self.batches.work(&mut self.search);
    }
}
