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

/// Anthropic counts cache reads and writes beside the input; ours are among it.
pub(super) fn anthropic(value: &Value) -> Usage {
    let cached = count(value, &["cache_read_input_tokens"]);
    let written = count(value, &["cache_creation_input_tokens"]);
    let beside = cached.unwrap_or(0).saturating_add(written.unwrap_or(0));
    Usage {
        input_tokens: count(value, &["input_tokens"]).map(|input| input.saturating_add(beside)),
        cached_tokens: cached,
        cache_write_tokens: written,
        output_tokens: count(value, &["output_tokens"]),
        reasoning_tokens: None,
    }
}

/// Takes over what a later report knows, and keeps the rest.
pub(super) fn update(usage: &mut Usage, later: Usage) {
    usage.input_tokens = later.input_tokens.or(usage.input_tokens);
    usage.cached_tokens = later.cached_tokens.or(usage.cached_tokens);
    usage.cache_write_tokens = later.cache_write_tokens.or(usage.cache_write_tokens);
    usage.output_tokens = later.output_tokens.or(usage.output_tokens);
    usage.reasoning_tokens = later.reasoning_tokens.or(usage.reasoning_tokens);
}
