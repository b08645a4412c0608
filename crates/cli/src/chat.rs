//! `posse` without a command: opens the chat on this terminal.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use posse_engine::Engine;
use posse_engine::record::SessionRow;
use posse_setup::Paths;
use posse_tui::{ChatEnd, ChatOpening, ChatStart};

use crate::args::{self, Args, ChatArgs};
use crate::display::short;
use crate::exit::Exit;
use crate::output::{self, Style, can_draw};
use crate::surroundings::{colour_wanted, shown};
use crate::which_session::session_of;

/// Whether there is a terminal that the chat can be drawn on.
pub(crate) fn is_possible() -> bool {
    has_terminal() && can_draw()
}

fn has_terminal() -> bool {
    output::stdin_is_terminal() && output::stdout_is_terminal()
}

/// The flags of every process that the chat starts.
pub(crate) fn own_flags(args: &Args) -> Vec<OsString> {
    let flag = |name: &str, path: &Option<PathBuf>| {
        let path = path.as_ref().map(|path| std::path::absolute(path).unwrap_or_else(|_| path.clone()));
        path.map(|path| [OsString::from(name), path.into()])
    };
    let flags = [flag("--data-dir", &args.data_dir), flag("--config", &args.config)];
    flags.into_iter().flatten().flatten().collect()
}

/// A chat in a folder, with nothing open.
pub(crate) fn start(paths: Arc<Paths>, flags: Vec<OsString>, folder: PathBuf) -> ChatStart {
    ChatStart {
        paths,
        folder,
        own_flags: flags,
        session_flags: Vec::new(),
        wishes: posse_tui::ChatWishes::default(),
        opening: ChatOpening::Empty,
        host: None,
        greeting: Vec::new(),
        colours: colour_wanted(),
        plain: !can_draw(),
        version: env!("CARGO_PKG_VERSION").to_string(),
    }
}

pub(crate) async fn run(paths: Paths, flags: Vec<OsString>, args: ChatArgs) -> anyhow::Result<Exit> {
    if !has_terminal() {
        let _ = output::print_aside(&args::command().render_help().to_string());
        return Ok(Exit::Usage);
    }
    let folder = std::fs::canonicalize(&args.dir)
        .with_context(|| format!("cannot open the folder {}", shown(&args.dir)))?;
    let mut start = start(Arc::new(paths), flags, folder);
    start.plain |= args.plain;
    start.wishes.model = args.model;
    start.wishes.approval = args.approval;
    if args.no_sandbox {
        start.session_flags.push("--no-sandbox".into());
    }
    if args.workspace_is_home {
        start.session_flags.push("--workspace-is-home".into());
    }
    if args.continues {
        let engine = Engine::open(&start.paths.data_dir)?;
        start.opening = ChatOpening::Session(session_of(&engine, "last")?.id);
    }
    left(posse_tui::open(start).await?)
}

/// Opens the chat on a session.
pub(crate) async fn open_session(
    paths: Paths,
    flags: Vec<OsString>,
    row: &SessionRow,
) -> anyhow::Result<Exit> {
    let folder = PathBuf::from(&row.workspace);
    if !folder.is_dir() {
        bail!("the folder of the session, {}, is not there any more", shown(&folder));
    }
    let start = ChatStart { opening: ChatOpening::Session(row.id), ..start(Arc::new(paths), flags, folder) };
    left(posse_tui::open(start).await?)
}

/// Says how to get back to the session.
fn left(end: ChatEnd) -> anyhow::Result<Exit> {
    let style = Style::for_stdout();
    let text = match end {
        ChatEnd::Closed(Some(_)) => "posse --continue opens this session again\n".to_string(),
        ChatEnd::Detached(Some(session)) => {
            let id = short(session);
            format!("the session goes on in the background: posse attach {id}, posse stop {id}\n")
        }
        ChatEnd::Closed(None) | ChatEnd::Detached(None) => String::new(),
    };
    // The terminal may be gone.
    let _ = output::print(&style.dim(&text));
    Ok(Exit::Completed)
}
