//! The beginnings of requests, up to the tools. Agents with the same tools share them: a thousand agents would encode and
//! hold the same few kilobytes a thousand times.

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use posse_protocol::ToolSpec;

use crate::limits::OPENINGS_KEPT_MAX;
use crate::wire::Wire;
use crate::{ModelConfig, ToolCallMode};

/// The beginnings of one model's requests that were needed so far; the oldest ones give way.
#[derive(Default)]
pub(crate) struct Openings(Mutex<Vec<Opening>>);

struct Opening {
    max_output_tokens: Option<u32>,
    effort: Option<String>,
    tools: Vec<ToolSpec>,
    bytes: Bytes,
}

impl Openings {
    /// The beginning of requests that offer these tools. `config` is always that of the same model, but for the length of
    /// its replies and its reasoning effort.
    pub(crate) fn get(&self, wire: Wire, config: &ModelConfig, tools: &[ToolSpec]) -> Bytes {
        // Calls that are text are told in words.
        let tools = if config.tool_calls == ToolCallMode::Text { &[] } else { tools };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let max_output_tokens = config.max_output_tokens;
        let effort = &config.reasoning_effort;
        let fits = |one: &&Opening| {
            one.max_output_tokens == max_output_tokens && one.effort == *effort && one.tools == tools
        };
        if let Some(opening) = known.iter().find(fits) {
            return opening.bytes.clone();
        }
        let bytes = Bytes::from(wire.opening(config, tools));
        if known.len() >= OPENINGS_KEPT_MAX {
            known.remove(0);
        }
        let (effort, tools) = (effort.clone(), tools.to_vec());
        known.push(Opening { max_output_tokens, effort, tools, bytes: bytes.clone() });
        bytes
    }
}

#[cfg(test)]
mod tests {
    use posse_protocol::Needs;
    use serde_json::json;

    use super::*;
    use crate::Protocol;

    fn tools(description: &str) -> Vec<ToolSpec> {
        let (name, description) = ("read_file".to_owned(), description.to_owned());
        vec![ToolSpec {
            name,
            description,
            schema: json!({"type": "object"}).into(),
            needs: Needs::default(),
        }]
    }

    #[test]
    fn agents_with_the_same_tools_share_the_bytes() {
        let config = ModelConfig::new("fake", "fake-model", Protocol::Chat, "http://localhost:1");
        let short = ModelConfig { max_output_tokens: Some(100), ..config.clone() };
        let openings = Openings::default();
        let get = |config: &ModelConfig, about: &str| openings.get(Wire::Chat, config, &tools(about));
        let first = get(&config, "Reads a file.");
        assert_eq!(get(&config, "Reads a file.").as_ptr(), first.as_ptr());
        for other in [get(&config, "Shows a file."), get(&short, "Reads a file.")] {
            assert_ne!(other, first);
        }
        for n in 0..OPENINGS_KEPT_MAX {
            get(&config, &n.to_string());
        }
        let again = get(&config, "Reads a file.");
        assert_eq!(again, first);
        assert_ne!(again.as_ptr(), first.as_ptr(), "what is kept is bounded");
    }
}
