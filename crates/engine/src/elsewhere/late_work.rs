//! Work of a worker that had lost its agent to another: kept on a branch beside the agent's own, and never merged by itself. It may come
//! when the agent has long ended.

use std::path::Path;
use std::sync::Arc;

use posse_protocol::AgentId;
use posse_workspace::Workspace;
use tokio_util::task::AbortOnDropHandle;

use crate::changes::checkouts::Checkouts;
use crate::changes::travelling::SentWork;
use crate::crew::Crew;
use crate::remote::{Seat, SeatCommand, SeatEvent};

/// All workers that had lost their agents share the turns.
const LATE: &str = "";

/// Takes it in, and says what came of it, and whether it is on a branch now.
pub(super) async fn take(
    checkouts: &Checkouts,
    workspace: &Workspace,
    sent: &SentWork,
    epoch: u64,
    (tip, bundle): (&str, &Path),
) -> (String, bool) {
    let beside = sent.beside(epoch);
    let taken = checkouts.receive(workspace, &beside, (LATE, tip, bundle)).await;
    let _ = std::fs::remove_file(bundle);
    match taken {
        Ok(_) => (format!("a worker that had lost it left work on the branch {}", beside.branch), true),
        Err(error) => (format!("a worker that had lost it sent work that was refused: {error}"), false),
    }
}

/// Waits for it beside the session, for as long as that lasts. The agent has ended, so nobody but the log is told.
pub(super) fn await_it(crew: &Crew, agent: AgentId, seat: Seat, sent: SentWork) {
    let (checkouts, workspace) = (Arc::clone(&crew.checkouts), crew.site.workspace.clone());
    let waiting = tokio::spawn(async move {
        // Without anybody at its other half, the lease would end.
        let Seat { mut events, commands } = seat;
        while let Some(event) = events.recv().await {
            if let SeatEvent::Aside { epoch, tip, bundle } = event {
                let taken = take(&checkouts, &workspace, &sent, epoch, (&tip, &bundle)).await;
                let (note, is_kept) = taken;
                tracing::warn!(%agent, note, "late work of a worker");
                let _ = commands.send(SeatCommand::AsideDone { epoch, is_kept });
            }
        }
    });
    crew.keep_beside(AbortOnDropHandle::new(waiting));
}
