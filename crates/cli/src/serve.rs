//! `posse serve`: a page for browsers, and the API behind it. Sessions run in processes of their own, so the server can end
//! without them.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use posse_api::{AccessToken, BackgroundProgram, Folders, HubStart, Listen, Serving, TlsFiles, WebStart};
use posse_engine::Engine;
use posse_engine::record::prepare_data_dir;
use posse_mcp_server::{HTTP_PATH, HostCheck, ServerFrame, TaskRunner, TaskServer, http_routes};
use posse_sandbox::{OutputLimits, PersonCommand, PersonProgram, person_program};
use posse_setup::{Paths, create_new_private, person_tool};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::args::ServeArgs;
use crate::exit::Exit;
use crate::interrupts::Signals;
use crate::limits::BROWSER_MS_MAX;
use crate::output::{self, Style};
use crate::surroundings::shown;

/// Where in the data directory a server keeps its token and its certificate.
const PLACE: &str = "serve";
/// What opens an address in the person's browser, in the order in which it is tried.
const OPENERS: [&str; 3] = ["xdg-open", "open", "wslview"];

/// Where a server is, for programs.
#[derive(Serialize)]
struct Served<'a> {
    address: &'a str,
    port: u16,
    token_file: &'a Path,
    fingerprint: Option<&'a str>,
}

