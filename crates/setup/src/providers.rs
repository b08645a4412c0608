//! What Posse knows about providers without being told: where they are, how they speak, which key they want.

use posse_model::Protocol;

use crate::surroundings::Surroundings;

/// A place where models may be found.
#[derive(Clone, Copy, Debug)]
pub struct Provider {
    /// As in `--model NAME/…`.
    pub name: &'static str,
    /// How people call it.
    pub title: &'static str,
    pub(crate) protocol: Protocol,
    pub(crate) endpoint: &'static str,
    /// The variable that moves the endpoint, where there is a usual one.
    pub(crate) endpoint_env: Option<&'static str>,
    /// The variable that holds the key; none for local servers.
    pub key_env: Option<&'static str>,
    /// What is used when no model is named; none where the server is asked.
    pub(crate) model: Option<&'static str>,
    pub(crate) context_window: Option<u64>,
    /// What is asked for; the provider's own where `None`.
    pub(crate) temperature: Option<f64>,
    /// How the names of its models begin that are known to take images.
    pub(crate) images: &'static [&'static str],
}

/// In the order in which they are looked for: keys first, then local servers on their usual ports.
pub const PROVIDERS: [Provider; 8] = [
    Provider {
        name: "anthropic",
        title: "Anthropic",
        protocol: Protocol::Anthropic,
        endpoint: "https://api.anthropic.com/v1",
        endpoint_env: Some("ANTHROPIC_BASE_URL"),
        key_env: Some("ANTHROPIC_API_KEY"),
        model: Some("claude-sonnet-4-5"),
        context_window: Some(200_000),
        temperature: None,
        images: &["claude-"],
    },
    Provider {
        name: "openai",
        title: "OpenAI",
        protocol: Protocol::Responses,
        endpoint: "https://api.openai.com/v1",
        endpoint_env: Some("OPENAI_BASE_URL"),
        key_env: Some("OPENAI_API_KEY"),
        model: Some("gpt-5.1"),
        context_window: Some(400_000),
        temperature: None,
        images: &["gpt-4o", "gpt-4.1", "gpt-5"],
    },
    Provider {
        name: "deepseek",
        title: "DeepSeek",
        protocol: Protocol::Chat,
        endpoint: "https://api.deepseek.com/v1",
        endpoint_env: None,
        key_env: Some("DEEPSEEK_API_KEY"),
        model: Some("deepseek-chat"),
        context_window: Some(128_000),
        temperature: None,
        images: &[],
    },
    Provider {
        name: "openrouter",
        title: "OpenRouter",
        protocol: Protocol::Chat,
        endpoint: "https://openrouter.ai/api/v1",
        endpoint_env: None,
        key_env: Some("OPENROUTER_API_KEY"),
        model: Some("openrouter/auto"),
        context_window: None,
        temperature: None,
        images: &[],
    },
    local("llamacpp", "llama.cpp", "http://127.0.0.1:8080/v1", None),
    local("ollama", "Ollama", "http://127.0.0.1:11434/v1", Some("OLLAMA_HOST")),
    local("lmstudio", "LM Studio", "http://127.0.0.1:1234/v1", None),
    local("vllm", "vLLM", "http://127.0.0.1:8000/v1", None),
];

const fn local(
    name: &'static str,
    title: &'static str,
    endpoint: &'static str,
    endpoint_env: Option<&'static str>,
) -> Provider {
    Provider {
        name,
        title,
        protocol: Protocol::Chat,
        endpoint,
        endpoint_env,
        key_env: None,
        model: None,
        context_window: None,
        // Local servers are set up for chatting; small models need a steadier hand to make calls that can be read.
        temperature: Some(0.2),
        images: &[],
    }
}

impl Provider {
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|p| p.name.eq_ignore_ascii_case(name))
    }

    /// The endpoint, moved if the person's environment moves it.
    pub fn endpoint(&self, surroundings: &Surroundings) -> String {
        let moved = self.endpoint_env.and_then(|name| surroundings.text(name)).filter(|url| !url.is_empty());
        match moved {
            None => self.endpoint.to_string(),
            Some(url) => versioned(url),
        }
    }

    /// The key, if the person has set one.
    pub fn key<'a>(&self, surroundings: &'a Surroundings) -> Option<&'a str> {
        surroundings.text(self.key_env?).filter(|key| !key.trim().is_empty())
    }
}

/// A base address as people write it, with scheme and version: `host:11434` is `http://host:11434/v1`.
fn versioned(url: &str) -> String {
    let url = url.trim().trim_end_matches('/');
    let url = if url.contains("://") { url.to_string() } else { format!("http://{url}") };
    let last = url.rsplit('/').next().unwrap_or_default();
    let has_version =
        last.starts_with('v') && last[1..].chars().all(|c| c.is_ascii_digit()) && last.len() > 1;
    if has_version { url } else { format!("{url}/v1") }
}

#[cfg(test)]
mod tests {
    use super::versioned;

    #[test]
    fn addresses_as_people_write_them() {
        let cases = [
            ("127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
            ("http://gpu:8080/", "http://gpu:8080/v1"),
            ("https://api.openai.com/v1", "https://api.openai.com/v1"),
            ("https://proxy/anthropic", "https://proxy/anthropic/v1"),
            ("http://vllm", "http://vllm/v1"),
        ];
        for (url, want) in cases {
            assert_eq!(versioned(url), want);
        }
    }
}
