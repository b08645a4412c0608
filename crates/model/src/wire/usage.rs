//! Token counts out of what providers report. What is not reported stays `None`.

use posse_protocol::Usage;
use serde_json::Value;

fn count(value: &Value, path: &[&str]) -> Option<u64> {
    path.iter().try_fold(value, |value, field| value.get(field))?.as_u64()
}

/// Chat Completions, with DeepSeek's own names for the cache.
pub(super) fn chat(value: &Value) -> Usage {
    Usage {
        input_tokens: count(value, &["prompt_tokens"]),
        cached_tokens: count(value, &["prompt_tokens_details", "cached_tokens"])
            .or_else(|| count(value, &["prompt_cache_hit_tokens"]))
            .or_else(|| count(value, &["cached_tokens"])),
        cache_write_tokens: count(value, &["prompt_tokens_details", "cache_write_tokens"]),
        output_tokens: count(value, &["completion_tokens"]),
        reasoning_tokens: count(value, &["completion_tokens_details", "reasoning_tokens"]),
    }
}

/// What llama.cpp measured: there `prompt_n` are the tokens it had to read and `cache_n` those it still had.
pub(super) fn timings(value: &Value) -> Usage {
    let read = count(value, &["prompt_n"]);
    let cached = count(value, &["cache_n"]);
    Usage {
        input_tokens: read.map(|read| read.saturating_add(cached.unwrap_or(0))),
        cached_tokens: cached,
        output_tokens: count(value, &["predicted_n"]),
        ..Usage::default()
    }
}

pub(super) fn responses(value: &Value) -> Usage {
    Usage {
        input_tokens: count(value, &["input_tokens"]),
        cached_tokens: count(value, &["input_tokens_details", "cached_tokens"]),
        cache_write_tokens: None,
        output_tokens: count(value, &["output_tokens"]),
        reasoning_tokens: count(value, &["output_tokens_details", "reasoning_tokens"]),
    }
}

/// What Anthropic's events have reported so far. Cache reads and writes are counted beside the input there, and an event
/// may name one without the others, so they are added up at the end.
#[derive(Default)]
pub(super) struct Anthropic {
    input: Option<u64>,
    cached: Option<u64>,
    written: Option<u64>,
    output: Option<u64>,
}

impl Anthropic {
    /// Takes over what a later event knows: behind proxies the first one does not know the input yet.
    pub(super) fn update(&mut self, value: &Value) {
        self.input = later(self.input, count(value, &["input_tokens"]));
        self.cached = later(self.cached, count(value, &["cache_read_input_tokens"]));
        self.written = later(self.written, count(value, &["cache_creation_input_tokens"]));
        self.output = later(self.output, count(value, &["output_tokens"]));
    }

    /// In our terms, where the cache is among the input.
    pub(super) fn total(&self) -> Usage {
        let beside = self.cached.unwrap_or(0).saturating_add(self.written.unwrap_or(0));
        Usage {
            input_tokens: self.input.map(|input| input.saturating_add(beside)),
            cached_tokens: self.cached,
            cache_write_tokens: self.written,
            output_tokens: self.output,
            reasoning_tokens: None,
        }
    }
}

/// The later of two numbers, but not a nought behind a number: it says that nobody counted.
fn later(before: Option<u64>, after: Option<u64>) -> Option<u64> {
    match (before, after) {
        (Some(1..), Some(0)) => before,
        _ => after.or(before),
    }
}

/// Takes over what a later report knows, and keeps the rest.
pub(super) fn update(usage: &mut Usage, after: Usage) {
    usage.input_tokens = later(usage.input_tokens, after.input_tokens);
    usage.cached_tokens = later(usage.cached_tokens, after.cached_tokens);
    usage.cache_write_tokens = later(usage.cache_write_tokens, after.cache_write_tokens);
    usage.output_tokens = later(usage.output_tokens, after.output_tokens);
    usage.reasoning_tokens = later(usage.reasoning_tokens, after.reasoning_tokens);
}
