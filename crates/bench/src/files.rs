//! What file tools cost in large folders: the first write of a session, beside which the first look runs; a search; and a
//! name that is not there. Each is counted from the reply that asks for it to the next request, in the real program.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context as _, ensure};
use posse_testkit::Turn;
use serde_json::json;

use crate::{ResultLine, commands::grow, median, server::Server, startup, startup::program};

const TRIES: usize = 5;
const FILES: usize = 50_000;
/// Twelve new files of this size stand beside the first write.
const BINARY_BYTES: usize = 15_000_000;
const BINARIES: usize = 12;
const FIRST_MS_MAX: f64 = 30.0;
const FIRST_BESIDE_BINARIES_MS_MAX: f64 = 100.0;
const MISSING_MS_MAX: f64 = 10.0;
const END_MS_MAX: f64 = 5.0;
/// What the first write makes.
const WRITTEN: &str = "written.txt";
/// Calls of one session; the first, beside which the first look runs, is left out of the middle.
const CALLS: usize = 9;
/// In a few of the files, so that every file has to be searched.
const SEARCHED: &str = "file 4999[0-9]";

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let place = tempfile::tempdir()?;
    let at = |name: &str| place.path().join(name);
    for (name, files) in [("empty", 0), ("plain", FILES), ("repository", FILES)] {
        grow(&at(name), files)?;
    }
    commit_all(&at("repository"))?;
    let (empty, plain, repository) = (at("empty"), at("plain"), at("repository"));
    let mut lines =
        first_writes(&empty, "in a folder of 50,000 files that is no repository", &plain, FIRST_MS_MAX)?;
    lines.extend(first_writes(&empty, "in a repository of 50,000 files", &repository, FIRST_MS_MAX)?);
    for number in 0..BINARIES {
        let bytes: Vec<u8> = (0..BINARY_BYTES / 4).flat_map(|at| (at * (number + 7)).to_le_bytes()).collect();
        fs::write(repository.join(format!("built{number}.bin")), &bytes[..BINARY_BYTES])?;
    }
    let what = "with 180 MB of new binaries beside it";
    lines.extend(first_writes(&empty, what, &repository, FIRST_BESIDE_BINARIES_MS_MAX)?);
    lines.push(search(&plain)?);
    lines.push(missing(&plain, &empty)?);
    Ok(lines)
}

/// The turn of the first write in a folder, and what comes after the last reply; the floors are the same in an empty folder,
/// and the bare write.
fn first_writes(empty: &Path, what: &str, folder: &Path, ms_max: f64) -> anyhow::Result<Vec<ResultLine>> {
    let (mut turns, mut ends, mut bare) = ([const { Vec::new() }; 2], [const { Vec::new() }; 2], Vec::new());
    // In turn, so that what else the machine does is met by both.
    for _ in 0..TRIES {
        bare.push(synced_write_ms(empty)?);
        for (side, place) in [folder, empty].into_iter().enumerate() {
            let ran = run(place, 1, |_| write())?;
            ensure!(fs::remove_file(place.join(WRITTEN)).is_ok(), "nothing was written");
            turns[side].extend(ran.turns_ms);
            ends[side].push(ran.end_ms);
        }
    }
    let ([turn, turn_floor], [end, end_floor]) = (turns.map(median), ends.map(median));
    Ok(vec![
        ResultLine {
            what: format!("the first write, {what}"),
            measured: format!("{turn:.1} ms"),
            floor: format!("{turn_floor:.1} ms (in an empty folder), {:.1} ms (write, fsync)", median(bare)),
            promise: format!("≤ {ms_max} ms"),
            holds: turn <= ms_max,
        },
        ResultLine {
            what: "… from the last request to the program's end".into(),
            measured: format!("{end:.1} ms"),
            floor: format!("{end_floor:.1} ms (in an empty folder)"),
            promise: format!("≤ {END_MS_MAX} ms more"),
            holds: end - end_floor <= END_MS_MAX,
        },
    ])
}

fn write() -> Turn {
    Turn::call("write_file", json!({"path": WRITTEN, "content": "one line\n".repeat(20)}))
}

