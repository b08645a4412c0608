//! `posse undo`, `rewind`, `redo`, `diff` and `merge`: what agents changed, and taking it back or in.

use std::io;
use std::path::{Path, PathBuf};

use posse_engine::EngineError::{self, Busy, NotFound, NothingToDo};
use posse_engine::record::SessionRow;
use posse_engine::{
    ChangePreview, ChangeRequest, Engine, FileHunks, MergeOutcome, UndoExtent, UndoOutcome, UndoRequest,
};
use posse_protocol::{Change, Conflict, EventKind, Seq};
use posse_sandbox::available;
use posse_setup::{Config, Paths, settle_git};

use crate::args::{DiffArgs, RewindArgs, UndoArgs};
use crate::display::short;
use crate::exit::Exit;
use crate::limits::{DIFF_BYTES_MAX, PATHS_SHOWN_MAX};
use crate::output::{self, Style, counted, one_line, visible};
use crate::paging;
use crate::patch;
use crate::which_session::{can_name, elsewhere, session_of, session_with_changes};

/// How a session is found, and what was typed for it.
type Which<'a> = (fn(&Engine, &str) -> anyhow::Result<SessionRow>, &'a str);

/// Who says whether files are written that other programs act on by themselves.
#[derive(Clone, Copy)]
enum Ask {
    Person,
    /// It was said before, or nothing is written.
    Nobody {
        allowed: bool,
    },
}

impl Ask {
    fn of(preview: bool, protected: bool) -> Self {
        if preview || protected { Self::Nobody { allowed: protected } } else { Self::Person }
    }
}

/// The session that is meant, with everything ready to work in its folder, and with somebody to ask before what other
/// programs act on by themselves is written.
fn open(paths: &Paths, (which, session): Which<'_>, ask: Ask) -> anyhow::Result<(Engine, SessionRow)> {
    let engine = Engine::open(&paths.data_dir)?.asking(move |list| match ask {
        Ask::Person => may_write(list),
        Ask::Nobody { allowed } => allowed,
    });
    let session = which(&engine, session)?;
    if let Some(folder) = elsewhere(&session) {
        let title = one_line(session.title.as_deref().unwrap_or_default(), 60);
        output::print_aside(&format!("session {} in {folder}: {title}\n", short(session.id)))?;
    }
    let folder = Path::new(&session.workspace);
    // Where nothing can be confined and the person said to go on without, that still holds for their session.
    let began = engine.events_after(session.id, Seq(0), 1)?;
    let open =
        began.iter().any(|event| matches!(event.kind, EventKind::SessionStarted { sandboxed: false, .. }));
    let confined = !open || available().is_ok();
    settle_git(paths, Config::load(paths, folder).ok().as_ref(), folder, confined);
    Ok((engine, session))
}

/// Asks the person at the terminal; where there is none, the answer is no, and the flag is told.
fn may_write(list: &[String]) -> bool {
    let mut text = "Other programs act on these by themselves:\n".to_owned();
    for path in list.iter().take(PATHS_SHOWN_MAX) {
        text.push_str(&format!("  {}\n", one_line(path, 200)));
    }
    if let Some(more @ 1..) = list.len().checked_sub(PATHS_SHOWN_MAX) {
        text.push_str(&format!("  and {} more\n", counted(more as u64, "path")));
    }
    if !(output::stdin_is_terminal() && output::stderr_is_terminal()) {
        text.push_str("They are left as they are; --protected includes them.\n");
        let _ = output::print_aside(&text);
        return false;
    }
    let _ = output::print_aside(&text);
    // What was typed before this could be seen is no answer to it.
    output::forget_typed();
    let _ = output::print_aside("Write them, too? Type yes: ");
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).is_ok() && answer.trim() == "yes"
}

pub(crate) async fn undo(paths: &Paths, args: UndoArgs) -> anyhow::Result<Exit> {
    let ask = Ask::of(args.preview, args.protected);
    let (engine, session) = open(paths, (session_with_changes, &args.session), ask)?;
    let folder = Path::new(&session.workspace);
    let named = args.paths.iter().map(|path| inside(path, folder)).collect::<anyhow::Result<Vec<_>>>()?;
    let hunks = args.hunks.iter();
    let hunks =
        hunks.map(|(path, hunks)| Ok(FileHunks { path: inside(path, folder)?, hunks: hunks.clone() }));
    let hunks = hunks.collect::<anyhow::Result<Vec<_>>>()?;
    let preview = args.preview;
    let extent = match args {
        UndoArgs { all: true, .. } => UndoExtent::Session,
        UndoArgs { turn: Some(turn), agent, .. } => UndoExtent::Turn { agent, turn },
        UndoArgs { agent: Some(name), .. } => UndoExtent::Agent(name),
        // Whoever names a path wants it as it was before the session.
        _ if !named.is_empty() || !hunks.is_empty() => UndoExtent::Session,
        _ => UndoExtent::Last,
    };
    let request = UndoRequest { extent, paths: named, hunks };
    if preview {
        return previewed(paths, &engine, &session, &ChangeRequest::Undo(request)).await;
    }
    undone("Taken back", engine.undo_selected(&session, &request).await)
}

