//! How fast a large session is there again: a thousand sub-agents make one of 10,000 turns and 64 MB, then it is opened.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use posse_engine::Engine;
use posse_protocol::{Ending, Event, Seq, SessionId};
use posse_testkit::Turn;
use serde_json::json;

use crate::crew::{self, AGENTS, AT_ONCE, CrewServer, REPORT, STARTS_PER_REPLY};
use crate::{ResultLine, median};

/// The last of them is the report.
const TURNS_EACH: usize = 10;
/// Of each reply. No two are the same, so nothing is kept once for many.
const REPLY_BYTES: usize = 7_000;
const BYTES_MIN: usize = 64_000_000;
const TRIES: usize = 7;
const PAGE: usize = 500;
const READ_MS_MAX: f64 = 1_000.0;
const LIST_MS_MAX: f64 = 100.0;

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let place = tempfile::tempdir()?;
    let session = runtime.block_on(make(place.path()))?;
    let data = place.path().join("data");
    let (mut reads, mut lists, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TRIES {
        let since = Instant::now();
        events = read(&Engine::open(&data)?, session)?;
        reads.push(since.elapsed().as_secs_f64() * 1000.0);
        let since = Instant::now();
        let agents = Engine::open(&data)?.agents(session)?;
        lists.push(since.elapsed().as_secs_f64() * 1000.0);
        ensure!(agents.len() == AGENTS + 1, "{} agents are listed", agents.len());
    }
    let turns = Engine::open(&data)?.find_session(&session.to_string())?.turns;
    let bytes =
        events.iter().map(|event| serde_json::to_vec(event).map_or(0, |json| json.len())).sum::<usize>();
    ensure!(turns as usize >= AGENTS * TURNS_EACH && bytes >= BYTES_MIN, "{turns} turns, {bytes} bytes");
    let line = |what: String, ms: f64, most: f64| ResultLine {
        what,
        measured: format!("{ms:.0} ms"),
        floor: "–".into(),
        promise: format!("< {most} ms"),
        holds: ms < most,
    };
    let size = format!("{turns} turns, {} MB, {} events", bytes / 1_000_000, events.len());
    Ok(vec![
        line(format!("opening the record and reading a session of {size}"), median(reads), READ_MS_MAX),
        line(format!("opening the record and listing its {} agents", AGENTS + 1), median(lists), LIST_MS_MAX),
    ])
}

fn read(engine: &Engine, session: SessionId) -> anyhow::Result<Vec<Event>> {
    let (mut events, mut after) = (Vec::new(), Seq(0));
    loop {
        let page = engine.events_after(session, after, PAGE)?;
        let Some(last) = page.last() else { return Ok(events) };
        after = last.seq;
        events.extend(page);
    }
}

/// Has the session made, and waits until all of it is on record.
async fn make(place: &Path) -> anyhow::Result<SessionId> {
    let server = CrewServer::start(turn, false);
    let mut session = crew::begin(place, &server.base_url, AT_ONCE)?;
    let id = session.id;
    while session.next().await.is_some() {}
    let report = session.report().await.context("no report")?;
    ensure!(report.ending == Ending::Completed, "the session ended as {}", report.ending);
    Ok(id)
}

/// The main agent starts them all and waits; each of them says a lot, reads a little, and then reports.
pub(crate) fn turn(agent: &str, turn: usize) -> Turn {
    let starts = AGENTS / STARTS_PER_REPLY;
    match (agent, turn) {
        ("main", turn) if turn < starts => crew::start(STARTS_PER_REPLY, turn, "fresh"),
        ("main", turn) if turn == starts => Turn::call("agent", json!({"action": "wait"})),
        ("main", _) => Turn::text("They are all done."),
        (_, turn) if turn + 1 < TURNS_EACH => {
            let lines = json!({"path": "notes.txt", "start_line": turn * 20 + 1, "end_line": turn * 20 + 20});
            let words = format!("{agent} goes on to part {turn}. ");
            Turn::text(words.repeat(REPLY_BYTES / words.len())).and_call("read_file", lines)
        }
        _ => Turn::text(REPORT),
    }
}