/// What the disk takes by itself.
fn synced_write_ms(folder: &Path) -> anyhow::Result<f64> {
    let (since, place) = (Instant::now(), folder.join("bare.txt"));
    fs::write(&place, "one line\n".repeat(20))?;
    fs::File::open(&place)?.sync_all()?;
    let ms = since.elapsed().as_secs_f64() * 1000.0;
    fs::remove_file(place)?;
    Ok(ms)
}

/// A search through all files, beside GNU grep in the same folder, in turn.
fn search(folder: &Path) -> anyhow::Result<ResultLine> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..TRIES {
        // Different every time, so that it is no repetition.
        let call = |n: usize| Turn::call("grep", json!({"pattern": SEARCHED, "limit": 400 + n}));
        ours.extend(run(folder, CALLS, call)?.turns_ms.split_off(1));
        for _ in 1..CALLS {
            theirs.push(gnu_grep_ms(folder)?);
        }
    }
    let (ours, theirs) = (median(ours), median(theirs));
    Ok(ResultLine {
        what: "grep over 50,000 files".into(),
        measured: format!("{ours:.0} ms"),
        floor: format!("{theirs:.0} ms (GNU grep), {:.2} ×", ours / theirs),
        promise: "≤ GNU grep".into(),
        holds: ours <= theirs,
    })
}

fn gnu_grep_ms(folder: &Path) -> anyhow::Result<f64> {
    let mut command = Command::new("grep");
    // The fastest it can be: bytes, not characters.
    command.args(["-rnI", SEARCHED, "."]).current_dir(folder).env("LC_ALL", "C").stdout(Stdio::null());
    let since = Instant::now();
    ensure!(command.status()?.success(), "grep found nothing");
    Ok(since.elapsed().as_secs_f64() * 1000.0)
}

/// A read of a name that is not there, for which others are suggested.
fn missing(large: &Path, empty: &Path) -> anyhow::Result<ResultLine> {
    let (mut among_many, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..TRIES {
        let call = |n: usize| Turn::call("read_file", json!({"path": format!("src/part{n}/fil{n}.txt")}));
        among_many.extend(run(large, CALLS, call)?.turns_ms.split_off(1));
        floors.extend(run(empty, CALLS, call)?.turns_ms.split_off(1));
    }
    let (ms, floor) = (median(among_many), median(floors));
    Ok(ResultLine {
        what: "a read of a missing name among 50,000 files".into(),
        measured: format!("{ms:.1} ms"),
        floor: format!("{floor:.1} ms (in an empty folder)"),
        promise: format!("≤ {MISSING_MS_MAX} ms"),
        holds: ms <= MISSING_MS_MAX,
    })
}

/// When what happened in one run of the program.
struct Ran {
    /// From each request to the next.
    turns_ms: Vec<f64>,
    /// From the last request, which is answered at once, to the end.
    end_ms: f64,
}

/// One session in a folder that nobody has seen before.
fn run(
    folder: &Path,
    turns: usize,
    call: impl Fn(usize) -> Turn + Send + Sync + 'static,
) -> anyhow::Result<Ran> {
    let server = Server::by(turns, false, call)?;
    let home = tempfile::tempdir()?;
    startup::run(program(home.path(), folder, &server.base_url)?)?;
    let ended = Instant::now();
    let arrivals = server.take();
    ensure!(arrivals.len() == turns + 1, "{} requests came", arrivals.len());
    let ms = |from: Instant, to: Instant| (to - from).as_secs_f64() * 1000.0;
    let last = arrivals.last().context("no request came")?;
    Ok(Ran {
        turns_ms: arrivals.windows(2).map(|pair| ms(pair[0].at, pair[1].at)).collect(),
        end_ms: ms(last.at, ended),
    })
}

fn commit_all(folder: &Path) -> anyhow::Result<()> {
    let calls: [&[&str]; 4] = [
        &["init", "--quiet"],
        &["add", "--all"],
        &["commit", "--quiet", "-m", "all"],
        // As repositories of this size are.
        &["repack", "-adq"],
    ];
    for arguments in calls {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "gc.auto=0"]);
        git.args(["-c", "core.fsync=none", "-c", "core.looseCompression=0"]).args(arguments);
        ensure!(git.current_dir(folder).status()?.success(), "git {arguments:?} failed");
    }
    Ok(())
}