pub(crate) async fn rewind(paths: &Paths, args: &RewindArgs) -> anyhow::Result<Exit> {
    let ask = Ask::of(args.preview, args.protected);
    let (engine, session) = open(paths, (session_with_changes, &args.session), ask)?;
    if args.preview {
        return previewed(paths, &engine, &session, &ChangeRequest::Rewind { turn: args.turn }).await;
    }
    undone("Taken back", engine.rewind(&session, args.turn).await)
}

/// Brings the files back to where they were after a turn of the main agent, or shows what that would change.
pub(crate) async fn rewind_after(
    paths: &Paths,
    session: &str,
    turn: u32,
    how: RewindAfter,
) -> anyhow::Result<Exit> {
    let RewindAfter { preview, protected, aside } = how;
    let (engine, session) = open(paths, (session_of, session), Ask::of(preview, protected))?;
    let turn = turn.saturating_add(1);
    if preview {
        return previewed(paths, &engine, &session, &ChangeRequest::Rewind { turn }).await;
    }
    let (text, exit) = undone_text("Taken back", engine.rewind(&session, turn).await)?;
    if aside { output::print_aside(&text) } else { output::print(&text) }?;
    Ok(exit)
}

/// How files are brought back for a fork.
#[derive(Clone, Copy)]
pub(crate) struct RewindAfter {
    /// Only show what would change.
    pub(crate) preview: bool,
    /// Also what other programs act on by themselves, without asking.
    pub(crate) protected: bool,
    /// Say it on standard error: standard output is for something else.
    pub(crate) aside: bool,
}

/// Shows what would happen.
async fn previewed(
    paths: &Paths,
    engine: &Engine,
    session: &SessionRow,
    request: &ChangeRequest,
) -> anyhow::Result<Exit> {
    let preview = match engine.preview(session, request).await {
        Ok(preview) => preview,
        Err(NothingToDo(why) | NotFound(why) | Busy(why)) => return nothing(&why),
        Err(error) => return Err(error.into()),
    };
    let style = Style::for_stdout();
    let ChangePreview { what, changes, diff, conflicts, not_certain, not_covered } = preview;
    let mut text =
        format!("Nothing is written yet. This would change: {}\n{}", one_line(&what, 1000), listed(&changes));
    if changes.is_empty() && conflicts.is_empty() {
        text.push_str("  nothing\n");
    }
    text.push_str(&told(&conflicts));
    if !conflicts.is_empty() {
        text.push_str("These would be left as they are: they have changed since in the same places.\n");
    }
    text.push_str(&uncertain(&not_certain));
    for line in not_covered.iter().take(PATHS_SHOWN_MAX) {
        text.push_str(&style.dim(&format!("  not covered: {}\n", one_line(line, 200))));
    }
    let diff = visible(&diff);
    if !diff.is_empty() {
        text.push_str(&format!("\n{}", patch::painted(style, &patch::files(&diff))));
    }
    paging::print(paths, Path::new(&session.workspace), &text)?;
    Ok(if conflicts.is_empty() { Exit::Completed } else { Exit::Failed })
}

/// A path as the record has it: relative to the session's folder. What it names need not be there any more.
fn inside(path: &Path, workspace: &Path) -> anyhow::Result<String> {
    let outside = || anyhow::anyhow!("{} is not in {}", path.display(), workspace.display());
    let absolute = std::path::absolute(path)?;
    let mut plain = PathBuf::new();
    for part in absolute.components() {
        match part {
            std::path::Component::ParentDir => drop(plain.pop()),
            part => plain.push(part),
        }
    }
    let real = workspace.canonicalize().unwrap_or_else(|_| workspace.to_path_buf());
    let relative = plain.strip_prefix(workspace).or_else(|_| plain.strip_prefix(&real));
    Ok(relative.map_err(|_| outside())?.to_str().ok_or_else(outside)?.to_owned())
}

