//! P1: whatever a command leaves behind is gone with the command, and with Posse however it ends.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use posse_testkit::attacks::{self, Attempt};
use posse_testkit::{FakeModel, Turn};
use serde_json::json;

use super::player::{Actor, Level, Moment, Play, not_made, play};
use super::world::World;
use super::{in_parallel, settle};
use crate::posse::{eventually, signal};

/// Survivors are looked for until then; a busy machine needs a while to end processes.
const GONE_WITHIN: Duration = Duration::from_secs(30);

/// A number of seconds that no other process sleeps.
fn mark() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("7{}{:03}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// The processes that carry a mark: number and command line.
fn carrying(mark: &str) -> Vec<(String, String)> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| {
        let line = std::fs::read(process.path().join("cmdline")).ok()?;
        let id = process.file_name().to_string_lossy().into_owned();
        Some((id, String::from_utf8_lossy(&line).replace('\0', " ")))
    });
    lines.filter(|(_, line)| line.contains(mark)).collect()
}

/// Those that are still there after a while. They are told, and then ended here.
fn survivors(mark: &str) -> Vec<String> {
    let since = Instant::now();
    let left = loop {
        let left = carrying(mark);
        if left.is_empty() || since.elapsed() > GONE_WITHIN {
            break left;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    for (id, _) in &left {
        let _ = Command::new("kill").args(["-9", id]).status();
    }
    left.into_iter().map(|(_, line)| line).collect()
}

/// Commands that end: by themselves, or by their deadline.
fn ended(then: &'static str, timeout_ms: u64, lanes: usize) {
    let attempts = attacks::orphans();
    let count = attempts.len();
    let groups: Vec<_> = attempts.chunks(count.div_ceil(lanes)).map(<[_]>::to_vec).collect();
    let results = in_parallel(groups, lanes, |group| {
        let mark = mark();
        let faults: Arc<Mutex<Vec<String>>> = Arc::default();
        let (noted, marked) = (Arc::clone(&faults), mark.clone());
        let words = vec![("@THEN@", then.to_string()), ("@MARK@", mark)];
        let as_whom = Play { timeout_ms, words, ..Play::new(Level::Full, Actor::Main) };
        let played = play(as_whom, group, move |_, attempt, moment| {
            let Moment::After(answer, _) = moment else { return };
            let left = survivors(&marked);
            let mut faults = noted.lock().unwrap();
            faults.extend((!left.is_empty()).then(|| format!("{}: {left:?}", attempt.name)));
            faults.extend(not_made(answer).map(|why| format!("{}: {why}", attempt.name)));
        });
        assert_eq!(played.ran.code, Some(0), "{:#?}", played.ran);
        (played.made, faults.lock().unwrap().clone())
    });
    let made = results.iter().map(|(made, _)| made).sum();
    let faults: Vec<String> = results.into_iter().flat_map(|(_, faults)| faults).collect();
    settle("orphans of commands that ended", made, count.max(20), &faults);
}

#[test]
fn nothing_survives_a_command_that_ends() {
    ended("sleep 0.05", 30_000, 2);
}

#[test]
fn nothing_survives_a_command_past_its_deadline() {
    ended("sleep @MARK@", 1_000, 4);
}

/// Posse is ended by a signal while the command runs.
fn posse_ends(attempt: &Attempt, name: &'static str) -> Option<String> {
    let mark = mark();
    let command = attempt.attack.replace("@THEN@", "sleep @MARK@").replace("@MARK@", &mark);
    let model = FakeModel::by_rule_blocking(move |_| Turn::call("shell", json!({"command": command})));
    let endpoint = model.base_url();
    let world = World::new(&format!("[models.fake]\nendpoint = \"{endpoint}\"\nmodel = \"fake-model\"\n"));
    let mut child = world.spawn(&["run", "--quiet", "go"]);
    eventually("the command", || {
        assert!(child.try_wait().unwrap().is_none(), "{}: posse ended early", attempt.name);
        carrying(&mark).len() > 1
    });
    // What the command does after it has begun.
    std::thread::sleep(Duration::from_millis(200));
    signal(&child, name);
    let since = Instant::now();
    while child.try_wait().unwrap().is_none() && since.elapsed() < GONE_WITHIN {
        std::thread::sleep(Duration::from_millis(10));
    }
    let gone = child.try_wait().unwrap().is_some();
    if !gone {
        let _ = child.kill();
        let _ = child.wait();
    }
    // Only now: what a command starts while it is ended comes after what it had started before.
    let left = survivors(&mark);
    let fault = |what: String| Some(format!("{} after SIG{name}: {what}", attempt.name));
    match (left.is_empty(), gone) {
        (true, true) => None,
        (false, _) => fault(format!("{left:?}")),
        (true, false) => fault("posse did not end".to_string()),
    }
}

fn nothing_survives(name: &'static str) {
    let attempts = attacks::orphans();
    let faults = in_parallel(attempts, 4, |attempt| posse_ends(&attempt, name));
    let made = faults.len();
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    settle(&format!("orphans of posse ended by SIG{name}"), made, 20, &faults);
}

#[test]
fn nothing_survives_posse_interrupted() {
    nothing_survives("INT");
}

#[test]
fn nothing_survives_posse_terminated() {
    nothing_survives("TERM");
}

#[test]
fn nothing_survives_posse_killed() {
    nothing_survives("KILL");
}
