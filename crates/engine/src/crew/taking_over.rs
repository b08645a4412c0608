//! Agents that had begun in another process, and letting go of those of this one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use posse_delegate::{Freed, State as AgentState, Tree};
use posse_protocol::{AgentId, CallId, EventKind, QueueReason, Report};
use tokio::task::AbortHandle;

use super::{Crew, Handles, Place, Seat};
use crate::agents::finished::FinishedAgent;
use crate::agents::start::{AgentStart, StartedAgent};
use crate::changes::site::Site;
use crate::limits::LET_GO_LOOK_MS;

/// What another process had begun.
pub(crate) struct TakenOver {
    pub(crate) tree: Tree,
    pub(crate) freed: Freed,
    /// In the order in which they ended.
    pub(crate) finished: Vec<FinishedAgent>,
    pub(crate) starts: Vec<AgentStart>,
    pub(crate) started_by: HashMap<(AgentId, CallId), AgentId>,
}

impl Crew {
    /// Where the parent of an agent works, once it has got its checkout back.
    pub(crate) async fn place_of_parent(&self, id: AgentId, handles: &Handles) -> Arc<Site> {
        let mut news = handles.news.subscribe();
        loop {
            {
                let inner = self.lock();
                let parent = inner.tree.node(id).and_then(|node| node.parent);
                match parent.and_then(|parent| inner.seats.get(&parent)) {
                    Some(seat) if seat.moving => {}
                    Some(seat) => return Arc::clone(&seat.site),
                    None => return Arc::clone(&self.site),
                }
            }
            let _ = news.changed().await;
        }
    }

    /// Takes in what another process had begun: the tree, those that have ended, those that go on.
    pub(crate) fn take_over(self: &Arc<Self>, taken: TakenOver) {
        let TakenOver { tree, freed, finished, starts, started_by } = taken;
        {
            let mut inner = self.lock();
            inner.tree = tree;
            inner.started_by = started_by;
            for mut start in starts {
                if !freed.start.contains(&start.who.id) {
                    start.journal.note(EventKind::AgentQueued { reason: QueueReason::RunningCap, at: None });
                    start.journal.send();
                }
                let (id, site) = (start.who.id, Arc::clone(&self.site));
                let mail = start.mail.clone();
                let mut seat = Seat::new(site, Place::Ready(Box::new(start)));
                (seat.moving, seat.mail) = (true, mail);
                inner.seats.insert(id, seat);
            }
            for done in finished {
                inner.inherit(done.id, &done.report);
                inner.shelf.put(done);
            }
        }
        self.freed(freed);
    }

    /// The agent that a call had started before its process ended.
    pub(crate) fn started_by(&self, id: AgentId, call: &CallId) -> Option<StartedAgent> {
        let mut inner = self.lock();
        // Ids may come again.
        let child = inner.started_by.remove(&(id, call.clone()))?;
        let node = inner.tree.node(child)?;
        Some(StartedAgent {
            id: node.id,
            name: node.name.clone(),
            role: node.role.clone(),
            queued: node.state == AgentState::Queued,
            ahead: 0,
            budget: node.budget,
            model: inner.seats.get(&child).map(|seat| seat.model.clone()).unwrap_or_default(),
        })
    }

    /// Keeps the handle by which a driver can be let go of. One that comes too late is let go of at once.
    pub(crate) fn driven_by(&self, driver: AbortHandle) {
        match &mut self.lock().drivers {
            Some(drivers) => {
                drivers.retain(|driver| !driver.is_finished());
                drivers.push(driver);
            }
            None => driver.abort(),
        }
    }

    /// Lets go of all agents where they are: nobody drives them any more, and nothing is settled. Says who had not ended.
    pub(crate) async fn let_go(&self) -> Vec<AgentId> {
        let drivers = self.lock().drivers.take().unwrap_or_default();
        drivers.iter().for_each(AbortHandle::abort);
        // What they are about to write comes before that they were let go of.
        while !drivers.iter().all(AbortHandle::is_finished) {
            tokio::time::sleep(Duration::from_millis(LET_GO_LOOK_MS)).await;
        }
        let inner = self.lock();
        inner.tree.nodes().filter(|node| !node.state.is_settled()).map(|node| node.id).collect()
    }

    /// Settles an agent that had begun in another process and cannot go on.
    pub(crate) fn never_goes_on(self: &Arc<Self>, id: AgentId, parent: Option<AgentId>, report: Report) {
        let crew = Arc::clone(self);
        tokio::spawn(async move {
            let mut journal = crew.journal(id, parent);
            journal.note(EventKind::AgentSettled { report: report.clone() });
            if let Err(error) = journal.durable().await {
                tracing::error!(%error, "the end of an agent could not be recorded");
            }
            crew.settled_without_words(id, report);
        });
    }
}
