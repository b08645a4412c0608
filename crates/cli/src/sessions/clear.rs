//! `posse sessions delete` and `prune`: taking sessions off the record, once that is meant.

use std::collections::HashSet;

use anyhow::bail;
use posse_engine::Engine;
use posse_engine::record::SessionRow;
use posse_protocol::AgentState;

use super::Listing;
use crate::args::PruneArgs;
use crate::display::short;
use crate::exit::Exit;
use crate::limits::{CLEAR_BRANCHES_SHOWN_MAX, ID_CHARS_MIN, SESSIONS_SHOWN_MAX};
use crate::output::{self, Style, counted, now_ms, one_line};
use crate::questions::person_agrees;
use crate::which_session::session_of;

pub(super) async fn delete(engine: &Engine, wanted: &[String], yes: bool) -> anyhow::Result<Exit> {
    let mut sessions: Vec<SessionRow> = Vec::new();
    for wanted in wanted {
        if wanted.chars().count() < ID_CHARS_MIN {
            bail!("{wanted:?} is too short to delete by; give at least {ID_CHARS_MIN} characters of the id");
        }
        let session = session_of(engine, wanted)?;
        if sessions.iter().all(|known| known.id != session.id) {
            sessions.push(session);
        }
    }
    if let Some(busy) = sessions.iter().find(|session| session.status == AgentState::Running) {
        bail!("the session {} is at work; stop it first", short(busy.id));
    }
    if !yes && !agreed(&sessions)? {
        return Ok(Exit::Failed);
    }
    take(engine, &sessions).await
}

pub(super) async fn prune(engine: &Engine, args: &PruneArgs) -> anyhow::Result<Exit> {
    let newest = if args.keep > 0 { engine.sessions(args.keep.into())? } else { Vec::new() };
    let kept_newest = newest.iter().map(|session| session.id).collect::<HashSet<_>>();
    let before_ms = now_ms().saturating_sub(args.older_than);
    let mut old = engine.sessions_before(before_ms, usize::MAX)?;
    old.retain(|session| !kept_newest.contains(&session.id));
    let (open, mut sessions): (Vec<_>, Vec<_>) =
        old.into_iter().partition(|session| session.status == AgentState::Interrupted && !args.interrupted);
    sessions.retain(|session| session.status != AgentState::Running);
    let left = match open.len() as u64 {
        0 => String::new(),
        n => format!(
            "{} left: interrupted, and can go on; --interrupted takes them too.\n",
            counted(n, "session")
        ),
    };
    if sessions.is_empty() {
        let none = if left.is_empty() { "Nothing is that old.\n" } else { "Nothing to delete.\n" };
        output::print(&format!("{none}{left}"))?;
        return Ok(Exit::Completed);
    }
    if args.dry_run {
        output::print(&format!("{}{} would be deleted.\n{left}", shown(&sessions), told(&sessions)))?;
        return Ok(Exit::Completed);
    }
    if !args.yes && !agreed(&sessions)? {
        return Ok(Exit::Failed);
    }
    let exit = take(engine, &sessions).await?;
    output::print(&left)?;
    Ok(exit)
}

/// Shows what would go and asks the person.
fn agreed(sessions: &[SessionRow]) -> anyhow::Result<bool> {
    output::print(&shown(sessions))?;
    let what = counted(sessions.len() as u64, "session");
    let agreed = person_agrees(&format!("Delete {what} for good?"), "delete without asking")?;
    if !agreed {
        output::print("Nothing was deleted.\n")?;
    }
    Ok(agreed)
}

/// Takes sessions off the record; says which are gone, what of them stays, and which are not gone, with the reason.
async fn take(engine: &Engine, sessions: &[SessionRow]) -> anyhow::Result<Exit> {
    let (mut gone, mut kept, mut branches) = (Vec::new(), Vec::new(), Vec::new());
    for session in sessions {
        match engine.delete_session(session).await {
            Ok(left) => {
                gone.push(session.clone());
                branches.extend(left);
            }
            Err(error) => kept.push((session, error.to_string())),
        }
    }
    if !gone.is_empty() {
        let text = format!("{} deleted.\n{}", told(&gone), what_stays(&branches));
        output::print(&text)?;
        engine.tidy()?;
    }
    let style = Style::for_stdout();
    for (session, reason) in &kept {
        let text = format!("{} stays: {}\n", short(session.id), one_line(reason, 1000));
        output::print(&style.yellow(&text))?;
    }
    Ok(if kept.is_empty() { Exit::Completed } else { Exit::Failed })
}

/// What is not on the record is not deleted with it.
fn what_stays(branches: &[String]) -> String {
    let stays = "Notes, checkpoints and branches stay; posse doctor shows the data directory.\n";
    let mut text = Style::for_stdout().dim(stays);
    for branch in branches.iter().take(CLEAR_BRANCHES_SHOWN_MAX) {
        text.push_str(&format!("  work that was not merged is on {}\n", one_line(branch, 100)));
    }
    if let Some(more @ 1..) = branches.len().checked_sub(CLEAR_BRANCHES_SHOWN_MAX) {
        text.push_str(&format!("  and {more} more\n"));
    }
    text
}

/// How many sessions, and how much was in them.
fn told(sessions: &[SessionRow]) -> String {
    let turns = sessions.iter().map(|session| session.turns).sum();
    let open = sessions.iter().filter(|session| session.status == AgentState::Interrupted).count();
    let open = if open > 0 { format!(", {open} of them interrupted") } else { String::new() };
    format!("{} ({}{open})", counted(sessions.len() as u64, "session"), counted(turns, "turn"))
}

fn shown(sessions: &[SessionRow]) -> String {
    let listing = Listing { width: output::stdout_width(), now_ms: now_ms(), all: true };
    let lines = sessions.iter().take(SESSIONS_SHOWN_MAX).map(|session| listing.line("", session));
    let mut text = lines.collect::<String>();
    if let Some(more @ 1..) = sessions.len().checked_sub(SESSIONS_SHOWN_MAX) {
        text.push_str(&format!("and {more} more\n"));
    }
    text
}