pub(crate) async fn run(paths: Paths, flags: Vec<OsString>, args: ServeArgs) -> anyhow::Result<Exit> {
    let mut signals = Signals::new()?;
    let folder = fs::canonicalize(&args.dir)
        .with_context(|| format!("cannot open the folder {}", shown(&args.dir)))?;
    for other in &args.folder {
        anyhow::ensure!(other.is_dir(), "{} is not a folder", shown(other));
    }
    let folders = [vec![folder.clone()], args.folder.clone()].concat();
    for secret in args.token_file.iter().chain(&args.key) {
        out_of_reach(secret, &folders)?;
    }
    let place = paths.data_dir.join(PLACE);
    prepare_data_dir(&place)?;
    let token = match &args.token_file {
        Some(file) => AccessToken::in_file(file)?,
        None => AccessToken::random()?,
    };
    let engine = Engine::open(&paths.data_dir)?;
    let paths = Arc::new(paths);
    let program = BackgroundProgram { own_flags: flags, session_flags: Vec::new() };
    let closing = CancellationToken::new();
    let frame = ServerFrame::of(Folders::new(folders.clone()));
    let runner = TaskRunner::new(engine.clone(), Arc::clone(&paths), program.clone(), frame);
    let tasks = TaskServer::new(runner, env!("CARGO_PKG_VERSION"), closing.clone());
    let serving = posse_api::serve(WebStart {
        hub: HubStart {
            engine,
            paths: Arc::clone(&paths),
            folders,
            program,
            read_only: args.read_only,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        listen: args.listen.map_or(Listen::Loopback(args.port.unwrap_or(0)), Listen::Address),
        tls: tls(&args, &place),
        allowed_hosts: args.allow_host.clone(),
        token: token.clone(),
        others: Some(http_routes(tasks, HostCheck::Before, closing.clone())),
    })
    .await?;
    let own_file = OwnFile::write(&place, serving.port, args.token_file.as_deref(), &token)?;
    announce(&args, &serving, &token, &own_file)?;
    if args.open && !open(&paths, &folder, &place, &serving, &token).await {
        output::print_aside("No browser could be opened; open the link yourself.\n")?;
    }
    signals.next().await;
    closing.cancel();
    serving.close().await;
    drop(own_file);
    if !args.json {
        output::print_aside("\nThe server has ended. Sessions go on: posse sessions list.\n")?;
    }
    Ok(Exit::Completed)
}

/// Refuses a secret in a folder that agents work in: they could read it.
fn out_of_reach(secret: &Path, folders: &[PathBuf]) -> anyhow::Result<()> {
    let whole = std::path::absolute(secret)?;
    let parent = whole.parent().and_then(|parent| parent.canonicalize().ok()).unwrap_or(whole);
    let within = |folder: &&PathBuf| folder.canonicalize().is_ok_and(|folder| parent.starts_with(folder));
    match folders.iter().find(within) {
        Some(folder) => bail!("{} is in {}, where agents could read it", shown(secret), shown(folder)),
        None => Ok(()),
    }
}

/// TLS for an address that others reach.
fn tls(args: &ServeArgs, place: &Path) -> Option<TlsFiles> {
    args.listen?;
    Some(match (&args.certificate, &args.key) {
        (Some(certificate), Some(key)) => {
            TlsFiles::Given { certificate: certificate.clone(), key: key.clone() }
        }
        _ => TlsFiles::Own(place.join("certificates")),
    })
}

fn announce(args: &ServeArgs, serving: &Serving, token: &AccessToken, file: &OwnFile) -> anyhow::Result<()> {
    if args.json {
        let served = Served {
            address: &serving.address,
            port: serving.port,
            token_file: &file.path,
            fingerprint: serving.fingerprint.as_deref(),
        };
        return Ok(output::print_json(&served)?);
    }
    let style = Style::for_stdout();
    let mut text = format!("{}\n\n", style.bold(&serving.link(token)));
    let mut line = |what: &str| text.push_str(&style.dim(&format!("  {what}\n")));
    line("Whoever has this link can do what you can do in the chat; keep it to yourself.");
    if let Some(fingerprint) = &serving.fingerprint {
        line("The browser asks about the certificate once. Its SHA-256 fingerprint:");
        line(fingerprint);
    }
    if args.read_only {
        line("Read-only: nothing can be started, answered or changed.");
    }
    line(&format!("Other agents (MCP): {}{}", serving.address.trim_end_matches('/'), HTTP_PATH));
    line("Ctrl-C ends the server; sessions go on.");
    Ok(output::print(&text)?)
}

/// The file with the token, for programs of the person. One that the server made goes with it.
struct OwnFile {
    path: PathBuf,
    goes: bool,
}

impl OwnFile {
    fn write(place: &Path, port: u16, given: Option<&Path>, token: &AccessToken) -> anyhow::Result<Self> {
        if let Some(path) = given {
            return Ok(Self { path: path.to_path_buf(), goes: false });
        }
        let path = place.join(format!("{port}.token"));
        // Of a server that was killed.
        let _ = fs::remove_file(&path);
        let written = create_new_private(&path).and_then(|mut file| writeln!(file, "{}", token.reveal()));
        written.with_context(|| format!("cannot write {}", shown(&path)))?;
        Ok(Self { path, goes: true })
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        if self.goes {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Opens the page in the person's browser. The link goes through a file of theirs: a command line can be read by others.
async fn open(paths: &Paths, folder: &Path, place: &Path, serving: &Serving, token: &AccessToken) -> bool {
    let file = place.join(format!("{}.html", serving.port));
    let _ = fs::remove_file(&file);
    let link = serving.link(token);
    let page = format!(
        "<!doctype html><meta charset=\"utf-8\"><title>Posse</title><meta http-equiv=\"refresh\" content=\"0;url={link}\">"
    );
    let written = create_new_private(&file).and_then(|mut file| file.write_all(page.as_bytes()));
    let opener = OPENERS.iter().find_map(|name| person_tool(paths, folder, name));
    let (Ok(()), Some(opener)) = (written, opener) else { return false };
    let program = PersonProgram {
        command: PersonCommand::Program(opener, vec![file.clone().into()]),
        folder: PathBuf::from("/"),
        variables: Vec::new(),
        distrusted: vec![folder.to_path_buf()],
        input: Vec::new(),
        deadline: Duration::from_millis(BROWSER_MS_MAX),
        output: OutputLimits { head_bytes: 0, tail_bytes: 0 },
    };
    let opened = tokio::task::spawn_blocking(move || person_program(program)).await;
    let opened = opened.is_ok_and(|opened| opened.is_ok());
    // The browser has read it by then.
    tokio::time::sleep(Duration::from_millis(BROWSER_MS_MAX / 10)).await;
    let _ = fs::remove_file(&file);
    opened
}
