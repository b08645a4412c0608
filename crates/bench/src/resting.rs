//! Sessions that stay open: what the next prompt costs in a short and in a long conversation, what a thousand sessions that
//! rest take in one process, and what fifty readers cost the session they follow.
//!
//! The thousand sessions run in a process of their own, which is this program again, so that the server does not count.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use bytes::Bytes;
use posse_engine::models::Models;
use posse_engine::{Engine, Session, SessionRequest};
use posse_model::{Governors, Model, ModelConfig, Protocol};
use posse_protocol::{Budget, Ending, EventKind, Grant, Network, Seq, Update};
use posse_testkit::Turn;
use posse_tools::ToolSettings;

use crate::server::{Arrival, Server};
use crate::turns::raw;
use crate::{ResultLine, median};

/// Prompts of the conversation; those around the ends are compared.
const PROMPTS: usize = 240;
const AROUND: usize = 40;
const PROMPT_RATIO_MAX: f64 = 2.0;
/// For how long the first answer waits.
const QUEUES: Duration = Duration::from_millis(500);
const SESSIONS: usize = 1_000;
const OPEN_FILES: usize = 1_024;
const MEMORY_MB_MAX: f64 = 200.0;
const FOLLOWERS: usize = 50;
const FOLLOWED_TURNS: usize = 100;
const THINKS: Duration = Duration::from_millis(20);
const SLOWER_PERCENT_MAX: f64 = 10.0;
const ROUNDS: usize = 3;

/// The mode in which this program runs the sessions that rest.
pub(crate) const RESTING: &str = "resting-sessions";

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let mut lines = runtime.block_on(prompts())?;
    lines.extend(thousand()?);
    lines.push(runtime.block_on(followers())?);
    Ok(lines)
}

pub(crate) fn request(workspace: &Path, base_url: &str, prompt: String) -> anyhow::Result<SessionRequest> {
    let mut config = ModelConfig::new("fake", "fake-model", Protocol::Chat, base_url);
    config.max_concurrent = 50;
    Ok(SessionRequest {
        workspace: workspace.to_path_buf(),
        prompt,
        attachments: Vec::new(),
        models: Models::new(Model::new(config, &Governors::default())?, None),
        grant: Grant { network: Network::None, ..Grant::full() },
        budget: Budget::UNLIMITED,
        stay: true,
        tools: ToolSettings::default(),
        project: None,
        delegation: None,
        approvals: posse_engine::ApprovalSettings::default(),
        knowledge: posse_engine::KnowledgeSettings::default(),
        hooks: None,
        outside: None,
        workers: None,
        traceparent: None,
        watcher: None,
    })
}

async fn until_rest(session: &mut Session) -> anyhow::Result<()> {
    while let Some(update) = session.next().await {
        if let Update::Event(event) = update
            && let EventKind::AgentRested { report: Some(report) } = &event.kind
        {
            ensure!(report.ending == Ending::Completed, "a prompt ended as {}", report.ending);
            return Ok(());
        }
    }
    anyhow::bail!("the session has ended")
}

fn says() -> Turn {
    Turn::text("This is what I found, in a few sentences of a usual length. ".repeat(5))
}

/// From one request to the next, each of which is a prompt's, beside a raw client that sends the same requests.
async fn prompts() -> anyhow::Result<Vec<ResultLine>> {
    let recording = Server::by(usize::MAX - 1, true, first_waits)?;
    prompted(&recording.base_url).await?;
    let bodies: Vec<Bytes> = recording.take().into_iter().map(|one| Bytes::from(one.body)).collect();
    ensure!(bodies.len() == PROMPTS, "{} requests came", bodies.len());
    // Bodies are not kept while the clock runs.
    let server = Server::by(usize::MAX - 1, false, first_waits)?;
    let mut gaps = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (side, gaps) in gaps.iter_mut().enumerate() {
            match side {
                0 => prompted(&server.base_url).await?,
                _ => raw(&server.base_url, &bodies).await?,
            }
            let arrivals = server.take();
            ensure!(arrivals.len() == PROMPTS, "{} requests came", arrivals.len());
            let between = |pair: &[Arrival]| (pair[1].at - pair[0].at).as_secs_f64() * 1e6;
            gaps.push(arrivals.windows(2).map(between).collect::<Vec<_>>());
        }
    }
    let [posse, plain] = gaps;
    let line = |what: &str, from: usize| {
        let around = |rounds: &[Vec<f64>]| {
            median(rounds.iter().flat_map(|round| &round[from..from + AROUND]).copied().collect())
        };
        let (posse, plain) = (around(&posse), around(&plain));
        let ratio = posse / plain;
        ResultLine {
            what: format!("the next prompt {what}, from request to request, ratio to the raw client"),
            measured: format!("{ratio:.2} ({posse:.0} µs)"),
            floor: format!("1 ({plain:.0} µs)"),
            promise: format!("≤ {PROMPT_RATIO_MAX}"),
            holds: ratio <= PROMPT_RATIO_MAX,
        }
    };
    Ok(vec![
        line("in a short conversation", 2),
        line(&format!("after {PROMPTS} others"), PROMPTS - 1 - AROUND),
    ])
}

/// The first answer waits until all prompts are queued.
fn first_waits(n: usize) -> Turn {
    if n == 1 { says().delay(QUEUES) } else { says() }
}

