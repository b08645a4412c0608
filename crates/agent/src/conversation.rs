//! The messages of one agent: append-only until it is shortened, which starts a new epoch.

use std::sync::Arc;

use posse_protocol::Message;
use serde::{Deserialize, Serialize};

/// An agent's conversation. Cloning it copies pointers, not messages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MessageHistory {
    messages: Vec<Arc<Message>>,
    bytes: usize,
    epoch: u32,
}

impl MessageHistory {
    /// One that begins with messages of another.
    pub(crate) fn of(messages: &[Arc<Message>]) -> Self {
        let bytes = messages.iter().map(|m| m.bytes()).sum();
        Self { messages: messages.to_vec(), bytes, epoch: 0 }
    }

    /// All messages, oldest first.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// About how many bytes they take in a request.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Grows by one whenever older messages were replaced. Within an epoch messages are only appended.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(crate) fn push(&mut self, message: Message) {
        self.bytes += message.bytes();
        self.messages.push(Arc::new(message));
    }

    pub(crate) fn replace(&mut self, messages: Vec<Arc<Message>>) {
        self.bytes = messages.iter().map(|m| m.bytes()).sum();
        self.messages = messages;
        self.epoch += 1;
    }

    /// Takes back the last message, which nobody has answered.
    pub(crate) fn take_back(&mut self) {
        if let Some(message) = self.messages.pop() {
            self.bytes -= message.bytes();
            self.epoch += 1;
        }
    }
}