pub(crate) async fn redo(
    paths: &Paths,
    session: &str,
    preview: bool,
    protected: bool,
) -> anyhow::Result<Exit> {
    let ask = Ask::of(preview, protected);
    let (engine, session) = open(paths, (session_with_changes, session), ask)?;
    if preview {
        return previewed(paths, &engine, &session, &ChangeRequest::Redo).await;
    }
    undone("Done", engine.redo(&session).await)
}

pub(crate) async fn diff(paths: &Paths, mut args: DiffArgs) -> anyhow::Result<Exit> {
    // What cannot name a session, or names none and is there, is a path.
    let is_path = |typed: &String| !can_name(typed) || Path::new(typed).exists();
    if let Some(typed) = args.session.take_if(|typed| is_path(typed)) {
        args.paths.insert(0, typed.into());
    }
    let wanted = args.session.as_deref().unwrap_or("last");
    let (engine, session) = open(paths, (session_with_changes, wanted), Ask::Person)?;
    let folder = Path::new(&session.workspace);
    let named = args.paths.iter().map(|path| inside(path, folder)).collect::<anyhow::Result<Vec<_>>>()?;
    let diff = match engine.diff(&session, args.agent.as_deref(), DIFF_BYTES_MAX).await {
        Ok(diff) => visible(&diff),
        Err(NothingToDo(why) | NotFound(why) | Busy(why)) => return nothing(&why),
        Err(error) => return Err(error.into()),
    };
    let mut files = patch::files(&diff);
    files.retain(|file| file.is_about(&named));
    if files.is_empty() {
        return nothing("Nothing was changed there.");
    }
    let style = Style::for_stdout();
    let text = if args.stat { patch::stat(style, &files) } else { patch::painted(style, &files) };
    paging::print(paths, folder, &text)?;
    Ok(Exit::Completed)
}

pub(crate) async fn merge(
    paths: &Paths,
    session: &str,
    agent: &str,
    preview: bool,
    protected: bool,
) -> anyhow::Result<Exit> {
    let (engine, session) = open(paths, (session_of, session), Ask::of(preview, protected))?;
    if preview {
        let request = ChangeRequest::Merge { agent: agent.to_owned() };
        return previewed(paths, &engine, &session, &request).await;
    }
    let MergeOutcome { branch, changes, conflicts } = match engine.merge(&session, agent).await {
        Ok(merging) => merging,
        Err(NothingToDo(why) | NotFound(why) | Busy(why)) => return nothing(&why),
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
            "These places were left as they are; the agent's version is on {}.\n",
            one_line(&branch, 200)
        ));
    }
    output::print(&text)?;
    Ok(if conflicts.is_empty() { Exit::Completed } else { Exit::Failed })
}

fn undone(verb: &str, outcome: Result<UndoOutcome, EngineError>) -> anyhow::Result<Exit> {
    let (text, exit) = undone_text(verb, outcome)?;
    output::print(&text)?;
    Ok(exit)
}

fn undone_text(verb: &str, outcome: Result<UndoOutcome, EngineError>) -> anyhow::Result<(String, Exit)> {
    let UndoOutcome { what, changes, conflicts, not_certain } = match outcome {
        Ok(undoing) => undoing,
        Err(NothingToDo(why) | NotFound(why) | Busy(why)) => {
            return Ok((format!("{}\n", visible(&why)), Exit::Failed));
        }
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
    text.push_str(&uncertain(&not_certain));
    if !changes.is_empty() && verb == "Taken back" {
        text.push_str(&Style::for_stdout().dim("posse redo brings it back\n"));
    }
    Ok((text, if conflicts.is_empty() { Exit::Completed } else { Exit::Failed }))
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

/// What was left alone because somebody else may have done it.
fn uncertain(paths: &[String]) -> String {
    let mut text = String::new();
    for path in paths.iter().take(PATHS_SHOWN_MAX) {
        text.push_str(&format!("  left     {}\n", one_line(path, 200)));
    }
    if let Some(more @ 1..) = paths.len().checked_sub(PATHS_SHOWN_MAX) {
        text.push_str(&format!("  left     and {} more\n", counted(more as u64, "path")));
    }
    if !paths.is_empty() {
        text.push_str("These changed while a command ran, and it is not certain that the command did it.\n");
        text.push_str(&Style::for_stdout().dim("posse undo --path PATH takes one back\n"));
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
