//! Which session is meant by what was typed.

use std::path::PathBuf;

use anyhow::bail;
use posse_engine::record::SessionRow;
use posse_engine::{Engine, project_of};

use crate::display::short;
use crate::surroundings::{real_folder, shown};

/// Sessions among which the newest of a folder is looked for.
const SESSIONS_LOOKED_AT_MAX: usize = 1000;
/// What people type for the newest.
const LAST: &str = "last";

const NONE_YET: &str = "no sessions yet; start one: posse run \"what does this project do?\"";

/// The session that is meant; `last` is the newest of this project, so that nothing is changed anywhere else.
pub(crate) fn session_of(engine: &Engine, wanted: &str) -> anyhow::Result<SessionRow> {
    newest_that(engine, wanted, |_| Ok(true))
}

/// The session whose changes are meant; `last` is the newest of this project in which something was changed.
pub(crate) fn session_with_changes(engine: &Engine, wanted: &str) -> anyhow::Result<SessionRow> {
    newest_that(engine, wanted, |session| Ok(engine.changed_something(session.id)?))
}

/// The newest session of this project that was interrupted, else the newest of this project.
pub(crate) fn session_to_resume(engine: &Engine) -> anyhow::Result<SessionRow> {
    match newest_here(engine, |session| Ok(session.status == "interrupted"))? {
        Some(session) => Ok(session),
        None => session_of(engine, LAST),
    }
}

/// The folder of a session, if it is not the current one.
pub(crate) fn elsewhere(session: &SessionRow) -> Option<String> {
    let same = |here: PathBuf| std::fs::canonicalize(&session.workspace).is_ok_and(|folder| folder == here);
    let here = real_folder().is_ok_and(same);
    (!here).then(|| shown(session.workspace.as_ref()))
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

fn newest_that(
    engine: &Engine,
    wanted: &str,
    fits: impl Fn(&SessionRow) -> anyhow::Result<bool>,
) -> anyhow::Result<SessionRow> {
    some_on_record(engine)?;
    if wanted != LAST {
        return Ok(engine.find_session(wanted)?);
    }
    match newest_here(engine, fits)? {
        Some(session) => Ok(session),
        // One that does not fit says better what is missing than none.
        None => newest_here(engine, |_| Ok(true))?.map_or_else(|| none_here(engine), Ok),
    }
}

/// Says where the newest of all sessions was held: whoever is in the wrong folder wants to know.
fn none_here(engine: &Engine) -> anyhow::Result<SessionRow> {
    let newest = engine.find_session(LAST)?;
    let (folder, id) = (shown(newest.workspace.as_ref()), short(newest.id));
    bail!(
        "no session was held in this project; the newest of all, {id}, was held in {folder}; name it by its id"
    )
}

/// The newest session of the project that this folder belongs to. One of a folder above is another project's, unless
/// both are in the same repository.
fn newest_here(
    engine: &Engine,
    fits: impl Fn(&SessionRow) -> anyhow::Result<bool>,
) -> anyhow::Result<Option<SessionRow>> {
    let here = real_folder()?;
    let project = PathBuf::from(project_of(&here));
    for session in engine.sessions(SESSIONS_LOOKED_AT_MAX)? {
        let of = std::fs::canonicalize(&session.project).unwrap_or_else(|_| PathBuf::from(&session.project));
        if of == project && fits(&session)? {
            return Ok(Some(session));
        }
    }
    Ok(None)
}
