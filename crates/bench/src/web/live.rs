//! How soon what an agent writes is in the page: from the moment at which the model writes a piece to the moment at which it
//! is in the document, while fifty agents write. A plain follower reads the same stream beside it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use posse_testkit::chromium::{Browser, Page};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::ResultLine;
use crate::chat::{CpuClock, part};
use crate::crew::REPORT;
use crate::web::clocked::{ClockedModel, ClockedReply, now_us};
use crate::web::follower::{PlainFollow, PlainFollowed};
use crate::web::home::{WebHome, WebServer};
use crate::web::line;
use crate::web::tab::tab;

const AGENTS: usize = 50;
const EVERY: Duration = Duration::from_millis(100);
/// Pieces of a reply; then the agent reads a part of a file. Those of the first reply differ, so that agents get out of step.
const PIECES: usize = 40;
const WATCHED: Duration = Duration::from_secs(20);
/// What has begun to move calms down, and what was written last comes through.
const SETTLES: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(30);
const DELAY_MS_MAX: f64 = 50.0;
const WATCH: &str = include_str!("watch.js");

/// What was seen during a while.
struct Watched {
    from_us: u64,
    until_us: u64,
    /// Times that agents wrote, with when they were in the document.
    seen: HashMap<u64, f64>,
    /// Of one processor: the server, the process of the session.
    percent: [f64; 2],
    /// The same of the page's main thread.
    page_percent: f64,
}

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let is_over = Arc::new(AtomicBool::new(false));
    let ending = Arc::clone(&is_over);
    let model = ClockedModel::start(move |agent, turn| reply(agent, turn, ending.load(Ordering::Relaxed)))?;
    let home = WebHome::new(tempfile::tempdir()?, &model.base_url)?;
    let server = home.serve()?;
    let session = server.begin("Have the notes read.")?;
    let since = Instant::now();
    while model.writing() < AGENTS {
        ensure!(since.elapsed() < PATIENCE, "{} agents write", model.writing());
        std::thread::sleep(Duration::from_millis(20));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (stop, stopped) = watch::channel(false);
    let follow = PlainFollow {
        host: server.host().to_owned(),
        token: server.token.clone(),
        session: session.clone(),
        wants_stamps: true,
    };
    let plain = runtime.spawn(follow.run(stopped));
    let browser = Browser::start();
    let page = tab(&browser, &server, "true");
    let (id, name) = sub_agent(&server, &session)?;
    page.open(&format!("{}/#/s/{session}/a/{id}", server.address));
    page.wait_for("document.querySelector('.live .markdown')", "text of the agent");
    let selected = watched(&page, &server)?;
    page.eval::<()>(&format!("void (location.hash = '#/s/{session}')"));
    let boxes = format!("document.querySelectorAll('.delegation').length === {AGENTS}");
    page.wait_for(&boxes, "a box for each agent");
    page.eval::<()>("document.querySelectorAll('.delegation-head').forEach((head) => head.click())");
    let texts = format!("document.querySelectorAll('.delegation .thread .item').length > {AGENTS}");
    page.wait_for(&texts, "the conversations in the boxes");
    let unfolded = watched(&page, &server)?;
    is_over.store(true, Ordering::Relaxed);
    stop.send(true)?;
    let plain = runtime.block_on(plain)??;
    server.end(&session)?;
    let mut lines = selected.lines("of the agent that is looked at", &model, &plain, Some(&name))?;
    lines.extend(unfolded.lines("of all agents, unfolded in one conversation", &model, &plain, None)?);
    Ok(lines)
}

