//! The edges of a run of the real binary: what its first request weighs, and how long it takes to end after the last reply.

use std::fs::File;
use std::io::Write as _;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use posse_testkit::Fixture;

use crate::server::Server;
use crate::startup::{prepare, program};
use crate::{ResultLine, median};

const TRIES: usize = 31;
const BEYOND_FSYNC_MS_MAX: f64 = 5.0;
const FIRST_REQUEST_BYTES_MAX: usize = 7_500;

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let (mut ends, mut syncs) = (Vec::new(), Vec::new());
    for _ in 0..TRIES {
        let (end_ms, sync_ms) = end_ms()?;
        ends.push(end_ms);
        syncs.push(sync_ms);
    }
    let (end, sync) = (median(ends), median(syncs));
    let bytes = first_request_bytes()?;
    Ok(vec![
        ResultLine {
            what: "end of `posse run` after the last byte of the last reply".into(),
            measured: format!("{end:.1} ms"),
            floor: format!("{sync:.1} ms (one fsync there)"),
            promise: format!("≤ {BEYOND_FSYNC_MS_MAX} ms more"),
            holds: end - sync <= BEYOND_FSYNC_MS_MAX,
        },
        ResultLine {
            what: "first request of `posse run` in a repository, with sub-agents".into(),
            measured: format!("{bytes} bytes"),
            floor: "–".into(),
            promise: format!("≤ {FIRST_REQUEST_BYTES_MAX}"),
            holds: bytes <= FIRST_REQUEST_BYTES_MAX,
        },
    ])
}

/// How long a run takes from its last reply to its exit, and one fsync in the folder of its record after it.
fn end_ms() -> anyhow::Result<(f64, f64)> {
    let server = Server::start(0, false)?;
    let (home, mut command) = prepare(&server.base_url)?;
    let status = command.status()?;
    let exit = Instant::now();
    ensure!(status.success(), "posse run failed");
    let answered = server.model.answered_at().context("nothing was answered")?;
    let mut file = File::create(home.path().join("data/synced"))?;
    file.write_all(&[0; 4096])?;
    let since = Instant::now();
    file.sync_all()?;
    Ok(((exit - answered).as_secs_f64() * 1000.0, since.elapsed().as_secs_f64() * 1000.0))
}

fn first_request_bytes() -> anyhow::Result<usize> {
    let server = Server::start(0, true)?;
    let repository = Fixture::new().file("notes.txt", "some notes\n").git();
    let home = tempfile::tempdir()?;
    let mut command = program(home.path(), repository.path(), &server.base_url)?;
    ensure!(command.status()?.success(), "posse run failed");
    Ok(server.take().first().context("no request came")?.body.len())
}
