//! `posse mcp serve`: Posse as a server, for one client on standard input and output. Nothing but the protocol is written to
//! standard output, and no port is opened.

use std::ffi::OsString;
use std::fs;
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use posse_api::{BackgroundProgram, Folders};
use posse_engine::Engine;
use posse_mcp_server::{ServerFrame, TaskRunner, TaskServer, serve_stdio};
use posse_protocol::Budget;
use posse_setup::Paths;
use tokio_util::sync::CancellationToken;

use crate::args::McpServeArgs;
use crate::exit::Exit;
use crate::interrupts::EndSignals;
use crate::surroundings::shown;

pub(super) async fn serve(paths: Paths, flags: Vec<OsString>, args: McpServeArgs) -> anyhow::Result<Exit> {
    let mut signals = EndSignals::new()?;
    let frame = frame(&args)?;
    let engine = Engine::open(&paths.data_dir)?;
    let program = BackgroundProgram { own_flags: flags, session_flags: Vec::new() };
    let runner = TaskRunner::new(engine, Arc::new(paths), program, frame);
    let closing = CancellationToken::new();
    let server = TaskServer::new(runner, env!("CARGO_PKG_VERSION"), closing.clone());
    tokio::select! {
        served = serve_stdio(server, closing.clone()) => served?,
        () = signals.next() => closing.cancel(),
    }
    Ok(Exit::Completed)
}

/// The most that any client has.
fn frame(args: &McpServeArgs) -> anyhow::Result<ServerFrame> {
    let folder = fs::canonicalize(&args.dir)
        .with_context(|| format!("cannot open the folder {}", shown(&args.dir)))?;
    for other in &args.folder {
        ensure!(other.is_dir(), "{} is not a folder", shown(other));
    }
    let usual = ServerFrame::of(Folders::new([vec![folder], args.folder.clone()].concat()));
    Ok(ServerFrame {
        model: args.model.clone(),
        approval: args.approval,
        budget: Budget {
            turns: args.max_turns.map(NonZeroU32::get),
            tokens: args.max_tokens.map(NonZeroU64::get),
            time_ms: args.max_time,
            cost_usd: args.max_cost,
        },
        no_sandbox: args.no_sandbox,
        workspace_is_home: args.workspace_is_home,
        wait_ms: args.wait.unwrap_or(usual.wait_ms),
        wait_with_progress_ms: args.wait_with_progress.unwrap_or(usual.wait_with_progress_ms),
        ..usual
    })
}
