//! From the offer of an agent to its first request to a model, on a worker that has nothing else to do: in a small repository, and in
//! a large one of which the worker has all but three files.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::ensure;
use posse_testkit::{Fixture, Turn};

use super::home::{HomePlan, HomeProcess, RunFigures};
use super::model::{AskedModel, WorkModel, repository, start, wait};
use super::transport::Transport;
use crate::crew::REPORT;
use crate::{ResultLine, median};

const TIMES: usize = 20;
const SMALL_MS_MAX: f64 = 150.0;
const LARGE_MS_MAX: f64 = 2_000.0;
const LARGE_KB_MAX: f64 = 100.0;
const LARGE_FILE_BYTES: usize = 1 << 20;
const CHANGED_BYTES: usize = 10 * 1024;

/// What happened to the agents of one session, one after the other.
struct Steps {
    /// From the reply that starts it to its first request.
    from_reply_ms: Vec<f64>,
    from_offer_ms: Vec<f64>,
    /// To the claim, to the grant, to what the worker asks, to the request to the model.
    parts_ms: [Vec<f64>; 4],
    /// What home had sent when each was offered, and in the end.
    sent_at_offer: Vec<f64>,
    sent: f64,
}

pub(super) fn small(transport: &Transport) -> anyhow::Result<Vec<ResultLine>> {
    let files = repository(100);
    let mut lines = Vec::new();
    for changes in [false, true] {
        let changed = usize::from(changes);
        let there = run(&files, Some(transport.clone()), TIMES + 1, changed)?;
        let here = run(&files, None, TIMES + 1, changed)?;
        ensure!(there.from_offer_ms.len() == TIMES + 1, "{} agents began", there.from_offer_ms.len());
        // The first one has the worker make its repository.
        let of = |times: &[f64]| median(times.iter().skip(1).copied().collect());
        let [claim, grant, asks, model] = there.parts_ms.each_ref().map(|part| of(part));
        let ms = of(&there.from_offer_ms);
        eprintln!(
            "  offer to claim {claim:.1} ms, to grant {grant:.1}, to the worker's request {asks:.1}, to the model {model:.1}; the \
             first one {:.0} ms in all",
            there.from_offer_ms[0]
        );
        let what = if changes { ", with a file that is changed each time" } else { "" };
        lines.push(ResultLine {
            what: format!(
                "offer to first request on an idle worker, 100 files{what}, over {}: median of {TIMES}",
                transport.name()
            ),
            measured: format!(
                "{ms:.0} ms (from the reply that starts it: {:.0} ms)",
                of(&there.from_reply_ms)
            ),
            floor: format!("{:.0} ms from that reply in one process, in a worktree", of(&here.from_reply_ms)),
            promise: format!("< {SMALL_MS_MAX:.0} ms"),
            holds: ms < SMALL_MS_MAX,
        });
    }
    Ok(lines)
}

pub(super) fn large(mb: usize, transport: &Transport) -> anyhow::Result<Vec<ResultLine>> {
    let files = large_repository(mb)?;
    let ran = run(&files, Some(transport.clone()), 2, 3)?;
    let (first, second) = match ran.from_offer_ms[..] {
        [first, second] => (first, second),
        _ => anyhow::bail!("{} agents began", ran.from_offer_ms.len()),
    };
    let [before, between] = ran.sent_at_offer[..] else { anyhow::bail!("not offered twice") };
    let (first_mb, second_kb) = ((between - before) / 1e6, (ran.sent - between) / 1024.0);
    let [claim, grant, asks, model] =
        ran.parts_ms.each_ref().map(|part| part.last().copied().unwrap_or(f64::NAN));
    eprintln!(
        "  {mb} MB: the first time {first:.0} ms and {first_mb:.0} MB; the second time offer to claim {claim:.0} ms, to grant \
         {grant:.0}, to the worker's request {asks:.0}, to the model {model:.0}"
    );
    let what =
        format!("a repository of {mb} MB with three changed files of 10 KB, over {}", transport.name());
    Ok(vec![
        ResultLine {
            what: format!("{what}: offer to first request the second time"),
            measured: format!("{second:.0} ms"),
            floor: format!("{first:.0} ms the first time"),
            promise: format!("< {LARGE_MS_MAX:.0} ms"),
            holds: second < LARGE_MS_MAX,
        },
        ResultLine {
            what: format!("{what}: what home sends for it, all letters to its end included"),
            measured: format!("{second_kb:.0} KB"),
            floor: format!("{first_mb:.0} MB the first time"),
            promise: format!("< {LARGE_KB_MAX:.0} KB"),
            holds: second_kb < LARGE_KB_MAX,
        },
    ])
}

