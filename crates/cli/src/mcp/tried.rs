//! `posse mcp test`: starts one server as a session would, and prints what it says of itself.

use anyhow::bail;
use posse_protocol::words::counted;
use posse_setup::{Paths, ServerStanding, SessionPlan, Wishes, servers_folder, servers_in};
use posse_tools::OutsideServer;

use super::listed::standing;
use super::unknown;
use crate::exit::Exit;
use crate::limits::SERVER_WORDS_COLUMNS_MAX;
use crate::output::{self, Style, one_line};
use crate::surroundings::real_folder;

pub(super) async fn test(paths: &Paths, name: &str) -> anyhow::Result<Exit> {
    let folder = real_folder()?;
    let found = servers_in(paths, &folder)?;
    let named = |counts: bool| {
        let is_it = |server: &&posse_setup::FoundServer| server.name == name;
        found.servers.iter().filter(is_it).find(|server| !counts || server.standing == ServerStanding::Counts)
    };
    let Some(server) = named(true).or_else(|| named(false)) else { return Err(unknown(&found, name)) };
    let entry = match (&server.entry, standing(server)) {
        (Some(entry), None) => entry.clone(),
        (_, why) => bail!("{name:?} in {} does not run: {}", server.file, why.unwrap_or_default()),
    };
    let plan = SessionPlan::read(paths, &folder, Wishes::default())?;
    let tried = posse_mcp::try_server(entry, servers_folder(paths), plan.outside_place()?).await;
    match tried {
        Ok(server) => {
            output::print(&told(&server))?;
            Ok(Exit::Completed)
        }
        Err(why) => Err(Exit::Failed.because(format!(
            "{name:?} in {} does not work: {}",
            server.file,
            output::visible(&why)
        ))),
    }
}

/// What a server says of itself.
fn told(server: &OutsideServer) -> String {
    let style = Style::for_stdout();
    let mut text =
        format!("{}  {}\n", style.bold(&server.name), one_line(&server.detail, SERVER_WORDS_COLUMNS_MAX));
    text.push_str(&format!("{}\n", number(server.tools.len(), "tool")));
    for tool in &server.tools {
        text.push_str(&line(&style, &tool.name, &tool.description));
    }
    if !server.prompts.is_empty() {
        text.push_str(&format!("{}\n", number(server.prompts.len(), "prompt")));
    }
    for prompt in &server.prompts {
        let arguments = prompt.arguments.iter();
        let arguments =
            arguments.map(|(name, needed)| if *needed { name.clone() } else { format!("[{name}]") });
        let typed = [format!("/{}", prompt.name)].into_iter().chain(arguments).collect::<Vec<_>>().join(" ");
        text.push_str(&line(&style, &typed, &prompt.description));
    }
    text.push_str(&format!("{}\n", number(server.resources, "resource")));
    text
}

fn line(style: &Style, name: &str, description: &str) -> String {
    let description = one_line(description, SERVER_WORDS_COLUMNS_MAX);
    format!("  {}  {}\n", one_line(name, SERVER_WORDS_COLUMNS_MAX), style.dim(&description))
}

fn number(number: usize, noun: &str) -> String {
    counted(number as u64, noun)
}
