//! The chat, by the real program in a terminal: when its composer is there, how long a key takes to the screen while fifty
//! agents write, what a frame weighs, and what the chat takes of memory and processor.
//!
//! Its session runs in a background process, as for people; that process counts apart.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use posse_testkit::Turn;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::crew::{CrewServer, REPORT, cpu_us, start};
use crate::server::Server;
use crate::startup::built;
use crate::terminal::{COLUMNS, MeasuredFrame, MeasuredTerminal};
use crate::{ResultLine, median};

const STARTS: usize = 20;
const READY_MS_MAX: f64 = 30.0;
const AGENTS: usize = 50;
/// Pieces of each agent's reply, and the pause between two: 20 in a second. Timers are late by one millisecond.
const PIECES: usize = 560;
const PAUSE: Duration = Duration::from_millis(49);
const KEYS: usize = 500;
const KEYS_AT_REST: usize = 200;
/// The composer is emptied after so many, so that they stay in one row.
const KEYS_IN_A_ROW: usize = 100;
/// Between two keys.
const GAPS_MS: std::ops::Range<u64> = 5..45;
const KEY_MS_MAX: f64 = 10.0;
const FRAME_BYTES_MAX: f64 = 4.0 * 1024.0;
const TURNS: usize = 500;
const MEMORY_MB_MAX: f64 = 40.0;
const IDLE: Duration = Duration::from_secs(20);
const IDLE_PERCENT_MAX: f64 = 0.5;
/// How long the session's process may take to end.
const ENDS: Duration = Duration::from_secs(20);

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let mut lines = vec![starts()?];
    lines.extend(typing()?);
    lines.extend(long_session()?);
    Ok(lines)
}

fn line(what: String, measured: String, floor: String, promise: String, holds: bool) -> ResultLine {
    ResultLine { what, measured, floor, promise, holds }
}

/// A home of its own with a folder to work in. What was started there ends with it.
struct ChatHome {
    place: tempfile::TempDir,
    work: PathBuf,
}

impl ChatHome {
    fn new(base_url: &str) -> anyhow::Result<Self> {
        let place = tempfile::tempdir()?;
        let work = place.path().join("work");
        std::fs::create_dir(&work)?;
        std::fs::write(work.join("notes.txt"), "some notes\n".repeat(1000))?;
        let config = format!(
            "[models.fake]\nendpoint = \"{base_url}\"\nmodel = \"fake-model\"\nmax_concurrent = {AGENTS}\n\
            [limits]\nmax_turns = 1000\n\
            [sub_agents]\nmax_running = {AGENTS}\nmax_running_in_process = {AGENTS}\n"
        );
        std::fs::write(place.path().join("config.toml"), config)?;
        Ok(Self { place, work })
    }

    fn posse(&self) -> anyhow::Result<Command> {
        let mut command = Command::new(built()?);
        command
            .current_dir(&self.work)
            .env("HOME", self.place.path())
            .env("POSSE_HOME", self.place.path().join("data"))
            .env("POSSE_CONFIG", self.place.path().join("config.toml"))
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .env_remove("TERM_PROGRAM");
        Ok(command)
    }

    /// The chat, when its composer is there.
    fn chat(&self) -> anyhow::Result<MeasuredTerminal> {
        let mut chat = MeasuredTerminal::open(self.posse()?)?;
        chat.until("composer", |chat| chat.composed().is_some())?;
        Ok(chat)
    }

    /// The process of the session that runs in this folder.
    fn background(&self) -> Option<u32> {
        session_process(&self.work)
    }

