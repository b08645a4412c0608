//! Closes sessions on record that rested when their process ended: nothing was cut off, so they ended as their last prompt
//! did. Those with words that nobody has answered are interrupted, like all that were at work.

use std::collections::HashSet;

use posse_protocol::{AgentState, Event, EventKind, Report, Sender};
use posse_store::{SessionRow, Store};

use crate::agents::past_prompts::PastPrompts;
use crate::error::EngineError;
use crate::record::journal::Journal;
use crate::record::processes::Processes;
use crate::record::reading::read_events;
use crate::record::session_lock::SessionLock;

/// Closes those that rested and whose process is gone.
pub(crate) fn close_rested(processes: &Processes, store: &Store) -> Result<(), EngineError> {
    let resting = |row: &SessionRow| row.status == AgentState::Resting;
    for session in store.unfinished()?.iter().filter(|row| resting(row)) {
        // Held until it is on record: nobody resumes it meanwhile.
        let Ok(Some(_alive)) = SessionLock::take(processes, session.id) else { continue };
        if !store.unfinished()?.iter().any(|row| row.id == session.id && resting(row)) {
            continue;
        }
        let events = read_events(store, session.id)?;
        let Some(main) = events.iter().find(|event| event.parent.is_none()).map(|event| event.agent) else {
            continue;
        };
        if let Some(report) = last_report(events.into_iter().filter(|event| event.agent == main)) {
            let mut journal = Journal::new(store.clone(), session.id, main, None);
            journal.note(EventKind::AgentSettled { report });
            journal.send();
            store.flush()?;
        }
    }
    Ok(())
}

/// What an agent that rests came to in all; none if words wait that it has not answered.
fn last_report(events: impl Iterator<Item = Event>) -> Option<Report> {
    let (mut past, mut last, mut waiting) = (PastPrompts::default(), None, HashSet::new());
    for event in events {
        match event.kind {
            EventKind::AgentRested { report: Some(report) } => {
                past.add(&report.receipt);
                last = Some(Report { receipt: past.with(&Default::default()), ..report });
            }
            EventKind::AgentSettled { report } => {
                past = PastPrompts::ended(report.receipt.clone());
                last = Some(report);
            }
            EventKind::Mailed { id, from: Sender::Person, .. } => drop(waiting.insert(id)),
            EventKind::MailWithdrawn { id } | EventKind::Told { mail: id, .. } => drop(waiting.remove(&id)),
            _ => {}
        }
    }
    last.filter(|_| waiting.is_empty())
}
