//! Values of the configuration that are checked where they are written, so that an error names their line.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use posse_model::address_fault;
use posse_policy::clean_path;
use posse_protocol::{PLACE_HINT, place};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::error::ConfigError;
use crate::limits::NAME_BYTES_MAX;

/// The address of a server, if one is given.
pub(crate) fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Some(Address::deserialize(deserializer)?.0))
}

/// Addresses of servers.
pub(crate) fn addresses<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    let addresses = Vec::<Address>::deserialize(deserializer)?;
    Ok(Some(addresses.into_iter().map(|address| address.0).collect()))
}

/// The machine that agents run on.
pub(crate) fn on<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = String::deserialize(deserializer)?;
    place(&text).map(Some).ok_or_else(|| {
        let shown: String = text.chars().take(NAME_BYTES_MAX).collect();
        D::Error::custom(format!("{shown:?} is no worker; {PLACE_HINT}"))
    })
}

/// Names of files below the project's folders.
pub(crate) fn file_names<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<String>>, D::Error> {
    let names = Vec::<FileName>::deserialize(deserializer)?;
    Ok(Some(names.into_iter().map(|name| name.0).collect()))
}

/// Paths of the workspace for rules about writing, as the rules have them.
pub(crate) fn paths<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<BTreeSet<String>>, D::Error> {
    let paths = Vec::<RulePath>::deserialize(deserializer)?;
    Ok(Some(paths.into_iter().map(|path| path.0).collect()))
}

struct RulePath(String);

impl<'de> Deserialize<'de> for RulePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        clean_path(&text).map(Self).ok_or_else(|| {
            let shown: String = text.chars().take(NAME_BYTES_MAX).collect();
            let wrong = "is no path within the workspace; write it like \"src/api\", relative and without *";
            D::Error::custom(format!("{shown:?} {wrong}"))
        })
    }
}

struct Address(String);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match address_fault(&text) {
            None => Ok(Self(text)),
            Some(fault) => Err(D::Error::custom(fault)),
        }
    }
}

struct FileName(String);

impl<'de> Deserialize<'de> for FileName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut parts = Path::new(&text).components();
        let plain = !text.trim().is_empty() && parts.all(|part| matches!(part, Component::Normal(_)));
        if plain && text.len() <= NAME_BYTES_MAX {
            return Ok(Self(text));
        }
        let shown: String = text.chars().take(NAME_BYTES_MAX).collect();
        let wrong = format!(
            "{shown:?} is no file of a project; write names such as \"AGENTS.md\" or \"docs/NOTES.md\""
        );
        Err(D::Error::custom(wrong))
    }
}

