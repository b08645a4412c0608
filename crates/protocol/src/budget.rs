//! What an agent may spend, and what it has spent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Usage;

/// Limits of one agent; `None` is no limit of its own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// Model calls.
    pub turns: Option<u32>,
    /// Tokens of requests and replies together, cached ones included.
    pub tokens: Option<u64>,
    /// Wall time.
    pub time_ms: Option<u64>,
    /// Money.
    pub cost_usd: Option<f64>,
}

impl Budget {
    /// No limits at all.
    pub const UNLIMITED: Self = Self { turns: None, tokens: None, time_ms: None, cost_usd: None };
}

/// What has been spent so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    /// Model calls.
    pub turns: u32,
    /// Tokens, as far as reported.
    pub usage: Usage,
    /// Wall time.
    pub time_ms: u64,
    /// Money, where prices are known.
    pub cost_usd: Option<f64>,
}

/// What a model costs, in US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// Tokens of requests.
    pub input: f64,
    /// Tokens of requests that came from the provider's cache; as `input` where not given.
    pub cached: Option<f64>,
    /// Tokens of requests that went into the provider's cache; as `input` where not given.
    pub cache_write: Option<f64>,
    /// Tokens of replies.
    pub output: f64,
}

impl Prices {
    /// What a call cost, if the provider said how many tokens it took.
    pub fn cost_usd(&self, usage: Usage) -> Option<f64> {
        let (input, output) = (usage.input_tokens?, usage.output_tokens?);
        let cached = usage.cached_tokens.unwrap_or(0).min(input);
        let written = usage.cache_write_tokens.unwrap_or(0).min(input - cached);
        let fresh = input - cached - written;
        let total = fresh as f64 * self.input
            + cached as f64 * self.cached.unwrap_or(self.input)
            + written as f64 * self.cache_write.unwrap_or(self.input)
            + output as f64 * self.output;
        Some(total / 1_000_000.0)
    }
}
