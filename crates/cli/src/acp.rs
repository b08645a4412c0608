//! `posse acp`: sessions inside an editor. Standard output carries the protocol and nothing else.

use std::sync::Arc;

use posse_acp::AcpStart;
use posse_setup::{Paths, Wishes};

use crate::args::AcpArgs;
use crate::exit::Exit;
use crate::interrupts::Signals;

pub(crate) async fn run(paths: Paths, args: AcpArgs) -> anyhow::Result<Exit> {
    let mut signals = Signals::new()?;
    let wishes = Wishes {
        model: args.model,
        approval: args.approval,
        surface: args.surface,
        no_sandbox: args.no_sandbox,
        workspace_is_home: args.workspace_is_home,
        person: true,
        stay: true,
        ..Wishes::default()
    };
    let start = AcpStart { paths: Arc::new(paths), wishes, version: env!("CARGO_PKG_VERSION").to_owned() };
    let stop = async { signals.next().await };
    posse_acp::serve_stdio(start, stop).await?;
    Ok(Exit::Completed)
}
