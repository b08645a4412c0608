//! What confinement costs: a confined `true` beside a plain one, both through the same code.

use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use posse_sandbox::{Command, CommandExit, Level, Program, SandboxProfile, child_env};

use crate::{ResultLine, median};

const TRIES: usize = 41;
const EXTRA_MS_MAX: f64 = 8.0;

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let folder = tempfile::tempdir()?;
        let workspace = folder.path().canonicalize()?;
        // Both in turn, so that what else the machine does hits both.
        let levels = [None, Some(Level::Inspect), Some(Level::Verify), Some(Level::Full)];
        let mut times = [const { Vec::new() }; 4];
        for _ in 0..TRIES {
            for (level, times) in levels.iter().zip(&mut times) {
                times.push(run_ms(&workspace, *level).await?);
            }
        }
        let [plain, inspect, verify, full] = times.map(median);
        let line = |name: &str, ms: f64| ResultLine {
            what: format!("`true` in the sandbox, {name}"),
            measured: format!("{ms:.1} ms"),
            floor: format!("{plain:.1} ms (plain)"),
            promise: format!("< {EXTRA_MS_MAX} ms more"),
            holds: ms - plain < EXTRA_MS_MAX,
        };
        Ok(vec![line("inspect", inspect), line("verify", verify), line("full", full)])
    })
}

/// Milliseconds that `true` takes when it is started plainly: the middle of many.
pub(crate) fn plain_ms(folder: &Path) -> anyhow::Result<f64> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let times = (0..TRIES).map(|_| runtime.block_on(run_ms(folder, None)));
    Ok(median(times.collect::<anyhow::Result<Vec<_>>>()?))
}

async fn run_ms(workspace: &Path, level: Option<Level>) -> anyhow::Result<f64> {
    let program = Program::at(Path::new("/bin/true"), &[])?;
    let mut command = Command::program(&program, [""; 0], workspace, Duration::from_secs(20));
    // As commands of agents have it: what is found by it is part of the cost.
    let text =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    command.env = child_env().into_iter().filter_map(text).collect();
    command.confinement = level.map(|level| SandboxProfile::new(level, workspace));
    let since = Instant::now();
    let finished = posse_sandbox::run(command).await?;
    ensure!(finished.exit == CommandExit::Code(0), "{finished:?}");
    Ok(since.elapsed().as_secs_f64() * 1000.0)
}
