//! A conversation as bytes ready to be sent: every message is encoded once, when it is added.
//!
//! A clone shares everything; the first message added to either afterwards copies pointers, never text. What is
//! kept beside the wire bytes (call ids, neutral pieces for cassettes) is there so that no call has to look back.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use bytes::Bytes;
use posse_protocol::{CallId, Message, Reply, StopReason, ToolSpec};

use crate::attached::SentAttachments;
use crate::body::PiecesBody;
use crate::cassette::MessageLog;
use crate::openings::Openings;
use crate::pieces::Pieces;
use crate::wire::{self, Items, Wire};
use crate::{ModelConfig, ToolCallMode, text_calls};

/// A conversation with one model, append-only. Made by `Model::transcript`.
#[derive(Clone, Debug)]
pub struct Transcript {
    head: Arc<Head>,
    /// The messages as they are sent.
    pieces: Pieces,
    bytes: usize,
    /// Whether the list of messages has an element already.
    any: bool,
    /// Whether the last message may carry Anthropic's cache marker.
    markable: bool,
    calls: Calls,
    /// What is shown so far.
    attached: SentAttachments,
    /// The same conversation in no provider's format, where a cassette needs it.
    log: Option<MessageLog>,
}

/// What is fixed for a conversation's life.
#[derive(Debug)]
struct Head {
    wire: Option<Wire>,
    mode: ToolCallMode,
    /// Settings and tools, which agents with the same tools share; then the agent's own system prompt.
    bytes: [Bytes; 2],
    offered: Vec<String>,
}

/// What has to be known of earlier calls.
#[derive(Clone, Debug, Default)]
struct Calls {
    /// Hashes of all ids so far.
    seen: Arc<HashSet<u64>>,
    /// The greatest N of ids `call_N`, and at least the number of calls.
    number: u64,
    /// Whether one has an id that is not of our making, so that it was made by the protocol.
    native: bool,
    /// Ids and tools of the last reply's calls.
    last: Vec<(CallId, String)>,
}

impl Transcript {
    pub(crate) fn new(
        config: &ModelConfig,
        system: &str,
        tools: &[ToolSpec],
        openings: &Openings,
        log: Option<MessageLog>,
    ) -> Self {
        let wire = Wire::of(config.protocol);
        let opening = wire.map(|wire| openings.get(wire, config, tools)).unwrap_or_default();
        let items = match wire {
            None => Items::default(),
            Some(wire) if config.tool_calls == ToolCallMode::Text => {
                wire.head(&text_calls::system_prompt(system, tools))
            }
            Some(wire) => wire.head(system),
        };
        let offered = tools.iter().map(|tool| tool.name.clone()).collect();
        let bytes = [opening, Bytes::from(items.bytes)];
        let head = Head { wire, mode: config.tool_calls, bytes, offered };
        Self {
            bytes: head.bytes.iter().map(Bytes::len).sum::<usize>() + wire::TAIL.len(),
            head: Arc::new(head),
            pieces: Pieces::default(),
            any: items.any,
            markable: false,
            calls: Calls::default(),
            attached: SentAttachments::new(config),
            log,
        }
    }

    /// Adds a message. It is encoded here, once and for all.
    pub fn push(&mut self, message: &Message) {
        let mut items = Items { bytes: Vec::new(), any: self.any };
        let sent = self.attached.admit(message);
        match self.head.wire {
            None => {}
            Some(wire) if self.head.mode == ToolCallMode::Text => {
                let words = text_calls::in_words(&sent, &self.calls.last);
                wire.message(&words, self.pieces.len(), &mut items);
            }
            Some(wire) => wire.message(&sent, self.pieces.len(), &mut items),
        }
        self.any = items.any;
        self.markable = !matches!(message, Message::Assistant { .. }) && !items.bytes.is_empty();
        self.bytes += if self.head.wire.is_none() { message.bytes() } else { items.bytes.len() };
        self.pieces.push(Bytes::from(items.bytes));
        self.calls.note(message);
        if let Some(log) = &mut self.log {
            log.push(message);
        }
    }

    /// Bytes of a request with this conversation.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many messages it has; the system prompt is not one.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    /// Whether it has no messages.
    pub fn is_empty(&self) -> bool {
        self.pieces.len() == 0
    }

    pub(crate) fn offered(&self) -> &[String] {
        &self.head.offered
    }

    /// Whether a call in it was made by the protocol for certain.
    pub(crate) fn has_native_calls(&self) -> bool {
        self.calls.native
    }

    pub(crate) fn log(&self) -> Option<&MessageLog> {
        self.log.as_ref()
    }

    /// The request's body.
    pub(crate) fn body(&self) -> PiecesBody {
        let tail = Bytes::from_static(wire::TAIL);
        let (rest, total) = match self.pieces.last() {
            Some(last) if self.markable && self.head.wire == Some(Wire::Anthropic) => {
                let at = last.len().saturating_sub(wire::CACHE_MARKER_FROM_END);
                let marker = Bytes::from_static(wire::CACHE_MARKER);
                let total = self.bytes + marker.len();
                (self.pieces.rest(1, &[last.slice(..at), marker, last.slice(at..), tail]), total)
            }
            _ => (self.pieces.rest(0, &[tail]), self.bytes),
        };
        PiecesBody::new(self.head.bytes.clone(), self.pieces.chunks(), rest, total)
    }

    /// Makes a decoded reply fit this conversation: calls written as text become calls, ids that are missing or were
    /// used before are made new, and arguments left out are none. `mode` says whether text counts. Two calls of one reply with one id stay as they are:
    /// the agent refuses the second. True if the calls were text.
    pub(crate) fn settle(&self, reply: &mut Reply, mode: ToolCallMode) -> bool {
        let mut from_text = false;
        reply.text.truncate(text_calls::before_forged(&reply.text, mode).len());
        if reply.calls.is_empty()
            && !self.head.offered.is_empty()
            && let Some(parsed) = text_calls::parse(&reply.text, mode, &self.head.offered)
        {
            from_text = true;
            reply.text = parsed.words;
            reply.calls = parsed.calls;
            if reply.stop == StopReason::EndTurn {
                reply.stop = StopReason::ToolCalls;
            }
        }
        let mut number = self.calls.number;
        for call in &mut reply.calls {
            if call.id.0.is_empty() || self.calls.seen.contains(&hash(&call.id.0)) {
                number += 1;
                call.id = CallId(format!("call_{number}"));
            }
            if call.arguments.trim().is_empty() && reply.stop != StopReason::MaxTokens {
                call.arguments = "{}".to_owned();
            }
        }
        from_text
    }
}

impl Calls {
    fn note(&mut self, message: &Message) {
        let Message::Assistant { calls, .. } = message else { return };
        self.last = calls.iter().map(|call| (call.id.clone(), call.name.clone())).collect();
        for call in calls {
            let named: Option<u64> = call.id.0.strip_prefix("call_").and_then(|number| number.parse().ok());
            self.native |= named.is_none() && !call.id.0.is_empty();
            self.number = self.number.saturating_add(1).max(named.unwrap_or(0));
            Arc::make_mut(&mut self.seen).insert(hash(&call.id.0));
        }
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}
