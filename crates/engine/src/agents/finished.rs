//! Agents that have ended: what they came to, and the conversation that a follow-up goes on with. Kept within a limit;
//! the record keeps all of it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use posse_model::Transcript;
use posse_protocol::{AgentId, Branch, Isolation, Message, Report, Role, ToolSpec};

use crate::limits::KEPT_BYTES_MAX;
use crate::models::choice::PricedModel;

/// One agent that has ended.
pub(crate) struct Finished {
    pub(crate) id: AgentId,
    pub(crate) name: String,
    pub(crate) role: String,
    pub(crate) title: String,
    pub(crate) report: Report,
    /// What a follow-up needs; none where the agent never spoke to a model.
    pub(crate) conversation: Option<Kept>,
}

/// A conversation that can go on.
#[derive(Clone)]
pub(crate) struct Kept {
    pub(crate) role: Role,
    pub(crate) model: PricedModel,
    pub(crate) system: String,
    pub(crate) tools: Arc<[ToolSpec]>,
    /// The transcript without any message.
    pub(crate) empty: Transcript,
    pub(crate) transcript: Transcript,
    pub(crate) messages: Vec<Arc<Message>>,
    pub(crate) isolation: Isolation,
    /// Where its work is, if it had a checkout of its own.
    pub(crate) branch: Option<Branch>,
}

impl Finished {
    fn bytes(&self) -> usize {
        let kept = self.conversation.as_ref().map_or(0, |kept| kept.transcript.bytes());
        self.report.text.len() + kept
    }
}

/// The newest of them, by id.
#[derive(Default)]
pub(crate) struct Shelf {
    by_id: HashMap<AgentId, Arc<Finished>>,
    oldest_first: VecDeque<AgentId>,
    bytes: usize,
}

impl Shelf {
    pub(crate) fn get(&self, id: AgentId) -> Option<Arc<Finished>> {
        self.by_id.get(&id).cloned()
    }

    /// Keeps one more. The oldest lose their conversation first; reports stay, for they may not be delivered yet.
    pub(crate) fn put(&mut self, finished: Finished) {
        self.bytes += finished.bytes();
        self.oldest_first.push_back(finished.id);
        self.by_id.insert(finished.id, Arc::new(finished));
        while self.bytes > KEPT_BYTES_MAX
            && let Some(oldest) = self.oldest_first.pop_front()
        {
            let Some(old) = self.by_id.get_mut(&oldest) else { continue };
            self.bytes -= old.bytes();
            let bare = Finished {
                id: old.id,
                name: old.name.clone(),
                role: old.role.clone(),
                title: old.title.clone(),
                report: old.report.clone(),
                conversation: None,
            };
            *old = Arc::new(bare);
        }
    }
}
