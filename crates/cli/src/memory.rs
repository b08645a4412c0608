//! `posse memory`: the notes that agents keep from one session to the next.

use std::collections::BTreeSet;

use anyhow::bail;
use posse_engine::{Engine, project_folders};
use posse_protocol::Note;
use posse_setup::Paths;

use crate::args::MemoryCommand;
use crate::display::short;
use crate::exit::Exit;
use crate::limits::NOTES_LOOKED_AT_MAX;
use crate::output::{self, Style, columns, counted, local_time, one_line, trimmed, visible};
use crate::surroundings::real_folder;

/// Terminals that are narrower are not told who made a note, so that there is room for the note.
const NARROW: usize = 80;
/// Columns of the name of who made it.
const BY_COLUMNS: usize = 18;

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
    let here = real_folder()?;
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
            output::print_json(note)?;
        }
        return Ok(());
    }
    if notes.is_empty() {
        let hint = if all { "" } else { " --all looks at other projects too." };
        let what = if query.trim().is_empty() { "No notes here yet." } else { "No note says that." };
        return Ok(output::print(&format!("{what}{hint}\n"))?);
    }
    let style = Style::for_stdout();
    let width = output::stdout_width();
    let head = match width {
        0..NARROW => "   id  when              for      note",
        _ => "   id  when              for      by                  note",
    };
    let mut text = style.dim(&format!("{}\n", output::fitted(head, "", width)));
    for note in &notes {
        let mut head = format!("{:>5}  {}  {:<7}  ", note.id, local_time(note.at_ms), note.scope.word());
        if width >= NARROW {
            let by = one_line(&note.agent, BY_COLUMNS);
            head.push_str(&format!("{by}{}", " ".repeat(BY_COLUMNS + 2 - columns(&by).min(BY_COLUMNS))));
        }
        text.push_str(&format!("{}\n", output::fitted(&head, &note.text, width)));
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
        return Ok(output::print_json(&note)?);
    }
    let scope = match note.scope {
        posse_protocol::NoteScope::Project => format!("agents in {}", one_line(&note.project, 1000)),
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
        visible(trimmed(&note.text)),
    ))?)
}

fn forget(engine: &Engine, ids: &[u64]) -> anyhow::Result<Exit> {
    let (mut gone, mut missing, mut told_in) = (0, Vec::new(), BTreeSet::new());
    for id in ids {
        let made_in = engine.note(*id)?.map(|note| note.session.to_string());
        if engine.forget(*id)? {
            gone += 1;
            // A session is told of as long as it is on record itself.
            told_in.extend(made_in.and_then(|id| engine.find_session(&id).ok()).map(|row| short(row.id)));
        } else {
            missing.push(id.to_string());
        }
    }
    if gone > 0 {
        output::print(&format!("{} forgotten.\n{}", counted(gone, "note"), still_told(&told_in)))?;
    }
    if missing.is_empty() {
        return Ok(Exit::Completed);
    }
    Err(Exit::Failed
        .because(format!("there is no note {}; posse memory list shows them", missing.join(", "))))
}

/// What was forgotten was said in a session, and the record of that is another matter.
fn still_told(sessions: &BTreeSet<String>) -> String {
    if sessions.is_empty() {
        return String::new();
    }
    let ids = sessions.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    let which = if sessions.len() == 1 {
        "The session in which it was made has"
    } else {
        "The sessions in which they were made have"
    };
    format!("{which} the text still, until deleted: posse sessions delete {ids}\n")
}