/// Whether notes are kept, as `POSSE_MEMORY` says; `None` where it says nothing.
pub(crate) fn memory_switch(said: Option<&str>) -> Result<Option<bool>, ConfigError> {
    let Some(said) = said.map(str::trim).filter(|said| !said.is_empty()) else { return Ok(None) };
    match said.to_ascii_lowercase().as_str() {
        "off" | "false" | "no" | "0" => Ok(Some(false)),
        "on" | "true" | "yes" | "1" => Ok(Some(true)),
        _ => Err(ConfigError::MemorySwitch { said: said.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::memory_switch;
    use crate::config::parse;
    use crate::surroundings::ShownPath;

    #[test]
    fn memory_is_switched_by_a_word() {
        for (said, want) in
            [(None, None), (Some(" "), None), (Some("OFF"), Some(false)), (Some("1"), Some(true))]
        {
            assert_eq!(memory_switch(said).unwrap(), want);
        }
        assert!(memory_switch(Some("maybe")).unwrap_err().to_string().contains("on or off"));
    }

    /// What cannot work is told with its line, and what to write.
    #[test]
    fn addresses_and_names_are_checked_where_they_are_written() {
        let path = &ShownPath::in_full("/c.toml");
        let bad = [
            ("127.0.0.1:8080/v1", "write it like http://"),
            ("localhost", "write it like http://"),
            ("ftp://gpu/v1", "write it like http://"),
            ("http://", "write it like http://"),
            ("http:///v1", "write it like http://"),
            ("http:gpu/v1", "write it like http://"),
            ("http://gpu:99999/v1", "write it like http://"),
            ("http://gpu:0/v1", "write it like http://"),
            ("http://g pu/v1", "write it like http://"),
            ("", "write it like http://"),
            ("http://gpu/v1#x", "leave it out"),
            ("http://gpu/v1/chat/completions", "write \"http://gpu/v1\""),
            ("https://u:secret@api/v1/messages/", "write \"https://api/v1\""),
        ];
        let places = [
            "[models.a]\nmodel = \"m\"\nendpoint = \"{}\"",
            "[sub_agents]\n\nendpoint = \"{}\"",
            "[subagents]\n\nendpoints = [\"http://ok/v1\", \"{}\"]",
        ];
        let mut ran = 0;
        for (address, advice) in bad {
            for place in places {
                let text = place.replace("{}", address);
                let error = parse(&text, path).map(|_| ()).expect_err(&text).to_string();
                assert!(error.contains("line 3") && error.contains(advice), "{error}");
                assert!(!error.contains("secret"), "{error}");
                ran += 1;
            }
        }
        assert_eq!(ran, 39);
        for address in
            ["http://gpu:8080/v1", "https://host.example", "http://[::1]:1/v1", "https://u:p@h/v1?v=1"]
        {
            for place in places {
                parse(&place.replace("{}", address), path).unwrap();
            }
        }
        for name in ["", "../AGENTS.md", "/etc/passwd", "a/../../b", "."] {
            let text = format!("context_files = [\"{name}\"]");
            let error = parse(&text, path).map(|_| ()).expect_err(&text).to_string();
            assert!(error.contains("line 1") && error.contains("AGENTS.md"), "{error}");
        }
        let file = parse("context_files = [\".idlehands.md\", \"docs/NOTES.md\"]", path).unwrap();
        assert_eq!(file.context_files.unwrap(), [".idlehands.md", "docs/NOTES.md"]);
    }

    #[test]
    fn paths_of_rules_are_within_the_workspace() {
        let path = &ShownPath::in_full("/c.toml");
        for key in ["write_roots", "write_except"] {
            for written in ["/etc", "../x", "a/../../x", "~/x", "src/*"] {
                let text = format!("[rights]\n{key} = [\"src\", \"{written}\"]");
                let error = parse(&text, path).map(|_| ()).expect_err(&text).to_string();
                assert!(error.contains("line 2") && error.contains("within the workspace"), "{error}");
            }
        }
        let text = "[rights]\nwrite_roots = [\"./src/\", \"a/../docs\"]\nwrite_except = [\".\"]";
        let rights = parse(text, path).unwrap().rights;
        assert_eq!(rights.write_roots.unwrap().into_iter().collect::<Vec<_>>(), ["docs", "src"]);
        assert_eq!(rights.write_except.unwrap().into_iter().collect::<Vec<_>>(), [""]);
    }

    #[test]
    fn a_machine_is_named_by_words() {
        let path = &ShownPath::in_full("/c.toml");
        for written in ["", " ", "ssh://gpu", "gpu:22", "-x", &"n".repeat(65)] {
            let text = format!("[sub_agents]\non = \"{written}\"");
            let error = parse(&text, path).map(|_| ()).expect_err(&text).to_string();
            assert!(error.contains("line 2") && error.contains("anywhere, or home"), "{error}");
        }
        let file = parse("[sub_agents]\non = \"gpu-1\"", path).unwrap();
        assert_eq!(file.sub_agents.on.as_deref(), Some("gpu-1"));
    }

    #[test]
    fn other_names_of_settings() {
        let path = &ShownPath::in_full("/c.toml");
        let file = parse("[subagents]\nmax_concurrent = 7\ninherit_vault = false", path).unwrap().sub_agents;
        assert_eq!((file.max_running.map(|n| n.get()), file.inherit_memory), (Some(7), Some(false)));
        for twice in ["[sub_agents]\nmax_running = 1\nmax_concurrent = 2", "[sub_agents]\n[subagents]\n"] {
            let error = parse(twice, path).map(|_| ()).expect_err(twice).to_string();
            assert!(error.contains("duplicate"), "{error}");
        }
    }
}
