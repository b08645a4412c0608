//! Who serves a model, as the conventions call them.

/// The provider of a model, by the name it is configured under and the provider's name of it.
pub(crate) fn provider(configured: &str, model: &str) -> String {
    const KNOWN: &[(&str, &str)] = &[
        ("anthropic", "anthropic"),
        ("claude", "anthropic"),
        ("azure", "azure.ai.openai"),
        ("openai", "openai"),
        ("gpt", "openai"),
        ("bedrock", "aws.bedrock"),
        ("vertex", "gcp.vertex_ai"),
        ("gemini", "gcp.gemini"),
        ("google", "gcp.gemini"),
        ("deepseek", "deepseek"),
        ("groq", "groq"),
        ("mistral", "mistral_ai"),
        ("perplexity", "perplexity"),
        ("xai", "x_ai"),
        ("grok", "x_ai"),
        ("cohere", "cohere"),
    ];
    let named = configured.split_once('/').map(|(provider, _)| provider.to_lowercase());
    let all = [named.clone().unwrap_or_else(|| configured.to_lowercase()), model.to_lowercase()];
    // Somebody who serves many models serves a known one, too: their own name counts first.
    let known = |text: &str| KNOWN.iter().find(|(start, _)| text.starts_with(start)).map(|(_, name)| *name);
    match (known(&all[0]), named) {
        (Some(known), _) => known.to_owned(),
        (None, Some(named)) => named,
        (None, None) => known(&all[1]).unwrap_or("unknown").to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_are_called_as_the_conventions_do() {
        let cases = [
            ("anthropic/claude-x", "claude-x", "anthropic"),
            ("OpenAI/gpt-9", "gpt-9", "openai"),
            ("openrouter/gpt-9", "gpt-9", "openrouter"),
            ("ollama/qwen", "qwen", "ollama"),
            ("fast", "claude-x", "anthropic"),
            ("fast", "qwen", "unknown"),
            ("", "", "unknown"),
        ];
        for (configured, model, want) in cases {
            assert_eq!(provider(configured, model), want, "{configured} {model}");
        }
    }
}
