//! Tool calls as Chat Completions servers stream them: by index, by id, whole, or in pieces.

use posse_protocol::{CallId, ToolCall};
use serde::Deserialize;
use serde_json::Value;

use super::borrowed::Text;
use crate::limits;
use crate::trouble::Trouble;

/// A piece of a call.
#[derive(Deserialize)]
pub(super) struct CallDelta<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    function: Option<FunctionDelta<'a>>,
}

#[derive(Deserialize)]
struct FunctionDelta<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    arguments: Option<Value>,
}

/// The calls of one reply so far.
#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Entry>,
}

struct Entry {
    index: Option<u64>,
    call: ToolCall,
}

impl Calls {
    /// Adds a piece; returns the tool's name when it begins a call.
    pub(super) fn add(&mut self, delta: CallDelta<'_>) -> Result<Option<&str>, Trouble> {
        let id = delta.id.unwrap_or_default().0;
        let (name, arguments) = match delta.function {
            Some(function) => (function.name.unwrap_or_default().0, function.arguments),
            None => Default::default(),
        };
        let at = match self.find(delta.index, &id, &name) {
            Some(at) => at,
            None => self.begin(delta.index)?,
        };
        let entry = &mut self.calls[at];
        if entry.call.id.0.is_empty() {
            entry.call.id.0 = id.into_owned();
        }
        // Some servers repeat the whole name with every piece, others send it in pieces.
        let named_now = entry.call.name.is_empty() && !name.is_empty();
        if entry.call.name != name {
            entry.call.name.push_str(&name);
        }
        match arguments {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => entry.call.arguments.push_str(&text),
            Some(whole) => entry.call.arguments.push_str(&whole.to_string()),
        }
        Ok(named_now.then(|| self.calls[at].call.name.as_str()))
    }

    /// The call that a piece continues.
    fn find(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let same_id = |entry: &Entry| id.is_empty() || entry.call.id.0.is_empty() || entry.call.id.0 == id;
        match index {
            // Several calls under one index are told apart by their ids.
            Some(_) => self.calls.iter().rposition(|e| e.index == index && same_id(e)),
            None if !id.is_empty() => self.calls.iter().rposition(|e| e.call.id.0 == id),
            // Without index and id, a name begins a call and everything else goes on with the last.
            None if name.is_empty() => self.calls.len().checked_sub(1),
            None => None,
        }
    }

    fn begin(&mut self, index: Option<u64>) -> Result<usize, Trouble> {
        if self.calls.len() >= limits::CALLS_MAX {
            return Err(Trouble::malformed(format!(
                "the reply holds more than {} tool calls",
                limits::CALLS_MAX
            )));
        }
        let call = ToolCall { id: CallId(String::new()), name: String::new(), arguments: String::new() };
        self.calls.push(Entry { index, call });
        Ok(self.calls.len() - 1)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    pub(super) fn into_calls(self) -> Vec<ToolCall> {
        self.calls.into_iter().map(|entry| entry.call).collect()
    }
}
