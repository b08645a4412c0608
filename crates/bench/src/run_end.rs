//! The edges of a run of the real binary: what its first request weighs, and how long it takes to end after the last reply.

use std::fs::File;
use std::io::Write as _;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use posse_testkit::{Fixture, Turn};
use serde_json::json;

use crate::server::Server;
use crate::startup::{prepare, program, run};
use crate::{ResultLine, median};

const TRIES: usize = 31;
const BEYOND_FSYNC_MS_MAX: f64 = 5.0;
const FIRST_REQUEST_BYTES_MAX: usize = 7_800;
/// Longer than a session waits before it looks at its folder and watches it.
const LOOKED_AFTER: Duration = Duration::from_millis(250);

/// A run whose end is measured, by what it does before its last reply.
type Before = fn() -> Option<Turn>;

const RUNS: [(&str, Before); 3] = [
    ("one reply, at once", || None),
    ("its folder is watched", || Some(read().delay(LOOKED_AFTER))),
    ("it has run a command", || Some(Turn::call("shell", json!({"command": "true"})))),
];

fn read() -> Turn {
    Turn::call("read_file", json!({"path": "notes.txt", "start_line": 1, "end_line": 20}))
}

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let (mut ends, mut syncs) = ([const { Vec::new() }; RUNS.len()], Vec::new());
    for _ in 0..TRIES {
        for (ends, (_, before)) in ends.iter_mut().zip(RUNS) {
            let (end_ms, sync_ms) = end_ms(before)?;
            ends.push(end_ms);
            syncs.push(sync_ms);
        }
    }
    let sync = median(syncs);
    let end = |(ends, (what, _)): (Vec<f64>, (&str, Before))| {
        let end = median(ends);
        ResultLine {
            what: format!("end of `posse run` after the last byte of the last reply, {what}"),
            measured: format!("{end:.1} ms"),
            floor: format!("{sync:.1} ms (one fsync there)"),
            promise: format!("≤ {BEYOND_FSYNC_MS_MAX} ms more"),
            holds: end - sync <= BEYOND_FSYNC_MS_MAX,
        }
    };
    let mut lines: Vec<ResultLine> = ends.into_iter().zip(RUNS).map(end).collect();
    let bytes = first_request_bytes()?;
    lines.push(ResultLine {
        what: "first request of `posse run` in a repository, with sub-agents".into(),
        measured: format!("{bytes} bytes"),
        floor: "–".into(),
        promise: format!("≤ {FIRST_REQUEST_BYTES_MAX}"),
        holds: bytes <= FIRST_REQUEST_BYTES_MAX,
    });
    Ok(lines)
}

/// How long a run takes from its last reply to its exit, and one fsync in the folder of its record after it.
fn end_ms(before: Before) -> anyhow::Result<(f64, f64)> {
    let server =
        Server::by(usize::from(before().is_some()), false, move |_| before().unwrap_or_else(Turn::empty))?;
    let (home, command) = prepare(&server.base_url)?;
    run(command)?;
    let exit = Instant::now();
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
    run(program(home.path(), repository.path(), &server.base_url)?)?;
    Ok(server.take().first().context("no request came")?.body.len())
}