    /// Waits until nothing is left of the session.
    fn wait_for_end(&self) -> anyhow::Result<()> {
        let since = Instant::now();
        while self.background().is_some() {
            ensure!(since.elapsed() < ENDS, "the session's process does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}

impl Drop for ChatHome {
    fn drop(&mut self) {
        let pid = self.background().and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// The background process of the session that runs in a folder.
pub(crate) fn session_process(folder: &Path) -> Option<u32> {
    let folder = folder.to_string_lossy().into_owned();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut pids = processes.filter_map(|process| process.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&line);
        words.split('\0').any(|word| word == "--in-background") && words.contains(&folder)
    })
}

/// From the start of the program to its composer.
fn starts() -> anyhow::Result<ResultLine> {
    let server = Server::start(0, false)?;
    let home = ChatHome::new(&server.base_url)?;
    let (mut ready, mut version) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        let mut command = home.posse()?;
        command.arg("--version");
        let since = Instant::now();
        let status = MeasuredTerminal::open(command)?.ended()?;
        ensure!(status.success(), "posse --version ended with {status}");
        version.push(since.elapsed().as_secs_f64() * 1000.0);

        let command = home.posse()?;
        let since = Instant::now();
        let mut chat = MeasuredTerminal::open(command)?;
        let at = chat.until("composer", |chat| chat.composed().is_some())?;
        ready.push((at - since).as_secs_f64() * 1000.0);
        chat.quit()?;
    }
    let (ready, version) = (median(ready), median(version));
    Ok(line(
        "start of the chat to its composer".into(),
        format!("{ready:.1} ms"),
        format!("{version:.1} ms (`posse --version`)"),
        format!("≤ {READY_MS_MAX} ms"),
        ready <= READY_MS_MAX,
    ))
}

/// What typing took, and what was written meanwhile.
struct Typing {
    key_ms: Vec<f64>,
    frames: Vec<MeasuredFrame>,
}

/// Types letters one by one at random moments, and waits for each.
fn type_keys(chat: &mut MeasuredTerminal, count: usize) -> anyhow::Result<Typing> {
    let (mut key_ms, mut frames) = (Vec::new(), Vec::new());
    let (mut random, mut typed) = (0x9e37_79b9_7f4a_7c15_u64, String::new());
    for n in 0..count {
        if n % KEYS_IN_A_ROW == 0 {
            chat.press("\u{15}")?;
            chat.until("empty composer", |chat| chat.composed().as_deref() == Some(""))?;
            typed.clear();
        }
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let gap = GAPS_MS.start + random % (GAPS_MS.end - GAPS_MS.start);
        frames.extend(chat.pass(Duration::from_millis(gap))?);
        let letter = char::from(b'a' + u8::try_from(random / 64 % 26)?);
        typed.push(letter);
        let since = Instant::now();
        chat.press(&letter.to_string())?;
        while chat.composed().as_deref() != Some(&typed) {
            let frame =
                chat.frame(ENDS)?.with_context(|| format!("{typed} is not seen:\n{}", chat.text()))?;
            if chat.composed().as_deref() == Some(&typed) {
                key_ms.push((frame.at - since).as_secs_f64() * 1000.0);
            }
            frames.push(frame);
        }
    }
    ensure!(key_ms.len() == count, "{} of {count} keys were measured", key_ms.len());
    chat.press("\u{15}")?;
    chat.until("empty composer", |chat| chat.composed().as_deref() == Some(""))?;
    Ok(Typing { key_ms, frames })
}

/// Keys and frames, at rest and while fifty agents write.
fn typing() -> anyhow::Result<Vec<ResultLine>> {
    let server = CrewServer::start(writing_turn, false);
    let home = ChatHome::new(&server.base_url)?;
    let mut chat = home.chat()?;
    chat.press("Say hello.\r")?;
    chat.until("reply", |chat| chat.text().contains("Here I am.") && !chat.text().contains("Esc stops"))?;
    let rest = type_keys(&mut chat, KEYS_AT_REST)?;
    chat.press("Have the notes read.\r")?;
    let since = Instant::now();
    while server.model.running_peak() < AGENTS {
        chat.pass(Duration::from_millis(20))?;
        ensure!(since.elapsed() < ENDS, "{} agents write:\n{}", server.model.running_peak(), chat.text());
    }
    let answered = server.model.answered_at();
    let session = home.background().context("the session has no process")?;
    let clock = CpuClock::start([chat.pid(), session])?;
    let busy = type_keys(&mut chat, KEYS)?;
    let percent = clock.percent()?;
    ensure!(server.model.answered_at() == answered, "an agent ended while keys were typed");
    chat.until("end", |chat| {
        chat.text().contains("They are all done.") && !chat.text().contains("Esc stops")
    })?;
    chat.quit()?;
    home.wait_for_end()?;
    let mut lines = typing_lines(&rest, &busy);
    lines.push(line(
        format!("processor time of the chat while {AGENTS} agents write"),
        format!("{:.1}%", percent[0]),
        format!("{:.1}% (its session's process)", percent[1]),
        "–".into(),
        true,
    ));
    Ok(lines)
}

fn typing_lines(rest: &Typing, busy: &Typing) -> Vec<ResultLine> {
    let key = |typing: &Typing| part(&typing.key_ms, 0.99);
    let weights = |typing: &Typing, is_one: fn(&MeasuredFrame) -> bool| {
        let frames = typing.frames.iter().filter(|frame| is_one(frame));
        frames.map(|frame| frame.bytes as f64).collect::<Vec<_>>()
    };
    let one = [weights(rest, |frame| frame.rows <= 1), weights(busy, |frame| frame.rows <= 1)].concat();
    let heaviest = part(&one, 1.0);
    let (all, of_key) = (weights(busy, |_| true), weights(rest, |_| true));
    vec![
        line(
            format!("key to screen while {AGENTS} agents write 20 pieces a second each, 99th percentile"),
            format!("{:.1} ms (median {:.1})", key(busy), part(&busy.key_ms, 0.5)),
            format!("{:.1} ms (median {:.1}) at rest", key(rest), part(&rest.key_ms, 0.5)),
            format!("< {KEY_MS_MAX} ms"),
            key(busy) < KEY_MS_MAX,
        ),
        line(
            format!("heaviest of {} frames in which one row changed, {COLUMNS} columns", one.len()),
            format!("{heaviest:.0} bytes"),
            format!("{:.0} bytes for one key at rest (median)", part(&of_key, 0.5)),
            format!("< {FRAME_BYTES_MAX:.0} bytes"),
            heaviest < FRAME_BYTES_MAX,
        ),
        line(
            format!("{} frames while {AGENTS} agents write, median", all.len()),
            format!("{:.0} bytes (99th percentile {:.0})", part(&all, 0.5), part(&all, 0.99)),
            format!("{:.0} bytes for one key at rest (median)", part(&of_key, 0.5)),
            format!("< {FRAME_BYTES_MAX:.0} bytes"),
            part(&all, 0.5) < FRAME_BYTES_MAX,
        ),
    ]
}

/// The value that this part of the values does not exceed.
pub(crate) fn part(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(place.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

/// The main agent answers, then starts them all and waits; they write slowly.
fn writing_turn(agent: &str, turn: usize) -> Turn {
    match (agent, turn) {
        ("main", 0) => Turn::text("Here I am."),
        ("main", 1) => start(AGENTS, turn, "fresh"),
        ("main", 2) => Turn::call("agent", json!({"action": "wait"})),
        ("main", _) => Turn::text("They are all done."),
        _ => slow_reply(),
    }
}

/// A reply whose pieces have the same length, so that each is one write; the report is the last.
fn slow_reply() -> Turn {
    let event = |delta: serde_json::Value, finish: Option<&str>| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
            "model": "fake-model", "choices": [choice]});
        format!("data: {chunk}\n\n")
    };
    let mut body = String::new();
    for n in 0..PIECES {
        body += &event(json!({"role": "assistant", "content": format!("I read part {n:04}. ")}), None);
    }
    let bytes = body.len() / PIECES;
    body += &event(json!({"content": format!("\n\n{REPORT}")}), None);
    body += &event(json!({}), Some("stop"));
    body += "data: [DONE]\n\n";
    Turn::raw(body).split_every(bytes).slowly(PAUSE)
}

/// Memory and processor time of a chat with a long session that has finished.
fn long_session() -> anyhow::Result<Vec<ResultLine>> {
    let server = Server::start(TURNS, false)?;
    let home = ChatHome::new(&server.base_url)?;
    let mut chat = home.chat()?;
    chat.pass(Duration::from_millis(500))?;
    let pid = chat.pid();
    let before_mb = resident_mb(pid)?;
    chat.press("Read the notes.\r")?;
    chat.until("end", |chat| chat.text().contains("Done.") && !chat.text().contains("Esc stops"))?;
    ensure!(server.model.calls() == TURNS + 1, "{} requests came", server.model.calls());
    let after_mb = resident_mb(pid)?;
    let session = home.background().context("the session has no process")?;
    // What the end of the work has to do is done.
    chat.pass(Duration::from_secs(1))?;
    let clock = CpuClock::start([pid, session])?;
    let frames = chat.pass(IDLE)?.len();
    let percent = clock.percent()?;
    chat.quit()?;
    home.wait_for_end()?;
    Ok(vec![
        line(
            format!("memory of the chat after {TURNS} turns"),
            format!("{after_mb:.1} MB"),
            format!("{before_mb:.1} MB at its start"),
            format!("< {MEMORY_MB_MAX} MB"),
            after_mb < MEMORY_MB_MAX,
        ),
        line(
            format!("processor time of the chat at rest after {TURNS} turns, of {} s", IDLE.as_secs()),
            format!("{:.2}% ({frames} frames)", percent[0]),
            format!("{:.2}% (its session's process)", percent[1]),
            format!("< {IDLE_PERCENT_MAX}%"),
            percent[0] < IDLE_PERCENT_MAX,
        ),
    ])
}

pub(crate) fn resident_mb(pid: u32) -> anyhow::Result<f64> {
    memory_mb(pid, "VmRSS:")
}

/// What the kernel says of the memory of a process, by the name of the line.
pub(crate) fn memory_mb(pid: u32, what: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(what)).context("no such memory")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
}

/// What two processes use of one processor from now on.
pub(crate) struct CpuClock {
    pids: [u32; 2],
    since: Instant,
    before_us: [f64; 2],
}

impl CpuClock {
    pub(crate) fn start(pids: [u32; 2]) -> anyhow::Result<Self> {
        Ok(Self { pids, since: Instant::now(), before_us: Self::used_us(pids)? })
    }

    pub(crate) fn percent(&self) -> anyhow::Result<[f64; 2]> {
        let (took_us, now_us) = (self.since.elapsed().as_secs_f64() * 1e6, Self::used_us(self.pids)?);
        Ok([0, 1].map(|one| (now_us[one] - self.before_us[one]) / took_us * 100.0))
    }

    fn used_us(pids: [u32; 2]) -> anyhow::Result<[f64; 2]> {
        let [chat, session] = pids.map(|pid| cpu_us(&Path::new("/proc").join(pid.to_string())));
        Ok([chat?, session?])
    }
}