/// A session of so many prompts. They are queued, so that each begins as soon as the one before is answered and on record:
/// interfaces are woken at most every few milliseconds, and would be measured otherwise.
async fn prompted(base_url: &str) -> anyhow::Result<()> {
    let (data, workspace) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let engine = Engine::open(data.path())?;
    let mut session = engine.start(request(workspace.path(), base_url, "Prompt 0.".into())?)?;
    // Its start is on record from its first event on.
    session.next().await.context("no event")?;
    for n in 1..PROMPTS {
        let prompt = format!("Prompt {n}: look at the next part and say what it is about.");
        engine.prompt(session.id, prompt).await?;
    }
    for _ in 0..PROMPTS {
        until_rest(&mut session).await?;
    }
    engine.close(session.id)?;
    while session.next().await.is_some() {}
    Ok(())
}

/// Memory and open files of a thousand sessions that rest.
fn thousand() -> anyhow::Result<Vec<ResultLine>> {
    let server = Server::by(usize::MAX - 1, false, |_| says())?;
    let limit = format!("ulimit -n {OPEN_FILES}; exec \"$0\" \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &limit])
        .arg(std::env::current_exe()?)
        .args([RESTING, &server.base_url])
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "the sessions that rest failed: {}", output.status);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let number = |name: &str| -> anyhow::Result<f64> {
        let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
        let (_, figure) = pairs.find(|(named, _)| *named == name).context("a figure is missing")?;
        Ok(figure.parse()?)
    };
    let (memory_mb, files) = (number("rss_kb")? / 1024.0, number("files")?);
    Ok(vec![
        ResultLine {
            what: format!("memory of {SESSIONS} sessions that rest in one process"),
            measured: format!("{memory_mb:.0} MB"),
            floor: format!("{:.0} MB before the first", number("before_kb")? / 1024.0),
            promise: format!("≤ {MEMORY_MB_MAX} MB"),
            holds: memory_mb <= MEMORY_MB_MAX,
        },
        ResultLine {
            what: format!("open files of {SESSIONS} sessions that rest"),
            measured: format!("{files:.0}"),
            floor: format!("{:.0} before the first", number("files_before")?),
            promise: format!("≤ {OPEN_FILES}, the limit of the process"),
            holds: files <= OPEN_FILES as f64,
        },
    ])
}

/// Runs the thousand sessions and prints what they take.
#[tokio::main(worker_threads = 2)]
pub(crate) async fn sessions(base_url: &str) -> anyhow::Result<()> {
    let place = tempfile::tempdir()?;
    let work = place.path().join("work");
    std::fs::create_dir(&work)?;
    let engine = Engine::open(&place.path().join("data"))?;
    let (before_kb, files_before) = (rss_kb()?, open_files()?);
    let mut resting = Vec::new();
    for n in 0..SESSIONS {
        let mut session = engine.start(request(&work, base_url, format!("Task {n}."))?)?;
        until_rest(&mut session).await?;
        resting.push(session);
    }
    println!("before_kb {before_kb}\nfiles_before {files_before}");
    println!("rss_kb {}\nfiles {}", rss_kb()?, open_files()?);
    ensure!(engine.running().len() == SESSIONS, "not all sessions are open");
    // The last and the first of them still answer.
    for session in [0, SESSIONS - 1] {
        engine.prompt(resting[session].id, "Are you there?").await?;
        until_rest(&mut resting[session]).await?;
    }
    Ok(())
}

fn open_files() -> anyhow::Result<usize> {
    Ok(std::fs::read_dir("/proc/self/fd")?.count())
}

fn rss_kb() -> anyhow::Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// A session whose model answers after 20 ms, alone and with fifty readers.
async fn followers() -> anyhow::Result<ResultLine> {
    let server = Server::by(FOLLOWED_TURNS, false, |n| {
        let lines = serde_json::json!({"path": "notes.txt", "start_line": n % 900 + 1, "limit": 20});
        Turn::text("Reading on.").and_call("read_file", lines).delay(THINKS)
    })?;
    let (mut alone, mut followed) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        alone.push(followed_run(&server, 0).await?);
        followed.push(followed_run(&server, FOLLOWERS).await?);
    }
    let (alone, followed) = (median(alone), median(followed));
    let slower = (followed / alone - 1.0) * 100.0;
    Ok(ResultLine {
        what: format!(
            "{FOLLOWERS} readers of a session whose model answers after 20 ms: how much slower it is"
        ),
        measured: format!("{slower:.1}% ({followed:.2} s)"),
        floor: format!("{alone:.2} s without readers"),
        promise: format!("≤ {SLOWER_PERCENT_MAX}%"),
        holds: slower <= SLOWER_PERCENT_MAX,
    })
}

async fn followed_run(server: &Server, readers: usize) -> anyhow::Result<f64> {
    let (data, workspace) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let notes = (1..=1000).map(|n| format!("line {n} of the notes\n")).collect::<String>();
    std::fs::write(workspace.path().join("notes.txt"), notes)?;
    let engine = Engine::open(data.path())?;
    let since = Instant::now();
    let request =
        SessionRequest { stay: false, ..request(workspace.path(), &server.base_url, "Read.".into())? };
    let mut session = engine.start(request)?;
    let id = session.id;
    let mut following = tokio::task::JoinSet::new();
    // There is something to follow once its first event is on record.
    session.next().await.context("no event")?;
    for _ in 0..readers {
        let engine = engine.clone();
        following.spawn(async move {
            let mut updates = engine.follow(id, Seq(0)).await?;
            let mut seen = 0;
            while let Some(update) = updates.next().await {
                seen += usize::from(matches!(update, Update::Event(_)));
            }
            anyhow::Ok(seen)
        });
    }
    while session.next().await.is_some() {}
    let took = since.elapsed().as_secs_f64();
    let mut seen = Vec::new();
    while let Some(reader) = following.join_next().await {
        seen.push(reader??);
    }
    ensure!(seen.len() == readers && seen.iter().all(|one| *one == seen[0]), "a reader missed something");
    server.take();
    Ok(took)
}
