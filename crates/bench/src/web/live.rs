//! How soon what an agent writes is in the page: from the moment at which the model writes a piece to the moment at which it
//! is in the document, while fifty agents write. A plain follower reads the same stream beside it.

use std::collections::HashMap;
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

/// What was seen during a while, in milliseconds after it was written.
struct Watched {
    page_ms: Vec<f64>,
    plain_ms: Vec<f64>,
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
    until("agents write", || Ok(model.writing() >= AGENTS))?;
    let browser = Browser::start();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (stop, stopped) = watch::channel(false);
    let follow = PlainFollow {
        host: server.host().to_owned(),
        token: server.token.clone(),
        session: session.clone(),
        wants_stamps: true,
    };
    let plain = runtime.spawn(follow.run(stopped));

    let page = tab(&browser, &server, "true");
    let agents = server.get(&format!("/api/sessions/{session}/agents"))?;
    let one = sub_agent(&agents).context("no sub-agent")?;
    page.open(&format!("{}/#/s/{session}/a/{}", server.address, one.0));
    page.wait_for("document.querySelector('.live .markdown')", "text of the agent");
    let selected = watched(&page, &server)?;

    page.eval::<()>(&format!("location.hash = '#/s/{session}'"));
    let boxes = format!("document.querySelectorAll('.delegation').length === {AGENTS}");
    page.wait_for(&boxes, "fifty delegations");
    page.eval::<()>("document.querySelectorAll('.delegation-head').forEach((head) => head.click())");
    let texts = format!("document.querySelectorAll('.delegation .thread').length === {AGENTS}");
    page.wait_for(&texts, "fifty conversations");
    let unfolded = watched(&page, &server)?;

    is_over.store(true, Ordering::Relaxed);
    stop.send(true)?;
    let plain = runtime.block_on(plain)??;
    server.end(&session)?;
    let selected = selected.judged(&model, &plain, Some(&one.1))?;
    let unfolded = unfolded.judged(&model, &plain, None)?;
    Ok([lines("of the agent that is looked at", &selected), lines("of all agents, unfolded", &unfolded)].concat_lines())
}

trait ConcatLines {
    fn concat_lines(self) -> Vec<ResultLine>;
}

impl<const N: usize> ConcatLines for [Vec<ResultLine>; N] {
    fn concat_lines(self) -> Vec<ResultLine> {
        self.into_iter().flatten().collect()
    }
}
