//! Sets agents to work: one task for each, and an end on record even if the driver breaks.

use std::sync::Arc;

use posse_protocol::{Below, Ending, EventKind, Failure, Receipt, Report};

use crate::agents::start::AgentStart;
use crate::crew::Crew;
use crate::driver::Driver;

/// Runs a sub-agent on a task of its own. One whose driver breaks is settled all the same.
pub(super) fn start_agent(crew: &Arc<Crew>, start: AgentStart) {
    let (id, mut spare) = (start.who.id, start.journal.beside());
    let driver = Driver::new(Arc::clone(crew), start);
    let running = tokio::spawn(driver.run());
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
