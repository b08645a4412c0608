//! Families of models: which configured model stands in for one that an agent file names and nobody has configured.
//!
//! Public agent files name models of their authors. Pure; it knows names only.

/// The families, the closer ones first: a name that says `claude` and `sonnet` is of the latter.
const FAMILIES: [&str; 26] = [
    "sonnet",
    "opus",
    "haiku",
    "fable",
    "codex",
    "gpt",
    "gemini",
    "gemma",
    "qwen",
    "qwq",
    "deepseek",
    "devstral",
    "codestral",
    "magistral",
    "mixtral",
    "mistral",
    "llama",
    "glm",
    "kimi",
    "grok",
    "phi",
    "granite",
    "minimax",
    "nova",
    "command",
    "claude",
];

/// A model as it can be asked for: by the name it is configured under, or its provider's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownModel<'a> {
    /// The name it is configured under.
    pub name: &'a str,
    /// The provider's name of it.
    pub id: &'a str,
}

impl KnownModel<'_> {
    /// Whether that is one of its names.
    pub fn is_called(&self, wanted: &str) -> bool {
        self.name.eq_ignore_ascii_case(wanted) || self.id.eq_ignore_ascii_case(wanted)
    }
}

/// Which of these an agent file means by a name, the first ones preferred: the one that is called so, else one of the same
/// family; `None` where there is none of either.
pub fn meant(wanted: &str, known: &[KnownModel<'_>]) -> Option<usize> {
    let called = known.iter().position(|model| model.is_called(wanted));
    called.or_else(|| {
        let family = family(wanted)?;
        known
            .iter()
            .position(|model| [model.name, model.id].iter().any(|name| self::family(name) == Some(family)))
    })
}

fn family(name: &str) -> Option<&'static str> {
    // `qwen2.5-coder:32b` has the words qwen, coder and b.
    let letters = name.to_ascii_lowercase();
    let words = || letters.split(|c: char| !c.is_ascii_alphabetic());
    let found = FAMILIES.iter().find(|family| words().any(|word| word == **family)).copied();
    // OpenAI's others have a letter and a number: o3, o4-mini.
    let numbered = || {
        let rest = letters.rsplit('/').next().unwrap_or_default().strip_prefix('o');
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    found.or_else(|| numbered().then_some("gpt"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_itself_goes_before_its_family_and_another_family_is_none() {
        let model = |name: &'static str, id: &'static str| KnownModel { name, id };
        let known = [
            model("fake", "fake-model"),
            model("big", "claude-opus-4-1"),
            model("work", "anthropic/claude-sonnet-4.5"),
            model("coder", "qwen2.5-coder:32b"),
            model("mini", "gpt-5-mini"),
            model("sonnet", "claude-sonnet-4-0"),
        ];
        let cases = [
            ("fake", Some("fake")),
            ("FAKE-MODEL", Some("fake")),
            ("sonnet", Some("sonnet")),
            ("claude-3-5-sonnet-20241022", Some("work")),
            ("us.anthropic.claude-opus-4-20250514-v1:0", Some("big")),
            ("claude-2", None),
            ("haiku", None),
            ("qwen3-coder-plus", Some("coder")),
            ("Qwen/Qwen3-30B-A3B", Some("coder")),
            ("gpt-4o", Some("mini")),
            ("o3", Some("mini")),
            ("openai/o4-mini", Some("mini")),
            ("deepseek-chat", None),
            ("default", None),
            ("opusculum", None),
            ("", None),
        ];
        assert_eq!(cases.len(), 16);
        for (wanted, name) in cases {
            assert_eq!(meant(wanted, &known).map(|at| known[at].name), name, "{wanted}");
        }
    }
}
