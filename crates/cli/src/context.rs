//! `posse context`: what fills the context window of an agent.

use posse_engine::Engine;
use posse_setup::{Config, Paths, context_window};
use posse_view::words::context_lines;

use crate::exit::Exit;
use crate::output::{self, Style, one_line};
use crate::which_session::session_of;

pub(crate) async fn run(paths: &Paths, session: &str, agent: &str, json: bool) -> anyhow::Result<Exit> {
    let engine = Engine::open(&paths.data_dir)?;
    let row = session_of(&engine, session)?;
    let config = Config::load(paths, row.workspace.as_ref())?;
    let window = |name: &str| context_window(&config, paths.surroundings(), name);
    let found = engine.context_use(row.id, agent, window).await?;
    if json {
        output::print_json(&found)?;
        return Ok(Exit::Completed);
    }
    let style = Style::for_stdout();
    output::print(&format!(
        "{} {}\n",
        style.bold(&one_line(&found.agent_name, 60)),
        one_line(&found.model, 60)
    ))?;
    let parts = found.parts.iter().map(|part| (part.kind.words(), part.tool.as_deref(), part.tokens));
    for line in
        context_lines(found.counted_tokens.unwrap_or(found.estimated_tokens), found.window_tokens, parts)
    {
        output::print(&format!("  {}\n", one_line(&line, output::stdout_width().saturating_sub(3))))?;
    }
    Ok(Exit::Completed)
}
