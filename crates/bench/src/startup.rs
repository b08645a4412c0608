//! The real binary: how fast it is there, how fast its first request leaves, and how much memory 500 turns take.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::server::Server;
use crate::{ResultLine, median};

const TRIES: usize = 21;
const VERSION_MS_MAX: f64 = 10.0;
const FIRST_REQUEST_MS_MAX: f64 = 50.0;
const ACP_MS_MAX: f64 = 30.0;
const MEMORY_MB_MAX: f64 = 40.0;
const TURNS: usize = 500;

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let posse = built()?;
    let floor = median((0..TRIES).map(|_| run_ms(Command::new("true"))).collect::<anyhow::Result<_>>()?);
    let version =
        median((0..TRIES).map(|_| run_ms(with_arg(&posse, "--version"))).collect::<anyhow::Result<_>>()?);
    let first = median((0..TRIES).map(|_| first_request_ms()).collect::<anyhow::Result<_>>()?);
    let acp = median((0..TRIES).map(|_| acp_ready_ms(&posse)).collect::<anyhow::Result<_>>()?);
    let memory = peak_mb()?;
    let time = |what: &str, ms: f64, promise: f64| ResultLine {
        what: what.into(),
        measured: format!("{ms:.1} ms"),
        floor: format!("{floor:.1} ms (`true`)"),
        promise: format!("< {promise} ms"),
        holds: ms < promise,
    };
    Ok(vec![
        time("`posse --version`", version, VERSION_MS_MAX),
        time("start to first request received", first, FIRST_REQUEST_MS_MAX),
        time("`posse acp`: start to the answer to `initialize`", acp, ACP_MS_MAX),
        ResultLine {
            what: format!("peak memory of `posse run` at turn {TURNS}"),
            measured: format!("{memory:.1} MB"),
            floor: "–".into(),
            promise: format!("< {MEMORY_MB_MAX} MB"),
            holds: memory < MEMORY_MB_MAX,
        },
    ])
}

fn with_arg(program: &Path, arg: &str) -> Command {
    let mut command = Command::new(program);
    command.arg(arg);
    command
}

fn run_ms(mut command: Command) -> anyhow::Result<f64> {
    let since = Instant::now();
    let status = command.stdout(Stdio::null()).status()?;
    ensure!(status.success());
    Ok(since.elapsed().as_secs_f64() * 1000.0)
}

/// The binary that is measured.
pub(crate) fn built() -> anyhow::Result<PathBuf> {
    let posse = std::env::current_exe()?.with_file_name("posse");
    ensure!(posse.exists(), "{} is not built: use scripts/bench", posse.display());
    Ok(posse)
}

/// A home with a configuration that names the server, and a folder to work in.
pub(crate) fn prepare(base_url: &str) -> anyhow::Result<(tempfile::TempDir, Command)> {
    let home = tempfile::tempdir()?;
    let work = home.path().join("work");
    std::fs::create_dir(&work)?;
    std::fs::write(work.join("notes.txt"), "some notes\n".repeat(1000))?;
    let command = program(home.path(), &work, base_url)?;
    Ok((home, command))
}

/// `posse run` in a folder, with a configuration that names the server in a home of its own.
pub(crate) fn program(home: &Path, work: &Path, base_url: &str) -> anyhow::Result<Command> {
    let config: PathBuf = home.join("config.toml");
    std::fs::write(
        &config,
        format!(
            "[models.fake]\nendpoint = \"{base_url}\"\nmodel = \"fake-model\"\n[limits]\nmax_turns = 1000\n"
        ),
    )?;
    let mut command = Command::new(built()?);
    command
        .args(["run", "--quiet", "Read the notes."])
        .current_dir(work)
        .env("POSSE_HOME", home.join("data"));
    command.env("POSSE_CONFIG", config).stdout(Stdio::null()).stdin(Stdio::null());
    Ok(command)
}

/// Runs the program to its end. What it says is an error's business only.
pub(crate) fn run(mut command: Command) -> anyhow::Result<()> {
    let output = command.stderr(Stdio::piped()).output()?;
    ensure!(output.status.success(), "posse run failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn first_request_ms() -> anyhow::Result<f64> {
    let server = Server::start(0, false)?;
    let (_home, command) = prepare(&server.base_url)?;
    let since = Instant::now();
    run(command)?;
    let arrivals = server.take();
    let first = arrivals.first().context("no request came")?;
    Ok((first.at - since).as_secs_f64() * 1000.0)
}

/// How long an editor waits for `posse acp`, from its start to its first answer.
fn acp_ready_ms(posse: &Path) -> anyhow::Result<f64> {
    let home = tempfile::tempdir()?;
    let since = Instant::now();
    let mut child = Command::new(posse)
        .arg("acp")
        .current_dir(home.path())
        .env("POSSE_HOME", home.path().join("data"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().context("no pipe")?;
    input.write_all(
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":1}}\n",
    )?;
    let mut answer = String::new();
    BufReader::new(child.stdout.take().context("no pipe")?).read_line(&mut answer)?;
    let ms = since.elapsed().as_secs_f64() * 1000.0;
    ensure!(answer.contains("agentCapabilities"), "an odd answer: {answer}");
    drop(input);
    ensure!(child.wait()?.success());
    Ok(ms)
}

/// The high-water mark of resident memory, read while the last turns run.
fn peak_mb() -> anyhow::Result<f64> {
    let server = Server::start(TURNS, false)?;
    let (_home, mut command) = prepare(&server.base_url)?;
    let mut child = command.stderr(Stdio::null()).spawn()?;
    let status_file = format!("/proc/{}/status", child.id());
    let mut peak_kb = 0.0_f64;
    while child.try_wait()?.is_none() {
        let status = std::fs::read_to_string(&status_file).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kb = line.and_then(|text| text.trim().trim_end_matches(" kB").parse::<f64>().ok());
        peak_kb = peak_kb.max(kb.unwrap_or(0.0));
        std::thread::sleep(Duration::from_millis(2));
    }
    ensure!(child.wait()?.success(), "posse run failed");
    ensure!(server.model.calls() == TURNS + 1, "{} requests came", server.model.calls());
    Ok(peak_kb / 1024.0)
}
