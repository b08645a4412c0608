//! How long it takes to save a large tree of which little has changed, beside `git status` on the same tree.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use posse_sandbox::{Command, Exit, Program};
use posse_workspace::{Checkpoints, Workspace, git};

use crate::{Line, median};

const FILES: usize = 20_000;
const CHANGED: usize = 5;
const TRIES: usize = 11;
const SAVE_MS_MAX: f64 = 200.0;

pub(crate) fn measure() -> anyhow::Result<Vec<Line>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let place = tempfile::tempdir()?;
        let work = place.path().join("work");
        grow(&work)?;
        for words in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "all"]] {
            git_ms(&work, words).await?;
        }
        let checkpoints = Checkpoints::open(&place.path().join("shadow"), &Workspace::open(&work)?).await?;
        let since = Instant::now();
        checkpoints.save("first").await?;
        let first = since.elapsed().as_secs_f64() * 1000.0;
        let (mut saves, mut floors) = (Vec::new(), Vec::new());
        for round in 0..TRIES {
            for file in 0..CHANGED {
                std::fs::write(path_of(&work, file * 997 % FILES), format!("changed in round {round}\n"))?;
            }
            let since = Instant::now();
            checkpoints.save("again").await?;
            saves.push(since.elapsed().as_secs_f64() * 1000.0);
            floors.push(git_ms(&work, &["status", "--porcelain"]).await?);
        }
        let (save, floor) = (median(saves), median(floors));
        let floor = format!("{floor:.0} ms (`git status`)");
        Ok(vec![
            Line {
                what: format!("saving {FILES} files, {CHANGED} changed"),
                measured: format!("{save:.0} ms"),
                floor: floor.clone(),
                promise: format!("< {SAVE_MS_MAX} ms"),
                holds: save < SAVE_MS_MAX,
            },
            Line {
                what: format!("saving {FILES} files for the first time"),
                measured: format!("{first:.0} ms"),
                floor,
                promise: "–".into(),
                holds: true,
            },
        ])
    })
}

fn grow(work: &Path) -> anyhow::Result<()> {
    for file in 0..FILES {
        let path = path_of(work, file);
        if file % 100 == 0 {
            path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        }
        std::fs::write(path, format!("file {file}\n").repeat(20))?;
    }
    Ok(())
}

fn path_of(work: &Path, file: usize) -> std::path::PathBuf {
    work.join(format!("src/part{}/file{file}.txt", file / 100))
}

async fn git_ms(work: &Path, words: &[&str]) -> anyhow::Result<f64> {
    let identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost"];
    let words = identity.into_iter().chain(words.iter().copied());
    let git = Program::at(&git::program()?, &[])?;
    let command = Command::program(&git, words, work, Duration::from_secs(120));
    let since = Instant::now();
    let finished = posse_sandbox::run(command).await?;
    ensure!(finished.exit == Exit::Code(0), "{finished:?}");
    Ok(since.elapsed().as_secs_f64() * 1000.0)
}
