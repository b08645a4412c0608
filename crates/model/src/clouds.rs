//! Providers that make calls by their protocol: what their models write as text is text.

use reqwest::Url;

/// Hosts of providers; each stands for itself and what is below it.
const HOSTS: [&str; 71] = [
    "openai.com",
    "openai.azure.com",
    "services.ai.azure.com",
    "cognitiveservices.azure.com",
    "models.ai.azure.com",
    "inference.ai.azure.com",
    "anthropic.com",
    "openrouter.ai",
    "deepseek.com",
    "googleapis.com",
    "amazonaws.com",
    "api.aws",
    "mistral.ai",
    "groq.com",
    "together.xyz",
    "together.ai",
    "fireworks.ai",
    "x.ai",
    "cohere.ai",
    "cohere.com",
    "perplexity.ai",
    "cerebras.ai",
    "sambanova.ai",
    "deepinfra.com",
    "api.nvidia.com",
    "moonshot.ai",
    "moonshot.cn",
    "kimi.com",
    "bigmodel.cn",
    "z.ai",
    "aliyuncs.com",
    "minimax.chat",
    "minimax.io",
    "minimaxi.com",
    "siliconflow.cn",
    "siliconflow.com",
    "volces.com",
    "bytepluses.com",
    "baidubce.com",
    "tencent.com",
    "tencentcloudapi.com",
    "xf-yun.com",
    "stepfun.com",
    "baichuan-ai.com",
    "lingyiwanwu.com",
    "modelscope.cn",
    "huggingface.co",
    "huggingface.cloud",
    "github.ai",
    "githubcopilot.com",
    "novita.ai",
    "hyperbolic.xyz",
    "lepton.ai",
    "replicate.com",
    "ai21.com",
    "baseten.co",
    "nebius.ai",
    "nebius.com",
    "cloudflare.com",
    "vercel.sh",
    "vercel.ai",
    "opencode.ai",
    "venice.ai",
    "inference.net",
    "ollama.com",
    "friendli.ai",
    "poe.com",
    "requesty.ai",
    "upstage.ai",
    "writer.com",
    "databricks.com",
];

/// Whether an address is of a provider that is known.
pub(crate) fn is_known(url: &Url) -> bool {
    HOSTS.iter().any(|known| is_of(url, known))
}

/// Whether an address is of a provider or below it.
fn is_of(url: &Url, provider: &str) -> bool {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
    host.strip_suffix(provider).is_some_and(|below| below.is_empty() || below.ends_with('.'))
}

/// Providers whose Chat Completions take PDF documents.
const DOCUMENT_HOSTS: [&str; 3] = ["openai.com", "openrouter.ai", "vercel.sh"];

/// Whether Chat Completions at an address take PDF documents.
pub(crate) fn takes_documents(address: &str) -> bool {
    crate::endpoint::parse(address).is_some_and(|url| DOCUMENT_HOSTS.iter().any(|known| is_of(&url, known)))
}

/// Providers that refuse a request for a longer reply than this, instead of stopping there.
const REPLY_TOKENS: [(&str, u32); 1] = [("deepseek.com", 8_192)];

/// The most tokens of a reply that may be asked for at an address, where that is known.
pub(crate) fn reply_tokens_max(address: &str) -> Option<u32> {
    let url = crate::endpoint::parse(address)?;
    REPLY_TOKENS.iter().find(|(known, _)| is_of(&url, known)).map(|(_, max)| *max)
}

#[cfg(test)]
mod tests {
    use super::{is_known, reply_tokens_max};

    #[test]
    fn what_a_provider_would_refuse_is_not_asked_for() {
        assert_eq!(reply_tokens_max("https://api.deepseek.com/v1"), Some(8_192));
        assert_eq!(reply_tokens_max("https://api.openai.com/v1"), None);
        assert_eq!(reply_tokens_max("http://deepseek.com.lan/v1"), None);
    }

    #[test]
    fn clouds_are_told_from_other_servers() {
        let known = [
            "https://api.openai.com/v1",
            "https://API.OpenAI.com./v1",
            "https://api.anthropic.com/v1",
            "https://openrouter.ai/api/v1",
            "https://api.deepseek.com/v1",
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "https://mine.openai.azure.com/openai/v1",
            "https://bedrock-runtime.eu-west-1.amazonaws.com/v1",
            "https://user:key@api.groq.com/openai/v1",
            "http://api.x.ai:8443/v1",
        ];
        let others = [
            "http://127.0.0.1:8080/v1",
            "http://localhost:11434/v1",
            "http://gpu.lan/v1",
            "https://notopenai.com/v1",
            "https://openai.com.evil.example/v1",
            "https://max.ai/v1",
            "http://[::1]/v1",
        ];
        for (address, want) in known.map(|a| (a, true)).into_iter().chain(others.map(|a| (a, false))) {
            assert_eq!(is_known(&address.parse().unwrap()), want, "{address}");
        }
    }
}
