//! What two hundred followers cost a session of ten agents that write: the same session without followers and with them, in
//! turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::json;
use tokio::sync::watch;

use crate::chat::CpuClock;
use crate::crew::REPORT;
use crate::web::clocked::{ClockedExchange, ClockedModel, ClockedReply};
use crate::web::follower::{PlainFollow, PlainFollowed};
use crate::web::home::{WebHome, WebServer};
use crate::web::line;
use crate::web::live::starts;
use crate::{ResultLine, median};

const FOLLOWERS: usize = 200;
const AGENTS: usize = 10;
const EVERY: Duration = Duration::from_millis(50);
/// Pieces of a reply, and replies of an agent before its report.
const PIECES: usize = 20;
const TURNS: usize = 8;
const ROUNDS: usize = 3;
const SLOWER_PERCENT_MAX: f64 = 10.0;
const FRAMES_MAX: f64 = 20.0;
/// Until all followers are there, and until they have read what came last.
const SETTLES: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(120);
/// Frames are counted over so long.
const WINDOW: Duration = Duration::from_secs(5);

/// How one session went.
struct FollowedRun {
    /// From the start of the agents to the main agent's last request.
    took_s: f64,
    /// From a reply to the next request of the same agent, the median.
    between_ms: f64,
    /// Of one processor: the server, the process of the session.
    percent: [f64; 2],
    followed: Vec<PlainFollowed>,
}

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let begins = Arc::new(AtomicBool::new(false));
    let gate = Arc::clone(&begins);
    let model = ClockedModel::start(move |agent, turn| reply(agent, turn, gate.load(Ordering::Relaxed)))?;
    let home = WebHome::new(tempfile::tempdir()?, &model.base_url)?;
    let server = home.serve()?;
    let (mut alone, mut followed) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(run(&server, &model, &begins, 0)?);
        followed.push(run(&server, &model, &begins, FOLLOWERS)?);
    }
    let of =
        |runs: &[FollowedRun], figure: fn(&FollowedRun) -> f64| median(runs.iter().map(figure).collect());
    let [took, took_alone] = [&followed, &alone].map(|runs| of(runs, |run| run.took_s));
    let [between, between_alone] = [&followed, &alone].map(|runs| of(runs, |run| run.between_ms));
    let [server_percent, server_alone] = [&followed, &alone].map(|runs| of(runs, |run| run.percent[0]));
    let [process, process_alone] = [&followed, &alone].map(|runs| of(runs, |run| run.percent[1]));
    let slower = (took / took_alone - 1.0) * 100.0;
    let all = || followed.iter().flat_map(|run| &run.followed);
    let frames = all().map(frames_per_second).fold(0.0, f64::max);
    let messages = all().map(|one| one.messages as f64 / one.frames.len() as f64);
    Ok(vec![
        line(
            format!(
                "{FOLLOWERS} followers of a session of {AGENTS} agents at 20 pieces a second: how much slower it is"
            ),
            format!("{slower:.1}% ({took:.2} s)"),
            format!("{took_alone:.2} s without followers"),
            format!("< {SLOWER_PERCENT_MAX}%"),
            slower < SLOWER_PERCENT_MAX,
        ),
        line(
            "… from a reply to the next request".into(),
            format!("{between:.2} ms"),
            format!("{between_alone:.2} ms without followers"),
            "–".into(),
            true,
        ),
        line(
            "… frames a second of the follower that gets the most".into(),
            format!("{frames:.1} ({:.1} messages in each)", median(messages.collect())),
            format!("{} pieces a second are written", AGENTS * 20),
            format!("≤ {FRAMES_MAX}"),
            frames <= FRAMES_MAX,
        ),
        line(
            "… processor time of the server".into(),
            format!("{server_percent:.0}%"),
            format!("{server_alone:.1}% without followers"),
            "–".into(),
            true,
        ),
        line(
            "… processor time of the session's process".into(),
            format!("{process:.1}%"),
            format!("{process_alone:.1}% without followers"),
            "–".into(),
            true,
        ),
    ])
}

