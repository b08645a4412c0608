//! What comes back from one model call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Reasoning, ToolCall};

/// One whole reply of a model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reply {
    /// What it said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// What it thought.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasoning: Vec<Reasoning>,
    /// The tools it called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolCall>,
    /// Why it stopped.
    pub stop: StopReason,
    /// What it cost, as far as the provider said.
    pub usage: Usage,
    /// The model that answered, by the provider's word; empty where it did not say.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub model: String,
}

/// Why a model stopped writing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It was done.
    #[default]
    EndTurn,
    /// It waits for the results of its calls.
    ToolCalls,
    /// The reply reached the output limit and was cut.
    MaxTokens,
    /// The model or its provider declined to answer.
    Refusal,
    /// Something else, in the provider's word: it paused, ran out of something, or gave up. Not an end.
    Other(String),
}

/// Tokens of one call or of many. `None` is "not reported", which is not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// All tokens of the request, cached ones included.
    pub input_tokens: Option<u64>,
    /// Those of the request that the provider read from its cache.
    pub cached_tokens: Option<u64>,
    /// Those of the request that the provider wrote into its cache.
    pub cache_write_tokens: Option<u64>,
    /// All tokens of the reply, reasoning included.
    pub output_tokens: Option<u64>,
    /// Those of the reply that were reasoning.
    pub reasoning_tokens: Option<u64>,
}

impl Usage {
    /// Adds another call's usage. Known plus unknown is what is known.
    pub fn add(&mut self, other: Self) {
        fn plus(a: &mut Option<u64>, b: Option<u64>) {
            *a = match (*a, b) {
                (Some(a), Some(b)) => Some(a.saturating_add(b)),
                (a, b) => a.or(b),
            };
        }
        plus(&mut self.input_tokens, other.input_tokens);
        plus(&mut self.cached_tokens, other.cached_tokens);
        plus(&mut self.cache_write_tokens, other.cache_write_tokens);
        plus(&mut self.output_tokens, other.output_tokens);
        plus(&mut self.reasoning_tokens, other.reasoning_tokens);
    }

    /// Request and reply together, if at least one of them is known.
    pub fn total_tokens(self) -> Option<u64> {
        match (self.input_tokens, self.output_tokens) {
            (None, None) => None,
            (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
        }
    }
}
