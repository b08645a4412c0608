//! What an agent may do. A grant is data; `policy` narrows it and decides by it.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Everything an agent may do. Anything else is denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grant {
    /// Rights on the workspace's files.
    pub files: Files,
    /// Where in the workspace it may write, if it may write at all.
    #[serde(default)]
    pub writes: PathRules,
    /// The shell level.
    pub shell: Shell,
    /// The network, for Posse's own fetch tool.
    pub network: Network,
    /// Which tools, by name.
    pub tools: NameRules,
    /// To which roles it may delegate, by name.
    #[serde(default = "NameRules::nothing")]
    pub delegates: NameRules,
    /// What it may do without asking a person.
    #[serde(default)]
    pub approval: Approval,
}

impl Grant {
    /// Nothing at all.
    pub fn none() -> Self {
        Self {
            files: Files::None,
            writes: PathRules::default(),
            shell: Shell::None,
            network: Network::None,
            tools: NameRules::default(),
            delegates: NameRules::nothing(),
            approval: Approval::Plan,
        }
    }

    /// Everything there is.
    pub fn full() -> Self {
        Self {
            files: Files::Write,
            writes: PathRules::default(),
            shell: Shell::Full,
            network: Network::Full,
            tools: NameRules::default(),
            delegates: NameRules::default(),
            approval: Approval::Full,
        }
    }
}

/// Rights on files, each including those before it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Files {
    /// No file access.
    #[default]
    None,
    /// Reading.
    Read,
    /// Reading and writing.
    Write,
}

/// Where files may be written. Entries are paths relative to the workspace, `/` between parts, and stand for themselves
/// and everything below; they hold no wildcards, so that the kernel can enforce them.
///
/// A path is allowed if every layer of `roots` has an entry at or above it, and `except` has none. Layers let two rules
/// combine exactly, as in [`NameRules`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathRules {
    /// Each layer must contain the path; without layers the whole workspace is allowed.
    #[serde(default)]
    pub roots: BTreeSet<BTreeSet<String>>,
    /// No entry may contain the path.
    #[serde(default)]
    pub except: BTreeSet<String>,
}

/// What happens without asking a person, each including those before it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Approval {
    /// Nothing is written, nobody is asked.
    Plan,
    /// Writes, commands and the network ask.
    Ask,
    /// File edits are allowed; commands and the network ask.
    Edit,
    /// Everything inside the sandbox is allowed; leaving it asks.
    Auto,
    /// Nothing asks.
    #[default]
    Full,
}

impl Approval {
    /// All of them, the strictest first.
    pub const ALL: [Self; 5] = [Self::Plan, Self::Ask, Self::Edit, Self::Auto, Self::Full];

    /// Its name, as people write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Ask => "ask",
            Self::Edit => "edit",
            Self::Auto => "auto",
            Self::Full => "full",
        }
    }
}

/// Shell levels, each including those before it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Shell {
    /// No shell.
    #[default]
    None,
    /// Everything read-only.
    Inspect,
    /// Writes go to a throw-away view.
    Verify,
    /// The workspace is writable.
    Full,
}

/// What Posse's own fetch tool may reach.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nothing.
    #[default]
    None,
    /// These hosts.
    Hosts(BTreeSet<String>),
    /// Every public host.
    Full,
}

/// Which names are allowed. Patterns are names with `*` for any run of characters.
///
/// A name is allowed if every layer of `allow` has a pattern that matches it and `deny` has none. Layers let two rules
/// combine exactly: the rule for "both" has the layers of both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NameRules {
    /// Each layer must match; without layers every name is allowed.
    #[serde(default)]
    pub allow: BTreeSet<BTreeSet<String>>,
    /// No pattern may match.
    #[serde(default)]
    pub deny: BTreeSet<String>,
}

impl NameRules {
    /// Allows no name at all.
    pub fn nothing() -> Self {
        Self { allow: BTreeSet::from([BTreeSet::new()]), deny: BTreeSet::new() }
    }

    /// Allows what one of these patterns matches.
    pub fn only<T: Into<String>>(patterns: impl IntoIterator<Item = T>) -> Self {
        Self {
            allow: BTreeSet::from([patterns.into_iter().map(Into::into).collect()]),
            deny: BTreeSet::new(),
        }
    }
}
