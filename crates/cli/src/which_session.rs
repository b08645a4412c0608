//! Which session is meant by what was typed.

use anyhow::{Context as _, bail};
use posse_engine::Engine;
use posse_engine::record::SessionRow;

/// Sessions among which the newest of a folder is looked for.
const SESSIONS_LOOKED_AT_MAX: usize = 1000;
/// What people type for the newest.
const LAST: &str = "last";

const NONE_HERE: &str = "no session was held in this folder; name one: posse sessions list";
const NONE_YET: &str = "no sessions yet; start one: posse run \"what does this project do?\"";

/// The session that is meant; `last` is the newest of this folder, so that nothing is changed anywhere else.
pub(crate) fn session_of(engine: &Engine, wanted: &str) -> anyhow::Result<SessionRow> {
    some_on_record(engine)?;
    match wanted {
        LAST => newest_here(engine, |_| true)?.context(NONE_HERE),
        wanted => Ok(engine.find_session(wanted)?),
    }
}

/// The session to look at. `last` means the same as where something is changed; only where no session was held in this
/// folder, it is the newest of all.
pub(crate) fn session_to_read(engine: &Engine, wanted: &str) -> anyhow::Result<SessionRow> {
    some_on_record(engine)?;
    let here = if wanted == LAST { newest_here(engine, |_| true)? } else { None };
    Ok(match here {
        Some(session) => session,
        None => engine.find_session(wanted)?,
    })
}

/// The newest session of this folder that was interrupted, else the newest of this folder.
pub(crate) fn session_to_resume(engine: &Engine) -> anyhow::Result<SessionRow> {
    match newest_here(engine, |session| session.status == "interrupted")? {
        Some(session) => Ok(session),
        None => session_of(engine, LAST),
    }
}

/// Whether what was typed can name a session at all.
pub(crate) fn can_name(wanted: &str) -> bool {
    wanted == LAST || (!wanted.is_empty() && wanted.chars().all(|c| c.is_ascii_hexdigit() || c == '-'))
}

fn some_on_record(engine: &Engine) -> anyhow::Result<()> {
    if engine.sessions(1)?.is_empty() {
        bail!(NONE_YET);
    }
    Ok(())
}

fn newest_here(engine: &Engine, wanted: impl Fn(&SessionRow) -> bool) -> anyhow::Result<Option<SessionRow>> {
    let here = std::fs::canonicalize(".").context("cannot open this folder")?;
    let mut sessions = engine.sessions(SESSIONS_LOOKED_AT_MAX)?.into_iter();
    Ok(sessions.find(|session| {
        wanted(session)
            && std::fs::canonicalize(&session.workspace).is_ok_and(|workspace| here.starts_with(workspace))
    }))
}