/// The main agent starts them all and waits. They write, read a part of a file, and write again.
fn reply(agent: &str, turn: usize, is_over: bool) -> ClockedReply {
    match (agent, turn) {
        ("main", 0) => ClockedReply::Calls("agent", starts(AGENTS)),
        ("main", 1) => ClockedReply::Calls("agent", vec![json!({"action": "wait"})]),
        ("main", _) => ClockedReply::Says("They are all done.".into()),
        _ if is_over => ClockedReply::Says(REPORT.into()),
        _ => {
            let own = agent.bytes().fold(7, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
            let first = Duration::from_millis(own % 100);
            let pieces =
                if turn == 0 { 5 + usize::try_from(own / 100).unwrap_or(0) % PIECES } else { PIECES };
            let line = turn * 20 % 900 + 1;
            let arguments = json!({"path": "notes.txt", "start_line": line, "end_line": line + 19});
            ClockedReply::Writes { pieces, every: EVERY, first, tool: "read_file", arguments }
        }
    }
}

/// What starts so many sub-agents.
pub(crate) fn starts(count: usize) -> Vec<Value> {
    let one = |n: usize| {
        let prompt = format!("Read part {n} of the notes.");
        json!({"action": "start", "role": "explore", "context": "fresh", "prompt": prompt})
    };
    (0..count).map(one).collect()
}

/// The id and the name of a sub-agent in the middle.
fn sub_agent(server: &WebServer, session: &str) -> anyhow::Result<(String, String)> {
    let answer = server.get(&format!("/api/sessions/{session}/agents"))?;
    let agents = answer["agents"].as_array().context("no agents")?;
    let agent = agents.get(AGENTS / 2).context("no sub-agent")?;
    let text = |name: &str| agent[name].as_str().map(str::to_owned).context("something is missing");
    Ok((text("id")?, text("name")?))
}

/// Watches the page for a while.
fn watched(page: &Page, server: &WebServer) -> anyhow::Result<Watched> {
    std::thread::sleep(SETTLES);
    ensure!(page.eval::<bool>(WATCH), "the page is not watched");
    let session = server.session_process().context("the session has no process")?;
    let clock = CpuClock::start([server.pid(), session])?;
    let (from_us, busy) = (now_us(), page.metrics());
    std::thread::sleep(WATCHED);
    let (until_us, busy_after, percent) = (now_us(), page.metrics(), clock.percent()?);
    // What was written last is still under way.
    std::thread::sleep(SETTLES);
    let seen: Vec<(String, f64)> = page.eval("[...window.__seen]");
    let seen = seen.into_iter().map(|(stamp, ms)| Ok((stamp.parse()?, ms * 1e3)));
    let used = |metrics: &BTreeMap<String, f64>| metrics.get("TaskDuration").copied().unwrap_or(f64::NAN);
    let page_percent = (used(&busy_after) - used(&busy)) / WATCHED.as_secs_f64() * 100.0;
    let seen = seen.collect::<anyhow::Result<_>>()?;
    Ok(Watched { from_us, until_us, seen, percent, page_percent })
}

impl Watched {
    fn lines(
        &self,
        whose: &str,
        model: &ClockedModel,
        plain: &PlainFollowed,
        agent: Option<&str>,
    ) -> anyhow::Result<Vec<ResultLine>> {
        let written = model.pieces().into_iter().filter(|piece| {
            (self.from_us..self.until_us).contains(&piece.at_us)
                && agent.is_none_or(|agent| agent == piece.agent)
        });
        let written = written.map(|piece| piece.at_us).collect::<Vec<_>>();
        let mut came = HashMap::new();
        for (stamp, at_us) in &plain.stamps {
            came.entry(*stamp).or_insert(*at_us as f64);
        }
        let delays = |came: &HashMap<u64, f64>| -> Vec<f64> {
            let ms = |at_us: &u64| Some((came.get(at_us)? - *at_us as f64) / 1e3);
            written.iter().filter_map(ms).collect()
        };
        let (in_page, in_plain) = (delays(&self.seen), delays(&came));
        let missing = [in_page.len(), in_plain.len()].map(|seen| written.len() - seen);
        ensure!(missing == [0, 0], "of {} pieces, {missing:?} were not seen", written.len());
        let delay = part(&in_page, 0.99);
        Ok(vec![
            line(
                format!(
                    "{AGENTS} agents write 10 pieces a second each: from the model to the document, {whose}, 99th percentile"
                ),
                format!("{delay:.1} ms (median {:.1}, {} pieces)", part(&in_page, 0.5), written.len()),
                format!(
                    "{:.1} ms (median {:.1}) to a plain follower",
                    part(&in_plain, 0.99),
                    part(&in_plain, 0.5)
                ),
                format!("< {DELAY_MS_MAX} ms"),
                delay < DELAY_MS_MAX,
            ),
            line(
                "… processor time of the page's main thread".into(),
                format!("{:.0}%", self.page_percent),
                format!(
                    "{:.1}% (the server), {:.1}% (the session's process)",
                    self.percent[0], self.percent[1]
                ),
                "–".into(),
                true,
            ),
        ])
    }
}
