//! `posse sessions delete` and `prune`: taking sessions off the record.

use std::collections::HashSet;

use anyhow::bail;
use posse_engine::Engine;
use posse_engine::record::SessionRow;

use super::line;
use crate::display::short;
use crate::exit::Exit;
use crate::output::{self, Style, counted, harmless, now_ms};
use crate::questions::person_agrees;

/// Sessions that are shown one by one.
const SESSIONS_SHOWN_MAX: usize = 20;

pub(super) fn delete(engine: &Engine, wanted: &[String], yes: bool) -> anyhow::Result<Exit> {
    let mut sessions: Vec<SessionRow> = Vec::new();
    for wanted in wanted {
        let session = engine.find_session(wanted)?;
        if sessions.iter().all(|known| known.id != session.id) {
            sessions.push(session);
        }
    }
    if let Some(busy) = sessions.iter().find(|session| session.status == "running") {
        bail!("the session {} is at work; stop it first", short(busy.id));
    }
    if !yes {
        output::print(&shown(&sessions))?;
        let what = counted(sessions.len() as u64, "session");
        if !person_agrees(&format!("Take {what} off the record, for good?"), "delete without asking")? {
            output::print("Nothing was deleted.\n")?;
            return Ok(Exit::Failed);
        }
    }
    let (gone, kept) = take(engine, &sessions);
    if !gone.is_empty() {
        output::print(&format!("{} deleted.\n", told(&gone)))?;
    }
    complain(&kept)
}

pub(super) fn prune(engine: &Engine, older_than_ms: u64, keep: usize, dry_run: bool) -> anyhow::Result<Exit> {
    let before_ms = now_ms().saturating_sub(older_than_ms);
    let newest = if keep > 0 { engine.sessions(keep)? } else { Vec::new() };
    let kept_newest = newest.iter().map(|session| session.id).collect::<HashSet<_>>();
    let mut gone: Vec<SessionRow> = Vec::new();
    let mut left: Vec<(SessionRow, String)> = Vec::new();
    loop {
        let page = engine.sessions_before(before_ms, usize::MAX)?;
        let passed = |session: &SessionRow| {
            kept_newest.contains(&session.id) || left.iter().any(|(kept, _)| kept.id == session.id)
        };
        let old = page.iter().filter(|session| !passed(session)).cloned().collect::<Vec<_>>();
        if old.is_empty() || dry_run {
            gone.extend(old);
            break;
        }
        let (taken, kept) = take(engine, &old);
        gone.extend(taken);
        left.extend(kept);
    }
    let mut text = shown(&gone);
    text.push_str(&match (gone.is_empty(), dry_run) {
        (true, _) => "Nothing is that old.\n".to_string(),
        (false, true) => format!("{} would be deleted.\n", told(&gone)),
        (false, false) => format!("{} deleted.\n", told(&gone)),
    });
    output::print(&text)?;
    complain(&left)
}

/// Takes sessions off the record; gives back those that are gone, and those that are not, with the reason.
fn take(engine: &Engine, sessions: &[SessionRow]) -> (Vec<SessionRow>, Vec<(SessionRow, String)>) {
    let (mut gone, mut kept) = (Vec::new(), Vec::new());
    for session in sessions {
        match engine.delete_session(session.id) {
            Ok(()) => gone.push(session.clone()),
            Err(error) => kept.push((session.clone(), error.to_string())),
        }
    }
    (gone, kept)
}

/// How many sessions, and how much was in them.
fn told(sessions: &[SessionRow]) -> String {
    let turns = sessions.iter().map(|session| session.turns).sum();
    let open = sessions.iter().filter(|session| session.status == "interrupted").count();
    let open = if open > 0 { format!(", {open} of them interrupted") } else { String::new() };
    format!("{} ({}{open})", counted(sessions.len() as u64, "session"), counted(turns, "turn"))
}

fn shown(sessions: &[SessionRow]) -> String {
    let mut text = sessions.iter().take(SESSIONS_SHOWN_MAX).map(line).collect::<String>();
    if let Some(more @ 1..) = sessions.len().checked_sub(SESSIONS_SHOWN_MAX) {
        text.push_str(&format!("and {more} more\n"));
    }
    text
}

fn complain(kept: &[(SessionRow, String)]) -> anyhow::Result<Exit> {
    let style = Style::for_stdout();
    for (session, reason) in kept {
        let text = format!("{} stays: {}\n", short(session.id), harmless(reason));
        output::print(&style.yellow(&text))?;
    }
    Ok(if kept.is_empty() { Exit::Completed } else { Exit::Failed })
}
