//! What is said about a command line that cannot be read: names that other tools have, and what they are here. Pure.

use clap::error::{ContextKind, ContextValue};

/// What people type who know other tools, and what to type here.
const KNOWN: [(&str, &str); 14] = [
    ("models", "posse doctor says which model is used; configured ones: posse config show"),
    ("model", "posse run -m NAME chooses a model; posse doctor says which one is used"),
    ("init", "in the chat, /init writes an AGENTS.md; to check your setup: posse doctor"),
    ("login", "set a key, such as ANTHROPIC_API_KEY; to check: posse doctor"),
    ("auth", "set a key, such as ANTHROPIC_API_KEY; to check: posse doctor"),
    ("chat", "posse opens the chat"),
    ("exec", "posse run \"…\""),
    ("ask", "posse run --plan \"…\""),
    ("continue", "posse resume"),
    ("history", "posse sessions list"),
    ("log", "posse sessions show"),
    ("revert", "posse undo"),
    ("update", "install the new version as you installed this one"),
    ("--yolo", "posse run --approval full \"…\""),
];

/// The message for people: of ours where something known was typed, else the parser's.
pub(crate) fn told(error: &clap::Error) -> String {
    let typed = [ContextKind::InvalidSubcommand, ContextKind::InvalidArg].iter().find_map(|kind| match error
        .get(*kind)
    {
        Some(ContextValue::String(typed)) => Some(typed.as_str()),
        _ => None,
    });
    let Some((typed, tip)) = typed.and_then(|typed| Some((typed, tip(typed)?))) else {
        return error.to_string();
    };
    let what = if typed.starts_with('-') { "argument" } else { "command" };
    format!("error: there is no {what} '{typed}'\n\n  tip: {tip}\n\nFor more information, try '--help'.\n")
}

fn tip(typed: &str) -> Option<String> {
    if typed.contains(char::is_whitespace) && !typed.starts_with('-') {
        let quoted = typed.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('`', "\\`");
        return Some(format!("posse run \"{quoted}\""));
    }
    KNOWN.iter().find(|(name, _)| *name == typed).map(|(_, tip)| (*tip).to_string())
}

#[cfg(test)]
mod tests {
    use super::super::command;
    use super::*;

    #[test]
    fn names_of_other_tools_are_answered_with_ours() {
        let told = |line: &str| {
            let words = std::iter::once("posse").chain(line.split('|'));
            told(&command().try_get_matches_from(words).unwrap_err())
        };
        for (name, tip) in KNOWN {
            assert!(told(name).contains(&format!("'{name}'\n\n  tip: {tip}\n")), "{name}: {}", told(name));
        }
        let task = told("say \"hi\" for $5");
        assert!(task.contains("  tip: posse run \"say \\\"hi\\\" for \\$5\"\n"), "{task}");
        assert!(told("sesions").contains("'sessions'"), "near names are the parser's");
    }
}
