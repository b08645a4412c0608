//! Which session is meant by what was typed.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::bail;
use posse_engine::record::SessionRow;
use posse_engine::{Engine, project_of};
use posse_protocol::AgentState;

use crate::display::short;
use crate::limits::{OWN_SESSIONS_LOOKED_AT_MAX, PLACE_DIGITS_MAX};
use crate::surroundings::{real_folder, shown};

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

/// The session that is meant where one is to be steered; `last` is the newest of this project that runs.
pub(crate) fn session_at_work(engine: &Engine, wanted: &str) -> anyhow::Result<SessionRow> {
    newest_that(engine, wanted, |session| Ok(engine.process_of(session.id).is_some()))
}

/// The sessions of this project that run in some process, newest first.
pub(crate) fn running_here(engine: &Engine) -> anyhow::Result<Vec<SessionRow>> {
    let mut sessions = sessions_here(engine)?;
    sessions.retain(|session| engine.process_of(session.id).is_some());
    Ok(sessions)
}

/// The newest session of this project that was interrupted, else the newest of this project.
pub(crate) fn session_to_resume(engine: &Engine) -> anyhow::Result<SessionRow> {
    match sessions_here(engine)?.into_iter().find(|session| session.status == AgentState::Interrupted) {
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
    place(wanted).is_some()
        || (!wanted.is_empty() && wanted.chars().all(|c| c.is_ascii_hexdigit() || c == '-'))
}

/// The sessions of the project that this folder belongs to, newest first. One of a folder above is another project's, unless
/// both are in the same repository.
pub(crate) fn sessions_here(engine: &Engine) -> anyhow::Result<Vec<SessionRow>> {
    let here = real_folder()?;
    let project = PathBuf::from(project_of(&here));
    let mut known: HashMap<String, bool> = HashMap::new();
    let mut sessions = engine.sessions(OWN_SESSIONS_LOOKED_AT_MAX)?;
    sessions.retain(|session| {
        *known.entry(session.project.clone()).or_insert_with_key(|of| {
            std::fs::canonicalize(of).unwrap_or_else(|_| PathBuf::from(of)) == project
        })
    });
    Ok(sessions)
}

/// Which session of a list is meant: `last`, `last~2`, or its number in the list.
fn place(wanted: &str) -> Option<usize> {
    let is_plain = |text: &str| text.len() <= PLACE_DIGITS_MAX && (text == "0" || !text.starts_with('0'));
    let number = |text: &str| text.parse().ok().filter(|_| is_plain(text));
    match wanted.strip_prefix(LAST) {
        Some("") => Some(0),
        Some(before) => number(before.strip_prefix('~')?),
        None => number(wanted)?.checked_sub(1),
    }
}

fn newest_that(
    engine: &Engine,
    wanted: &str,
    fits: impl Fn(&SessionRow) -> anyhow::Result<bool>,
) -> anyhow::Result<SessionRow> {
    if engine.sessions(1)?.is_empty() {
        bail!(NONE_YET);
    }
    let Some(place) = place(wanted) else { return Ok(engine.find_session(wanted)?) };
    let sessions = sessions_here(engine)?;
    if wanted != LAST {
        let count = sessions.len();
        return match sessions.into_iter().nth(place) {
            Some(session) => Ok(session),
            None if count == 0 => none_here(engine),
            None => bail!("there is no session {wanted}: this project has {count}; posse sessions list"),
        };
    }
    for session in &sessions {
        if fits(session)? {
            return Ok(session.clone());
        }
    }
    // One that does not fit says better what is missing than none.
    sessions.into_iter().next().map_or_else(|| none_here(engine), Ok)
}

/// Says where the newest of all sessions was held: who is in the wrong folder wants to know.
fn none_here(engine: &Engine) -> anyhow::Result<SessionRow> {
    let newest = engine.find_session(LAST)?;
    let (folder, id) = (shown(newest.workspace.as_ref()), short(newest.id));
    bail!(
        "no session was held in this project; the newest of all, {id}, was held in {folder}; name it by its id"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_the_list_are_told_from_ids() {
        let cases = [
            ("last", Some(0)),
            ("last~1", Some(1)),
            ("last~12", Some(12)),
            ("1", Some(0)),
            ("20", Some(19)),
            ("0", None),
            ("01", None),
            ("1234", None),
            ("1a2b3c4d", None),
            ("last~", None),
            ("last1", None),
            ("", None),
        ];
        assert_eq!(cases.len(), 12);
        for (typed, expected) in cases {
            assert_eq!(place(typed), expected, "{typed:?}");
        }
        assert!(
            can_name("last~2") && can_name("7") && can_name("01a1-") && !can_name("fix it") && !can_name("")
        );
    }
}
