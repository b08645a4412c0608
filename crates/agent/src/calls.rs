//! Which calls of a reply may run. What cannot be read is never run: the model is told what to fix.

use std::collections::BTreeSet;

use posse_protocol::{CallId, ToolCall, ToolResult};

use crate::guard::RepetitionGuard;
use crate::limits::{CALLS_PER_REPLY_MAX, QUOTE_CHARS_MAX};

/// The calls of one reply, sorted.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct SortedCalls {
    /// To be run.
    pub(crate) run: Vec<ToolCall>,
    /// Answered already, with what is wrong.
    pub(crate) refused: Vec<ToolResult>,
    /// The tool whose call was repeated too often, if one was.
    pub(crate) repeated: Option<String>,
}

/// Gives every call an id of its own, so that each can be answered.
pub(crate) fn distinct_ids(calls: &mut [ToolCall], turn: u32) -> BTreeSet<CallId> {
    let mut taken = BTreeSet::new();
    let mut duplicates = BTreeSet::new();
    for (index, call) in calls.iter_mut().enumerate() {
        let duplicate = !call.id.0.is_empty() && taken.contains(&call.id);
        if call.id.0.is_empty() || duplicate {
            call.id = CallId(format!("call_{turn}_{index}"));
        }
        if duplicate {
            duplicates.insert(call.id.clone());
        }
        taken.insert(call.id.clone());
    }
    duplicates
}

/// Decides about each call of a reply.
pub(crate) fn sort(
    calls: &[ToolCall],
    duplicates: &BTreeSet<CallId>,
    guard: &RepetitionGuard,
) -> SortedCalls {
    let mut sorted = SortedCalls::default();
    for (index, call) in calls.iter().enumerate() {
        let problem = if index >= CALLS_PER_REPLY_MAX {
            Some(format!("not run: at most {CALLS_PER_REPLY_MAX} calls are taken from one reply"))
        } else if duplicates.contains(&call.id) {
            Some("not run: another call of the same reply has the same id; make the call again".to_string())
        } else if calls[..index].iter().any(|c| c.name == call.name && c.arguments == call.arguments) {
            Some("not run: the same call stands earlier in this reply".to_string())
        } else {
            problem(call)
        };
        if guard.exhausted(call) {
            sorted.repeated.get_or_insert_with(|| call.name.clone());
            let text = "not run: this call has given the same result three times".to_string();
            sorted.refused.push(refusal(call, text));
        } else if let Some(text) = problem {
            sorted.refused.push(refusal(call, text));
        } else {
            sorted.run.push(call.clone());
        }
    }
    sorted
}

fn refusal(call: &ToolCall, text: String) -> ToolResult {
    ToolResult { id: call.id.clone(), ok: false, text, attachments: Vec::new() }
}

/// What is wrong with arguments that are no JSON at all. Whether they fit the tool is for the tool to say.
fn problem(call: &ToolCall) -> Option<String> {
    let arguments = call.arguments.trim();
    match serde_json::from_str::<serde_json::Value>(arguments) {
        Ok(_) => None,
        Err(error) if error.is_eof() => Some(format!(
            "not run: the arguments end in the middle ({} bytes: …{:?}). Make the call again, whole; \
             split long content over several calls",
            arguments.len(),
            quote_end(arguments)
        )),
        Err(error) => Some(format!(
            "not run: the arguments are not valid JSON: {error}. Make the call again, corrected"
        )),
    }
}

fn quote_end(text: &str) -> String {
    let skip = text.chars().count().saturating_sub(QUOTE_CHARS_MAX / 2);
    text.chars().skip(skip).collect()
}
