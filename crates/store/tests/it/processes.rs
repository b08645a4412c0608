//! Several processes on one record, and processes that are killed. Each is this very program, which runs one of its
//! tests again with a variable set.
//!
//! `POSSE_SOAK=1` runs as many commits and as many kills as promised.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use posse_protocol::Seq;
use posse_store::{Store, StoreError};

use crate::fixture::*;

/// Set for the processes that a test starts: what they are to do.
const ORDER: &str = "POSSE_TEST_ORDER";

/// Runs a test of this program again in a process of its own.
fn again(test: &str, order: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ORDER, order)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn order() -> Option<(u128, u32, std::path::PathBuf)> {
    let order = std::env::var(ORDER).ok()?;
    let mut parts = order.splitn(3, ' ');
    let (session, commits) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    Some((session, commits, parts.next()?.into()))
}

/// Tells the process that started this one; what the test framework says stands on lines of its own.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "\nSAID {text}").unwrap();
    out.flush().unwrap();
}

fn said(line: std::io::Result<String>) -> Option<String> {
    line.ok()?.strip_prefix("SAID ").map(str::to_owned)
}

/// Commits one turn after the other to a session of its own and to one that all share.
fn commit_turns(id: u128, commits: u32, path: &Path) {
    let store = quiet(path).unwrap();
    wait(store.append(start(id))).unwrap();
    let mut locked = 0;
    for n in 1..=commits {
        for to in [id, 1] {
            match wait(store.append(vec![event(to, turn(n))])) {
                Ok(_) => {}
                Err(StoreError::Locked { .. }) => locked += 1,
                Err(other) => panic!("{other}"),
            }
        }
    }
    say(&format!("locked {locked}"));
}

#[test]
fn many_processes_write_to_one_record_and_none_finds_it_locked() {
    const PROCESSES: u128 = 8;
    if let Some((id, commits, path)) = order() {
        return commit_turns(id, commits, &path);
    }
    // Two commits each time.
    let commits: u32 = if soak() { 250 } else { 25 };
    let record = record();
    record.put(start(1));
    let name = "processes::many_processes_write_to_one_record_and_none_finds_it_locked";
    let children: Vec<Child> = (0..PROCESSES)
        .map(|n| again(name, &format!("{} {commits} {}", 100 + n, record.path.display())))
        .collect();
    let mut reports = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = output.stdout.lines();
        reports.extend(lines.filter_map(said));
    }
    assert_eq!(reports, vec!["locked 0"; PROCESSES as usize]);
    let per_process = u64::from(commits);
    let all = u64::try_from(PROCESSES).unwrap() * per_process;
    let rows = record.rows(
        "SELECT s.last_seq, s.turns, count(*), max(e.seq) FROM sessions s JOIN events e ON e.session_id = s.id
         GROUP BY s.id ORDER BY s.id",
    );
    let line = |turns: u64| format!("{0}|{turns}|{0}|{0}", turns + 2);
    let own = vec![line(per_process); PROCESSES as usize];
    assert_eq!(rows, [vec![line(all)], own].concat());
    assert_eq!(Store::health(&record.path).unwrap().problem, None);
}

/// Commits turns with texts of many sizes, and says after each that it is on record, until somebody ends it.
fn commit_until_killed(path: &Path) {
    let store = quiet(path).unwrap();
    wait(store.append(start(1))).unwrap();
    for n in 1..=u32::MAX {
        let bytes = (n as usize).wrapping_mul(2_654_435_761) % 40_000;
        let text = format!("{n} ").repeat(bytes / 8);
        let seq = wait(store.append(vec![event(1, turn(n)), event(1, told(&text))])).unwrap();
        say(&seq.0.to_string());
    }
}

#[test]
fn a_killed_process_loses_nothing_that_was_acknowledged() {
    if let Some((_, _, path)) = order() {
        return commit_until_killed(&path);
    }
    let kills: u64 = if soak() { 200 } else { 12 };
    let mut ran = 0;
    for seed in 0..kills {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("posse.db");
        let name = "processes::a_killed_process_loses_nothing_that_was_acknowledged";
        let mut child = again(name, &format!("1 0 {}", path.display()));
        // After so many acknowledgements and a little more, wherever it then is.
        let wanted = 1 + seed * 7 % 60;
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let acknowledged = lines.by_ref().filter_map(said).nth(usize::try_from(wanted).unwrap()).unwrap();
        std::thread::sleep(std::time::Duration::from_micros(seed * 137 % 3_000));
        child.kill().unwrap();
        // What it said before it died counts, too.
        let acknowledged = lines.filter_map(said).last().unwrap_or(acknowledged).parse().unwrap();
        child.wait().unwrap();
        check_remains(&path, acknowledged, seed);
        ran += 1;
    }
    assert_eq!(ran, kills);
}

/// What is on record is a beginning without gaps, holds what was acknowledged, and agrees with the tables.
fn check_remains(path: &Path, acknowledged: u64, seed: u64) {
    let store = quiet(path).unwrap();
    let connection = rusqlite::Connection::open(path).unwrap();
    assert_eq!(rows(&connection, "PRAGMA integrity_check"), ["ok"], "seed {seed}");
    assert_eq!(rows(&connection, "PRAGMA foreign_key_check"), [""; 0], "seed {seed}");
    let mut places = Vec::new();
    while let Some(last) = {
        let after = Seq(places.last().copied().unwrap_or(0));
        let page = store.events_after(session(1), after, 1_000).unwrap();
        places.extend(page.iter().map(|e| e.seq.0));
        page.last().map(|e| e.seq)
    } {
        assert_eq!(places.last(), Some(&last.0));
    }
    let count = places.len() as u64;
    assert!(places.iter().copied().eq(1..=count), "a gap, seed {seed}");
    // At most the batch that was under way when it died is there without having been acknowledged.
    assert!((acknowledged..=acknowledged + 2).contains(&count), "{count} of {acknowledged}, seed {seed}");
    assert_eq!(count % 2, 0, "half a batch, seed {seed}");
    let row = store.find_session("last").unwrap();
    assert_eq!((row.last_seq.0, row.turns), (count, count / 2 - 1), "tables disagree, seed {seed}");
    assert_eq!(
        rows(&connection, "SELECT count(*) FROM messages"),
        [(count / 2 - 1).to_string()],
        "seed {seed}"
    );
    assert_eq!(wait(store.append(vec![event(1, turn(0))])).unwrap(), Seq(count + 1), "seed {seed}");
}
