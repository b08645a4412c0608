//! What servers of tools cost a session: bytes of its first request, time of its start, and calls of many agents at once.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use posse_engine::{Engine, SessionRequest};
use posse_mcp::{EntryOrigin, ServerEntry, ServerReach, Servers};
use posse_testkit::Turn;
use posse_tools::{OutsideCall, OutsidePlace, OutsideTools, Sandbox};
use posse_workspace::Workspace;
use serde_json::json;

use crate::resting::request;
use crate::server::Server;
use crate::{ResultLine, median};

const TRIES: usize = 15;
const AGENTS: usize = 20;
const CALLS: usize = 50;
const BYTES_MAX: usize = 600;
/// A start with a server that hangs beside one without servers.
const START_RATIO_MAX: f64 = 1.5;

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut lines = runtime.block_on(starts())?;
    lines.extend(runtime.block_on(calls())?);
    Ok(lines)
}

/// The server of the tests of `mcp`.
fn entry(how: &str) -> anyhow::Result<ServerEntry> {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../mcp/tests/it/server.py");
    let arguments = vec!["-c".to_owned(), std::fs::read_to_string(script)?, how.to_owned()];
    let reach = ServerReach::Program { command: "python3".to_owned(), arguments, env: Vec::new() };
    Ok(ServerEntry::new("tools", reach, EntryOrigin::Person("bench".into())))
}

fn servers(how: &str, keep: &Path) -> anyhow::Result<Arc<Servers>> {
    Ok(Arc::new(Servers::new(vec![entry(how)?], keep.to_owned())))
}

/// How long from the start of a session to its first request, and how long that is.
async fn first(model: &Server, place: &Path, outside: Option<Arc<Servers>>) -> anyhow::Result<(f64, usize)> {
    let engine = Engine::open(&place.join("data"))?;
    model.take();
    let began = Instant::now();
    let plain = request(place, &model.base_url, "Go.".to_owned())?;
    let outside = outside.map(|outside| outside as Arc<dyn OutsideTools>);
    let mut session = engine.start(SessionRequest { stay: false, outside, ..plain })?;
    while session.next().await.is_some() {}
    let arrivals = model.take();
    ensure!(!arrivals.is_empty(), "no request came");
    Ok((arrivals[0].at.duration_since(began).as_secs_f64() * 1e3, arrivals[0].body.len()))
}

async fn starts() -> anyhow::Result<Vec<ResultLine>> {
    let model = Server::by(usize::MAX - 1, true, |_| Turn::text("Done."))?;
    let keep = tempfile::tempdir()?;
    // What a server has is known from an earlier session.
    let known = servers("many", keep.path())?;
    let place = tempfile::tempdir()?;
    let workspace = Workspace::open(place.path())?;
    known.begin(OutsidePlace { workspace, sandbox: Sandbox::default() });
    known.find("", &|_| true).await;
    known.end().await;
    let (mut plain, mut hung, mut grown) = (Vec::new(), Vec::new(), 0);
    for _ in 0..TRIES {
        let place = tempfile::tempdir()?;
        let (ms, bare) = first(&model, place.path(), None).await?;
        plain.push(ms);
        let place = tempfile::tempdir()?;
        let (_, many) = first(&model, place.path(), Some(servers("many", keep.path())?)).await?;
        grown = many - bare;
        let place = tempfile::tempdir()?;
        hung.push(first(&model, place.path(), Some(servers("hangs", place.path())?)).await?.0);
    }
    let (plain, hung) = (median(plain), median(hung));
    Ok(vec![
        ResultLine {
            what: "100 tools of a server: how much longer the first request is".into(),
            measured: format!("{grown} bytes"),
            floor: "0 without servers".into(),
            promise: format!("< {BYTES_MAX} bytes"),
            holds: grown < BYTES_MAX,
        },
        ResultLine {
            what: "from the start of a session to its first request, with a server that never answers".into(),
            measured: format!("{hung:.1} ms"),
            floor: format!("{plain:.1} ms without servers"),
            promise: format!("≤ {START_RATIO_MAX} ×"),
            holds: hung <= plain * START_RATIO_MAX,
        },
    ])
}

async fn calls() -> anyhow::Result<Vec<ResultLine>> {
    let (place, keep) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let all = servers("plain", keep.path())?;
    all.begin(OutsidePlace { workspace: Workspace::open(place.path())?, sandbox: Sandbox::default() });
    all.find("", &|_| true).await;
    let one = many(&all, 1).await?;
    let together = many(&all, AGENTS).await?;
    all.end().await;
    let each = |took: Duration, agents: usize| took.as_secs_f64() * 1e3 / (agents * CALLS) as f64;
    let (alone, beside) = (each(one, 1), each(together, AGENTS));
    Ok(vec![ResultLine {
        what: format!("a call of a tool, {AGENTS} agents with {CALLS} calls each at once on one server"),
        measured: format!("{beside:.2} ms"),
        floor: format!("{alone:.2} ms for one agent alone"),
        promise: "≤ 1.5 ×".into(),
        holds: beside <= alone * 1.5,
    }])
}

/// So many agents call a tool, one call after the other each.
async fn many(all: &Arc<Servers>, agents: usize) -> anyhow::Result<Duration> {
    let began = Instant::now();
    let agent = |n: usize| {
        let all = Arc::clone(all);
        tokio::spawn(async move {
            let agent = "0198c5a4-0000-7000-8000-000000000001".parse()?;
            for call in 0..CALLS {
                let text = format!("{n}/{call}.");
                let (name, arguments) = ("mcp__tools__echo".to_owned(), json!({"text": &text}));
                let call = OutsideCall {
                    name,
                    arguments,
                    agent,
                    judged_unknown: false,
                    questions: None,
                    traceparent: None,
                };
                let said = all.call(call).await;
                ensure!(said.ok && said.text.contains(&text), "a call came to {}", said.text);
            }
            anyhow::Ok(())
        })
    };
    for agent in (0..agents).map(agent).collect::<Vec<_>>() {
        agent.await??;
    }
    Ok(began.elapsed())
}
