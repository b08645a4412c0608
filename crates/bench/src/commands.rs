//! What a command costs in a session, from the reply that asks for it to the next request: in a small folder, in a large
//! one, with a file changed by it, and as the first one, before which the folder has to be looked at.

use std::path::Path;

use anyhow::ensure;
use posse_testkit::Turn;
use serde_json::json;

use crate::sandbox::plain_ms;
use crate::server::Server;
use crate::turns::session_in;
use crate::{ResultLine, median};

const TURNS: usize = 40;
/// Turns that are left out: the first commands of a process find nothing in memory.
const WARM: usize = 5;
const LARGE_FILES: usize = 50_000;
const HUGE_FILES: usize = 100_000;
const SMALL_MS_MAX: f64 = 15.0;
const LARGE_MS_MAX: f64 = 20.0;
const CHANGED_MS_MAX: f64 = 10.0;
const FIRST_MS_MAX: f64 = 500.0;
const FIRST_TRIES: usize = 3;

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let place = tempfile::tempdir()?;
    let folders = [("small", 10), ("large", LARGE_FILES), ("huge", HUGE_FILES), ("empty", 0)];
    for (name, files) in folders {
        grow(&place.path().join(name), files)?;
    }
    let at = |name: &str| place.path().join(name);
    let small = turn_ms(&at("small"), "true")?;
    let large = turn_ms(&at("large"), "true")?;
    let small_changed = turn_ms(&at("small"), "echo changed in $RANDOM > src/part0/file0.txt")?;
    let large_changed = turn_ms(&at("large"), "echo changed in $RANDOM > src/part0/file0.txt")?;
    let (mut firsts, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..FIRST_TRIES {
        firsts.push(first_ms(&at("huge"))?);
        floors.push(first_ms(&at("empty"))?);
    }
    let (first, floor) = (median(firsts), median(floors));
    let plain = plain_ms(&at("small"))?;
    let turn = |what: &str, ms: f64, max: f64| ResultLine {
        what: format!("a shell turn (`true`), {what}"),
        measured: format!("{ms:.1} ms"),
        floor: format!("{plain:.1} ms (`true` alone, plain)"),
        promise: format!("≤ {max} ms"),
        holds: ms <= max,
    };
    let changed = |what: &str, ms: f64, than: f64| ResultLine {
        what: format!("the same with one file changed by the command, {what}"),
        measured: format!("{ms:.1} ms"),
        floor: format!("{than:.1} ms (`true`)"),
        promise: format!("≤ {CHANGED_MS_MAX} ms more"),
        holds: ms - than <= CHANGED_MS_MAX,
    };
    Ok(vec![
        turn("10 files", small, SMALL_MS_MAX),
        turn("50,000 files", large, LARGE_MS_MAX),
        changed("10 files", small_changed, small),
        changed("50,000 files", large_changed, large),
        ResultLine {
            what: "the first command among 100,000 files, never seen before".into(),
            measured: format!("{first:.0} ms"),
            floor: format!("{floor:.0} ms (in an empty folder)"),
            promise: format!("≤ {FIRST_MS_MAX} ms more"),
            holds: first - floor <= FIRST_MS_MAX,
        },
    ])
}

/// Milliseconds from one request to the next, the middle of many turns with one command each.
fn turn_ms(folder: &Path, command: &str) -> anyhow::Result<f64> {
    Ok(median(gaps(folder, command, TURNS)?.split_off(WARM)))
}

/// Milliseconds from the first request to the second, with a command between them.
fn first_ms(folder: &Path) -> anyhow::Result<f64> {
    Ok(gaps(folder, "true", 1)?[0])
}

fn gaps(folder: &Path, command: &str, turns: usize) -> anyhow::Result<Vec<f64>> {
    let command = command.to_owned();
    // Different every time, so that it is no repetition.
    let call = move |n: usize| Turn::call("shell", json!({"command": format!("{command} # {n}")}));
    let server = Server::by(turns, false, call)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let data = tempfile::tempdir()?;
    runtime.block_on(session_in(&server.base_url, posse_engine::Engine::open(data.path())?, folder, None))?;
    let arrivals = server.take();
    ensure!(arrivals.len() == turns + 1, "{} requests came", arrivals.len());
    Ok(arrivals.windows(2).map(|pair| (pair[1].at - pair[0].at).as_secs_f64() * 1000.0).collect())
}

pub(crate) fn grow(work: &Path, files: usize) -> anyhow::Result<()> {
    std::fs::create_dir_all(work)?;
    for file in 0..files {
        let folder = work.join(format!("src/part{}", file / 100));
        if file % 100 == 0 {
            std::fs::create_dir_all(&folder)?;
        }
        std::fs::write(folder.join(format!("file{file}.txt")), format!("file {file}\n").repeat(20))?;
    }
    Ok(())
}
