//! Which session is meant by what was typed.

use anyhow::Context as _;
use posse_engine::Engine;
use posse_engine::record::SessionRow;

/// Sessions among which the newest of a folder is looked for.
const SESSIONS_LOOKED_AT_MAX: usize = 1000;
/// What people type for the newest.
const LAST: &str = "last";

/// The session that is meant; `last` is the newest of this folder, so that nothing is changed anywhere else.
pub(crate) fn session_of(engine: &Engine, wanted: &str) -> anyhow::Result<SessionRow> {
    match wanted {
        LAST => newest_here(engine, |_| true)?.context(NONE_HERE),
        wanted => Ok(engine.find_session(wanted)?),
    }
}

/// The newest session of this folder that was interrupted, else the newest of this folder.
pub(crate) fn session_to_resume(engine: &Engine) -> anyhow::Result<SessionRow> {
    match newest_here(engine, |session| session.status == "interrupted")? {
        Some(session) => Ok(session),
        None => session_of(engine, LAST),
    }
}

const NONE_HERE: &str = "no session was held in this folder; name one: posse sessions list";

fn newest_here(engine: &Engine, wanted: impl Fn(&SessionRow) -> bool) -> anyhow::Result<Option<SessionRow>> {
    let here = std::fs::canonicalize(".").context("cannot open this folder")?;
    let mut sessions = engine.sessions(SESSIONS_LOOKED_AT_MAX)?.into_iter();
    Ok(sessions.find(|session| {
        wanted(session)
            && std::fs::canonicalize(&session.workspace).is_ok_and(|workspace| here.starts_with(workspace))
    }))
}
