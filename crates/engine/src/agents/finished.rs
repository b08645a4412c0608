//! Agents that have ended: what they came to, and the conversation that a follow-up goes on with. Kept within a limit;
//! the record keeps all of it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use posse_protocol::{AgentId, Branch, Isolation, Report, Role};

use crate::agents::conversation::Conversation;
use crate::limits::KEPT_BYTES_MAX;

/// One agent that has ended.
pub(crate) struct FinishedAgent {
    pub(crate) id: AgentId,
    pub(crate) name: String,
    pub(crate) role: String,
    pub(crate) title: String,
    pub(crate) report: Report,
    /// What a follow-up needs; none where the agent never spoke to a model.
    pub(crate) continuation: Option<Continuation>,
}

/// What a follow-up goes on with.
#[derive(Clone)]
pub(crate) struct Continuation {
    pub(crate) role: Role,
    pub(crate) conversation: Conversation,
    pub(crate) isolation: Isolation,
    /// Where its work is, if it had a checkout of its own.
    pub(crate) branch: Option<Branch>,
    /// The worker or the label of workers that it ran on.
    pub(crate) on: Option<String>,
}

impl FinishedAgent {
    fn bytes(&self) -> usize {
        let kept = self.continuation.as_ref().map_or(0, |kept| kept.conversation.transcript().bytes());
        self.report.text.len() + kept
    }
}

/// The newest of them, by id.
#[derive(Default)]
pub(crate) struct FinishedAgents {
    by_id: HashMap<AgentId, Arc<FinishedAgent>>,
    oldest_first: VecDeque<AgentId>,
    bytes: usize,
}

impl FinishedAgents {
    pub(crate) fn get(&self, id: AgentId) -> Option<Arc<FinishedAgent>> {
        self.by_id.get(&id).cloned()
    }

    /// Keeps one more. The oldest lose their conversation first; reports stay, for they may not be delivered yet.
    pub(crate) fn put(&mut self, finished: FinishedAgent) {
        self.bytes += finished.bytes();
        self.oldest_first.push_back(finished.id);
        self.by_id.insert(finished.id, Arc::new(finished));
        while self.bytes > KEPT_BYTES_MAX
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            let Some(old) = self.by_id.get_mut(&oldest) else { continue };
            self.bytes -= old.bytes();
            let bare = FinishedAgent {
                id: old.id,
                name: old.name.clone(),
                role: old.role.clone(),
                title: old.title.clone(),
                report: old.report.clone(),
                continuation: None,
            };
            *old = Arc::new(bare);
        }
    }
}
