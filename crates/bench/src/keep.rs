//! How long it takes to know what changed in a large folder and to keep it, beside a plain walk over the same folder.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Instant,
};

use anyhow::ensure;
use posse_workspace::{Checkpoints, Workspace};

use crate::{ResultLine, median};

const TRIES: usize = 11;
const MANY: usize = 1_000;
const NOTHING_MS_MAX: f64 = 1.0;
const ONE_MS_MAX: f64 = 10.0;
const MANY_MS_MAX: f64 = 300.0;
const FIRST_MS_MAX: f64 = 500.0;

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut lines = Vec::new();
    for files in [50_000, 100_000] {
        lines.extend(runtime.block_on(of(files))?);
    }
    Ok(lines)
}

async fn of(files: usize) -> anyhow::Result<Vec<ResultLine>> {
    let place = tempfile::tempdir()?;
    let work = place.path().join("work");
    grow(&work, files)?;
    let workspace = Workspace::open(&work)?;
    let floor = median((0..TRIES).map(|_| walk(&work)).collect());
    let line = |what: &str, ms: f64, ms_max: f64| ResultLine {
        what: format!("{what}, {files} files"),
        measured: format!("{ms:.2} ms"),
        floor: format!("{floor:.0} ms (a walk), {:.2} ×", ms / floor),
        promise: format!("< {ms_max} ms"),
        holds: ms < ms_max,
    };
    let (mut firsts, mut nexts) = (Vec::new(), Vec::new());
    for round in 0..3 {
        let store = place.path().join(format!("store{round}"));
        let checkpoints = Checkpoints::open(&store, &workspace).await?;
        firsts.push(timed(&checkpoints, 0).await?);
        drop(checkpoints);
        let checkpoints = Checkpoints::open(&store, &workspace).await?;
        nexts.push(timed(&checkpoints, 0).await?);
    }
    let mut lines = vec![line("the first look ever", median(firsts), FIRST_MS_MAX)];
    lines.push(line("the first look of a session", median(nexts), FIRST_MS_MAX));
    let checkpoints = Checkpoints::open(&place.path().join("store0"), &workspace).await?;
    timed(&checkpoints, 0).await?;
    for (changed, what, ms_max) in [
        (0, "a look, nothing changed", NOTHING_MS_MAX),
        (1, "a look, 1 changed", ONE_MS_MAX),
        (MANY, "a look, 1,000 changed", MANY_MS_MAX),
    ] {
        let mut looks = Vec::new();
        for round in 0..TRIES {
            for file in 0..changed {
                fs::write(path_of(&work, file * 49), format!("changed {changed} {round}\n"))?;
            }
            looks.push(timed(&checkpoints, changed).await?);
        }
        lines.push(line(what, median(looks), ms_max));
    }
    checkpoints.look_at_everything();
    let mut looks = Vec::new();
    for _ in 0..TRIES {
        looks.push(timed(&checkpoints, 0).await?);
    }
    lines.push(line("a look without reports", median(looks), FIRST_MS_MAX));
    Ok(lines)
}

async fn timed(checkpoints: &Checkpoints, expected: usize) -> anyhow::Result<f64> {
    let since = Instant::now();
    let look = checkpoints.look(None).await?;
    let ms = since.elapsed().as_secs_f64() * 1000.0;
    ensure!(look.changes.len() == expected, "{} changes instead of {expected}", look.changes.len());
    Ok(ms)
}

fn grow(work: &Path, files: usize) -> anyhow::Result<()> {
    for file in 0..files {
        let path = path_of(work, file);
        if file % 25 == 0 {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
        }
        fs::write(path, format!("file {file}\n").repeat(20))?;
    }
    Ok(())
}

fn path_of(work: &Path, file: usize) -> PathBuf {
    work.join(format!("src/part{}/sub{}/file{file}.txt", file / 1_000, file / 25))
}

/// Asks the system about every file, with two threads. Gives back milliseconds.
fn walk(work: &Path) -> f64 {
    let since = Instant::now();
    let open = Arc::new(Mutex::new((vec![work.to_owned()], 0_usize)));
    let worker = |open: Arc<Mutex<(Vec<PathBuf>, usize)>>| loop {
        let mut queue = open.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(folder) = queue.0.pop() else {
            if queue.1 == 0 {
                return;
            }
            drop(queue);
            thread::yield_now();
            continue;
        };
        queue.1 += 1;
        drop(queue);
        let mut folders = Vec::new();
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.metadata().is_ok_and(|found| found.is_dir()) {
                folders.push(entry.path());
            }
        }
        let mut queue = open.lock().unwrap_or_else(PoisonError::into_inner);
        queue.0.extend(folders);
        queue.1 -= 1;
    };
    let other = thread::spawn({
        let open = Arc::clone(&open);
        move || worker(open)
    });
    worker(open);
    let _ = other.join();
    since.elapsed().as_secs_f64() * 1000.0
}
