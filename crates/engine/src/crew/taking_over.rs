//! Agents that had begun in another process, and letting go of those of this one.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use posse_delegate::{Freed, State as AgentState, Tree};
use posse_protocol::{AgentId, CallId, EventKind, QueueReason, Report};
use tokio::task::AbortHandle;

use super::{AgentSignals, Crew, Member, StartState};
use crate::agents::finished::FinishedAgent;
use crate::agents::start::{AgentStart, StartedAgent};
use crate::changes::site::Site;
use crate::limits::LET_GO_LOOK_MS;

/// What another process had begun.
pub(crate) struct ReplayedCrew {
    pub(crate) tree: Tree,
    pub(crate) freed: Freed,
    /// In the order in which they ended.
    pub(crate) finished: Vec<FinishedAgent>,
    /// Those that ended before the main agent rested last: its report has told of them.
    pub(crate) told: Vec<FinishedAgent>,
    pub(crate) starts: Vec<AgentStart>,
    pub(crate) started_by: HashMap<(AgentId, CallId), AgentId>,
}

impl Crew {
    /// Where the parent of an agent works, once it has got its checkout back.
    pub(crate) async fn parent_site(&self, id: AgentId, signals: &AgentSignals) -> Arc<Site> {
        let mut news = signals.news.subscribe();
        loop {
            {
                let inner = self.lock();
                let parent = inner.tree.node(id).and_then(|node| node.parent);
                match parent.and_then(|parent| inner.members.get(&parent)) {
                    Some(member) if member.moving => {}
                    Some(member) => return Arc::clone(&member.site),
                    None => return Arc::clone(&self.site),
                }
            }
            let _ = news.changed().await;
        }
    }

    /// Takes in what another process had begun: the tree, those that have ended, those that go on.
    pub(crate) fn take_over(self: &Arc<Self>, taken: ReplayedCrew) {
        let ReplayedCrew { tree, freed, finished, told, starts, started_by } = taken;
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
                let (mail, elsewhere) = (start.mail.clone(), start.on.is_some());
                let mut member = Member::new(site, StartState::Ready(Box::new(start)));
                // Those below one on a worker begin with home's files, which are here already.
                (member.moving, member.mail, member.elsewhere) = (!elsewhere, mail, elsewhere);
                inner.members.insert(id, member);
            }
            told.into_iter().for_each(|done| inner.finished.put(done));
            for done in finished {
                inner.inherit(done.id, &done.report);
                inner.finished.put(done);
            }
        }
        self.start_freed(freed);
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
            model: inner.members.get(&child).map(|member| member.model.clone()).unwrap_or_default(),
        })
    }

    /// Keeps the handle by which a driver can be let go of. One that comes too late is let go of at once.
    pub(crate) fn add_driver(&self, driver: AbortHandle) {
        match &mut self.lock().drivers {
            Some(drivers) => {
                drivers.retain(|driver| !driver.is_finished());
                drivers.push(driver);
            }
            None => driver.abort(),
        }
    }

    /// Lets go of all agents where they are: nobody drives them any more, and nothing is settled. Says who had not ended.
    pub(crate) async fn stop_drivers(&self) -> Vec<AgentId> {
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
    pub(crate) fn settle_interrupted(self: &Arc<Self>, id: AgentId, parent: Option<AgentId>, report: Report) {
        let crew = Arc::clone(self);
        tokio::spawn(async move {
            let mut journal = crew.journal(id, parent);
            journal.note(EventKind::AgentSettled { report: report.clone() });
            if let Err(error) = journal.durable().await {
                tracing::error!(%error, "the end of an agent could not be recorded");
            }
            crew.settle_without_words(id, report);
        });
    }
}
