//! Finds the process that runs a session, and says what to do where there is none.

use std::time::Duration;

use posse_api::{CallError, CallErrorKind, Handle};
use posse_engine::Engine;
use posse_engine::record::SessionRow;
use posse_protocol::{AgentState, SessionId};

use crate::display::short;
use crate::exit::Exit;
use crate::limits::{GONE_PAUSE_MS, GONE_TRIES_MAX, SESSIONS_TITLE_COLUMNS_MAX};
use crate::output::one_line;
use crate::which_session::{running_here, session_at_work};

/// A session that runs, and the way to it.
pub(crate) struct Reached {
    pub(crate) row: SessionRow,
    pub(crate) handle: Handle,
}

/// The session that is meant; where none is named, the only one of this project that runs.
pub(crate) async fn reach(engine: &Engine, wanted: Option<&str>) -> anyhow::Result<Reached> {
    let row = match wanted {
        Some(wanted) => session_at_work(engine, wanted)?,
        None => only_one(running_here(engine)?)?,
    };
    match Handle::of(engine, row.id).await {
        Ok(handle) => Ok(Reached { row, handle }),
        Err(error) => Err(told(engine, &row, error)),
    }
}

fn only_one(mut running: Vec<SessionRow>) -> anyhow::Result<SessionRow> {
    match (running.pop(), running.is_empty()) {
        (None, _) => Err(Exit::Failed.because(
            "no session of this project runs; start one with posse run --background \"…\", or continue one with posse resume"
                .to_string(),
        )),
        (Some(row), true) => Ok(row),
        (Some(row), false) => {
            running.push(row);
            let line = |row: &SessionRow| {
                let title = one_line(row.title.as_deref().unwrap_or_default(), SESSIONS_TITLE_COLUMNS_MAX);
                format!("\n{}  {title}", short(row.id))
            };
            let list = running.iter().map(line).collect::<String>();
            Err(Exit::Usage.because(format!("several sessions run here; name one of them:{list}")))
        }
    }
}

/// An error of a call, in the words of the command line.
pub(crate) fn told(engine: &Engine, row: &SessionRow, error: CallError) -> anyhow::Error {
    // A process that has ended meanwhile, or was killed, is not one that cannot be reached.
    let gone = error.kind == CallErrorKind::Unreachable && is_gone(engine, row.id);
    if error.kind == CallErrorKind::NotRunning || gone {
        return Exit::Failed.because(not_running(engine, row));
    }
    let exit = match error.kind {
        CallErrorKind::BadRequest | CallErrorKind::TooLarge | CallErrorKind::Refused => Exit::Usage,
        _ => Exit::Failed,
    };
    exit.because(error.message)
}

/// Whether no process runs a session. One that was killed closes its connections a moment before the kernel frees its lock.
pub(crate) fn is_gone(engine: &Engine, session: SessionId) -> bool {
    for _ in 0..GONE_TRIES_MAX {
        if engine.process_of(session).is_none() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(GONE_PAUSE_MS));
    }
    false
}

/// Says that no process runs a session, and how it is continued.
fn not_running(engine: &Engine, row: &SessionRow) -> String {
    let id = short(row.id);
    let state = engine.find_session(&row.id.to_string()).map_or(row.status, |row| row.status);
    match state {
        AgentState::Running | AgentState::Resting | AgentState::Interrupted => {
            format!("no process runs the session {id}; posse resume {id} continues it")
        }
        _ => format!("the session {id} has ended; posse resume {id} \"…\" continues it"),
    }
}