/// The main agent starts them all when it may, and waits. They write and read, and report.
fn reply(agent: &str, turn: usize, begins: bool) -> ClockedReply {
    match (agent, turn) {
        ("main", 0) if !begins => ClockedReply::Waits,
        ("main", 0) => ClockedReply::Calls("agent", starts(AGENTS)),
        ("main", 1) => ClockedReply::Calls("agent", vec![json!({"action": "wait"})]),
        ("main", _) => ClockedReply::Says("They are all done.".into()),
        (_, turn) if turn < TURNS => {
            let line = turn * 20 + 1;
            let arguments = json!({"path": "notes.txt", "start_line": line, "end_line": line + 19});
            ClockedReply::Writes { pieces: PIECES, every: EVERY, first: EVERY, tool: "read_file", arguments }
        }
        _ => ClockedReply::Says(REPORT.into()),
    }
}

/// One session from begin to end, with so many followers.
fn run(
    server: &WebServer,
    model: &ClockedModel,
    begins: &AtomicBool,
    followers: usize,
) -> anyhow::Result<FollowedRun> {
    begins.store(false, Ordering::Relaxed);
    model.take();
    let session = server.begin("Have the notes read.")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (stop, stopped) = watch::channel(false);
    let follow = PlainFollow {
        host: server.host().to_owned(),
        token: server.token.clone(),
        session: session.clone(),
        wants_stamps: false,
    };
    let following =
        (0..followers).map(|_| runtime.spawn(follow.clone().run(stopped.clone()))).collect::<Vec<_>>();
    std::thread::sleep(SETTLES);
    let process = server.session_process().context("the session has no process")?;
    let clock = CpuClock::start([server.pid(), process])?;
    let since = Instant::now();
    begins.store(true, Ordering::Relaxed);
    let mut exchanges = Vec::new();
    while !is_over(&exchanges) {
        ensure!(since.elapsed() < PATIENCE, "the session does not end");
        std::thread::sleep(Duration::from_millis(20));
        exchanges.extend(model.take());
    }
    let percent = clock.percent()?;
    std::thread::sleep(SETTLES);
    stop.send(true)?;
    let followed =
        following.into_iter().map(|one| runtime.block_on(one)?).collect::<anyhow::Result<Vec<_>>>()?;
    server.end(&session)?;
    let events = followed.first().map_or(0, |one| one.events);
    ensure!(followed.iter().all(|one| one.events == events), "a follower missed an event");
    ensure!(followers == 0 || events > AGENTS * TURNS * 4, "{events} events came");
    let end = exchanges.iter().filter(|one| one.agent == "main").map(|one| one.asked).max();
    let took_s = (end.context("no end")? - since).as_secs_f64();
    Ok(FollowedRun { took_s, between_ms: between_ms(&exchanges), percent, followed })
}

/// Whether the main agent has said its last word.
fn is_over(exchanges: &[ClockedExchange]) -> bool {
    exchanges.iter().filter(|one| one.agent == "main").count() == 3
}

fn between_ms(exchanges: &[ClockedExchange]) -> f64 {
    let mut gaps = Vec::new();
    for one in exchanges.iter().filter(|one| one.agent != "main") {
        let next = exchanges.iter().filter(|next| next.agent == one.agent && next.asked >= one.answered);
        if let Some(next) = next.min_by_key(|next| next.asked) {
            gaps.push((next.asked - one.answered).as_secs_f64() * 1e3);
        }
    }
    median(gaps)
}

/// In the seconds in which the most came.
fn frames_per_second(followed: &PlainFollowed) -> f64 {
    let busiest = followed.frames.iter().enumerate().map(|(n, from)| {
        let within = followed.frames[n..].iter().take_while(|at| **at - *from < WINDOW);
        within.count() as f64 / WINDOW.as_secs_f64()
    });
    busiest.fold(0.0, f64::max)
}
