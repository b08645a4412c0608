//! `posse memory`: the notes that agents keep from one session to the next.

use anyhow::{Context as _, bail};
use posse_engine::{Engine, project_folders};
use posse_protocol::Note;

use crate::args::MemoryCommand;
use crate::display::short;
use crate::exit::Exit;
use crate::output::{self, Style, columns, counted, harmless, local_time, one_line};
use crate::paths::Paths;

/// Notes that are looked through where words are wanted from all projects.
const NOTES_LOOKED_AT_MAX: usize = 10_000;

pub(crate) fn run(paths: &Paths, command: MemoryCommand) -> anyhow::Result<Exit> {
    let engine = Engine::open(&paths.data_dir)?;
    match command {
        MemoryCommand::List { query, all, limit, json } => {
            list(&engine, &query.join(" "), all, limit.into(), json)?;
        }
        MemoryCommand::Show { id, json } => show(&engine, id, json)?,
        MemoryCommand::Forget { ids } => return forget(&engine, &ids),
    }
    Ok(Exit::Completed)
}

/// The project that this folder belongs to, as sessions that are held in it say.
pub(crate) fn project_here() -> anyhow::Result<String> {
    let here = std::fs::canonicalize(".").context("cannot open this folder")?;
    Ok(project_folders(&here).last().unwrap_or(&here).display().to_string())
}

fn list(engine: &Engine, query: &str, all: bool, limit: usize, json: bool) -> anyhow::Result<()> {
    let project = project_here()?;
    // One more than is shown, to know whether there are more.
    let mut notes = match (all, query.trim().is_empty()) {
        (false, true) => engine.notes(Some(&project), limit + 1)?,
        (false, false) => engine.recall(query, &project, limit + 1)?,
        (true, true) => engine.notes(None, limit + 1)?,
        (true, false) => holding(engine.notes(None, NOTES_LOOKED_AT_MAX)?, query, limit + 1),
    };
    let more = notes.len() > limit;
    notes.truncate(limit);
    if json {
        for note in &notes {
            output::print(&format!("{}\n", serde_json::to_string(note)?))?;
        }
        return Ok(());
    }
    if notes.is_empty() {
        let hint = if all { "" } else { " --all looks at other projects too." };
        let what = if query.trim().is_empty() { "No notes here yet." } else { "No note says that." };
        return Ok(output::print(&format!("{what}{hint}\n"))?);
    }
    let style = Style::for_stdout();
    let mut text = style.dim("   id  when              for      by                  note\n");
    for note in &notes {
        let by = one_line(&note.agent, 18);
        let pad = " ".repeat(18_usize.saturating_sub(columns(&by)));
        let head =
            format!("{:>5}  {}  {:<7}  {by}{pad}  ", note.id, local_time(note.at_ms), note.scope.word(),);
        let room = output::stdout_width().saturating_sub(columns(&head)).max(20);
        text.push_str(&format!("{head}{}\n", one_line(&note.text, room)));
    }
    if more {
        text.push_str(&style.dim(&format!("There are more: -n {}\n", limit * 2)));
    }
    Ok(output::print(&text)?)
}

/// The notes that hold all of the words.
fn holding(notes: Vec<Note>, query: &str, limit: usize) -> Vec<Note> {
    let words = query.split_whitespace().map(str::to_lowercase).collect::<Vec<_>>();
    let holds = |note: &Note| {
        let text = note.text.to_lowercase();
        words.iter().all(|word| text.contains(word))
    };
    notes.into_iter().filter(holds).take(limit).collect()
}

fn show(engine: &Engine, id: u64, json: bool) -> anyhow::Result<()> {
    let Some(note) = engine.note(id)? else {
        bail!("there is no note {id}; posse memory list shows them");
    };
    if json {
        return Ok(output::print(&format!("{}\n", serde_json::to_string(&note)?))?);
    }
    let scope = match note.scope {
        posse_protocol::NoteScope::Project => format!("agents in {}", harmless(&note.project)),
        posse_protocol::NoteScope::User => "all your agents".to_string(),
    };
    Ok(output::print(&format!(
        "{} {}\n  for      {scope}\n  kind     {}\n  by       {} ({})\n  when     {}\n  session  {}\n\n{}\n",
        Style::for_stdout().bold("note"),
        note.id,
        one_line(&note.kind, 100),
        one_line(&note.agent, 100),
        one_line(&note.role, 100),
        local_time(note.at_ms),
        short(note.session),
        harmless(note.text.trim()),
    ))?)
}

fn forget(engine: &Engine, ids: &[u64]) -> anyhow::Result<Exit> {
    let (mut gone, mut missing) = (0, Vec::new());
    for id in ids {
        if engine.forget(*id)? {
            gone += 1;
        } else {
            missing.push(id.to_string());
        }
    }
    if gone > 0 {
        output::print(&format!("{} forgotten.\n", counted(gone, "note")))?;
    }
    if missing.is_empty() {
        return Ok(Exit::Completed);
    }
    Err(Exit::Failed
        .because(format!("there is no note {}; posse memory list shows them", missing.join(", "))))
}
