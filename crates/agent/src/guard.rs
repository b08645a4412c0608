//! Notices a model that makes the same call over and over with the same result.
//!
//! Repetition is only a loop if nothing new happened in between: running the tests again after an edit is work.
//! So a successful call that may change things, made for the first time ever, clears the counts. Alternating
//! between two changes does not: neither is new the second time.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use posse_protocol::ToolCall;
use serde::{Deserialize, Serialize};

use crate::limits::{REMEMBERED_CALLS_MAX, SAME_RESULT_MAX};
use crate::step::Done;

/// What was called how often.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RepetitionGuard {
    seen: BTreeMap<u64, Seen>,
    changes: BTreeSet<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Seen {
    result: u64,
    times: u32,
}

impl RepetitionGuard {
    /// Whether this call has had its tries.
    pub(crate) fn exhausted(&self, call: &ToolCall) -> bool {
        self.seen.get(&key(call)).is_some_and(|seen| seen.times >= SAME_RESULT_MAX)
    }

    /// Remembers a call's result. Returns whether it was the last time it may run.
    pub(crate) fn note(&mut self, call: &ToolCall, done: &Done) -> bool {
        let key = key(call);
        if done.ok && done.ran && !done.read_only && self.changes.insert(key) {
            self.seen.clear();
        }
        if self.seen.len() >= REMEMBERED_CALLS_MAX {
            self.seen.clear();
        }
        if self.changes.len() >= REMEMBERED_CALLS_MAX {
            self.changes.clear();
        }
        let shown: Vec<&str> = done.attachments.iter().map(|attachment| &*attachment.data).collect();
        let result = hash(&(done.ok, &done.text, shown));
        let seen = self.seen.entry(key).or_insert(Seen { result, times: 0 });
        seen.times = if seen.result == result { seen.times + 1 } else { 1 };
        seen.result = result;
        seen.times == SAME_RESULT_MAX
    }
}

fn key(call: &ToolCall) -> u64 {
    hash(&(&call.name, call.arguments.trim()))
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