/// The main agent starts one after the other. Files are changed before each but the first.
fn one_by_one(agent: &str, turn: usize, agents: usize, changed: usize, files: &Path) -> Turn {
    match (agent, turn) {
        ("main", turn) if turn >= agents * 2 => Turn::text("They are all done."),
        ("main", turn) if is_start(turn) => {
            for n in (0..changed).filter(|_| turn > 0) {
                let written = change(files, n, turn * 10 + n);
                written.unwrap_or_else(|error| eprintln!("a file cannot be changed: {error}"));
            }
            Turn::call("agent", start(turn))
        }
        ("main", _) => wait(),
        _ => Turn::text(REPORT),
    }
}

fn is_start(turn: usize) -> bool {
    turn.is_multiple_of(2)
}

fn change(files: &Path, number: usize, seed: usize) -> std::io::Result<()> {
    std::fs::write(files.join(format!("changed{number}.txt")), noise_text(seed, CHANGED_BYTES))
}

fn run(
    files: &Fixture,
    transport: Option<Transport>,
    agents: usize,
    changed: usize,
) -> anyhow::Result<Steps> {
    let place = tempfile::tempdir()?;
    let folder = files.path().to_owned();
    let model = WorkModel::start(move |agent, turn| one_by_one(agent, turn, agents, changed, &folder));
    let mut home = HomeProcess::start(&HomePlan {
        base_url: model.base_url.clone(),
        place: place.path().to_owned(),
        repository: files.path().to_owned(),
        transport,
        workers: 1,
        running: 4,
        sessions: 1,
        at_once: 4,
        steps: true,
        simulated: false,
    })?;
    home.ask("begin")?;
    home.settled()?;
    let figures = home.figures()?;
    Ok(steps(&model.take(), figures))
}

fn steps(asked: &[AskedModel], figures: RunFigures) -> Steps {
    let ms = |from: u64, to: u64| (to as f64 - from as f64) / 1000.0;
    let mut noted: Vec<(&str, BTreeMap<&str, u64>)> = Vec::new();
    let mut sent_at_offer = Vec::new();
    for step in figures.0["steps"].as_array().into_iter().flatten() {
        let [Some(agent), Some(name)] = [step[0].as_str(), step[1].as_str()] else { continue };
        if name == "offered" {
            noted.push((agent, BTreeMap::new()));
            sent_at_offer.push(step[3].as_f64().unwrap_or_default());
        }
        if let Some((_, steps)) = noted.iter_mut().find(|(known, _)| *known == agent) {
            steps.insert(name, step[2].as_u64().unwrap_or_default());
        }
    }
    let (mut from_reply_ms, mut from_offer_ms) = (Vec::new(), Vec::new());
    let mut parts_ms: [Vec<f64>; 4] = Default::default();
    let replied = asked.iter().filter(|one| one.agent == "main" && is_start(one.turn));
    let first = asked.iter().filter(|one| one.agent != "main" && one.turn == 0);
    for (at, (replied, first)) in replied.zip(first).enumerate() {
        from_reply_ms.push(ms(replied.at_us, first.at_us));
        let Some((_, steps)) = noted.get(at) else { continue };
        let when = |name: &str| steps.get(name).copied().unwrap_or_default();
        from_offer_ms.push(ms(when("offered"), first.at_us));
        let times = [when("offered"), when("claimed"), when("granted"), when("asked"), first.at_us];
        for (part, pair) in parts_ms.iter_mut().zip(times.windows(2)) {
            part.push(ms(pair[0], pair[1]));
        }
    }
    let sent = figures.number("bytes_down");
    Steps { from_reply_ms, from_offer_ms, parts_ms, sent_at_offer, sent }
}

/// Files that no compression makes smaller, in one commit.
fn large_repository(mb: usize) -> anyhow::Result<Fixture> {
    let fixture = repository(100);
    for n in 0..mb {
        let folder = fixture.path().join(format!("large/{}", n % 16));
        std::fs::create_dir_all(&folder)?;
        write_noise(&folder.join(format!("{n}.bin")), n as u64)?;
    }
    for n in 0..3 {
        change(fixture.path(), n, n + 1_000_000)?;
    }
    fixture.run_git(&["-c", "core.compression=0", "add", "--all"]);
    fixture.run_git(&["commit", "--quiet", "--message=large"]);
    Ok(fixture)
}

fn noise(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

fn write_noise(path: &Path, seed: u64) -> anyhow::Result<()> {
    let bytes: Vec<u8> = noise(seed).take(LARGE_FILE_BYTES / 8).flat_map(u64::to_le_bytes).collect();
    Ok(std::fs::write(path, bytes)?)
}

/// Text of so many bytes that compresses little.
fn noise_text(seed: usize, bytes: usize) -> String {
    let words = noise(seed as u64 + 1).map(|word| format!("{word:016x}"));
    let mut text = words.take(bytes / 16).collect::<Vec<_>>().join("");
    text.push('\n');
    text
}
