//! A conversation as a cassette sees it, kept beside the wire bytes and added to message by message.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use posse_protocol::{Message, ToolSpec};

use super::times::{masked, without_times};
use super::{Substitutions, Tool};

/// Neutral messages with a running hash, so that "is this the same conversation" costs no walk over it.
#[derive(Clone, Debug)]
pub(crate) struct MessageLog {
    pub(super) head: Arc<Head>,
    pub(super) messages: Arc<Vec<Arc<Message>>>,
    /// Entry n is the hash of the first n messages.
    pub(super) hashes: Arc<Vec<u64>>,
    substitutions: Substitutions,
}

/// The fixed part of a conversation.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) system: String,
    pub(super) tools: Vec<Tool>,
    pub(super) hash: u64,
}

impl Head {
    pub(super) fn new(system: String, tools: Vec<Tool>) -> Self {
        let system = masked(&system);
        let hash = hash_of(0, &(&system, &tools));
        Self { system, tools, hash }
    }
}

impl MessageLog {
    pub(crate) fn new(system: &str, tools: &[ToolSpec], substitutions: Substitutions) -> Self {
        let tools = tools.iter().map(|tool| Tool {
            name: tool.name.clone(),
            description: substitutions.hide(&tool.description),
            schema: (*tool.schema).clone(),
        });
        let head = Arc::new(Head::new(substitutions.hide(system), tools.collect()));
        Self { head, messages: Arc::default(), hashes: Arc::new(vec![0]), substitutions }
    }

    pub(crate) fn push(&mut self, message: &Message) {
        let message = without_times(self.substitutions.hide_message(message));
        let hash = hash_of(self.hash(), &message);
        Arc::make_mut(&mut self.hashes).push(hash);
        Arc::make_mut(&mut self.messages).push(Arc::new(message));
    }

    /// Takes back all but the first messages.
    pub(super) fn truncate(&mut self, length: usize) {
        if length < self.messages.len() {
            Arc::make_mut(&mut self.hashes).truncate(length + 1);
            Arc::make_mut(&mut self.messages).truncate(length);
        }
    }

    /// The hash of all messages.
    pub(super) fn hash(&self) -> u64 {
        self.hashes.last().copied().unwrap_or(0)
    }
}

/// The hash of a conversation with one more part.
pub(super) fn hash_of(before: u64, part: &impl serde::Serialize) -> u64 {
    let mut hasher = DefaultHasher::new();
    before.hash(&mut hasher);
    // Plain data always encodes.
    serde_json::to_vec(part).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}
