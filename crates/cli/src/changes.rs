//! `posse undo`, `redo`, `diff` and `merge`: what agents changed, and taking it back or in.

use posse_engine::{Engine, EngineError, Extent, Merging, Undoing};
use posse_protocol::{Change, Conflict};

use crate::args::UndoArgs;
use crate::exit::Exit;
use crate::output::{self, Style, counted, one_line, visible};
use crate::paths::Paths;
use crate::which_session::session_of;

/// The longest diff that is printed.
const DIFF_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Paths named one by one; the others are counted.
const PATHS_SHOWN_MAX: usize = 40;

pub(crate) async fn undo(paths: &Paths, args: UndoArgs) -> anyhow::Result<Exit> {
    let engine = Engine::open(&paths.data_dir)?;
    let session = session_of(&engine, &args.session)?;
    let extent = match args {
        UndoArgs { all: true, .. } => Extent::Session,
        UndoArgs { turn: Some(turn), agent, .. } => Extent::Turn { agent, turn },
        UndoArgs { agent: Some(name), .. } => Extent::Agent(name),
        _ => Extent::Last,
    };
    undone("Taken back", engine.undo(&session, &extent).await)
}

pub(crate) async fn redo(paths: &Paths, session: &str) -> anyhow::Result<Exit> {
    let engine = Engine::open(&paths.data_dir)?;
    let session = session_of(&engine, session)?;
    undone("Done", engine.redo(&session).await)
}

pub(crate) async fn diff(paths: &Paths, session: &str, agent: Option<&str>) -> anyhow::Result<Exit> {
    let engine = Engine::open(&paths.data_dir)?;
    let session = session_of(&engine, session)?;
    match engine.diff(&session, agent, DIFF_BYTES_MAX).await {
        Ok(diff) => output::print(&format!("{}\n", visible(diff.trim_end_matches('\n'))))?,
        Err(EngineError::Nothing(why)) => return nothing(&why),
        Err(error) => return Err(error.into()),
    }
    Ok(Exit::Completed)
}

pub(crate) async fn merge(paths: &Paths, session: &str, agent: &str) -> anyhow::Result<Exit> {
    let engine = Engine::open(&paths.data_dir)?;
    let session = session_of(&engine, session)?;
    let Merging { branch, changes, conflicts } = match engine.merge(&session, agent).await {
        Ok(merging) => merging,
        Err(EngineError::Nothing(why)) => return nothing(&why),
        Err(error) => return Err(error.into()),
    };
    let mut text = if changes.is_empty() && conflicts.is_empty() {
        format!("All of {} is here already.\n", one_line(&branch, 200))
    } else {
        format!("Merged {}.\n{}", one_line(&branch, 200), listed(&changes))
    };
    if !conflicts.is_empty() {
        text.push_str(&told(&conflicts));
        text.push_str(&format!(
            "These places were left as they are; the other side is on {}.\n",
            one_line(&branch, 200)
        ));
    }
    output::print(&text)?;
    Ok(if conflicts.is_empty() { Exit::Completed } else { Exit::Failed })
}

fn undone(verb: &str, outcome: Result<Undoing, EngineError>) -> anyhow::Result<Exit> {
    let Undoing { what, changes, conflicts } = match outcome {
        Ok(undoing) => undoing,
        Err(EngineError::Nothing(why)) => return nothing(&why),
        Err(error) => return Err(error.into()),
    };
    let mut text = format!("{verb}: {}\n{}", one_line(&what, 1000), listed(&changes));
    if changes.is_empty() && conflicts.is_empty() {
        text.push_str("  nothing had to be changed for that\n");
    }
    text.push_str(&told(&conflicts));
    if !conflicts.is_empty() {
        text.push_str("These were left as they are: they have changed since in the same places.\n");
    }
    if !changes.is_empty() && verb == "Taken back" {
        text.push_str(&Style::for_stdout().dim("posse redo brings it back\n"));
    }
    output::print(&text)?;
    Ok(if conflicts.is_empty() { Exit::Completed } else { Exit::Failed })
}

fn nothing(why: &str) -> anyhow::Result<Exit> {
    output::print(&format!("{}\n", visible(why)))?;
    Ok(Exit::Failed)
}

/// One line a path.
fn listed(changes: &[Change]) -> String {
    let mut text = String::new();
    for change in changes.iter().take(PATHS_SHOWN_MAX) {
        let verb = match (&change.before, &change.after) {
            (None, Some(_)) => "created",
            (Some(_), None) => "removed",
            _ => "changed",
        };
        text.push_str(&format!("  {verb}  {}\n", one_line(&change.path, 200)));
    }
    if let Some(more @ 1..) = changes.len().checked_sub(PATHS_SHOWN_MAX) {
        text.push_str(&format!("  and {} more\n", counted(more as u64, "path")));
    }
    text
}

/// Both sides of what does not go together.
fn told(conflicts: &[Conflict]) -> String {
    let style = Style::for_stdout();
    let mut text = String::new();
    for conflict in conflicts {
        text.push_str(&format!("  {}  {}\n", style.red("conflict"), one_line(&conflict.path, 200)));
        for line in visible(conflict.text.trim_end_matches('\n')).lines() {
            text.push_str(&style.dim(&format!("    {line}\n")));
        }
    }
    text
}
