//! Sets agents to work: one task for each, and an end on record even if the driver breaks.

use std::sync::Arc;

use posse_protocol::{AgentId, Below, Ending, EventKind, Failure, QueueReason, Receipt, Report};
use tokio::task::JoinHandle;

use crate::agents::start::AgentStart;
use crate::crew::Crew;
use crate::driver::Driver;
use crate::elsewhere::RemoteDriver;
use crate::record::journal::Journal;

/// Sets a sub-agent to work whose turn in its session has come, as soon as its turn in the process has come, too.
pub(super) fn start_agent(crew: &Arc<Crew>, mut start: AgentStart) {
    if let Some(on) = start.on.clone() {
        return drive_elsewhere(crew, on, start);
    }
    if let Some(slot) = crew.process_slots.try_take() {
        crew.give_slot(start.who.id, slot);
        return drive(crew, start);
    }
    start.journal.note(EventKind::AgentQueued { reason: QueueReason::ProcessCap, at: None });
    start.journal.send();
    let (id, shared) = (start.who.id, Arc::clone(crew));
    let waiting = tokio::spawn(async move {
        let cancel = shared.signals(id).cancel;
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                // One that had begun in another process has something to report.
                if start.interrupted.is_some() { drive(&shared, start) } else { shared.settle_unstarted(start) }
            }
            slot = shared.process_slots.take() => {
                shared.give_slot(id, slot);
                drive(&shared, start);
            }
        }
    });
    crew.add_driver(waiting.abort_handle());
}

/// Runs a sub-agent on a task of its own.
fn drive(crew: &Arc<Crew>, start: AgentStart) {
    let (id, spare) = (start.who.id, start.journal.beside());
    let driver = Driver::new(Arc::clone(crew), start);
    watch(crew, id, spare, tokio::spawn(driver.run()));
}

/// Runs a sub-agent on a worker. It takes no slot of this process.
fn drive_elsewhere(crew: &Arc<Crew>, on: String, start: AgentStart) {
    let (id, mut spare) = (start.who.id, start.journal.beside());
    let Some(workers) = crew.workers.clone() else {
        let crew = Arc::clone(crew);
        tokio::spawn(async move {
            let reason = format!("it ran on {on}, and there are no workers now");
            let report = Report::new(Ending::Interrupted { reason }, "", Receipt::default());
            spare.note(EventKind::AgentSettled { report: report.clone() });
            let _ = spare.durable().await;
            crew.settle_without_words(id, report);
        });
        return;
    };
    let driver = RemoteDriver::new(Arc::clone(crew), workers, on, start);
    watch(crew, id, spare, tokio::spawn(driver.run()));
}

/// An agent whose driver breaks is settled all the same.
fn watch(crew: &Arc<Crew>, id: AgentId, mut spare: Journal, running: JoinHandle<Report>) {
    crew.add_driver(running.abort_handle());
    let crew = Arc::clone(crew);
    tokio::spawn(async move {
        if running.await.is_err_and(|gone| gone.is_panic()) {
            crew.stop_below(id).await;
            let report = broken(crew.below(id));
            spare.note(EventKind::AgentSettled { report: report.clone() });
            let _ = spare.durable().await;
            crew.settle_without_words(id, report);
        }
    });
}

fn broken(below: Below) -> Report {
    let failure = Failure::Internal { message: "a fault in Posse ended this agent".to_string() };
    Report::new(Ending::Failed { failure }, "", Receipt { below, ..Receipt::default() })
}
