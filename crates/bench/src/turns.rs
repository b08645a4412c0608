//! Time per turn: Posse, with everything it does between a reply and the next request, against a client that only
//! sends the same requests.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use posse_engine::models::Models;
use posse_engine::{Engine, SessionRequest, SessionWatcher};
use posse_model::{Governors, Model, ModelConfig, Protocol};
use posse_protocol::{Budget, Ending, Grant, Network};
use posse_tools::ToolSettings;

use crate::server::{Arrival, Server};
use crate::{ResultLine, median};

const TURNS: usize = 500;
const ROUNDS: usize = 15;
/// Turns around the one that is reported; the middle of them counts.
const AROUND: usize = 10;
const EARLY_RATIO_MAX: f64 = 1.5;
const LATE_RATIO_MAX: f64 = 2.0;

/// Microseconds from one request to the next, around a turn.
pub(crate) fn around(arrivals: &[Arrival], turn: usize) -> Vec<f64> {
    let gaps = arrivals.windows(2).map(|pair| (pair[1].at - pair[0].at).as_secs_f64() * 1e6);
    let from = turn.saturating_sub(AROUND);
    gaps.skip(from).take(AROUND * 2).collect()
}

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let recording = Server::start(TURNS, true)?;
    runtime.block_on(posse(&recording.base_url, recorded, None))?;
    let bodies = recording.take().into_iter().map(|arrival| Bytes::from(arrival.body)).collect::<Vec<_>>();
    ensure!(bodies.len() == TURNS + 1, "{} requests came", bodies.len());

    // Bodies are not kept while the clock runs: fresh memory is slow, and would be charged to whoever comes first.
    let server = Server::start(TURNS, false)?;
    let (mut early, mut late) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for _ in 0..ROUNDS {
        for side in [0, 1] {
            match side {
                0 => runtime.block_on(posse(&server.base_url, recorded, None))?,
                _ => runtime.block_on(raw(&server.base_url, &bodies))?,
            }
            let arrivals = server.take();
            ensure!(arrivals.len() == TURNS + 1, "{} requests came", arrivals.len());
            early[side].extend(around(&arrivals, 10));
            late[side].extend(around(&arrivals, TURNS - AROUND));
        }
    }
    let breaks = prefix_breaks(&bodies);
    let prefix = ResultLine {
        what: format!("requests of {TURNS} turns that break the prefix"),
        measured: breaks.to_string(),
        floor: "0".into(),
        promise: "0".into(),
        holds: breaks == 0,
    };
    Ok(vec![line("turn 10", early, EARLY_RATIO_MAX), line("turn 500", late, LATE_RATIO_MAX), prefix])
}

fn line(what: &str, [posse, raw]: [Vec<f64>; 2], ratio_max: f64) -> ResultLine {
    let (posse, raw) = (median(posse), median(raw));
    let ratio = posse / raw;
    ResultLine {
        what: format!("time per turn at {what}, ratio to the raw client"),
        measured: format!("{ratio:.2} ({posse:.0} µs)"),
        floor: format!("1 ({raw:.0} µs)"),
        promise: format!("≤ {ratio_max}"),
        holds: ratio <= ratio_max,
    }
}

/// Requests that do not start with the one before up to its last message.
fn prefix_breaks(bodies: &[Bytes]) -> usize {
    let breaks = bodies.windows(2).filter(|pair| {
        let (before, after) = (&pair[0], &pair[1]);
        let same = before.iter().zip(after).take_while(|(a, b)| a == b).count();
        let last = String::from_utf8_lossy(before).rfind("{\"role\":").unwrap_or(before.len());
        same < last
    });
    breaks.count()
}

/// How a session comes to an engine, in a data directory of its own.
pub(crate) type OpenEngine = fn(&Path) -> anyhow::Result<Engine>;

/// An engine that records in a database, as always.
pub(crate) fn recorded(data_dir: &Path) -> anyhow::Result<Engine> {
    Ok(Engine::open(data_dir)?)
}

/// One session, of as many turns as the server wants.
pub(crate) async fn posse(
    base_url: &str,
    open: OpenEngine,
    watcher: Option<Arc<dyn SessionWatcher>>,
) -> anyhow::Result<()> {
    let (data, workspace) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let notes = (1..=1000).map(|n| format!("line {n} of the notes\n")).collect::<String>();
    std::fs::write(workspace.path().join("notes.txt"), notes)?;
    session_in(base_url, open(data.path())?, workspace.path(), watcher).await
}

/// One session in a folder.
pub(crate) async fn session_in(
    base_url: &str,
    engine: Engine,
    workspace: &Path,
    watcher: Option<Arc<dyn SessionWatcher>>,
) -> anyhow::Result<()> {
    let config = ModelConfig::new("fake", "fake-model", Protocol::Chat, base_url);
    let mut session = engine.start(SessionRequest {
        workspace: workspace.to_path_buf(),
        prompt: "Read the notes.".into(),
        attachments: Vec::new(),
        models: Models::new(Model::new(config, &Governors::default())?, None),
        grant: Grant { network: Network::None, ..Grant::full() },
        budget: Budget::UNLIMITED,
        stay: false,
        tools: ToolSettings::default(),
        project: None,
        delegation: None,
        approvals: posse_engine::ApprovalSettings::default(),
        knowledge: posse_engine::KnowledgeSettings::default(),
        hooks: None,
        outside: None,
        workers: None,
        traceparent: None,
        watcher,
    })?;
    while session.next().await.is_some() {}
    let report = session.report().await.context("no report")?;
    ensure!(report.ending == Ending::Completed, "the session ended as {}", report.ending);
    Ok(())
}

/// The floor: the same bodies, one after the other, each reply read to its end and thrown away.
pub(crate) async fn raw(base_url: &str, bodies: &[Bytes]) -> anyhow::Result<()> {
    // The client wants a provider even where nothing is encrypted; it may be there already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().tcp_nodelay(true).no_proxy().build()?;
    let url = format!("{base_url}/chat/completions");
    let since = Instant::now();
    for body in bodies {
        let request = client.post(&url).header("content-type", "application/json").body(body.clone());
        let mut response = request.send().await?;
        while response.chunk().await?.is_some() {}
        ensure!(since.elapsed().as_secs() < 600, "the server hangs");
    }
    Ok(())
}
